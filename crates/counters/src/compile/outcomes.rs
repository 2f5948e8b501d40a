//! What comes of a run: from which local state to which roles and classes go.

use std::collections::BTreeMap;

use shoal_model::{SortId, Value};
use shoal_symbolic::{
    bits,
    dd::{Bdd, DdResult},
    layout,
    machine::SymbolicMachine,
};

use super::{ClassMove, LocalState, Role, casts::RoleInstance, compiler::CounterCompiler};

/// Where something comes of a run, what becomes of its roles, and which classes go where.
pub(super) type RunCase = (Bdd, Vec<Role>, Vec<(SortId, usize, usize)>);

impl<'m> CounterCompiler<'m, '_> {
    /// Where a move makes a difference.
    pub(super) fn moves_something(&self, moved: &ClassMove) -> DdResult<Bdd> {
        // Even if others take their places: the state of the model is another one.
        if moved.roles.iter().any(|role| role.from != role.to) {
            return Ok(moved.ends.clone());
        }
        let mut differs = self.dd.no();
        for (bit, digit) in &moved.changes {
            differs = differs.or(&self.dd.var(layout::now(*bit))?.xor(digit)?)?;
        }
        for (sort, from, _) in &moved.transfers {
            // A class that moves has elements left beside the roles.
            let roles = moved.roles.iter().filter(|role| role.sort == *sort && role.from == *from).count();
            let Some((_, count)) = self.base.counted[sort].class(*from) else { continue };
            differs = differs.or(&bits::less(&self.dd, &bits::constant(&self.dd, roles as i64), count)?)?;
        }
        differs.and(&moved.ends)
    }

    /// What becomes of the roles and of the classes, case by case.
    pub(super) fn outcomes(
        &mut self,
        after: &SymbolicMachine<'m>,
        cast: &RoleInstance<'m>,
        ends: &Bdd,
    ) -> DdResult<Vec<RunCase>> {
        let mut outcomes = vec![(ends.clone(), Vec::new(), Vec::new())];
        for (sort, from, id) in &cast.roles {
            let mut next = Vec::new();
            for (place, roles, transfers) in outcomes {
                for (place, to) in self.classes_of(after, (*sort, *from), *id, &place, &cast.holders)? {
                    let mut roles: Vec<Role> = roles.clone();
                    roles.push(Role { sort: *sort, from: *from, to });
                    next.push((place, roles, transfers.clone()));
                }
            }
            outcomes = next;
        }
        for (sort, classes) in self.classes.clone() {
            for class in 0..classes {
                let Some((id, count)) = after.counted[&sort].class(class) else { continue };
                // Who is held has a role, and nobody else has the mark.
                if self.is_held((sort, class), &cast.holders) {
                    continue;
                }
                let state = after.local_state(sort, id);
                let known: Option<LocalState> = state.iter().map(|scalar| scalar.known()).collect();
                let before = &self.locals[&sort].states[class];
                if known.as_deref() == before.get(..before.len() - self.marks[&sort]) {
                    continue;
                }
                let mut next = Vec::new();
                let there = self.remains((sort, class), cast, count)?;
                for (place, roles, transfers) in outcomes {
                    let mut targets = self.classes_of(after, (sort, class), id, &place.and(&there)?, &[])?;
                    // Where nobody is in the class it does not matter where it goes.
                    match targets.first_mut() {
                        Some((first, _)) => *first = first.or(&place.minus(&there)?)?,
                        None => targets.push((place, class)),
                    }
                    for (place, to) in targets {
                        let mut transfers: Vec<(SortId, usize, usize)> = transfers.clone();
                        if to != class {
                            transfers.push((sort, class, to));
                        }
                        next.push((place, roles.clone(), transfers));
                    }
                }
                outcomes = next;
            }
        }
        Ok(outcomes)
    }

    /// Where a class can have elements beside the roles, as far as that is known.
    fn remains(
        &self,
        class: (SortId, usize),
        cast: &RoleInstance<'m>,
        count: &bits::BitVector,
    ) -> DdResult<Bdd> {
        let Some(known) = &self.known else { return Ok(self.dd.yes()) };
        let Some(known) = known.get(&class) else { return Ok(self.dd.no()) };
        let roles = cast.roles.iter().filter(|(sort, from, _)| (*sort, *from) == class).count();
        bits::less(&self.dd, &bits::constant(&self.dd, roles as i64), count)?.and(known)
    }

    /// The classes that a member can be in after a run, and where each of them.
    fn classes_of(
        &mut self,
        after: &SymbolicMachine<'m>,
        (sort, from): (SortId, usize),
        id: u32,
        within: &Bdd,
        holders: &[usize],
    ) -> DdResult<Vec<(Bdd, usize)>> {
        let mut found = vec![(within.clone(), Vec::new())];
        for scalar in after.local_state(sort, id) {
            if let Some(value) = scalar.known() {
                found.iter_mut().for_each(|(_, state)| state.push(value.clone()));
                continue;
            }
            let mut next = Vec::new();
            for (place, state) in found {
                let mut put = |place: Bdd, value: Value| {
                    if !place.is_false() {
                        let mut state: LocalState = state.clone();
                        state.push(value);
                        next.push((place, state));
                    }
                };
                put(place.and(&scalar.undefined)?, Value::Undefined);
                for (value, here) in scalar.cases(&self.dd, &place)? {
                    put(here, value);
                }
            }
            found = next;
        }
        let before = &self.locals[&sort].states[from];
        let marks = before[before.len() - self.marks[&sort]..].to_vec();
        let of_sort = self.holders.iter().enumerate().filter(|(_, holder)| holder.sort() == sort);
        for ((at, holder), mark) in of_sort.zip(marks) {
            // A variable that was not mentioned holds what it held.
            if !holders.contains(&at) {
                found.iter_mut().for_each(|(_, state)| state.push(mark.clone()));
                continue;
            }
            let mut next = Vec::new();
            for (place, state) in found {
                let held = holder.holds(after, id, &place)?;
                for (place, on) in [(held.clone(), true), (place.minus(&held)?, false)] {
                    if !place.is_false() {
                        next.push((place, [state.as_slice(), &[Value::Bool(on)]].concat()));
                    }
                }
            }
            found = next;
        }
        let normalise = self.normalise;
        let Some(locals) = self.locals.get_mut(&sort) else { return Ok(Vec::new()) };
        let mut classes: BTreeMap<usize, Bdd> = BTreeMap::new();
        for (place, state) in found {
            let reduced = normalise(sort, state.clone());
            let other = reduced != state;
            let class = locals.class(reduced);
            self.ambiguous |= other && class == from;
            let place = match classes.get(&class) {
                Some(known) => known.or(&place)?,
                None => place,
            };
            classes.insert(class, place);
        }
        Ok(classes.into_iter().map(|(class, place)| (place, class)).collect())
    }
}
