//! Sorts: families of interchangeable elements.

use shoal_syntax::Span;

/// How many elements a sort has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortSize {
    /// Exactly so many.
    Fixed(u32),
    /// Elements are created and deleted while the model runs (heap cells, processes); none exist at the start.
    /// An array over such a sort has an entry for each element that exists.
    Growing {
        /// At most so many at a time, where the source says so.
        limit: Option<u32>,
    },
    /// Any number: the properties are asked for every size.
    Any,
}

/// A family of interchangeable elements: a scalarset, the processes of a template, the cells of a heap.
///
/// The model never orders the elements of a sort, except by [`crate::ExprKind::Ordinal`] and
/// [`crate::ExprKind::ElementAt`], which break it. An element named by a constant is *pinned*. Whether the
/// elements really are interchangeable is for the symmetry analysis to prove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sort {
    /// Its name in the source.
    pub name: String,
    /// How many elements it has.
    pub size: SortSize,
    /// The number the first element has in the source: Murphi shows `Proc_1`, templates count from 1 too.
    pub first: u32,
    /// Where it was declared.
    pub span: Span,
}

impl Sort {
    /// The number of elements where it is fixed.
    pub fn fixed_size(&self) -> Option<u32> {
        match self.size {
            SortSize::Fixed(size) => Some(size),
            SortSize::Growing { .. } | SortSize::Any => None,
        }
    }

    /// The name of an element, such as `Proc_1`.
    pub fn element_name(&self, element: u32) -> String {
        format!("{}_{}", self.name, element + self.first)
    }
}
