//! Shoal and its peers on one model and one machine, from source to verdict, each with a limit of time.
//!
//! Every tool is run as a user would run it, as a process of its own, so that times and memory are of the same kind. Which
//! peer reads a model is known by the ending of its name: [`Peer::of`].

mod process;
mod rumur;
mod spin;

use std::{path::Path, process::Command, time::Duration};

pub use process::{run_shoal, text_of, watch};
pub use rumur::run_rumur;
pub use spin::run_spin;

/// One tool's run on one model.
#[derive(Clone, Debug)]
pub struct PeerRun {
    /// States found.
    pub states: u64,
    /// From source to verdict.
    pub time: Duration,
    /// Of that, the search.
    pub search: Duration,
    /// The most memory that the search had, in bytes.
    pub peak: u64,
    /// Whether it came to its end in time.
    pub done: bool,
    /// The most nodes that diagrams had, if there were any.
    pub nodes: Option<u64>,
    /// The verdict on all that was asked but formulas of temporal logic: `holds`, `violated`, `unknown` or `refused`.
    pub verdict: &'static str,
}

/// How many times faster than the peer: by the time chosen if one of them is done, else by the states found in the time
/// allowed; nothing if the peer did not say how many it has found.
pub fn ratio([ours, theirs]: &[PeerRun; 2], time: impl Fn(&PeerRun) -> Duration) -> Option<f64> {
    match (ours.done, theirs.done, theirs.states) {
        (false, false, 0) => None,
        (false, false, states) => Some(ours.states as f64 / states as f64),
        _ => Some(time(theirs).as_secs_f64() / time(ours).as_secs_f64().max(0.001)),
    }
}

/// A ratio, marked if it is only a bound: a run that was cut off would have taken longer.
pub fn shown(ratio: Option<f64>, [ours, theirs]: &[PeerRun; 2]) -> String {
    let sign = match (ours.done, theirs.done) {
        (true, false) => "> ",
        (false, true) => "< ",
        _ => "",
    };
    ratio.map_or("?".to_string(), |ratio| format!("{sign}{ratio:.1}"))
}

/// The geometric mean.
pub fn mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp()
}

/// Another model checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Reads Murphi.
    Rumur,
    /// Reads Promela.
    Spin,
}

impl Peer {
    /// The peer that reads a model, by the ending of its name.
    pub fn of(file: &Path) -> Option<Peer> {
        match file.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "m" => Some(Peer::Rumur),
            "pml" | "pm" | "pr" | "prm" | "prom" | "promela" | "spin" => Some(Peer::Spin),
            _ => None,
        }
    }

    /// The command that it is called by.
    pub fn name(self) -> &'static str {
        match self {
            Peer::Rumur => "rumur",
            Peer::Spin => "spin",
        }
    }

    /// Whether it, and the C compiler that it needs, can be called here.
    pub fn is_installed(self) -> bool {
        [self.name(), "gcc"].into_iter().all(|tool| text_of(Command::new(tool).arg("--version")).is_ok())
    }

    /// Options with which `shoal check` means the same by a model and asks the same of it. Raw: nothing is reduced, and the
    /// numbers of states are to be the same.
    pub fn options_of_shoal(self, raw: bool) -> &'static [&'static str] {
        match (self, raw) {
            (Peer::Rumur, false) => &["--dialect", "rumur", "--first"],
            (Peer::Rumur, true) => &["--dialect", "rumur", "--first", "--no-symmetry"],
            (Peer::Spin, false) => &["--first"],
            (Peer::Spin, true) => &["--first", "--no-partial-order"],
        }
    }

    /// Runs it on a model. SPIN has one thread.
    pub fn run(self, file: &Path, raw: bool, threads: u32, limit: Duration) -> Result<PeerRun, String> {
        match self {
            Peer::Rumur if raw => run_rumur(file, &["--symmetry-reduction", "off"], threads, limit),
            Peer::Rumur => run_rumur(file, &[], threads, limit),
            Peer::Spin => run_spin(file, !raw, true, limit),
        }
    }
}
