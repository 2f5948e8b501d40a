//! How a source is to be read.

use shoal_model::Watch;

/// What the caller says about a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Macros that are defined before the source is read, and that it cannot define anew.
    pub set: Vec<(String, i64)>,
    /// Macros that stand for any number of processes.
    pub any: Vec<String>,
    /// Whether the source has pointers, objects and functions.
    pub dynamic: bool,
    /// How many processes of a proctype may run at a time where the source does not say.
    pub processes: u32,
    /// How many objects of a type there may be at a time, if that is limited.
    pub heap: Option<u32>,
    /// Whether an object that was not deleted and that nobody can reach any more is an error.
    pub leaks: bool,
    /// Whether `new` may give an object that was deleted again, though somebody still points to it, as C does.
    pub reuse: bool,
    /// Whether processes of a proctype are to be interchangeable, as far as nothing tells them apart.
    pub symmetric_processes: bool,
    /// The proctypes whose processes are told apart.
    pub ordered: Vec<String>,
    /// Whether to ask that every run passes a label that begins with `progress` again and again.
    pub progress: bool,
    /// Whether to ask that no run passes a label that begins with `accept` again and again.
    pub acceptance: bool,
    /// Whether formulas speak of runs only on which every process that can move from some moment on does so again and again.
    pub weak_fairness: bool,
    /// Whether steps that no other process can notice are one with the step before them.
    pub merge: bool,
    /// Rounds that a loop within one step may take.
    pub while_limit: u64,
    /// When to give up: then there is neither a model nor an error.
    pub watch: Watch,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            set: Vec::new(),
            any: Vec::new(),
            dynamic: false,
            processes: 16,
            heap: None,
            leaks: false,
            reuse: false,
            symmetric_processes: false,
            ordered: Vec::new(),
            progress: false,
            acceptance: false,
            weak_fairness: false,
            merge: false,
            while_limit: 100_000,
            watch: Watch::default(),
        }
    }
}
