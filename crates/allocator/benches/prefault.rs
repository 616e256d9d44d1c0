//! How fast memory is faulted in: hostpool on one and two threads, beside a raw single-thread populate of the same kind
//! of mapping (what the systems in use do) and a memset of faulted memory (the limit).
//!
//! `cargo bench --bench prefault`, with `-- --json` one JSON object a figure. Needs root for the hugepage rows; a
//! machine without says so. `HOSTPOOL_BENCH_MIB` sets the size (default 1024). Each timed pass comes right after an
//! untimed one of the same kind, because memory that the hypervisor has not backed lately faults many times slower; the
//! kinds take turns within a round, and the median of the rounds is printed.

use std::fs::File;
use std::hint::black_box;
use std::time::Instant;

use hostpool_allocator::budget::HOST_BUDGET;
use hostpool_allocator::host::HostRoot;
use hostpool_allocator::memory::{HostBuffer, HostBufferSpec, HostMemoryAllocator, MemoryWish};
use hostpool_allocator::{Backing, Bytes};
use memmap2::{Advice, MmapOptions};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const ROUNDS: usize = 5;
const HUGEPAGE_FILE: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";
const ROWS: [(Backing, &str); 4] = [
    (Backing::Anonymous, "anonymous 4 KiB"),
    (Backing::AnonymousHugetlb, "anonymous hugetlb 2 MiB"),
    (Backing::AnonymousShm, "memfd 4 KiB"),
    (Backing::AnonymousShmHugetlb, "memfd hugetlb 2 MiB"),
];
const COLUMNS: [&str; 4] =
    ["hostpool, 1 thread", "hostpool, 2 threads", "raw populate, 1 thread", "memset, faulted"];

/// Hugepages for the run; what was there before comes back.
struct Hugepages(u64);

impl Hugepages {
    fn set_up(bytes: u64) -> Option<Self> {
        let read = || std::fs::read_to_string(HUGEPAGE_FILE).ok()?.trim().parse::<u64>().ok();
        let before = read()?;
        let wanted = before + bytes.div_ceil(2 << 20);
        let set_up = Self(before);
        std::fs::write(HUGEPAGE_FILE, wanted.to_string()).ok()?;
        (read()? == wanted).then_some(set_up)
    }
}

impl Drop for Hugepages {
    fn drop(&mut self) {
        if std::fs::write(HUGEPAGE_FILE, self.0.to_string()).is_err() {
            eprintln!("{HUGEPAGE_FILE} must go back to {} by hand", self.0);
        }
    }
}

/// Seconds that `hostpool` takes on `threads` threads.
fn hostpool(allocator: &HostMemoryAllocator, backing: Backing, bytes: u64, threads: u32) -> Outcome<f64> {
    let memory = MemoryWish::of(backing);
    let spec = HostBufferSpec {
        name: None,
        bytes: Bytes::new(bytes),
        memory,
        budget: HOST_BUDGET.to_owned(),
        rank: None,
    };
    let buffer = HostBuffer::allocate(allocator, spec)?;
    let start = Instant::now();
    buffer.memory().prefault_with(threads)?;
    Ok(start.elapsed().as_secs_f64())
}

/// A memfd as the allocator makes them, without its seals.
fn memfd(backing: Backing, bytes: u64) -> Outcome<File> {
    let huge =
        if backing.is_hugetlb() { MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB } else { MemfdFlags::empty() };
    let file = memfd_create("hostpool-bench", MemfdFlags::CLOEXEC | huge)?;
    ftruncate(&file, bytes)?;
    Ok(File::from(file))
}

/// Seconds that one MADV_POPULATE_WRITE of a whole mapping takes.
fn raw(backing: Backing, bytes: u64) -> Outcome<f64> {
    let mut options = MmapOptions::new();
    options.len(usize::try_from(bytes)?);
    if backing.is_memfd() {
        let map = options.map_raw(&memfd(backing, bytes)?)?;
        let start = Instant::now();
        map.advise(Advice::PopulateWrite)?;
        return Ok(start.elapsed().as_secs_f64());
    }
    if backing.is_hugetlb() {
        options.huge(Some(21));
    }
    let map = options.map_anon()?;
    let start = Instant::now();
    map.advise(Advice::PopulateWrite)?;
    Ok(start.elapsed().as_secs_f64())
}

/// Seconds that writing every byte of memory that is there takes.
fn memset(backing: Backing, bytes: u64) -> Outcome<f64> {
    let mut options = MmapOptions::new();
    options.len(usize::try_from(bytes)?);
    if backing.is_hugetlb() {
        options.huge(Some(21));
    }
    let mut map = options.map_anon()?;
    map.advise(Advice::PopulateWrite)?;
    let start = Instant::now();
    map.fill(0xa5);
    black_box(map.first());
    Ok(start.elapsed().as_secs_f64())
}

fn column(allocator: &HostMemoryAllocator, index: usize, backing: Backing, bytes: u64) -> Outcome<f64> {
    match index {
        0 => hostpool(allocator, backing, bytes, 1),
        1 => hostpool(allocator, backing, bytes, 2),
        2 => raw(backing, bytes),
        _ => memset(backing, bytes),
    }
}

/// Median seconds of each column.
fn row(allocator: &HostMemoryAllocator, backing: Backing, bytes: u64) -> Outcome<Vec<f64>> {
    let mut seconds = vec![Vec::new(); COLUMNS.len()];
    for _ in 0..ROUNDS {
        for (index, samples) in seconds.iter_mut().enumerate() {
            column(allocator, index, backing, bytes)?;
            samples.push(column(allocator, index, backing, bytes)?);
        }
    }
    Ok(seconds.into_iter().map(median).collect())
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() -> Outcome<()> {
    let json = std::env::args().any(|argument| argument == "--json");
    let mebibytes: u32 = std::env::var("HOSTPOOL_BENCH_MIB").map_or(Ok(1024), |text| text.parse())?;
    let bytes = u64::from(mebibytes) << 20;
    let gibibytes = f64::from(mebibytes) / 1024.0;
    let hugepages = Hugepages::set_up(bytes);
    let allocator = HostMemoryAllocator::new(HostRoot::default(), Bytes::ZERO)?;
    if !json {
        println!("prefault of {mebibytes} MiB, GiB/s, median of {ROUNDS}");
        println!("{:<24}{}", "", COLUMNS.map(|name| format!("{name:>24}")).concat());
    }
    for (backing, name) in ROWS {
        if backing.is_hugetlb() && hugepages.is_none() {
            println!("SKIPPED {name}: {mebibytes} MiB of 2 MiB hugepages cannot be set up (needs root)");
            continue;
        }
        let rates: Vec<f64> =
            row(&allocator, backing, bytes)?.iter().map(|seconds| gibibytes / seconds).collect();
        if json {
            for (column, rate) in COLUMNS.iter().zip(&rates) {
                println!(
                    r#"{{"bench":"prefault","backing":"{name}","what":"{column}","gib_per_second":{rate:.3}}}"#
                );
            }
        } else {
            let rates: String = rates.iter().map(|rate| format!("{rate:>24.2}")).collect();
            println!("{name:<24}{rates}");
        }
    }
    Ok(())
}
