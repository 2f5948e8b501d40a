//! Front ends: concurrent boolean programs, thread transition systems and Petri nets.
//!
//! [`load_tts`] turns a source text into a [`Model`] with a sort `Thread` of any size, or of the size that the options say.

mod bp;
pub mod codes;
mod coloured;
mod init;
mod make;
mod mcc;
mod net;
mod pnml;
mod questions;
mod spec;
mod tts;

pub use bp::VOCABULARY;
use shoal_model::{Model, Watch};
use shoal_syntax::{Diagnostic, Diagnostics, SourceId, SourceMap};

/// How a source is to be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Where threads begin, instead of what the language says.
    pub init: Option<String>,
    /// What must not be reached, instead of what the source says.
    pub target: Option<String>,
    /// Values for names: `Thread` for the number of threads, variables of nets for their initial values. Nothing is any number.
    pub set: Vec<(String, Option<i64>)>,
    /// When to give up: then there is neither a model nor an error.
    pub watch: Watch,
}

impl Options {
    /// The number of threads, where one is set; what is wrong with the settings else.
    fn threads(&self) -> Result<Option<u32>, String> {
        let mut threads = None;
        for (name, value) in &self.set {
            match (name.as_str(), value) {
                ("Thread" | "threads", None) => threads = None,
                ("Thread" | "threads", Some(value)) => match u32::try_from(*value) {
                    Ok(value) if value > 0 => threads = Some(value),
                    _ => return Err(format!("there cannot be {value} threads")),
                },
                _ => {
                    return Err(format!("there is no `{name}` to set; the number of threads is `Thread`"));
                }
            }
        }
        Ok(threads)
    }
}

/// Makes a model of a thread transition system. `property` is the companion file with the target, if there is one.
pub fn load_tts(
    sources: &SourceMap,
    id: SourceId,
    property: Option<SourceId>,
    options: &Options,
) -> (Option<Model>, Diagnostics) {
    finish(sources, id, tts::load(sources, id, property, options))
}

/// Makes a model of a concurrent boolean program.
pub fn load_bp(sources: &SourceMap, id: SourceId, options: &Options) -> (Option<Model>, Diagnostics) {
    finish(sources, id, bp::load(sources, id, bp::Precedence::Satabs, options))
}

/// Makes a model of a concurrent boolean program in the dialect of BoPP.
pub fn load_nbp(sources: &SourceMap, id: SourceId, options: &Options) -> (Option<Model>, Diagnostics) {
    finish(sources, id, bp::load(sources, id, bp::Precedence::Bopp, options))
}

/// Makes a model of a MIST net: each variable is a counter without bound.
pub fn load_spec(sources: &SourceMap, id: SourceId, options: &Options) -> (Option<Model>, Diagnostics) {
    finish(sources, id, spec::load(sources, id, options))
}

/// Makes a model of a PNML place/transition net, in which each place is a counter without bound, or of a symmetric net. `asked` are files with properties as
/// the Model Checking Contest writes them.
pub fn load_pnml(
    sources: &SourceMap,
    id: SourceId,
    asked: &[SourceId],
    options: &Options,
) -> (Option<Model>, Diagnostics) {
    finish(sources, id, pnml::load(sources, id, asked, options))
}

/// Names a model and checks that it is well formed.
fn finish(
    sources: &SourceMap,
    id: SourceId,
    (model, mut diagnostics): (Option<Model>, Diagnostics),
) -> (Option<Model>, Diagnostics) {
    let Some(mut model) = model.filter(|_| !diagnostics.has_errors()) else { return (None, diagnostics) };
    let stem = sources.file(id).name().rsplit(['/', '\\']).next().unwrap_or_default();
    model.name = stem.rsplit_once('.').map_or(stem, |(name, _)| name).to_string();
    if let Err(malformed) = shoal_model::verify(&model) {
        let message = format!("{malformed}; this is a mistake in Shoal, please report it");
        diagnostics.push(Diagnostic::error(codes::INTERNAL, malformed.span, message));
        return (None, diagnostics);
    }
    (Some(model), diagnostics)
}
