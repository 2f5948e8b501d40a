//! Files below one folder: what a server may read and write, whatever it is asked for.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
    time::SystemTime,
};

use crate::{Error, Resolver, Sources};

/// A folder that files are read and written below, and nowhere else: `..`, absolute paths and links that lead out of it are
/// refused.
#[derive(Clone, Debug)]
pub struct Folder {
    root: PathBuf,
}

/// A file below a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderEntry {
    /// Its path from the folder, with `/` between the parts.
    pub path: String,
    /// How large it is.
    pub bytes: u64,
    /// When it was changed, if that is known.
    pub modified: Option<SystemTime>,
}

/// So many files are listed.
const MOST_FILES: usize = 5_000;
/// Folders deeper than this are not looked into.
const DEEPEST: usize = 12;

impl Folder {
    /// The folder at a path.
    pub fn new(root: &Path) -> io::Result<Folder> {
        let root = root.canonicalize()?;
        match root.is_dir() {
            true => Ok(Folder { root }),
            false => Err(io::Error::new(io::ErrorKind::NotADirectory, "is no folder")),
        }
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where a file is, if it is below the root: also after links were followed.
    fn find(&self, name: &str) -> Result<PathBuf, Error> {
        let path = plain(name)?;
        let found = self
            .root
            .join(path)
            .canonicalize()
            .map_err(|error| wrong(name, &format!("cannot be opened: {error}")))?;
        match found.starts_with(&self.root) {
            true => Ok(found),
            false => Err(wrong(name, OUTSIDE)),
        }
    }

    /// A file and whatever it refers to below the root.
    pub fn sources(&self, name: &str) -> Result<Sources, Error> {
        let text = self.read(name)?;
        Ok(Sources::text(name, text).resolved_by(self.resolver()))
    }

    /// The text of a file.
    pub fn read(&self, name: &str) -> Result<String, Error> {
        crate::read_text(self.find(name)?).map_err(|error| match error {
            // The path as the client named it, not where the folder is.
            Error::File { problem, .. } => Error::File { path: name.into(), problem },
            other => other,
        })
    }

    /// Finds what a model includes. What is elsewhere is as if it were not there.
    pub fn resolver(&self) -> Resolver {
        let folder = self.clone();
        Box::new(move |name| match folder.find(name) {
            Ok(_) => folder.read(name).map(Some),
            Err(_) => Ok(None),
        })
    }

    /// The files below the root, by path. Links are not followed, and what is hidden is not shown.
    pub fn list(&self) -> Vec<FolderEntry> {
        let mut found = Vec::new();
        let mut open = vec![(self.root.clone(), String::new(), 0)];
        while let Some((folder, prefix, depth)) = open.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let (Ok(kind), Some(name)) =
                    (entry.file_type(), entry.file_name().to_str().map(String::from))
                else {
                    continue;
                };
                let path = format!("{prefix}{name}");
                if name.starts_with('.') || found.len() >= MOST_FILES {
                    continue;
                }
                if kind.is_dir() && depth < DEEPEST {
                    open.push((entry.path(), format!("{path}/"), depth + 1));
                } else if kind.is_file() {
                    let about = entry.metadata().ok();
                    let bytes = about.as_ref().map_or(0, fs::Metadata::len);
                    found.push(FolderEntry {
                        path,
                        bytes,
                        modified: about.and_then(|it| it.modified().ok()),
                    });
                }
            }
        }
        found.sort_by(|one, other| one.path.cmp(&other.path));
        found
    }

    /// Writes a file as a whole: who reads it meanwhile has the old text or the new one. Its folder must be there.
    pub fn write(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = plain(name)?;
        let (Some(parent), Some(file)) = (path.parent(), path.file_name().and_then(|it| it.to_str())) else {
            return Err(wrong(name, OUTSIDE));
        };
        let cannot = |error: io::Error| wrong(name, &format!("cannot be written: {error}"));
        let parent = self.root.join(parent).canonicalize().map_err(cannot)?;
        if !parent.starts_with(&self.root) {
            return Err(wrong(name, OUTSIDE));
        }
        let target = parent.join(file);
        match fs::symlink_metadata(&target) {
            Ok(about) if !about.is_file() => return Err(wrong(name, "is no file of its own")),
            Ok(_) | Err(_) => {}
        }
        let half = parent.join(format!(".{file}.{}.half", std::process::id()));
        let written = fs::write(&half, text).and_then(|()| fs::rename(&half, &target));
        written.map_err(|error| {
            // What is left of it is of no use, and whether it can be removed is all the same.
            let _ = fs::remove_file(&half);
            cannot(error)
        })
    }
}

const OUTSIDE: &str = "is not a path below the folder of the server";

fn wrong(name: &str, problem: &str) -> Error {
    Error::File { path: name.into(), problem: problem.into() }
}

/// A path of names alone.
fn plain(name: &str) -> Result<&Path, Error> {
    let path = Path::new(name);
    let plain = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    match name.is_empty() || name.contains(['\0', '\\', ':']) || !plain {
        true => Err(wrong(name, OUTSIDE)),
        false => Ok(path),
    }
}
