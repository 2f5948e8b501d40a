//! Properties: what is asked of a model.

use shoal_syntax::Span;

use crate::{BinaryOp, Expr, ExprKind, IndexVec, Local, LocalId, TypeId, Value};

/// What front ends call the question about deadlocks that is asked of every model of a language. One that somebody has written is
/// called by its text.
const IMPLIED_DEADLOCKS: [&str; 2] = ["deadlock", "invalid end states"];

/// Something that is asked of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// Its name; shown with the verdict and used to select it. Need not be unique.
    pub name: String,
    /// What is asked.
    pub kind: PropertyKind,
    /// Where it stood in the source.
    pub span: Span,
}

impl Property {
    /// The kind and the name; the name alone where it says the kind. It is what people are shown, and type.
    pub fn title(&self) -> String {
        let (noun, implied): (_, &[&str]) = match self.kind {
            PropertyKind::Deadlock(DeadlockKind::Timelock) => ("no timelock", &IMPLIED_DEADLOCKS),
            PropertyKind::Deadlock(_) => ("no deadlock", &IMPLIED_DEADLOCKS),
            _ => (self.kind.noun(), &[]),
        };
        let says_no_more = self.name == noun || implied.contains(&self.name.as_str());
        if says_no_more { noun.to_string() } else { format!("{noun} {:?}", self.name) }
    }
}

/// An expression over states, with its bound variables.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The bound variables.
    pub locals: IndexVec<LocalId, Local>,
    /// The expression; of type `Bool`.
    pub expr: Expr,
}

/// The kinds of property.
#[derive(Clone, Debug, PartialEq)]
pub enum PropertyKind {
    /// Holds in every reachable state.
    Invariant(Condition),
    /// The checks of kind `Assert` that name this property never fail.
    Assertion,
    /// No step, guard or property faults, other than by an assertion.
    NoFaults,
    /// The checks of kind `Assert` that name this property never fail. Where one does, the model has no room for what
    /// comes next: then it is not known whether the other properties hold.
    Bound,
    /// No reachable state is a deadlock.
    Deadlock(DeadlockKind),
    /// Not asked but given: states where it does not hold are dropped when they are reached; the step that
    /// led there still counts as progress. `None`: the checks of kind `Assume` that name this property.
    Assume(Option<Condition>),
    /// Some reachable state (`Some`), or some check of kind `Cover` that names this property, satisfies it.
    Cover(Option<Condition>),
    /// Some reachable state is a deadlock, as [`DeadlockKind::Stuck`] says, and satisfies it.
    CoverDeadlock(Condition),
    /// From every reachable state a state is reachable where it holds: AG EF.
    AlwaysPossible(Condition),
    /// A temporal formula under the fairness constraints of the model.
    Temporal(Logic, Formula),
    /// Not whether something is so, but how much it comes to. Engines are asked for states that reach a bound.
    Extreme(Extreme),
    /// Asked, but not in a way that is understood or supported: why. No engine decides it.
    Unclear(String),
}

/// The least or greatest value of something among the reachable states in which a condition holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Extreme {
    /// Whether the greatest is asked for.
    pub greatest: bool,
    /// The bound variables.
    pub locals: IndexVec<LocalId, Local>,
    /// The states that count; of type `Bool`.
    pub given: Expr,
    /// What is measured: an integer or a clock.
    pub of: Expr,
    /// The type of all integers.
    pub integer: TypeId,
}

impl Extreme {
    /// The states that count.
    pub fn given(&self) -> Condition {
        Condition { locals: self.locals.clone(), expr: self.given.clone() }
    }

    /// The states that count in which what is measured compares so with a number.
    pub fn compared(&self, op: BinaryOp, number: i64) -> Condition {
        let span = self.of.span;
        let number = Expr { kind: ExprKind::Const(Value::Int(number)), ty: self.integer, span };
        let kind = ExprKind::Binary(op, Box::new(self.of.clone()), Box::new(number));
        let reached = Expr { kind, ty: self.given.ty, span };
        let kind = ExprKind::And(vec![self.given.clone(), reached]);
        Condition { locals: self.locals.clone(), expr: Expr { kind, ty: self.given.ty, span } }
    }
}

/// What has to be known of a model to decide a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks<'p> {
    /// Its states, and the steps between them.
    States,
    /// Whether time can go on.
    Timelocks,
    /// Its runs or its branches, as a logic says.
    Formula(Logic),
    /// How much something comes to.
    Extreme,
    /// Nobody knows what is asked.
    Unclear(&'p str),
}

impl PropertyKind {
    /// What is asked: the one place where kinds are sorted for engines, which then say by name what they do not decide.
    pub fn asks(&self) -> Asks<'_> {
        match self {
            PropertyKind::Invariant(_)
            | PropertyKind::Assertion
            | PropertyKind::NoFaults
            | PropertyKind::Bound
            | PropertyKind::Assume(_)
            | PropertyKind::Cover(_)
            | PropertyKind::CoverDeadlock(_)
            | PropertyKind::AlwaysPossible(_)
            | PropertyKind::Deadlock(
                DeadlockKind::Stuck | DeadlockKind::Stuttering | DeadlockKind::StuckUnless(_),
            ) => Asks::States,
            PropertyKind::Deadlock(DeadlockKind::Timelock) => Asks::Timelocks,
            PropertyKind::Temporal(logic, _) => Asks::Formula(*logic),
            PropertyKind::Extreme(_) => Asks::Extreme,
            PropertyKind::Unclear(why) => Asks::Unclear(why),
        }
    }
}

impl<'p> Asks<'p> {
    /// In words, for engines that do not decide it.
    pub fn words(self) -> &'p str {
        match self {
            Asks::States => "what is asked of states",
            Asks::Timelocks => "timelocks",
            Asks::Formula(Logic::Ltl) => "formulas of linear time",
            Asks::Formula(Logic::Ctl) => "formulas of branching time",
            Asks::Formula(Logic::Tctl) => "formulas with bounds on time",
            Asks::Extreme => "least and greatest values, but by bounds on them",
            Asks::Unclear(why) => why,
        }
    }
}

/// What a deadlock is.
#[derive(Clone, Debug, PartialEq)]
pub enum DeadlockKind {
    /// No rule instance may fire. With clocks: nor may any later, however long one waits, and a step into a state that an
    /// assumption drops is none.
    Stuck,
    /// Every rule instance that may fire leads back to the same state, or none may fire.
    Stuttering,
    /// Time cannot diverge: every run from here on that goes on for ever takes bounded time, or there is none.
    Timelock,
    /// No rule instance may fire, and the condition (all parts are where they may end) does not hold.
    StuckUnless(Condition),
}

/// The logic a formula belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Logic {
    /// Branching time: every temporal operator is preceded by a path quantifier.
    Ctl,
    /// Linear time: no path quantifiers; meant for all paths.
    Ltl,
    /// Branching time with bounds on clocks.
    Tctl,
}

/// A temporal formula.
#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    /// Of one state.
    Atom(Condition),
    /// Not.
    Not(Box<Formula>),
    /// All.
    And(Vec<Formula>),
    /// One.
    Or(Vec<Formula>),
    /// On all paths.
    AllPaths(Box<Formula>),
    /// On some path.
    SomePath(Box<Formula>),
    /// In the next state.
    Next(Box<Formula>),
    /// Now and always, within the interval.
    Always(Interval, Box<Formula>),
    /// Now or some time, within the interval.
    Eventually(Interval, Box<Formula>),
    /// The first until the second, which comes within the interval.
    Until(Interval, Box<Formula>, Box<Formula>),
    /// The second, up to and with the moment where the first comes too; for ever if it never comes.
    Release(Interval, Box<Formula>, Box<Formula>),
    /// The observer accepts no run from here on. Stands alone as a whole formula of linear time.
    Never(Automaton),
}

/// An automaton that reads a run state by state. It accepts a run if it can read all of it and is in an accepting state
/// again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct Automaton {
    /// Its states; the first is the initial one.
    pub states: Vec<ObserverState>,
}

/// A state of an observer.
#[derive(Clone, Debug, PartialEq)]
pub struct ObserverState {
    /// Its name in the source.
    pub name: String,
    /// Whether being here again and again is accepted.
    pub accepting: bool,
    /// Which states of the run it may read, and where it is then.
    pub steps: Vec<(Condition, usize)>,
}

/// A bound on time; the default is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Interval {
    /// Not before this, and whether exactly then is too early.
    pub from: Option<(u64, bool)>,
    /// Not after this, and whether exactly then is too late.
    pub to: Option<(u64, bool)>,
}

impl PropertyKind {
    /// Whether it is about steps that fail, by an error or a failed assertion. (Where a bound is reached, that is told by itself.)
    pub fn says_what_fails(&self) -> bool {
        match self {
            PropertyKind::Assertion | PropertyKind::NoFaults => true,
            PropertyKind::Invariant(_)
            | PropertyKind::Bound
            | PropertyKind::Deadlock(_)
            | PropertyKind::Assume(_)
            | PropertyKind::Cover(_)
            | PropertyKind::CoverDeadlock(_)
            | PropertyKind::AlwaysPossible(_)
            | PropertyKind::Temporal(..)
            | PropertyKind::Extreme(_)
            | PropertyKind::Unclear(_) => false,
        }
    }

    /// Whether the property is violated where its own condition faults: what cannot be evaluated does not hold. A cover asks
    /// for one state where it can.
    pub fn fails_where_it_faults(&self) -> bool {
        match self {
            PropertyKind::Invariant(_)
            | PropertyKind::AlwaysPossible(_)
            | PropertyKind::Deadlock(_)
            | PropertyKind::Temporal(..) => true,
            PropertyKind::Assertion
            | PropertyKind::NoFaults
            | PropertyKind::Bound
            | PropertyKind::Assume(_)
            | PropertyKind::Cover(_)
            | PropertyKind::CoverDeadlock(_)
            | PropertyKind::Extreme(_)
            | PropertyKind::Unclear(_) => false,
        }
    }

    /// The conditions it is made of.
    pub fn conditions(&self) -> Vec<&Condition> {
        match self {
            PropertyKind::Invariant(condition)
            | PropertyKind::Assume(Some(condition))
            | PropertyKind::Cover(Some(condition))
            | PropertyKind::CoverDeadlock(condition)
            | PropertyKind::AlwaysPossible(condition)
            | PropertyKind::Deadlock(DeadlockKind::StuckUnless(condition)) => vec![condition],
            PropertyKind::Temporal(_, formula) => formula.atoms(),
            PropertyKind::Assertion
            | PropertyKind::NoFaults
            | PropertyKind::Bound
            | PropertyKind::Assume(None)
            | PropertyKind::Cover(None)
            | PropertyKind::Deadlock(
                DeadlockKind::Stuck | DeadlockKind::Stuttering | DeadlockKind::Timelock,
            )
            // What is measured is no condition: see [`Extreme::compared`].
            | PropertyKind::Extreme(_)
            | PropertyKind::Unclear(_) => Vec::new(),
        }
    }
}

impl Formula {
    /// The conditions it is made of.
    pub fn atoms(&self) -> Vec<&Condition> {
        use Formula as F;
        match self {
            F::Atom(condition) => vec![condition],
            F::Not(of)
            | F::AllPaths(of)
            | F::SomePath(of)
            | F::Next(of)
            | F::Always(_, of)
            | F::Eventually(_, of) => of.atoms(),
            F::And(of) | F::Or(of) => of.iter().flat_map(F::atoms).collect(),
            F::Until(_, a, b) | F::Release(_, a, b) => [a.atoms(), b.atoms()].concat(),
            F::Never(observer) => observer
                .states
                .iter()
                .flat_map(|state| &state.steps)
                .map(|(condition, _)| condition)
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_somebody_wrote_is_shown() {
        let titled = |name: &str, kind: PropertyKind| {
            Property { name: name.into(), kind, span: Span::default() }.title()
        };
        assert_eq!(titled("deadlock", PropertyKind::Deadlock(DeadlockKind::Stuck)), "no deadlock");
        assert_eq!(titled("deadlock", PropertyKind::Assertion), "assertion \"deadlock\"");
        assert_eq!(titled("no run-time errors", PropertyKind::NoFaults), "no run-time errors");
    }
}
