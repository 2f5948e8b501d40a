//! One function that runs through all rules, so that a state is expanded in one call.

use std::sync::atomic::AtomicPtr;

use cranelift_codegen::ir::{AbiParam, BlockArg, InstBuilder, MemFlagsData, condcodes::IntCC, types::I64};
use cranelift_frontend::{FunctionBuilder, Switch};
use cranelift_module::{FuncId, Module, ModuleError};

use super::{Translator, emit::parameters};
use crate::{
    code::Program,
    exec::{Machine, Sink},
};

/// A rule gives this if it is through all its instances, and so does the function if it is through all rules.
pub(super) const THROUGH: i64 = -1;
/// What it gives otherwise has the position of the rule above so many bits; below is what the rule's function gave.
pub(super) const RULE_SHIFT: u32 = 40;
/// See [`RULE_SHIFT`].
pub(super) const EXIT_MASK: i64 = (1 << RULE_SHIFT) - 1;
/// The rule is not translated yet.
pub(super) const NOT_YET: i64 = 1 << 39;

/// Stands for a rule that is not translated yet.
pub(super) unsafe extern "C" fn not_yet(
    _: *mut i64,
    _: *mut Machine<'_>,
    _: u64,
    _: *mut &mut dyn Sink,
) -> i64 {
    NOT_YET
}

impl Translator {
    /// Makes the function. It finds the code of rules in a table, which stays where it is.
    pub(super) fn expander(
        &mut self,
        program: &Program,
        table: &[AtomicPtr<u8>],
    ) -> Result<Option<FuncId>, Box<ModuleError>> {
        if program.rules.is_empty() {
            return Ok(None);
        }
        let mut signature = self.module.make_signature();
        signature.params = parameters().to_vec();
        signature.returns = vec![AbiParam::new(I64)];
        let id = self.module.declare_anonymous_function(&signature)?;
        self.context.func.signature = signature.clone();
        let mut builder = FunctionBuilder::new(&mut self.context.func, &mut self.builder);
        let signature = builder.import_signature(signature);
        let first = builder.create_block();
        builder.append_block_params_for_function_params(first);
        builder.switch_to_block(first);
        let [memory, machine, from, sink] = [0, 1, 2, 3].map(|at| builder.block_params(first)[at]);
        // In the order they are in: where some outrank others this is not used.
        let blocks: Vec<_> = (0..=table.len()).map(|_| builder.create_block()).collect();
        let mut switch = Switch::new();
        blocks.iter().enumerate().for_each(|(at, block)| switch.set_entry(at as u128, *block));
        switch.emit(&mut builder, from, blocks[table.len()]);
        for (at, place) in table.iter().enumerate() {
            builder.switch_to_block(blocks[at]);
            let entry = builder.ins().iconst(I64, 0);
            let place = builder.ins().iconst(I64, place.as_ptr() as i64);
            // Not one that may be moved: another thread may put code there.
            let code = builder.ins().load(I64, MemFlagsData::new(), place, 0);
            let call = builder.ins().call_indirect(signature, code, &[memory, machine, entry, sink]);
            let exit = builder.inst_results(call)[0];
            let through = builder.ins().icmp_imm_s(IntCC::Equal, exit, THROUGH);
            let leave = builder.create_block();
            builder.set_cold_block(leave);
            builder.ins().brif(through, blocks[at + 1], &[] as &[BlockArg], leave, &[] as &[BlockArg]);
            builder.switch_to_block(leave);
            let position = builder.ins().iconst(I64, (at as i64) << RULE_SHIFT);
            let number = builder.ins().bor(exit, position);
            builder.ins().return_(&[number]);
        }
        builder.switch_to_block(blocks[table.len()]);
        let through = builder.ins().iconst(I64, THROUGH);
        builder.ins().return_(&[through]);
        builder.seal_all_blocks();
        builder.finalize(self.module.target_config());
        self.module.define_function(id, &mut self.context)?;
        self.module.clear_context(&mut self.context);
        Ok(Some(id))
    }
}
