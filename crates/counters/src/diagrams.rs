//! Counters in diagrams: moves as relations between bits, and many firings of a move as one.

use std::{
    borrow::Cow,
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use shoal_model::SortId;
use shoal_symbolic::{
    bits::{self, BitVector},
    dd::{Bdd, DdResult, DdVar, Renaming},
    layout::{self, Bit, next, now},
    system::{CounterFlow, Hasten, Relation, RelationMaker, TransitionSystem, function, written},
};

use crate::{
    Options,
    compile::{ClassMove, Compiled},
    serial,
};

/// Something that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Counter {
    /// The elements of a class.
    Class(SortId, usize),
    /// A variable with a number in it, by its cell.
    Cell(usize),
}

/// How loops over all elements are turned into relations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BroadcastMode {
    /// All classes in one relation.
    Simultaneous,
    /// One element after another, with states in between that formulas skip.
    Serial,
    /// One class after another, as a sequence of small relations with nothing in between.
    #[default]
    Composed,
}

/// The system of counters as diagrams.
pub(crate) fn system<'c>(compiled: &'c Compiled<'_>, options: Options) -> DdResult<TransitionSystem<'c>> {
    let moves: Cow<'c, [ClassMove]> = match options.broadcast {
        BroadcastMode::Serial => Cow::Owned(serial::moves(compiled)?),
        _ => Cow::Borrowed(&compiled.moves),
    };
    let builder =
        Rc::new(DiagramBuilder { compiled, moves, composed: options.broadcast == BroadcastMode::Composed });
    let dd = compiled.dd.clone();
    let midst = compiled.plan.midst(&dd)?;
    // Nothing is asked of states in the midst of a step, nor assumed.
    let keep = compiled.keep.or(&midst)?;
    let (fast, hasten) = match options.accelerate {
        // What assumptions drop is not passed through either.
        true => {
            let maker = Rc::clone(&builder);
            let hasten: Hasten<'c> = Box::new(move |through| maker.relations(Some(through)));
            (builder.relations(Some(&keep))?, Some(hasten))
        }
        false => (Vec::new(), None),
    };
    let make: RelationMaker<'c> = Box::new(move || builder.relations(None));
    let mut init = dd.no();
    for start in &compiled.starts.all {
        let mut literals: Vec<(DdVar, bool)> =
            compiled.plan.mode_bits().iter().map(|bit| (now(*bit), false)).collect();
        for (cell, value) in compiled.layout.cells.iter().zip(&start.cells) {
            literals.extend(compiled.layout.literals(compiled.model, cell, value));
        }
        for (sort, locals) in &compiled.locals {
            for (class, bits) in locals.bits.iter().enumerate() {
                let count = start.counts.get(&(*sort, class)).copied().unwrap_or(0);
                literals.extend(bits.iter().enumerate().map(|(at, bit)| (now(*bit), count >> at & 1 == 1)));
            }
        }
        init = init.or(&dd.minterm(&literals)?)?;
    }
    let refused = init.minus(&keep)?;
    let init = init.and(&keep)?;
    let (bits, progress, changes) =
        (compiled.bits, compiled.progress.clone().into(), compiled.changes.clone().into());
    Ok(TransitionSystem {
        dd,
        bits,
        init,
        refused,
        keep,
        fast,
        hasten,
        make,
        made: OnceCell::new(),
        progress,
        changes,
        midst,
    })
}

struct DiagramBuilder<'b, 'm> {
    compiled: &'b Compiled<'m>,
    moves: Cow<'b, [ClassMove]>,
    /// Whether classes go one after another.
    composed: bool,
}

impl DiagramBuilder<'_, '_> {
    /// The relations of all moves; many firings as one where a set is given that all but the last state are in.
    fn relations(&self, through: Option<&Bdd>) -> DdResult<Vec<Relation>> {
        let dd = &self.compiled.dd;
        let mut relations = Vec::new();
        // Moves to and fro write the same bits, but are kept apart: the one may come to an end.
        let mut joined: BTreeMap<(Vec<Bit>, Vec<CounterFlow>), Bdd> = BTreeMap::new();
        for moved in self.moves.iter().filter(|moved| !moved.ends.is_false()) {
            let flows = self.flows(moved);
            if !moved.transfers.is_empty() && self.composed {
                relations.push(self.sequence(moved)?.with_flows(vec![flows]));
                continue;
            }
            let shortcut = through.map(|through| self.shortcut(moved, through)).transpose()?.flatten();
            let (relation, written) = match shortcut {
                Some(shortcut) => shortcut,
                None => self.relation(moved)?,
            };
            let known = joined.entry((written, flows)).or_insert_with(|| dd.no());
            *known = known.or(&relation)?;
        }
        for ((written, flows), relation) in joined {
            relations.push(Relation::new(dd, relation, &written)?.with_flows(vec![flows]));
        }
        // Local states are numbered as they were found: so a round goes with the flow.
        relations.sort_by_key(|relation| relation.flows().iter().flatten().map(|flow| flow.from).max());
        Ok(relations)
    }

    /// Which elements go where.
    fn flows(&self, moved: &ClassMove) -> Vec<CounterFlow> {
        let place = |sort: SortId, class: usize| {
            let others = self.compiled.locals.range(..sort).map(|(_, locals)| locals.bits.len());
            (others.sum::<usize>() + class) as u32
        };
        let flow = |sort: SortId, from: usize, to: usize, sure: bool| CounterFlow {
            from: place(sort, from),
            to: place(sort, to),
            sure,
        };
        let roles = moved.roles.iter().map(|role| flow(role.sort, role.from, role.to, true));
        // Of a class that goes there may be nobody.
        let transfers = moved.transfers.iter().map(|(sort, from, to)| flow(*sort, *from, *to, false));
        let mut flows: Vec<CounterFlow> = roles.chain(transfers).collect();
        flows.sort_unstable();
        flows
    }

    fn bits_of(&self, counter: Counter) -> &[Bit] {
        match counter {
            Counter::Class(sort, class) => &self.compiled.locals[&sort].bits[class],
            Counter::Cell(cell) => &self.compiled.layout.cells[cell].bits,
        }
    }

    fn value(&self, counter: Counter, of: fn(Bit) -> u32) -> DdResult<BitVector> {
        let dd = &self.compiled.dd;
        let bits: BitVector =
            self.bits_of(counter).iter().map(|bit| dd.var(of(*bit))).collect::<DdResult<_>>()?;
        Ok(bits::unsigned(dd, bits))
    }

    /// By how much each counter changes, transfers not among it.
    fn deltas(moved: &ClassMove) -> BTreeMap<Counter, i64> {
        let mut deltas: BTreeMap<Counter, i64> = BTreeMap::new();
        for role in &moved.roles {
            *deltas.entry(Counter::Class(role.sort, role.from)).or_default() -= 1;
            *deltas.entry(Counter::Class(role.sort, role.to)).or_default() += 1;
        }
        deltas.retain(|_, delta| *delta != 0);
        deltas
    }

    /// What each counter becomes, of those that change.
    fn targets(&self, moved: &ClassMove) -> DdResult<BTreeMap<Counter, BitVector>> {
        let dd = &self.compiled.dd;
        if moved.transfers.is_empty() {
            let mut targets = BTreeMap::new();
            for (counter, delta) in Self::deltas(moved) {
                let sum = bits::add(dd, &self.value(counter, now)?, &bits::constant(dd, delta))?;
                targets.insert(counter, sum);
            }
            return Ok(targets);
        }
        // First the roles are taken out, then the classes go where they go, then the roles come in.
        let mut counters: BTreeSet<Counter> = BTreeSet::new();
        for role in &moved.roles {
            counters.extend([Counter::Class(role.sort, role.from), Counter::Class(role.sort, role.to)]);
        }
        for (sort, from, to) in &moved.transfers {
            counters.extend([Counter::Class(*sort, *from), Counter::Class(*sort, *to)]);
        }
        let taken = |counter: Counter| {
            moved.roles.iter().filter(|role| Counter::Class(role.sort, role.from) == counter).count() as i64
        };
        let mut targets = BTreeMap::new();
        for counter in &counters {
            let brought =
                moved.roles.iter().filter(|role| Counter::Class(role.sort, role.to) == *counter).count()
                    as i64;
            let mut sum = bits::constant(dd, brought);
            let leaves =
                moved.transfers.iter().any(|(sort, from, _)| Counter::Class(*sort, *from) == *counter);
            let own = (!leaves).then_some(*counter);
            let others =
                moved.transfers.iter().filter(|(sort, _, to)| Counter::Class(*sort, *to) == *counter);
            for from in own.into_iter().chain(others.map(|(sort, from, _)| Counter::Class(*sort, *from))) {
                let left = bits::sub(dd, &self.value(from, now)?, &bits::constant(dd, taken(from)))?;
                sum = bits::add(dd, &sum, &left)?;
            }
            targets.insert(*counter, sum);
        }
        Ok(targets)
    }

    /// A move as one relation, and the bits it writes.
    fn relation(&self, moved: &ClassMove) -> DdResult<(Bdd, Vec<Bit>)> {
        let targets = self.targets(moved)?;
        self.assign(moved.ends.clone(), &moved.changes, &targets)
    }

    fn assign(
        &self,
        condition: Bdd,
        changes: &[(Bit, Bdd)],
        targets: &BTreeMap<Counter, BitVector>,
    ) -> DdResult<(Bdd, Vec<Bit>)> {
        let mut all: Vec<(Bit, Bdd)> = changes.to_vec();
        for (counter, value) in targets {
            for (at, bit) in self.bits_of(*counter).iter().enumerate() {
                all.push((*bit, value[at.min(value.len() - 1)].clone()));
            }
        }
        all.sort_by_key(|(bit, _)| *bit);
        let relation = function(&self.compiled.dd, self.compiled.dd.yes(), &all)?;
        Ok((relation.and(&condition)?, written(&all)))
    }

    /// A move with transfers as a sequence: the roles leave, then one class goes after another, then the roles arrive.
    /// A class goes only after those that go to where it was have a place to go: on a cycle all go at once.
    fn sequence(&self, moved: &ClassMove) -> DdResult<Relation> {
        let dd = &self.compiled.dd;
        let Some(order) = order(&moved.transfers) else {
            let (relation, written) = self.relation(moved)?;
            return Relation::new(dd, relation, &written);
        };
        let mut leave = BTreeMap::new();
        let mut arrive = BTreeMap::new();
        for role in &moved.roles {
            *leave.entry(Counter::Class(role.sort, role.from)).or_insert(0) -= 1;
            *arrive.entry(Counter::Class(role.sort, role.to)).or_insert(0) += 1;
        }
        let shifted = |by: BTreeMap<Counter, i64>| -> DdResult<BTreeMap<Counter, BitVector>> {
            let mut targets = BTreeMap::new();
            for (counter, delta) in by {
                targets
                    .insert(counter, bits::add(dd, &self.value(counter, now)?, &bits::constant(dd, delta))?);
            }
            Ok(targets)
        };
        let (relation, written) = self.assign(moved.ends.clone(), &moved.changes, &shifted(leave)?)?;
        let mut sequence = Relation::new(dd, relation, &written)?;
        for (sort, from, to) in order {
            let (from, to) = (Counter::Class(sort, from), Counter::Class(sort, to));
            let sum = bits::add(dd, &self.value(from, now)?, &self.value(to, now)?)?;
            let targets = BTreeMap::from([(to, sum), (from, bits::constant(dd, 0))]);
            let (relation, written) = self.assign(dd.yes(), &[], &targets)?;
            sequence = sequence.then(dd, relation, &written)?;
        }
        if !arrive.is_empty() {
            let (relation, written) = self.assign(dd.yes(), &[], &shifted(arrive)?)?;
            sequence = sequence.then(dd, relation, &written)?;
        }
        Ok(sequence)
    }

    /// The same move any number of times as one relation, where that is the same as firing it again and again.
    ///
    /// A move that changes nothing but numbers, each by one, can be fired k times if its condition holds at each of the
    /// k states. It does if it holds at the first and at the last of them, provided that it is convex along the way: once
    /// it has failed it does not hold again, which is checked. The number of times is then eliminated: all numbers have
    /// moved by the same amount. The way may be confined to a set, which is then part of the condition.
    fn shortcut(&self, moved: &ClassMove, through: &Bdd) -> DdResult<Option<(Bdd, Vec<Bit>)>> {
        let dd = &self.compiled.dd;
        let moved = &ClassMove { ends: moved.ends.and(through)?, ..moved.clone() };
        let mut deltas = Self::deltas(moved);
        let Some(numbers) = self.number_deltas(moved)? else { return Ok(None) };
        deltas.extend(numbers);
        let falling = deltas.iter().find(|(_, delta)| **delta < 0).map(|(counter, _)| *counter);
        let (Some(falling), true) = (falling, moved.transfers.is_empty()) else { return Ok(None) };
        if deltas.values().any(|delta| delta.abs() != 1) {
            return Ok(None);
        }
        // The condition one step before the end, and one step on.
        let (mut before_end, mut on) = (Vec::new(), Vec::new());
        for (counter, delta) in &deltas {
            let ahead = bits::add(dd, &self.value(*counter, now)?, &bits::constant(dd, *delta))?;
            let behind = bits::sub(dd, &self.value(*counter, next)?, &bits::constant(dd, *delta))?;
            for (at, bit) in self.bits_of(*counter).iter().enumerate() {
                on.push((now(*bit), ahead[at.min(ahead.len() - 1)].clone()));
                before_end.push((now(*bit), behind[at.min(behind.len() - 1)].clone()));
            }
        }
        // Any number of times, whatever the condition says: no number wraps around, and all move by the same amount.
        let (here, there) = (self.value(falling, now)?, self.value(falling, next)?);
        let mut any = bits::less(dd, &there, &here)?;
        for (counter, delta) in deltas.iter().filter(|(counter, _)| **counter != falling) {
            let (now_value, next_value) = (self.value(*counter, now)?, self.value(*counter, next)?);
            let (left, right) = match *delta > 0 {
                true => (bits::add(dd, &here, &now_value)?, bits::add(dd, &there, &next_value)?),
                false => (bits::add(dd, &here, &next_value)?, bits::add(dd, &there, &now_value)?),
            };
            any = any.and(&bits::equal(dd, &left, &right)?)?;
        }
        let mut written: Vec<Bit> = deltas.keys().flat_map(|it| self.bits_of(*it).to_vec()).collect();
        written.sort_unstable();
        // Convex: from the last state where it holds, no state where it holds can be reached again.
        let last = moved.ends.minus(&moved.ends.rename(&Renaming::new(on))?)?;
        let (single, single_written) = self.relation(&ClassMove { ends: last, ..moved.clone() })?;
        let beyond = Relation::new(dd, single, &single_written)?.image(&dd.yes())?;
        let again = Relation::new(dd, any.clone(), &written)?.image(&beyond)?;
        if again.meets(&moved.ends)? {
            return Ok(None);
        }
        let at_the_end = moved.ends.rename(&Renaming::new(before_end))?;
        Ok(Some((any.and(&moved.ends)?.and(&at_the_end)?, written)))
    }

    /// By how much a move changes variables with numbers; nothing if it changes anything in another way.
    fn number_deltas(&self, moved: &ClassMove) -> DdResult<Option<BTreeMap<Counter, i64>>> {
        let dd = &self.compiled.dd;
        let mut deltas = BTreeMap::new();
        let mut explained = 0;
        for (at, cell) in self.compiled.layout.cells.iter().enumerate() {
            let changed = |bit: &Bit| moved.changes.iter().find(|(it, _)| it == bit);
            let here = cell.bits.iter().filter(|bit| changed(bit).is_some()).count();
            if here == 0 {
                continue;
            }
            if !layout::is_number(self.compiled.model, cell) {
                return Ok(None);
            }
            explained += here;
            let mut found = None;
            for delta in [1, -1] {
                let expected =
                    bits::add(dd, &self.value(Counter::Cell(at), now)?, &bits::constant(dd, delta))?;
                let mut same = true;
                for (position, bit) in cell.bits.iter().enumerate() {
                    let becomes = match changed(bit) {
                        Some((_, digit)) => digit.clone(),
                        None => dd.var(now(*bit))?,
                    };
                    let wanted = &expected[position.min(expected.len() - 1)];
                    same &= !becomes.xor(wanted)?.meets(&moved.ends)?;
                }
                if same {
                    found = Some(delta);
                }
            }
            match found {
                Some(delta) => drop(deltas.insert(Counter::Cell(at), delta)),
                None => return Ok(None),
            }
        }
        Ok((explained == moved.changes.len()).then_some(deltas))
    }
}

/// Transfers in an order in which a class has gone before another comes to it; nothing if they go in a circle.
fn order(transfers: &[(SortId, usize, usize)]) -> Option<Vec<(SortId, usize, usize)>> {
    let mut left = transfers.to_vec();
    let mut ordered = Vec::new();
    while !left.is_empty() {
        // What goes to a class that does not go any more itself: what is there is not taken along.
        let at = left
            .iter()
            .position(|(sort, _, to)| !left.iter().any(|(other, from, _)| other == sort && from == to))?;
        ordered.push(left.remove(at));
    }
    Some(ordered)
}
