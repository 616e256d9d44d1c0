//! Every layout on every backing: what is written to a page of a layer is what is read from it.

use hostpool_allocator::pool::{V4PagedHostPool, V4PagedPoolSpec};
use hostpool_allocator::{Backing, Bytes};

use crate::machine::{
    BACKINGS, Footprint, Hugepages, LAYOUTS, MIB, all_mapped_bytes, allocator, alone, buffer, charged,
    pool_spec, wish,
};

/// Four layers of 512 pages of 1 MiB: 2 GiB.
const LAYERS: u32 = 4;
const PAGES: u64 = 512;
const POOL_BYTES: u64 = LAYERS as u64 * PAGES * MIB;

/// Bytes that no other page of no other layer has.
fn stamp(layer: u32, page: u64) -> [u8; 16] {
    let mut stamp = [0; 16];
    stamp[..8].copy_from_slice(&u64::from(layer).to_le_bytes());
    stamp[8..].copy_from_slice(&(page ^ 0x5afe_5afe).to_le_bytes());
    stamp
}

fn write_and_read_back(pool: &V4PagedHostPool, layers: u32, pages: u64, item_bytes: usize) {
    let places = || (0..layers).flat_map(|layer| (0..pages).map(move |page| (layer, page)));
    let mut item = vec![0; item_bytes];
    for (layer, page) in places() {
        item[..16].copy_from_slice(&stamp(layer, page));
        item[item_bytes - 16..].copy_from_slice(&stamp(layer, page));
        pool.write_page(layer, page, &item).unwrap();
    }
    for (layer, page) in places() {
        pool.read_page(layer, page, &mut item).unwrap();
        assert_eq!(item[..16], stamp(layer, page), "first bytes of layer {layer}, page {page}");
        assert_eq!(item[item_bytes - 16..], stamp(layer, page), "last bytes of layer {layer}, page {page}");
    }
}

#[test]
fn a_2_gib_pool_in_each_layout_and_backing_is_made_written_read_back_and_gone() {
    let _alone = alone();
    let hugepages = Hugepages::set_up(2048, POOL_BYTES / (2 * MIB));
    for backing in BACKINGS.into_iter().filter(|backing| !backing.is_hugetlb() || hugepages.is_some()) {
        for layout in LAYOUTS {
            let allocator = allocator();
            let (before, mapped_before) = (Footprint::now(), all_mapped_bytes());
            let spec = V4PagedPoolSpec { layout, ..pool_spec(LAYERS, PAGES, MIB, backing) };
            let pool = V4PagedHostPool::allocate(&allocator, spec).unwrap();
            assert_eq!(charged(&allocator), POOL_BYTES);
            pool.memory().prefault().unwrap();
            assert!(all_mapped_bytes() >= mapped_before + POOL_BYTES);
            assert_eq!(pool.memory().progress().resident.get(), POOL_BYTES);
            write_and_read_back(&pool, LAYERS, PAGES, usize::try_from(MIB).unwrap());
            assert_eq!(pool.memory().close().get(), POOL_BYTES);
            assert_eq!(charged(&allocator), 0);
            assert_eq!(Footprint::now(), before, "{backing:?} {layout:?}");
            assert!(all_mapped_bytes() < mapped_before + POOL_BYTES / 2, "{backing:?} {layout:?}");
        }
    }
}

#[test]
fn items_that_do_not_fill_memory_pages_keep_apart() {
    let _alone = alone();
    for layout in LAYOUTS {
        let allocator = allocator();
        let spec = V4PagedPoolSpec { layout, ..pool_spec(31, 61, 1728, Backing::Anonymous) };
        let pool = V4PagedHostPool::allocate(&allocator, spec).unwrap();
        write_and_read_back(&pool, 31, 61, 1728);
    }
}

#[test]
fn a_page_the_pool_does_not_have_is_efault_and_a_wrong_length_einval() {
    let _alone = alone();
    let allocator = allocator();
    let pool = V4PagedHostPool::allocate(&allocator, pool_spec(2, 3, 100, Backing::AnonymousShm)).unwrap();
    let mut item = [0; 100];
    assert_eq!(pool.read_page(2, 0, &mut item).unwrap_err().name(), "EFAULT");
    assert_eq!(pool.write_page(0, 3, &item).unwrap_err().name(), "EFAULT");
    assert_eq!(pool.write_page(0, 0, &item[1..]).unwrap_err().name(), "EINVAL");
    pool.memory().close();
    assert_eq!(pool.read_page(0, 0, &mut item).unwrap_err().name(), "EBADF");
}

#[test]
fn a_1_gib_hugepage_backs_a_buffer() {
    let _alone = alone();
    let Some(_pages) = Hugepages::set_up(1 << 20, 1) else { return };
    let allocator = allocator();
    for backing in [Backing::AnonymousHugetlb, Backing::AnonymousShmHugetlb] {
        let mut memory = wish(backing);
        memory.hugepage_size = Bytes::new(1 << 30);
        let buffer = buffer(&allocator, 5, memory).unwrap();
        buffer.memory().prefault().unwrap();
        let placement = buffer.memory().placement();
        assert_eq!((placement.mapped.get(), placement.alignment.get()), (1 << 30, 1 << 30));
        assert_eq!(buffer.memory().close().get(), 1 << 30);
    }
}

#[test]
fn closing_twice_gives_back_once() {
    let _alone = alone();
    let allocator = allocator();
    let buffer = buffer(&allocator, 5000, wish(Backing::Anonymous)).unwrap();
    assert_eq!(buffer.memory().close().get(), 8192);
    assert_eq!(buffer.memory().close().get(), 0);
    assert_eq!(buffer.memory().placement().mapped.get(), 8192, "what it was stays known");
}

#[test]
fn memory_that_is_dropped_is_given_back() {
    let _alone = alone();
    let allocator = allocator();
    let before = Footprint::now();
    let pool = V4PagedHostPool::allocate(&allocator, pool_spec(4, 4, MIB, Backing::AnonymousShm)).unwrap();
    pool.memory().prefault().unwrap();
    assert_ne!(Footprint::now(), before);
    drop(pool);
    assert_eq!(Footprint::now(), before);
    assert_eq!(charged(&allocator), 0);
}
