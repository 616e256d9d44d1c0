//! What the kernel tells of a process, which may have any name: none of it panics, and a name cannot pass for a start time.
#![no_main]

use hostpool_allocator::reservation::parse_process;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = parse_process(text);
    let rest = "S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1000 200 1844674407";
    assert_eq!(parse_process(&format!("12 ({text}) {rest}")).0, Some(98765));
});
