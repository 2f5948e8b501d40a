//! The syntax tree. Variables and constants are already resolved; proctypes, labels and functions are named.

use std::rc::Rc;

use shoal_model::BinaryOp;
use shoal_syntax::{Span, Spanned};

/// Which label of a program: each expansion of an inline has its own.
pub type LabelId = usize;
/// Which jump of a program.
pub type JumpId = usize;

/// A name and where it stands.
pub type Name = Spanned<Rc<str>>;

/// A whole source.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Types of records.
    pub typedefs: Vec<Typedef>,
    /// All variables, global ones and those of proctypes, in the order of their declaration.
    pub variables: Vec<Variable>,
    /// The sets of symbolic constants; the first is the one without a name.
    pub mtypes: Vec<Mtype>,
    /// Proctypes, `init` among them.
    pub proctypes: Vec<Proctype>,
    /// Functions.
    pub functions: Vec<Proctype>,
    /// Never claims.
    pub nevers: Vec<Proctype>,
    /// What is said of the messages of some channels.
    pub trace: Option<EventTrace>,
    /// Formulas.
    pub formulas: Vec<Formula>,
    /// The label that each jump leads to; none where that is a mistake.
    pub jumps: Vec<Option<LabelId>>,
    /// Where it is said how many processes there are that may be any number.
    pub any_counts: Vec<Span>,
    /// Where processes are first given priorities, or asked for them.
    pub priorities: Option<Span>,
}

/// A type of records.
#[derive(Clone, Debug)]
pub struct Typedef {
    /// Its name.
    pub name: Name,
    /// Its fields.
    pub fields: Vec<Field>,
    /// How many numbers a record of it is.
    pub parts: u64,
}

/// A field of a record.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub ty: Type,
    /// Its length if it is an array.
    pub length: Option<u32>,
    /// Its first value.
    pub init: Option<Init>,
}

/// A set of symbolic constants.
#[derive(Clone, Debug)]
pub struct Mtype {
    /// Its name, if it has one.
    pub name: Option<Rc<str>>,
    /// The constant with number `n` stands at `n - 1`.
    pub constants: Vec<Rc<str>>,
}

/// Which variable.
pub type VariableId = usize;

/// A variable.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub ty: Type,
    /// Its length if it is an array.
    pub length: Option<u32>,
    /// Its first value.
    pub init: Option<Init>,
    /// Whether it is a parameter.
    pub is_param: bool,
    /// Whether it is declared after the first statement of its proctype: then its declaration is a step.
    pub is_late: bool,
    /// Whether it is global.
    pub is_global: bool,
    /// Whether it was declared `hidden`.
    pub is_hidden: bool,
}

/// The type of a variable, a field or a part of a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// `bit` and `bool`.
    Bit,
    /// `byte` and `pid`.
    Byte,
    /// 16 bits.
    Short,
    /// 32 bits.
    Int,
    /// So many bits.
    Unsigned(u32),
    /// A symbolic constant of a set.
    Mtype(usize),
    /// A channel.
    Chan,
    /// A record.
    Record(usize),
    /// A reference to an object.
    Pointer(Box<Type>),
    /// A function.
    Function,
}

/// A first value.
#[derive(Clone, Debug)]
pub enum Init {
    /// One value (for every element of an array).
    Value(Expr),
    /// One value for each element.
    List(Vec<Expr>),
    /// A new object, to which a global pointer leads from the start.
    New(Type),
    /// New channels.
    Channel {
        /// How many messages fit.
        capacity: u32,
        /// What a message is made of.
        fields: Vec<Type>,
    },
}

/// A proctype, a never claim or a function.
#[derive(Clone, Debug)]
pub struct Proctype {
    /// Its name.
    pub name: Name,
    /// How many run from the start.
    pub active: u32,
    /// Where that is said, if it is.
    pub count: Option<Span>,
    /// Its parameters.
    pub params: Vec<VariableId>,
    /// All its variables, parameters first.
    pub variables: Vec<VariableId>,
    /// What it promises of channels.
    pub promises: Vec<Promise>,
    /// Whether at most one of its steps may be possible at a time (`D_proctype`).
    pub is_deterministic: bool,
    /// Must hold for each of its steps.
    pub provided: Option<Expr>,
    /// The priority of those that run from the start.
    pub priority: u8,
    /// Its statements.
    pub body: Vec<Stmt>,
    /// The type of what a function returns.
    pub result: Option<Type>,
    /// Where it ends.
    pub end: Span,
}

/// `xr c` or `xs c`: no other process does something to the channel while this one runs.
#[derive(Clone, Debug)]
pub struct Promise {
    /// What the others do not do.
    pub never: Use,
    /// The channel.
    pub channel: VarRef,
}

/// What is done to a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Receiving, and asking whether one can (`xr`).
    Receive,
    /// Sending, and asking whether one can (`xs`).
    Send,
}

/// `trace` or `notrace`: the order in which messages are sent to some channels, or received.
#[derive(Clone, Debug)]
pub struct EventTrace {
    /// Its events, as statements.
    pub body: Proctype,
    /// Whether it must not come to its end.
    pub is_negated: bool,
}

/// A formula of linear time.
#[derive(Clone, Debug)]
pub struct Formula {
    /// Its name, if it has one.
    pub name: Option<Name>,
    /// What it says.
    pub formula: Expr,
}

/// A label where it is declared.
#[derive(Clone, Debug)]
pub struct Label {
    /// What it is called.
    pub name: Name,
    /// Which one it is.
    pub id: LabelId,
}

/// A statement and where it stands.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of statement.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// Executable when not 0.
    Expr(Expr),
    /// `x = e`; nothing is assigned where `_` stands.
    Assign(Option<VarRef>, Expr),
    /// `assert(e)`.
    Assert(Expr),
    /// `_priority = e`, and `set_priority(p, e)` of a process by its number.
    SetPriority(Option<Expr>, Expr),
    /// `printf` and `printm`, with the text to print.
    Print(Rc<str>, Vec<Expr>),
    /// `q!e, ...`.
    Send {
        /// The channel.
        channel: VarRef,
        /// `!!`.
        sorted: bool,
        /// The message.
        message: Vec<Expr>,
    },
    /// `q?x, ...`.
    Receive(Receive),
    /// In a trace: a message is sent, or received.
    Event(Use, Receive),
    /// `if`.
    If(Vec<Vec<Stmt>>),
    /// `do`.
    Do(Vec<Vec<Stmt>>),
    /// `atomic`.
    Atomic(Vec<Stmt>),
    /// `d_step`.
    DStep(Vec<Stmt>),
    /// `{ ... }`.
    Block(Vec<Stmt>),
    /// Statements that stand for one, and are no block: a loop that counts.
    Several(Vec<Stmt>),
    /// `{ ... } unless { ... }`.
    Unless(Vec<Stmt>, Vec<Stmt>),
    /// `goto`.
    Goto(JumpId),
    /// `break`.
    Break,
    /// `else`.
    Else,
    /// A statement with a label.
    Label(Label, Box<Stmt>),
    /// `x = new T` with the length of an array.
    New(VarRef, Type, Option<Expr>),
    /// `delete x`.
    Delete(VarRef),
    /// A call of a function, named or through a variable, and where the result goes.
    Call(Option<VarRef>, Callee, Vec<Expr>),
    /// `return e` of a function.
    Return(Option<Expr>),
}

/// What is called.
#[derive(Clone, Debug)]
pub enum Callee {
    /// A function by its name.
    Named(Name),
    /// What a variable holds.
    Variable(VarRef),
}

/// A receive, or a poll.
#[derive(Clone, Debug)]
pub struct Receive {
    /// The channel.
    pub channel: VarRef,
    /// Any message that fits, not only the first: `??`.
    pub random: bool,
    /// The message stays: `<...>`.
    pub copy: bool,
    /// What the parts of the message are matched with.
    pub parts: Vec<Pattern>,
}

/// What a part of a message is matched with.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// Must have this value.
    Equal(Expr),
    /// Is assigned.
    Store(VarRef),
    /// Anything.
    Any,
}

/// A variable or a part of it.
#[derive(Clone, Debug)]
pub struct VarRef {
    /// The variable.
    pub variable: VariableId,
    /// The element of an array.
    pub index: Option<Box<Expr>>,
    /// Fields, each with the element if it is an array.
    pub fields: Vec<(Name, Option<Expr>)>,
    /// Where it stands.
    pub span: Span,
}

/// An expression and where it stands.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of expression.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A number.
    Int(i64),
    /// The constant of a set with this number (from 1).
    Mtype(usize, u32),
    /// A variable.
    Var(VarRef),
    /// `!e`.
    Not(Box<Expr>),
    /// `-e`.
    Neg(Box<Expr>),
    /// `~e`.
    BitNot(Box<Expr>),
    /// Arithmetic and `<`, `<=`, `>`, `>=`.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `==`.
    Equal(Box<Expr>, Box<Expr>),
    /// `!=`.
    NotEqual(Box<Expr>, Box<Expr>),
    /// `&&`.
    And(Box<Expr>, Box<Expr>),
    /// `||`.
    Or(Box<Expr>, Box<Expr>),
    /// `(c -> a : b)`.
    Cond(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `run P(...)`, with the priority that the process is given.
    Run(Name, Vec<Expr>, u8),
    /// `len` and the like.
    Query(Query, VarRef),
    /// `q?[...]`.
    Poll(Receive),
    /// `timeout`.
    Timeout,
    /// `np_`.
    NonProgress,
    /// `_pid`.
    Pid,
    /// `_nr_pr`.
    Processes,
    /// `_last`.
    Last,
    /// `enabled(e)`.
    Enabled(Box<Expr>),
    /// `pc_value(e)`: SPIN's number of the location of a process.
    Location(Box<Expr>),
    /// `_priority`, and `get_priority(e)` of a process by its number.
    Priority(Option<Box<Expr>>),
    /// `P[e]@label`.
    At(Name, Option<Box<Expr>>, Name),
    /// `P[e]:variable`.
    Remote(Name, Option<Box<Expr>>, Name, Option<Box<Expr>>),
    /// `null`.
    Null,
    /// The name of a function.
    Function(Name),
    /// A temporal operator with one operand.
    Temporal(Temporal, Box<Expr>),
    /// A temporal operator with two operands.
    Temporal2(Temporal2, Box<Expr>, Box<Expr>),
}

/// What can be asked of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// How many messages it holds.
    Len,
    /// Whether it is full.
    Full,
    /// Whether it is not.
    NotFull,
    /// Whether it is empty.
    Empty,
    /// Whether it is not.
    NotEmpty,
}

/// Temporal operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Temporal {
    /// `[]`.
    Always,
    /// `<>`.
    Eventually,
    /// `X`.
    Next,
}

/// Temporal operators with two operands, and connectives that only formulas have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Temporal2 {
    /// `U`.
    Until,
    /// `W`.
    WeakUntil,
    /// `V`.
    Release,
    /// `->`.
    Implies,
    /// `<->`.
    Equivalent,
}

impl Temporal2 {
    /// Whether it speaks of the state that its operands speak of.
    pub(crate) fn is_connective(self) -> bool {
        match self {
            Temporal2::Until | Temporal2::WeakUntil | Temporal2::Release => false,
            Temporal2::Implies | Temporal2::Equivalent => true,
        }
    }
}
