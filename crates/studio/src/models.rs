//! Models that are looked at, and the files they are in.

use std::{
    collections::VecDeque,
    hash::{DefaultHasher, Hash, Hasher},
    path::Path,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use serde_json::{Value as Json, json};
use shoal::{
    CheckOptions, Error, Folder, Limits, LoadOptions, Loaded, Session, Sources, Watch, is_known_ending,
    model::SortSize,
};
use shoal_report::{Arguments, range_as_json};

use crate::{
    Studio,
    api::{Call, CallError, diagnostics, object},
    locked,
};

/// So many models are kept as they were loaded.
const KEPT: usize = 8;
/// No text that somebody edits takes longer to be read.
const PATIENCE: Duration = Duration::from_secs(20);

/// The models that were looked at last.
#[derive(Debug, Default)]
pub(crate) struct Models {
    kept: Mutex<VecDeque<(ModelCall, Session)>>,
}

/// What a call says of the model that it is about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ModelCall {
    pub(crate) file: String,
    pub(crate) text: String,
    set: Vec<(String, i64)>,
    any: Vec<String>,
}

/// A text in a few letters: whether a verdict is about this text.
pub(crate) fn hash_of(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

impl ModelCall {
    /// Takes `file`, `text` and `set` from a call. Without a text, the file's own.
    pub(crate) fn take(folder: &Folder, given: &mut Arguments) -> Result<ModelCall, CallError> {
        let file = given.needed("file")?;
        let (set, any) = given.constants("set")?;
        let text = match given.text("text")? {
            Some(text) => text,
            None => folder.read(&file)?,
        };
        Ok(ModelCall { file, text, set, any })
    }

    /// A file with constants as they are written, `N=3,M=any`.
    pub(crate) fn named(folder: &Folder, file: &str, set: &str) -> Result<ModelCall, CallError> {
        let mut call =
            ModelCall { file: file.into(), text: folder.read(file)?, set: Vec::new(), any: Vec::new() };
        for part in set.split(',').filter(|part| !part.is_empty()) {
            let wrong = || CallError::from(format!("{part:?} is not NAME=NUMBER or NAME=any"));
            let (name, value) = part.split_once('=').ok_or_else(wrong)?;
            match value {
                "any" => call.any.push(name.into()),
                number => call.set.push((name.into(), number.parse().map_err(|_| wrong())?)),
            }
        }
        Ok(call)
    }

    pub(crate) fn set(&self) -> Vec<(String, i64)> {
        self.set.clone()
    }

    pub(crate) fn hash(&self) -> String {
        hash_of(&self.text)
    }

    /// The values of constants, as a call gives them.
    pub(crate) fn settings(&self) -> Json {
        let set = self.set.iter().map(|(name, value)| (name.clone(), json!(value)));
        set.chain(self.any.iter().map(|name| (name.clone(), json!("any")))).collect()
    }

    pub(crate) fn load(&self, folder: &Folder, watch: Watch) -> Result<Loaded, Error> {
        let sources = Sources::text(&self.file, &self.text).resolved_by(folder.resolver());
        let (set, any) = (self.set.clone(), self.any.clone());
        shoal::load_sources(&sources, &LoadOptions { set, any, watch, ..LoadOptions::default() })
    }
}

impl Studio {
    /// The model of a call, loaded: as it was the last time if nothing has changed since.
    pub(crate) fn session(&self, call: &ModelCall) -> Result<Session, CallError> {
        let known = locked(&self.models.kept).iter().find(|(known, _)| known == call).map(|it| it.1.clone());
        if let Some(session) = known.filter(|session| self.is_current(session)) {
            return Ok(session);
        }
        let watch = Watch::start(Limits { time: Some(PATIENCE), ..Limits::default() });
        let mut loaded = call.load(&self.folder, watch)?;
        // It is asked again long after that time.
        loaded.options.watch = Watch::default();
        let session = Session::of(loaded);
        let mut kept = self.models.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(known, _)| known != call);
        kept.push_back((call.clone(), session.clone()));
        if kept.len() > KEPT {
            kept.pop_front();
        }
        Ok(session)
    }

    /// Whether what a model includes is still the same.
    fn is_current(&self, session: &Session) -> bool {
        let others = session.loaded().sources.files().skip(1);
        others.into_iter().all(|file| self.folder.read(file.name()).is_ok_and(|text| text == file.text()))
    }

    pub(crate) fn info(&self) -> Json {
        let name = self.folder.root().file_name().map(|name| name.to_string_lossy().into_owned());
        json!({ "version": env!("CARGO_PKG_VERSION"), "folder": name, "read_only": self.read_only,
            "root": self.folder.root().to_string_lossy(), "embedded": self.options.embedded, "editor": self.options.editor,
            "limits": self.jobs.limits(),
            "engines": shoal::EngineKind::ALL.iter().map(|engine| engine.name()).collect::<Vec<_>>() })
    }

    /// The models and traces below the folder.
    pub(crate) fn files(&self) -> Json {
        let file = |entry: shoal::FolderEntry| {
            let kind = kind_of(&entry.path)?;
            Some(json!({ "path": entry.path, "kind": kind, "bytes": entry.bytes }))
        };
        json!({ "files": self.folder.list().into_iter().filter_map(file).collect::<Vec<_>>() })
    }

    pub(crate) fn file(&self, name: &str) -> Call {
        let text = self.folder.read(name)?;
        object(json!({ "path": name, "hash": hash_of(&text), "text": text }))
    }

    /// Writes a model. `hash` is that of the text that the writer has read: another one on the disk is not written over.
    pub(crate) fn save(&self, name: &str, given: &mut Arguments) -> Call {
        let (text, hash) = (given.needed("text")?, given.text("hash")?);
        given.end()?;
        if self.read_only {
            return Err(CallError::new(403, "read-only", "this server writes nothing"));
        }
        let ending = Path::new(name).extension().and_then(|it| it.to_str()).unwrap_or_default();
        if !is_known_ending(ending) {
            return Err(CallError::new(403, "ending", "only models are written"));
        }
        let there = self.folder.read(name).ok().map(|text| hash_of(&text));
        if there.is_some() && there != hash {
            return Err(CallError::new(412, "changed", "the file has changed on the disk"));
        }
        self.folder.write(name, &text)?;
        object(json!({ "path": name, "hash": hash_of(&text) }))
    }

    pub(crate) fn diagnose(&self, given: &mut Arguments) -> Call {
        let call = ModelCall::take(&self.folder, given)?;
        given.end()?;
        let (is_fine, found) = match self.session(&call) {
            Ok(session) => {
                let loaded = session.loaded();
                (true, diagnostics(&loaded.sources, &loaded.diagnostics))
            }
            Err(error) if error.code == "source" => (false, error.diagnostics),
            Err(error) => return Err(error),
        };
        object(json!({ "hash": call.hash(), "ok": is_fine, "diagnostics": found }))
    }

    /// Whether a text is an expression of a model, and of which kind.
    pub(crate) fn expression(&self, given: &mut Arguments) -> Call {
        let call = ModelCall::take(&self.folder, given)?;
        let text = given.needed("expression")?;
        given.end()?;
        let session = self.session(&call)?;
        let (condition, found) = match shoal::ask(session.loaded(), &text) {
            Ok(asked) => (Some(asked.is_condition()), Vec::new()),
            Err(Error::Source(rejected)) => (None, diagnostics(&rejected.sources, &rejected.diagnostics)),
            Err(error) => return Err(error.into()),
        };
        object(
            json!({ "hash": call.hash(), "ok": condition.is_some(), "condition": condition, "diagnostics": found }),
        )
    }

    pub(crate) fn model(&self, given: &mut Arguments) -> Call {
        let call = ModelCall::take(&self.folder, given)?;
        given.end()?;
        let session = self.session(&call)?;
        let watch = Watch::start(Limits { time: Some(PATIENCE), ..Limits::default() });
        let plan = session.plan(&CheckOptions { watch, ..CheckOptions::default() })?;
        object(described(session.loaded(), &plan.reason, &call.hash()))
    }
}

/// What a file is to the workbench, by its name: a run, a model, or nothing.
pub(crate) fn kind_of(path: &str) -> Option<&'static str> {
    let ending = Path::new(path).extension().and_then(|it| it.to_str()).unwrap_or_default();
    match () {
        () if path.ends_with(".itf.json") => Some("trace"),
        () if is_known_ending(ending) => Some("model"),
        () => None,
    }
}

/// How many elements there are, in a word.
fn size(size: SortSize) -> Json {
    match size {
        SortSize::Fixed(size) => json!(size),
        SortSize::Growing { limit: Some(limit), .. } => json!(format!("up to {limit}")),
        SortSize::Growing { limit: None, .. } => json!("growing"),
        SortSize::Any => json!("any"),
    }
}

/// What there is in a model.
fn described(loaded: &Loaded, plan: &str, hash: &str) -> Json {
    let (model, sources) = (&loaded.model, &loaded.sources);
    let symmetry = shoal::symmetry_of_steps(model);
    let sorts: Vec<Json> = model
        .sorts
        .enumerate()
        .map(|(id, sort)| {
            let known = &symmetry.sorts[id];
            let breaks = known
                .breaks
                .iter()
                .take(20)
                .map(|it| json!({ "range": range_as_json(sources, it.span), "text": it.reason.to_string() }));
            json!({ "name": sort.name, "size": size(sort.size), "proved": known.is_proved(), "breaks": breaks.collect::<Vec<_>>() })
        })
        .collect();
    let named = |ty| model.show_type(ty).to_string();
    let hints: Vec<Json> = shoal::scalarset_hints(model)
        .into_iter()
        .map(|hint| json!({ "name": hint.name, "with": hint.with.into_iter().map(named).collect::<Vec<_>>(), "range": range_as_json(sources, hint.span) }))
        .collect();
    let variables: Vec<Json> = model
        .vars
        .iter()
        .map(|var| json!({ "name": var.name, "type": model.show_type(var.ty).to_string() }))
        .collect();
    let rules: Vec<Json> = model
        .rules
        .iter()
        .map(|rule| json!({ "name": rule.name, "range": range_as_json(sources, rule.span) }))
        .collect();
    let properties: Vec<Json> = loaded
        .asked
        .iter()
        .map(|id| {
            let property = &model.properties[*id];
            json!({ "name": property.name, "title": property.title(), "kind": property.kind.noun(), "range": range_as_json(sources, property.span) })
        })
        .collect();
    json!({ "hash": hash, "language": loaded.language, "name": model.name, "sorts": sorts, "hints": hints, "variables": variables, "rules": rules,
        "properties": properties, "plan": plan })
}
