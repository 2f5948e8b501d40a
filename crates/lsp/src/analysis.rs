//! A text, read by its front end.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
    time::Duration,
};

use shoal::{
    CheckOptions, Error, LoadOptions, Loaded, Sources,
    model::{Cancel, Limits, Model, Watch},
    read_text,
    syntax::{Diagnostics, SourceMap, Span},
    vocabulary_of,
};

use crate::names::NameTable;

/// No text that somebody edits takes longer, or so it is said.
const PATIENCE: Duration = Duration::from_secs(20);

/// What is known of a text.
#[derive(Debug)]
pub(crate) struct TextAnalysis {
    /// The version of the document that was read.
    pub(crate) version: i64,
    /// The model, if there are no errors.
    pub(crate) loaded: Option<Arc<Loaded>>,
    pub(crate) names: NameTable,
    pub(crate) sources: SourceMap,
    pub(crate) diagnostics: Diagnostics,
    /// What is wrong and has no place in a text.
    pub(crate) elsewhere: Option<String>,
    /// What is known of each sort, once somebody has asked.
    sorts: OnceLock<BTreeMap<String, SortKnown>>,
}

/// What is known of a sort.
#[derive(Clone, Debug)]
pub(crate) struct SortKnown {
    /// How many elements it has; none for any number.
    pub(crate) size: Option<u32>,
    /// Elements that the model names.
    pub(crate) pinned: usize,
    /// What is in the way of a proof that they are interchangeable, and where.
    pub(crate) broken: Option<(String, Span)>,
    /// Whether a search checks in every state what is not proved.
    pub(crate) checked: bool,
}

impl TextAnalysis {
    fn new(version: i64, sources: SourceMap, diagnostics: Diagnostics) -> TextAnalysis {
        TextAnalysis {
            version,
            loaded: None,
            names: NameTable::default(),
            sources,
            diagnostics,
            elsewhere: None,
            sorts: OnceLock::new(),
        }
    }

    fn with(self, loaded: Loaded) -> TextAnalysis {
        TextAnalysis { loaded: Some(Arc::new(loaded)), ..self }
    }

    /// What is known of the sorts, by name.
    pub(crate) fn sorts(&self) -> &BTreeMap<String, SortKnown> {
        self.sorts.get_or_init(|| {
            let Some(loaded) = &self.loaded else { return BTreeMap::new() };
            let checked = shoal::plan(loaded, &CheckOptions::default()).checked;
            let symmetry = shoal::symmetry_of_steps(&loaded.model);
            let known = loaded.model.sorts.enumerate().map(|(id, sort)| {
                let found = &symmetry.sorts[id];
                let broken = found.breaks.first().map(|broken| (broken.reason.clone(), broken.span));
                let known = SortKnown {
                    size: sort.fixed_size(),
                    pinned: found.pinned.len(),
                    broken,
                    checked: checked.contains(&id),
                };
                (sort.name.clone(), known)
            });
            known.collect()
        })
    }
}

/// A text that is to be read.
pub(crate) struct TextReading {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) version: i64,
    /// The ending of files in the language, where the name has none that is known.
    pub(crate) language: Option<String>,
    /// The texts of the other documents that are open: they count, not what is saved.
    pub(crate) others: BTreeMap<String, String>,
    pub(crate) cancel: Cancel,
}

impl TextReading {
    pub(crate) fn read(self) -> TextAnalysis {
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
        let vocabulary = vocabulary_of(&self.name, options.language.as_deref());
        let words = |names: NameTable, model: Option<&Model>| match vocabulary {
            Some(vocabulary) => names.with_words(&self.text, vocabulary, model),
            None => names,
        };
        let sources = Sources::text(self.name, self.text.clone()).resolved_by(Box::new(find));
        match shoal::load_sources(&sources, &options) {
            Ok(loaded) => TextAnalysis {
                names: words(NameTable::of(&loaded.model, &loaded.sources), Some(&loaded.model)),
                ..TextAnalysis::new(self.version, loaded.sources.clone(), loaded.diagnostics.clone())
            }
            .with(loaded),
            Err(Error::Source(rejected)) => TextAnalysis {
                names: words(NameTable::default(), None),
                ..TextAnalysis::new(self.version, rejected.sources, rejected.diagnostics)
            },
            Err(error) => TextAnalysis {
                elsewhere: Some(error.to_string()),
                ..TextAnalysis::new(self.version, SourceMap::new(), Diagnostics::new())
            },
        }
    }
}
