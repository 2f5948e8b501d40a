//! When to give up.

use std::{path::Path, time::Duration};

use clap::Args as ClapArgs;
use shoal::{Cancel, Limits, Watch};

use super::values::{parse_seconds, parse_size};
use crate::{
    guard::{LimitGuard, SoFar},
    output,
};

/// When to give up: the same for every command that may take long.
#[derive(Clone, Debug, Default, ClapArgs)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Give up after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub(crate) time: Option<Duration>,

    /// Give up when the states take so much memory: 200MB, 2GiB, ... [default: 3/4 of what is free]
    #[arg(long, value_name = "BYTES", value_parser = parse_size)]
    pub(crate) memory: Option<u64>,
}

impl LimitArgs {
    /// Starts the clock of a command. What it obeys beside it is who cancels, and what the whole process takes.
    pub(crate) fn watch(&self, cancel: &Cancel) -> Watch {
        self.watch_to(None, cancel)
    }

    /// Guards the limits of a command that prints text.
    pub(crate) fn guard(watch: &Watch, file: &Path) -> LimitGuard {
        let file = file.display().to_string();
        LimitGuard::of(watch, &shoal::Saving::default(), move |reason| {
            output::complain(format_args!("error: {file}: nothing is decided: {reason}"));
            SoFar::NotViolated
        })
    }

    /// The same, with a limit of the steps from a start.
    pub(crate) fn watch_to(&self, depth: Option<u64>, cancel: &Cancel) -> Watch {
        // More than the system gives is not to be had, whatever was asked for.
        let asked =
            self.memory.map(|memory| shoal::memory_of_addresses().map_or(memory, |most| memory.min(most)));
        let memory = asked.or_else(shoal::default_memory_limit);
        let limits = Limits { time: self.time, memory, depth, states: None };
        Watch::start(limits).cancelled_by(cancel).with_gauge(shoal::resident_memory)
    }
}
