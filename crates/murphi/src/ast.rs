//! The syntax tree of a Murphi model: what was written, before any name is resolved or type is known.
//!
//! The tree follows the union of the CMurphi and Rumur grammars. Three conventions run through it.
//!
//! * **Every node has a span**, from its first to its last token. Closing words are included, a following `;` is not;
//!   the span of an expression in parentheses includes them.
//! * **Depth is bounded.** Left-associative operators of one level form one flat [`ExprKind::Chain`], `elsif` ladders and
//!   designators are lists, and the parser refuses more than [`MAX_DEPTH`](crate::parser::MAX_DEPTH) nested constructs.
//!   A walker may therefore recurse freely, and so may `Drop`.
//! * **Nothing is decided that needs types.** `&` may be a conjunction or a bitwise and, a type name and a constant look
//!   alike, `log(x)` is a call like any other.
//!
//! [`ExprKind::Error`] and [`TypeKind::Error`] stand where a syntax error was reported, and what could not be repaired is
//! left out. A tree that came with errors is good for a look, not for checking: undeclared names would be phantoms.

mod formula;
mod op;

pub use formula::{Formula, FormulaKind, Temporal};
pub use op::{BinaryOp, Level, UnaryOp};

use shoal_syntax::{Span, Spanned};

/// An identifier, in the exact spelling of the source: identifiers are case-sensitive.
pub type Name = Spanned<String>;

/// The text between the quotes of a string, untouched: a backslash is kept as it stands, for CMurphi knows no escapes.
pub type Text = Spanned<String>;

/// A whole model.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Program {
    /// Everything at the top level, in source order; a name is declared before it is used.
    pub items: Vec<Item>,
    /// The whole file.
    pub span: Span,
}

/// Something at the top level.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A constant, a type or variables.
    Decl(Decl),
    /// A procedure or function.
    Procedure(Procedure),
    /// A procedure or function that CMurphi takes from C++ code.
    Extern(Extern),
    /// A rule, start state, property or a group of them.
    Rule(Rule),
}

impl Item {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Item::Decl(decl) => decl.span(),
            Item::Procedure(procedure) => procedure.span,
            Item::Extern(external) => external.span,
            Item::Rule(rule) => rule.span,
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Declarations

/// One declaration of a `const`, `type` or `var` section, global or local. Sections are not kept apart.
#[derive(Clone, Debug, PartialEq)]
pub enum Decl {
    /// `N: 3`.
    Const(ConstDecl),
    /// `Node: scalarset(N)`.
    Type(TypeDecl),
    /// `x, y: Node`.
    Var(VarDecl),
}

impl Decl {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Decl::Const(decl) => decl.span,
            Decl::Type(decl) => decl.span,
            Decl::Var(decl) => decl.span,
        }
    }
}

/// `N: 3` in a `const` section. Rumur lets several names share the value.
#[derive(Clone, Debug, PartialEq)]
pub struct ConstDecl {
    /// The names, at least one.
    pub names: Vec<Name>,
    /// Their common value.
    pub value: Expr,
    /// Names and value.
    pub span: Span,
}

/// `Node: scalarset(N)` in a `type` section. Rumur lets several names share the type.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeDecl {
    /// The names, at least one.
    pub names: Vec<Name>,
    /// Their common type.
    pub ty: TypeExpr,
    /// Names and type.
    pub span: Span,
}

/// `x, y: Node` in a `var` section, or the fields `a, b: T` of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct VarDecl {
    /// The names, at least one.
    pub names: Vec<Name>,
    /// Their common type.
    pub ty: TypeExpr,
    /// Names and type.
    pub span: Span,
}

/// A procedure (no result) or function (a result). Rumur takes either keyword for both, so only the result counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Procedure {
    /// Its name.
    pub name: Name,
    /// Its parameters.
    pub params: Vec<Param>,
    /// The type of what it returns; `None` for a procedure.
    pub result: Option<TypeExpr>,
    /// Local declarations and statements.
    pub body: Body,
    /// From `procedure` or `function` to the closing word.
    pub span: Span,
}

/// `externfun f(x: T): U "header.h"` or `externproc p() "header.h"` (CMurphi).
#[derive(Clone, Debug, PartialEq)]
pub struct Extern {
    /// Its name.
    pub name: Name,
    /// Its parameters.
    pub params: Vec<Param>,
    /// The type of what it returns; `None` for `externproc`.
    pub result: Option<TypeExpr>,
    /// The C++ header that defines it.
    pub header: Option<Text>,
    /// The whole declaration.
    pub span: Span,
}

/// One group of parameters: `var a, b: T`.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// The word `var`, if the parameters are passed by reference and may be assigned to.
    pub by_reference: Option<Span>,
    /// The names, at least one.
    pub names: Vec<Name>,
    /// Their common type.
    pub ty: TypeExpr,
    /// From `var` or the first name to the end of the type.
    pub span: Span,
}

/// What a procedure, rule or start state does: `const .. type .. var .. begin stmts`.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// Local declarations.
    pub decls: Vec<Decl>,
    /// The statements; empty statements are not kept.
    pub stmts: Vec<Stmt>,
    /// From the first declaration or `begin` to the last statement; empty, after the header, if there is nothing.
    pub span: Span,
}

// ---------------------------------------------------------------------------------------------------------------------
// Types

/// A type as written.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeExpr {
    /// What it says.
    pub kind: TypeKind,
    /// Where it stands.
    pub span: Span,
}

/// The forms of a type.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeKind {
    /// `boolean`, in any case of letters.
    Boolean,
    /// A declared type.
    Named(Name),
    /// `low..high`.
    Range {
        /// Least value.
        low: Box<Expr>,
        /// Greatest value.
        high: Box<Expr>,
    },
    /// `enum { A, B }`. The members belong to the enclosing scope. Rumur allows none.
    Enum(Vec<Name>),
    /// `record a, b: T; c: U end`.
    Record(Vec<VarDecl>),
    /// `array [index] of element`.
    Array {
        /// The index type.
        index: Box<TypeExpr>,
        /// The element type.
        element: Box<TypeExpr>,
    },
    /// `scalarset(size)`.
    Scalarset(Box<Expr>),
    /// `union { T, enum { A } }`. CMurphi wants two members at least; the parser does not count.
    Union(Vec<TypeExpr>),
    /// `multiset [capacity] of element` (CMurphi).
    Multiset {
        /// How many elements it can hold.
        capacity: Box<Expr>,
        /// The element type.
        element: Box<TypeExpr>,
    },
    /// `real(mantissa, exponent)` (CMurphi).
    Real {
        /// Digits of the mantissa.
        mantissa: Box<Expr>,
        /// Digits of the exponent.
        exponent: Box<Expr>,
    },
    /// A syntax error was reported here.
    Error,
}

// ---------------------------------------------------------------------------------------------------------------------
// Rules

/// A rule, start state, property or a group of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// What it is.
    pub kind: RuleKind,
    /// From the first word to the closing one.
    pub span: Span,
}

/// The forms of a rule.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleKind {
    /// `rule 20 "name" guard ==> body end`.
    Simple(SimpleRule),
    /// `startstate "name" body end`.
    StartState(StartState),
    /// `invariant "name" condition` and its kin. At this level `assert` is another word for `invariant` (Rumur).
    Property(Property),
    /// `ltl "name" formula` (Shoal).
    Temporal(Temporal),
    /// `fairness "name" condition` (Shoal).
    Fairness {
        /// Its name, which is for people only.
        name: Option<Text>,
        /// Holds again and again.
        condition: Expr,
    },
    /// `ruleset i: T; j: U do rules end`.
    Ruleset {
        /// One instance of the rules for each valuation; at least one quantifier.
        quantifiers: Vec<Quantifier>,
        /// The rules, possibly none.
        rules: Vec<Rule>,
    },
    /// `alias a: e; b: f do rules end`.
    Alias {
        /// A later alias may refer to an earlier one.
        aliases: Vec<Alias>,
        /// The rules, possibly none.
        rules: Vec<Rule>,
    },
    /// `choose i: bag do rules end` (CMurphi): the rules for each occupied slot of a multiset.
    Choose {
        /// The slot.
        index: Name,
        /// The multiset.
        multiset: Designator,
        /// The rules, possibly none.
        rules: Vec<Rule>,
    },
}

/// `rule 20 "name" guard ==> body end`.
#[derive(Clone, Debug, PartialEq)]
pub struct SimpleRule {
    /// CMurphi's priority; smaller is more urgent, and a rule without has 0.
    pub priority: Option<Spanned<i64>>,
    /// The name, if it has one. Names need not be unique.
    pub name: Option<Text>,
    /// When it may fire; always, if absent.
    pub guard: Option<Expr>,
    /// What it does.
    pub body: Body,
}

/// `startstate "name" body end`.
#[derive(Clone, Debug, PartialEq)]
pub struct StartState {
    /// The name, if it has one.
    pub name: Option<Text>,
    /// What makes the state; all variables are undefined before.
    pub body: Body,
}

/// `invariant "name" condition` or `invariant condition "name"`, as a rule or as a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// What is claimed.
    pub kind: PropertyKind,
    /// Where that word stands.
    pub keyword: Span,
    /// The name (of a rule) or message (of a statement).
    pub name: Option<Text>,
    /// The condition.
    pub condition: Expr,
    /// From the word to the end of the condition or name.
    pub span: Span,
}

/// What a property claims of its condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PropertyKind {
    /// `invariant`: always true.
    Invariant,
    /// `assert`: true when execution comes here.
    Assert,
    /// `assume` (Rumur): what violates it is not explored.
    Assume,
    /// `cover` (Rumur): true at least once.
    Cover,
    /// `liveness` (Rumur): from every state, a state where it is true can be reached.
    Liveness,
}

impl PropertyKind {
    /// The keyword.
    pub fn word(self) -> &'static str {
        match self {
            PropertyKind::Invariant => "invariant",
            PropertyKind::Assert => "assert",
            PropertyKind::Assume => "assume",
            PropertyKind::Cover => "cover",
            PropertyKind::Liveness => "liveness",
        }
    }
}

/// A bound variable and what it ranges over, in `ruleset`, `for`, `forall` and `exists`.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantifier {
    /// The variable; it cannot be assigned to.
    pub name: Name,
    /// Its values.
    pub domain: Domain,
    /// From the variable to the end of the domain.
    pub span: Span,
}

/// What a bound variable ranges over.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "there are few of them, and boxes would only be in the way")]
pub enum Domain {
    /// `i: T`.
    Type(TypeExpr),
    /// `i := from to to by step`, both ends included.
    Steps {
        /// First value.
        from: Expr,
        /// Last value.
        to: Expr,
        /// Distance, 1 if absent; may be negative.
        step: Option<Expr>,
    },
}

/// `a: e` in an `alias`. If `e` is a designator the alias is that place, otherwise it is a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Alias {
    /// The names, one in CMurphi; Rumur lets several share the expression.
    pub names: Vec<Name>,
    /// What they stand for.
    pub value: Expr,
    /// Names and expression.
    pub span: Span,
}

// ---------------------------------------------------------------------------------------------------------------------
// Statements

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// What it does.
    pub kind: StmtKind,
    /// Where it stands, without the `;`.
    pub span: Span,
}

/// The forms of a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// `target := value`; in CMurphi the value may be `undefined`.
    Assign {
        /// What is written.
        target: Designator,
        /// The new value.
        value: Expr,
    },
    /// `if c then .. elsif d then .. else .. end`.
    If {
        /// The `if` and every `elsif`, at least one.
        arms: Vec<IfArm>,
        /// The `else` part.
        otherwise: Option<Vec<Stmt>>,
    },
    /// `switch e case a, b: .. else .. end`.
    Switch {
        /// The value looked at.
        subject: Expr,
        /// The cases; the first that fits is taken, none falls through.
        cases: Vec<Case>,
        /// The `else` part.
        otherwise: Option<Vec<Stmt>>,
    },
    /// `for i: T; j := 1 to 3 do .. end`.
    For {
        /// The first is the outermost loop; at least one.
        quantifiers: Vec<Quantifier>,
        /// The body.
        body: Vec<Stmt>,
    },
    /// `while c do .. end`.
    While {
        /// Tested before each round.
        condition: Expr,
        /// The body.
        body: Vec<Stmt>,
    },
    /// `alias a: e do .. end`.
    Alias {
        /// A later alias may refer to an earlier one.
        aliases: Vec<Alias>,
        /// The body.
        body: Vec<Stmt>,
    },
    /// `clear d`: each simple part becomes its least value.
    Clear(Designator),
    /// `undefine d`: each simple part becomes undefined.
    Undefine(Designator),
    /// `put "text"`.
    PutText(Text),
    /// `put e`.
    PutExpr(Expr),
    /// `error "text"`.
    Error(Text),
    /// `assert c "text"` and, in Rumur, `invariant`, `assume`, `cover`; `liveness` is parsed but means nothing here.
    Property(Property),
    /// `return` or `return e`.
    Return(Option<Expr>),
    /// A procedure call; also of a function, whose result is dropped (Rumur).
    Call(Call),
    /// `multisetadd(element, multiset)` (CMurphi).
    MultisetAdd {
        /// What is added. CMurphi wants a designator, the parser takes any expression.
        element: Expr,
        /// Where it goes.
        multiset: Designator,
    },
    /// `multisetremove(index, multiset)` (CMurphi).
    MultisetRemove {
        /// The slot, from an enclosing `choose`.
        index: Expr,
        /// The multiset.
        multiset: Designator,
    },
    /// `multisetremovepred(i: multiset, condition)` (CMurphi): removes all that fit.
    MultisetRemovePred(MultisetFilter),
}

/// The `if` or an `elsif` of an `if` statement.
#[derive(Clone, Debug, PartialEq)]
pub struct IfArm {
    /// When it is taken.
    pub condition: Expr,
    /// What is done then.
    pub body: Vec<Stmt>,
    /// From `if` or `elsif` to the last statement.
    pub span: Span,
}

/// `case a, b: ..` of a `switch`.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The values, at least one; constants in CMurphi, any expressions in Rumur.
    pub labels: Vec<Expr>,
    /// What is done then.
    pub body: Vec<Stmt>,
    /// From `case` to the last statement.
    pub span: Span,
}

/// `i: multiset, condition` in `multisetcount` and `multisetremovepred`.
#[derive(Clone, Debug, PartialEq)]
pub struct MultisetFilter {
    /// The slot, bound in the condition.
    pub index: Name,
    /// The multiset.
    pub multiset: Designator,
    /// Which elements are meant.
    pub condition: Box<Expr>,
}

// ---------------------------------------------------------------------------------------------------------------------
// Expressions

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it says.
    pub kind: ExprKind,
    /// Where it stands, parentheses included.
    pub span: Span,
}

/// The forms of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// `17`, `0x11`; never negative.
    Int(i64),
    /// `1.5`, as written (CMurphi).
    Real(String),
    /// `true` or `false`, in any case of letters.
    Bool(bool),
    /// `undefined`, as a value to assign or pass (CMurphi).
    Undefined,
    /// A variable, constant, enum member, parameter or a part of one.
    Designator(Designator),
    /// `f(a, b)`, also CMurphi's `log(x)` and other functions on reals.
    Call(Call),
    /// A unary operator.
    Unary {
        /// Which.
        op: Spanned<UnaryOp>,
        /// Its operand.
        operand: Box<Expr>,
    },
    /// A non-associative operator: comparison or implication.
    Binary {
        /// Which; [`BinaryOp::is_left_associative`] is false.
        op: Spanned<BinaryOp>,
        /// Left operand.
        left: Box<Expr>,
        /// Right operand.
        right: Box<Expr>,
    },
    /// Left-associative operators of one level: `a - b + c` is first `a` and links `- b`, `+ c`, to be read as
    /// `(a - b) + c`. Generated models have conjunctions of thousands of operands; flat, they need no deep recursion.
    Chain {
        /// The leftmost operand.
        first: Box<Expr>,
        /// What follows, at least one.
        links: Vec<Link>,
    },
    /// `condition ? then : otherwise`.
    Conditional {
        /// Which of the two.
        condition: Box<Expr>,
        /// If true.
        then: Box<Expr>,
        /// If false.
        otherwise: Box<Expr>,
    },
    /// `forall i: T; j: U do body end`, `exists ..`.
    Quantified {
        /// All or some.
        kind: QuantifierKind,
        /// The first is the outermost; at least one.
        quantifiers: Vec<Quantifier>,
        /// What is claimed.
        body: Box<Expr>,
    },
    /// `isundefined(d)`.
    IsUndefined(Designator),
    /// `ismember(d, T)`.
    IsMember {
        /// The value, usually of a union.
        value: Designator,
        /// The type asked for.
        ty: Box<TypeExpr>,
    },
    /// `multisetcount(i: multiset, condition)` (CMurphi): how many fit.
    MultisetCount(MultisetFilter),
    /// A syntax error was reported here.
    Error,
}

/// An operator and its right operand in a [`ExprKind::Chain`].
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Which; [`BinaryOp::is_left_associative`] is true, and all of a chain have one [`BinaryOp::level`].
    pub op: Spanned<BinaryOp>,
    /// The right operand.
    pub operand: Expr,
}

/// `x`, `a[i].b`: a place, or a named value.
#[derive(Clone, Debug, PartialEq)]
pub struct Designator {
    /// The variable or other name it begins with.
    pub base: Name,
    /// How to go on from there; empty for a plain name.
    pub path: Vec<Selector>,
    /// The whole.
    pub span: Span,
}

impl Designator {
    /// The name, if it is nothing more than a name.
    pub fn as_name(&self) -> Option<&Name> {
        self.path.is_empty().then_some(&self.base)
    }
}

/// One step into a record, array or multiset.
#[derive(Clone, Debug, PartialEq)]
pub enum Selector {
    /// `.field`.
    Field(Name),
    /// `[index]`; the span includes the brackets.
    Index(Expr, Span),
}

impl Selector {
    /// Where it ends and begins; a field without its dot.
    pub fn span(&self) -> Span {
        match self {
            Selector::Field(name) => name.span,
            Selector::Index(_, span) => *span,
        }
    }
}

/// `p(a, b)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// What is called.
    pub name: Name,
    /// The actual parameters.
    pub args: Vec<Expr>,
    /// Name and parameters.
    pub span: Span,
}

/// Whether a condition holds for all or for some values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuantifierKind {
    /// `forall`.
    Forall,
    /// `exists`.
    Exists,
}
