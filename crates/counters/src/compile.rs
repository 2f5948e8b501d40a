//! From a model to a system of counters.
//!
//! The code of a rule is executed with its parameters bound to *roles*: one element in a known local state each. All
//! other elements take part as classes, one for each local state. What comes of it is a [`ClassMove`]: where it can happen,
//! what it does to the rest of the state, from which local state to which each role goes, and what becomes of the
//! classes if the rule has a loop over all elements.
//!
//! Local states are found on the way: those at the start, and those that moves lead to when nothing is known of the
//! rest of the state. That is the paper's local reachability, but for the part of the structure of one component that
//! other components write: a role can be anybody's, so what is done to it by others is seen as well. Where that makes
//! too many, it is done again with what can be known of the rest (`modular`).

mod casts;
mod compiler;
pub(crate) mod holders;
mod modular;
mod outcomes;
mod reached;
mod starts;

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use shoal_model::{During, Fault, Model, OrInternal, PropertyId, RuleId, SortId, StartId, Value, Watch};
use shoal_symbolic::{
    Trouble,
    dd::{Bdd, Dd, DdHalt, DdResult},
    layout::{Bit, BitLayout},
    worlds::Worlds,
};

use crate::{serial::SerialPlan, support::Tracked};
use compiler::{CompileRound, CounterCompiler};
use holders::{ElementHolder, holders};
use starts::starts;

/// The local state of an element: the values of its cells, in the order of the variables.
pub type LocalState = Vec<Value>;

/// Makes one of several local states that cannot be told apart any more.
pub(crate) type Normalise<'n> = &'n dyn Fn(SortId, LocalState) -> LocalState;

/// Ends the work if it is time.
pub(crate) type Look<'l> = &'l mut dyn FnMut(&Dd) -> DdResult<()>;

/// The local states of a counted sort.
#[derive(Clone, Debug, Default)]
pub struct CountedLocals {
    /// All of them; a class is its number here.
    pub states: Vec<LocalState>,
    known: FxHashMap<LocalState, usize>,
    /// How many elements are counted.
    pub counted: u32,
    /// The bits of the counter of each class, least significant first; then those of copies of classes, where loops over
    /// all elements take one element after another.
    pub bits: Vec<Vec<Bit>>,
}

impl CountedLocals {
    /// The class of a local state; a new one if it was not known.
    fn class(&mut self, state: LocalState) -> usize {
        if let Some(class) = self.known.get(&state) {
            return *class;
        }
        let class = self.states.len();
        self.known.insert(state.clone(), class);
        self.states.push(state);
        class
    }

    /// Takes the local states away from this number on, and gives them.
    fn split_off(&mut self, from: usize) -> Vec<LocalState> {
        self.known.retain(|_, class| *class < from);
        self.states.split_off(from)
    }

    /// The class of a local state, if it is known.
    pub fn find(&self, state: &LocalState) -> Option<usize> {
        self.known.get(state).copied()
    }
}

/// An argument of a rule in a move.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Arg {
    /// This value.
    Value(Value),
    /// The role with this number.
    Role(usize),
}

/// A role of a move: an element of a sort that goes from one class to another.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Role {
    pub(crate) sort: SortId,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// A class of a sort: the number of a local state of it.
pub(crate) type SortClass = (SortId, usize);

/// What an instance of a rule does, for roles in given local states and where a condition holds.
#[derive(Clone, Debug)]
pub(crate) struct ClassMove {
    pub(crate) rule: RuleId,
    pub(crate) args: Vec<Arg>,
    /// Where it happens and comes to its end.
    pub(crate) ends: Bdd,
    /// The bits of the rest of the state that it changes, and what to.
    pub(crate) changes: Vec<(Bit, Bdd)>,
    pub(crate) roles: Vec<Role>,
    /// Classes that go to another class as a whole, roles not among them.
    pub(crate) transfers: Vec<(SortId, usize, usize)>,
    /// The variables that hold elements among its roles.
    pub(crate) holders: Vec<usize>,
}

/// A start: the values of the cells, and how many elements are in each class.
#[derive(Clone, Debug)]
pub(crate) struct CounterStart {
    pub(crate) start: StartId,
    pub(crate) args: Vec<Arg>,
    pub(crate) choices: Vec<Value>,
    pub(crate) cells: Vec<Value>,
    pub(crate) counts: BTreeMap<(SortId, usize), u32>,
}

/// What the starts come to.
#[derive(Clone, Debug, Default)]
pub(crate) struct CounterStarts {
    pub(crate) all: Vec<CounterStart>,
    pub(crate) faults: Vec<(During, Fault)>,
    pub(crate) covered: Vec<PropertyId>,
}

/// A model as counters.
pub(crate) struct Compiled<'m> {
    pub(crate) model: &'m Model,
    pub(crate) dd: Dd,
    pub(crate) layout: BitLayout,
    pub(crate) bits: Bit,
    pub(crate) locals: BTreeMap<SortId, CountedLocals>,
    pub(crate) plan: SerialPlan,
    /// Variables that hold an element of a counted sort.
    pub(crate) holders: Vec<ElementHolder>,
    pub(crate) worlds: Worlds<'m>,
    pub(crate) moves: Vec<ClassMove>,
    pub(crate) trouble: Trouble,
    pub(crate) starts: CounterStarts,
    pub(crate) keep: Bdd,
    /// Whether a step was seen of which the local states do not tell whether it changes anything.
    pub(crate) ambiguous: bool,
    /// Where something happens, and where something happens that changes the state or faults.
    pub(crate) progress: Bdd,
    pub(crate) changes: Bdd,
}

/// How much work is not too much.
struct WorkBounds {
    /// Local states.
    classes: usize,
    /// Local states where a variable holds an element, which could be in any of them.
    marked: usize,
    /// Ways to choose the local states of those who take part in a rule, where that is so.
    casts: usize,
    /// Moves: ways from local states to local states.
    moves: usize,
}

/// As long as nothing is known of where elements can be.
const BLIND: WorkBounds = WorkBounds { classes: 5_000, marked: 64, casts: 1_500, moves: 2_000 };
/// With what can be known.
const KNOWING: WorkBounds = WorkBounds { classes: 5_000, marked: 1_000, casts: 50_000, moves: 50_000 };

impl WorkBounds {
    /// What is too much in these local states, if anything is.
    fn exceeded(
        &self,
        locals: &BTreeMap<SortId, CountedLocals>,
        holders: &[ElementHolder],
    ) -> Option<String> {
        if holders.iter().any(|holder| locals[&holder.sort()].states.len() > self.marked) {
            let many = self.marked;
            Some(format!("variables that hold an element of a sort with more than {many} local states"))
        } else if locals.values().map(|it| it.states.len()).sum::<usize>() > self.classes {
            Some(format!("components with more than {} local states", self.classes))
        } else {
            None
        }
    }

    fn exceeded_by_moves(&self, moves: usize) -> Option<String> {
        let many = self.moves;
        (moves > many).then(|| format!("components with more than {many} ways between their local states"))
    }

    fn exceeded_by_casts(&self) -> String {
        format!("rules with more than {} ways to choose the local states of its elements", self.casts)
    }
}

/// What counters are made of, and what for.
#[derive(Clone, Copy)]
pub(crate) struct Making<'m, 'c> {
    pub(crate) model: &'m Model,
    /// The counted sorts, each with the elements that are followed one by one.
    pub(crate) tracked: &'c Tracked,
    pub(crate) normalise: Normalise<'c>,
    pub(crate) watch: &'m Watch,
    /// Loops over all elements one element after another.
    pub(crate) serial: bool,
    /// Not only if there are few local states.
    pub(crate) thorough: bool,
}

impl<'m> Making<'m, '_> {
    /// Makes counters: as if nothing could be known of where elements can be, and if that is too much, with what can. What
    /// is known is not for nothing either: diagrams of moves have it as part of their conditions.
    pub(crate) fn compile(self, look: Look<'_>) -> DdResult<Compiled<'m>> {
        let mut too_much = String::new();
        for knowing in [false, true].into_iter().filter(|knowing| !knowing || self.thorough) {
            match self.attempt(knowing, look)? {
                Ok(compiled) => return Ok(compiled),
                Err(construct) => too_much = construct,
            }
        }
        Err(DdHalt::Lacks { construct: too_much, span: None })
    }

    /// Makes counters, or says what is too much.
    fn attempt(self, knowing: bool, look: Look<'_>) -> DdResult<Result<Compiled<'m>, String>> {
        let bounds = if knowing { &KNOWING } else { &BLIND };
        let mut locals: BTreeMap<SortId, CountedLocals> = BTreeMap::new();
        for (sort, tracked) in self.tracked {
            let counted = self.model.sorts[*sort].fixed_size().or_internal("a counted sort has a size")
                - tracked.len() as u32;
            locals.insert(*sort, CountedLocals { counted, ..CountedLocals::default() });
        }
        let layout = BitLayout::new(self.model, self.tracked, &|_| true)?;
        let holders = holders(&layout)?;
        let starts = starts(self, &mut locals, &holders)?;
        let mut defined: Vec<bool> = (0..layout.cells.len())
            .map(|at| starts.all.iter().all(|start| start.cells[at] != Value::Undefined))
            .collect();
        let (mut plan, mut known) = (SerialPlan::default(), None);
        loop {
            let mut compiler = CounterCompiler::new(self, &locals, &defined, plan.clone(), knowing)?;
            if knowing {
                compiler.know(&starts, known.as_ref())?;
            }
            match compiler.run(&starts, bounds, look)? {
                CompileRound::Done(compiled) => {
                    // Only now is it known how much there is to do one by one.
                    let wanted =
                        if self.serial { SerialPlan::new(&compiled.moves) } else { SerialPlan::default() };
                    if wanted == plan {
                        return Ok(Ok(*compiled));
                    }
                    plan = wanted;
                }
                CompileRound::Undefined(cells) => cells.into_iter().for_each(|at| defined[at] = false),
                CompileRound::Found(found, more) => {
                    (locals, known) = (found, more.or(known));
                    if let Some(construct) = bounds.exceeded(&locals, &holders) {
                        return Ok(Err(construct));
                    }
                }
                CompileRound::TooMuch(construct) => return Ok(Err(construct)),
            }
        }
    }
}
