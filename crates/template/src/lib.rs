//! What the languages of process templates have in common: VPL and UPPAAL models have clocks, Red models have pointers, and
//! all make a Model of instances of a template ([`build`]). Text to tokens is in `syntax`.

pub mod build;
mod clocks;
pub mod codes;
mod op;

pub use op::InfixOp;

use shoal_model::{Model, Watch};
use shoal_syntax::{Diagnostic, Diagnostics, SourceId, SourceMap};

/// What the caller says about a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// New values for constants, and sizes for families of processes.
    pub set: Vec<(String, Setting)>,
    /// For UPPAAL models: formulas speak only of runs on which time diverges, not of all that cannot be made longer.
    pub divergent: bool,
    /// When to give up: then there is neither a model nor an error.
    pub watch: Watch,
}

/// What a name is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// A number.
    Number(i64),
    /// Any number of processes.
    Any,
}

/// What a front end gives for a source: the model under the name of its file, which is well formed, or what is wrong.
pub fn finish(
    lowered: Result<Model, Vec<Diagnostic>>,
    sources: &SourceMap,
    id: SourceId,
    diagnostics: &mut Diagnostics,
) -> Option<Model> {
    let mut model = match lowered {
        Ok(model) => model,
        Err(errors) => {
            errors.into_iter().for_each(|error| diagnostics.push(error));
            return None;
        }
    };
    let stem = sources.file(id).name().rsplit(['/', '\\']).next().unwrap_or_default();
    model.name = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem).to_string();
    if let Err(malformed) = shoal_model::verify(&model) {
        let message = format!("{malformed}; this is a mistake in Shoal, please report it");
        diagnostics.push(Diagnostic::error(codes::INTERNAL, malformed.span, message));
        return None;
    }
    Some(model)
}
