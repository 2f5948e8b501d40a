//! The graph of one element, and the bounds carried backwards through it.

use shoal_dbm::ClockBounds;
use shoal_model::{Type, TypedId};

use super::{
    ME, MOST_NODES, OTHER,
    element::{ElementEvent, ElementGraph, NodeAtom},
};
use crate::state::NOBODY;
use std::collections::HashMap;

impl ElementGraph<'_, '_> {
    /// Follows all ways from the starts, then carries bounds backwards. Nothing if there are too many nodes.
    pub(super) fn solve(&self, starts: Vec<Vec<i64>>) -> Option<HashMap<Vec<i64>, Vec<ClockBounds>>> {
        let mut index: HashMap<Vec<i64>, usize> = HashMap::new();
        let mut nodes = Vec::new();
        for node in starts {
            index.insert(node.clone(), nodes.len());
            nodes.push(node);
        }
        let mut edges: Vec<Vec<(usize, usize)>> = Vec::new();
        while edges.len() < nodes.len() {
            let node = nodes[edges.len()].clone();
            let mut leaving = Vec::new();
            for (number, way) in self.ways.iter().enumerate() {
                for next in self.next(&node, way)? {
                    let to = *index.entry(next.clone()).or_insert_with(|| {
                        nodes.push(next);
                        nodes.len() - 1
                    });
                    leaving.push((number, to));
                }
            }
            edges.push(leaving);
            if nodes.len() > MOST_NODES {
                return None;
            }
        }
        let mut limits: Vec<Vec<ClockBounds>> = nodes
            .iter()
            .map(|node| {
                let mut limits = self.always.clone();
                let held = self.held.iter().filter(|way| allows(node, &way.when));
                held.for_each(|way| join(&mut limits, &way.reads, &[]));
                limits
            })
            .collect();
        loop {
            let mut changed = false;
            for node in 0..nodes.len() {
                let mut now = limits[node].clone();
                for (way, to) in &edges[node] {
                    join(&mut now, &self.ways[*way].reads, &[]);
                    join(&mut now, &limits[*to], &self.ways[*way].resets);
                }
                if now != limits[node] {
                    limits[node] = now;
                    changed = true;
                }
            }
            if !changed {
                return Some(nodes.into_iter().zip(limits).collect());
            }
        }
    }

    /// The nodes a way leads to. Nothing if there are too many.
    pub(super) fn next(&self, node: &[i64], way: &ElementEvent) -> Option<Vec<Vec<i64>>> {
        if !allows(node, &way.when) {
            return Some(Vec::new());
        }
        let mut found = vec![node.to_vec()];
        for (at, value) in &way.sets {
            let values = match value {
                Some(value) => vec![*value],
                None => self.domain(*at)?,
            };
            let mut next: Vec<Vec<i64>> = if way.perhaps { found.clone() } else { Vec::new() };
            for before in &found {
                for value in &values {
                    let mut after = before.clone();
                    after[*at] = *value;
                    if !next.contains(&after) {
                        next.push(after);
                    }
                }
            }
            found = next;
            if found.len() > MOST_NODES {
                return None;
            }
        }
        Some(found)
    }

    /// All values of an entry of a node. Nothing if there are too many.
    pub(super) fn domain(&self, at: usize) -> Option<Vec<i64>> {
        if at >= self.cells {
            return Some(vec![NOBODY, ME, OTHER]);
        }
        let ty = self.reader.layout.local_types[self.sort.index()][at + 1];
        match self.reader.model.kind(ty) {
            Type::Bool => Some(vec![0, 1]),
            Type::Int { lo, hi } if hi - lo < 64 => Some((*lo..=*hi).collect()),
            Type::Enum { variants } => Some((0..variants.len() as i64).collect()),
            _ => None,
        }
    }
}

pub(super) fn allows(node: &[i64], when: &[NodeAtom]) -> bool {
    when.iter().all(|atom| (node[atom.at] == atom.value) == atom.equal)
}

pub(super) fn join(limits: &mut [ClockBounds], others: &[ClockBounds], reset: &[bool]) {
    for (at, (limit, other)) in limits.iter_mut().zip(others).enumerate() {
        if !reset.get(at).copied().unwrap_or(false) {
            *limit = limit.join(*other);
        }
    }
}
