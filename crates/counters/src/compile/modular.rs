//! Where an element can be in a local state: thread-modular local reachability.
//!
//! For each class the values are kept that plain variables can have while an element is in it. A step that the class
//! takes part in is looked at with those values only, and so leads to fewer local states than if nothing were known of
//! the rest. The values change by the element's own steps and by those of others, which take place beside it: an
//! invariant of the pairs of plain variables and one local state (Flanagan and Qadeer's thread-modular model checking),
//! and so of every state that is reached. Two elements at once are not looked at, so there can be more of these pairs
//! than are reached; that costs counters, and no exactness.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use shoal_model::OrInternal;
use shoal_symbolic::{
    bits,
    dd::{Bdd, Dd, DdResult, DdVar, FlatDiagram},
    layout::{self, Bit, BitLayout},
    system::{Relation, function, written},
};

use super::{ClassMove, CountedLocals, CounterStarts, SortClass, compiler::CounterCompiler};

/// For each class, the values of plain variables with which an element can be in it.
pub(super) type ClassValues = Rc<BTreeMap<SortClass, Bdd>>;

/// The same, on its way from one home of diagrams to another. A bit is known by its cell and its place there.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PackedValues {
    sets: BTreeMap<SortClass, FlatDiagram>,
    bits: BTreeMap<DdVar, (usize, usize)>,
}

impl PackedValues {
    fn new(layout: &BitLayout, known: &BTreeMap<SortClass, Bdd>) -> PackedValues {
        let mut bits = BTreeMap::new();
        for (at, cell) in layout.cells.iter().enumerate() {
            bits.extend(cell.bits.iter().enumerate().map(|(place, bit)| (layout::now(*bit), (at, place))));
        }
        PackedValues { sets: known.iter().map(|(class, set)| (*class, set.flat())).collect(), bits }
    }

    /// The same, with other numbers for some classes.
    pub(super) fn renumbered(self, numbers: &BTreeMap<SortClass, SortClass>) -> PackedValues {
        let number = |class: SortClass| numbers.get(&class).copied().unwrap_or(class);
        PackedValues {
            sets: self.sets.into_iter().map(|(class, set)| (number(class), set)).collect(),
            ..self
        }
    }

    pub(super) fn unpack(&self, dd: &Dd, layout: &BitLayout) -> DdResult<BTreeMap<SortClass, Bdd>> {
        let var = |var: DdVar| {
            let (at, place) = self.bits.get(&var).copied().or_internal("a packed set is about bits of cells");
            layout::now(layout.cells[at].bits[place])
        };
        // A cell that can be undefined now, and could not be before, may have got a bit more.
        let known: BTreeSet<&(usize, usize)> = self.bits.values().collect();
        let mut fresh = Vec::new();
        for (at, cell) in layout.cells.iter().enumerate() {
            let new = cell.bits.iter().enumerate().filter(|(place, _)| !known.contains(&(at, *place)));
            fresh.extend(new.map(|(_, bit)| (layout::now(*bit), false)));
        }
        let fresh = dd.minterm(&fresh)?;
        self.sets.iter().map(|(class, set)| Ok((*class, set.unfold(dd, &var)?.and(&fresh)?))).collect()
    }
}

/// What moves do that hold the same elements and write the same bits, and the classes that it is not the same for.
type Others = BTreeMap<(Vec<usize>, Vec<Bit>), (Bdd, BTreeSet<SortClass>)>;

/// What others do to plain variables while an element stays where it is, or is taken along.
struct OthersEffect {
    from: SortClass,
    to: SortClass,
    step: Rc<Relation>,
}

impl CounterCompiler<'_, '_> {
    /// Takes what was known before, or what the starts tell.
    pub(super) fn know(&mut self, starts: &CounterStarts, before: Option<&PackedValues>) -> DdResult<()> {
        let known = match before {
            Some(before) => before.unpack(&self.dd, &self.layout)?,
            None => self.know_starts(starts)?,
        };
        self.known = Some(Rc::new(known));
        Ok(())
    }

    fn know_starts(&self, starts: &CounterStarts) -> DdResult<BTreeMap<SortClass, Bdd>> {
        let mut known = BTreeMap::new();
        for start in &starts.all {
            let mut literals = Vec::new();
            for (cell, value) in self.layout.cells.iter().zip(&start.cells) {
                literals.extend(self.layout.literals(self.model, cell, value));
            }
            let here = self.dd.minterm(&literals)?;
            for class in start.counts.iter().filter(|(_, count)| **count > 0).map(|(class, _)| class) {
                learn(&mut known, *class, &here)?;
            }
        }
        Ok(known)
    }

    /// What is known after this round, if that is more than was known before it.
    pub(super) fn know_more(&self) -> DdResult<Option<PackedValues>> {
        let Some(known) = &self.known else { return Ok(None) };
        let mut more = BTreeMap::clone(known);
        let mut beside = Vec::new();
        let mut others: Others = BTreeMap::new();
        let counters = self.counters()?;
        for moved in &self.moves {
            let whole = function(&self.dd, moved.ends.clone(), &moved.changes)?;
            let mut apart: BTreeSet<SortClass> = self.looked_at(&whole).into_iter().collect();
            apart.extend(moved.transfers.iter().map(|(sort, from, _)| (*sort, *from)));
            let written = written(&moved.changes);
            let effect = whole.exists(&counters)?;
            let after = Relation::new(&self.dd, effect.clone(), &written)?.image(&self.dd.yes())?;
            for role in &moved.roles {
                learn(&mut more, (role.sort, role.to), &after)?;
            }
            for class in &apart {
                beside.extend(self.alone(moved, *class, &whole, &counters, &written)?);
            }
            if !written.is_empty() {
                let key = (moved.holders.clone(), written);
                let entry = others.entry(key).or_insert_with(|| (self.dd.no(), apart.clone()));
                // What a class is left out of by one move, it is not by another.
                entry.0 = entry.0.or(&effect)?;
                entry.1 = entry.1.intersection(&apart).copied().collect();
            }
        }
        for ((holders, written), (effect, apart)) in others {
            let step = Rc::new(Relation::new(&self.dd, effect, &written)?);
            for class in self.all_classes().filter(|it| !apart.contains(it) && !self.is_held(*it, &holders)) {
                beside.push(OthersEffect { from: class, to: class, step: Rc::clone(&step) });
            }
        }
        spread(&mut more, &beside)?;
        Ok((more != **known).then(|| PackedValues::new(&self.layout, &more)))
    }

    /// The classes whose counters a set depends on.
    fn looked_at(&self, set: &Bdd) -> Vec<SortClass> {
        let support: BTreeSet<DdVar> = set.support().into_iter().collect();
        let depends = |(sort, class): &SortClass| {
            self.locals[sort].bits[*class].iter().any(|bit| support.contains(&layout::now(*bit)))
        };
        self.all_classes().filter(depends).collect()
    }

    /// What a move does while another element is in a class whose counter it looks at, or that it moves.
    fn alone(
        &self,
        moved: &ClassMove,
        class: SortClass,
        whole: &Bdd,
        counters: &Bdd,
        written: &[Bit],
    ) -> DdResult<Option<OthersEffect>> {
        let Some(there) = self.beside(moved, class)?.filter(|_| !self.is_held(class, &moved.holders)) else {
            return Ok(None);
        };
        let target = moved.transfers.iter().find(|(sort, from, _)| (*sort, *from) == class);
        let to = target.map_or(class, |(sort, _, to)| (*sort, *to));
        let effect = whole.and_exists(&there, counters)?;
        if effect.is_false() || to == class && written.is_empty() {
            return Ok(None);
        }
        let step = Rc::new(Relation::new(&self.dd, effect, written)?);
        Ok(Some(OthersEffect { from: class, to, step }))
    }

    /// Where a class has an element beside the roles of a move.
    pub(super) fn beside(&self, moved: &ClassMove, class: SortClass) -> DdResult<Option<Bdd>> {
        let roles = moved.roles.iter().filter(|role| (role.sort, role.from) == class).count();
        let Some((_, count)) = self.base.counted[&class.0].class(class.1) else { return Ok(None) };
        bits::less(&self.dd, &bits::constant(&self.dd, roles as i64), count).map(Some)
    }

    /// Whether the element of a class is one that such a variable holds, and so has a role.
    pub(super) fn is_held(&self, (sort, class): SortClass, holders: &[usize]) -> bool {
        let state = &self.locals[&sort].states[class];
        let on = |at: &usize| {
            self.holders[*at].sort() == sort && self.holders[*at].is_on(self.marks[&sort], state)
        };
        holders.iter().any(on)
    }

    /// All classes that have a counter in this round.
    fn all_classes(&self) -> impl Iterator<Item = SortClass> {
        self.classes.iter().flat_map(|(sort, count)| (0..*count).map(move |class| (*sort, class)))
    }

    /// All counters, to be forgotten.
    fn counters(&self) -> DdResult<Bdd> {
        let bits = self.locals.values().flat_map(|one: &CountedLocals| one.bits.iter().flatten());
        self.dd.cube(&bits.map(|bit| layout::now(*bit)).collect::<Vec<_>>())
    }
}

fn learn(known: &mut BTreeMap<SortClass, Bdd>, class: SortClass, more: &Bdd) -> DdResult<()> {
    let all = match known.get(&class) {
        Some(set) => set.or(more)?,
        None => more.clone(),
    };
    known.insert(class, all);
    Ok(())
}

/// Lets everything that others do happen again and again.
fn spread(known: &mut BTreeMap<SortClass, Bdd>, beside: &[OthersEffect]) -> DdResult<()> {
    loop {
        let before = known.clone();
        for OthersEffect { from, to, step } in beside {
            let Some(here) = known.get(from) else { continue };
            let after = step.image(here)?;
            if !after.is_false() {
                learn(known, *to, &after)?;
            }
        }
        if *known == before {
            return Ok(());
        }
    }
}
