//! Files below one folder.

use std::{
    io,
    path::{Component, Path, PathBuf},
};

use shoal::{Error, Resolver, Sources};

/// The folder that files are read below.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    root: PathBuf,
}

impl Folder {
    pub(crate) fn new(root: &Path) -> io::Result<Folder> {
        Ok(Folder { root: root.canonicalize()? })
    }

    /// Where a file is, if it is below the root: also after links were followed.
    fn find(&self, name: &str) -> Result<PathBuf, Error> {
        let wrong = |problem: &str| Error::File { path: name.into(), problem: problem.into() };
        let path = Path::new(name);
        let plain = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if name.is_empty() || name.contains('\0') || !plain {
            return Err(wrong("is not a path below the folder of the server"));
        }
        let found = self
            .root
            .join(path)
            .canonicalize()
            .map_err(|error| wrong(&format!("cannot be opened: {error}")))?;
        match found.starts_with(&self.root) {
            true => Ok(found),
            false => Err(wrong("is not below the folder of the server")),
        }
    }

    /// A file and whatever it refers to below the root.
    pub(crate) fn sources(&self, name: &str) -> Result<Sources, Error> {
        let text = self.read(name)?;
        Ok(Sources::text(name, text).resolved_by(self.resolver()))
    }

    fn read(&self, name: &str) -> Result<String, Error> {
        shoal::read_text(self.find(name)?).map_err(|error| match error {
            // The path as the client named it, not where the folder is.
            Error::File { problem, .. } => Error::File { path: name.into(), problem },
            other => other,
        })
    }

    /// Finds what a model includes. What is elsewhere is as if it were not there.
    pub(crate) fn resolver(&self) -> Resolver {
        let folder = self.clone();
        Box::new(move |name| match folder.find(name) {
            Ok(_) => folder.read(name).map(Some),
            Err(_) => Ok(None),
        })
    }
}
