//! Searches by several processes, or on disk, that are saved: files in one folder that all processes see.
//!
//! A file is written under another name and gets its own when it is whole and on the disk, so a name that is there stands for all of
//! its bytes. Each file is guarded, and belongs to one search and to its name: none is taken for another.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
    time::Instant,
};

use shoal_explicit::{LevelFiles, StateFiles, Writing};
use shoal_model::{Job, Model};

use crate::{
    Checkpoints, Error,
    checkpoint::{
        about, fingerprint,
        guarded::{GuardedReader, GuardedWriter},
    },
};

/// What guarded bytes belong to, before the search and the name.
const MAGIC: &[u8] = b"shoal's levels 1";
/// What is not whole yet.
const UNFINISHED: &str = ".new";

/// The files of a saved search.
pub(super) struct SavedFolder<'o> {
    path: PathBuf,
    options: &'o Checkpoints,
    fingerprint: u64,
    last: Instant,
    /// What went wrong when the search was saved last.
    pub(super) problem: Option<String>,
}

impl<'o> SavedFolder<'o> {
    fn new(path: &Path, options: &'o Checkpoints, model: &Model, job: &Job) -> Self {
        let fingerprint = fingerprint(model, job);
        SavedFolder { path: path.into(), options, fingerprint, last: Instant::now(), problem: None }
    }

    /// Where the search is to be saved, if it is.
    pub(super) fn to_save(
        options: &'o Checkpoints,
        model: &Model,
        job: &Job,
    ) -> Result<Option<SavedFolder<'o>>, Error> {
        let Some(folder) = &options.save else { return Ok(None) };
        fs::create_dir_all(folder).map_err(|error| about(folder, &error))?;
        Ok(Some(SavedFolder::new(folder, options, model, job)))
    }

    /// Where it was saved, if it is to go on.
    pub(super) fn to_resume(options: &'o Checkpoints, model: &Model, job: &Job) -> Option<SavedFolder<'o>> {
        options.resume.as_ref().map(|folder| SavedFolder::new(folder, options, model, job))
    }

    fn head(&self, name: &str) -> Vec<u8> {
        [MAGIC, &self.fingerprint.to_le_bytes(), name.as_bytes()].concat()
    }
}

impl StateFiles for SavedFolder<'_> {
    fn create(&mut self, name: &str) -> io::Result<Box<dyn Writing>> {
        self.options.saving.set(true);
        let unfinished = self.path.join(format!("{name}{UNFINISHED}"));
        // What is left of a run that was killed. Made anew, so that no link is followed.
        if unfinished.symlink_metadata().is_ok() {
            fs::remove_file(&unfinished)?;
        }
        let file = OpenOptions::new().write(true).create_new(true).open(&unfinished)?;
        let out = GuardedWriter::new(BufWriter::with_capacity(1 << 18, file), &self.head(name));
        Ok(Box::new(SavedFile { out, unfinished, whole: self.path.join(name), folder: self.path.clone() }))
    }

    fn open(&mut self, name: &str) -> io::Result<Box<dyn Read>> {
        let input = BufReader::with_capacity(1 << 18, File::open(self.path.join(name))?);
        Ok(Box::new(GuardedReader::new(input, &self.head(name))))
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }
}

impl LevelFiles for SavedFolder<'_> {
    fn due(&mut self) -> bool {
        self.last.elapsed() >= self.options.every
    }

    fn names(&mut self) -> io::Result<Vec<String>> {
        fs::read_dir(&self.path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn saved(&mut self, how: io::Result<()>) {
        self.options.saving.set(false);
        self.problem = how.err().map(|error| about(&self.path, &error).to_string());
        self.last = Instant::now();
    }
}

/// A file that is not whole yet.
struct SavedFile {
    out: GuardedWriter<BufWriter<File>>,
    unfinished: PathBuf,
    whole: PathBuf,
    folder: PathBuf,
}

impl Write for SavedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Writing for SavedFile {
    fn finish(self: Box<Self>) -> io::Result<()> {
        self.out.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(&self.unfinished, &self.whole)?;
        // The new name is on the disk only when the folder is.
        File::open(self.folder)?.sync_all()
    }
}
