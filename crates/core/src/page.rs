//! A part of what a queue or a set holds, and in what order it is looked through.

/// A slice of a list or a sorted set.
///
/// ```
/// use cogworker_core::page::Page;
///
/// let page = Page::new(250, vec!["a", "b"]);
/// assert_eq!((page.total, page.entries.len()), (250, 2));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page<T> {
    /// How many entries there are in all.
    pub total: u64,
    /// The entries of this page.
    pub entries: Vec<T>,
}

impl<T> Page<T> {
    /// These entries out of `total`.
    pub fn new(total: u64, entries: Vec<T>) -> Self {
        Self { total, entries }
    }
}

/// Where a search begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SearchOrder {
    /// With what is taken or due next, or died first.
    NextFirst,
    /// At the other end.
    LastFirst,
}
