//! Code that takes a packed state apart.

use cranelift_codegen::ir::{AbiParam, InstBuilder, MemFlagsData, types::I64};
use cranelift_frontend::FunctionBuilder;
use cranelift_module::{FuncId, Module, ModuleError};

use super::Translator;

/// Gets the machine's memory.
pub(super) type Unpack = unsafe extern "C" fn(*mut i64);

/// States of more cells than this are taken apart by a loop: it is slower, but short.
pub(super) const MOST_CELLS: usize = 512;

impl Translator {
    /// Makes a function: from a packed form in memory to the cells of the state in work, and to those at another place.
    pub(super) fn unpack(&mut self, words: usize, copy: Option<usize>) -> Result<FuncId, Box<ModuleError>> {
        let mut signature = self.module.make_signature();
        signature.params = vec![AbiParam::new(I64)];
        let id = self.module.declare_anonymous_function(&signature)?;
        self.context.func.signature = signature;
        let mut builder = FunctionBuilder::new(&mut self.context.func, &mut self.builder);
        let block = builder.create_block();
        builder.append_block_params_for_function_params(block);
        builder.switch_to_block(block);
        let memory = builder.block_params(block)[0];
        let offset = |cell: usize| (cell * 8) as i32;
        let mut present = None;
        for cell in 0..self.places.fields.len() {
            let at = self.places.word(cell);
            let word = match present {
                Some((there, word)) if there == at => word,
                _ => builder.ins().load(I64, MemFlagsData::trusted(), memory, offset(words + at)),
            };
            present = Some((at, word));
            let content = self.places.read(&mut builder, cell, word);
            builder.ins().store(MemFlagsData::trusted(), content, memory, offset(cell));
            if let Some(copy) = copy {
                builder.ins().store(MemFlagsData::trusted(), content, memory, offset(copy + cell));
            }
        }
        builder.ins().return_(&[]);
        builder.seal_all_blocks();
        builder.finalize(self.module.target_config());
        self.module.define_function(id, &mut self.context)?;
        self.module.clear_context(&mut self.context);
        Ok(id)
    }
}
