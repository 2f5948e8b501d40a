//! The flow of a piece of code with its calls inlined: what may run after what, and which registers are live.
//!
//! A register becomes a value of the generated code unless something reaches it by its address; those stay cells.
//! At each place where native code ends (a fault), the registers that are still wanted are written to their cells, and
//! where it begins again they are read from there.
//!
//! The body of a rule stands where an instance may fire, and after it come the other instances. Loops with few rounds
//! may be unrolled: see [`super::unroll`].

use rustc_hash::FxHashMap;
use shoal_model::{CALL_DEPTH, FunctionId, TypedId};

use super::{
    Point,
    operands::{Operands, operands},
    tiers::RanInstructions,
    unroll::{Count, Loops, MOST_NODES},
};
use crate::{
    code::{Op, Pc, Program, RuleCode},
    exec::Return,
};

/// How large a flow may become.
#[derive(Clone, Copy)]
pub(super) struct FlowLimits {
    /// A unit with more instructions than this has the interpreter call functions instead of taking them in.
    pub(super) inline: usize,
    /// There is no flow of more instructions than this.
    pub(super) most: usize,
}

impl FlowLimits {
    pub(super) const SHORT_RUN: FlowLimits = FlowLimits { inline: 4_000, most: usize::MAX };
    /// In a long run a call that is interpreted costs more than any translation: nothing is known of what it writes, and the code
    /// that runs through all rules cannot call a unit that makes one.
    pub(super) const LONG_RUN: FlowLimits = FlowLimits { inline: 16_000, most: usize::MAX };
}

/// Registers beyond this number stay in their cells.
const MOST_VALUES: u32 = 2048;

/// An instruction in a chain of calls.
pub(super) struct FlowNode {
    /// Its number.
    pub(super) at: usize,
    pub(super) pc: Pc,
    pub(super) op: Op,
    pub(super) chain: usize,
    /// What runs after it, if it does not jump.
    pub(super) next: Option<usize>,
    pub(super) jump: Option<usize>,
    /// Where to go on after a fault.
    resume: Option<usize>,
}

impl FlowNode {
    /// Whether the unit comes to its end there, as it should.
    pub(super) fn ends(&self) -> bool {
        self.next.is_none() && matches!(self.op, Op::End | Op::Truth { .. })
    }
}

/// Calls that are inlined in each other, outermost first, and the loops around that are unrolled.
#[derive(Clone, Default)]
pub(super) struct CallChain {
    /// The first register of the innermost frame, seen from the outermost.
    pub(super) base: u32,
    pub(super) returns: Vec<Return>,
    functions: Vec<FunctionId>,
    /// The chain without the last call.
    outer: usize,
    /// The same calls, where no loop of the innermost code is counted.
    pub(super) plain: usize,
    /// The rounds of loops.
    pub(super) counts: Vec<Count>,
}

/// A piece of code: what is compiled to one function.
pub(super) struct Flow<'p> {
    pub(super) program: &'p Program,
    pub(super) rule: Option<&'p RuleCode>,
    frames: usize,
    /// The loops that are unrolled.
    pub(super) loops: Option<&'p Loops>,
    /// The instructions that have run, if only those are translated.
    pub(super) seen: Option<&'p RanInstructions>,
    /// See [`FlowLimits::inline`].
    inline: usize,
    /// Whether bodies are given up where something has not run, so that nothing follows there. (Those of models with choices or
    /// covers go on in the middle, with all that is live then.)
    gives_up: bool,
    pub(super) variants: FxHashMap<(usize, Vec<Count>), usize>,
    pub(super) nodes: Vec<FlowNode>,
    pub(super) chains: Vec<CallChain>,
    index: FxHashMap<(usize, Pc), usize>,
    /// Where it may be entered.
    pub(super) roots: Vec<usize>,
    /// The body's first instruction.
    pub(super) body: Option<usize>,
    /// Where instances are gone through after a body.
    pub(super) after: Option<usize>,
    /// For each register of the outermost frame and those above, the value it is, if it is one.
    pub(super) values: Vec<Option<u32>>,
    /// How many values there are.
    pub(super) count: usize,
    /// The values that are live before each instruction: so many words for each.
    live: Vec<u64>,
    stride: usize,
    /// The values of registers that are known before each instruction, where loops are unrolled.
    pub(super) known: Vec<Vec<(u32, i64)>>,
    /// How many registers all frames have together.
    pub(super) frame: u32,
}

impl<'p> Flow<'p> {
    /// The flow of a rule.
    pub(super) fn rule(program: &'p Program, rule: &'p RuleCode, loops: &'p Loops) -> Self {
        Self::unrolled(program, Some(rule), &Self::roots_of(program, rule), loops)
    }

    /// The flow of a rule, or of a condition, as far as it has run.
    pub(super) fn as_seen(
        program: &'p Program,
        rule: Option<&'p RuleCode>,
        roots: &[Pc],
        seen: &'p RanInstructions,
        limits: FlowLimits,
    ) -> Self {
        let flow = Self::new(program, rule, roots, None, Some(seen), limits);
        flow.unwrap_or_else(|| Self::empty(program, rule, None))
    }

    /// All of it, if that is not too much.
    pub(super) fn whole(
        program: &'p Program,
        rule: Option<&'p RuleCode>,
        roots: &[Pc],
        limits: FlowLimits,
    ) -> Option<Self> {
        Self::new(program, rule, roots, None, None, limits)
    }

    /// Whether memory stays where it is while it runs: it has the interpreter call no function.
    pub(super) fn stays(&self) -> bool {
        !self.nodes.iter().any(|node| matches!(node.op, Op::Call { .. }) && self.calls_out(node))
    }

    /// Where the code of a rule may be entered. Some may be the same.
    pub(super) fn roots_of(program: &Program, rule: &RuleCode) -> Vec<Pc> {
        let mut roots = vec![rule.instances];
        roots.extend(rule.fire.map(|fire| fire + 1));
        // A body that ended with a trap is run again with its next choices. It is left, not gone back in, as what it wrote has to be undone.
        roots.extend(rule.fire.filter(|_| !program.choices.is_empty()).map(|_| rule.body));
        roots.extend(rule.handlers.iter().map(|handler| handler.resume));
        roots
    }

    /// The flow of a condition.
    pub(super) fn condition(program: &'p Program, entry: Pc, loops: &'p Loops) -> Self {
        Self::unrolled(program, None, &[entry], loops)
    }

    /// With loops unrolled, unless there would be too many instructions.
    fn unrolled(program: &'p Program, rule: Option<&'p RuleCode>, roots: &[Pc], loops: &'p Loops) -> Self {
        let unrolled = Some(loops).filter(|loops| loops.any());
        let short = FlowLimits::SHORT_RUN;
        let few = FlowLimits { most: MOST_NODES, ..short };
        let flow = unrolled.and_then(|loops| Self::new(program, rule, roots, Some(loops), None, few));
        let flow = flow.or_else(|| Self::new(program, rule, roots, None, None, short));
        flow.unwrap_or_else(|| Self::empty(program, rule, None))
    }

    fn empty(program: &'p Program, rule: Option<&'p RuleCode>, loops: Option<&'p Loops>) -> Self {
        Flow {
            program,
            rule,
            frames: program.areas.frames,
            loops,
            seen: None,
            inline: FlowLimits::SHORT_RUN.inline,
            gives_up: !program.ops.iter().any(|op| matches!(op, Op::Cover { .. } | Op::Choose { .. })),
            variants: FxHashMap::default(),
            nodes: Vec::new(),
            chains: vec![CallChain::default()],
            index: FxHashMap::default(),
            roots: Vec::new(),
            body: None,
            after: None,
            values: Vec::new(),
            count: 0,
            live: Vec::new(),
            stride: 0,
            known: Vec::new(),
            frame: program.frame,
        }
    }

    /// Nothing if there are too many instructions.
    fn new(
        program: &'p Program,
        rule: Option<&'p RuleCode>,
        roots: &[Pc],
        loops: Option<&'p Loops>,
        seen: Option<&'p RanInstructions>,
        limits: FlowLimits,
    ) -> Option<Self> {
        let mut flow = Self::linked(program, rule, roots, loops, seen, limits)?;
        flow.classify();
        flow.find_live();
        if loops.is_some() {
            flow.find_known();
        }
        Some(flow)
    }

    /// What may run after what, as far as it has run. Which registers are live is not known, nor are any values.
    pub(super) fn links(
        program: &'p Program,
        rule: Option<&'p RuleCode>,
        roots: &[Pc],
        seen: &'p RanInstructions,
        limits: FlowLimits,
    ) -> Self {
        let flow = Self::linked(program, rule, roots, None, Some(seen), limits);
        flow.unwrap_or_else(|| Self::empty(program, rule, None))
    }

    fn linked(
        program: &'p Program,
        rule: Option<&'p RuleCode>,
        roots: &[Pc],
        loops: Option<&'p Loops>,
        seen: Option<&'p RanInstructions>,
        limits: FlowLimits,
    ) -> Option<Self> {
        let mut flow = Flow { seen, inline: limits.inline, ..Self::empty(program, rule, loops) };
        for root in roots {
            let node = flow.node(0, *root);
            if !flow.roots.contains(&node) {
                flow.roots.push(node);
            }
        }
        if let Some((rule, fire)) = rule.and_then(|rule| rule.fire.map(|fire| (rule, fire))) {
            flow.after = Some(flow.node(0, fire + 1));
            flow.body = Some(flow.node(0, rule.body));
        }
        let mut at = 0;
        while at < flow.nodes.len() {
            flow.connect(at);
            at += 1;
            if flow.nodes.len() > limits.most {
                return None;
            }
        }
        Some(flow)
    }

    pub(super) fn node(&mut self, chain: usize, pc: Pc) -> usize {
        let op = self.program.ops[pc as usize];
        let nodes = &mut self.nodes;
        *self.index.entry((chain, pc)).or_insert_with(|| {
            nodes.push(FlowNode { at: nodes.len(), pc, op, chain, next: None, jump: None, resume: None });
            nodes.len() - 1
        })
    }

    fn connect(&mut self, at: usize) {
        let FlowNode { pc, op, chain, .. } = self.nodes[at];
        let outermost = self.outermost(&self.nodes[at]);
        if let Some(handler) = self.rule.and_then(|rule| rule.handler(outermost)) {
            self.nodes[at].resume = Some(self.node(0, handler.resume));
        }
        if self.gives_up && !self.has_run(&self.nodes[at]) && self.in_body(&self.nodes[at]) {
            return;
        }
        if let Some(next) = self.next_round(at) {
            self.nodes[at].next = Some(next);
            return;
        }
        let mut target = op;
        let jump = crate::compile::target(&mut target).map(|to| *to);
        let next = match op {
            Op::Jump { to } => Some((chain, to)),
            Op::Call { function, window, .. } => Some(self.call(chain, pc, function, u32::from(window))),
            Op::Return => {
                let CallChain { outer, returns, .. } = &self.chains[chain];
                returns.last().map(|caller| (*outer, caller.pc))
            }
            Op::Fire => self.body.map(|body| (chain, self.nodes[body].pc)),
            Op::End if self.in_body(&self.nodes[at]) => self.after.map(|after| (chain, self.nodes[after].pc)),
            Op::Const { .. } => Some((self.first_round(at), pc + 1)),
            Op::NoResult | Op::Fault { .. } | Op::End | Op::Truth { .. } => None,
            _ => Some((chain, pc + 1)),
        };
        let next = next.map(|(chain, pc)| self.enter(chain, pc));
        let jump = jump.filter(|_| !matches!(op, Op::Jump { .. })).map(|to| self.enter(chain, to));
        (self.nodes[at].next, self.nodes[at].jump) = (next, jump);
    }

    /// The instructions that are entered from more than one place, or by a jump, among those that the code may come to.
    pub(super) fn leaders(&self) -> Vec<bool> {
        let mut before = vec![0; self.nodes.len()];
        for node in &self.nodes {
            node.next.iter().for_each(|next| before[*next] += 1);
            node.jump.iter().for_each(|jump| before[*jump] += 2);
        }
        self.roots.iter().chain(&self.body).for_each(|root| before[*root] += 2);
        let reached = self.reached();
        before.into_iter().zip(reached).map(|(count, reached)| count > 1 && reached).collect()
    }

    /// The instructions that the code may come to.
    fn reached(&self) -> Vec<bool> {
        let mut reached = vec![false; self.nodes.len()];
        let mut left: Vec<usize> = self.roots.iter().chain(&self.body).copied().collect();
        while let Some(at) = left.pop() {
            let node = &self.nodes[at];
            if !std::mem::replace(&mut reached[at], true) && self.has_run(node) {
                left.extend(node.next.into_iter().chain(node.jump));
            }
        }
        reached
    }

    /// From where an instruction, and all that follows, can be interpreted.
    pub(super) fn point(&self, at: usize, held: bool) -> Point {
        let node = &self.nodes[at];
        let chain = &self.chains[node.chain];
        let frame = self.program.areas.frames + chain.base as usize;
        Point { pc: node.pc, frame, stack: chain.returns.clone(), held, again: false }
    }

    /// Whether an instruction has run, or all are translated.
    pub(super) fn has_run(&self, node: &FlowNode) -> bool {
        self.seen.is_none_or(|seen| seen.has(node.pc))
    }

    /// The instruction of the outermost code that an instruction belongs to.
    fn outermost(&self, node: &FlowNode) -> Pc {
        self.chains[node.chain].returns.first().map_or(node.pc, |outermost| outermost.pc - 1)
    }

    /// Whether an instruction belongs to the body of a rule.
    pub(super) fn in_body(&self, node: &FlowNode) -> bool {
        self.rule.is_some_and(|rule| self.outermost(node) >= rule.body)
    }

    /// Where a call goes on: in the function, if it is inlined.
    fn call(&mut self, chain: usize, pc: Pc, function: FunctionId, window: u32) -> (usize, Pc) {
        let caller = &self.chains[chain];
        let recursive = caller.functions.contains(&function);
        if recursive || caller.returns.len() + 1 >= CALL_DEPTH || self.nodes.len() > self.inline {
            return (chain, pc + 1);
        }
        let mut inner = caller.clone();
        inner.returns.push(Return { pc: pc + 1, frame: self.frames + caller.base as usize });
        inner.base += window;
        inner.functions.push(function);
        inner.outer = chain;
        inner.plain = self.chains.len();
        let code = self.program.functions[function.index()];
        self.frame = self.frame.max(inner.base + code.frame);
        self.chains.push(inner);
        (self.chains.len() - 1, code.entry)
    }

    /// Whether a call is made by the interpreter.
    pub(super) fn calls_out(&self, node: &FlowNode) -> bool {
        let depth = |chain: usize| self.chains[chain].returns.len();
        node.next.is_some_and(|next| depth(self.nodes[next].chain) == depth(node.chain))
    }

    pub(super) fn operands(&self, node: &FlowNode) -> Operands {
        operands(self.program, node.op)
    }

    /// The place of a register among all.
    pub(super) fn register(&self, node: &FlowNode, reg: u16) -> usize {
        self.chains[node.chain].base as usize + reg as usize
    }

    /// Decides which registers are values.
    fn classify(&mut self) {
        let mut cell = vec![false; self.frame as usize + 1];
        let mut used = vec![false; self.frame as usize + 1];
        let mut above = MOST_VALUES as usize;
        for node in &self.nodes {
            let Operands { uses, defs, addressed } = self.operands(node);
            uses.iter().chain(&defs).for_each(|reg| used[self.register(node, *reg)] = true);
            if let Some((first, length)) = addressed {
                let first = self.register(node, first);
                cell[first..first + length as usize].fill(true);
            }
            if let Op::Call { window, .. } = node.op
                && self.calls_out(node)
            {
                above = above.min(self.register(node, window));
            }
        }
        let params = self.rule.iter().flat_map(|rule| &rule.params);
        params.for_each(|param| used[param.reg as usize] = true);
        self.values = vec![None; used.len()];
        for register in 0..used.len().min(above) {
            if used[register] && !cell[register] {
                self.values[register] = Some(self.count as u32);
                self.count += 1;
            }
        }
    }

    fn value(&self, node: &FlowNode, reg: u16) -> Option<usize> {
        self.values[self.register(node, reg)].map(|value| value as usize)
    }

    /// The values that are live before each instruction, by going backwards until nothing changes.
    fn find_live(&mut self) {
        self.stride = self.count.div_ceil(64);
        self.live = vec![0; self.stride * self.nodes.len()];
        let operands: Vec<(Vec<usize>, Vec<usize>)> = self
            .nodes
            .iter()
            .map(|node| {
                let Operands { uses, defs, .. } = self.operands(node);
                let values =
                    |regs: Vec<u16>| regs.into_iter().filter_map(|reg| self.value(node, reg)).collect();
                (values(uses), values(defs))
            })
            .collect();
        let params: Vec<usize> = self.params().collect();
        let mut now = vec![0_u64; self.stride];
        let mut changed = true;
        while changed {
            changed = false;
            for at in (0..self.nodes.len()).rev() {
                let node = &self.nodes[at];
                now.fill(0);
                let mut join = |other: usize| {
                    let other = &self.live[other * self.stride..][..self.stride];
                    now.iter_mut().zip(other).for_each(|(now, other)| *now |= other);
                };
                node.next.into_iter().chain(node.jump).for_each(&mut join);
                let (uses, defs) = &operands[at];
                defs.iter().for_each(|value| now[value / 64] &= !(1 << (value % 64)));
                uses.iter().for_each(|value| now[value / 64] |= 1 << (value % 64));
                for wanted in self.wanted_after(node) {
                    let other = &self.live[wanted * self.stride..][..self.stride];
                    now.iter_mut().zip(other).for_each(|(now, other)| *now |= other);
                }
                if node.resume.is_some() || self.in_body(node) {
                    params.iter().for_each(|value| now[value / 64] |= 1 << (value % 64));
                }
                let before = &mut self.live[at * self.stride..][..self.stride];
                if before != &now[..] {
                    before.copy_from_slice(&now);
                    changed = true;
                }
            }
        }
    }

    /// Where code begins again after this instruction has left native code.
    fn wanted_after(&self, node: &FlowNode) -> impl Iterator<Item = usize> {
        // A body that is left may be run again, with other choices, before the next instance.
        let in_body = self.in_body(node);
        let body = [self.body, self.after].into_iter().flatten().filter(move |_| in_body);
        node.resume.into_iter().chain(body)
    }

    fn params(&self) -> impl Iterator<Item = usize> {
        let params = self.rule.iter().flat_map(|rule| &rule.params);
        params.filter_map(|param| self.values[param.reg as usize]).map(|value| value as usize)
    }

    /// Whether a register is a value that is live before an instruction.
    pub(super) fn is_live(&self, node: usize, register: usize) -> bool {
        self.values[register].is_some_and(|value| {
            let value = value as usize;
            self.live[node * self.stride + value / 64] >> (value % 64) & 1 == 1
        })
    }

    fn live_at(&self, node: usize, wanted: &mut [bool]) {
        for (value, wanted) in wanted.iter_mut().enumerate() {
            *wanted |= self.live[node * self.stride + value / 64] >> (value % 64) & 1 == 1;
        }
    }

    /// The values that must be in their cells when native code ends at an instruction, by register. It faults there,
    /// unless it `goes_on`.
    pub(super) fn to_write(&self, at: usize, goes_on: bool) -> Vec<usize> {
        let node = &self.nodes[at];
        let mut wanted = vec![false; self.count];
        if goes_on {
            self.live_at(at, &mut wanted);
        }
        self.wanted_after(node).for_each(|at| self.live_at(at, &mut wanted));
        if node.resume.is_some() || self.in_body(node) {
            self.params().for_each(|value| wanted[value] = true);
        }
        let operands = self.operands(node).uses;
        operands.iter().filter_map(|reg| self.value(node, *reg)).for_each(|value| wanted[value] = true);
        self.registers(&wanted)
    }

    /// The values that must be in their cells where the body is run again from its beginning, by register.
    pub(super) fn to_begin_again(&self) -> Vec<usize> {
        let mut wanted = vec![false; self.count];
        self.body.into_iter().chain(self.after).for_each(|at| self.live_at(at, &mut wanted));
        self.params().for_each(|value| wanted[value] = true);
        self.registers(&wanted)
    }

    /// The values to read from their cells where native code begins, by register.
    pub(super) fn to_read(&self, root: usize) -> Vec<usize> {
        let mut wanted = vec![false; self.count];
        self.live_at(root, &mut wanted);
        self.registers(&wanted)
    }

    fn registers(&self, wanted: &[bool]) -> Vec<usize> {
        let wanted = |value: &Option<u32>| value.is_some_and(|value| wanted[value as usize]);
        (0..self.values.len()).filter(|register| wanted(&self.values[*register])).collect()
    }

    /// The registers that an instruction reads and those that it writes, as far as they are values.
    pub(super) fn around(&self, node: &FlowNode) -> (Vec<usize>, Vec<usize>) {
        let Operands { uses, defs, .. } = self.operands(node);
        let values = |regs: Vec<u16>| {
            let registers = regs.into_iter().map(|reg| self.register(node, reg));
            registers.filter(|register| self.values[*register].is_some()).collect()
        };
        (values(uses), values(defs))
    }
}
