//! One function that expands packed states one after the other, for models whose rules have no loops once those with few
//! rounds are unrolled.
//!
//! The rules are run on terms first, all instances of each, so that what is left is a list of successors with the
//! conditions under which they are there. The code has no way back to the interpreter: where something faults, it ends
//! before that state, which is then expanded by itself. So nothing need be kept for that, the words of the state stay in
//! the processor's registers, and whether a rule may fire need not be a branch, of which half would be guessed wrong: a
//! short successor is written in any case, and counts only if it is one.

mod cost;
mod follow;
mod judge;
mod lower;
mod paths;
mod successor;
mod terms;

use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, InstBuilder, MemFlagsData, Value, condcodes::IntCC, types::I64,
};
use cranelift_frontend::{FunctionBuilder, Variable};
use cranelift_module::{FuncId, Module, ModuleError};

use super::{
    Translator,
    flow::Flow,
    unroll::{Loops, MOST_NODES},
};
use crate::{code::Program, layout::Layout};
use cost::Cost;
use follow::{Follower, OutcomeKind, PathOutcome};
pub(crate) use judge::{Judgement, NativeJudge};
use lower::Lower;
use terms::{Term, Terms};

/// Packed states and how many; where successors go, up to where one state more may be expanded; where it goes where the
/// successors of each state end. Gives how many states are done.
pub(crate) type RunFunction = unsafe extern "C" fn(*const u64, u64, *mut u64, *const u64, *mut u64) -> u64;

/// The same, and how many words the successors of one state may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Runner<F = RunFunction> {
    pub(crate) function: F,
    pub(crate) most: usize,
}

/// Nothing is made of more terms, or more successors of a state, than this: it would take long before a search begins.
const MOST_TERMS: usize = 20_000;
const MOST_SUCCESSORS: usize = 1024;
/// Successors that take more instructions than this are made only if they are wanted.
const SHORT: usize = 16;
/// Conditions that several have in common are looked at first if so many instructions come after them.
const LONG: usize = 40;

impl Translator {
    /// Makes a function that has so many parameters and gives a number.
    fn function(
        &mut self,
        parameters: usize,
        make: impl FnOnce(FunctionBuilder<'_>) -> FunctionBuilder<'_>,
    ) -> Result<FuncId, Box<ModuleError>> {
        let mut signature = self.module.make_signature();
        signature.params = vec![AbiParam::new(I64); parameters];
        signature.returns = vec![AbiParam::new(I64)];
        let id = self.module.declare_anonymous_function(&signature)?;
        self.context.func.signature = signature;
        let builder = make(FunctionBuilder::new(&mut self.context.func, &mut self.builder));
        builder.finalize(self.module.target_config());
        self.module.define_function(id, &mut self.context)?;
        self.module.clear_context(&mut self.context);
        Ok(id)
    }

    /// Makes the function, if the rules are such that it can be.
    pub(super) fn runner(
        &mut self,
        program: &Program,
        layout: &Layout,
        loops: &Loops,
    ) -> Result<Option<Runner<FuncId>>, Box<ModuleError>> {
        let mut terms = Terms::new(layout.fields());
        let Some(outcomes) = outcomes(program, loops, &mut terms) else { return Ok(None) };
        let most = outcomes.iter().filter(|it| matches!(it.what, OutcomeKind::Step(..))).count();
        if most > MOST_SUCCESSORS {
            return Ok(None);
        }
        let width = layout.words();
        let function = self.function(5, |builder| Expansion::new(builder, &terms, width).run(&outcomes))?;
        Ok(Some(Runner { function, most: most * (width + 1) }))
    }
}

/// What all rules do, in order.
fn outcomes(program: &Program, loops: &Loops, terms: &mut Terms<'_>) -> Option<Vec<PathOutcome>> {
    let mut outcomes = Vec::new();
    for (number, rule) in program.rules.iter().enumerate() {
        let flow = Flow::rule(program, rule, loops);
        outcomes.extend(Follower::new(&flow, terms, number).run(MOST_NODES, MOST_TERMS)?);
    }
    Some(outcomes)
}

/// Makes the code.
struct Expansion<'a, 'b, 'f> {
    lower: Lower<'a, 'b, 'f>,
    width: usize,
    /// Where the next successor goes.
    to: Variable,
    /// Where the code ends if something faults.
    fault: Block,
}

impl<'a, 'b, 'f> Expansion<'a, 'b, 'f> {
    fn new(mut builder: FunctionBuilder<'b>, terms: &'a Terms<'f>, width: usize) -> Self {
        let (to, fault) = (builder.declare_var(I64), builder.create_block());
        builder.set_cold_block(fault);
        Expansion { lower: Lower::new(builder, terms), width, to, fault }
    }

    fn builder(&mut self) -> &mut FunctionBuilder<'b> {
        &mut self.lower.builder
    }

    fn run(mut self, outcomes: &[PathOutcome]) -> FunctionBuilder<'b> {
        let done = self.builder().declare_var(I64);
        let (to, bytes) = (self.to, self.width as i64 * 8);
        let [first, head, body, end] = [0; 4].map(|_| self.builder().create_block());
        let builder = self.builder();
        builder.append_block_params_for_function_params(first);
        builder.switch_to_block(first);
        let [states, count, found, limit, ends] = [0, 1, 2, 3, 4].map(|at| builder.block_params(first)[at]);
        let zero = builder.ins().iconst(I64, 0);
        builder.def_var(done, zero);
        builder.def_var(to, found);
        builder.ins().jump(head, &[] as &[BlockArg]);
        builder.switch_to_block(head);
        let (at, there) = (builder.use_var(done), builder.use_var(to));
        let more = builder.ins().icmp(IntCC::UnsignedLessThan, at, count);
        let room = builder.ins().icmp(IntCC::UnsignedLessThanOrEqual, there, limit);
        let goes_on = builder.ins().band(more, room);
        builder.ins().brif(goes_on, body, &[] as &[BlockArg], end, &[] as &[BlockArg]);
        builder.switch_to_block(body);
        let offset = builder.ins().imul_imm_s(at, bytes);
        let state = builder.ins().iadd(states, offset);
        self.lower.words = (0..self.width)
            .map(|word| self.lower.builder.ins().load(I64, MemFlagsData::trusted(), state, word as i32 * 8))
            .collect();
        self.outcomes(outcomes, 0);
        let builder = self.builder();
        let there = builder.use_var(to);
        let length = builder.ins().isub(there, found);
        let length = builder.ins().ushr_imm_u(length, 3);
        let offset = builder.ins().ishl_imm_u(at, 3);
        let entry = builder.ins().iadd(ends, offset);
        builder.ins().store(MemFlagsData::trusted(), length, entry, 0);
        let next = builder.ins().iadd_imm_s(at, 1);
        builder.def_var(done, next);
        builder.ins().jump(head, &[] as &[BlockArg]);
        for block in [self.fault, end] {
            let builder = self.builder();
            builder.switch_to_block(block);
            let at = builder.use_var(done);
            builder.ins().return_(&[at]);
        }
        self.lower.builder.seal_all_blocks();
        self.lower.builder
    }

    /// What happens, where some of the first conditions of all are known to hold.
    fn outcomes(&mut self, mut outcomes: &[PathOutcome], known: usize) {
        while let Some(first) = outcomes.first() {
            let shared = first.when.get(known).map_or(1, |condition| {
                outcomes.iter().take_while(|other| other.when.get(known) == Some(condition)).count()
            });
            let (family, others) = outcomes.split_at(shared);
            outcomes = others;
            let terms = self.lower.terms;
            let cost = || family.iter().map(|it| Cost::of_outcome(terms, it, known + 1)).sum::<usize>();
            if family.len() > 1 && cost() > LONG {
                self.only_if(&first.when[known..=known], |this| this.outcomes(family, known + 1));
            } else {
                family.iter().for_each(|outcome| self.outcome(outcome, known));
            }
        }
    }

    fn outcome(&mut self, outcome: &PathOutcome, known: usize) {
        let conditions = &outcome.when[known..];
        match &outcome.what {
            OutcomeKind::Leave => {
                let (faults, go_on) = (self.lower.all(conditions), self.builder().create_block());
                let fault = self.fault;
                self.builder().ins().brif(faults, fault, &[] as &[BlockArg], go_on, &[] as &[BlockArg]);
                self.builder().switch_to_block(go_on);
            }
            OutcomeKind::Step(rule, changes) => {
                let add = |this: &mut Self, wanted: Option<Value>| {
                    let words: Vec<Value> = changes
                        .iter()
                        .enumerate()
                        .map(|(word, change)| this.lower.changed(word, change))
                        .collect();
                    this.add(*rule, &words, wanted);
                };
                if conditions.is_empty() {
                    add(self, None);
                } else if Cost::of_changes(self.lower.terms, changes) > SHORT {
                    self.only_if(conditions, |this| add(this, None));
                } else {
                    let wanted = self.lower.all(conditions);
                    add(self, Some(wanted));
                }
            }
            OutcomeKind::Truth(_) => {}
        }
    }

    /// Does something only if some conditions hold.
    fn only_if(&mut self, conditions: &[Term], inside: impl FnOnce(&mut Self)) {
        let holds = self.lower.all(conditions);
        let [yes, go_on] = [0; 2].map(|_| self.builder().create_block());
        self.builder().ins().brif(holds, yes, &[] as &[BlockArg], go_on, &[] as &[BlockArg]);
        self.builder().switch_to_block(yes);
        self.lower.enter();
        inside(self);
        self.lower.leave();
        self.builder().ins().jump(go_on, &[] as &[BlockArg]);
        self.builder().switch_to_block(go_on);
    }

    /// Writes a successor, which counts if it is wanted.
    fn add(&mut self, rule: usize, words: &[Value], wanted: Option<Value>) {
        let (to, length) = (self.to, (self.width as i64 + 1) * 8);
        let builder = self.builder();
        let there = builder.use_var(to);
        let rule = builder.ins().iconst(I64, rule as i64);
        for (value, at) in std::iter::once(&rule).chain(words).zip(0..) {
            builder.ins().store(MemFlagsData::trusted(), *value, there, at * 8);
        }
        let mut length = builder.ins().iconst(I64, length);
        if let Some(wanted) = wanted {
            let nothing = builder.ins().iconst(I64, 0);
            length = builder.ins().select(wanted, length, nothing);
        }
        let there = builder.ins().iadd(there, length);
        builder.def_var(to, there);
    }
}
