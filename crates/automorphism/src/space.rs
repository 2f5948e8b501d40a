//! What a model does once it has begun: the values that each cell can come to have, and the steps that there are then.
//!
//! Most models begin with a row of steps of which there is only one at a time (`init` makes the processes). What happens there
//! tells the parts of a model apart and never comes again, so the states of that row stand for themselves. From its last state on,
//! each cell is given the values that steps can write to it. What is never written is a constant then, and steps that
//! need another value do not exist.

use std::{cell::Cell, collections::BTreeSet};

use shoal_model::{Model, PropertyId, Rule, RuleId, Watch};

use crate::{
    cells::{StateCells, UNDEFINED},
    run::{CellValues, CodePath, Followed, Fuel, PathEnd, RunPiece, follow, instances},
    value::Val,
};

/// A cell with more values than this is not looked at value by value.
const MOST_VALUES: usize = 300;
/// So many steps are taken before it is asked what can happen.
const LONGEST_ROW: usize = 300;
/// Comparing paths is so much cheaper than following them.
const COMPARISONS: u64 = 5;
/// So many ways a step may have.
const MOST_PATHS: usize = 600;
/// So many ways all steps may have together.
const MOST_PATHS_OF_ALL: usize = 40_000;

/// An instance of a rule with choices made: at most one outcome in each state.
pub(crate) struct GuardedTransition {
    pub(crate) rule: RuleId,
    pub(crate) priority: i64,
    pub(crate) paths: Vec<CodePath>,
}

pub(crate) struct CellSpace {
    pub(crate) values: Vec<CellValues>,
    /// The states of the row that comes first.
    pub(crate) before: Vec<Vec<i64>>,
    pub(crate) transitions: Vec<GuardedTransition>,
    /// The conditions of properties.
    pub(crate) conditions: Vec<Vec<CodePath>>,
    /// How much may still be looked at to find permutations.
    pub(crate) effort: Cell<u64>,
}

struct SpaceInstance<'m> {
    rule: RuleId,
    of: &'m Rule,
    args: Vec<i64>,
}

/// Finds out what a model does; says why if that cannot be followed.
pub(crate) fn explore(
    model: &Model,
    cells: &StateCells,
    properties: &[PropertyId],
    watch: &Watch,
    effort: u64,
) -> Result<CellSpace, &'static str> {
    let mut fuel = Fuel { left: effort, paths: MOST_PATHS };
    let nothing = vec![CellValues::Some([UNDEFINED].into()); cells.types.len()];
    let mut all: Vec<SpaceInstance<'_>> = Vec::new();
    for (rule, of) in model.rules.enumerate() {
        let args = instances(model, cells, &nothing, of, &mut fuel)?;
        all.extend(args.into_iter().map(|args| SpaceInstance { rule, of, args }));
    }
    let mut starts: Vec<Vec<i64>> = Vec::new();
    for start in model.starts.iter() {
        for args in instances(model, cells, &nothing, start, &mut fuel)? {
            let piece = RunPiece::Rule(start, &args);
            starts.extend(outcomes(model, cells, &vec![UNDEFINED; cells.types.len()], piece, &mut fuel)?);
        }
    }
    let before = match starts.as_slice() {
        [start] => row(model, cells, start.clone(), &all, &mut fuel, watch)?,
        _ => Vec::new(),
    };
    let (before, first) = match before.split_last() {
        Some((last, before)) => (before.to_vec(), vec![last.clone()]),
        None => (Vec::new(), starts),
    };
    let mut space = CellSpace {
        values: values_in(cells, &first),
        before,
        transitions: Vec::new(),
        conditions: Vec::new(),
        effort: Cell::new(effort.saturating_mul(COMPARISONS)),
    };
    space.grow(model, cells, &all, &mut fuel, watch)?;
    for property in properties {
        for condition in model.properties[*property].kind.conditions() {
            let followed = follow(model, cells, &space.values, RunPiece::Condition(condition), &mut fuel)?;
            space.conditions.push(followed.paths);
        }
    }
    Ok(space)
}

/// What comes of a piece of code in one state.
fn outcomes(
    model: &Model,
    cells: &StateCells,
    state: &[i64],
    piece: RunPiece<'_>,
    fuel: &mut Fuel,
) -> Result<Vec<Vec<i64>>, &'static str> {
    let values: Vec<CellValues> = state.iter().map(|value| CellValues::Some([*value].into())).collect();
    let mut found = Vec::new();
    for path in follow(model, cells, &values, piece, fuel)?.paths {
        if path.end != PathEnd::Goes {
            return Err("a step of the beginning faults");
        }
        let mut after = state.to_vec();
        for (cell, value) in &path.writes {
            let Val::Const(value) = value else { return Err("a step of the beginning is not known") };
            after[*cell as usize] = *value;
        }
        found.push(after);
    }
    Ok(found)
}

/// The states from a start on as long as there is one step only; with the last, where there are several.
fn row(
    model: &Model,
    cells: &StateCells,
    start: Vec<i64>,
    all: &[SpaceInstance<'_>],
    fuel: &mut Fuel,
    watch: &Watch,
) -> Result<Vec<Vec<i64>>, &'static str> {
    let mut states = vec![start];
    while let Some(state) = states.last() {
        if watch.check().is_err() {
            return Err("there was no time");
        }
        let mut next = BTreeSet::new();
        for instance in all {
            let piece = RunPiece::Rule(instance.of, &instance.args);
            match outcomes(model, cells, state, piece, fuel) {
                Ok(found) => next.extend(found),
                // What is there is looked at value by value below.
                Err(_) => return Ok(states),
            }
            if next.len() > 1 {
                return Ok(states);
            }
        }
        match next.pop_first() {
            Some(next) if states.len() < LONGEST_ROW && !states.contains(&next) => states.push(next),
            _ => return Ok(vec![states.swap_remove(0)]),
        }
    }
    Ok(states)
}

/// The values that cells have in some states.
fn values_in(cells: &StateCells, states: &[Vec<i64>]) -> Vec<CellValues> {
    let of_cell = |cell: usize| listed(states.iter().map(|state| state[cell]).collect());
    (0..cells.types.len()).map(of_cell).collect()
}

fn listed(set: BTreeSet<i64>) -> CellValues {
    if set.len() > MOST_VALUES { CellValues::Any } else { CellValues::Some(set.into_iter().collect()) }
}

impl CellSpace {
    /// Follows all steps until no cell gets another value.
    fn grow(
        &mut self,
        model: &Model,
        cells: &StateCells,
        all: &[SpaceInstance<'_>],
        fuel: &mut Fuel,
        watch: &Watch,
    ) -> Result<(), &'static str> {
        let mut found: Vec<Followed> = all.iter().map(|_| Followed::default()).collect();
        let mut waiting: BTreeSet<usize> = (0..all.len()).collect();
        while let Some(at) = waiting.pop_first() {
            if watch.check().is_err() {
                return Err("there was no time");
            }
            let piece = RunPiece::Rule(all[at].of, &all[at].args);
            found[at] = follow(model, cells, &self.values, piece, fuel)?;
            let changed = self.add_written(&found[at].paths);
            if changed.is_empty() {
                continue;
            }
            for (other, followed) in found.iter().enumerate() {
                if followed.reads.iter().any(|cell| changed.contains(cell)) {
                    waiting.insert(other);
                }
            }
        }
        let mut paths = 0;
        for (instance, followed) in all.iter().zip(found) {
            paths += followed.paths.len();
            self.transitions.extend(by_choices(instance, followed.paths));
        }
        if paths > MOST_PATHS_OF_ALL { Err("there are too many ways that steps can go") } else { Ok(()) }
    }

    /// Adds what is written on some paths to what cells can hold. Gives the cells that can hold more now.
    fn add_written(&mut self, paths: &[CodePath]) -> BTreeSet<u32> {
        let mut changed = BTreeSet::new();
        let writes = paths.iter().flat_map(|path| path.writes.iter().map(move |write| (path, write)));
        for (path, (cell, value)) in writes {
            let CellValues::Some(known) = &self.values[*cell as usize] else { continue };
            let new: Vec<i64> = match value {
                Val::Const(value) => vec![*value],
                Val::Of(of, table) => {
                    let given = path.given.get(of);
                    let kept = |(from, _): &&(i64, i64)| given.is_none_or(|given| given.contains(from));
                    table.iter().filter(kept).map(|(_, to)| *to).collect()
                }
                Val::Term(_) => {
                    self.values[*cell as usize] = CellValues::Any;
                    changed.insert(*cell);
                    continue;
                }
            };
            let mut more: BTreeSet<i64> = known.iter().copied().collect();
            more.extend(new);
            if more.len() > known.len() {
                self.values[*cell as usize] = listed(more);
                changed.insert(*cell);
            }
        }
        changed
    }
}

/// The paths of an instance, those with the same choices together.
fn by_choices(instance: &SpaceInstance<'_>, paths: Vec<CodePath>) -> Vec<GuardedTransition> {
    let mut found: Vec<(Vec<i64>, GuardedTransition)> = Vec::new();
    for path in paths {
        match found.iter_mut().find(|(choices, _)| *choices == path.choices) {
            Some((_, transition)) => transition.paths.push(path),
            None => {
                let SpaceInstance { rule, of, .. } = instance;
                let transition =
                    GuardedTransition { rule: *rule, priority: of.priority, paths: vec![path.clone()] };
                found.push((path.choices, transition));
            }
        }
    }
    found.into_iter().map(|(_, transition)| transition).collect()
}
