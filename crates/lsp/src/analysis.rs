//! A text, read by its front end.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use shoal::{
    Error, LoadOptions, Loaded, Sources,
    model::{Cancel, Limits, Watch},
    read_text,
    syntax::{Diagnostics, SourceMap},
};

use crate::names::Names;

/// No text that somebody edits takes longer, or so it is said.
const PATIENCE: Duration = Duration::from_secs(20);

/// What is known of a text.
#[derive(Debug)]
pub(crate) struct Analysis {
    /// The version of the document that was read.
    pub(crate) version: i64,
    /// The model, if there are no errors.
    pub(crate) loaded: Option<Arc<Loaded>>,
    pub(crate) names: Names,
    pub(crate) sources: SourceMap,
    pub(crate) diagnostics: Diagnostics,
    /// What is wrong and has no place in a text.
    pub(crate) elsewhere: Option<String>,
}

/// A text that is to be read.
pub(crate) struct Reading {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) version: i64,
    /// The ending of files in the language, where the name has none that is known.
    pub(crate) language: Option<String>,
    /// The texts of the other documents that are open: they count, not what is saved.
    pub(crate) others: BTreeMap<String, String>,
    pub(crate) cancel: Cancel,
}

impl Reading {
    pub(crate) fn read(self) -> Analysis {
        let watch = Watch::start(Limits { time: Some(PATIENCE), ..Limits::default() });
        let options = LoadOptions {
            language: self.language,
            watch: watch.cancelled_by(&self.cancel),
            ..LoadOptions::default()
        };
        let others = self.others;
        let find = move |name: &str| match others.get(name) {
            Some(text) => Ok(Some(text.clone())),
            None if std::path::Path::new(name).is_file() => read_text(name).map(Some),
            None => Ok(None),
        };
        let sources = Sources::text(self.name, self.text).resolved_by(Box::new(find));
        let (version, nothing) = (self.version, Names::default());
        match shoal::load_sources(&sources, &options) {
            Ok(loaded) => Analysis {
                version,
                names: Names::of(&loaded.model, &loaded.sources),
                sources: loaded.sources.clone(),
                diagnostics: loaded.diagnostics.clone(),
                loaded: Some(Arc::new(loaded)),
                elsewhere: None,
            },
            Err(Error::Source(rejected)) => Analysis {
                version,
                loaded: None,
                names: nothing,
                sources: rejected.sources,
                diagnostics: rejected.diagnostics,
                elsewhere: None,
            },
            Err(error) => Analysis {
                version,
                loaded: None,
                names: nothing,
                sources: SourceMap::new(),
                diagnostics: Diagnostics::new(),
                elsewhere: Some(error.to_string()),
            },
        }
    }
}
