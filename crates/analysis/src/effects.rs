//! Footprints: what a piece of code reads and writes.
//!
//! A [`Walker`] goes through code in the order of its text, and into every function that the code calls, with
//! the parameters bound to what was passed. References are seen through, so an access names a state variable
//! or a local of the code itself wherever that can be known. Branches are all taken and loops are gone through
//! once: a footprint says what *may* be touched.
//!
//! Every access also knows which locals it hangs on: those in its index, in the value written, and in the
//! conditions that decide whether it happens ([`Access::deps`]). State variables are not among them: reading
//! one is an access of its own.

use std::{collections::BTreeSet, rc::Rc};

use shoal_model::{
    Binding, Code, Condition, FunctionId, IndexVec, Local, LocalId, Model, Parameter, Place, Rule, Type,
    TypeId, Value, VarId,
};
use shoal_syntax::Span;

mod deps;
mod update;
mod walker;

pub use deps::Deps;
pub use walker::{LeftInLocals, LoopMet, Walker};

/// A local of one activation of a piece of code. Activation 0 is the code the walk began in; every call
/// that is walked into is a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocalRef {
    /// Which activation.
    pub activation: u32,
    /// Which local of its code.
    pub local: LocalId,
}

/// A value as far as it is known without running the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AbstractValue {
    /// This constant.
    Const(Value),
    /// The value of a local that never changes while it is in scope.
    Fixed(LocalRef),
    /// Not known.
    Unknown,
}

/// What is known of values that do not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// The two are not the same.
    Differ(AbstractValue, AbstractValue),
    /// It is one of a type.
    Is(AbstractValue, TypeId),
}

/// Where a location starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccessBase {
    /// A state variable.
    Var(VarId),
    /// A local with a value of its own.
    Local(LocalRef),
    /// What a reference stands for that was not bound in the code walked: a parameter of a function that is
    /// looked at by itself. It may be any state variable, part of one, or a local of a caller.
    Referent(LocalRef),
}

/// One step into a location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessStep {
    /// A field of a record.
    Field(u32),
    /// An element of an array.
    Index(AbstractValue),
    /// A slot of a multiset.
    Slot(AbstractValue),
    /// An item of a sequence.
    Item(AbstractValue),
    /// The entries of a multiset that have this value: what counting them depends on.
    Entry(AbstractValue),
    /// How many more entries a multiset can take.
    Room,
}

/// A place with the references in it seen through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessPath {
    /// Where it starts.
    pub base: AccessBase,
    /// The type of the base.
    pub ty: TypeId,
    /// The way from there.
    pub path: Vec<AccessStep>,
}

/// What a write leaves behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// A value.
    Value(AbstractValue),
    /// What is at another location.
    Copy(AccessPath),
    /// Nothing defined.
    Undefined,
    /// Least values.
    Least,
    /// The old value and something that is not negative: `x := x + e`.
    Increased,
    /// The old value less something that is not negative: `x := x - e`.
    Decreased,
    /// The old truth value or another that cannot fault: `x := x | e`.
    Raised,
    /// The old truth value and another that cannot fault: `x := x & e`.
    Lowered,
    /// The old value or a higher one: `if e > x then x := e end`. Only told apart in a round of a loop.
    Highest,
    /// The old value or a lower one. Only told apart in a round of a loop.
    Lowest,
    /// A bag with one more element.
    Added,
    /// A bag with fewer elements.
    Removed,
    /// Something else.
    Changed,
}

/// What an access does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// Reads. The old value that an update such as `x := x + 1` needs is not counted as read.
    Read,
    /// Writes.
    Write(Written),
}

/// One access of a location.
#[derive(Clone, Debug)]
pub struct Access<'a> {
    /// What is accessed.
    pub location: AccessPath,
    /// How.
    pub action: AccessKind,
    /// Whether the old value is used, by a read or an update, and may be older than the code walked, as no
    /// write before surely made it. Only followed for locals; true of anything else.
    pub exposed: bool,
    /// Of a read of a whole: the parts of it that were surely written before.
    pub made: Vec<AccessPath>,
    /// The locals that decide whether it happens, and for a write, where and with which value.
    pub deps: Deps,
    /// What is known of values wherever it happens.
    pub facts: Rc<Vec<Fact>>,
    /// The statement it belongs to; for a condition, the expression.
    pub span: Span,
    /// The place as the source has it.
    pub place: &'a Place,
    /// The locals of the code the place stands in.
    pub locals: &'a IndexVec<LocalId, Local>,
}

/// A part of the code that does more than access locations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeEffect {
    /// Leaves the code the walk began in.
    Return,
    /// Calls a function that is being walked already; it is not followed.
    Recursion(FunctionId),
    /// Creates an element.
    Create,
    /// Deletes an element.
    Delete,
    /// Drops the step unless a condition holds.
    Assume,
    /// Chooses.
    Choose {
        /// Whether there may be nothing to choose, so that the step does not exist.
        may_be_empty: bool,
    },
    /// The code was too large with its calls unfolded; the rest was not looked at.
    TooLarge,
}

/// What a piece of code does.
#[derive(Clone, Debug, Default)]
pub struct Footprint<'a> {
    /// The accesses, in the order of the text.
    pub accesses: Vec<Access<'a>>,
    /// What else happens, and where.
    pub events: Vec<(CodeEffect, Span)>,
    /// The locals that the code binds.
    pub bound: Deps,
    /// Those of them whose value is chosen.
    pub chosen: Deps,
}

/// A piece of code with what stands before it.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The parameters of a rule.
    pub params: &'a [Parameter],
    /// The bindings of a rule.
    pub bindings: &'a [Binding],
    /// The code.
    pub code: &'a Code,
    /// The function whose code it is.
    pub function: Option<FunctionId>,
}

impl<'a> Source<'a> {
    /// The code of a rule or a start.
    pub fn rule(rule: &'a Rule) -> Self {
        Source { params: &rule.params, bindings: &rule.bindings, code: &rule.code, function: None }
    }

    /// The code of a function, seen by itself: its reference parameters may stand for anything.
    pub fn function(model: &'a Model, function: FunctionId) -> Self {
        Source { params: &[], bindings: &[], code: &model.functions[function].code, function: Some(function) }
    }
}

/// What a rule does when an instance is tried and fires: its domains, bindings, guard and body.
pub fn of_rule<'a>(model: &'a Model, rule: &'a Rule) -> Footprint<'a> {
    let mut walker = Walker::new(model, Source::rule(rule));
    if let Some(guard) = &rule.guard {
        walker.condition(guard);
    }
    walker.block(&rule.code.body);
    walker.finish()
}

/// What a function does, seen by itself.
pub fn of_function(model: &Model, function: FunctionId) -> Footprint<'_> {
    let source = Source::function(model, function);
    let mut walker = Walker::new(model, source);
    walker.block(&source.code.body);
    walker.finish()
}

/// What a condition reads.
pub fn of_condition<'a>(model: &'a Model, condition: &'a Condition) -> Footprint<'a> {
    let mut walker = Walker::of_locals(model, &condition.locals);
    walker.condition(&condition.expr);
    walker.finish()
}

impl AccessPath {
    /// The type at the end of the path; nothing if the path does not fit.
    pub fn end(&self, model: &Model) -> Option<TypeId> {
        self.path.iter().try_fold(self.ty, |ty, step| match (step, model.kind(ty)) {
            (AccessStep::Field(field), Type::Record { fields }) => {
                fields.get(*field as usize).map(|field| field.ty)
            }
            (AccessStep::Index(_), Type::Array { element, .. })
            | (AccessStep::Slot(_), Type::Multiset { element, .. })
            | (AccessStep::Item(_), Type::Sequence { element, .. }) => Some(*element),
            _ => None,
        })
    }

    /// Whether two locations with the same base may have a part in common, as far as the fields on their paths tell.
    pub fn may_meet(&self, other: &AccessPath) -> bool {
        let fields_differ = |steps: (&AccessStep, &AccessStep)| match steps {
            (AccessStep::Field(a), AccessStep::Field(b)) => a != b,
            _ => false,
        };
        self.base == other.base && !self.path.iter().zip(&other.path).any(fields_differ)
    }

    /// Whether the other location is this one or a part of it.
    pub fn contains(&self, other: &AccessPath) -> bool {
        self.base == other.base && other.path.starts_with(&self.path)
    }

    /// Whether a value on the path is that of the local.
    pub fn mentions(&self, local: LocalRef) -> bool {
        self.path.iter().any(|step| step.sym() == Some(&AbstractValue::Fixed(local)))
    }
}

impl Fact {
    /// Whether it is about a value.
    pub fn mentions(&self, sym: &AbstractValue) -> bool {
        match self {
            Fact::Differ(a, b) => a == sym || b == sym,
            Fact::Is(of, _) => of == sym,
        }
    }
}

/// Whether one of the facts says that two values are not the same.
pub fn differ(facts: &[Fact], a: &AbstractValue, b: &AbstractValue) -> bool {
    facts.iter().any(|fact| match fact {
        Fact::Differ(x, y) => (x, y) == (a, b) || (y, x) == (a, b),
        Fact::Is(..) => false,
    })
}

/// Whether two values are known to be of types that have nothing in common.
pub fn of_other_types(model: &Model, a: (&[Fact], &AbstractValue), b: (&[Fact], &AbstractValue)) -> bool {
    let kinds = |(facts, sym): (&[Fact], &AbstractValue)| -> Vec<TypeId> {
        let known = facts.iter().filter_map(|fact| match fact {
            Fact::Is(of, ty) if of == sym => Some(*ty),
            Fact::Is(..) | Fact::Differ(..) => None,
        });
        let constant = match sym {
            AbstractValue::Const(Value::Enum(ty, _)) => Some(*ty),
            AbstractValue::Const(_) | AbstractValue::Fixed(_) | AbstractValue::Unknown => None,
        };
        known.chain(constant).collect()
    };
    let of_b = kinds(b);
    kinds(a).iter().any(|a| of_b.iter().any(|b| !model.may_meet(*a, *b)))
}

impl AccessStep {
    /// The value that selects the part; a field has none.
    pub fn sym(&self) -> Option<&AbstractValue> {
        match self {
            AccessStep::Field(_) | AccessStep::Room => None,
            AccessStep::Index(sym)
            | AccessStep::Slot(sym)
            | AccessStep::Item(sym)
            | AccessStep::Entry(sym) => Some(sym),
        }
    }
}

impl Written {
    /// Whether nothing of the old value is left.
    pub fn replaces(&self) -> bool {
        matches!(self, Written::Value(_) | Written::Copy(_) | Written::Undefined | Written::Least)
    }
}

impl Access<'_> {
    /// Whether it writes.
    pub fn is_write(&self) -> bool {
        matches!(self.action, AccessKind::Write(_))
    }

    /// Whether it may use what was at a location before the code walked: it has a part in common with it that was not
    /// written before.
    pub fn exposes(&self, location: &AccessPath) -> bool {
        self.exposed
            && self.location.may_meet(location)
            && !self.made.iter().any(|made| made.contains(location))
    }

    /// Whether it uses the old value: it reads, or it writes something made of the old value.
    pub fn uses_old_value(&self) -> bool {
        match &self.action {
            AccessKind::Read => true,
            AccessKind::Write(written) => !written.replaces(),
        }
    }
}

impl Footprint<'_> {
    /// The state variables that may be read.
    pub fn reads(&self) -> BTreeSet<VarId> {
        self.vars(|access| access.uses_old_value())
    }

    /// The state variables that may be written.
    pub fn writes(&self) -> BTreeSet<VarId> {
        self.vars(|access| access.is_write())
    }

    fn vars(&self, wanted: impl Fn(&Access<'_>) -> bool) -> BTreeSet<VarId> {
        let of = |access: &Access<'_>| match access.location.base {
            AccessBase::Var(var) if wanted(access) => Some(var),
            _ => None,
        };
        self.accesses.iter().filter_map(of).collect()
    }
}
