//! Pages for pages of an anchor: any ratio is refused or counts without a panic, never backwards, and never a page short.
#![no_main]

use hostpool_allocator::pool::PagesPerAnchorPage;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (f64, u64)| {
    let (ratio, anchor_pages) = input;
    let Some(parsed) = PagesPerAnchorPage::from_decimal(ratio) else { return };
    let pages = parsed.pages(anchor_pages);
    let one_more = anchor_pages.checked_add(1).and_then(|more| parsed.pages(more));
    assert!(one_more.is_none_or(|more| pages.is_some_and(|pages| pages <= more)));
    if let Some(pages) = pages {
        // The product of the doubles is off by a few parts in 2^52.
        let product = ratio * anchor_pages as f64;
        assert!(pages as f64 >= product * (1.0 - 1e-15), "{ratio} x {anchor_pages} = {pages}");
        assert!(pages as f64 <= product * (1.0 + 1e-15) + 1.0, "{ratio} x {anchor_pages} = {pages}");
    }
});
