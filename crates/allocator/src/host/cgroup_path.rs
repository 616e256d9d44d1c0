//! `/proc/self/cgroup`: which groups this process is in.

use super::error::{ParseError, quote};
use super::text::lines;

/// A group's place below its hierarchy's mount. Holds no `..`, no `.` and no empty component, so that joining it to a
/// folder never leads out of that folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CgroupPath(String);

impl CgroupPath {
    /// The path as `/proc/self/cgroup` prints it.
    ///
    /// A `..` is what a cgroup namespace prints for a group outside of it (cgroup_namespaces(7)); no folder below the
    /// mount stands for such a group, so the path is taken as the mount's root.
    fn parse(text: &str) -> Result<Self, ParseError> {
        if !text.starts_with('/') {
            return Err(ParseError::NotACgroupPath { text: quote(text) });
        }
        let names: Vec<&str> = text.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
        if names.contains(&"..") {
            return Ok(Self(String::new()));
        }
        Ok(Self(names.join("/")))
    }

    /// The group and its ancestors, deepest first, without leading slash; the last is the mount's root, `""`.
    pub fn levels(&self) -> impl Iterator<Item = &str> {
        std::iter::successors(Some(self.0.as_str()), |level| match level.rsplit_once('/') {
            Some((parent, _)) => Some(parent),
            None if level.is_empty() => None,
            None => Some(""),
        })
    }
}

/// The groups of this process that can limit its memory: at most one in each kind of hierarchy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SelfCgroup {
    /// In the v1 hierarchy that carries the `memory` controller.
    pub memory_v1: Option<CgroupPath>,
    /// In the v2 hierarchy, whichever controllers that has.
    pub unified: Option<CgroupPath>,
}

/// Reads the text of `/proc/self/cgroup`: lines `<id>:<controllers>:<path>` (cgroups(7)), where v2 is the line
/// `0::<path>` (Documentation/admin-guide/cgroup-v2.rst, "Processes"). A path may hold colons. Lines of another shape
/// are passed over; of two lines for one hierarchy the first counts.
///
/// # Errors
/// [`ParseError::NotACgroupPath`] for a line of the two that are used whose path does not start with a slash.
pub fn parse_self_cgroup(text: &str) -> Result<SelfCgroup, ParseError> {
    let mut groups = SelfCgroup::default();
    for (id, controllers, path) in lines(text).filter_map(split_line) {
        if id == "0" && controllers.is_empty() {
            groups.unified.get_or_insert(CgroupPath::parse(path)?);
        } else if controllers.split(',').any(|controller| controller == "memory") {
            groups.memory_v1.get_or_insert(CgroupPath::parse(path)?);
        }
    }
    Ok(groups)
}

fn split_line(line: &str) -> Option<(&str, &str, &str)> {
    let (id, rest) = line.split_once(':')?;
    let (controllers, path) = rest.split_once(':')?;
    Some((id, controllers, path))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn levels(path: &str) -> Vec<String> {
        CgroupPath::parse(path).unwrap().levels().map(str::to_owned).collect()
    }

    #[test]
    fn levels_run_from_the_group_to_the_mounts_root() {
        assert_eq!(levels("/a/b.slice/c"), ["a/b.slice/c", "a/b.slice", "a", ""]);
        assert_eq!(levels("/"), [""]);
        assert_eq!(levels("//a/./b/"), ["a/b", "a", ""]);
    }

    #[test]
    fn a_group_outside_the_namespace_is_the_mounts_root() {
        for path in ["/..", "/../..", "/../../etc", "/a/../../b"] {
            assert_eq!(levels(path), [""], "{path}");
        }
        assert_eq!(levels("/..a/...").len(), 3, "only a whole component is special");
    }

    #[test]
    fn both_hierarchies_are_found_among_others() {
        let text = "9:name=systemd:/x\n4:cpu,memory:/docker/a:b \njunk\n3:memory_other:/no\n0::/\n";
        let groups = parse_self_cgroup(text).unwrap();
        assert_eq!(groups.memory_v1, Some(CgroupPath("docker/a:b".to_owned())));
        assert_eq!(groups.unified, Some(CgroupPath(String::new())));
    }

    #[test]
    fn a_relative_path_is_refused() {
        assert_eq!(parse_self_cgroup("0::etc\n"), Err(ParseError::NotACgroupPath { text: "etc".to_owned() }));
        assert_eq!(parse_self_cgroup("1:cpu:etc\n"), Ok(SelfCgroup::default()));
    }

    proptest! {
        #[test]
        fn no_level_ever_leads_out_of_its_folder(path in "/[a/.]{0,30}") {
            for level in levels(&path) {
                prop_assert!(!level.starts_with('/'));
                prop_assert!(level.split('/').all(|name| name != ".." && name != "."));
            }
        }
    }
}
