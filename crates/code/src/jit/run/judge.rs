//! One function that says of a packed state which conditions hold there.

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, types::I64};
use cranelift_frontend::FunctionBuilder;
use cranelift_module::{FuncId, ModuleError};

use super::{
    super::{
        Translator,
        flow::Flow,
        unroll::{Loops, MOST_NODES},
    },
    MOST_TERMS,
    cost::Cost,
    follow::{Follower, OutcomeKind},
    lower::Lower,
    terms::{Term, Terms},
};
use crate::{
    code::{Pc, Program},
    layout::Layout,
};

/// Gets a packed state; gives a bit for each condition, which is set if it holds and nothing faults.
pub(crate) type Judgement = unsafe extern "C" fn(*const u64) -> u64;

/// The function, and the conditions with their bits.
pub(crate) struct NativeJudge<F = Judgement> {
    pub(crate) function: F,
    /// By where their code begins: the bit, or none.
    bits: Box<[u64]>,
}

/// Conditions that take more instructions than this are better looked at one after the other, up to the first that does
/// not hold.
const LONG: usize = 600;

impl<F> NativeJudge<F> {
    /// The bits of conditions; nothing if it does not know them all.
    #[inline]
    pub(crate) fn bits(&self, conditions: &[Pc]) -> Option<u64> {
        conditions.iter().try_fold(0, |bits, pc| match self.bits[*pc as usize] {
            0 => None,
            bit => Some(bits | bit),
        })
    }

    pub(crate) fn with<G>(self, function: G) -> NativeJudge<G> {
        NativeJudge { function, bits: self.bits }
    }
}

impl Translator {
    /// Makes the function for those conditions that allow it.
    pub(crate) fn judge(
        &mut self,
        program: &Program,
        layout: &Layout,
        loops: &Loops,
    ) -> Result<NativeJudge<FuncId>, Box<ModuleError>> {
        let mut terms = Terms::new(layout.fields());
        let mut bits = vec![0; program.ops.len()];
        let mut conditions = Vec::new();
        for pc in program.conditions.iter().flatten() {
            let flow = Flow::condition(program, *pc, loops);
            let holds = holds(&flow, &mut terms);
            if let Some(holds) = holds.filter(|holds| Cost::of_conditions(&terms, &[*holds]) <= LONG)
                && conditions.len() < u64::BITS as usize
            {
                bits[*pc as usize] = 1 << conditions.len();
                conditions.push(holds);
            }
        }
        let function = self.function(1, |builder| judgement(builder, &terms, layout.words(), &conditions))?;
        Ok(NativeJudge { function, bits: bits.into() })
    }
}

/// Under which condition a condition holds and nothing faults.
fn holds(flow: &Flow<'_>, terms: &mut Terms<'_>) -> Option<Term> {
    let outcomes = Follower::new(flow, terms, 0).run(MOST_NODES, MOST_TERMS)?;
    let (mut yes, mut wrong) = (Vec::new(), Vec::new());
    for outcome in outcomes {
        let when = terms.all(&outcome.when);
        match outcome.what {
            OutcomeKind::Truth(true) => yes.push(when),
            OutcomeKind::Leave => wrong.push(terms.not(when)),
            OutcomeKind::Truth(false) | OutcomeKind::Step(..) => {}
        }
    }
    let yes = terms.any(&yes);
    wrong.push(yes);
    Some(terms.all(&wrong))
}

fn judgement<'b>(
    mut builder: FunctionBuilder<'b>,
    terms: &Terms<'_>,
    width: usize,
    conditions: &[Term],
) -> FunctionBuilder<'b> {
    let block = builder.create_block();
    builder.append_block_params_for_function_params(block);
    builder.switch_to_block(block);
    let state = builder.block_params(block)[0];
    let mut lower = Lower::new(builder, terms);
    lower.words = (0..width)
        .map(|word| lower.builder.ins().load(I64, MemFlagsData::trusted(), state, word as i32 * 8))
        .collect();
    let mut all = lower.constant(0);
    for (bit, condition) in (0..).zip(conditions) {
        let holds = lower.truth(*condition);
        let holds = lower.builder.ins().uextend(I64, holds);
        let holds = lower.builder.ins().ishl_imm_u(holds, bit);
        all = lower.builder.ins().bor(all, holds);
    }
    lower.builder.ins().return_(&[all]);
    lower.builder.seal_all_blocks();
    lower.builder
}
