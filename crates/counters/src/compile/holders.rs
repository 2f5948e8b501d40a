//! Variables that hold an element of a counted sort.
//!
//! Such a variable says that it holds somebody, and a mark in the local state says who: at most one element has it. In an
//! instance of a rule that mentions the variable, the element with the mark is a role like those of the parameters, and
//! the variable holds that role while the code runs. Afterwards the mark is where the variable says.

use std::collections::BTreeMap;

use shoal_model::{
    Model, Rule, SortId, State, Value, VarId, walk_argument, walk_code, walk_domain, walk_expr,
};
use shoal_symbolic::{
    dd::{Bdd, DdHalt, DdResult},
    layout::{BitLayout, LayoutCell, SOMEBODY, find_mut},
    machine::SymbolicMachine,
    value::{SymbolicScalar, SymbolicValue},
    worlds::{CodeWalk, Worlds, mentions},
};

use super::{
    CountedLocals, LocalState,
    casts::{FIRST_ROLE, RoleInstance, play},
};

/// A cell of the state that can hold an element of a counted sort.
#[derive(Clone, Debug)]
pub(crate) struct ElementHolder {
    cell: LayoutCell,
    sort: SortId,
    /// Where the mark is among those of the sort.
    mark: usize,
}

/// More of them would make for too many local states.
const MOST_HOLDERS: usize = 6;

/// All of a layout.
pub(crate) fn holders(layout: &BitLayout) -> DdResult<Vec<ElementHolder>> {
    let mut holders: Vec<ElementHolder> = Vec::new();
    for cell in &layout.cells {
        for value in cell.only.iter().flatten() {
            if let Value::Elem(sort, SOMEBODY) = value {
                let mark = holders.iter().filter(|holder| holder.sort == *sort).count();
                holders.push(ElementHolder { cell: cell.clone(), sort: *sort, mark });
            }
        }
    }
    if holders.len() > MOST_HOLDERS {
        let construct = format!("more than {MOST_HOLDERS} variables that hold an element of a counted sort");
        return Err(DdHalt::Lacks { construct, span: None });
    }
    Ok(holders)
}

/// Those that a rule mentions, by number.
pub(super) fn of_rule(model: &Model, holders: &[ElementHolder], rule: &Rule) -> Vec<usize> {
    let walk: &CodeWalk<'_> = &|visit| {
        rule.params.iter().for_each(|param| walk_domain(&param.domain, visit));
        rule.bindings.iter().for_each(|binding| walk_argument(&binding.to, visit));
        rule.guard.iter().for_each(|guard| walk_expr(guard, visit));
        walk_code(&rule.code, visit);
    };
    let of = |holder: &ElementHolder| mentions(model, &[holder.cell.var], walk);
    holders.iter().enumerate().filter(|(_, holder)| of(holder)).map(|(at, _)| at).collect()
}

/// The marks of an element in a state of the model.
pub(crate) fn marks(holders: &[ElementHolder], state: &State, sort: SortId, element: u32) -> LocalState {
    let held = |holder: &ElementHolder| {
        let whole = &state.values[shoal_model::TypedId::index(holder.cell.var)];
        crate::lift::part(whole, &holder.cell.way) == Some(&Value::Elem(sort, element))
    };
    holders.iter().filter(|holder| holder.sort == sort).map(|holder| Value::Bool(held(holder))).collect()
}

impl ElementHolder {
    pub(super) fn var(&self) -> VarId {
        self.cell.var
    }

    pub(super) fn sort(&self) -> SortId {
        self.sort
    }

    /// Whether an element in a local state has the mark.
    pub(super) fn is_on(&self, holders: usize, state: &LocalState) -> bool {
        state.len().checked_sub(holders).and_then(|cells| state.get(cells + self.mark))
            == Some(&Value::Bool(true))
    }

    /// Where it holds an element, this one or any.
    pub(super) fn holds(&self, machine: &SymbolicMachine<'_>, element: u32, under: &Bdd) -> DdResult<Bdd> {
        let mut found = machine.dd.no();
        let Some(scalar) = self.cell.find(machine) else { return Ok(found) };
        for (value, place) in scalar.cases(&machine.dd, under)? {
            if value == Value::Elem(self.sort, element) {
                found = found.or(&place)?;
            }
        }
        Ok(found)
    }

    fn set(&self, machine: &mut SymbolicMachine<'_>, element: u32) {
        let value = SymbolicScalar::constant(&machine.dd, &Value::Elem(self.sort, element));
        let var = &mut machine.vars[shoal_model::TypedId::index(self.cell.var)];
        if let Some(held) = find_mut(var, &self.cell.way) {
            *held = SymbolicValue::Scalar(value);
        }
    }

    /// Refuses code after which it holds an element that is neither a role nor tracked.
    pub(super) fn check(&self, machine: &SymbolicMachine<'_>, under: &Bdd) -> DdResult<()> {
        let Some(scalar) = self.cell.find(machine) else { return Ok(()) };
        for (value, _) in scalar.cases(&machine.dd, under)? {
            let known = match value {
                Value::Elem(sort, id) if sort == self.sort => {
                    id >= FIRST_ROLE || self.cell.only.iter().flatten().any(|it| *it == value)
                }
                _ => true,
            };
            if !known {
                let construct = "a variable that comes to hold an element which no parameter names".into();
                return Err(DdHalt::Lacks { construct, span: None });
            }
        }
        Ok(())
    }
}

/// The cast with the elements that these variables hold as roles: one for each way to choose their local states.
pub(super) fn lend<'m>(
    cast: RoleInstance<'m>,
    holders: &[ElementHolder],
    marks: &BTreeMap<SortId, usize>,
    locals: &BTreeMap<SortId, CountedLocals>,
) -> DdResult<Vec<RoleInstance<'m>>> {
    let wanted = cast.holders.clone();
    let mut casts = vec![cast];
    for holder in wanted.iter().map(|at| &holders[*at]) {
        let mut next = Vec::new();
        for cast in casts {
            let held = holder.holds(&cast.machine, SOMEBODY, &cast.present)?;
            let free = cast.present.minus(&held)?;
            if !free.is_false() {
                next.push(RoleInstance { present: free, ..cast.clone() });
            }
            if held.is_false() {
                continue;
            }
            let with = RoleInstance { present: held, ..cast };
            let (sort, marks) = (holder.sort, marks[&holder.sort]);
            let is_on = |class: usize| holder.is_on(marks, &locals[&sort].states[class]);
            let known = with.roles.iter().find(|(of, class, _)| *of == sort && is_on(*class));
            if let Some((_, _, id)) = known.copied() {
                let mut with = with;
                holder.set(&mut with.machine, id);
                next.push(with);
                continue;
            }
            let classes = (0..locals[&sort].states.len()).filter(|class| is_on(*class));
            for class in classes {
                if let Some((mut cast, id)) = play(&with, sort, class)? {
                    holder.set(&mut cast.machine, id);
                    next.push(cast);
                }
            }
        }
        casts = next;
    }
    Ok(casts)
}

/// The cases in which conditions are asked.
pub(super) fn worlds<'m>(
    first: &RoleInstance<'m>,
    holders: &[ElementHolder],
    marks: &BTreeMap<SortId, usize>,
    locals: &BTreeMap<SortId, CountedLocals>,
) -> DdResult<Worlds<'m>> {
    let mut vague: Vec<VarId> = holders.iter().map(|holder| holder.cell.var).collect();
    vague.dedup();
    if vague.is_empty() {
        return Ok(Worlds::one(first.machine.clone()));
    }
    let cast = RoleInstance { holders: (0..holders.len()).collect(), ..first.clone() };
    let cases = lend(cast, holders, marks, locals)?;
    let cases = cases.into_iter().map(|cast| (cast.present, cast.machine)).collect();
    Ok(Worlds { base: first.machine.clone(), vague, cases })
}
