//! How layers and pages are interleaved in memory: where the bytes of one page of one layer are.

use crate::units::Bytes;

/// The three layouts of the V4 paged pool (sglang `memory_pool_host`, `layout`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// One mapping a layer, each of shape [num_host_pages, item_bytes].
    LayerFirst,
    /// One mapping of shape [num_host_pages, layer_num, item_bytes].
    PageFirst,
    /// One mapping of shape [num_host_pages, layer_num, 1, item_bytes]: the bytes lie as in `PageFirst`.
    PageFirstDirect,
}

/// The three numbers that shape a V4 paged pool. None is zero and the product fits 2^53 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageShape {
    /// Layers.
    pub layer_num: u32,
    /// Pages.
    pub num_host_pages: u64,
    /// Bytes of one page in one layer.
    pub item_bytes: Bytes,
}

/// Where a page of a layer lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLocation {
    /// Which mapping, from 0.
    pub mapping: u32,
    /// Where in it, in bytes.
    pub offset: Bytes,
}

impl Layout {
    /// How many mappings the shape takes.
    #[must_use]
    pub fn mapping_count(self, shape: &PageShape) -> u32 {
        match self {
            Self::LayerFirst => shape.layer_num,
            Self::PageFirst | Self::PageFirstDirect => 1,
        }
    }

    /// How many pages-of-a-layer each mapping holds for one page of the pool.
    fn items_per_page(self, shape: &PageShape) -> u64 {
        match self {
            Self::LayerFirst => 1,
            Self::PageFirst | Self::PageFirstDirect => shape.layer_num.into(),
        }
    }

    /// Bytes of each mapping, before it is rounded up to whole memory pages; `None` above `u64::MAX`.
    #[must_use]
    pub fn mapping_bytes(self, shape: &PageShape) -> Option<Bytes> {
        self.page_stride(shape)?.checked_mul(shape.num_host_pages)
    }

    /// Bytes from one page to the next in the same layer; `None` above `u64::MAX`.
    #[must_use]
    pub fn page_stride(self, shape: &PageShape) -> Option<Bytes> {
        shape.item_bytes.checked_mul(self.items_per_page(shape))
    }

    /// Bytes from one layer to the next in the same page; `None` where each layer has a mapping of its own.
    #[must_use]
    pub fn layer_stride(self, shape: &PageShape) -> Option<Bytes> {
        match self {
            Self::LayerFirst => None,
            Self::PageFirst | Self::PageFirstDirect => Some(shape.item_bytes),
        }
    }

    /// The shape of each mapping, slowest dimension first.
    #[must_use]
    pub fn dimensions(self, shape: &PageShape) -> Vec<u64> {
        let (pages, layers, item) = (shape.num_host_pages, shape.layer_num.into(), shape.item_bytes.get());
        match self {
            Self::LayerFirst => vec![pages, item],
            Self::PageFirst => vec![pages, layers, item],
            Self::PageFirstDirect => vec![pages, layers, 1, item],
        }
    }

    /// Where `page` of `layer` lies; `None` when the shape does not have them.
    #[must_use]
    pub fn locate(self, shape: &PageShape, layer: u32, page: u64) -> Option<PageLocation> {
        if layer >= shape.layer_num || page >= shape.num_host_pages {
            return None;
        }
        let start = self.page_stride(shape)?.checked_mul(page)?;
        match self {
            Self::LayerFirst => Some(PageLocation { mapping: layer, offset: start }),
            Self::PageFirst | Self::PageFirstDirect => {
                let within = shape.item_bytes.checked_mul(layer.into())?;
                Some(PageLocation { mapping: 0, offset: start.checked_add(within)? })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: PageShape = PageShape { layer_num: 3, num_host_pages: 5, item_bytes: Bytes::new(100) };

    fn at(mapping: u32, offset: u64) -> Option<PageLocation> {
        Some(PageLocation { mapping, offset: Bytes::new(offset) })
    }

    #[test]
    fn layer_first_has_a_mapping_a_layer() {
        let layout = Layout::LayerFirst;
        assert_eq!(layout.mapping_count(&SHAPE), 3);
        assert_eq!(layout.mapping_bytes(&SHAPE), Some(Bytes::new(500)));
        assert_eq!(layout.dimensions(&SHAPE), [5, 100]);
        assert_eq!(layout.layer_stride(&SHAPE), None);
        assert_eq!(layout.locate(&SHAPE, 2, 4), at(2, 400));
    }

    #[test]
    fn page_first_interleaves_the_layers_of_a_page() {
        for (layout, dimensions) in
            [(Layout::PageFirst, vec![5, 3, 100]), (Layout::PageFirstDirect, vec![5, 3, 1, 100])]
        {
            assert_eq!(layout.mapping_count(&SHAPE), 1);
            assert_eq!(layout.mapping_bytes(&SHAPE), Some(Bytes::new(1500)));
            assert_eq!(layout.dimensions(&SHAPE), dimensions);
            assert_eq!(layout.layer_stride(&SHAPE), Some(Bytes::new(100)));
            assert_eq!(layout.page_stride(&SHAPE), Some(Bytes::new(300)));
            assert_eq!(layout.locate(&SHAPE, 2, 4), at(0, 1400));
        }
    }

    #[test]
    fn every_page_of_every_layer_has_its_own_bytes_in_every_layout() {
        for layout in [Layout::LayerFirst, Layout::PageFirst, Layout::PageFirstDirect] {
            let places =
                (0..3).flat_map(|layer| (0..5).map(move |page| layout.locate(&SHAPE, layer, page).unwrap()));
            let mut places: Vec<_> = places.map(|at| (at.mapping, at.offset.get())).collect();
            places.sort_unstable();
            let per_mapping = layout.mapping_bytes(&SHAPE).unwrap().get();
            let expected: Vec<_> = (0..layout.mapping_count(&SHAPE))
                .flat_map(|mapping| (0..per_mapping).step_by(100).map(move |offset| (mapping, offset)))
                .collect();
            assert_eq!(places, expected, "{layout:?}");
        }
    }

    #[test]
    fn what_the_shape_does_not_have_is_nowhere() {
        assert_eq!(Layout::LayerFirst.locate(&SHAPE, 3, 0), None);
        assert_eq!(Layout::PageFirst.locate(&SHAPE, 0, 5), None);
    }
}
