//! Permutations of like processes: images of nodes, and one canonical image of each.

use std::collections::BTreeMap;

use shoal_dbm::ranks;

use super::{GraphNode, GraphRefusal};
use crate::system::{Conjunction, Dnf, ProcessRule, ProcessSystem, ValueMask};

/// The image of a node: what process `i` had, process `permutation[i]` has.
pub(super) fn image(
    system: &ProcessSystem<'_>,
    timers: &[usize],
    node: &GraphNode,
    permutation: &[usize],
) -> GraphNode {
    let kinship = &system.kinship;
    let mut facts = node.facts.clone();
    for (cell, fact) in node.facts.iter().enumerate() {
        facts[kinship.image_cell(cell, permutation)] = kinship.image_mask(cell, *fact, permutation);
    }
    // Clock `i` of the image is the clock of the process that becomes its owner.
    let mut order: Vec<usize> = (1..=timers.len()).collect();
    for (at, timer) in timers.iter().enumerate() {
        if let Ok(target) = timers.binary_search(&kinship.image_timer(*timer, permutation)) {
            order[target] = at + 1;
        }
    }
    let mut shielded: Vec<usize> =
        node.shielded.iter().map(|timer| kinship.image_timer(*timer, permutation)).collect();
    shielded.sort_unstable();
    GraphNode { facts, zone: node.zone.select(&order), shielded }
}

/// One permutation after another.
pub(super) fn compose(first: &[usize], second: &[usize]) -> Vec<usize> {
    match (first.is_empty(), second.is_empty()) {
        (true, _) => second.to_vec(),
        (_, true) => first.to_vec(),
        _ => first.iter().map(|middle| second[*middle]).collect(),
    }
}

/// The permutation that undoes another.
pub(super) fn inverse(permutation: &[usize]) -> Vec<usize> {
    let mut inverse = permutation.to_vec();
    for (from, to) in permutation.iter().enumerate() {
        inverse[*to] = from;
    }
    inverse
}

/// Which processes may be exchanged.
pub(super) struct Classes {
    /// For each process, its class.
    class: Vec<usize>,
}

impl Classes {
    /// Finds the processes among the members that can be exchanged without changing anybody's rules or invariants.
    pub(super) fn new(system: &ProcessSystem<'_>, members: &[usize]) -> Result<Classes, GraphRefusal> {
        let mut class: Vec<usize> = (0..system.processes.len()).collect();
        let mut why = None;
        for (at, process) in members.iter().enumerate() {
            for other in &members[..at] {
                match differs(system, *process, *other) {
                    None => {
                        class[*process] = class[*other];
                        break;
                    }
                    Some(difference) => {
                        why.get_or_insert(difference);
                    }
                }
            }
        }
        match (why, members.iter().any(|process| class[*process] != *process)) {
            (Some(why), false) => Err(GraphRefusal::NotSymmetric(why)),
            _ => Ok(Classes { class }),
        }
    }
}

/// The exchanges of two like members, which generate all permutations of like ones.
fn swaps(system: &ProcessSystem<'_>, members: &[usize]) -> Vec<Vec<usize>> {
    let Ok(classes) = Classes::new(system, members) else { return Vec::new() };
    let pairs =
        members.iter().enumerate().flat_map(|(at, a)| members[at + 1..].iter().map(move |b| (*a, *b)));
    let like = |pair: &(usize, usize)| classes.class[pair.0] == classes.class[pair.1];
    let swap = |(a, b)| {
        let mut swap: Vec<usize> = (0..system.processes.len()).collect();
        swap.swap(a, b);
        swap
    };
    pairs.filter(like).map(swap).collect()
}

/// Whether a condition stays the same whichever like processes are exchanged.
pub(super) fn is_symmetric(system: &ProcessSystem<'_>, members: &[usize], goal: &Dnf) -> bool {
    let sorted = |mut part: Conjunction| {
        part.cells.sort_unstable();
        part.timers.sort();
        part
    };
    let known: Vec<Conjunction> = goal.iter().cloned().map(sorted).collect();
    let stays = |swap: &Vec<usize>| {
        goal.iter().all(|part| known.contains(&sorted(image_conjunction(system, part, swap))))
    };
    swaps(system, members).iter().all(stays)
}

/// Adds the images of cells and timers under all permutations of like members.
pub(super) fn add_images(
    system: &ProcessSystem<'_>,
    members: &[usize],
    cells: &mut [bool],
    timers: &mut [bool],
) {
    let kinship = &system.kinship;
    let swaps = swaps(system, members);
    let mut more = true;
    while std::mem::take(&mut more) {
        for swap in &swaps {
            for cell in 0..cells.len() {
                more |= cells[cell] && !std::mem::replace(&mut cells[kinship.image_cell(cell, swap)], true);
            }
            for timer in 0..timers.len() {
                more |=
                    timers[timer] && !std::mem::replace(&mut timers[kinship.image_timer(timer, swap)], true);
            }
        }
    }
}

fn image_conjunction(system: &ProcessSystem<'_>, part: &Conjunction, permutation: &[usize]) -> Conjunction {
    let mut part = part.clone();
    for (cell, mask) in &mut part.cells {
        *mask = system.kinship.image_mask(*cell, *mask, permutation);
        *cell = system.kinship.image_cell(*cell, permutation);
    }
    part.cells.sort_unstable();
    let clock =
        |clock: usize| if clock == 0 { 0 } else { system.kinship.image_timer(clock - 1, permutation) + 1 };
    for constraint in &mut part.timers {
        (constraint.left, constraint.right) = (clock(constraint.left), clock(constraint.right));
    }
    part
}

/// Why two processes cannot be exchanged, if they cannot.
fn differs(system: &ProcessSystem<'_>, left: usize, right: usize) -> Option<String> {
    let (a, b) = (&system.processes[left], &system.processes[right]);
    if a.sort != b.sort {
        return Some(format!("{} and {} are of different families", a.name, b.name));
    }
    let mut swap: Vec<usize> = (0..system.processes.len()).collect();
    swap.swap(left, right);
    for (number, process) in system.processes.iter().enumerate() {
        let images: Vec<ProcessRule> =
            process.rules.iter().map(|rule| image_rule(system, rule, &swap)).collect();
        let others = &system.processes[swap[number]].rules;
        let found = |rule: &ProcessRule| others.iter().any(|other| same_rule(rule, other));
        if let Some(rule) = images.iter().find(|rule| !found(rule)) {
            let name = &system.model.rules[rule.rule].name;
            let (a, b, owner) = (&a.name, &b.name, &process.name);
            return Some(format!("exchanging {a} and {b} changes the rule \"{name}\" of {owner}"));
        }
    }
    None
}

fn same_rule(a: &ProcessRule, b: &ProcessRule) -> bool {
    let mut timers = (a.guard.timers.clone(), b.guard.timers.clone());
    timers.0.sort();
    timers.1.sort();
    let sorted = |list: &[(usize, u32)]| {
        let mut list = list.to_vec();
        list.sort_unstable();
        list
    };
    let sorted_resets = |list: &[(usize, i32)]| {
        let mut list = list.to_vec();
        list.sort_unstable();
        list
    };
    a.rule == b.rule
        && a.guard.cells == b.guard.cells
        && timers.0 == timers.1
        && sorted(&a.assigns) == sorted(&b.assigns)
        && sorted_resets(&a.resets) == sorted_resets(&b.resets)
}

fn image_rule(system: &ProcessSystem<'_>, rule: &ProcessRule, permutation: &[usize]) -> ProcessRule {
    let mut rule = rule.clone();
    rule.guard = image_conjunction(system, &rule.guard, permutation);
    for (cell, value) in &mut rule.assigns {
        *value = system.kinship.image_value(*cell, *value, permutation);
        *cell = system.kinship.image_cell(*cell, permutation);
    }
    for (timer, _) in &mut rule.resets {
        *timer = system.kinship.image_timer(*timer, permutation);
    }
    rule
}

/// The move that another becomes. A guard with several disjuncts is several rules, and a permutation may exchange them.
pub(super) fn image_move(
    system: &ProcessSystem<'_>,
    (who, number): (usize, usize),
    permutation: &[usize],
) -> (usize, usize) {
    let (rules, others) = (&system.processes[who].rules, &system.processes[permutation[who]].rules);
    let rule = &rules[number];
    let alone = rules.iter().filter(|other| other.rule == rule.rule).count() == 1;
    let same = || {
        let image = image_rule(system, rule, permutation);
        others.iter().position(|other| same_rule(&image, other))
    };
    (permutation[who], if alone { number } else { same().unwrap_or(number) })
}

/// Finds canonical images.
pub(super) struct GraphCanon<'s, 'm> {
    system: &'s ProcessSystem<'m>,
    timers: Vec<usize>,
    members: Vec<usize>,
    classes: Classes,
    /// For each member, its cells and clocks in the order of kin.
    cells: Vec<Vec<usize>>,
    clocks: Vec<Vec<usize>>,
    /// Cells of nobody.
    shared: Vec<usize>,
}

impl<'s, 'm> GraphCanon<'s, 'm> {
    pub(super) fn new(
        system: &'s ProcessSystem<'m>,
        members: &[usize],
        timers: &[usize],
    ) -> Result<Self, GraphRefusal> {
        let classes = Classes::new(system, members)?;
        let kinship = &system.kinship;
        let cells = members.iter().map(|process| kinship.cells_of(*process).to_vec()).collect();
        let own = |process: usize| {
            let clocks = timers
                .iter()
                .enumerate()
                .filter(move |(_, timer)| kinship.timer_owner(**timer) == Some(process));
            clocks.map(|(at, _)| at + 1).collect()
        };
        let clocks = members.iter().map(|process| own(*process)).collect();
        let is_shared =
            |cell: &usize| kinship.cell_owner(*cell).is_none_or(|process| !members.contains(&process));
        let shared = (0..system.cells.len()).filter(is_shared).collect();
        Ok(GraphCanon {
            system,
            timers: timers.to_vec(),
            members: members.to_vec(),
            classes,
            cells,
            clocks,
            shared,
        })
    }

    /// The canonical image of a node and a permutation that leads to it. A member that is marked keeps its mark: the
    /// images of two nodes with marks are equal only if a permutation takes the one mark to the other.
    pub(super) fn canonical(&self, node: &GraphNode, marked: Option<usize>) -> (GraphNode, Vec<usize>) {
        let mut colours: Vec<Vec<i64>> = Vec::new();
        for (at, process) in self.members.iter().enumerate() {
            let mut colour = vec![self.classes.class[*process] as i64, i64::from(marked == Some(*process))];
            colour.extend(self.unary(node, at));
            colours.push(colour);
        }
        let mut best = None;
        self.search(node, self.refine(node, ranks::ranks(&colours)), &mut best);
        best.unwrap_or_else(|| (node.clone(), (0..self.system.processes.len()).collect()))
    }

    /// What can be said of one member without naming others.
    fn unary(&self, node: &GraphNode, at: usize) -> Vec<i64> {
        let mut colour = Vec::new();
        for cell in &self.cells[at] {
            colour.extend(self.anonymous(*cell, node.facts[*cell]));
        }
        for cell in &self.shared {
            colour.push(i64::from(self.mentions(*cell, node.facts[*cell], at)));
        }
        for clock in &self.clocks[at] {
            colour.push(i64::from(node.shielded.contains(&self.timers[clock - 1])));
            for other in 0..node.zone.dim() {
                // Clocks of nobody, and the constant 0.
                if other == 0
                    || self.system.timers[self.timers[other - 1]].owner.is_none()
                    || self.clocks[at].contains(&other)
                {
                    colour.push(bound(node, *clock, other));
                    colour.push(bound(node, other, *clock));
                }
            }
        }
        colour
    }

    /// A set of values without the members that it mentions, but with how many.
    fn anonymous(&self, cell: usize, mask: ValueMask) -> [i64; 3] {
        let mentioned = (0..self.members.len()).filter(|at| self.mentions(cell, mask, *at));
        let (mut rest, mut count) = (mask, 0);
        for at in mentioned {
            rest &= !self.bit(cell, at);
            count += 1;
        }
        [rest as i64, (rest >> 64) as i64, count]
    }

    /// The value of a cell that is a reference to a member; 0 if it can hold none.
    fn bit(&self, cell: usize, at: usize) -> ValueMask {
        self.system.kinship.value_of(cell, self.members[at]).map_or(0, |value| 1 << value)
    }

    fn mentions(&self, cell: usize, mask: ValueMask, at: usize) -> bool {
        mask & self.bit(cell, at) != 0
    }

    /// What can be said of two members.
    fn binary(&self, node: &GraphNode, left: usize, right: usize) -> Vec<i64> {
        let mut label = Vec::new();
        for a in &self.clocks[left] {
            for b in &self.clocks[right] {
                label.push(bound(node, *a, *b));
                label.push(bound(node, *b, *a));
            }
        }
        for cell in &self.cells[left] {
            label.push(i64::from(self.mentions(*cell, node.facts[*cell], right)));
        }
        for cell in &self.cells[right] {
            label.push(i64::from(self.mentions(*cell, node.facts[*cell], left)));
        }
        label
    }

    /// Tells members apart by what relates them to others, until that tells no more of them apart.
    fn refine(&self, node: &GraphNode, ranks: Vec<usize>) -> Vec<usize> {
        ranks::refine(ranks, |at, other| self.binary(node, at, other))
    }

    /// Tries every way to tell the rest apart, unless they are interchangeable, and keeps the least image.
    fn search(&self, node: &GraphNode, ranks: Vec<usize>, best: &mut Option<(GraphNode, Vec<usize>)>) {
        let mut parts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, rank) in ranks.iter().enumerate() {
            parts.entry(*rank).or_default().push(at);
        }
        let tied = parts
            .values()
            .find(|part| !part.windows(2).all(|pair| self.interchangeable(node, pair[0], pair[1])));
        if let Some(part) = tied {
            for at in part {
                let mut apart: Vec<usize> = ranks.iter().map(|rank| 2 * rank + 1).collect();
                apart[*at] -= 1;
                self.search(node, self.refine(node, apart), best);
            }
            return;
        }
        // The members in the order of their ranks get the numbers of their class in order.
        let mut order: Vec<usize> = (0..ranks.len()).collect();
        order.sort_by_key(|at| (ranks[*at], *at));
        let mut permutation: Vec<usize> = (0..self.system.processes.len()).collect();
        let mut free: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for process in self.members.iter().rev() {
            free.entry(self.classes.class[*process]).or_default().push(*process);
        }
        for at in order {
            let process = self.members[at];
            if let Some(target) = free.get_mut(&self.classes.class[process]).and_then(Vec::pop) {
                permutation[process] = target;
            }
        }
        let found = image(self.system, &self.timers, node, &permutation);
        if best.as_ref().is_none_or(|(known, _)| found < *known) {
            *best = Some((found, permutation));
        }
    }

    /// Whether exchanging two members leaves the node as it is.
    fn interchangeable(&self, node: &GraphNode, left: usize, right: usize) -> bool {
        let mut swap: Vec<usize> = (0..self.system.processes.len()).collect();
        swap.swap(self.members[left], self.members[right]);
        image(self.system, &self.timers, node, &swap) == *node
    }
}

fn bound(node: &GraphNode, i: usize, j: usize) -> i64 {
    node.zone.get(i, j).weakness()
}
