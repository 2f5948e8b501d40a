//! How a call ends.

use std::{fmt, io, process::ExitCode};

use shoal::model::StopReason;
use shoal_report::render_diagnostics;

use crate::{
    output::{self, Console},
    words::advise,
};

/// The exit codes of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitKind {
    /// Every property holds in the scope asked.
    Good,
    /// Some property is violated.
    Violated,
    /// The model or the call is wrong.
    Wrong,
    /// A limit was reached, or the search was not exhaustive.
    Inconclusive,
    /// A mistake in Shoal.
    Internal,
    /// The user stopped it.
    Interrupted,
}

impl ExitKind {
    pub(crate) fn code(self) -> u8 {
        match self {
            ExitKind::Good => 0,
            ExitKind::Violated => 1,
            ExitKind::Wrong => 2,
            ExitKind::Inconclusive => 3,
            ExitKind::Internal => 4,
            ExitKind::Interrupted => 130,
        }
    }

    /// What a code of the contract means.
    pub(crate) fn of_code(code: i32) -> Option<ExitKind> {
        let all = [
            ExitKind::Good,
            ExitKind::Violated,
            ExitKind::Wrong,
            ExitKind::Inconclusive,
            ExitKind::Internal,
            ExitKind::Interrupted,
        ];
        all.into_iter().find(|exit| i32::from(exit.code()) == code)
    }

    /// Of the ends of several files, the one that the user must hear of.
    pub(crate) fn worse(self, other: ExitKind) -> ExitKind {
        let weight = |exit| match exit {
            ExitKind::Good => 0,
            ExitKind::Inconclusive => 1,
            ExitKind::Violated => 2,
            ExitKind::Wrong => 3,
            ExitKind::Interrupted => 4,
            ExitKind::Internal => 5,
        };
        if weight(other) > weight(self) { other } else { self }
    }
}

impl From<ExitKind> for ExitCode {
    fn from(exit: ExitKind) -> Self {
        ExitCode::from(exit.code())
    }
}

/// What keeps a command from doing its job.
#[derive(Debug)]
pub(crate) enum CommandFailure {
    /// Said by the library.
    Shoal(shoal::Error),
    /// The call or a file is wrong.
    Wrong(String),
}

impl CommandFailure {
    pub(crate) fn wrong(what: impl fmt::Display) -> CommandFailure {
        CommandFailure::Wrong(what.to_string())
    }

    pub(crate) fn exit(&self) -> ExitKind {
        match self {
            CommandFailure::Shoal(error) if error.is_internal() => ExitKind::Internal,
            CommandFailure::Shoal(shoal::Error::Stopped(StopReason::Interrupted)) => ExitKind::Interrupted,
            CommandFailure::Shoal(shoal::Error::Stopped(_)) => ExitKind::Inconclusive,
            CommandFailure::Shoal(_) | CommandFailure::Wrong(_) => ExitKind::Wrong,
        }
    }

    /// Says it on standard error, with the places in the source where there are any.
    pub(crate) fn report(&self, console: &Console) -> ExitKind {
        match self {
            CommandFailure::Shoal(shoal::Error::Source(rejected)) => {
                let text = render_diagnostics(
                    &rejected.sources,
                    &rejected.diagnostics,
                    advise,
                    console.error_palette,
                );
                output::complain_coloured(text.trim_end(), console.error_palette);
            }
            other => {
                // Names in it are not ours: escaped, line by line.
                let words = other.to_string();
                let words: Vec<_> = words.lines().map(shoal::syntax::escaped).collect();
                let error = console.error_palette.bad("error");
                output::complain_coloured(
                    format_args!("{error}: {}", words.join("\n")),
                    console.error_palette,
                );
            }
        }
        self.exit()
    }
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandFailure::Shoal(error) => write!(f, "{error}"),
            CommandFailure::Wrong(message) => f.write_str(message),
        }
    }
}

impl From<shoal::Error> for CommandFailure {
    fn from(error: shoal::Error) -> Self {
        CommandFailure::Shoal(error)
    }
}

impl From<io::Error> for CommandFailure {
    fn from(error: io::Error) -> Self {
        CommandFailure::Wrong(format!("cannot write: {error}"))
    }
}
