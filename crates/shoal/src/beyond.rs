//! Beyond the memory of one process: a disk, and other processes.

mod saved;

use std::{
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use shoal_explicit::{Alone, Exchange, LevelFiles, Party, Refusal, StateFiles, Writing, check_apart};
use shoal_model::{Job, Model, Observer, Outcome};

use crate::{
    CheckOptions, Error,
    checkpoint::{
        about,
        guarded::{GuardedReader, GuardedWriter},
    },
};
use saved::SavedFolder;

/// What a search may use beside the memory of its process.
#[derive(Clone, Debug, Default)]
pub struct Beyond {
    /// Whether nothing is kept of where states were reached from: less memory, and a trace takes about as long as the search again.
    pub thin: bool,
    /// Where states go when memory is full.
    pub disk: Option<DiskSpace>,
    /// The other processes.
    pub processes: Option<Processes>,
}

impl Beyond {
    /// Whether anything is.
    pub fn is_used(&self) -> bool {
        self.thin || self.disk.is_some() || self.processes.is_some()
    }
}

/// A place on a disk.
#[derive(Clone, Debug)]
pub struct DiskSpace {
    /// The folder. A folder of its own is made there for each search, and removed in the end.
    pub folder: PathBuf,
    /// How many bytes may be used, if there is a limit.
    pub limit: Option<u64>,
}

/// The processes that search together. Clones are the same.
#[derive(Clone)]
pub struct Processes(Arc<Mutex<dyn Exchange + Send>>);

impl Processes {
    /// The processes that this one can exchange states with.
    pub fn new(exchange: impl Exchange + Send + 'static) -> Processes {
        Processes(Arc::new(Mutex::new(exchange)))
    }
}

impl fmt::Debug for Processes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Processes")
    }
}

/// Decides properties with what there is beyond the memory of this process.
pub(crate) fn check(
    model: &Model,
    job: &Job,
    options: &CheckOptions,
    observer: &mut dyn Observer,
    unsaved: &mut Option<String>,
) -> Result<Outcome, Error> {
    let Beyond { disk, processes, .. } = &options.beyond;
    let checkpoints = &options.checkpoints;
    let mut folder = disk.as_ref().map(DiskFolder::new).transpose()?;
    let mut saves = SavedFolder::to_save(checkpoints, model, job)?;
    let mut resumes = SavedFolder::to_resume(checkpoints, model, job);
    let (mut alone, mut others) = (Alone::default(), None);
    let exchange: &mut dyn Exchange = match processes {
        Some(Processes(exchange)) => {
            &mut **others.insert(exchange.lock().unwrap_or_else(PoisonError::into_inner))
        }
        None => &mut alone,
    };
    let mut party = Party::new(exchange);
    party.disk = folder.as_mut().map(|folder| folder as &mut dyn StateFiles);
    party.saves = saves.as_mut().map(|folder| folder as &mut dyn LevelFiles);
    party.resumes = resumes.as_mut().map(|folder| folder as &mut dyn LevelFiles);
    let outcome = check_apart(model, job, observer, &mut party);
    *unsaved = saves.and_then(|saves| saves.problem);
    outcome.map_err(|refusal| match (refusal, &checkpoints.resume) {
        (Refusal::Unsupported(unsupported), _) => Error::Unsupported(unsupported),
        (Refusal::Saved(error), Some(folder)) => about(folder, &error),
        (Refusal::Saved(error), None) => Error::Internal(error.to_string()),
    })
}

/// Files of a search in a folder of its own.
struct DiskFolder {
    path: PathBuf,
    limit: u64,
    used: Arc<AtomicU64>,
}

/// What guarded bytes belong to.
const HEAD: &[u8] = b"shoal's states 1";

impl DiskFolder {
    fn new(space: &DiskSpace) -> Result<DiskFolder, Error> {
        let failed = |error: io::Error| Error::File {
            path: space.folder.display().to_string(),
            problem: format!("no folder can be made here for the search: {error}"),
        };
        fs::create_dir_all(&space.folder).map_err(failed)?;
        let mut number = 0u32;
        let path = loop {
            let path = space.folder.join(format!("shoal-{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => break path,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 10_000 => number += 1,
                Err(error) => return Err(failed(error)),
            }
        };
        Ok(DiskFolder { path, limit: space.limit.unwrap_or(u64::MAX), used: Arc::default() })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for DiskFolder {
    fn drop(&mut self) {
        // What cannot be removed stays, and is of no use to anybody.
        let _ = fs::remove_dir_all(&self.path);
    }
}

impl StateFiles for DiskFolder {
    fn create(&mut self, name: &str) -> io::Result<Box<dyn Writing>> {
        let file = OpenOptions::new().write(true).create_new(true).open(self.file(name))?;
        let counted = CountedFile { file, used: self.used.clone(), limit: self.limit };
        let out = GuardedWriter::new(BufWriter::with_capacity(1 << 18, counted), HEAD);
        Ok(Box::new(GuardedFile(out)))
    }

    fn open(&mut self, name: &str) -> io::Result<Box<dyn Read>> {
        let input = BufReader::with_capacity(1 << 18, File::open(self.file(name))?);
        Ok(Box::new(GuardedReader::new(input, HEAD)))
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        let path: &Path = &self.file(name);
        let bytes = fs::metadata(path)?.len();
        fs::remove_file(path)?;
        self.used.fetch_sub(bytes, Relaxed);
        Ok(())
    }
}

/// A file of which the bytes are counted.
struct CountedFile {
    file: File,
    used: Arc<AtomicU64>,
    limit: u64,
}

impl Write for CountedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.used.load(Relaxed).saturating_add(bytes.len() as u64) > self.limit {
            return Err(io::Error::other(format!("the limit of {} bytes of disk is reached", self.limit)));
        }
        let written = self.file.write(bytes)?;
        self.used.fetch_add(written as u64, Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

struct GuardedFile(GuardedWriter<BufWriter<CountedFile>>);

impl Write for GuardedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Writing for GuardedFile {
    fn finish(self: Box<Self>) -> io::Result<()> {
        self.0.finish()?.into_inner().map(drop).map_err(io::IntoInnerError::into_error)
    }
}
