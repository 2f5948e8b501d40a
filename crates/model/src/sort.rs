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
        /// What becomes of elements that nothing leads to any more.
        lost: Lost,
    },
    /// Any number: the properties are asked for every size.
    Any,
}

/// What becomes of an element of a growing sort when a step ends and nothing leads to it any more: no variable refers to
/// it, nor does an entry, in an array over growing sorts, of an element that something leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lost {
    /// It stays. The number of a deleted element is free at once.
    Stays,
    /// It is gone, and its number is free. The number of a deleted element is free at the end of the first step after which
    /// nothing refers to it: until then a reference that dangles leads to no other element.
    Collected,
    /// As `Collected`, but a step that loses an element which was not deleted faults.
    Faults,
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

    /// Whether elements come and go while the model runs.
    pub fn is_growing(&self) -> bool {
        match self.size {
            SortSize::Growing { .. } => true,
            SortSize::Fixed(_) | SortSize::Any => false,
        }
    }

    /// How many numbers elements can have, where there is a bound: the size, or the limit to which the sort grows.
    pub fn room(&self) -> Option<u32> {
        match self.size {
            SortSize::Growing { limit, .. } => limit,
            _ => self.fixed_size(),
        }
    }

    /// The name of an element, such as `Proc_1`, or `Node#1` if it is one of those that come and go.
    pub fn element_name(&self, element: u32) -> String {
        format!("{}{}{}", self.name, self.mark(), element + self.first)
    }

    /// The element that a name is of, if its number may be one.
    pub fn element_named(&self, name: &str) -> Option<u32> {
        let number: u32 = name.strip_prefix(self.name.as_str())?.strip_prefix(self.mark())?.parse().ok()?;
        let element = number.checked_sub(self.first)?;
        self.fixed_size().is_none_or(|size| element < size).then_some(element)
    }

    /// What stands between the name of the sort and the number of an element.
    fn mark(&self) -> char {
        match self.size {
            SortSize::Growing { .. } => '#',
            SortSize::Fixed(_) | SortSize::Any => '_',
        }
    }
}
