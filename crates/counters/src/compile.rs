//! From a model to a system of counters.
//!
//! The code of a rule is executed with its parameters bound to *roles*: one element in a known local state each. All
//! other elements take part as classes, one for each local state. What comes of it is a [`Move`]: where it can happen,
//! what it does to the rest of the state, from which local state to which each role goes, and what becomes of the
//! classes if the rule has a loop over all elements.
//!
//! Local states are found on the way: those at the start, and those that moves lead to when nothing is known of the
//! rest of the state. That is the paper's local reachability, but for the part of the structure of one component that
//! other components write: a role can be anybody's, so what is done to it by others is seen as well. Where that makes
//! too many, it is done again with what can be known of the rest (`modular`).

mod casts;
pub(crate) mod holders;
mod modular;
mod outcomes;
mod starts;

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use shoal_model::{
    During, Fault, GuardFaults, Model, PropertyId, Rule, RuleId, SortId, StartId, Value, VarId,
};
use shoal_symbolic::{
    Trouble, assumptions, bits,
    dd::{Bdd, Care, Dd, Done, Halt},
    layout::{self, Bit, Layout},
    machine::Machine,
    run,
    value::Sym,
    worlds::Worlds,
};

use crate::{serial::Plan, support::Tracked};
use casts::{Cast, add_class, casts, populations};
use holders::{Holder, holders};
use modular::{Known, Packed};
use starts::starts;

/// The local state of an element: the values of its cells, in the order of the variables.
pub type LocalState = Vec<Value>;

/// Makes one of several local states that cannot be told apart any more.
pub(crate) type Normalise<'n> = &'n dyn Fn(SortId, LocalState) -> LocalState;

/// Ends the work if it is time.
pub(crate) type Look<'l> = &'l mut dyn FnMut(&Dd) -> Done<()>;

/// The local states of a counted sort.
#[derive(Clone, Debug, Default)]
pub struct Locals {
    /// All of them; a class is its number here.
    pub states: Vec<LocalState>,
    known: FxHashMap<LocalState, usize>,
    /// How many elements are counted.
    pub counted: u32,
    /// The bits of the counter of each class, least significant first; then those of copies of classes, where loops over
    /// all elements take one element after another.
    pub bits: Vec<Vec<Bit>>,
}

impl Locals {
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

/// What an instance of a rule does, for roles in given local states and where a condition holds.
#[derive(Clone, Debug)]
pub(crate) struct Move {
    pub(crate) rule: RuleId,
    pub(crate) args: Vec<Arg>,
    /// Where it happens and comes to its end.
    pub(crate) ends: Bdd,
    /// The bits of the rest of the state that it changes, and what to.
    pub(crate) changes: Vec<(Bit, Bdd)>,
    pub(crate) roles: Vec<Role>,
    /// Classes that go to another class as a whole, roles not among them.
    pub(crate) transfers: Vec<(SortId, usize, usize)>,
}

/// A start: the values of the cells, and how many elements are in each class.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub(crate) start: StartId,
    pub(crate) args: Vec<Arg>,
    pub(crate) choices: Vec<Value>,
    pub(crate) cells: Vec<Value>,
    pub(crate) counts: BTreeMap<(SortId, usize), u32>,
}

/// What the starts come to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Starts {
    pub(crate) all: Vec<Start>,
    pub(crate) faults: Vec<(During, Fault)>,
    pub(crate) covered: Vec<PropertyId>,
}

/// A model as counters.
pub(crate) struct Compiled<'m> {
    pub(crate) model: &'m Model,
    pub(crate) dd: Dd,
    pub(crate) layout: Layout,
    pub(crate) bits: Bit,
    pub(crate) locals: BTreeMap<SortId, Locals>,
    pub(crate) plan: Plan,
    /// Variables that hold an element of a counted sort.
    pub(crate) holders: Vec<Holder>,
    pub(crate) worlds: Worlds<'m>,
    pub(crate) moves: Vec<Move>,
    pub(crate) trouble: Trouble,
    pub(crate) starts: Starts,
    pub(crate) keep: Bdd,
    /// Whether a step was seen of which the local states do not tell whether it changes anything.
    pub(crate) ambiguous: bool,
    /// Where something happens, and where something happens that changes the state or faults.
    pub(crate) progress: Bdd,
    pub(crate) changes: Bdd,
}

/// How much work is not too much.
struct Bounds {
    /// Local states.
    classes: usize,
    /// Local states where a variable holds an element, which could be in any of them.
    marked: usize,
    /// Ways to choose the local states of those who take part in a rule, where that is so.
    casts: usize,
}

/// As long as nothing is known of where elements can be.
const BLIND: Bounds = Bounds { classes: 5_000, marked: 64, casts: 1_500 };
/// With what can be known.
const KNOWING: Bounds = Bounds { classes: 5_000, marked: 1_000, casts: 50_000 };

impl Bounds {
    /// What is too much in these local states, if anything is.
    fn exceeded(&self, locals: &BTreeMap<SortId, Locals>, holders: &[Holder]) -> Option<String> {
        if holders.iter().any(|holder| locals[&holder.sort()].states.len() > self.marked) {
            let many = self.marked;
            Some(format!("variables that hold an element of a sort with more than {many} local states"))
        } else if locals.values().map(|it| it.states.len()).sum::<usize>() > self.classes {
            Some(format!("components with more than {} local states", self.classes))
        } else {
            None
        }
    }

    fn exceeded_by_casts(&self) -> String {
        format!("rules with more than {} ways to choose the local states of its elements", self.casts)
    }
}

/// What counters are made for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    /// Loops over all elements one element after another.
    pub(crate) serial: bool,
    /// Not only if there are few local states.
    pub(crate) thorough: bool,
}

/// Makes counters of a model: as if nothing could be known of where elements can be, and if that is too much, with what
/// can. What is known is not for nothing either: diagrams of moves have it as part of their conditions.
pub(crate) fn compile<'m>(
    model: &'m Model,
    tracked: &Tracked,
    normalise: Normalise<'_>,
    bytes: Option<u64>,
    form: Form,
    look: Look<'_>,
) -> Done<Compiled<'m>> {
    let mut too_much = String::new();
    for knowing in [false, true].into_iter().filter(|knowing| !knowing || form.thorough) {
        match compile_with(knowing, model, tracked, normalise, bytes, form.serial, look)? {
            Ok(compiled) => return Ok(compiled),
            Err(construct) => too_much = construct,
        }
    }
    Err(Halt::Lacks { construct: too_much, span: None })
}

/// Makes counters of a model, or says what is too much.
fn compile_with<'m>(
    knowing: bool,
    model: &'m Model,
    tracked: &Tracked,
    normalise: Normalise<'_>,
    bytes: Option<u64>,
    serial: bool,
    look: Look<'_>,
) -> Done<Result<Compiled<'m>, String>> {
    let bounds = if knowing { &KNOWING } else { &BLIND };
    let mut locals: BTreeMap<SortId, Locals> = BTreeMap::new();
    for (sort, tracked) in tracked {
        let counted = model.sorts[*sort].fixed_size().unwrap_or(0) - tracked.len() as u32;
        locals.insert(*sort, Locals { counted, ..Locals::default() });
    }
    let layout = Layout::new(model, tracked, &|_| true)?;
    let holders = holders(&layout)?;
    let starts = starts(model, tracked, &mut locals, normalise, &holders)?;
    let mut defined: Vec<bool> = (0..layout.cells.len())
        .map(|at| starts.all.iter().all(|start| start.cells[at] != Value::Undefined))
        .collect();
    let (mut plan, mut known) = (Plan::default(), None);
    loop {
        let mut compiler = Compiler::new(model, tracked, &locals, &defined, normalise, bytes, plan.clone())?;
        if knowing {
            compiler.know(&starts, known.as_ref())?;
        }
        match compiler.run(&starts, bounds, look)? {
            Round::Done(compiled) => {
                // Only now is it known how much there is to do one by one.
                let wanted = if serial { Plan::new(&compiled.moves) } else { Plan::default() };
                if wanted == plan {
                    return Ok(Ok(*compiled));
                }
                plan = wanted;
            }
            Round::Undefined(cells) => cells.into_iter().for_each(|at| defined[at] = false),
            Round::Found(found, more) => {
                (locals, known) = (found, more.or(known));
                if let Some(construct) = bounds.exceeded(&locals, &holders) {
                    return Ok(Err(construct));
                }
            }
            Round::TooMuch(construct) => return Ok(Err(construct)),
        }
    }
}

/// What a round of compilation comes to.
enum Round<'m> {
    Done(Box<Compiled<'m>>),
    /// Cells that can be undefined after all.
    Undefined(Vec<usize>),
    /// There are more local states, or more is known of them.
    Found(BTreeMap<SortId, Locals>, Option<Packed>),
    /// There is too much to do, and of what.
    TooMuch(String),
}

struct Compiler<'m, 'c> {
    model: &'m Model,
    dd: Dd,
    layout: Layout,
    bits: Bit,
    locals: BTreeMap<SortId, Locals>,
    plan: Plan,
    tracked: &'c Tracked,
    /// Variables that hold an element of a counted sort, and how many marks the local states of each sort have for it.
    holders: Vec<Holder>,
    marks: BTreeMap<SortId, usize>,
    base: Machine<'m>,
    moves: Vec<Move>,
    trouble: Trouble,
    normalise: Normalise<'c>,
    undefined: Vec<usize>,
    progress: Bdd,
    changes: Bdd,
    ambiguous: bool,
    /// How many classes had a counter when this round began.
    classes: BTreeMap<SortId, usize>,
    /// Where elements can be in each class, if that is looked at; and for each move the variables that hold elements of
    /// its roles.
    known: Option<Known>,
    held: Vec<Vec<usize>>,
}

impl<'m, 'c> Compiler<'m, 'c> {
    fn new(
        model: &'m Model,
        tracked: &'c Tracked,
        locals: &BTreeMap<SortId, Locals>,
        defined: &[bool],
        normalise: Normalise<'c>,
        bytes: Option<u64>,
        mut plan: Plan,
    ) -> Done<Self> {
        let mut layout = Layout::without_numbers(model, tracked, &|at| defined[at])?;
        let mut locals = locals.clone();
        // The counters of all sorts and large numbers together, least significant bits on top: sums are then small.
        let mut bits = layout.bits;
        bits += plan.place(bits);
        for (sort, one) in &mut locals {
            one.bits = vec![Vec::new(); one.states.len() + plan.copies(*sort)];
        }
        for significance in 0..64 {
            for cell in layout.cells.iter_mut().filter(|cell| layout::is_number(model, cell)) {
                if significance < cell.width() {
                    cell.bits.push(bits);
                    bits += 1;
                }
            }
            for one in locals.values_mut() {
                let width = u32::BITS - one.counted.leading_zeros();
                if significance < width {
                    for counter in &mut one.bits {
                        counter.push(bits);
                        bits += 1;
                    }
                }
            }
        }
        let dd = Dd::new(2 * bits, bytes, Care::Peak);
        let (trouble, progress, changes) = (Trouble::new(&dd), dd.no(), dd.no());
        let base = Machine::new(model, &dd, Vec::new());
        let classes = locals.iter().map(|(sort, one)| (*sort, one.states.len())).collect();
        let undefined = Vec::new();
        let holders = holders(&layout)?;
        let of_sort = |sort: &SortId| holders.iter().filter(|holder| holder.sort() == *sort).count();
        let marks = locals.keys().map(|sort| (*sort, of_sort(sort))).collect();
        let mut compiler = Compiler {
            model,
            dd,
            layout,
            bits,
            locals,
            plan,
            tracked,
            holders,
            marks,
            base,
            moves: Vec::new(),
            trouble,
            normalise,
            undefined,
            progress,
            changes,
            ambiguous: false,
            classes,
            known: None,
            held: Vec::new(),
        };
        compiler.base = compiler.machine()?;
        Ok(compiler)
    }

    /// The machine on all states at once, with all classes known now.
    fn machine(&self) -> Done<Machine<'m>> {
        let mut counted = populations(self.tracked);
        let mut machine =
            Machine::new(self.model, &self.dd, self.layout.states(self.model, &self.dd, &counted)?);
        for (sort, locals) in &self.locals {
            for (class, state) in locals.states.iter().enumerate() {
                let Some(bits) = locals.bits.get(class) else { break };
                let count: Vec<Bdd> =
                    bits.iter().map(|bit| self.dd.var(layout::now(*bit))).collect::<Done<_>>()?;
                let count = bits::unsigned(&self.dd, count);
                add_class(self.model, &mut machine, &mut counted, *sort, class, state, count)?;
            }
        }
        machine.counted = counted;
        machine.vars.iter_mut().for_each(Sym::settle);
        Ok(machine)
    }

    fn run(mut self, starts: &Starts, bounds: &Bounds, look: Look<'_>) -> Done<Round<'m>> {
        let first = Cast { known: self.known.clone(), ..Cast::new(&self.base) };
        let worlds = holders::worlds(&first, &self.holders, &self.marks, &self.locals)?;
        let keep = assumptions(&worlds, self.model, &mut self.trouble)?;
        let mut guarded: Vec<(RuleId, &'m Rule, Cast<'m>, Bdd)> = Vec::new();
        let mut enabled: BTreeMap<i64, Bdd> = BTreeMap::new();
        for (id, rule) in self.model.rules.enumerate() {
            let holders = holders::of_rule(self.model, &self.holders, rule);
            let vague: Vec<VarId> = holders.iter().map(|at| self.holders[*at].var()).collect();
            let first = Cast { holders, ..first.clone() };
            let mut all = Vec::new();
            for cast in casts(first, rule, &vague)? {
                look(&self.dd)?;
                all.extend(holders::lend(cast, &self.holders, &self.marks, &self.locals)?);
                if all.len() > bounds.casts && !vague.is_empty() {
                    return Ok(Round::TooMuch(bounds.exceeded_by_casts()));
                }
            }
            for cast in all {
                let mut machine = cast.machine.clone();
                machine.given = cast.present.clone();
                let guard = run::guard(&machine, rule, &cast.values)?;
                if self.model.guard_faults == GuardFaults::Violate {
                    self.trouble.add(&guard.faults, &cast.present)?;
                    for (place, _) in &guard.faults {
                        self.trouble.guards = self.trouble.guards.or(place)?;
                    }
                }
                let holds = guard.holds.and(&cast.present)?;
                if !holds.is_false() {
                    let entry = enabled.entry(rule.priority).or_insert_with(|| self.dd.no());
                    *entry = entry.or(&holds)?;
                    guarded.push((id, rule, cast, holds));
                }
            }
        }
        for (id, rule, cast, holds) in guarded {
            let mut given = holds;
            for (_, rivals) in enabled.range(..rule.priority) {
                given = given.minus(rivals)?;
            }
            look(&self.dd)?;
            if !given.is_false() {
                self.instance(id, rule, cast, given)?;
            }
        }
        if !self.undefined.is_empty() {
            return Ok(Round::Undefined(self.undefined));
        }
        let more = self.know_more()?;
        if more.is_some() || self.locals.iter().any(|(sort, it)| it.states.len() > self.classes[sort]) {
            return Ok(Round::Found(self.locals, more));
        }
        Ok(Round::Done(Box::new(Compiled {
            model: self.model,
            dd: self.dd,
            layout: self.layout,
            bits: self.bits,
            locals: self.locals,
            plan: self.plan,
            holders: self.holders,
            worlds,
            moves: self.moves,
            trouble: self.trouble,
            starts: starts.clone(),
            keep,
            progress: self.progress,
            changes: self.changes,
            ambiguous: self.ambiguous,
        })))
    }

    /// Runs the body of an instance and makes moves of what comes of it.
    fn instance(&mut self, id: RuleId, rule: &'m Rule, cast: Cast<'m>, given: Bdd) -> Done<()> {
        for after in run::runs(&cast.machine, rule, &cast.values, &given)? {
            self.trouble.add(&after.faults, &given)?;
            self.trouble.cover(&after, &given)?;
            let ends = given.minus(&after.dead)?;
            let exists = given.minus(&after.dropped)?;
            self.progress = self.progress.or(&exists)?;
            self.changes = self.changes.or(&exists.and(&after.dead)?)?;
            for at in &cast.holders {
                self.holders[*at].check(&after, &ends)?;
            }
            let changes = self.cells(&after, &ends)?;
            for (place, roles, transfers) in self.outcomes(&after, &cast, &ends)? {
                let moved = Move {
                    rule: id,
                    args: cast.args.clone(),
                    ends: place,
                    changes: changes.clone(),
                    roles,
                    transfers,
                };
                let moves = self.moves_something(&moved)?;
                self.changes = self.changes.or(&moves)?;
                self.moves.push(moved);
                self.held.push(cast.holders.clone());
            }
        }
        Ok(())
    }

    /// The bits of plain cells that a run changes.
    fn cells(&mut self, after: &Machine<'m>, ends: &Bdd) -> Done<Vec<(Bit, Bdd)>> {
        let mut changes = Vec::new();
        for (at, (cell, scalar)) in self.layout.cells.iter().zip(self.layout.scalars(after)).enumerate() {
            if !cell.optional && scalar.undefined.meets(ends)? {
                self.undefined.push(at);
                continue;
            }
            let code = layout::write(self.model, &self.dd, cell, scalar)?;
            for (bit, digit) in cell.bits.iter().zip(code) {
                let now = self.dd.var(layout::now(*bit))?;
                if now != digit && now.xor(&digit)?.meets(ends)? {
                    changes.push((*bit, digit));
                }
            }
        }
        changes.sort_by_key(|(bit, _)| *bit);
        Ok(changes)
    }
}
