//! Expressions and places.

use shoal_syntax::Span;

use crate::{Argument, FaultKind, FunctionId, LocalId, SortId, TableId, TypeId, Value, VarId};

/// An expression with its type and where it came from. Evaluating one changes nothing but through calls of
/// functions with effects, which occur only in bodies.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// The type of its value. Integers have the type [`crate::Type::INTEGER`] unless they are read from a place.
    pub ty: TypeId,
    /// Where it stood in the source.
    pub span: Span,
}

impl Expr {
    /// The operands of a conjunction and of those in it, left to right; otherwise the expression itself.
    pub fn conjuncts(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::And(operands) => operands.iter().flat_map(Expr::conjuncts).collect(),
            _ => vec![self],
        }
    }
}

/// The kinds of expression.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A scalar constant. An element of a sort as a constant pins that element.
    Const(Value),
    /// The value at a place; faults if the place is scalar and undefined. Of a composite place it is a copy
    /// that may have undefined parts.
    Read(Place),
    /// The value at a place, undefined or not. Stands only where an undefined value may go: as an operand of
    /// `Equal`, as the value of an assignment, as an argument, in `IsMember`, in output.
    Peek(Place),
    /// Whether a scalar place is undefined.
    IsUndefined(Place),
    /// One operand.
    Unary(UnaryOp, Box<Expr>),
    /// Two operands, both evaluated, left first.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// Whether two values of any type are the same; undefined is the same as undefined only.
    Equal(Box<Expr>, Box<Expr>),
    /// All hold; evaluated left to right until one does not.
    And(Vec<Expr>),
    /// One holds; evaluated left to right until one does.
    Or(Vec<Expr>),
    /// The right holds if the left does; the right is evaluated only then.
    Implies(Box<Expr>, Box<Expr>),
    /// `if c then a else b`; only one of them is evaluated.
    Cond(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A quantifier; see the crate's notes for the order.
    Quantified {
        /// Which.
        quantifier: Quantifier,
        /// The bound variable.
        local: LocalId,
        /// What it ranges over.
        domain: Domain,
        /// What is asked of each.
        body: Box<Expr>,
    },
    /// The value of a function.
    Call(FunctionId, Vec<Argument>),
    /// Whether the value belongs to a member type of its union; false if it is undefined.
    IsMember(Box<Expr>, TypeId),
    /// The number (from the least, 0) of a value in its type. Of an element of a sort it breaks the sort.
    Ordinal(Box<Expr>),
    /// The element of a sort with this number from 0; faults if there is none. Breaks the sort.
    ElementAt(SortId, Box<Expr>),
    /// The entry of a table at a position from 0; faults if there is none.
    Entry(TableId, Box<Expr>),
    /// How many elements a multiset or a sequence holds.
    Len(Place),
    /// Whether the element a reference names exists: false for null and for a deleted element.
    Exists(Box<Expr>),
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// Logical negation.
    Not,
    /// Arithmetic negation; faults on overflow.
    Neg,
    /// Bitwise complement.
    BitNot,
}

/// Operators with two operands. Arithmetic is on 64-bit integers and faults on overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// Sum, of integers or of a clock and an integer that is not negative.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Quotient, towards zero; faults on division by zero.
    Div,
    /// Remainder with the sign of the dividend; faults on division by zero.
    Rem,
    /// Bitwise and.
    BitAnd,
    /// Bitwise or.
    BitOr,
    /// Bitwise exclusive or.
    BitXor,
    /// Shift left; a count below 0 shifts right, one of 64 or more gives 0. Bits shifted out are lost.
    Shl,
    /// Arithmetic shift right; a count below 0 shifts left, one of 64 or more gives 0 or -1.
    Shr,
    /// Less, of integers, clocks against integers, or two clocks.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
}

impl BinaryOp {
    /// The operator that a symbol stands for in languages that write them as C does.
    pub fn of_symbol(symbol: &str) -> Option<BinaryOp> {
        Some(match symbol {
            "+" => BinaryOp::Add,
            "-" => BinaryOp::Sub,
            "*" => BinaryOp::Mul,
            "/" => BinaryOp::Div,
            "%" => BinaryOp::Rem,
            "&" => BinaryOp::BitAnd,
            "|" => BinaryOp::BitOr,
            "^" => BinaryOp::BitXor,
            "<<" => BinaryOp::Shl,
            ">>" => BinaryOp::Shr,
            "<" => BinaryOp::Lt,
            "<=" => BinaryOp::Le,
            ">" => BinaryOp::Gt,
            ">=" => BinaryOp::Ge,
            _ => return None,
        })
    }

    /// Whether the result is a truth value.
    pub fn compares(self) -> bool {
        matches!(self, BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge)
    }

    /// The comparison that says the same with its sides exchanged; other operators as they are.
    pub fn mirrored(self) -> BinaryOp {
        match self {
            BinaryOp::Lt => BinaryOp::Gt,
            BinaryOp::Le => BinaryOp::Ge,
            BinaryOp::Gt => BinaryOp::Lt,
            BinaryOp::Ge => BinaryOp::Le,
            other => other,
        }
    }

    /// The result for two integers: the one definition of arithmetic, for the interpreter, engines and front ends.
    pub fn apply(self, left: i64, right: i64) -> Result<Value, FaultKind> {
        let shift_left = |by: i64| if by < 64 { left << by } else { 0 };
        let shift_right = |by: i64| left >> by.min(63);
        let number = match self {
            BinaryOp::Lt => return Ok(Value::Bool(left < right)),
            BinaryOp::Le => return Ok(Value::Bool(left <= right)),
            BinaryOp::Gt => return Ok(Value::Bool(left > right)),
            BinaryOp::Ge => return Ok(Value::Bool(left >= right)),
            BinaryOp::Div | BinaryOp::Rem if right == 0 => return Err(FaultKind::DivisionByZero),
            BinaryOp::Add => left.checked_add(right),
            BinaryOp::Sub => left.checked_sub(right),
            BinaryOp::Mul => left.checked_mul(right),
            BinaryOp::Div => left.checked_div(right),
            // The least integer has remainder 0 by -1, and that fits though the quotient does not.
            BinaryOp::Rem => Some(left.wrapping_rem(right)),
            BinaryOp::BitAnd => Some(left & right),
            BinaryOp::BitOr => Some(left | right),
            BinaryOp::BitXor => Some(left ^ right),
            BinaryOp::Shl if right >= 0 => Some(shift_left(right)),
            BinaryOp::Shl => Some(shift_right(right.saturating_neg())),
            BinaryOp::Shr if right >= 0 => Some(shift_right(right)),
            BinaryOp::Shr => Some(shift_left(right.saturating_neg())),
        };
        number.map(Value::Int).ok_or(FaultKind::Overflow)
    }
}

/// Quantifiers over a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantifier {
    /// All.
    Forall,
    /// At least one.
    Exists,
    /// How many; all are looked at.
    Count,
}

impl Quantifier {
    /// Whether it asks about every value by itself: `forall` does, and `exists` where its answer is denied.
    pub fn is_for_all(self, denied: bool) -> bool {
        match self {
            Quantifier::Forall => !denied,
            Quantifier::Exists => denied,
            Quantifier::Count => false,
        }
    }
}

/// What a bound variable or a parameter ranges over, least first.
#[derive(Clone, Debug, PartialEq)]
pub enum Domain {
    /// All values of a finite scalar type; of a growing sort, the elements that exist.
    Type(TypeId),
    /// `from`, `from + by`, ... up to `to` (down to, if `by` is negative). The three are evaluated once,
    /// before the first value. Empty if `by` points the wrong way; faults if it is 0.
    Range {
        /// First.
        from: Box<Expr>,
        /// Last that may be reached.
        to: Box<Expr>,
        /// Step.
        by: Box<Expr>,
    },
    /// The occupied slots of a multiset. The value is a position that only [`Projection::Slot`] and
    /// [`crate::StmtKind::MultisetRemove`] may use.
    Slots(Place),
}

/// A location: a root and a way into it.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Where it starts.
    pub root: Root,
    /// The way from there.
    pub path: Vec<Projection>,
    /// The type of what it leads to.
    pub ty: TypeId,
    /// Where it stood in the source.
    pub span: Span,
}

/// Where a place starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Root {
    /// A state variable.
    Var(VarId),
    /// A local; if it is a reference, what it refers to.
    Local(LocalId),
}

/// One step into a composite value.
#[derive(Clone, Debug, PartialEq)]
pub enum Projection {
    /// A field of a record, by position.
    Field(u32),
    /// The element of an array at an index. Faults if the index is outside, undefined, null or deleted.
    Index(Expr),
    /// The element in a slot of a multiset. Faults if the slot is free.
    Slot(Expr),
    /// The element of a sequence at a position from 0. Faults if there is none.
    Item(Expr),
}
