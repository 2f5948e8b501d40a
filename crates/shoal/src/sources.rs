//! The texts that a model is made of.

use std::path::Path;

use crate::{Error, read_text};

/// Finds a text by its name: nothing if there is none, an error if there is one that cannot be read.
pub type Resolver = Box<dyn Fn(&str) -> Result<Option<String>, Error> + Send + Sync>;

/// The texts that a model is made of: the main one, others by name (what it includes, queries in a file of their own), and
/// whoever finds more of them. Only what the caller gives is read.
///
/// ```
/// use shoal::{LoadOptions, Sources};
///
/// let sources = Sources::text("main.pml", "#include \"lib.h\"\nactive proctype p() { assert(LIMIT == 3) }")
///     .with("lib.h", "#define LIMIT 3");
/// let loaded = shoal::load_sources(&sources, &LoadOptions::default())?;
/// assert_eq!(loaded.sources.files().count(), 2);
/// # Ok::<(), shoal::Error>(())
/// ```
pub struct Sources {
    name: String,
    text: String,
    others: Vec<(String, String)>,
    resolver: Option<Resolver>,
}

impl Sources {
    /// One text. The ending of its name says in which language it is.
    pub fn text(name: impl Into<String>, text: impl Into<String>) -> Sources {
        Sources { name: name.into(), text: text.into(), others: Vec::new(), resolver: None }
    }

    /// A file, and whatever it refers to on the disk.
    pub fn file(path: impl AsRef<Path>) -> Result<Sources, Error> {
        let path = path.as_ref();
        let text = read_text(path)?;
        Ok(Sources::text(path.display().to_string(), text).resolved_by(Box::new(from_disk)))
    }

    /// With another text.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, text: impl Into<String>) -> Sources {
        self.others.push((name.into(), text.into()));
        self
    }

    /// With somebody who finds texts that are not given.
    #[must_use]
    pub fn resolved_by(mut self, resolver: Resolver) -> Sources {
        self.resolver = Some(resolver);
        self
    }

    /// The name of the main text.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The main text.
    pub fn main(&self) -> &str {
        &self.text
    }

    /// The text with a name, if there is one.
    pub(crate) fn find(&self, name: &str) -> Result<Option<String>, Error> {
        if let Some((_, text)) = self.others.iter().find(|(known, _)| known == name) {
            return Ok(Some(text.clone()));
        }
        self.resolver.as_ref().map_or(Ok(None), |resolver| resolver(name))
    }
}

fn from_disk(name: &str) -> Result<Option<String>, Error> {
    match Path::new(name).is_file() {
        true => read_text(name).map(Some),
        false => Ok(None),
    }
}
