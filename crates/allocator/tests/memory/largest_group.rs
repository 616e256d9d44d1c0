//! The largest group that fits, against trying every size.

use hostpool_allocator::pool::{Layout, PoolGroupMember, V4PagedHostPool, V4PagedPoolSpec};
use hostpool_allocator::{Backing, Bytes};
use proptest::prelude::*;

use crate::groups::{cap, group, member};
use crate::machine::{LAYOUTS, MIB, TWO_MIB, alone, believing, pool_spec};

const PAGE: u64 = 4096;

/// A pool of a group in the words of a proptest: layers, bytes, hundredths of a page an anchor page, layout.
type Shape = (u32, u64, u64, usize);

/// Pages and bytes of one pool at so many anchor pages, the long way.
fn part((layers, item_bytes, hundredths, layout): Shape, anchor_pages: u64, unit: u64) -> (u64, u64, u64) {
    let pages = (anchor_pages * hundredths).div_ceil(100);
    let requested = u64::from(layers) * pages * item_bytes;
    let mapped = match LAYOUTS[layout] {
        Layout::LayerFirst => u64::from(layers) * (pages * item_bytes).next_multiple_of(unit),
        Layout::PageFirst | Layout::PageFirstDirect => requested.next_multiple_of(unit),
    };
    (pages, requested, mapped)
}

fn shape() -> impl Strategy<Value = Shape> {
    (1..5_u32, 1..300_000_u64, prop_oneof![Just(100_u64), Just(200), 1..450_u64], 0..LAYOUTS.len())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_most_that_fits_is_what_trying_every_size_finds(
        shapes in prop::collection::vec(shape(), 1..6),
        limit in 1..40 * MIB,
        hugetlb: bool,
    ) {
        let _alone = alone();
        let (_root, allocator) = believing(1 << 30, 500);
        cap(&allocator, limit);
        let (backing, unit) =
            if hugetlb { (Backing::AnonymousHugetlb, TWO_MIB.get()) } else { (Backing::AnonymousShm, PAGE) };
        let sums = |anchor_pages| {
            let parts = shapes.iter().map(|shape| part(*shape, anchor_pages, unit));
            parts.fold((0, 0), |sum, (_, requested, mapped)| (sum.0 + requested, sum.1 + mapped))
        };
        let fits = |anchor_pages| {
            let (requested, mapped) = sums(anchor_pages);
            mapped <= limit || (requested <= limit && mapped <= limit.next_multiple_of(PAGE))
        };
        let most = (1..).take_while(|anchor_pages| fits(*anchor_pages)).count() as u64;

        let members = shapes.iter().map(|(layers, item_bytes, hundredths, layout)| {
            let ratio = format!("{}.{:02}", hundredths / 100, hundredths % 100).parse().unwrap();
            PoolGroupMember { layout: LAYOUTS[*layout], ..member("p", *layers, *item_bytes, ratio) }
        });
        let members: Vec<_> = members.collect();
        let plan = |anchor_pages| group(members.clone(), anchor_pages, backing).plan(&allocator).unwrap();

        let largest = plan(None);
        prop_assert_eq!((largest.fits, largest.anchor_pages), (most > 0, most.max(1)));
        prop_assert_eq!(largest.max_anchor_pages, most);
        prop_assert_eq!((largest.requested.get(), largest.mapped.get()), sums(most.max(1)));
        for (pool, shape) in largest.pools.iter().zip(&shapes) {
            let (pages, requested, mapped) = part(*shape, most.max(1), unit);
            prop_assert_eq!((pool.num_host_pages, pool.size), (pages, pages * 64));
            prop_assert_eq!((pool.requested.get(), pool.mapped.get()), (requested, mapped));
        }
        prop_assert_eq!(largest.pools.iter().map(|pool| pool.mapped).sum::<Bytes>(), largest.mapped);
        prop_assert_eq!(largest.pools.iter().map(|pool| pool.mappings).sum::<u32>(), largest.mappings);
        for asked in [most, most + 1, most + 7].into_iter().filter(|asked| *asked > 0) {
            let asked_for = plan(Some(asked));
            prop_assert_eq!((asked_for.fits, asked_for.anchor_pages), (asked <= most, asked));
            prop_assert_eq!(asked_for.max_anchor_pages, most);
        }
    }
}

#[test]
fn a_group_of_one_is_planned_as_that_pool_is() {
    let _alone = alone();
    let (_root, allocator) = believing(100 * MIB, 24);
    for layout in LAYOUTS {
        for backing in [Backing::Anonymous, Backing::AnonymousHugetlb] {
            let pool = PoolGroupMember { layout, ..member("p", 3, 300_000, 1.0) };
            let together = group(vec![pool], Some(20), backing).plan(&allocator).unwrap();
            let spec = V4PagedPoolSpec { layout, ..pool_spec(3, 20, 300_000, backing) };
            let alone = V4PagedHostPool::plan(&allocator, &spec).unwrap();
            assert_eq!(together.max_anchor_pages, alone.max_num_host_pages, "{layout:?} {backing:?}");
            assert_eq!((together.fits, together.mapped), (alone.fits, alone.mapped));
            assert_eq!((together.available, together.limited_by), (alone.available, alone.limited_by));
            assert_eq!(together.hugepages_needed, alone.hugepages_needed);
        }
    }
}
