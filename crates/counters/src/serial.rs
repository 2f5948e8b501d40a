//! Loops over all elements, one element after another: the serial mode of Emerson and Wahl.
//!
//! A move with transfers becomes a sequence of steps with states of their own in between. A number, 0 in the states of
//! the model, says which transfers are under way; while it is not 0 nothing else happens. One element after another
//! leaves the classes that are to be left; with the last of them the number goes back to 0. An element that comes to a
//! class which is itself to be left (the body is not idempotent) comes to a *copy* of it instead, where it is not taken
//! for one that still has to go; at the end the copies are emptied in the same way.
//!
//! The paper's mode asks each process whether the body would change it still, which is wrong where bodies interact: the
//! steps can then go on for ever. Here the class decides, as it was before the first step, so each element goes once. A
//! loop whose body reads what it changes of other elements has no transfers: it was refused before.
//!
//! Formulas skip the states in between ([`shoal_symbolic::ctl::Ctl::serial`]); traces never show them.

use std::collections::BTreeMap;

use shoal_model::SortId;
use shoal_symbolic::{
    bits,
    dd::{Bdd, Dd, DdResult},
    layout::{Bit, now},
};

use crate::compile::{ClassMove, Compiled, Role, SortClass};

/// What the serial mode needs beside the counters.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SerialPlan {
    /// Sets of transfers, each with the number that stands for it.
    modes: BTreeMap<Vec<(SortId, usize, usize)>, u64>,
    /// The classes that have a copy, and which of their sort's it is.
    copies: BTreeMap<SortClass, usize>,
    /// The bits of the number.
    mode: NumberAt,
}

/// Where the number is: no part of what a plan is compared by.
#[derive(Clone, Debug, Default)]
struct NumberAt(Vec<Bit>);

impl PartialEq for NumberAt {
    fn eq(&self, _: &NumberAt) -> bool {
        true
    }
}

/// The number that stands for emptying the copies.
const EMPTYING: u64 = 1;

impl SerialPlan {
    /// What these moves need.
    pub(crate) fn new(moves: &[ClassMove]) -> SerialPlan {
        let mut plan = SerialPlan::default();
        for moved in moves.iter().filter(|moved| !moved.transfers.is_empty()) {
            let mode = plan.modes.len() as u64;
            plan.modes.entry(moved.transfers.clone()).or_insert(mode);
            let arrivals = moved.transfers.iter().map(|(sort, _, to)| (*sort, *to));
            for class in arrivals.chain(moved.roles.iter().map(|role| (role.sort, role.to))) {
                if leaves(moved, class) {
                    let of_sort = plan.copies(class.0);
                    plan.copies.entry(class).or_insert(of_sort);
                }
            }
        }
        // 0 is for the states of the model.
        let first = if plan.copies.is_empty() { 1 } else { EMPTYING + 1 };
        plan.modes.values_mut().for_each(|mode| *mode += first);
        plan
    }

    /// Puts the number at this bit; gives how many bits it has.
    pub(crate) fn place(&mut self, at: Bit) -> Bit {
        let most = self.modes.values().max().copied().unwrap_or(0);
        let width = u64::BITS - most.leading_zeros();
        self.mode = NumberAt((at..at + width).collect());
        width
    }

    /// How many copies a sort has.
    pub(crate) fn copies(&self, sort: SortId) -> usize {
        self.copies.keys().filter(|(of, _)| *of == sort).count()
    }

    /// The bits of the number.
    pub(crate) fn mode_bits(&self) -> &[Bit] {
        &self.mode.0
    }

    /// Where the number is this one.
    fn is(&self, dd: &Dd, mode: u64) -> DdResult<Bdd> {
        let literal = |(at, bit): (usize, &Bit)| (now(*bit), mode >> at & 1 == 1);
        dd.minterm(&self.mode.0.iter().enumerate().map(literal).collect::<Vec<_>>())
    }

    /// What the bits of the number become.
    fn set(&self, dd: &Dd, mode: u64) -> Vec<(Bit, Bdd)> {
        self.mode.0.iter().enumerate().map(|(at, bit)| (*bit, dd.constant(mode >> at & 1 == 1))).collect()
    }

    /// The states between the steps of the model.
    pub(crate) fn midst(&self, dd: &Dd) -> DdResult<Bdd> {
        if self.mode.0.is_empty() {
            return Ok(dd.no());
        }
        self.is(dd, 0)?.not()
    }
}

/// Whether transfers empty a class.
fn leaves(moved: &ClassMove, (sort, class): SortClass) -> bool {
    moved.transfers.iter().any(|(of, from, _)| *of == sort && *from == class)
}

/// The moves with each transfer as a sequence of single moves.
pub(crate) fn moves(compiled: &Compiled<'_>) -> DdResult<Vec<ClassMove>> {
    let serial = Serial { compiled, plan: &compiled.plan, dd: &compiled.dd };
    let idle = serial.plan.is(serial.dd, 0)?;
    let mut moves = Vec::new();
    let mut made: Vec<u64> = Vec::new();
    for moved in &compiled.moves {
        let moved = ClassMove { ends: moved.ends.and(&idle)?, ..moved.clone() };
        let Some(mode) = serial.plan.modes.get(&moved.transfers).filter(|_| !moved.transfers.is_empty())
        else {
            moves.push(moved);
            continue;
        };
        serial.begin(&moved, *mode, &mut moves)?;
        if !made.contains(mode) {
            made.push(*mode);
            serial.steps(&moved, *mode, &mut moves)?;
        }
    }
    if let (false, Some(like)) = (serial.plan.copies.is_empty(), compiled.moves.first()) {
        serial.empty_copies(like, &mut moves)?;
    }
    Ok(moves)
}

struct Serial<'s, 'm> {
    compiled: &'s Compiled<'m>,
    plan: &'s SerialPlan,
    dd: &'s Dd,
}

impl Serial<'_, '_> {
    /// The place of a class's copy among the counters.
    fn copy(&self, (sort, class): SortClass) -> usize {
        self.plan.copies.get(&(sort, class)).map_or(class, |at| self.compiled.locals[&sort].states.len() + at)
    }

    /// Where a class has more elements than so many.
    fn more_than(&self, (sort, class): SortClass, number: i64) -> DdResult<Bdd> {
        let bits = &self.compiled.locals[&sort].bits[class];
        let count = bits.iter().map(|bit| self.dd.var(now(*bit))).collect::<DdResult<_>>()?;
        bits::less(self.dd, &bits::constant(self.dd, number), &bits::unsigned(self.dd, count))
    }

    /// Where one of these classes has more elements than are taken out of it.
    fn any(&self, classes: &[SortClass], taken: impl Fn(SortClass) -> i64) -> DdResult<Bdd> {
        let some = classes.iter().map(|class| self.more_than(*class, taken(*class)));
        self.dd.any(some.collect::<DdResult<Vec<_>>>()?)
    }

    /// The first step: everything but the transfers.
    fn begin(&self, moved: &ClassMove, mode: u64, moves: &mut Vec<ClassMove>) -> DdResult<()> {
        let leaving: Vec<SortClass> = moved.transfers.iter().map(|(sort, from, _)| (*sort, *from)).collect();
        let is_from = |role: &&Role, class: SortClass| (role.sort, role.from) == class;
        let taken = |class: SortClass| moved.roles.iter().filter(|role| is_from(role, class)).count() as i64;
        let some = self.any(&leaving, taken)?;
        let nobody = ClassMove { ends: moved.ends.minus(&some)?, transfers: Vec::new(), ..moved.clone() };
        moves.push(nobody);
        let mut begun = ClassMove { ends: moved.ends.and(&some)?, transfers: Vec::new(), ..moved.clone() };
        for role in begun.roles.iter_mut().filter(|role| leaves(moved, (role.sort, role.to))) {
            role.to = self.copy((role.sort, role.to));
        }
        begun.changes.extend(self.plan.set(self.dd, mode));
        moves.push(begun);
        Ok(())
    }

    /// The steps after the first, one for each transfer: one that is not the last, and the last.
    fn steps(&self, moved: &ClassMove, mode: u64, moves: &mut Vec<ClassMove>) -> DdResult<()> {
        let leaving: Vec<SortClass> = moved.transfers.iter().map(|(sort, from, _)| (*sort, *from)).collect();
        let copies: Vec<SortClass> =
            self.plan.copies.keys().map(|(sort, class)| (*sort, self.copy((*sort, *class)))).collect();
        let filled = self.any(&copies, |_| 0)?;
        for (sort, from, to) in &moved.transfers {
            let here = self.plan.is(self.dd, mode)?.and(&self.more_than((*sort, *from), 0)?)?;
            let more = self.any(&leaving, |class| i64::from(class == (*sort, *from)))?;
            let last = here.minus(&more)?;
            let copied = leaves(moved, (*sort, *to));
            let to = if copied { self.copy((*sort, *to)) } else { *to };
            let emptying = if copied { last.clone() } else { last.and(&filled)? };
            let step = |ends: Bdd, changes: Vec<(Bit, Bdd)>| ClassMove {
                ends,
                changes,
                roles: vec![Role { sort: *sort, from: *from, to }],
                transfers: Vec::new(),
                ..moved.clone()
            };
            moves.push(step(here.and(&more)?, Vec::new()));
            moves.push(step(last.minus(&emptying)?, self.plan.set(self.dd, 0)));
            moves.push(step(emptying, self.plan.set(self.dd, EMPTYING)));
        }
        Ok(())
    }

    /// The steps that empty the copies.
    fn empty_copies(&self, like: &ClassMove, moves: &mut Vec<ClassMove>) -> DdResult<()> {
        let copies: Vec<(SortClass, usize)> =
            self.plan.copies.keys().map(|class| (*class, self.copy(*class))).collect();
        let places: Vec<SortClass> = copies.iter().map(|((sort, _), copy)| (*sort, *copy)).collect();
        for ((sort, class), copy) in &copies {
            let here = self.plan.is(self.dd, EMPTYING)?.and(&self.more_than((*sort, *copy), 0)?)?;
            let more = self.any(&places, |class| i64::from(class == (*sort, *copy)))?;
            for (ends, changes) in
                [(here.and(&more)?, Vec::new()), (here.minus(&more)?, self.plan.set(self.dd, 0))]
            {
                let roles = vec![Role { sort: *sort, from: *copy, to: *class }];
                moves.push(ClassMove { ends, changes, roles, transfers: Vec::new(), ..like.clone() });
            }
        }
        Ok(())
    }
}
