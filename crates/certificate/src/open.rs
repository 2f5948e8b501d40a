//! Invariants of models in which some sorts have any number of elements: the views that their states can have.
//!
//! A view shows a few *known* elements of each such sort, all cells that belong to no other element of these sorts, and
//! of the elements that are not known which references lead to the same one, and which *context predicates* some of
//! them satisfies. Sorts, variables, types and properties have their positions in the Model.

/// A set of views, one order of the known elements of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenInvariant {
    /// For each sort of the Model how many elements a view has, where it has any number of them.
    pub elements: Vec<Option<u32>>,
    /// How many elements beyond those of a view may be looked at together: more than that was never needed, or truth
    /// values were left open.
    pub more: u32,
    /// What views say about elements that are not known, by the position of its bit.
    pub predicates: Vec<OpenPredicate>,
    /// The predicate whose elements are kept in the order in which they came to satisfy it, if views show that order: as
    /// four more variables, the first and the last of them and, for each, who is before and after it.
    pub order: Option<OpenPredicate>,
    /// Which cells a view has, in their order.
    pub places: Vec<OpenPlace>,
    /// The views.
    pub views: Vec<OpenView>,
    /// The properties that were looked at together, by position: quantifiers in them are context predicates too.
    pub asked: Vec<u32>,
    /// Those that the views prove for all instances with at least as many elements as a view.
    pub proved: Vec<u32>,
    /// Whether they are views of the Model in which stale values are reset. That stands for the Model only if nothing faults in
    /// it, which has to be proved too.
    pub refreshed: bool,
    /// Whether they are views of the Model in which data is any number of values, or one where nothing compares them.
    pub opened: bool,
    /// Whether they are views of the Model in which loops that keep their last element keep any. What can go on there need not
    /// go on in the Model.
    pub loosened: bool,
    /// Whether they are views of the Model in which nothing is kept that nothing reads.
    pub unread: bool,
}

/// A question about one element, asked by a quantifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenPredicate {
    /// The sort of the element.
    pub sort: u32,
    /// Whether an element satisfies it that makes the body false: the quantifier is a `forall`.
    pub negated: bool,
    /// The name of the element in the body.
    pub element: String,
    /// The body of the quantifier, as the Model prints it.
    pub body: String,
}

/// Where a cell is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenPlace {
    /// The variable.
    pub var: u32,
    /// The way from it to the cell.
    pub path: Vec<OpenHop>,
}

/// A part of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenHop {
    /// A field of a record, by position.
    Field(u32),
    /// The entry of an array at a value of its index type that is no element of a sort with any number, by position.
    Entry(u32),
    /// The entry of a known element.
    Known {
        /// Its sort.
        sort: u32,
        /// Its number.
        element: u32,
    },
    /// What a slot of a bag holds.
    Slot(u32),
    /// Whether a slot of a bag is in use.
    InUse(u32),
}

/// A view. Slots of bags are in an order that makes equal bags look equal, but that order has no meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenView {
    /// What each place holds.
    pub cells: Vec<OpenCell>,
    /// Bit j: an element that is not known satisfies predicate j.
    pub bits: u32,
}

/// A scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenCell {
    /// No value.
    Undefined,
    /// The reference to nothing.
    Null,
    /// A truth value.
    Bool(bool),
    /// A number.
    Int(i64),
    /// A value of an enumeration.
    Enum {
        /// Its type.
        ty: u32,
        /// Its position.
        at: u32,
    },
    /// An element of a sort of fixed size, or a known one of a sort with any number.
    Elem {
        /// Its sort.
        sort: u32,
        /// Its number.
        element: u32,
    },
    /// An element that is not known: the same one where the number is the same, and only there. Numbered as they occur.
    Star {
        /// Its sort.
        sort: u32,
        /// Its number among the stars of its sort.
        number: u32,
    },
}
