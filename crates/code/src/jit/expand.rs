//! One function that runs through all rules, so that a state is expanded in one call.

use std::collections::HashMap;

use cranelift_codegen::ir::{AbiParam, BlockArg, InstBuilder, condcodes::IntCC, types::I64};
use cranelift_frontend::{FunctionBuilder, Switch};
use cranelift_module::{FuncId, Module, ModuleError};

use super::{Exit, Translator, emit::parameters};
use crate::{
    code::{Pc, Program},
    exec::Event,
};

/// Gives that it is through all rules.
pub(super) const THROUGH: i64 = -1;
/// What it gives otherwise has the position of the rule above so many bits; below is what the rule's function gave.
pub(super) const RULE_SHIFT: u32 = 40;
/// See [`RULE_SHIFT`].
pub(super) const EXIT_MASK: i64 = (1 << RULE_SHIFT) - 1;

impl Translator {
    /// Makes the function, if all rules are translated and the machine's memory never moves while they run.
    pub(super) fn expander(&mut self, program: &Program) -> Result<Option<FuncId>, Box<ModuleError>> {
        let Some(rules) = self.functions.get(program.starts.len()..).filter(|_| self.stays) else {
            return Ok(None);
        };
        // Rules of agents are gone through by where the agents are, those with parts by parts.
        let given = !program.agents.is_empty() || program.has_parts();
        if rules.len() != program.rules.len() || rules.is_empty() || given {
            return Ok(None);
        }
        // In the order they are in: where some outrank others this is not used.
        let rules: Vec<FuncId> = rules.iter().map(|(id, ..)| *id).collect();
        let ends = self.ends(program);
        let mut signature = self.module.make_signature();
        signature.params = parameters().to_vec();
        signature.returns = vec![AbiParam::new(I64)];
        let id = self.module.declare_anonymous_function(&signature)?;
        self.context.func.signature = signature;
        let calls: Vec<_> =
            rules.iter().map(|id| self.module.declare_func_in_func(*id, &mut self.context.func)).collect();
        let mut builder = FunctionBuilder::new(&mut self.context.func, &mut self.builder);
        let first = builder.create_block();
        builder.append_block_params_for_function_params(first);
        builder.switch_to_block(first);
        let [memory, machine, from, sink] = [0, 1, 2, 3].map(|at| builder.block_params(first)[at]);
        let blocks: Vec<_> = (0..=rules.len()).map(|_| builder.create_block()).collect();
        let mut switch = Switch::new();
        blocks.iter().enumerate().for_each(|(at, block)| switch.set_entry(at as u128, *block));
        switch.emit(&mut builder, from, blocks[rules.len()]);
        for (at, call) in calls.into_iter().enumerate() {
            builder.switch_to_block(blocks[at]);
            let entry = builder.ins().iconst(I64, 0);
            let call = builder.ins().call(call, &[memory, machine, entry, sink]);
            let exit = builder.inst_results(call)[0];
            let through = builder.ins().icmp_imm_s(IntCC::Equal, exit, ends[at]);
            let leave = builder.create_block();
            builder.set_cold_block(leave);
            builder.ins().brif(through, blocks[at + 1], &[] as &[BlockArg], leave, &[] as &[BlockArg]);
            builder.switch_to_block(leave);
            let position = builder.ins().iconst(I64, (at as i64) << RULE_SHIFT);
            let number = builder.ins().bor(exit, position);
            builder.ins().return_(&[number]);
        }
        builder.switch_to_block(blocks[rules.len()]);
        let through = builder.ins().iconst(I64, THROUGH);
        builder.ins().return_(&[through]);
        builder.seal_all_blocks();
        builder.finalize(self.module.target_config());
        self.module.define_function(id, &mut self.context)?;
        self.module.clear_context(&mut self.context);
        Ok(Some(id))
    }

    /// The number of the exit at the end of each rule's instances, where that can be reached.
    fn ends(&self, program: &Program) -> Vec<i64> {
        let exits = self.exits.iter().enumerate().filter_map(|(number, exit)| match exit {
            Exit::Done(Event::End, at) => Some((*at, number as i64)),
            _ => None,
        });
        let ends: HashMap<Pc, i64> = exits.collect();
        // The last instruction before the body.
        program.rules.iter().map(|rule| ends.get(&(rule.body - 1)).copied().unwrap_or(THROUGH)).collect()
    }
}
