//! The state inequation: weights on places whose sum no transition can raise.
//!
//! If all weights are at least 0, none lies where tokens are unlimited in the beginning, and the target weighs more than the
//! beginning, then the target cannot be covered. Such weights are the solution of a linear program (Farkas' dual of the state
//! inequation). It is solved in floating point; only weights that are then confirmed in whole numbers are used.

use shoal_certificate::{Config, OMEGA, System, Weights};

use crate::meter::{Meter, MeterStop};

/// Confirms weights in whole numbers and finds their bound.
fn confirmed(system: &System, shared: Vec<i64>, places: Vec<i64>) -> Option<Weights> {
    let mut weights = Weights { shared, places, bound: 0 };
    let heaviest = system
        .initial
        .iter()
        .map(|initial| weights.weight(initial))
        .max_by_key(|weight| weight.unwrap_or(i128::MAX));
    weights.bound = i64::try_from(heaviest??).ok()?;
    let fits = system.transitions.iter().all(|transition| {
        let arcs = |arcs: &[(u32, u32)]| -> i128 {
            arcs.iter()
                .map(|(place, count)| i128::from(weights.places[*place as usize]) * i128::from(*count))
                .sum()
        };
        let before = i128::from(weights.shared[transition.from as usize]) + arcs(&transition.take);
        let after = i128::from(weights.shared[transition.to as usize]) + arcs(&transition.give);
        let moves = transition.transfers.iter().all(|transfer| {
            let from = weights.places[transfer.place as usize];
            transfer.targets.iter().all(|to| weights.places[*to as usize] <= from)
        });
        after <= before && moves
    });
    let positive = weights.shared.iter().chain(&weights.places).all(|weight| *weight >= 0);
    (fits && positive).then_some(weights)
}

/// Programs of more entries than this are not solved for the target, or for each requirement of a backward search.
const LARGEST: usize = 2_000_000;
const LARGEST_EACH: usize = 20_000;

/// Finds weights and remembers them.
pub(crate) struct Inequations<'a> {
    system: &'a System,
    rows: Vec<Vec<(usize, f64)>>,
    /// The weights found so far.
    pub(crate) known: Vec<Weights>,
    /// Solved and useful programs since the backward search began: where they do not help, they are left.
    solved: u64,
    useful: u64,
}

impl<'a> Inequations<'a> {
    /// Without `solve`, no program is solved.
    pub(crate) fn new(system: &'a System, solve: bool) -> Inequations<'a> {
        let rows = if solve { rows(system) } else { Vec::new() };
        Inequations { system, rows, known: Vec::new(), solved: 0, useful: 0 }
    }

    /// Whether nothing above a configuration can be reached; solves a program if no known weights tell and it is small.
    pub(crate) fn exclude(&mut self, config: &Config, meter: &mut Meter<'_>) -> Result<bool, MeterStop> {
        if let Some(at) = self.known.iter().position(|weights| weights.exclude(config)) {
            // What helped last is tried first.
            self.known[..=at].rotate_right(1);
            return Ok(true);
        }
        let hopeless = self.solved > 200 && self.useful * 20 < self.solved;
        if hopeless || self.rows.is_empty() || self.entries() > LARGEST_EACH {
            return Ok(false);
        }
        self.solve(config, meter)
    }

    /// Whether weights exclude all of these.
    pub(crate) fn exclude_targets(
        &mut self,
        targets: &[Config],
        meter: &mut Meter<'_>,
    ) -> Result<bool, MeterStop> {
        for target in targets {
            if !self.exclude_target(target, meter)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Solves the program for a target.
    fn exclude_target(&mut self, config: &Config, meter: &mut Meter<'_>) -> Result<bool, MeterStop> {
        let known = self.known.iter().any(|weights| weights.exclude(config));
        let solvable = !self.rows.is_empty() && self.entries() <= LARGEST;
        Ok(known || solvable && self.solve(config, meter)?)
    }

    /// From now on no program is solved: what is known is enough.
    pub(crate) fn rest(&mut self) {
        self.rows.clear();
    }

    fn entries(&self) -> usize {
        self.rows.len() * (self.system.shared + self.system.places) as usize
    }

    fn solve(&mut self, config: &Config, meter: &mut Meter<'_>) -> Result<bool, MeterStop> {
        self.solved += 1;
        let (gain, fixed) = self.goal(config);
        let Some(solution) = maximise(&self.rows, &gain, &fixed, meter)? else { return Ok(false) };
        let Some(weights) = self.weights(config, &solution) else { return Ok(false) };
        self.useful += 1;
        self.known.insert(0, weights);
        Ok(true)
    }

    /// What each weight is good for, and which must be 0.
    fn goal(&self, config: &Config) -> (Vec<f64>, Vec<bool>) {
        let shared = self.system.shared as usize;
        let columns = shared + self.system.places as usize;
        let mut gain = vec![0.0; columns];
        gain[config.shared as usize] += 1.0;
        for (place, count) in &config.tokens {
            gain[shared + *place as usize] += f64::from(*count);
        }
        let mut fixed = vec![false; columns];
        for initial in &self.system.initial {
            for (place, count) in &initial.tokens {
                let column = shared + *place as usize;
                if *count == OMEGA {
                    fixed[column] = true;
                }
            }
        }
        // With several beginnings, the first stands for all: the weights are confirmed for each.
        if let Some(initial) = self.system.initial.first() {
            gain[initial.shared as usize] -= 1.0;
            for (place, count) in initial.tokens.iter().filter(|token| token.1 != OMEGA) {
                gain[shared + *place as usize] -= f64::from(*count);
            }
        }
        (gain, fixed)
    }

    /// The solution in whole numbers, if they exclude the configuration.
    fn weights(&self, config: &Config, solution: &[f64]) -> Option<Weights> {
        let shared = self.system.shared as usize;
        let whole = whole_numbers(solution)?;
        let weights = confirmed(self.system, whole[..shared].to_vec(), whole[shared..].to_vec())?;
        weights.exclude(config).then_some(weights)
    }
}

/// For each transition, what it does to the weights must be at most 0; no row twice.
fn rows(system: &System) -> Vec<Vec<(usize, f64)>> {
    let shared = system.shared as usize;
    let mut rows: Vec<Vec<(usize, i64)>> = Vec::new();
    for transition in &system.transitions {
        let mut row = Vec::new();
        if transition.from != transition.to {
            row.push((transition.from as usize, -1));
            row.push((transition.to as usize, 1));
        }
        let places = transition.take.iter().chain(&transition.give).map(|arc| arc.0);
        let places: std::collections::BTreeSet<u32> = places.collect();
        row.extend(places.iter().map(|place| (shared + *place as usize, transition.effect(*place))));
        row.retain(|entry| entry.1 != 0);
        rows.push(row);
        for transfer in &transition.transfers {
            let from = (shared + transfer.place as usize, -1);
            let moves = transfer.targets.iter().filter(|to| **to != transfer.place);
            rows.extend(moves.map(|to| vec![from, (shared + *to as usize, 1)]));
        }
    }
    rows.iter_mut().for_each(|row| row.sort_unstable());
    rows.sort();
    rows.dedup();
    rows.retain(|row| row.iter().any(|entry| entry.1 > 0));
    rows.into_iter().map(|row| row.into_iter().map(|(at, by)| (at, by as f64)).collect()).collect()
}

/// How many entries of the tableau may be changed: about a quarter of a second's worth.
const MOST_WORK: usize = 300_000_000;

/// Before every round of a program with more entries than this the limits are looked at.
const SMALL: usize = 10_000;

const TINY: f64 = 1e-9;

/// Weights of sum at most 1 that maximise the gain where no row is positive. By the simplex method on a dense tableau with
/// Bland's rule; 0 is a solution to begin with. Nothing if there is no gain.
fn maximise(
    rows: &[Vec<(usize, f64)>],
    gain: &[f64],
    fixed: &[bool],
    meter: &mut Meter<'_>,
) -> Result<Option<Vec<f64>>, MeterStop> {
    let columns: Vec<usize> = (0..gain.len()).filter(|column| !fixed[*column]).collect();
    let at: Vec<usize> = {
        let mut at = vec![usize::MAX; gain.len()];
        columns.iter().enumerate().for_each(|(position, column)| at[*column] = position);
        at
    };
    let width = columns.len() + 1;
    let height = rows.len() + 2;
    if meter.room((width * height * 8) as u64).is_err() {
        return Ok(None);
    }
    let mut tableau = vec![0.0; width * height];
    for (number, row) in rows.iter().enumerate() {
        for (column, by) in row.iter().filter(|(column, _)| !fixed[*column]) {
            tableau[number * width + at[*column]] = *by;
        }
    }
    let (sum, goal) = (rows.len(), rows.len() + 1);
    tableau[sum * width..(sum + 1) * width].fill(1.0);
    for (position, column) in columns.iter().enumerate() {
        tableau[goal * width + position] = -gain[*column];
    }
    // Who stands at a row or column: below `columns.len()` a weight, else the slack of a row.
    let mut column_of: Vec<usize> = (0..columns.len()).collect();
    let mut row_of: Vec<usize> = (0..=rows.len()).map(|row| columns.len() + row).collect();
    // A program that takes too long is given up: it is one way to prove among others.
    let most = (MOST_WORK / (width * height)).min(50 * (width + height));
    for round in 0..most {
        // A round of a small program is as short as a step of a search.
        if width * height < SMALL {
            meter.tick()?
        } else {
            meter.look()?
        }
        // The steepest column first; by Bland's rule after a while, so that it cannot go in circles.
        let candidates = (0..width - 1).filter(|column| tableau[goal * width + column] < -TINY);
        let enter = match round < 5 * (width + height) {
            true => candidates.min_by(|a, b| tableau[goal * width + a].total_cmp(&tableau[goal * width + b])),
            false => candidates.min_by_key(|column| column_of[*column]),
        };
        let Some(enter) = enter else {
            let mut solution = vec![0.0; gain.len()];
            for (row, who) in row_of.iter().enumerate().filter(|(_, who)| **who < columns.len()) {
                solution[columns[*who]] = tableau[row * width + width - 1];
            }
            return Ok((tableau[goal * width + width - 1] > TINY).then_some(solution));
        };
        let leave = (0..=rows.len())
            .filter(|row| tableau[row * width + enter] > TINY)
            .map(|row| (row, tableau[row * width + width - 1] / tableau[row * width + enter]))
            .min_by(|a, b| a.1.total_cmp(&b.1).then(row_of[a.0].cmp(&row_of[b.0])));
        let Some(leave) = leave else { return Ok(None) };
        pivot(&mut tableau, width, height, leave.0, enter);
        std::mem::swap(&mut column_of[enter], &mut row_of[leave.0]);
    }
    Ok(None)
}

/// Exchanges who stands at a row and at a column.
fn pivot(tableau: &mut [f64], width: usize, height: usize, row: usize, column: usize) {
    let factor = 1.0 / tableau[row * width + column];
    for at in 0..width {
        tableau[row * width + at] *= factor;
    }
    tableau[row * width + column] = factor;
    let pivot: Vec<f64> = tableau[row * width..(row + 1) * width].to_vec();
    for other in (0..height).filter(|other| *other != row) {
        let line = &mut tableau[other * width..(other + 1) * width];
        let by = line[column];
        if by.abs() < 1e-12 {
            line[column] = 0.0;
            continue;
        }
        line[column] = 0.0;
        for (cell, pivot) in line.iter_mut().zip(&pivot) {
            *cell -= by * pivot;
        }
    }
}

/// Whole numbers in the same proportions, if they are small.
fn whole_numbers(solution: &[f64]) -> Option<Vec<i64>> {
    let least = solution.iter().copied().filter(|weight| *weight > TINY).min_by(f64::total_cmp)?;
    (1..=5_040).find_map(|factor: i32| {
        let scaled = |weight: &f64| weight / least * f64::from(factor);
        let near = |weight: &f64| (scaled(weight) - scaled(weight).round()).abs() < 1e-6;
        let small = |weight: &f64| scaled(weight).abs() < 1e12;
        let fits = solution.iter().all(|weight| small(weight) && near(weight));
        fits.then(|| solution.iter().map(|weight| scaled(weight).round().max(0.0) as i64).collect())
    })
}
