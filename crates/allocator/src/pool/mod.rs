//! The two pools: slots by themselves, and slots with the bytes behind them; and groups of them.

mod group;
mod layout;
mod logical;
#[cfg(loom)]
#[cfg(test)]
mod loom_tests;
mod paged;
mod slot_pool;
mod spec;

pub use group::{
    MAX_GROUP_POOLS, PagesPerAnchorPage, PoolGroup, PoolGroupMember, PoolGroupMemberPlan, PoolGroupPlan,
    PoolGroupSpec,
};
pub use layout::{Layout, PageLocation, PageShape};
pub use logical::LogicalHostPool;
pub use paged::V4PagedHostPool;
pub use slot_pool::SlotStats;
pub use spec::{MAX_LAYERS, V4PagedPoolPlan, V4PagedPoolSpec};
