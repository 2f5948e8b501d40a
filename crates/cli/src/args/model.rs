//! How a model is read.

use clap::{Args as ClapArgs, ValueEnum};
use shoal::{Deadlock, Dialect, LoadOptions, PromelaOptions, Watch};

use super::values::{ArgSetting, parse_macro, parse_setting};

/// How a model is read.
#[derive(Clone, Debug, ClapArgs)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// Give a constant of the model another value, or the size of a sort: a number or `any` (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    pub(crate) set: Vec<(String, ArgSetting)>,

    /// Any number of elements of a sort, whatever its declaration says; the same as `--set SORT=any` (repeatable)
    #[arg(long = "any", value_name = "SORT")]
    pub(crate) any_number: Vec<String>,

    /// The language, by the ending of its files (`m`, `pml`, `xta` ...) [default: the ending of the file; `m` for standard input]
    #[arg(long, value_name = "ENDING")]
    pub(crate) language: Option<String>,

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

    /// UPPAAL: `A<>`, `E[]` and `-->` speak only of runs on which time diverges, not of those that are stuck or Zeno
    #[arg(long)]
    pub(crate) divergent: bool,

    #[command(flatten)]
    pub(crate) promela: PromelaArgs,
}

/// What there is to say about models in Promela only.
#[derive(Clone, Debug, ClapArgs)]
#[command(next_help_heading = "Promela")]
pub(crate) struct PromelaArgs {
    /// Define a macro before the model is read, as 1 where no number is given; for macros the same as `--set` (repeatable)
    #[arg(short = 'D', value_name = "NAME[=NUMBER]", value_parser = parse_macro)]
    pub(crate) macros: Vec<(String, i64)>,

    /// Processes of a proctype that may run at a time, where the model does not say
    #[arg(long, value_name = "N", default_value_t = PromelaOptions::default().processes,
          value_parser = clap::value_parser!(u32).range(1..=255))]
    pub(crate) processes: u32,

    /// With objects: objects of a type that there may be at a time [default: no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) heap: Option<u32>,

    /// With objects: an object that was not deleted and that nobody can reach any more is an error
    #[arg(long)]
    pub(crate) leaks: bool,

    /// With objects: `new` may give an object that was deleted, though a variable still points to it
    #[arg(long, conflicts_with = "leaks")]
    pub(crate) reuse: bool,

    /// Processes of a proctype are interchangeable, where that can be proved
    #[arg(long)]
    pub(crate) process_symmetry: bool,

    /// Ask that every run passes a `progress` label again and again
    #[arg(long)]
    pub(crate) progress: bool,

    /// Ask that no run passes an `accept` label again and again
    #[arg(long)]
    pub(crate) acceptance: bool,

    /// Which runs formulas speak of
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = FairnessChoice::None)]
    pub(crate) fairness: FairnessChoice,

    /// A step that no other process can notice is one with the step before it, as SPIN does by default
    #[arg(long)]
    pub(crate) merge: bool,
}

impl PromelaArgs {
    fn options(&self, dynamic: bool) -> PromelaOptions {
        PromelaOptions {
            processes: self.processes,
            dynamic,
            heap: self.heap,
            leaks: self.leaks,
            reuse: self.reuse,
            symmetric_processes: self.process_symmetry,
            progress: self.progress,
            acceptance: self.acceptance,
            weak_fairness: self.fairness == FairnessChoice::Weak,
            merge: self.merge,
            ..PromelaOptions::default()
        }
    }
}

/// Which runs temporal properties speak of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum FairnessChoice {
    /// All that the model allows
    None,
    /// Those on which every process that can move from some moment on moves again and again
    Weak,
}

impl ModelArgs {
    /// The names that are set to numbers.
    pub(crate) fn numbers(&self) -> Vec<(String, i64)> {
        let number = |(name, setting): &(String, ArgSetting)| match setting {
            ArgSetting::Number(value) => Some((name.clone(), *value)),
            ArgSetting::Any => None,
        };
        self.set.iter().filter_map(number).chain(self.promela.macros.iter().cloned()).collect()
    }

    /// The names that are set to `any`, each once.
    pub(crate) fn any(&self) -> Vec<String> {
        let set = self.set.iter().filter(|(_, setting)| *setting == ArgSetting::Any);
        let mut any: Vec<String> = Vec::new();
        for name in set.map(|(name, _)| name).chain(&self.any_number) {
            if !any.contains(name) {
                any.push(name.clone());
            }
        }
        any
    }

    pub(crate) fn load_options(&self, watch: &Watch) -> LoadOptions {
        LoadOptions {
            dialect: match self.dialect {
                DialectChoice::Cmurphi | DialectChoice::Dspin => Dialect::Cmurphi,
                DialectChoice::Rumur => Dialect::Rumur,
            },
            set: self.numbers(),
            any: self.any(),
            language: self.language.as_ref().map(|ending| ending.trim_start_matches('.').to_string()),
            init: self.init.clone(),
            target: self.target.clone(),
            while_limit: self.while_limit,
            divergent: self.divergent,
            watch: watch.clone(),
            promela: self.promela.options(self.dialect == DialectChoice::Dspin),
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
