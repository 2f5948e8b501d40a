//! What can be typed. The help is made from the comments here.

use std::{path::PathBuf, time::Duration};

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use shoal::{
    Broadcast, CounterOptions, Deadlock, Dialect, LoadOptions, Order, PromelaOptions, Representatives,
    Storage, Strategy,
};

/// A model checker for systems of many identical parts.
#[derive(Debug, Parser)]
#[command(name = "shoal", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: ColorChoice,
}

const EXIT_CODES: &str = "Exit codes: 0 every property holds in the scope asked; 1 some property is violated; \
    2 the model or the call is wrong; 3 inconclusive; 4 internal error; 130 interrupted.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Decide every property of a model
    Check(Box<CheckArgs>),
    /// Walk through a model at random or step by step
    Sim(SimArgs),
    /// Say what Shoal sees in a model, or what an error code means
    Explain(ExplainArgs),
    /// Show, replay or convert a saved trace
    Trace(TraceArgs),
    /// Write the reachable states and steps as a graph
    Graph(GraphArgs),
    /// Run the manipulation part of a VPL file: merge, reduce and check state-graphs
    Script(ScriptArgs),
    /// Manipulate the state-graphs of a VPL file by hand
    Graphs(GraphsArgs),
    /// Check a certificate with the separate checker
    Verify(VerifyArgs),
    /// Decide whether each thread of a boolean program does to the shared state only what a transition system may do
    Refine(RefineArgs),
    /// Compare with the other tool that reads a model: verdict, states, time (Rumur for .m, SPIN for .pml)
    Bench(BenchArgs),
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct BenchArgs {
    /// The models
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Nothing is reduced, neither by symmetry nor by the order of steps: the numbers of states are to be the same
    #[arg(long)]
    pub(crate) raw: bool,

    /// How many threads (SPIN has one) [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Option<u32>,

    /// So long each tool may take, in seconds
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) time: u64,
}

/// How a model is read.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct ModelArgs {
    /// Give a constant of the model another value, or the size of a sort: a number or `any` (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    pub(crate) set: Vec<(String, Setting)>,

    /// Where threads begin: `0/0` any number in local state 0, `0|0` exactly one, `0|0/1` both [default: as the language says]
    #[arg(long, value_name = "STATE")]
    pub(crate) init: Option<String>,

    /// What must not be reached: `4|5,5` (.tts), `p>=1,q>=2` (nets) or a label (.bp) [default: what the source says]
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<String>,

    /// Whose meaning to take where the Murphi tools differ; `dspin`: Promela with objects, as in .dpml files
    #[arg(long, value_enum, default_value_t)]
    pub(crate) dialect: DialectChoice,

    /// What counts as a deadlock
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    pub(crate) deadlock: DeadlockChoice,

    /// Rounds that a `while` loop may take before it is an error
    #[arg(long, value_name = "N", default_value_t = LoadOptions::default().while_limit)]
    pub(crate) while_limit: u64,

    /// Promela: processes of a proctype that may run at a time, where the model does not say
    #[arg(long, value_name = "N", default_value_t = PromelaOptions::default().processes,
          value_parser = clap::value_parser!(u32).range(1..=255))]
    pub(crate) processes: u32,

    /// Promela with objects: objects of a type that there may be at a time [default: no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) heap: Option<u32>,

    /// Promela with objects: an object that was not deleted and that nobody can reach any more is an error
    #[arg(long)]
    pub(crate) leaks: bool,

    /// Promela: processes of a proctype are interchangeable, where that can be proved
    #[arg(long)]
    pub(crate) process_symmetry: bool,

    /// Promela: ask that every run passes a `progress` label again and again
    #[arg(long)]
    pub(crate) progress: bool,

    /// Promela: ask that no run passes an `accept` label again and again
    #[arg(long)]
    pub(crate) acceptance: bool,

    /// Promela: which runs formulas speak of
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = FairnessChoice::None)]
    pub(crate) fairness: FairnessChoice,

    /// Promela: a step that no other process can notice is one with the step before it, as SPIN does by default
    #[arg(long)]
    pub(crate) merge: bool,
}

/// Which runs temporal properties speak of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum FairnessChoice {
    /// All that the model allows
    None,
    /// Those on which every process that can move from some moment on moves again and again
    Weak,
}

/// What a name is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    Number(i64),
    Any,
}

impl ModelArgs {
    /// The names that are set to numbers.
    pub(crate) fn numbers(&self) -> Vec<(String, i64)> {
        let number = |(name, setting): &(String, Setting)| match setting {
            Setting::Number(value) => Some((name.clone(), *value)),
            Setting::Any => None,
        };
        self.set.iter().filter_map(number).collect()
    }

    /// The names that are set to `any`.
    pub(crate) fn any(&self) -> Vec<String> {
        let any = self.set.iter().filter(|(_, setting)| *setting == Setting::Any);
        any.map(|(name, _)| name.clone()).collect()
    }

    pub(crate) fn load_options(&self) -> LoadOptions {
        LoadOptions {
            dialect: match self.dialect {
                DialectChoice::Cmurphi | DialectChoice::Dspin => Dialect::Cmurphi,
                DialectChoice::Rumur => Dialect::Rumur,
            },
            set: self.numbers(),
            any: self.any(),
            init: self.init.clone(),
            target: self.target.clone(),
            while_limit: self.while_limit,
            promela: PromelaOptions {
                processes: self.processes,
                dynamic: self.dialect == DialectChoice::Dspin,
                heap: self.heap,
                leaks: self.leaks,
                symmetric_processes: self.process_symmetry,
                progress: self.progress,
                acceptance: self.acceptance,
                weak_fairness: self.fairness == FairnessChoice::Weak,
                merge: self.merge,
            },
            deadlock: match self.deadlock {
                DeadlockChoice::Auto => Deadlock::Auto,
                DeadlockChoice::Off => Deadlock::Off,
                DeadlockChoice::Stuck => Deadlock::Stuck,
                DeadlockChoice::Stuttering => Deadlock::Stuttering,
            },
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectChoice {
    #[default]
    Cmurphi,
    Rumur,
    /// Promela with objects
    Dspin,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeadlockChoice {
    /// What the language of the model says
    #[default]
    Auto,
    /// Nothing
    Off,
    /// A state where no rule is enabled
    Stuck,
    /// A state from which no rule leads to another state
    Stuttering,
}

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
    /// Zones, with like processes counted: for models with clocks
    Timed,
}

/// How the engine of counters goes about it.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct CounterArgs {
    /// Counters: visit states one by one, without decision diagrams
    #[arg(long)]
    pub(crate) no_diagrams: bool,

    /// Counters: take every step by itself, not many of a kind at once
    #[arg(long)]
    pub(crate) no_acceleration: bool,

    /// Counters: keep local states apart that differ only in variables that are not used any more
    #[arg(long)]
    pub(crate) no_local_reduction: bool,

    /// Counters: how a loop over all elements becomes a step
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
                BroadcastChoice::Auto => Broadcast::Composed,
                BroadcastChoice::Simultaneous => Broadcast::Simultaneous,
                BroadcastChoice::Serial => Broadcast::Serial,
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
    #[arg(long, value_enum, default_value_t)]
    pub(crate) engine: EngineChoice,

    #[command(flatten)]
    pub(crate) counters: CounterArgs,

    /// Decide this property only (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) property: Vec<String>,

    /// How to use symmetry
    #[arg(long, value_enum, default_value_t)]
    pub(crate) symmetry: SymmetryChoice,

    /// Do not reduce by symmetry: the same as `--symmetry off`
    #[arg(long, conflicts_with = "symmetry")]
    pub(crate) no_symmetry: bool,

    /// Reset variables where they cannot be read before they are written again [default: for .red, and for Promela
    /// unless --no-partial-order]
    #[arg(long, conflicts_with = "no_dead_variables")]
    pub(crate) dead_variables: bool,

    /// Keep the values of variables that cannot be read any more
    #[arg(long)]
    pub(crate) no_dead_variables: bool,

    /// Take independent steps in all orders
    #[arg(long)]
    pub(crate) no_partial_order: bool,

    /// In which order to search [default: breadth; with `--storage bits` depth]
    #[arg(long, value_enum)]
    pub(crate) search: Option<SearchChoice>,

    /// The number that the choices of `--search walk` come from
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    /// What to keep of a state
    #[arg(long, value_enum, default_value_t)]
    pub(crate) storage: StorageChoice,

    /// Do not make machine code of the model: interpret it
    #[arg(long)]
    pub(crate) no_jit: bool,

    /// How many threads to use [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) threads: Option<u32>,

    /// Give up after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub(crate) time: Option<Duration>,

    /// Give up when the states take so much memory: 200MB, 2GiB, ... [default: 3/4 of what is free]
    #[arg(long, value_name = "BYTES", value_parser = parse_size)]
    pub(crate) memory: Option<u64>,

    /// Search no deeper than so many steps
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<u64>,

    /// Save the search in this folder from time to time, to go on with it after a crash
    #[arg(long, value_name = "DIR")]
    pub(crate) checkpoint: Option<PathBuf>,

    /// How often to save it
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds, default_value = "60", requires = "checkpoint")]
    pub(crate) checkpoint_every: Duration,

    /// Go on with the search that was saved in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) resume: Option<PathBuf>,

    /// Stop at the first violation [default: go on for 100,000 states to decide the other properties]
    #[arg(long, conflicts_with = "all")]
    pub(crate) first: bool,

    /// Decide every property, however long that takes after a violation
    #[arg(long)]
    pub(crate) all: bool,

    /// Where to save traces, or `none` [default: MODEL.1.itf.json, ... in the current directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,

    /// For any number of elements: write a certificate of each property that holds
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate: Option<PathBuf>,

    /// For any number of elements: print everything that can be covered, as its greatest elements
    #[arg(long)]
    pub(crate) cover_set: bool,

    /// Say what the search did: which rules took the steps, states per level, bytes per state
    #[arg(long)]
    pub(crate) profile: bool,

    /// Print one JSON object a line instead of text
    #[arg(long)]
    pub(crate) json: bool,

    /// Write a report in JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,

    /// Write a report in SARIF 2.1.0
    #[arg(long, value_name = "FILE")]
    pub(crate) sarif: Option<PathBuf>,

    /// Print verdicts only, and no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
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
            StorageChoice::Exact => Storage::Exact,
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
            SymmetryChoice::Exact | SymmetryChoice::Off => Representatives::Exact,
        };
        Strategy { order, storage, representatives, partial_order: !self.no_partial_order }
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

#[derive(Debug, ClapArgs)]
pub(crate) struct VerifyArgs {
    /// The certificate
    #[arg(value_name = "CERTIFICATE")]
    pub(crate) certificate: PathBuf,

    /// The model [default: the one that the certificate names]
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RefineArgs {
    /// The program (.bp)
    pub(crate) program: PathBuf,

    /// The specification (.tts): bit i of a shared state is the program's shared variable i
    pub(crate) spec: PathBuf,

    /// Where the threads of the specification begin: `0/0` any number in local state 0, `0|0` one alone [default: 0/0]
    #[arg(long, value_name = "STATE")]
    pub(crate) init: Option<String>,

    /// Give up after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub(crate) time: Option<Duration>,

    /// Print one JSON object a line instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SimArgs {
    /// The model
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    /// The number that the random choices come from [default: the time]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// How many steps to walk
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) steps: u64,

    /// Choose each step by hand
    #[arg(long, short)]
    pub(crate) interactive: bool,

    /// Save the walk as a trace
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ScriptArgs {
    /// The VPL file
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    /// Instead of the file's own manipulation part: merge one process after the other and reduce by these after each merge
    /// (`rw,sc,sm`), by the sequence that is predicted to be best (`auto`), or by the paper's search for one (`paper`)
    #[arg(long, value_name = "LIST")]
    pub(crate) reducers: Option<String>,

    /// Stop after so many processes
    #[arg(long, value_name = "N", requires = "reducers")]
    pub(crate) upto: Option<usize>,

    /// Print one JSON object a step
    #[arg(long)]
    pub(crate) json: bool,

    /// How `print_graph` prints
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: StateGraphFormat,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum StateGraphFormat {
    #[default]
    Text,
    Dot,
    Aut,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct GraphsArgs {
    /// The VPL file
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ExplainArgs {
    /// A model, or an error code such as E0201
    #[arg(value_name = "FILE|CODE")]
    pub(crate) what: PathBuf,

    #[command(flatten)]
    pub(crate) model_args: ModelArgs,

    /// Print the model as Shoal has understood it
    #[arg(long)]
    pub(crate) model: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TraceArgs {
    #[command(subcommand)]
    pub(crate) command: TraceCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Print a saved trace, step by step; traces of other tools in ITF can be shown too
    Show {
        /// The trace
        file: PathBuf,
        /// Show where each rule stands in the source
        #[arg(long)]
        positions: bool,
    },
    /// Run a saved trace again. Exit code 1 if the violation is there, 0 if the trace shows none and runs, 2 if
    /// it does not run
    Replay {
        /// The trace
        file: PathBuf,
        /// The model [default: the one that the trace names]
        model: Option<PathBuf>,
    },
    /// Write a saved trace in another format
    Convert {
        /// The trace
        file: PathBuf,
        /// The format
        #[arg(long, value_enum)]
        to: TraceFormat,
        /// Where to [default: standard output]
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraceFormat {
    Text,
    Json,
    Dot,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct GraphArgs {
    /// The model
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    /// The format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: GraphFormat,

    /// One state for each orbit of the symmetries that are proved
    #[arg(long, conflicts_with = "full")]
    pub(crate) quotient: bool,

    /// All states (the default)
    #[arg(long)]
    pub(crate) full: bool,

    /// Stop after so many states; the exit code is then 3
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) limit: u64,

    /// Where to write it [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    /// Graphviz
    #[default]
    Dot,
    /// Aldébaran: CADP, mCRL2, LTSmin
    Aut,
    /// A picture of up to 300 steps
    Svg,
}

fn parse_setting(text: &str) -> Result<(String, Setting), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() {
        return Err("write NAME=VALUE".into());
    }
    if value == "any" {
        return Ok((name.to_string(), Setting::Any));
    }
    let number = value.parse().map_err(|_| format!("`{value}` is not an integer of 64 bits"))?;
    Ok((name.to_string(), Setting::Number(number)))
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let number: f64 =
        text.trim_end_matches('s').parse().map_err(|_| "not a number of seconds".to_string())?;
    Duration::try_from_secs_f64(number).map_err(|error| error.to_string())
}

fn parse_size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1_000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "t" | "tb" => 1_000_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        other => return Err(format!("unknown unit `{other}`: write for example 200MB or 2GiB")),
    };
    let number: f64 = number.parse().map_err(|_| "write for example 200MB or 2GiB".to_string())?;
    let bytes = number * factor as f64;
    if bytes.is_finite() && bytes < u64::MAX as f64 { Ok(bytes as u64) } else { Err("too large".into()) }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definitions_are_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn sizes_have_decimal_and_binary_units() {
        assert_eq!(parse_size("200MB"), Ok(200_000_000));
        assert_eq!(parse_size("2GiB"), Ok(2 << 30));
        assert_eq!(parse_size("1.5k"), Ok(1500));
        assert_eq!(parse_size("77"), Ok(77));
        assert!(parse_size("3 parsecs").is_err() && parse_size("").is_err() && parse_size("1e999").is_err());
    }

    #[test]
    fn settings_are_names_and_integers() {
        assert_eq!(parse_setting("N=-3"), Ok(("N".into(), Setting::Number(-3))));
        assert_eq!(parse_setting("N=any"), Ok(("N".into(), Setting::Any)));
        assert!(parse_setting("N").is_err() && parse_setting("=1").is_err() && parse_setting("N=x").is_err());
    }
}
