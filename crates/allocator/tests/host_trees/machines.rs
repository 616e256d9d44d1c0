//! Machines of several shapes, and this one.

use std::fs;

use hostpool_allocator::host::{AdmissionReading, HostReader, HostReading, HostRoot, parse_meminfo};

use super::tree::{GIB, MEMINFO, Tree};

const NODE: &str = "sys/devices/system/node";

/// The `meminfo` of a node in GiB.
fn node_meminfo(id: u32, total_gib: u64, free_gib: u64) -> (String, String) {
    let (total, free) = (total_gib << 20, free_gib << 20);
    let text = format!(
        "Node {id} MemTotal: {total} kB\nNode {id} MemFree: {free} kB\nNode {id} Active(file): 1 kB\n"
    );
    (format!("{NODE}/node{id}/meminfo"), text)
}

fn tree(lists: &[(&str, &str)], nodes: &[(String, String)]) -> Tree {
    let lists = lists.iter().map(|(name, text)| (format!("{NODE}/{name}"), (*text).to_owned()));
    let meminfo = [(MEMINFO.0.to_owned(), MEMINFO.1.to_owned())];
    Tree::new(meminfo.into_iter().chain(lists).chain(nodes.iter().cloned()))
}

fn hugepages(tree: &Tree, folder: &str, counts: &[(&str, u64)]) {
    for (name, count) in counts {
        tree.write(&format!("{folder}/hugepages-2048kB/{name}_hugepages"), format!("{count}\n").as_bytes());
    }
}

#[test]
fn hugepages_on_one_node_only_are_counted_there() {
    let tree = tree(&[("online", "0-1\n")], &[node_meminfo(0, 32, 8), node_meminfo(1, 32, 30)]);
    let system = [("nr", 64), ("free", 60), ("resv", 12), ("surplus", 3), ("nr_overcommit", 16)];
    hugepages(&tree, "sys/kernel/mm/hugepages", &system);
    hugepages(&tree, &format!("{NODE}/node0/hugepages"), &[("nr", 0)]);
    hugepages(&tree, &format!("{NODE}/node1/hugepages"), &[("nr", 64), ("free", 60), ("surplus", 3)]);
    let reading = AdmissionReading::read(&mut HostReader::new(tree.root())).unwrap();
    let system = reading.hugepage_pool(2 << 20).unwrap();
    assert_eq!((system.total_pages, system.usable_pages()), (64, 48));
    assert_eq!((system.surplus_pages, system.overcommit_pages), (3, 16));
    let node = |id| reading.node(id).unwrap().hugepage_pool(2 << 20).unwrap();
    assert_eq!(node(0).usable_pages(), 0);
    assert_eq!((node(1).usable_pages(), node(1).reserved_pages), (60, 0), "nodes know no reservations");
}

#[test]
fn hugepage_sizes_come_in_ascending_order() {
    let tree = Tree::with_meminfo(&[
        ("sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "0\n"),
        ("sys/kernel/mm/hugepages/hugepages-64kB/nr_hugepages", "0\n"),
        ("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "0\n"),
        ("sys/kernel/mm/hugepages/README", "not a size\n"),
    ]);
    let sizes: Vec<u64> = tree.read().unwrap().hugepages.iter().map(|pool| pool.size_bytes).collect();
    assert_eq!(sizes, [64 << 10, 2 << 20, GIB]);
}

#[test]
fn a_node_without_memory_is_online_but_cannot_be_bound() {
    let lists = [("online", "0,2\n"), ("has_memory", "0\n")];
    let nodes = [node_meminfo(0, 64, 8), node_meminfo(2, 0, 0)];
    let extra = [("node2/cpulist", "4-7\n"), ("node2/distance", "20 10\n")];
    let reading = tree(&[lists, extra].concat(), &nodes).read().unwrap();
    let [first, second] = reading.numa_nodes.as_slice() else { panic!("two nodes") };
    assert!(first.memory.has_memory && !second.memory.has_memory);
    assert_eq!((second.memory.id, second.cpus.to_string()), (2, "4-7".to_owned()));
    assert_eq!((&second.distances, first.cpus.is_empty()), (&vec![20, 10], true));
}

#[test]
fn without_the_kernels_list_a_node_has_memory_when_its_total_is_not_zero() {
    let tree = tree(&[("online", "0-1\n")], &[node_meminfo(0, 64, 8), node_meminfo(1, 0, 0)]);
    let reading = tree.read().unwrap();
    let has_memory: Vec<bool> = reading.numa_nodes.iter().map(|node| node.memory.has_memory).collect();
    assert_eq!(has_memory, [true, false]);
    assert_eq!(reading.numa_nodes[0].memory.mem.file_bytes, 1024);
}

#[test]
fn an_online_node_whose_folder_is_gone_is_passed_over() {
    let reading = tree(&[("online", "0-1\n")], &[node_meminfo(1, 64, 8)]).read().unwrap();
    assert_eq!(reading.numa_nodes.iter().map(|node| node.memory.id).collect::<Vec<_>>(), [1]);
}

#[test]
fn a_bare_machine_has_no_nodes_no_hugepages_no_cgroup_and_no_pressure() {
    let reading = Tree::with_meminfo(&[]).read().unwrap();
    assert!(reading.numa_nodes.is_empty() && reading.hugepages.is_empty());
    assert_eq!((reading.cgroup, reading.pressure), (None, None));
    assert_eq!(reading.effective_available_bytes, 48 * GIB);
}

#[test]
fn the_hostname_is_the_trees_own_or_the_machines() {
    let named = Tree::with_meminfo(&[("proc/sys/kernel/hostname", "gpu-7\n")]);
    assert_eq!(named.read().unwrap().hostname, "gpu-7");
    let machine = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert_eq!(Tree::with_meminfo(&[]).read().unwrap().hostname, machine.trim_end());
}

#[test]
fn pressure_is_read_where_there_is_any() {
    let text =
        "some avg10=1.50 avg60=0.00 avg300=0.00 total=9\nfull avg10=0.25 avg60=0.00 avg300=0.00 total=2\n";
    let pressure = Tree::with_meminfo(&[("proc/pressure/memory", text)]).read().unwrap().pressure.unwrap();
    assert_eq!((pressure.some_avg10, pressure.full_avg10), (1.5, 0.25));
}

#[test]
fn this_machine_agrees_with_its_own_files() {
    let reading = HostReading::read(&HostRoot::default()).unwrap();
    let expected = parse_meminfo(&fs::read_to_string("/proc/meminfo").unwrap()).unwrap();
    assert_eq!(reading.memory.mem_total_bytes, expected.mem_total_bytes);
    let drift = reading.memory.mem_available_bytes.abs_diff(expected.mem_available_bytes);
    assert!(drift < expected.mem_total_bytes / 4, "available moved by {drift} bytes between two reads");
    assert!(reading.effective_available_bytes <= reading.memory.mem_available_bytes);
    assert!(reading.numa_nodes.iter().all(|node| node.memory.mem.mem_free_bytes <= expected.mem_total_bytes));
}
