//! Pools that grow together: V4 paged pools lined up with the pages of one logical pool, their anchor.

mod largest;
mod make;
mod plan;
mod ratio;
mod size;
mod spec;

pub use make::PoolGroup;
pub use plan::{PoolGroupMemberPlan, PoolGroupPlan};
pub use ratio::PagesPerAnchorPage;
pub use spec::{MAX_GROUP_POOLS, PoolGroupMember, PoolGroupSpec};
