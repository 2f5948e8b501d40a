//! Loops with few rounds, one round after the other.
//!
//! Most loops run through a small sort or a small range: the instances of a rule, a quantifier, a `for`. In code that is
//! made for one round the index is known, so it is known which cell of the state is meant and where it stands in the
//! packed form, and nothing need be found out when the code runs. An instruction then stands for itself in one round of
//! each loop around it. Where code is entered in the middle, after a fault, all loops run as they are. Only code that
//! works on packed states is unrolled: other code would hardly be faster.

use std::{cell::Cell, collections::BTreeMap};

use super::flow::{CallChain, Flow, FlowNode};
use crate::code::{Op, Pc, Program};

/// Loops with more rounds than this stay loops; in code that can have none, with more than that.
const MOST_ROUNDS: i64 = 8;
const MOST_ROUNDS_AT_ALL: i64 = 20;
/// A unit that would have more instructions than this is not unrolled.
pub(super) const MOST_NODES: usize = 2000;
/// Nothing is unrolled any more once there are as many instructions: they are translated before a search begins.
const ENOUGH: usize = 6000;

/// The loops of a program that may be unrolled.
pub(super) struct Loops {
    /// By the instruction that sets the counter: the one that counts up.
    ends: BTreeMap<Pc, Pc>,
    /// How many instructions may still come of it.
    left: Cell<usize>,
}

impl Loops {
    /// No loops.
    pub(super) fn none() -> Loops {
        Loops { ends: BTreeMap::new(), left: Cell::new(0) }
    }

    pub(super) fn new(program: &Program) -> Loops {
        Loops::up_to(program, MOST_ROUNDS)
    }

    /// For code that can have no loops.
    pub(super) fn all(program: &Program) -> Loops {
        Loops::up_to(program, MOST_ROUNDS_AT_ALL)
    }

    fn up_to(program: &Program, rounds: i64) -> Loops {
        let ends = (0..).zip(&program.ops).filter_map(|(pc, op)| {
            let Op::Next { counter, last, to } = *op else { return None };
            let before = to.checked_sub(1)?;
            match program.ops[before as usize] {
                Op::Const { dst, value } if dst == counter && i64::from(last) - value < rounds => {
                    Some((before, pc))
                }
                _ => None,
            }
        });
        Loops { ends: ends.collect(), left: Cell::new(ENOUGH) }
    }

    /// Whether anything is to be unrolled.
    pub(super) fn any(&self) -> bool {
        self.left.get() > 0 && !self.ends.is_empty()
    }

    /// So many instructions have come of a unit.
    pub(super) fn spend(&self, instructions: usize) {
        self.left.set(self.left.get().saturating_sub(instructions));
    }
}

/// A round of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Count {
    /// How many calls the loop is inside.
    depth: usize,
    register: usize,
    /// Where the loop is.
    from: Pc,
    to: Pc,
    value: i64,
}

impl Flow<'_> {
    /// The chain where the loop that begins after an instruction, if one does, is in its first round.
    pub(super) fn first_round(&mut self, at: usize) -> usize {
        let FlowNode { pc, op, chain, .. } = self.nodes[at];
        let (Some(loops), Op::Const { dst, value }) = (self.loops, op) else { return chain };
        let Some(to) = loops.ends.get(&pc) else { return chain };
        let CallChain { ref returns, base, ref counts, .. } = self.chains[chain];
        let (depth, register) = (returns.len(), base as usize + dst as usize);
        let others = counts.iter().filter(|count| count.register != register).copied();
        let count = Count { depth, register, from: pc + 1, to: *to, value };
        let counts = others.chain([count]).collect();
        self.variant(chain, counts)
    }

    /// The instruction after one that counts up, if it is known which.
    pub(super) fn next_round(&mut self, at: usize) -> Option<usize> {
        let FlowNode { pc, op: Op::Next { counter, last, to }, chain, .. } = self.nodes[at] else {
            return None;
        };
        let register = self.register(&self.nodes[at], counter);
        let mut counts = self.chains[chain].counts.clone();
        let count = counts.iter_mut().find(|count| count.register == register && count.to == pc)?;
        if count.value >= i64::from(last) {
            return Some(self.enter(chain, pc + 1));
        }
        count.value += 1;
        let chain = self.variant(chain, counts);
        Some(self.enter(chain, to))
    }

    /// What a counter counts up to, if it is known.
    pub(super) fn counted(&self, node: &FlowNode) -> Option<i64> {
        let Op::Next { counter, last, .. } = node.op else { return None };
        let register = self.register(node, counter);
        let counts = &self.chains[node.chain].counts;
        let count = counts.iter().find(|count| count.register == register && count.to == node.pc)?;
        Some((count.value + 1).min(i64::from(last)))
    }

    /// An instruction that is reached in a chain: loops that it is not in are over.
    pub(super) fn enter(&mut self, chain: usize, pc: Pc) -> usize {
        let CallChain { returns, counts, .. } = &self.chains[chain];
        let depth = returns.len();
        // A body belongs to an instance.
        let body = self.rule.map_or(Pc::MAX, |rule| rule.body);
        let lasts = |count: &Count| {
            count.depth < depth
                || (count.from..=count.to).contains(&pc)
                || (depth == 0 && count.from < body && body <= pc)
        };
        if counts.iter().all(lasts) {
            return self.node(chain, pc);
        }
        let counts = counts.iter().copied().filter(lasts).collect();
        let chain = self.variant(chain, counts);
        self.node(chain, pc)
    }

    /// The same calls in these rounds.
    fn variant(&mut self, chain: usize, counts: Vec<Count>) -> usize {
        let plain = self.chains[chain].plain;
        if self.chains[plain].counts == counts {
            return plain;
        }
        let chains = &mut self.chains;
        *self.variants.entry((plain, counts)).or_insert_with_key(|(plain, counts)| {
            let mut variant = chains[*plain].clone();
            variant.counts.clone_from(counts);
            chains.push(variant);
            chains.len() - 1
        })
    }

    /// What is known of registers before each instruction, by going forwards until nothing changes.
    pub(super) fn find_known(&mut self) {
        let mut known: Vec<Option<Vec<(u32, i64)>>> = vec![None; self.nodes.len()];
        let mut work = Vec::new();
        for root in self.roots.iter().chain(&self.body).chain(&self.after) {
            known[*root] = Some(Vec::new());
            work.push(*root);
        }
        while let Some(at) = work.pop() {
            let node = &self.nodes[at];
            let after = self.known_after(node, known[at].as_deref().unwrap_or_default());
            for next in node.next.into_iter().chain(node.jump) {
                let live = after.iter().filter(|(register, _)| self.is_live(next, *register as usize));
                let changed = match &mut known[next] {
                    Some(before) => {
                        let length = before.len();
                        before.retain(|fact| after.contains(fact));
                        before.len() < length
                    }
                    before => {
                        *before = Some(live.copied().collect());
                        true
                    }
                };
                if changed {
                    work.push(next);
                }
            }
        }
        self.known = known.into_iter().map(Option::unwrap_or_default).collect();
    }

    fn known_after(&self, node: &FlowNode, before: &[(u32, i64)]) -> Vec<(u32, i64)> {
        let get = |reg: u16| {
            let register = self.register(node, reg) as u32;
            before.iter().find(|(known, _)| *known == register).map(|(_, value)| *value)
        };
        let value = match node.op {
            Op::Const { dst, value } => Some((dst, Some(value))),
            Op::Move { dst, src } => Some((dst, get(src))),
            Op::Offset { dst, src, add } => Some((dst, get(src).map(|value| value.wrapping_add(add)))),
            Op::Index { dst, src, range } => Some((dst, get(src).and_then(|value| self.index(value, range)))),
            Op::Next { counter, .. } => Some((counter, self.counted(node))),
            _ => None,
        };
        let written: Vec<u32> =
            self.operands(node).defs.iter().map(|reg| self.register(node, *reg) as u32).collect();
        let mut after: Vec<_> =
            before.iter().filter(|(known, _)| !written.contains(known)).copied().collect();
        if let Some((dst, Some(value))) = value {
            let register = self.register(node, dst);
            if self.values[register].is_some() {
                after.push((register as u32, value));
            }
        }
        after
    }

    /// The position of a number in a range, if it is in it.
    pub(super) fn index(&self, value: i64, range: u32) -> Option<i64> {
        let range = &self.program.ranges[range as usize];
        (range.lo <= value && value <= range.hi).then(|| value.wrapping_sub(range.lo))
    }

    /// The value of a register before an instruction, if it is known.
    pub(super) fn known(&self, node: &FlowNode, reg: u16) -> Option<i64> {
        let register = self.register(node, reg) as u32;
        let known = self.known.get(node.at)?;
        known.iter().find(|(known, _)| *known == register).map(|(_, value)| *value)
    }
}
