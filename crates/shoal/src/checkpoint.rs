//! Saved searches on disk: one file in a folder, replaced as a whole, so that a killed run leaves the last one.
//!
//! The file begins with [`MAGIC`], the version of the format and a fingerprint of what was searched; the search itself is
//! [`guarded`], so that a file of which one bit was changed is refused and never decides anything.

pub(crate) mod guarded;

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use shoal_explicit::{Keeper, Save};
use shoal_model::{Job, Model, OrInternal as _};

use crate::Error;
use guarded::{GuardedReader, GuardedWriter};

/// Where to save a search and how often, and where to find one to go on with.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    /// The folder to save the search in, if it is to be saved. It is made if it does not exist.
    pub save: Option<PathBuf>,
    /// How often it is saved. It is also saved when the user or a limit of time or depth ends it.
    pub every: Duration,
    /// The folder with a saved search to go on with.
    pub resume: Option<PathBuf>,
    /// Whether a search is being saved at the moment.
    pub saving: Saving,
}

/// Tells whether a search is being saved: who ends the process waits for that. Clones are the same handle.
#[derive(Clone, Debug, Default)]
pub struct Saving(Arc<AtomicBool>);

impl Saving {
    /// Whether it is being saved.
    pub fn is_going_on(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) fn set(&self, going_on: bool) {
        self.0.store(going_on, Ordering::SeqCst);
    }
}

impl Default for Checkpoints {
    /// Nothing is saved; if it were, then once a minute.
    fn default() -> Self {
        Checkpoints { save: None, every: Duration::from_secs(60), resume: None, saving: Saving::default() }
    }
}

/// What a saved search begins with.
const MAGIC: &[u8; 16] = b"shoal's search \n";
/// Changes when the format does.
const VERSION: u64 = 7;
const FILE: &str = "search.shoal";
const UNFINISHED: &str = "search.shoal.new";

/// Saves searches as [`Checkpoints`] say.
pub(crate) struct Files<'o> {
    options: &'o Checkpoints,
    /// Of what is searched, if there are files.
    fingerprint: Option<u64>,
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
        // It takes a while, and only files have one.
        let used = options.save.is_some() || options.resume.is_some();
        let fingerprint = used.then(|| fingerprint(model, job));
        Ok(Files { options, fingerprint, saved: Instant::now(), took: Duration::ZERO, problem: None })
    }

    /// What stands before the search: it is not the search of another program, version, model or job.
    fn head(&self) -> Vec<u8> {
        let fingerprint = self.fingerprint.or_internal("the fingerprint of a search that has files");
        [&MAGIC[..], &VERSION.to_le_bytes(), &fingerprint.to_le_bytes()].concat()
    }

    fn write(&self, folder: &Path, save: Save<'_>) -> io::Result<()> {
        let (saved, unfinished) = (folder.join(FILE), folder.join(UNFINISHED));
        check_ours(&saved)?;
        let written = self.write_new(&unfinished, save).and_then(|()| fs::rename(&unfinished, saved));
        if written.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        written?;
        // The new name is on the disk only when the folder is.
        File::open(folder)?.sync_all()
    }

    fn write_new(&self, unfinished: &Path, save: Save<'_>) -> io::Result<()> {
        // What is left of a run that was killed. Made anew, so that no link is followed.
        if unfinished.symlink_metadata().is_ok() {
            fs::remove_file(unfinished)?;
        }
        let file = OpenOptions::new().write(true).create_new(true).open(unfinished)?;
        let mut out = BufWriter::with_capacity(1 << 20, file);
        let head = self.head();
        out.write_all(&head)?;
        let mut guarded = GuardedWriter::new(out, &head);
        save(&mut guarded)?;
        guarded.finish()?.into_inner()?.sync_all()
    }

    fn open(&self, folder: &Path) -> io::Result<Box<dyn Read>> {
        let mut input = BufReader::with_capacity(1 << 20, File::open(folder.join(FILE))?);
        let head = read_head(&mut input)?;
        if head != self.head() {
            return Err(io::Error::other(
                "the search that is saved here is of another model, or of this one with other constants, \
                 options or properties",
            ));
        }
        Ok(Box::new(GuardedReader::new(input, &head)))
    }
}

/// The head of a saved search of this version.
fn read_head(input: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut head = vec![0; MAGIC.len() + 16];
    let whole = input.read_exact(&mut head);
    if whole.is_err() || !head.starts_with(MAGIC) {
        return Err(io::Error::other("this is no search that Shoal has saved"));
    }
    let mut version = [0; 8];
    version.copy_from_slice(&head[MAGIC.len()..MAGIC.len() + 8]);
    match u64::from_le_bytes(version) {
        VERSION => Ok(head),
        other => Err(io::Error::other(format!(
            "another version of Shoal has saved this search, in format {other}; this version reads format {VERSION}"
        ))),
    }
}

/// Refuses to replace a file that is no saved search.
fn check_ours(path: &Path) -> io::Result<()> {
    let Ok(metadata) = path.symlink_metadata() else { return Ok(()) };
    let mut magic = [0; MAGIC.len()];
    let ours = metadata.is_file() && File::open(path)?.read_exact(&mut magic).is_ok();
    match ours && &magic == MAGIC {
        true => Ok(()),
        false => Err(io::Error::other(format!("{} is no saved search, and is not replaced", path.display()))),
    }
}

impl Keeper for Files<'_> {
    fn due(&mut self) -> bool {
        self.options.save.is_some() && self.saved.elapsed() >= self.options.every.max(self.took * 10)
    }

    fn save(&mut self, save: Save<'_>) {
        let Some(folder) = &self.options.save else { return };
        let began = Instant::now();
        self.options.saving.set(true);
        self.problem = self.write(folder, save).err().map(|error| about(folder, &error).to_string());
        self.options.saving.set(false);
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
        io::ErrorKind::UnexpectedEof => "the saved search is damaged: it ends too early".to_string(),
        io::ErrorKind::OutOfMemory => "the saved search does not fit in the memory allowed".to_string(),
        _ => error.to_string(),
    };
    Error::File { path: folder.display().to_string(), problem }
}

/// A hash (FNV-1a) of all that a saved search depends on. Limits and threads are not part of that.
pub(crate) fn fingerprint(model: &Model, job: &Job) -> u64 {
    let text = format!("{} {:?} {:?} {model:?}", env!("CARGO_PKG_VERSION"), job.properties, job.symmetric);
    let text = format!("{text} {:?}", job.strategy);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
