//! A process that asks hostpool for memory over GraphQL again and again, and faults in what it is granted: the client of
//! test/e2e/over-commit. Small, so that sixteen of them weigh little beside what they ask for.
//!
//! `over_commit_client URL SEED MIN_MIB MAX_MIB`. Runs until its standard input ends, gives everything back and exits
//! with 0. Writes what it does to standard output, one JSON object a line; `at` is in milliseconds since 1970. What it
//! holds is told after it was granted and before it is given back, so that a reader never counts more than is held.

mod graphql;
mod told;
mod work;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use graphql::Endpoint;
use work::Client;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [url, seed, min_mib, max_mib] = args.as_slice() else {
        return Err("usage: over_commit_client URL SEED MIN_MIB MAX_MIB".into());
    };
    let sizes = min_mib.parse()?..=max_mib.parse()?;
    Client::new(Endpoint::new(url)?, seed.parse()?, sizes).run(&until_input_ends())
}

/// Turns true when standard input ends.
fn until_input_ends() -> Arc<AtomicBool> {
    let ended = Arc::new(AtomicBool::new(false));
    let tell = Arc::clone(&ended);
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        tell.store(true, Ordering::Relaxed);
    });
    ended
}
