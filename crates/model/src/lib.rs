//! The Model: the one intermediate representation of Shoal, and the vocabulary of verdicts.
//!
//! A [`Model`] has [`Sort`]s of interchangeable elements, [`Type`]s, variables, rules, start states and
//! properties. Front ends make it, the reference interpreter says what it means, engines decide its
//! properties and answer with an [`Outcome`].
//!
//! The meaning in short (the interpreter is the long form):
//!
//! - A state gives every variable a value. Any scalar location may be *undefined*.
//! - A rule with a value for each of its parameters is an *instance*. An instance whose guard holds may
//!   fire; firing runs the body to its end as one atomic step. Of the enabled instances only those with
//!   the least priority number may fire.
//! - All nondeterminism is a rule's parameters and [`StmtKind::Choose`].
//! - A *fault* (reading an undefined value, leaving a range, a failed assertion, ...) ends the step; it is
//!   a violation of a property, never a panic.
//! - Quantifiers over a domain that holds elements of a sort, or over the slots of a multiset, look at *every* element,
//!   and fault if the body faults for any: the result must not depend on the order of interchangeable things. Other
//!   quantifiers go from least to greatest and stop when the answer is known.

mod agent;
mod build;
mod escape;
mod expr;
mod expr_build;
pub mod fold;
mod ids;
mod internal;
mod model;
mod outcome;
mod part;
mod print;
mod property;
mod purity;
mod rename;
mod rule;
mod sort;
mod stmt;
mod trace;
mod types;
mod under;
mod value;
mod verify;
mod walk;
mod watch;

pub use agent::{Agents, Location};
pub use build::{CodeBuilder, ModelBuilder};
pub use expr::{BinaryOp, Domain, Expr, ExprKind, Place, Projection, Quantifier, Root, UnaryOp};
pub use expr_build::ExprBuilder;
pub use ids::{
    FunctionId, IndexVec, LocalId, PropertyId, RuleId, SortId, StartId, TableId, TypeId, TypedId, VarId,
};
pub use internal::{OrInternal, internal_error};
pub use model::{Lines, MOST_PARTS, Model, Runs, Table, Var};
pub use outcome::{
    Asymmetry, During, Failing, Fault, FaultKind, Job, MirrorSearch, Observer, OnlyProgress, Order, Outcome,
    PartialOrder, Progress, PropertyResult, Quiet, Reason, Reduction, Representatives, Statistics,
    StopReason, Storage, Strategy, Unsupported, Verdict, Violation,
};
pub use part::{BitSet, Part, Parts};
pub use print::{Named, print_expr, print_formula, print_model};
pub use property::{
    Asks, Automaton, Condition, DeadlockKind, Extreme, Formula, Interval, Logic, ObserverState, Property,
    PropertyKind,
};
pub use purity::{FunctionEffect, effect_of};
pub use rename::Swap;
pub use rule::{Argument, Binding, Code, Function, GuardFaults, Local, LocalKind, Parameter, Rule};
pub use sort::{Lost, Sort, SortSize};
pub use stmt::{CheckKind, OutputItem, Stmt, StmtKind};
pub use trace::{State, Step, Trace};
pub use types::{Field, Type, TypeDef};
pub use under::{Clock, look, under};
pub use value::{Ratio, Value};
pub use verify::{Malformed, verify};
pub use walk::{
    Node, walk_argument, walk_block, walk_code, walk_condition, walk_domain, walk_expr, walk_place,
};
pub use watch::{Cancel, Gauge, Limits, Ticker, Watch};

/// How deeply calls may be nested before they fault. The same for the interpreter and every engine.
pub const CALL_DEPTH: usize = 200;
