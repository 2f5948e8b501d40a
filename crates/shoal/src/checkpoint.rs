//! Saved searches on disk: one file in a folder, replaced as a whole, so that a killed run leaves the last one.

use std::{
    fs::{self, File},
    io::{self, BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use shoal_explicit::{Keeper, Save};
use shoal_model::{Job, Model};

use crate::Error;

/// Where to save a search and how often, and where to find one to go on with.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    /// The folder to save the search in, if it is to be saved. It is made if it does not exist.
    pub save: Option<PathBuf>,
    /// How often it is saved. It is also saved when the user or a limit of time or depth ends it.
    pub every: Duration,
    /// The folder with a saved search to go on with.
    pub resume: Option<PathBuf>,
}

impl Default for Checkpoints {
    /// Nothing is saved; if it were, then once a minute.
    fn default() -> Self {
        Checkpoints { save: None, every: Duration::from_secs(60), resume: None }
    }
}

/// What a saved search begins with. The number changes when the format does.
const MAGIC: &[u8; 16] = b"shoal search  4\n";
const FILE: &str = "search.shoal";
const UNFINISHED: &str = "search.shoal.new";

/// Saves searches as [`Checkpoints`] say.
pub(crate) struct Files<'o> {
    options: &'o Checkpoints,
    fingerprint: u64,
    saved: Instant,
    /// How long the last save took: it should take a small part of the time only.
    took: Duration,
    /// What went wrong when the search was saved last.
    pub(crate) problem: Option<String>,
}

impl<'o> Files<'o> {
    pub(crate) fn new(options: &'o Checkpoints, model: &Model, job: &Job) -> Result<Self, Error> {
        if let Some(folder) = &options.save {
            fs::create_dir_all(folder).map_err(|error| about(folder, &error))?;
        }
        let fingerprint = fingerprint(model, job);
        Ok(Files { options, fingerprint, saved: Instant::now(), took: Duration::ZERO, problem: None })
    }

    fn write(&self, folder: &Path, save: Save<'_>) -> io::Result<()> {
        let unfinished = folder.join(UNFINISHED);
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&unfinished)?);
        out.write_all(MAGIC)?;
        out.write_all(&self.fingerprint.to_le_bytes())?;
        save(&mut out)?;
        out.into_inner()?.sync_all()?;
        fs::rename(unfinished, folder.join(FILE))
    }

    fn open(&self, folder: &Path) -> io::Result<Box<dyn Read>> {
        let mut input = BufReader::with_capacity(1 << 20, File::open(folder.join(FILE))?);
        let (mut magic, mut fingerprint) = ([0; 16], [0; 8]);
        input.read_exact(&mut magic)?;
        input.read_exact(&mut fingerprint)?;
        if magic != *MAGIC {
            return Err(io::Error::other("this is no search that this version of Shoal has saved"));
        }
        if u64::from_le_bytes(fingerprint) != self.fingerprint {
            return Err(io::Error::other(
                "the search that is saved here is of another model, or of this one with other constants, \
                 options or properties",
            ));
        }
        Ok(Box::new(input))
    }
}

impl Keeper for Files<'_> {
    fn due(&mut self) -> bool {
        self.options.save.is_some() && self.saved.elapsed() >= self.options.every.max(self.took * 10)
    }

    fn save(&mut self, save: Save<'_>) {
        let Some(folder) = &self.options.save else { return };
        let began = Instant::now();
        self.problem = self.write(folder, save).err().map(|error| about(folder, &error).to_string());
        self.saved = Instant::now();
        self.took = self.saved - began;
    }

    fn resume(&mut self) -> io::Result<Option<Box<dyn Read>>> {
        self.options.resume.as_ref().map(|folder| self.open(folder)).transpose()
    }
}

/// An error that is about a folder.
pub(crate) fn about(folder: &Path, error: &io::Error) -> Error {
    let problem = match error.kind() {
        io::ErrorKind::NotFound => "there is no saved search here".to_string(),
        io::ErrorKind::UnexpectedEof => "the saved search is damaged".to_string(),
        io::ErrorKind::OutOfMemory => "the saved search does not fit in the memory allowed".to_string(),
        _ => error.to_string(),
    };
    Error::File { path: folder.display().to_string(), problem }
}

/// A hash (FNV-1a) of all that a saved search depends on. Limits and threads are not part of that.
fn fingerprint(model: &Model, job: &Job) -> u64 {
    let text = format!("{} {:?} {:?} {model:?}", env!("CARGO_PKG_VERSION"), job.properties, job.symmetric);
    let text = format!("{text} {:?}", job.strategy);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
