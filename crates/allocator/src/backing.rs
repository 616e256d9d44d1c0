//! What kind of mapping stands behind memory.

/// The four kinds of mapping the host memory allocator offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backing {
    /// Private anonymous memory on ordinary pages.
    Anonymous,
    /// Private anonymous memory on hugepages (MAP_HUGETLB).
    AnonymousHugetlb,
    /// A memfd on ordinary pages: shareable by descriptor.
    AnonymousShm,
    /// A memfd on hugepages (MFD_HUGETLB): shareable by descriptor.
    AnonymousShmHugetlb,
}

impl Backing {
    /// Whether it takes hugepages.
    #[must_use]
    pub const fn is_hugetlb(self) -> bool {
        matches!(self, Self::AnonymousHugetlb | Self::AnonymousShmHugetlb)
    }

    /// Whether a memfd stands behind it.
    #[must_use]
    pub const fn is_memfd(self) -> bool {
        matches!(self, Self::AnonymousShm | Self::AnonymousShmHugetlb)
    }

    /// The same kind on ordinary pages: where a hugepage wish falls back to.
    #[must_use]
    pub const fn on_ordinary_pages(self) -> Self {
        if self.is_memfd() { Self::AnonymousShm } else { Self::Anonymous }
    }
}
