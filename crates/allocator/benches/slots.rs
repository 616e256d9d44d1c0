//! What it costs to take pages and give them back: the slot allocator beside the two obvious ways to do it.
//!
//! `cargo bench --bench slots`, with `-- --json` one JSON object a figure. A figure is the median over rounds of the
//! mean time of a take and its give-back; the allocators take turns within a round, so that a slow moment of the
//! machine hits all of them. Runs per request are counted, not timed: each run is a copy or a transfer of its own.

mod rivals;

use std::hint::black_box;
use std::time::{Duration, Instant};

use rivals::{Bits, FreeList, Ours, Pages};

const POOL_PAGES: [u32; 2] = [65_536, 1_000_000];
const REQUEST_PAGES: [u32; 3] = [1, 16, 256];
const FILLS: [&str; 4] = ["empty", "half", "90 %", "checkerboard"];
const NAMES: [&str; 3] = ["hostpool", "free list", "first fit"];
const ROUNDS: usize = 15;
const ROUND_TIME: Duration = Duration::from_micros(300);

/// `SplitMix64`, one fixed seed a pool: all allocators start from the same pages.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

/// The free pages of a pool in the order they came free: ascending when nothing is taken, else random.
fn free_pages(pool_pages: u32, fill: &str) -> Vec<u32> {
    let mut random = Random(7);
    let mut free: Vec<u32> = (0..pool_pages)
        .filter(|page| match fill {
            "half" => random.next().is_multiple_of(2),
            "90 %" => random.next().is_multiple_of(10),
            "checkerboard" => page % 2 == 0,
            _ => true,
        })
        .collect();
    if fill != "empty" {
        free.sort_by_cached_key(|_| random.next());
    }
    free
}

fn pair(pages: &mut dyn Pages, request_pages: u32) {
    pages.take(black_box(request_pages));
    pages.give_back();
}

/// How many pairs fill a round, found while warming up.
fn pairs_a_round(pages: &mut dyn Pages, request_pages: u32) -> u32 {
    let start = Instant::now();
    let mut pairs = 0;
    while start.elapsed() < ROUND_TIME {
        pair(pages, request_pages);
        pairs += 1;
    }
    pairs
}

fn ns_per_pair(pages: &mut dyn Pages, request_pages: u32, pairs: u32) -> f64 {
    let start = Instant::now();
    for _ in 0..pairs {
        pair(pages, request_pages);
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(pairs)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Median ns a pair and runs a request of each allocator.
fn measure(all: &mut [Box<dyn Pages>; 3], request_pages: u32, rounds: usize) -> Vec<(f64, usize)> {
    let runs = all.each_mut().map(|pages| {
        let runs = pages.take(request_pages);
        pages.give_back();
        runs
    });
    let pairs = all.each_mut().map(|pages| pairs_a_round(pages.as_mut(), request_pages));
    let mut figures = [const { Vec::new() }; 3];
    for _ in 0..rounds {
        for ((pages, pairs), figures) in all.iter_mut().zip(pairs).zip(&mut figures) {
            figures.push(ns_per_pair(pages.as_mut(), request_pages, pairs));
        }
    }
    figures.into_iter().map(median).zip(runs).collect()
}

fn print_json(pool_pages: u32, fill: &str, request_pages: u32, figures: &[(f64, usize)]) {
    for (name, (ns, runs)) in NAMES.iter().zip(figures) {
        println!(
            r#"{{"bench":"slots","allocator":"{name}","pool_pages":{pool_pages},"fill":"{fill}","request_pages":{request_pages},"ns_per_pair":{ns:.1},"runs_per_request":{runs}}}"#
        );
    }
}

fn print_row(pool_pages: u32, fill: &str, request_pages: u32, figures: &[(f64, usize)]) {
    print!("{pool_pages:>10} {fill:<12} {request_pages:>5}");
    for (ns, runs) in figures {
        print!(" {ns:>12.0} {runs:>5}");
    }
    println!();
}

fn print_header() {
    print!("{:>10} {:<12} {:>5}", "pool pages", "taken", "pages");
    for name in NAMES {
        print!(" {:>12} {:>5}", format!("{name} ns"), "runs");
    }
    println!();
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let json = args.iter().any(|arg| arg == "--json");
    // Without cargo bench (cargo test --benches), one round to see that it runs.
    let rounds = if args.iter().any(|arg| arg == "--bench") { ROUNDS } else { 1 };
    if !json {
        print_header();
    }
    for (pool_pages, fill) in POOL_PAGES.iter().flat_map(|pages| FILLS.map(|fill| (*pages, fill))) {
        let free = free_pages(pool_pages, fill);
        let mut all: [Box<dyn Pages>; 3] = [
            Box::new(Ours::new(pool_pages, &free)),
            Box::new(FreeList::new(&free)),
            Box::new(Bits::new(pool_pages, &free)),
        ];
        for request_pages in REQUEST_PAGES {
            let figures = measure(&mut all, request_pages, rounds);
            let print = if json { print_json } else { print_row };
            print(pool_pages, fill, request_pages, &figures);
        }
    }
}
