//! The `host` trees of the shared cases (reports by people who run these systems), against their literal figures.

use std::path::{Path, PathBuf};
use std::{env, fs};

use hostpool_allocator::host::{HostReading, HugepagePool};
use serde_json::{Value, json};

use super::tree::Tree;

fn folder() -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases");
    env::var_os("HOSTPOOL_CASES").map_or(beside, PathBuf::from)
}

/// Name and content of every case; none, with the reason printed, where the folder is absent.
fn load() -> Vec<(String, Value)> {
    let folder = folder();
    let Ok(entries) = fs::read_dir(&folder) else {
        println!("skipped: no cases at {} (set HOSTPOOL_CASES)", folder.display());
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    let files = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.map(|path| (path.display().to_string(), read_json(&path))).collect()
}

fn read_json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn read(case: &Value) -> HostReading {
    let files = case["host"].as_object().unwrap().iter();
    Tree::new(files.map(|(path, text)| (path, text.as_str().unwrap()))).read().unwrap()
}

/// The reading in the words of the `host` query, as far as the cases ask.
fn as_answer(reading: &HostReading) -> Value {
    let cgroup = reading.cgroup.as_ref().map(|group| {
        json!({ "version": group.version.number(), "limit": group.limit_bytes, "usage": group.usage_bytes,
            "reclaimable": group.reclaimable_bytes, "available": group.available_bytes })
    });
    json!({ "memAvailable": reading.memory.mem_available_bytes,
        "effectiveAvailable": reading.effective_available_bytes, "cgroup": cgroup })
}

fn assert_subset(expected: &Value, actual: &Value, name: &str) {
    match expected {
        Value::Object(fields) => {
            fields
                .iter()
                .for_each(|(key, value)| assert_subset(value, &actual[key], &format!("{name} {key}")));
        }
        _ => assert_eq!(expected, actual, "{name}"),
    }
}

/// What the steps expect of one query or mutation.
fn expected<'a>(case: &'a Value, field: &'a str) -> impl Iterator<Item = &'a Value> {
    let steps = case["steps"].as_array().unwrap().iter();
    steps.filter_map(move |step| step.pointer("/expect/data")?.get(field))
}

#[test]
fn every_case_reads_and_its_host_answers_match_to_the_byte() {
    for (name, case) in load() {
        let answer = as_answer(&read(&case));
        expected(&case, "host").for_each(|host| assert_subset(host, &answer, &name));
    }
}

#[test]
fn usable_hugepages_are_those_the_cases_call_free() {
    for (name, case) in load() {
        let reading = read(&case);
        for free in expected(&case, "planV4PagedPool").filter_map(|plan| plan["hugepagesFree"].as_u64()) {
            assert_eq!(reading.hugepages.iter().map(HugepagePool::usable_pages).sum::<u64>(), free, "{name}");
        }
    }
}

#[test]
fn online_nodes_are_those_the_cases_name() {
    for (name, case) in load() {
        let ids: Vec<u32> = read(&case).numa_nodes.iter().map(|node| node.memory.id).collect();
        let failures = expected(&case, "allocateHostBuffer");
        for online in failures.filter_map(|failure| failure.get("onlineNumaNodes")) {
            assert_eq!(online, &json!(ids), "{name}");
        }
    }
}
