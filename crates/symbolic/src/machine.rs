//! The memory that code is executed on, for many states at once.
//!
//! The machine runs code as the reference interpreter does, in the same order, but on values that depend on the state.
//! [`SymbolicMachine::path`] is where the code that runs now is really run; a write changes the value there and nowhere else.
//! Where code faults or drops its step, the path ends: that is [`SymbolicMachine::dead`]. On a single state, that is with values
//! which depend on nothing, the machine is an ordinary interpreter.
//!
//! Elements of *counted* sorts are not told apart one by one. A counted sort has *members*: tracked elements, the
//! elements that the rule in question names (its roles), and for each local state a class that stands for all other
//! elements in that local state. A quantifier looks at each member; of a class it takes one element out, as a role for
//! the time being, and asks that the class has one.

pub(crate) mod bag;
mod domain;
mod eval;
mod place;
mod stmt;
mod tally;

pub(crate) use domain::{Items, MOST_ROUNDS, too_many};

use std::{collections::BTreeMap, rc::Rc};

use shoal_model::{
    Condition, Fault, FaultKind, IndexVec, Local, LocalId, LocalKind, Model, PropertyId, Rule, SortId, Stmt,
    Type, TypeId, TypedId, Value, VarId,
};
use shoal_syntax::Span;

use crate::{
    bits::BitVector,
    dd::{Bdd, Dd, DdResult},
    layout::{self, Bit},
    value::{SymbolicScalar, SymbolicValue},
};

/// A copy of all states, and what runs on it.
#[derive(Clone)]
pub struct SymbolicMachine<'a> {
    pub(crate) model: &'a Model,
    /// Where all diagrams live.
    pub dd: Dd,
    /// The value of each variable.
    pub vars: Vec<SymbolicValue>,
    frames: Vec<SymbolicFrame<'a>>,
    /// Where the code that runs now is run.
    pub path: Bdd,
    /// Known to hold while this code runs: what happens elsewhere does not matter, and is no fault.
    pub given: Bdd,
    /// Where the run has ended early.
    pub dead: Bdd,
    /// Where and how the run has faulted: all apart from each other.
    pub faults: Vec<(Bdd, Fault)>,
    /// Where an assumption has dropped the step.
    pub dropped: Bdd,
    /// The cover properties whose checks held, and where.
    pub covered: Vec<(PropertyId, Bdd)>,
    /// Whether a failed assumption drops what runs.
    pub assumes: bool,
    /// The first choices to make; after them, a choice takes the first value.
    pub script: Vec<Value>,
    /// The choices made: what there was to choose from, and which was taken.
    pub trail: Vec<(Vec<Value>, usize)>,
    /// Who is told apart, of each counted sort.
    pub counted: BTreeMap<SortId, CountedPopulation>,
    /// Whether an index that can mean several entries is a choice between them: [`SymbolicMachine::given`] shrinks to where it
    /// means the one that was taken.
    pub splits: bool,
    /// The bits that a choice may take for its value, so that all its values are taken at once; and the choices that have.
    pub free: Option<(Bit, Vec<layout::LayoutCell>)>,
}

/// The members of a counted sort.
#[derive(Clone, Debug, Default)]
pub struct CountedPopulation {
    /// All of them.
    pub members: Vec<CountedMember>,
    /// The number that the next role gets.
    pub next: u32,
}

/// A member of a counted sort.
#[derive(Clone, Debug)]
pub struct CountedMember {
    /// The number under which its values are found.
    pub id: u32,
    /// What it stands for.
    pub kind: MemberKind,
}

/// What a member of a counted sort stands for.
#[derive(Clone, Debug)]
pub enum MemberKind {
    /// One element that is always told apart.
    Tracked,
    /// One element of a class.
    Role {
        /// The class, by its number among local states.
        class: usize,
    },
    /// All elements of a class that are not roles.
    Class {
        /// Which.
        class: usize,
        /// How many elements it has, the roles included.
        count: Rc<BitVector>,
    },
}

impl CountedPopulation {
    /// How many roles are taken out of a class.
    pub fn roles_in(&self, class: usize) -> i64 {
        let is_role = |it: &&CountedMember| matches!(it.kind, MemberKind::Role { class: of } if of == class);
        self.members.iter().filter(is_role).count() as i64
    }

    /// The member that stands for a class.
    pub fn class(&self, class: usize) -> Option<(u32, &BitVector)> {
        self.members.iter().find_map(|member| match &member.kind {
            MemberKind::Class { class: of, count } if *of == class => Some((member.id, count.as_ref())),
            _ => None,
        })
    }
}

/// One call, or the rule or condition itself.
#[derive(Clone)]
pub(crate) struct SymbolicFrame<'a> {
    pub(crate) locals: &'a IndexVec<LocalId, Local>,
    pub(crate) cells: Vec<LocalContent>,
    pub(crate) result_type: Option<TypeId>,
    /// Where the code was left by `return`, and with what.
    pub(crate) left: Bdd,
    pub(crate) result: Option<SymbolicValue>,
}

/// What a local holds.
#[derive(Clone)]
pub(crate) enum LocalContent {
    Unbound,
    Value(SymbolicValue),
    /// Other places, and where each of them is meant.
    Refers(Vec<(Bdd, SymbolicAddress)>),
}

/// A place with its indices worked out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SymbolicAddress {
    pub(crate) base: SymbolicBase,
    pub(crate) hops: Vec<SymbolicHop>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum SymbolicBase {
    Var(VarId),
    Local { frame: usize, local: LocalId },
}

/// One step into a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum SymbolicHop {
    /// A field, or the entry of an array.
    Entry(usize),
    /// The entry of an element of a counted sort.
    Member(u32),
}

impl<'a> SymbolicMachine<'a> {
    /// A machine on states with these values.
    pub fn new(model: &'a Model, dd: &Dd, vars: Vec<SymbolicValue>) -> SymbolicMachine<'a> {
        SymbolicMachine {
            model,
            dd: dd.clone(),
            vars,
            frames: Vec::new(),
            path: dd.yes(),
            given: dd.yes(),
            dead: dd.no(),
            faults: Vec::new(),
            dropped: dd.no(),
            covered: Vec::new(),
            assumes: true,
            script: Vec::new(),
            trail: Vec::new(),
            counted: BTreeMap::new(),
            splits: false,
            free: None,
        }
    }

    /// Where a condition holds, under [`SymbolicMachine::given`]; where it faults it does not hold.
    pub fn holds(&mut self, condition: &'a Condition) -> DdResult<Bdd> {
        self.assumes = false;
        self.enter(&condition.locals, None)?;
        let truth = self.truth(&condition.expr)?;
        self.leave();
        truth.and(&self.path)
    }

    /// Begins a rule with values for its parameters and makes its bindings.
    pub fn begin(&mut self, rule: &'a Rule, args: &[Value]) -> DdResult<()> {
        self.enter(&rule.code.locals, None)?;
        for (param, arg) in rule.params.iter().zip(args) {
            self.assign_bound(param.local, arg);
        }
        let chosen = self.chosen(rule, args)?;
        self.given = self.given.and(&chosen)?;
        self.bind(&rule.bindings)
    }

    /// Where the guard of the rule holds that was begun.
    pub fn guard(&mut self, rule: &'a Rule) -> DdResult<Bdd> {
        match &rule.guard {
            Some(guard) => self.truth(guard)?.and(&self.path),
            None => Ok(self.path.clone()),
        }
    }

    /// Runs the body of the rule that was begun, or the first part of it.
    pub fn body(&mut self, body: &'a [Stmt]) -> DdResult<()> {
        let bags = self.model.vars.iter().any(|var| bag::has_bags(self.model, var.ty));
        let before = if bags { self.vars.clone() } else { Vec::new() };
        self.block(body)?;
        self.leave();
        self.path = self.dd.yes().minus(&self.dead)?;
        if bags { self.order_bags(&before) } else { Ok(()) }
    }

    /// Where a check has failed.
    pub fn fails_checks(&self) -> DdResult<Bdd> {
        let checks = self.faults.iter().filter(|(_, fault)| fault.kind.goes_on());
        self.dd.any(checks.map(|(place, _)| place.clone()))
    }

    /// Whether nothing is run here.
    pub(crate) fn is_idle(&self) -> DdResult<bool> {
        Ok(self.path.is_false() || !self.path.meets(&self.given)?)
    }

    /// Ends the run with a fault where the condition holds.
    pub(crate) fn fault(&mut self, condition: &Bdd, kind: FaultKind, span: Span) -> DdResult<()> {
        let place = condition.and(&self.path)?.and(&self.given)?;
        if !place.is_false() {
            self.dead = self.dead.or(&place)?;
            self.faults.push((place, Fault { kind, span }));
        }
        self.path = self.path.minus(condition)?;
        Ok(())
    }

    /// Goes back to an earlier path, as far as nothing has ended since.
    pub(crate) fn resume(&mut self, path: &Bdd) -> DdResult<()> {
        self.path = path.minus(&self.dead)?;
        Ok(())
    }

    pub(crate) fn enter(
        &mut self,
        locals: &'a IndexVec<LocalId, Local>,
        result_type: Option<TypeId>,
    ) -> DdResult<()> {
        let mut cells = Vec::with_capacity(locals.len());
        for local in locals.iter() {
            cells.push(match local.kind {
                LocalKind::Variable => LocalContent::Value(self.blank(local.ty)?),
                LocalKind::Bound | LocalKind::Reference { .. } => LocalContent::Unbound,
            });
        }
        let left = self.dd.no();
        self.frames.push(SymbolicFrame { locals, cells, result_type, left, result: None });
        Ok(())
    }

    pub(crate) fn leave(&mut self) -> Option<SymbolicFrame<'a>> {
        self.frames.pop()
    }

    pub(crate) fn frame(&mut self) -> Option<&mut SymbolicFrame<'a>> {
        self.frames.last_mut()
    }

    pub(crate) fn height(&self) -> usize {
        self.frames.len()
    }

    /// Puts something into a local of the code that runs and gives what it held.
    pub(crate) fn set(&mut self, local: LocalId, cell: LocalContent) -> LocalContent {
        match self.frames.last_mut().and_then(|frame| frame.cells.get_mut(local.index())) {
            Some(held) => std::mem::replace(held, cell),
            None => LocalContent::Unbound,
        }
    }

    /// Gives a bound local a value.
    pub(crate) fn assign_bound(&mut self, local: LocalId, value: &Value) {
        let value = SymbolicValue::Scalar(SymbolicScalar::constant(&self.dd, value));
        self.set(local, LocalContent::Value(value));
    }

    /// Every scalar part undefined.
    pub(crate) fn blank(&self, ty: TypeId) -> DdResult<SymbolicValue> {
        let undefined = SymbolicScalar::undefined(&self.dd);
        let mut blank = SymbolicValue::build(self.model, ty, &|index| self.members_of(index), &mut |_| {
            Ok(undefined.clone())
        })?;
        bag::empty(self, ty, &mut blank);
        Ok(blank)
    }

    /// Every scalar part at its least value.
    pub(crate) fn least(&self, ty: TypeId) -> DdResult<SymbolicValue> {
        let mut least =
            SymbolicValue::build(self.model, ty, &|index| self.members_of(index), &mut |scalar| {
                Ok(SymbolicScalar::constant(&self.dd, &self.model.least(scalar)))
            })?;
        bag::empty(self, ty, &mut least);
        Ok(least)
    }

    /// The members by which an array is indexed, if its index is a counted sort.
    fn members_of(&self, index: TypeId) -> Option<(SortId, Vec<u32>)> {
        match self.model.kind(index) {
            Type::Ref { sort, nullable: false } => {
                let population = self.counted.get(sort)?;
                Some((*sort, population.members.iter().map(|member| member.id).collect()))
            }
            _ => None,
        }
    }

    /// Takes one element out of a class of a counted sort; gives its number.
    pub fn take_role(&mut self, sort: SortId, class: usize) -> Option<u32> {
        let population = self.counted.get_mut(&sort)?;
        let (from, _) = population.class(class)?;
        let id = population.next;
        population.next += 1;
        population.members.push(CountedMember { id, kind: MemberKind::Role { class } });
        self.vars.iter_mut().for_each(|var| copy_member(var, sort, from, id));
        Some(id)
    }

    /// Puts the role that was taken last back into its class.
    pub(crate) fn drop_role(&mut self, sort: SortId, id: u32) {
        if let Some(population) = self.counted.get_mut(&sort) {
            population.members.retain(|member| member.id != id);
            population.next = id;
        }
        self.vars.iter_mut().for_each(|var| remove_member(var, sort, id));
    }

    /// The scalar parts of a member, in the order of the variables.
    pub fn local_state(&self, sort: SortId, id: u32) -> Vec<&SymbolicScalar> {
        let mut found = Vec::new();
        self.vars.iter().for_each(|var| scalars_of(var, Some((sort, id)), &mut found));
        found
    }
}

/// The scalar parts of a value; only those of one member of a counted sort, if one is named.
fn scalars_of<'s>(
    value: &'s SymbolicValue,
    member: Option<(SortId, u32)>,
    found: &mut Vec<&'s SymbolicScalar>,
) {
    match (value, member) {
        (SymbolicValue::Scalar(scalar), None) => found.push(scalar),
        (SymbolicValue::Scalar(_), Some(_)) => {}
        (SymbolicValue::Record(parts) | SymbolicValue::Array(parts), _) => {
            parts.iter().for_each(|part| scalars_of(part, member, found));
        }
        (SymbolicValue::Family(sort, entries), Some((of, id))) if *sort == of => {
            entries.get(id).into_iter().for_each(|entry| scalars_of(entry, None, found));
        }
        // What is in an array over two counted sorts belongs to neither, and there is none.
        (SymbolicValue::Family(..), _) => {}
    }
}

pub(crate) fn copy_member(value: &mut SymbolicValue, sort: SortId, from: u32, to: u32) {
    match value {
        SymbolicValue::Scalar(_) => {}
        SymbolicValue::Record(parts) | SymbolicValue::Array(parts) => {
            parts.iter_mut().for_each(|part| copy_member(part, sort, from, to));
        }
        SymbolicValue::Family(of, entries) if *of == sort => {
            if let Some(entry) = entries.get(from).cloned() {
                entries.insert(to, entry);
            }
        }
        SymbolicValue::Family(..) => {}
    }
}

fn remove_member(value: &mut SymbolicValue, sort: SortId, id: u32) {
    match value {
        SymbolicValue::Scalar(_) => {}
        SymbolicValue::Record(parts) | SymbolicValue::Array(parts) => {
            parts.iter_mut().for_each(|part| remove_member(part, sort, id));
        }
        SymbolicValue::Family(of, entries) if *of == sort => entries.remove(id),
        SymbolicValue::Family(..) => {}
    }
}

/// Whether what the locals of all calls hold is the same diagrams, but for one local of the last of them.
fn same_frames(a: &[SymbolicFrame<'_>], b: &[SymbolicFrame<'_>], but: LocalId) -> bool {
    a.iter().zip(b).enumerate().all(|(at, (now, before))| {
        let but = (at + 1 == a.len()).then_some(but.index());
        let cells = now.cells.iter().zip(&before.cells).enumerate();
        now.left == before.left
            && cells.filter(|(local, _)| Some(*local) != but).all(|(_, cells)| match cells {
                (LocalContent::Value(now), LocalContent::Value(before)) => same(now, before, None),
                (LocalContent::Unbound, LocalContent::Unbound)
                | (LocalContent::Refers(_), LocalContent::Refers(_)) => true,
                _ => false,
            })
    })
}

/// Whether two values are the same diagrams, but for one member of a counted sort.
fn same(a: &SymbolicValue, b: &SymbolicValue, but: Option<(SortId, u32)>) -> bool {
    let all = |a: &[SymbolicValue], b: &[SymbolicValue]| a.iter().zip(b).all(|(a, b)| same(a, b, but));
    match (a, b) {
        (SymbolicValue::Scalar(a), SymbolicValue::Scalar(b)) => a == b,
        (SymbolicValue::Record(a), SymbolicValue::Record(b))
        | (SymbolicValue::Array(a), SymbolicValue::Array(b)) => all(a, b),
        (SymbolicValue::Family(sort, a), SymbolicValue::Family(_, b)) => {
            let is_same = |member: u32| match (a.get(member), b.get(member)) {
                (Some(a), Some(b)) => same(a, b, but),
                _ => true,
            };
            let mut others = a.different(b).into_iter().filter(|member| but != Some((*sort, *member)));
            !a.has_more_than(b) && others.all(is_same)
        }
        _ => false,
    }
}
