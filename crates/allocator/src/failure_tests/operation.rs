//! What is done while a call is refused: memory of each kind made, faulted in and given back.

use crate::backing::Backing;
use crate::budget::HOST_BUDGET;
use crate::error::Error;
use crate::memory::{HostBuffer, HostBufferSpec, HostMemory, HostMemoryAllocator, MemoryWish};
use crate::pool::{
    Layout, PagesPerAnchorPage, PoolGroup, PoolGroupMember, PoolGroupSpec, V4PagedHostPool, V4PagedPoolSpec,
};
use crate::units::Bytes;

/// What came of an operation that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    /// It is on ordinary pages instead, and says so.
    pub(super) fell_back: bool,
    /// It knows on which nodes it is.
    pub(super) landed: bool,
}

/// Makes memory, faults it in and gives it back.
pub(super) type Perform = Box<dyn Fn(&HostMemoryAllocator) -> Result<Outcome, Error>>;

/// One operation, on memory of that wish.
pub(super) struct Operation {
    pub(super) name: String,
    pub(super) wish: MemoryWish,
    pub(super) perform: Perform,
}

/// A buffer of so many bytes, faulted in on so many threads.
pub(super) fn buffer(wish: MemoryWish, bytes: u64, threads: u32) -> Operation {
    let spec = HostBufferSpec {
        name: None,
        bytes: Bytes::new(bytes),
        memory: wish.clone(),
        budget: HOST_BUDGET.to_owned(),
        rank: None,
    };
    let name = format!("a buffer of {bytes} bytes on {threads} threads, {wish:?}");
    let perform = move |allocator: &HostMemoryAllocator| {
        let buffer = HostBuffer::allocate(allocator, spec.clone())?;
        faulted_in(allocator, &[buffer.memory()], threads)
    };
    Operation { name, wish, perform: Box::new(perform) }
}

/// A pool of three layers, two pages each, of five pages of memory.
pub(super) fn pool(backing: Backing, layout: Layout) -> Operation {
    let spec = V4PagedPoolSpec {
        name: "kv".to_owned(),
        layer_num: 3,
        num_host_pages: 2,
        item_bytes: Bytes::new(10_000),
        slot_page_size: 64,
        layout,
        budget: HOST_BUDGET.to_owned(),
        rank: None,
        memory: MemoryWish::of(backing),
    };
    let (name, wish) = (format!("a pool {layout:?} {backing:?}"), spec.memory.clone());
    let perform = move |allocator: &HostMemoryAllocator| {
        let pool = V4PagedHostPool::allocate(allocator, spec.clone())?;
        let outcome = faulted_in(allocator, &[pool.memory()], 1)?;
        assert!(pool.close() > Bytes::ZERO);
        Ok(outcome)
    };
    Operation { name, wish, perform: Box::new(perform) }
}

/// A group of two pools, of two layers and one.
pub(super) fn group(wish: MemoryWish) -> Operation {
    let member = |name: &str, layer_num| PoolGroupMember {
        name: name.to_owned(),
        layer_num,
        item_bytes: Bytes::new(10_000),
        slot_page_size: 64,
        layout: Layout::LayerFirst,
        pages_per_anchor_page: PagesPerAnchorPage::from_decimal(1.0).unwrap(),
    };
    let spec = PoolGroupSpec {
        anchor_name: "kv".to_owned(),
        anchor_page_size: 64,
        anchor_pages: Some(2),
        members: vec![member("a", 2), member("b", 1)],
        budget: HOST_BUDGET.to_owned(),
        rank: None,
        memory: wish.clone(),
    };
    let name = format!("a group of pools, {wish:?}");
    let perform = move |allocator: &HostMemoryAllocator| {
        let group = PoolGroup::allocate(allocator, &spec)?;
        let memories: Vec<_> = group.pools.iter().map(V4PagedHostPool::memory).collect();
        let outcome = faulted_in(allocator, &memories, 1);
        let closed: Vec<_> = group.pools.iter().map(V4PagedHostPool::close).collect();
        assert_eq!(closed.len(), 2);
        outcome
    };
    Operation { name, wish, perform: Box::new(perform) }
}

/// A prefault that fails has given its memory back before anything is dropped.
fn faulted_in(
    allocator: &HostMemoryAllocator,
    memories: &[&HostMemory],
    threads: u32,
) -> Result<Outcome, Error> {
    let charged = || allocator.ledger().budget(HOST_BUDGET).unwrap().unwrap().charged;
    for memory in memories {
        let before = charged();
        memory.prefault_with(threads).inspect_err(|_| {
            assert_eq!(charged().saturating_add(memory.placement().mapped), before);
        })?;
    }
    Ok(Outcome {
        fell_back: memories.iter().all(|memory| memory.placement().fell_back()),
        landed: memories.iter().all(|memory| memory.bytes_by_node().is_some()),
    })
}
