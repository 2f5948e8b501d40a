//! One round of compilation: all rules, for the local states and with the knowledge there is.

use std::collections::BTreeMap;

use shoal_model::{GuardFaults, Model, Rule, RuleId, SortId, VarId};
use shoal_symbolic::{
    Trouble, assumptions, bits,
    dd::{Bdd, Care, Dd, DdResult},
    layout::{self, Bit, BitLayout},
    machine::SymbolicMachine,
    run,
    value::SymbolicValue,
    worlds::Worlds,
};

use super::{
    ClassMove, Compiled, CountedLocals, CounterStarts, Look, Making, Normalise, WorkBounds,
    casts::{RoleInstance, add_class, casts, populations},
    holders::{self, ElementHolder, holders},
    modular::{ClassValues, PackedValues},
};
use crate::{serial::SerialPlan, support::Tracked};

/// What a round of compilation comes to.
pub(super) enum CompileRound<'m> {
    Done(Box<Compiled<'m>>),
    /// Cells that can be undefined after all.
    Undefined(Vec<usize>),
    /// There are more local states, or more is known of them.
    Found(BTreeMap<SortId, CountedLocals>, Option<PackedValues>),
    /// There is too much to do, and of what.
    TooMuch(String),
}

pub(super) struct CounterCompiler<'m, 'c> {
    pub(super) model: &'m Model,
    pub(super) dd: Dd,
    pub(super) layout: BitLayout,
    pub(super) bits: Bit,
    pub(super) locals: BTreeMap<SortId, CountedLocals>,
    pub(super) plan: SerialPlan,
    pub(super) tracked: &'c Tracked,
    /// Variables that hold an element of a counted sort, and how many marks the local states of each sort have for it.
    pub(super) holders: Vec<ElementHolder>,
    pub(super) marks: BTreeMap<SortId, usize>,
    pub(super) base: SymbolicMachine<'m>,
    pub(super) moves: Vec<ClassMove>,
    pub(super) trouble: Trouble,
    pub(super) normalise: Normalise<'c>,
    pub(super) undefined: Vec<usize>,
    pub(super) progress: Bdd,
    pub(super) changes: Bdd,
    pub(super) ambiguous: bool,
    /// How many classes had a counter when this round began.
    pub(super) classes: BTreeMap<SortId, usize>,
    /// Where elements can be in each class, if that is looked at.
    pub(super) known: Option<ClassValues>,
}

impl<'m, 'c> CounterCompiler<'m, 'c> {
    pub(super) fn new(
        making: Making<'m, 'c>,
        locals: &BTreeMap<SortId, CountedLocals>,
        defined: &[bool],
        mut plan: SerialPlan,
        knowing: bool,
    ) -> DdResult<Self> {
        let Making { model, tracked, normalise, .. } = making;
        let mut layout = BitLayout::without_numbers(model, tracked, &|at| defined[at])?;
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
        // With what is known, most of the work is done here.
        let care = if knowing { Care::Speed } else { Care::Peak };
        let dd = Dd::new(2 * bits, making.watch, care)?;
        let (trouble, progress, changes) = (Trouble::new(&dd), dd.no(), dd.no());
        let base = SymbolicMachine::new(model, &dd, Vec::new());
        let classes = locals.iter().map(|(sort, one)| (*sort, one.states.len())).collect();
        let undefined = Vec::new();
        let holders = holders(&layout)?;
        let of_sort = |sort: &SortId| holders.iter().filter(|holder| holder.sort() == *sort).count();
        let marks = locals.keys().map(|sort| (*sort, of_sort(sort))).collect();
        let mut compiler = CounterCompiler {
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
        };
        compiler.base = compiler.machine()?;
        Ok(compiler)
    }

    /// The machine on all states at once, with all classes known now.
    fn machine(&self) -> DdResult<SymbolicMachine<'m>> {
        let mut counted = populations(self.tracked);
        let mut machine =
            SymbolicMachine::new(self.model, &self.dd, self.layout.states(self.model, &self.dd, &counted)?);
        for (sort, locals) in &self.locals {
            for (class, state) in locals.states.iter().enumerate() {
                let Some(bits) = locals.bits.get(class) else { break };
                let count: Vec<Bdd> =
                    bits.iter().map(|bit| self.dd.var(layout::now(*bit))).collect::<DdResult<_>>()?;
                let count = bits::unsigned(&self.dd, count);
                add_class(self.model, &mut machine, &mut counted, *sort, class, Some(state), count)?;
            }
        }
        machine.counted = counted;
        machine.vars.iter_mut().for_each(SymbolicValue::settle);
        Ok(machine)
    }

    pub(super) fn run(
        mut self,
        starts: &CounterStarts,
        bounds: &WorkBounds,
        look: Look<'_>,
    ) -> DdResult<CompileRound<'m>> {
        let first = RoleInstance { known: self.known.clone(), ..RoleInstance::new(&self.base) };
        let worlds = holders::worlds(&first, &self.holders, &self.marks, &self.locals)?;
        let keep = assumptions(&worlds, self.model, &mut self.trouble)?;
        let mut guarded: Vec<(RuleId, &'m Rule, RoleInstance<'m>, Bdd)> = Vec::new();
        let mut enabled: BTreeMap<i64, Bdd> = BTreeMap::new();
        for (id, rule) in self.model.rules.enumerate() {
            let holders = holders::of_rule(self.model, &self.holders, rule);
            let vague: Vec<VarId> = holders.iter().map(|at| self.holders[*at].var()).collect();
            let first = RoleInstance { holders, ..first.clone() };
            let mut all = Vec::new();
            for cast in casts(first, rule, &vague)? {
                look(&self.dd)?;
                all.extend(holders::lend(cast, &self.holders, &self.marks, &self.locals)?);
                if all.len() > bounds.casts && !vague.is_empty() {
                    return Ok(CompileRound::TooMuch(bounds.exceeded_by_casts()));
                }
            }
            for cast in all {
                let mut machine = cast.machine.clone();
                machine.given = cast.present.clone();
                let guard = run::guard(&machine, rule, &cast.values)?;
                if self.model.guard_faults == GuardFaults::Violate {
                    self.trouble.add(&guard.faults, &cast.present)?;
                    for (place, _) in guard.faults.iter().filter(|(_, fault)| fault.kind.goes_on()) {
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
            if let Some(construct) = bounds.exceeded_by_moves(self.moves.len()) {
                return Ok(CompileRound::TooMuch(construct));
            }
        }
        if !self.undefined.is_empty() {
            return Ok(CompileRound::Undefined(self.undefined));
        }
        if self.known.is_some() {
            return self.settle(worlds, keep, starts, look);
        }
        if self.locals.iter().any(|(sort, it)| it.states.len() > self.classes[sort]) {
            return Ok(CompileRound::Found(self.locals, None));
        }
        let moves = std::mem::take(&mut self.moves);
        Ok(CompileRound::Done(Box::new(self.compiled(worlds, keep, starts, moves))))
    }

    /// What a round has made, with these moves.
    pub(super) fn compiled(
        &self,
        worlds: Worlds<'m>,
        keep: Bdd,
        starts: &CounterStarts,
        moves: Vec<ClassMove>,
    ) -> Compiled<'m> {
        Compiled {
            model: self.model,
            dd: self.dd.clone(),
            layout: self.layout.clone(),
            bits: self.bits,
            locals: self.locals.clone(),
            plan: self.plan.clone(),
            holders: self.holders.clone(),
            worlds,
            moves,
            trouble: self.trouble.clone(),
            starts: starts.clone(),
            keep,
            progress: self.progress.clone(),
            changes: self.changes.clone(),
            ambiguous: self.ambiguous,
        }
    }

    /// Runs the body of an instance and makes moves of what comes of it.
    fn instance(&mut self, id: RuleId, rule: &'m Rule, cast: RoleInstance<'m>, given: Bdd) -> DdResult<()> {
        for after in run::runs(&cast.machine, rule, &cast.values, &given)? {
            self.trouble.add(&after.faults, &given)?;
            self.trouble.cover(&after, &given)?;
            let ends = given.minus(&after.dead)?;
            // What faults is no step, unless only a check fails.
            let checked = after.fails_checks()?.and(&given)?;
            self.progress = self.progress.or(&ends)?.or(&checked)?;
            self.changes = self.changes.or(&checked)?;
            for at in &cast.holders {
                self.holders[*at].check(&after, &ends)?;
            }
            let changes = self.cells(&after, &ends)?;
            for (place, roles, transfers) in self.outcomes(&after, &cast, &ends)? {
                let moved = ClassMove {
                    rule: id,
                    args: cast.args.clone(),
                    ends: place,
                    changes: changes.clone(),
                    roles,
                    transfers,
                    holders: cast.holders.clone(),
                };
                let moves = self.moves_something(&moved)?;
                self.changes = self.changes.or(&moves)?;
                self.moves.push(moved);
            }
        }
        Ok(())
    }

    /// The bits of plain cells that a run changes.
    fn cells(&mut self, after: &SymbolicMachine<'m>, ends: &Bdd) -> DdResult<Vec<(Bit, Bdd)>> {
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
