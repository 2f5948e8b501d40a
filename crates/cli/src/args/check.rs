//! How a model is checked.

use std::{path::PathBuf, time::Duration};

use clap::{Args as ClapArgs, ValueEnum};
use shoal::{
    Beyond, BroadcastMode, CounterOptions, DiskSpace, Order, PartialOrder, Representatives, Storage, Strategy,
};

use super::{
    HostArgs, LimitArgs, ModelArgs, TraceView,
    values::{parse_seconds, parse_size},
};

// What the options of `check` are about, as the help groups them.
const SEARCH: &str = "Search";
const REDUCTION: &str = "Reduction";
const LIMITS: &str = "Limits";
const OUTPUT: &str = "Output";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineChoice {
    /// The one that the plan chooses
    #[default]
    Auto,
    /// Breadth-first search, one representative of each orbit
    Explicit,
    /// Sets of states as decision diagrams
    Symbolic,
    /// How many elements of a sort are in each local state
    Counters,
    /// Coverability: any number of elements
    Cover,
    /// Views: any number of elements that refer to each other
    Views,
    /// Zones, with like processes counted: for models with clocks
    Timed,
}

/// How the engine of counters goes about it.
#[derive(Clone, Debug, ClapArgs)]
#[command(next_help_heading = "Counters")]
pub(crate) struct CounterArgs {
    /// Visit states one by one, without decision diagrams
    #[arg(long)]
    pub(crate) no_diagrams: bool,

    /// Take every step by itself, not many of a kind at once
    #[arg(long)]
    pub(crate) no_acceleration: bool,

    /// Keep local states apart that differ only in variables that are not used any more
    #[arg(long)]
    pub(crate) no_local_reduction: bool,

    /// How a loop over all elements becomes a step
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    pub(crate) broadcast: BroadcastChoice,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum BroadcastChoice {
    /// One class after another, with nothing in between
    #[default]
    Auto,
    /// All at once
    Simultaneous,
    /// One element after another, with states in between that formulas skip
    Serial,
}

impl CounterArgs {
    pub(crate) fn options(&self) -> CounterOptions {
        CounterOptions {
            explicit: self.no_diagrams,
            broadcast: match self.broadcast {
                BroadcastChoice::Auto => BroadcastMode::Composed,
                BroadcastChoice::Simultaneous => BroadcastMode::Simultaneous,
                BroadcastChoice::Serial => BroadcastMode::Serial,
            },
            accelerate: !self.no_acceleration,
            reduce: !self.no_local_reduction,
            ..CounterOptions::default()
        }
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CheckArgs {
    /// The models
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    /// How to search
    #[arg(long, value_enum, default_value_t, help_heading = SEARCH)]
    pub(crate) engine: EngineChoice,

    /// Decide this property only (repeatable)
    #[arg(long, value_name = "NAME", help_heading = SEARCH)]
    pub(crate) property: Vec<String>,

    /// In which order to search [default: breadth; with `--storage bits` depth]
    #[arg(long, value_enum, help_heading = SEARCH)]
    pub(crate) search: Option<SearchChoice>,

    /// The number that the choices of `--search walk` come from
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = SEARCH)]
    pub(crate) seed: u64,

    /// What to keep of a state
    #[arg(long, value_enum, default_value_t, help_heading = SEARCH)]
    pub(crate) storage: StorageChoice,

    /// Where states go when the memory is full (`--memory`): a folder on a fast disk
    #[arg(long, value_name = "DIR", help_heading = SEARCH)]
    pub(crate) disk: Option<PathBuf>,

    /// Use no more of the disk than this: 100GB, 1TiB, ...
    #[arg(long, value_name = "BYTES", value_parser = parse_size, requires = "disk", help_heading = SEARCH)]
    pub(crate) disk_limit: Option<u64>,

    /// Do not make machine code of the model: interpret it
    #[arg(long, help_heading = SEARCH)]
    pub(crate) no_jit: bool,

    /// How many threads to use [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = SEARCH)]
    pub(crate) threads: Option<u32>,

    /// How to use symmetry
    #[arg(long, value_enum, default_value_t, help_heading = REDUCTION)]
    pub(crate) symmetry: SymmetryChoice,

    /// Do not reduce by symmetry: the same as `--symmetry off`
    #[arg(long, conflicts_with = "symmetry", help_heading = REDUCTION)]
    pub(crate) no_symmetry: bool,
    /// Explicit engine: look for automorphisms of a model without sorts (processes with numbers, rings) before the search, prove
    /// them, and keep one state of each orbit [default: for Promela, once there are many states]
    #[arg(long, conflicts_with = "no_symmetry", help_heading = REDUCTION)]
    pub(crate) automorphisms: bool,

    /// Reset variables where they cannot be read before they are written again [default: for .red, and for Promela
    /// unless --no-partial-order]
    #[arg(long, conflicts_with = "no_dead_variables", help_heading = REDUCTION)]
    pub(crate) dead_variables: bool,

    /// Keep the values of variables that cannot be read any more
    #[arg(long, help_heading = REDUCTION)]
    pub(crate) no_dead_variables: bool,

    /// Leave out orders of independent steps, also where that has to be found out (stubborn sets: Murphi); traces need not be
    /// shortest then [default: for Promela, by processes]
    #[arg(long, conflicts_with = "no_partial_order", help_heading = REDUCTION)]
    pub(crate) partial_order: bool,

    /// Take independent steps in all orders
    #[arg(long, help_heading = REDUCTION)]
    pub(crate) no_partial_order: bool,

    #[command(flatten)]
    pub(crate) hosts: HostArgs,

    #[command(flatten)]
    pub(crate) counters: CounterArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,

    /// Search no deeper than so many steps
    #[arg(long, value_name = "N", help_heading = LIMITS)]
    pub(crate) depth: Option<u64>,

    /// Save the search in this folder from time to time, to go on with it after a crash
    #[arg(long, value_name = "DIR", help_heading = LIMITS)]
    pub(crate) checkpoint: Option<PathBuf>,

    /// How often to save it
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds, default_value = "60", requires = "checkpoint", help_heading = LIMITS)]
    pub(crate) checkpoint_every: Duration,

    /// Go on with the search that was saved in this folder
    #[arg(long, value_name = "DIR", help_heading = LIMITS)]
    pub(crate) resume: Option<PathBuf>,

    /// Stop at the first violation [default: go on for 100,000 states to decide the other properties]
    #[arg(long, conflicts_with = "all", help_heading = LIMITS)]
    pub(crate) first: bool,

    /// Decide every property, however long that takes after a violation
    #[arg(long, help_heading = LIMITS)]
    pub(crate) all: bool,

    /// Where to save traces, or `none` [default: MODEL.1.itf.json, ... in the current directory]
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) trace: Option<PathBuf>,

    /// Write a certificate of the properties that hold, which `shoal verify` checks
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) certificate: Option<PathBuf>,

    /// For any number of elements: print everything that can be covered, as its greatest elements
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) cover_set: bool,

    /// Say what the search did: which rules took the steps, states per level, bytes per state
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) profile: bool,

    /// Print one JSON object a line instead of text
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,

    /// Exit with 0 also where a verdict is not certain in this way
    #[arg(long, value_enum, value_name = "WHAT", help_heading = OUTPUT)]
    pub(crate) accept: Option<AcceptChoice>,

    /// Decide what the comments of the files say is to be found (`-- shoal: verdict=holds`), and exit with 0 if all of it is so
    #[arg(long, conflicts_with_all = ["json", "junit", "sarif", "html", "resume", "checkpoint", "property"], help_heading = OUTPUT)]
    pub(crate) expect: bool,

    /// Write down what was asked and found out, so that `shoal repeat` can do it again
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) record: Option<PathBuf>,

    /// What was typed, from the command on.
    #[arg(skip)]
    pub(crate) typed: Vec<String>,

    /// Write a report in JUnit XML
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) junit: Option<PathBuf>,

    /// Write pages for a browser into a folder: verdicts, how often each rule fired, a page for each violation
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub(crate) html: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) page: super::PageArgs,

    /// Show runs as what each step changes, or with a column for each part of the model
    #[arg(long, value_enum, default_value_t, value_name = "HOW", help_heading = OUTPUT)]
    pub(crate) show: TraceView,

    /// Write a report in SARIF 2.1.0
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) sarif: Option<PathBuf>,

    /// Print verdicts only, and no progress
    #[arg(long, short, help_heading = OUTPUT)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AcceptChoice {
    /// No violation was found, but a state may have been missed (`--storage hashes|bits`)
    Probabilistic,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SymmetryChoice {
    /// Exactly one state of each orbit
    #[default]
    Exact,
    /// Less work a state, perhaps more than one state of an orbit
    Fast,
    /// Symbolic engine: one pass of graph automorphism symmetry reduction, by where pointers lead
    Gasr,
    /// Symbolic engine: by data alone, several states of an orbit
    Multiple,
    /// Take every scalarset at its word, as other tools do; the verdict says so
    Trust,
    /// Every state
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SearchChoice {
    /// Nearest to a start first: shortest traces
    Breadth,
    /// The state that was found last first, on one thread
    Depth,
    /// From what must not happen back to a start: symbolic engine
    Backward,
    /// Random walks of 1,000 steps (or `--depth`), 1,000,000 steps in all (or `--time`)
    Walk,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum StorageChoice {
    /// All of it: nothing is missed
    #[default]
    Exact,
    /// All of it, but not where it was reached from: less memory; a trace takes up to as long as the search again
    Thin,
    /// All of it, but what many states have in common once: less memory for large states, more time
    Tree,
    /// A hash of 64 bits: a state is missed now and then
    Hashes,
    /// Three bits of a table that takes half of `--memory`: states are missed
    Bits,
}

impl CheckArgs {
    /// How to search.
    pub(crate) fn strategy(&self) -> Strategy {
        let storage = match self.storage {
            StorageChoice::Exact | StorageChoice::Thin => Storage::Exact,
            StorageChoice::Tree => Storage::Tree,
            StorageChoice::Hashes => Storage::Hashes,
            StorageChoice::Bits => Storage::Bits,
        };
        let order = match self.search {
            None if storage == Storage::Bits => Order::DepthFirst,
            None | Some(SearchChoice::Breadth) => Order::BreadthFirst,
            Some(SearchChoice::Depth) => Order::DepthFirst,
            Some(SearchChoice::Backward) => Order::Backward,
            Some(SearchChoice::Walk) => Order::Walk { seed: self.seed },
        };
        let representatives = match self.symmetry {
            SymmetryChoice::Fast => Representatives::Fast,
            SymmetryChoice::Gasr => Representatives::Gasr,
            SymmetryChoice::Multiple => Representatives::Multiple,
            SymmetryChoice::Exact | SymmetryChoice::Trust | SymmetryChoice::Off => Representatives::Exact,
        };
        let partial_order = match (self.partial_order, self.no_partial_order) {
            (_, true) => PartialOrder::Off,
            (true, _) => PartialOrder::Stubborn,
            _ => PartialOrder::Agents,
        };
        Strategy { order, storage, representatives, partial_order }
    }

    /// What there is beside the memory of this process.
    pub(crate) fn beyond(&self) -> Beyond {
        let disk =
            self.disk.as_ref().map(|folder| DiskSpace { folder: folder.clone(), limit: self.disk_limit });
        Beyond { thin: self.storage == StorageChoice::Thin, disk, processes: None }
    }

    /// Whether inactive variables are reset, if anything is said about it.
    pub(crate) fn dead_variables(&self) -> Option<bool> {
        (self.dead_variables || self.no_dead_variables).then_some(self.dead_variables)
    }

    /// How long to go on after the first violation.
    pub(crate) fn patience(&self) -> Option<u64> {
        match (self.first, self.all) {
            (true, _) => Some(0),
            (false, true) => None,
            (false, false) => Some(shoal::PATIENCE),
        }
    }
}
