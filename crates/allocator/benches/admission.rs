//! What an admission decision costs with 10, 1,000 and 100,000 live charges: it must not grow with them.
//!
//! `cargo bench --bench admission`, with `-- --json` one JSON object a figure. A decision is a grant and its release, or a
//! refusal. The sizes take turns within a round, so that a slow moment of the machine hits all of them; a figure is the
//! median of the rounds. Times are printed beside those of the smallest size. What is counted, the reads of files that
//! a decision takes, must be the same at every size, or the run fails.

mod doors;

use std::time::{Duration, Instant};

use doors::{DOORS, Door, Holders, Outcome};

const LIVE: [u64; 3] = [10, 1_000, 100_000];
const ROUNDS: usize = 9;
const ROUND_TIME: Duration = Duration::from_millis(60);
/// Counting reads takes a few itself.
const READS_MAY_DIFFER_BY: f64 = 0.5;

/// What was measured of one door at one size.
struct Figures {
    live: u64,
    ns: Vec<f64>,
    decisions: u64,
    reads: u64,
}

impl Figures {
    fn new(live: u64) -> Self {
        Self { live, ns: Vec::new(), decisions: 0, reads: 0 }
    }

    fn median_ns(&self) -> f64 {
        let mut ns = self.ns.clone();
        ns.sort_by(f64::total_cmp);
        ns.get(ns.len() / 2).copied().unwrap_or(f64::NAN)
    }

    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
    fn reads_per_decision(&self) -> f64 {
        self.reads as f64 / self.decisions as f64
    }

    fn round(&mut self, door: &mut dyn Door, decisions: u32) -> Outcome<()> {
        let (reads, start) = (reads_of_this_thread()?, Instant::now());
        for _ in 0..decisions {
            door.decide()?;
        }
        self.ns.push(start.elapsed().as_secs_f64() * 1e9 / f64::from(decisions));
        self.reads += reads_of_this_thread()? - reads;
        self.decisions += u64::from(decisions);
        Ok(())
    }
}

/// How often this thread has asked the kernel to read (syscr, proc(5)).
fn reads_of_this_thread() -> Outcome<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/io")?;
    let line = text.lines().find_map(|line| line.strip_prefix("syscr: "));
    Ok(line.ok_or("no syscr in /proc/thread-self/io")?.parse()?)
}

/// How many decisions fill a round, found while warming up.
fn decisions_a_round(door: &mut dyn Door) -> Outcome<u32> {
    let (start, mut decisions) = (Instant::now(), 0);
    while start.elapsed() < ROUND_TIME {
        door.decide()?;
        decisions += 1;
    }
    Ok(decisions)
}

fn measure(make: doors::Make, holders: &Holders, rounds: usize) -> Outcome<Vec<Figures>> {
    let mut doors = LIVE.iter().map(|live| make(*live, holders)).collect::<Outcome<Vec<_>>>()?;
    let mut figures: Vec<_> = LIVE.iter().map(|live| Figures::new(*live)).collect();
    let warm = doors.iter_mut().map(|door| decisions_a_round(door.as_mut()));
    let decisions = warm.collect::<Outcome<Vec<_>>>()?;
    for _ in 0..rounds {
        for ((door, decisions), figures) in doors.iter_mut().zip(&decisions).zip(&mut figures) {
            figures.round(door.as_mut(), *decisions)?;
        }
    }
    Ok(figures)
}

fn print_json(name: &str, all: &[Figures]) {
    for figures in all {
        let Figures { live, .. } = figures;
        println!(
            r#"{{"bench":"admission","door":"{name}","live_charges":{live},"ns_per_decision":{:.0},"reads_per_decision":{:.2}}}"#,
            figures.median_ns(),
            figures.reads_per_decision()
        );
    }
}

fn print_rows(name: &str, all: &[Figures]) {
    let smallest = all.first().map_or(f64::NAN, Figures::median_ns);
    for figures in all {
        let ns = figures.median_ns();
        println!(
            "{name:<32} {:>8} {:>14.0} {:>10.2} {:>16.1}",
            figures.live,
            1e9 / ns,
            ns / smallest,
            figures.reads_per_decision()
        );
    }
}

/// The count that must not grow.
fn check(name: &str, all: &[Figures]) -> Outcome<()> {
    let smallest = all.first().map_or(f64::NAN, Figures::reads_per_decision);
    match all.iter().find(|figures| figures.reads_per_decision() > smallest + READS_MAY_DIFFER_BY) {
        None => Ok(()),
        Some(grown) => {
            let (reads, live) = (grown.reads_per_decision(), grown.live);
            Err(format!(
                "{name}: {reads:.1} reads a decision with {live} live charges, {smallest:.1} with few"
            )
            .into())
        }
    }
}

fn main() -> Outcome<()> {
    let args: Vec<String> = std::env::args().collect();
    let json = args.iter().any(|arg| arg == "--json");
    // Without cargo bench (cargo test --benches), one round to see that it runs.
    let rounds = if args.iter().any(|arg| arg == "--bench") { ROUNDS } else { 1 };
    if !json {
        println!(
            "{:<32} {:>8} {:>14} {:>10} {:>16}",
            "admission", "live", "decisions/s", "time", "reads/decision"
        );
    }
    let holders = Holders::start()?;
    for (name, make) in DOORS {
        let figures = measure(make, &holders, rounds)?;
        let print = if json { print_json } else { print_rows };
        print(name, &figures);
        check(name, &figures)?;
    }
    Ok(())
}
