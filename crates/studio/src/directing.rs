//! How runs are told, said in the page and written into the model: as comments at its end, so that nothing before them moves.

use serde_json::json;
use shoal::{
    Loaded, Session, load_sources,
    story::is_direction,
    syntax::{SourceMap, remarks},
};
use shoal_report::Arguments;

use crate::{
    Studio,
    api::{Call, CallError, object},
    models::hash_of,
};

impl Studio {
    /// Writes how a variable of a run is to be told: in a lane, as a message, or not at all.
    pub(crate) fn direct(&self, id: &str, given: &mut Arguments) -> Call {
        let (variable, how, lane) = (given.needed("variable")?, given.needed("how")?, given.text("lane")?);
        given.end()?;
        if self.read_only {
            return Err(CallError::new(403, "read-only", "nothing is written"));
        }
        let open = self.trace(id)?;
        open.needs_model()?;
        if !open.loaded().model.vars.iter().any(|var| var.name == variable) {
            return Err(CallError::missing(format!("there is no variable {variable}")));
        }
        let direction = match (how.as_str(), lane) {
            ("lane", Some(lane)) if is_name(&lane) => format!("lane {} = {variable}", lane.trim()),
            ("message", None) => format!("message {variable}"),
            ("hide", None) => format!("hide {variable}"),
            _ => {
                return Err(CallError::from(
                    "a variable is told in a `lane` with a name, as a `message`, or `hide`s".to_string(),
                ));
            }
        };
        let line = self.append(open.file(), open.hash(), &direction)?;
        self.traces.forget(open.file());
        object(json!({ "file": open.file(), "line": line }))
    }

    /// Writes a comment for Shoal at the end of a model, if that has the text that was read. Gives the line.
    fn append(&self, file: &str, hash: &str, direction: &str) -> Result<String, CallError> {
        let cannot = |why: &str| CallError::new(422, "not-possible", why.to_string());
        let text = self.folder.read(file)?;
        if hash_of(&text) != hash {
            let why = "the text on the disk is another one than that of the run: save it and check again";
            return Err(CallError::new(412, "changed", why));
        }
        let vocabulary = shoal::vocabulary_of(file, None).filter(|_| !file.ends_with(".xml"));
        let vocabulary = vocabulary.ok_or_else(|| cannot("files of this kind have no comments for it"))?;
        let line = format!("{} shoal: {direction}", vocabulary.line_comment);
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        self.folder.write(file, &format!("{text}{gap}{line}\n"))?;
        // What is no comment where it stands is taken back.
        if load_sources(&self.folder.sources(file)?, &shoal::LoadOptions::default()).is_err()
            && load_sources(
                &shoal::Sources::text(file, &text).resolved_by(self.folder.resolver()),
                &shoal::LoadOptions::default(),
            )
            .is_ok()
        {
            self.folder.write(file, &text)?;
            return Err(cannot("the model cannot be read with that comment"));
        }
        Ok(line)
    }

    /// A model with what was said since it was read of how its runs are told, and the hash of its text then.
    pub(crate) fn lately_directed(&self, session: Session, file: &str, hash: String) -> (Session, String) {
        let loaded = session.loaded();
        let read = loaded.sources.files().next().map(|file| file.text());
        let Ok(text) = self.folder.read(file) else { return (session, hash) };
        let more = read.and_then(|read| text.strip_prefix(read)).unwrap_or_default();
        let directs =
            |line: &str| line.trim().is_empty() || remarks(line).any(|(_, said)| is_direction(said));
        if more.is_empty() || !more.lines().all(directs) {
            return (session, hash);
        }
        let mut sources = SourceMap::new();
        for (at, file) in loaded.sources.files().enumerate() {
            sources.add(file.name(), if at == 0 { text.as_str() } else { file.text() });
        }
        let mut again: Loaded = loaded.clone();
        again.sources = sources;
        (Session::of(again), hash_of(&text))
    }
}

/// Whether a lane can be called so in a comment.
fn is_name(lane: &str) -> bool {
    let lane = lane.trim();
    !lane.is_empty() && !lane.contains(['=', ',']) && !lane.chars().any(char::is_control)
}
