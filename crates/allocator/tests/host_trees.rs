//! Reads fake trees of `proc` and `sys` files, and the real machine.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail the test, as the tests themselves do"
)]

#[path = "host_trees/cases.rs"]
mod cases;
#[path = "host_trees/cgroups.rs"]
mod cgroups;
#[path = "host_trees/machines.rs"]
mod machines;
#[path = "host_trees/refusals.rs"]
mod refusals;
#[path = "host_trees/tree.rs"]
mod tree;
