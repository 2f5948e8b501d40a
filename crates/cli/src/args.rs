//! What can be typed. The help is made from the comments here.

mod check;
mod cluster;
mod limits;
mod model;
mod values;

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

pub(crate) use self::{
    check::{AcceptChoice, CheckArgs, EngineChoice, SymmetryChoice},
    cluster::{ClusterArgs, ClusterCommand, HostArgs, StartArgs},
    limits::LimitArgs,
    model::ModelArgs,
};

/// A model checker for systems of many identical parts.
#[derive(Debug, Parser)]
#[command(name = "shoal", version, max_term_width = 100, after_help = EXIT_CODES, args_override_self = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Do not read `shoal.toml`
    #[arg(long, global = true)]
    pub(crate) no_config: bool,

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
    /// Check a model again whenever its file is saved, until Ctrl-C
    Watch(Box<CheckArgs>),
    /// Do again what `check --record FILE` has written down, and say whether it comes out the same
    Repeat {
        /// The file that was written
        file: PathBuf,
    },
    /// Write a first model to start from
    New(NewArgs),
    /// Lay out the text of models: how far lines stand to the right, blanks between words (Murphi, VPL)
    Fmt(FmtArgs),
    /// Walk through a model at random or step by step
    Sim(SimArgs),
    /// Say what Shoal sees in a model, or what an error code means
    Explain(ExplainArgs),
    /// Show, replay or convert a saved trace; hold a log against a model
    Trace(TraceArgs),
    /// Write runs that cover every rule, every pair of rules and every goal: tests for what implements the model
    Testgen(TestgenArgs),
    /// Write the reachable states and steps as a graph
    Graph(GraphArgs),
    /// Write a model as Murphi text, or its counter system in the language of another tool
    Export(ExportArgs),
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
    /// Search on several machines: start a check on them, or see whether they can
    Cluster(ClusterArgs),
    /// Open the workbench: models, checks, runs and steps by hand, in the browser
    Studio(StudioArgs),
    /// Serve agents: tools over the Model Context Protocol, on standard input and output
    Mcp(McpArgs),
    /// Serve an editor: the language server, over standard input and output
    Lsp,
    /// Print the completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write what editors colour the languages by
    #[command(hide = true)]
    Grammars {
        /// The folder
        folder: PathBuf,
    },
    /// Write the manual pages, one a command, for a package
    #[command(hide = true)]
    Manual {
        /// The folder, which is there
        folder: PathBuf,
    },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct FmtArgs {
    /// The models
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Change nothing; exit with 1 if something would be changed
    #[arg(long)]
    pub(crate) check: bool,

    /// Print the text instead of changing the file
    #[arg(long, conflicts_with = "check")]
    pub(crate) stdout: bool,

    /// The language, by the ending of its files [default: the ending of the file]
    #[arg(long, value_name = "ENDING")]
    pub(crate) language: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TestgenArgs {
    /// The model
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,

    /// What to cover: a list of these [default: all]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LIST")]
    pub(crate) cover: Vec<CoverChoice>,

    /// A state to get to: an expression in the language of the model (repeatable)
    #[arg(long, value_name = "EXPR")]
    pub(crate) goal: Vec<String>,

    /// How long a test may become before the next one begins, in steps
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) length: usize,

    /// Explore no more than so many states
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub(crate) states: usize,

    /// How to write them: a list of these [default: itf]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LIST")]
    pub(crate) format: Vec<TestFormat>,

    /// The folder to write them into [default: MODEL.tests]
    #[arg(long, short, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CoverChoice {
    /// Every rule fires
    Rules,
    /// Every two rules that can fire one right after the other do
    Pairs,
    /// Everything that the model asks to be possible (`cover`) happens
    Goals,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TestFormat {
    /// A trace a test, which `shoal trace` shows and replays
    Itf,
    /// All tests in one file: steps with arguments and states, for a program
    Json,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ValidateArgs {
    /// The log: one JSON object a line
    pub(crate) log: PathBuf,

    /// The model
    pub(crate) model: PathBuf,

    #[command(flatten)]
    pub(crate) model_args: ModelArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,

    /// What the events are in the model (TOML) [default: each is the rule that its field `event` names]
    #[arg(long, value_name = "FILE")]
    pub(crate) map: Option<PathBuf>,

    /// Keep no more than so many states in mind after an event
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub(crate) states: usize,

    /// Save the run that the log tells of, as far as it is one
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct McpArgs {
    /// Files are read below this folder, and nowhere else
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StudioArgs {
    /// A folder of models, or a model or a trace in it: nothing outside of the folder is read or written
    #[arg(value_name = "FILE|DIR", default_value = ".")]
    pub(crate) path: PathBuf,

    /// The port, or the next that is free [default: any]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,

    /// Start the browser
    #[arg(long)]
    pub(crate) open: bool,

    /// Write nothing
    #[arg(long)]
    pub(crate) read_only: bool,

    /// Threads of the two checks that may run at once, together [default: as many as there are processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) threads: Option<u32>,

    /// Memory of the two checks, together: 200MB, 2GiB, ...
    #[arg(long, value_name = "BYTES", value_parser = values::parse_size)]
    pub(crate) memory: Option<u64>,

    /// The editor that opens a model at a line: vscode, vscodium, cursor, windsurf, zed, idea, or an address with {path} and {line} [default: vscode]
    #[arg(long, value_name = "NAME|ADDRESS")]
    pub(crate) editor: Option<String>,

    /// Let the page be shown inside of an editor's window
    #[arg(long, value_enum, value_name = "EDITOR")]
    pub(crate) embed: Option<EmbedChoice>,

    /// The address to listen at [default: this machine's own, which others do not reach]
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", hide_default_value = true)]
    pub(crate) bind: std::net::IpAddr,

    /// Listen at an address that other machines reach
    #[arg(long, requires = "bind")]
    pub(crate) allow_remote: bool,
}

/// An editor that shows pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EmbedChoice {
    Vscode,
}

/// What a page for a browser says beside the run.
#[derive(Clone, Copy, Debug, Default, ClapArgs)]
pub(crate) struct PageArgs {
    /// In pages: the date and time (without it the same run gives the same bytes)
    #[arg(long, requires = "html")]
    pub(crate) stamp: bool,

    /// In pages: without the text of the model
    #[arg(long, requires = "html")]
    pub(crate) no_source: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct NewArgs {
    /// The language
    #[arg(value_enum)]
    pub(crate) language: NewLanguage,

    /// The file [default: `lock` with the ending of the language]
    pub(crate) file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NewLanguage {
    Murphi,
    Promela,
    /// Automata with clocks
    Vpl,
    /// UPPAAL's textual format, with a file of queries
    Uppaal,
    /// Processes that point to each other
    Red,
    /// Promela with objects that come and go
    Objects,
    /// Boolean programs: any number of threads
    Threads,
    /// Transition systems: any number of threads
    Tts,
    /// Nets in the format of MIST: any number of tokens
    Net,
    /// Petri nets, with a file of properties
    Pnml,
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

#[derive(Debug, ClapArgs)]
pub(crate) struct VerifyArgs {
    /// The certificate
    #[arg(value_name = "CERTIFICATE")]
    pub(crate) certificate: PathBuf,

    /// The model [default: the one that the certificate names]
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Look at every situation, view or state, however many there are
    #[arg(long)]
    pub(crate) full: bool,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,
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

    #[command(flatten)]
    pub(crate) limits: LimitArgs,

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

    #[command(flatten)]
    pub(crate) limits: LimitArgs,

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

    #[command(flatten)]
    pub(crate) limits: LimitArgs,

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

    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ExplainArgs {
    /// A model, or an error code such as E0201
    #[arg(value_name = "FILE|CODE")]
    pub(crate) what: PathBuf,

    #[command(flatten)]
    pub(crate) model_args: ModelArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,

    /// Say also when each variable of an element can still be read, which may take seconds
    #[arg(long)]
    pub(crate) active: bool,

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
        /// Show what every variable is after each step
        #[arg(long)]
        full: bool,
        #[command(flatten)]
        picture: PictureArgs,
    },
    /// Run a saved trace again. Exit code 1 if the violation is still there, 0 if it is gone (with the first difference) or the
    /// trace shows none and runs, 2 if the trace does not fit the model
    Replay {
        /// The trace
        file: PathBuf,
        /// The model [default: the one that the trace names]
        model: Option<PathBuf>,
    },
    /// Leave steps out of a saved trace of a violation until none can be left out any more, and save what is left
    Minimise {
        /// The trace
        file: PathBuf,
        /// Where to [default: FILE.min.itf.json]
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        limits: LimitArgs,
    },
    /// Say whether the log of a running system is a behaviour of a model. Exit code 0 if it is, 1 if it is not, with the
    /// shortest run to the event that does not fit
    Validate(Box<ValidateArgs>),
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

/// How a run is told.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct PictureArgs {
    /// What each step changes, or a column for each part of the model
    #[arg(long = "as", value_enum, default_value_t, value_name = "HOW")]
    pub(crate) how: TraceView,

    /// In columns: 0 every step, 1 steps that only move a process together, 2 without steps that do not matter, 3 messages only
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=3), value_name = "0..3")]
    pub(crate) level: u8,

    /// In columns: these parts alone, by their names
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) lanes: Vec<String>,

    /// In columns: how wide the page is [default: the terminal's width, or 120]
    #[arg(long, value_name = "N")]
    pub(crate) width: Option<usize>,

    /// Write a page for a browser instead: lanes, steps, source
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) page: PageArgs,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraceView {
    /// What fires, and what it changes
    #[default]
    Diff,
    /// Who does what: a column for each part, messages between them
    Lanes,
    /// A row for each state, a column for each place that changes (of saved traces)
    Table,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraceFormat {
    Text,
    Json,
    Dot,
    /// A sequence diagram in Mermaid's language
    Mermaid,
    /// A sequence diagram in PlantUML's language
    Plantuml,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ExportArgs {
    /// The model: for nets and thread transition systems one whose elements can be counted, for Murphi any without clocks
    pub(crate) file: PathBuf,

    /// The language
    #[arg(long, value_enum)]
    pub(crate) to: ExportLanguage,

    /// Nets and thread transition systems: only these properties (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) property: Vec<String>,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,

    /// Where to write it [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportLanguage {
    /// A net of MIST
    Spec,
    /// A thread transition system
    Tts,
    /// A place/transition net
    Pnml,
    /// A model for Rumur, CMurphi and Shoal
    Murphi,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct GraphArgs {
    /// The model
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,

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
    /// A picture, from the start downwards
    Svg,
    /// For yEd, Gephi and libraries
    Graphml,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definitions_are_consistent() {
        Args::command().debug_assert();
    }
}
