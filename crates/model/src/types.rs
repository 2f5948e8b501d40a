//! Types: which values a location may hold.

use crate::{SortId, TypeId};

/// A type with the name it has in the source, if any. Equal kinds under two names are two types with the
/// same values, except enumerations, which are told apart by their id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeDef {
    /// Its name in the source.
    pub name: Option<String>,
    /// What it holds.
    pub kind: Type,
}

/// Which values a location may hold. A scalar location may also be undefined.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// Truth values, false before true.
    Bool,
    /// Integers from `lo` to `hi`, both included.
    Int {
        /// The least.
        lo: i64,
        /// The greatest.
        hi: i64,
    },
    /// Named constants.
    Enum {
        /// Their names, least first.
        variants: Vec<String>,
    },
    /// A reference to an element of a sort, or to none if `nullable`.
    Ref {
        /// The sort.
        sort: SortId,
        /// Whether [`crate::Value::Null`] belongs to it, as its least value.
        nullable: bool,
    },
    /// A value of one of several `Enum`, `Ref`, `Bool` or `Int` types that have no value in common.
    Union {
        /// The member types; values are ordered as the members are.
        members: Vec<TypeId>,
    },
    /// Named fields.
    Record {
        /// In the order of the source.
        fields: Vec<Field>,
    },
    /// One element for each value of the finite scalar type `index`.
    Array {
        /// The type of the index.
        index: TypeId,
        /// The type of each element.
        element: TypeId,
    },
    /// A bag of at most `capacity` elements. Positions exist only while a step runs.
    Multiset {
        /// How many fit.
        capacity: u32,
        /// The type of each element.
        element: TypeId,
    },
    /// A list of at most `capacity` elements, first to last: a channel, a stack.
    Sequence {
        /// How many fit.
        capacity: u32,
        /// The type of each element.
        element: TypeId,
    },
    /// A clock: a non-negative rational that grows as time passes.
    Clock,
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: TypeId,
}

impl Type {
    /// The integers of 64 bits, in which all arithmetic is done.
    pub const INTEGER: Type = Type::Int { lo: i64::MIN, hi: i64::MAX };

    /// Whether values are not made of other values.
    pub fn is_scalar(&self) -> bool {
        match self {
            Type::Bool
            | Type::Int { .. }
            | Type::Enum { .. }
            | Type::Ref { .. }
            | Type::Union { .. }
            | Type::Clock => true,
            Type::Record { .. } | Type::Array { .. } | Type::Multiset { .. } | Type::Sequence { .. } => false,
        }
    }
}
