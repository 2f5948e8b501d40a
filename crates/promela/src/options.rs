//! How a source is to be read.

/// What the caller says about a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Macros that are defined before the source is read, and that it cannot define anew.
    pub set: Vec<(String, i64)>,
    /// Whether the source has pointers, objects and functions.
    pub dynamic: bool,
    /// How many processes of a proctype may run at a time where the source does not say.
    pub processes: u32,
    /// How many objects of a type may there be at a time.
    pub heap: u32,
    /// Whether the cells of the heap are interchangeable; otherwise they are numbers.
    pub symmetric_heap: bool,
    /// Whether to ask that every run passes a label that begins with `progress` again and again.
    pub progress: bool,
    /// Whether to ask that no run passes a label that begins with `accept` again and again.
    pub acceptance: bool,
    /// Rounds that a loop within one step may take.
    pub while_limit: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            set: Vec::new(),
            dynamic: false,
            processes: 16,
            heap: 12,
            symmetric_heap: true,
            progress: false,
            acceptance: false,
            while_limit: 100_000,
        }
    }
}
