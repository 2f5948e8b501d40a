//! Runs code on terms: through all instances of a rule at once, or through a condition.
//!
//! Where ways meet, what differs becomes a choice between terms. So a rule without loops becomes a list: under these
//! conditions, there is this successor. Where a check may fail, the list says under which conditions the code is to be left.

use std::collections::BTreeMap;

use super::{
    super::flow::{Flow, FlowNode},
    paths::Paths,
    successor::WordChange,
    terms::{Range, Term, Terms},
};
use crate::code::{self, Op};

/// An index that is not known may have so many values.
const MOST_VALUES: i64 = 16;

/// What happens under some conditions.
pub(super) struct PathOutcome {
    /// They all hold.
    pub(super) when: Vec<Term>,
    pub(super) what: OutcomeKind,
}

pub(super) enum OutcomeKind {
    /// A rule leads to another state: by word.
    Step(usize, Vec<WordChange>),
    /// Something faults, or this code does not know.
    Leave,
    /// A condition has its value.
    Truth(bool),
}

/// What is known before an instruction.
#[derive(Clone, Default)]
struct KnownState {
    /// This holds exactly if it is reached.
    when: Vec<Term>,
    /// This holds, or the code is left before.
    facts: Vec<Term>,
    registers: BTreeMap<usize, Term>,
    /// What was written.
    cells: BTreeMap<u32, Term>,
}

/// Follows code.
pub(super) struct Follower<'a, 'p, 'f> {
    flow: &'a Flow<'p>,
    terms: &'a mut Terms<'f>,
    rule: usize,
    state: KnownState,
    outcomes: Vec<PathOutcome>,
}

impl<'a, 'p, 'f> Follower<'a, 'p, 'f> {
    pub(super) fn new(flow: &'a Flow<'p>, terms: &'a mut Terms<'f>, rule: usize) -> Self {
        Follower { flow, terms, rule, state: KnownState::default(), outcomes: Vec::new() }
    }

    /// What happens, in order, if the unit is entered at its first root. Nothing if there is something that terms
    /// cannot say, or more of it than is worth while.
    pub(super) fn run(mut self, most: usize, most_terms: usize) -> Option<Vec<PathOutcome>> {
        let flow = self.flow;
        let root = *flow.roots.first()?;
        let paths = Paths::new(flow, root, most)?;
        let mut arrived: Vec<Vec<KnownState>> = (0..flow.nodes.len()).map(|_| Vec::new()).collect();
        let mut conditions = vec![(0, 0); flow.nodes.len()];
        arrived[root].push(KnownState::default());
        for at in &paths.order {
            let states = std::mem::take(&mut arrived[*at]);
            let node = &flow.nodes[*at];
            self.state = match states.len() {
                0 => continue,
                1 => states.into_iter().next()?,
                _ => self.join(*at, &paths, &conditions, states),
            };
            conditions[*at] = (self.state.when.len(), self.state.facts.len());
            let jumps = self.instruction(node)?;
            if self.terms.are_many(most_terms) {
                return None;
            }
            // Nothing comes after a fault.
            if self.state.facts.last() == Some(&Terms::FALSE) {
                continue;
            }
            let stays = self.terms.not(jumps);
            let targets = [(node.next, stays), (node.jump, jumps)];
            for (to, condition) in targets.into_iter().filter(|(_, condition)| *condition != Terms::FALSE) {
                let Some(to) = to else { continue };
                let mut state = self.state.clone();
                if condition != Terms::TRUE {
                    state.when.push(condition);
                }
                arrived[to].push(state);
            }
        }
        Some(self.outcomes)
    }

    /// One state of several that arrive at an instruction. What was known at the fork before is known here.
    fn join(
        &mut self,
        at: usize,
        paths: &Paths,
        lengths: &[(usize, usize)],
        states: Vec<KnownState>,
    ) -> KnownState {
        let (fork, always) = paths.fork(at);
        let (length, facts) = lengths[fork];
        let ways: Vec<Term> = states.iter().map(|state| self.terms.all(&state.when[length..])).collect();
        let mut when = states[0].when[..length].to_vec();
        if !always {
            let some = self.terms.any(&ways);
            if some != Terms::TRUE {
                when.push(some);
            }
        }
        let facts = states[0].facts[..facts].to_vec();
        let mut registers = BTreeMap::new();
        for register in states[0].registers.keys().filter(|register| self.flow.is_live(at, **register)) {
            let values: Option<Vec<Term>> =
                states.iter().map(|state| state.registers.get(register).copied()).collect();
            // One that is not written on all ways is not read.
            if let Some(values) = values {
                registers.insert(*register, self.choose(&ways, &values));
            }
        }
        let mut cells = BTreeMap::new();
        for cell in states.iter().flat_map(|state| state.cells.keys()) {
            if !cells.contains_key(cell) {
                let old = self.terms.cell(*cell);
                let values: Vec<Term> =
                    states.iter().map(|state| state.cells.get(cell).copied().unwrap_or(old)).collect();
                cells.insert(*cell, self.choose(&ways, &values));
            }
        }
        KnownState { when, facts, registers, cells }
    }

    fn choose(&mut self, ways: &[Term], values: &[Term]) -> Term {
        let last = values[values.len() - 1];
        let others = ways.iter().zip(values).rev().skip(1);
        others.fold(last, |rest, (way, value)| self.terms.select(*way, *value, rest))
    }

    fn get(&mut self, node: &FlowNode, reg: u16) -> Option<Term> {
        let register = self.flow.register(node, reg);
        self.state.registers.get(&register).copied()
    }

    fn set(&mut self, node: &FlowNode, reg: u16, value: Term) {
        let register = self.flow.register(node, reg);
        self.state.registers.insert(register, value);
    }

    fn knowledge(&self) -> Vec<Term> {
        [&self.state.when[..], &self.state.facts[..]].concat()
    }

    /// A truth value, as far as it is known here.
    fn truth(&mut self, term: Term) -> Term {
        let known = self.knowledge();
        self.terms.under(&known, term)
    }

    /// The code is left here if the condition holds.
    fn leave_if(&mut self, condition: Term) {
        let condition = self.truth(condition);
        if condition == Terms::FALSE {
            return;
        }
        let mut when = self.state.when.clone();
        when.extend(Some(condition).filter(|it| *it != Terms::TRUE));
        self.outcomes.push(PathOutcome { when, what: OutcomeKind::Leave });
        let otherwise = self.terms.not(condition);
        self.state.facts.push(otherwise);
    }

    fn read(&mut self, cell: u32) -> Term {
        if let Some(value) = self.state.cells.get(&cell) {
            return *value;
        }
        let known = self.knowledge();
        let content = self.terms.cell(cell);
        self.terms.number_under(&known, content)
    }

    /// The cells that may be at `base + index * stride`, each with its index.
    fn cells_at(&mut self, index: Term, stride: u16, base: i32) -> Option<Vec<(i64, u32)>> {
        let Range { lo, hi } = self.terms.range(index);
        if hi.checked_sub(lo)? >= MOST_VALUES {
            return None;
        }
        let known = self.knowledge();
        let mut cells = Vec::new();
        for value in lo..=hi {
            let is = self.terms.is(index, value);
            let cell = value.checked_mul(i64::from(stride))?.checked_add(i64::from(base))?;
            let cell = u32::try_from(cell).ok().filter(|cell| (*cell as usize) < self.terms.fields.len());
            if let Some(cell) = cell
                && self.terms.under(&known, is) != Terms::FALSE
            {
                cells.push((value, cell));
            }
        }
        Some(cells).filter(|cells| !cells.is_empty())
    }

    fn read_at(&mut self, index: Term, stride: u16, base: i32) -> Option<Term> {
        let cells = self.cells_at(index, stride, base)?;
        let &(least, first) = cells.first()?;
        if cells.len() == 1 {
            return Some(self.read(first));
        }
        if !cells.iter().any(|(_, cell)| self.state.cells.contains_key(cell))
            && cells.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1)
        {
            let from_first = self.terms.add_constant(index, least.wrapping_neg());
            let numbers: Vec<u32> = cells.iter().map(|(_, cell)| *cell).collect();
            if let Some(element) = self.terms.element(from_first, first, u32::from(stride), &numbers) {
                return Some(element);
            }
        }
        let mut result = None;
        for (value, cell) in cells.into_iter().rev() {
            let content = self.read(cell);
            result = Some(match result {
                None => content,
                Some(rest) => {
                    let is = self.terms.is(index, value);
                    self.terms.select(is, content, rest)
                }
            });
        }
        result
    }

    fn write_at(&mut self, index: Term, stride: u16, base: i32, value: Term) -> Option<()> {
        let cells = self.cells_at(index, stride, base)?;
        let only = cells.len() == 1;
        for (number, cell) in cells {
            let here = if only { Terms::TRUE } else { self.terms.is(index, number) };
            let old = self.read(cell);
            let content = self.terms.select(here, value, old);
            self.state.cells.insert(cell, content);
        }
        Some(())
    }

    fn load(&mut self, node: &FlowNode, dst: u16, content: Term, checked: bool) {
        if checked {
            let undefined = self.terms.is(content, 0);
            self.leave_if(undefined);
        }
        self.set(node, dst, content);
    }

    /// A value that was converted, if it was inside what can be; otherwise what is to be then.
    fn or_outside(&mut self, inside: Term, value: Term, outside: &code::Outside) -> Term {
        match outside {
            code::Outside::Nothing => {
                let nothing = self.terms.constant(-1);
                self.terms.select(inside, value, nothing)
            }
            code::Outside::Fault(..) => {
                let outside = self.terms.not(inside);
                self.leave_if(outside);
                value
            }
        }
    }

    fn map(&mut self, map: &code::CodeMap, code: Term) -> Option<Term> {
        let undefined = self.terms.is(code, 0);
        let (mut inside, mut result) = (undefined, code);
        // The first piece that fits counts: later ones are put below it.
        for (first, last, add) in map.pieces.iter().rev().filter(|(first, last, _)| first <= last) {
            let (first, last) = (i64::try_from(*first).ok()?, i64::try_from(*last).ok()?);
            let fits = self.terms.inside(code, first, last);
            let mapped = self.terms.add_constant(code, *add);
            result = self.terms.select(fits, mapped, result);
            inside = self.terms.any(&[inside, fits]);
        }
        result = self.terms.select(undefined, code, result);
        Some(self.or_outside(inside, result, &map.outside))
    }

    /// Runs an instruction. Gives under which condition it jumps; nothing if terms cannot say what it does.
    fn instruction(&mut self, node: &FlowNode) -> Option<Term> {
        let program = self.flow.program;
        match node.op {
            Op::Const { dst, value } => {
                let value = self.terms.constant(value);
                self.set(node, dst, value);
            }
            Op::Move { dst, src } => {
                let value = self.get(node, src)?;
                self.set(node, dst, value);
            }
            Op::Peek { dst, base } | Op::Load { dst, base, .. } => {
                let content = self.read(base);
                self.load(node, dst, content, matches!(node.op, Op::Load { .. }));
            }
            Op::PeekIndexed { dst, index, stride, base }
            | Op::LoadIndexed { dst, index, stride, base, .. } => {
                let index = self.get(node, index)?;
                let content = self.read_at(index, stride, base)?;
                self.load(node, dst, content, matches!(node.op, Op::LoadIndexed { .. }));
            }
            Op::Defined { src, .. } => {
                let value = self.get(node, src)?;
                let undefined = self.terms.is(value, 0);
                self.leave_if(undefined);
            }
            Op::Store { src, base } => {
                let value = self.get(node, src)?;
                self.state.cells.insert(base, value);
            }
            Op::StoreIndexed { src, index, stride, base } => {
                let (value, index) = (self.get(node, src)?, self.get(node, index)?);
                self.write_at(index, stride, base, value)?;
            }
            Op::Scale { dst, index, stride, bias } => {
                let (index, stride) = (self.get(node, index)?, self.terms.constant(i64::from(stride)));
                let scaled = self.terms.mul(index, stride);
                let value = self.terms.add_constant(scaled, i64::from(bias));
                self.set(node, dst, value);
            }
            Op::Join { dst, left, right } => {
                let (left, right) = (self.get(node, left)?, self.get(node, right)?);
                let value = self.terms.add(left, right);
                self.set(node, dst, value);
            }
            Op::Index { dst, src, range } => {
                let (value, range) = (self.get(node, src)?, &program.ranges[range as usize]);
                let inside = self.terms.inside(value, range.lo, range.hi);
                let outside = self.terms.not(inside);
                self.leave_if(outside);
                let value = self.terms.add_constant(value, range.lo.wrapping_neg());
                self.set(node, dst, value);
            }
            Op::Offset { dst, src, add } => {
                let value = self.get(node, src)?;
                let value = self.terms.add_constant(value, add);
                self.set(node, dst, value);
            }
            Op::Encode { dst, src, range } => {
                let (value, range) = (self.get(node, src)?, &program.ranges[range as usize]);
                let inside = self.terms.inside(value, range.lo, range.hi);
                let code = self.terms.add_constant(value, range.add);
                let code = self.or_outside(inside, code, &range.outside);
                self.set(node, dst, code);
            }
            Op::Map { dst, src, map } => {
                let code = self.get(node, src)?;
                let code = self.map(&program.maps[map as usize], code)?;
                self.set(node, dst, code);
            }
            Op::Add { dst, left, right, .. } => {
                let (left, right) = (self.get(node, left)?, self.get(node, right)?);
                let value = self.terms.checked_add(left, right)?;
                self.set(node, dst, value);
            }
            Op::Sub { dst, left, right, .. } => {
                let (left, right) = (self.get(node, left)?, self.get(node, right)?);
                let value = self.terms.checked_sub(left, right)?;
                self.set(node, dst, value);
            }
            Op::Binary { op, dst, left, right, .. } => {
                let (left, right) = (self.get(node, left)?, self.get(node, right)?);
                let value = self.binary(op, left, right)?;
                self.set(node, dst, value);
            }
            Op::Negate { dst, src, .. } => {
                let (value, zero) = (self.get(node, src)?, self.terms.constant(0));
                let value = self.terms.checked_sub(zero, value)?;
                self.set(node, dst, value);
            }
            Op::Zero { first, length } => {
                let zero = self.terms.constant(0);
                (0..length).for_each(|offset| self.set(node, first + offset as u16, zero));
            }
            // There are no loops here.
            Op::Jump { .. } | Op::Return | Op::Fire | Op::Tick { .. } => {}
            Op::Call { .. } if !self.flow.calls_out(node) => {}
            Op::JumpEqual { .. }
            | Op::JumpDiffer { .. }
            | Op::JumpLess { .. }
            | Op::JumpAtMost { .. }
            | Op::JumpIs { .. }
            | Op::JumpIsNot { .. }
            | Op::JumpBelow { .. }
            | Op::JumpAbove { .. } => {
                let condition = self.comparison(node)?;
                return Some(self.truth(condition));
            }
            Op::Next { counter, .. } => {
                let value = self.flow.counted(node)?;
                let value = self.terms.constant(value);
                self.set(node, counter, value);
            }
            Op::Fault { .. } | Op::NoResult | Op::Discard => self.leave_if(Terms::TRUE),
            Op::End if self.flow.in_body(node) => {
                let cells = std::mem::take(&mut self.state.cells);
                let changes = WordChange::of(self.terms, &self.knowledge(), &cells);
                let when = self.state.when.clone();
                self.outcomes.push(PathOutcome { when, what: OutcomeKind::Step(self.rule, changes) });
            }
            Op::End => {}
            Op::Truth { value } => {
                let when = self.state.when.clone();
                self.outcomes.push(PathOutcome { when, what: OutcomeKind::Truth(value) });
            }
            _ => return None,
        }
        Some(Terms::FALSE)
    }

    fn binary(&mut self, op: shoal_model::BinaryOp, left: Term, right: Term) -> Option<Term> {
        use shoal_model::BinaryOp;
        let (holds, when) = match op {
            BinaryOp::Mul => return self.terms.checked_mul(left, right),
            BinaryOp::Div => return self.terms.div(left, right),
            BinaryOp::Rem => {
                let quotient = self.terms.div(left, right)?;
                let product = self.terms.checked_mul(quotient, right)?;
                return self.terms.checked_sub(left, product);
            }
            BinaryOp::Lt => (self.terms.less(left, right), true),
            BinaryOp::Ge => (self.terms.less(left, right), false),
            BinaryOp::Gt => (self.terms.less(right, left), true),
            BinaryOp::Le => (self.terms.less(right, left), false),
            _ => return None,
        };
        let (yes, no) = (self.terms.constant(code::TRUE), self.terms.constant(code::FALSE));
        Some(if when { self.terms.select(holds, yes, no) } else { self.terms.select(holds, no, yes) })
    }

    /// Under which condition an instruction that compares jumps.
    fn comparison(&mut self, node: &FlowNode) -> Option<Term> {
        Some(match node.op {
            Op::JumpEqual { left, right, .. } | Op::JumpDiffer { left, right, .. } => {
                let (left, right) = (self.get(node, left)?, self.get(node, right)?);
                let equal = self.terms.equal(left, right);
                if matches!(node.op, Op::JumpEqual { .. }) { equal } else { self.terms.not(equal) }
            }
            Op::JumpLess { left, right, .. } => {
                let (left, right) = (self.get(node, left)?, self.get(node, right)?);
                self.terms.less(left, right)
            }
            Op::JumpAtMost { left, right, .. } => {
                let (left, right) = (self.get(node, left)?, self.get(node, right)?);
                let greater = self.terms.less(right, left);
                self.terms.not(greater)
            }
            Op::JumpIs { src, value, .. } | Op::JumpIsNot { src, value, .. } => {
                let src = self.get(node, src)?;
                let is = self.terms.is(src, i64::from(value));
                if matches!(node.op, Op::JumpIs { .. }) { is } else { self.terms.not(is) }
            }
            Op::JumpBelow { src, value, .. } => {
                let (src, value) = (self.get(node, src)?, self.terms.constant(i64::from(value)));
                self.terms.less(src, value)
            }
            Op::JumpAbove { src, value, .. } => {
                let (src, value) = (self.get(node, src)?, self.terms.constant(i64::from(value)));
                self.terms.less(value, src)
            }
            _ => return None,
        })
    }
}
