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
pub(crate) enum Exit {
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

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Good => 0,
            Exit::Violated => 1,
            Exit::Wrong => 2,
            Exit::Inconclusive => 3,
            Exit::Internal => 4,
            Exit::Interrupted => 130,
        }
    }

    /// What a code of the contract means.
    pub(crate) fn of_code(code: i32) -> Option<Exit> {
        let all =
            [Exit::Good, Exit::Violated, Exit::Wrong, Exit::Inconclusive, Exit::Internal, Exit::Interrupted];
        all.into_iter().find(|exit| i32::from(exit.code()) == code)
    }

    /// Of the ends of several files, the one that the user must hear of.
    pub(crate) fn worse(self, other: Exit) -> Exit {
        let weight = |exit| match exit {
            Exit::Good => 0,
            Exit::Inconclusive => 1,
            Exit::Violated => 2,
            Exit::Wrong => 3,
            Exit::Interrupted => 4,
            Exit::Internal => 5,
        };
        if weight(other) > weight(self) { other } else { self }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

/// What keeps a command from doing its job.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Said by the library.
    Shoal(shoal::Error),
    /// The call or a file is wrong.
    Wrong(String),
}

impl Failure {
    pub(crate) fn wrong(what: impl fmt::Display) -> Failure {
        Failure::Wrong(what.to_string())
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Failure::Shoal(error) if error.is_internal() => Exit::Internal,
            Failure::Shoal(shoal::Error::Stopped(StopReason::Interrupted)) => Exit::Interrupted,
            Failure::Shoal(shoal::Error::Stopped(_)) => Exit::Inconclusive,
            Failure::Shoal(_) | Failure::Wrong(_) => Exit::Wrong,
        }
    }

    /// Says it on standard error, with the places in the source where there are any.
    pub(crate) fn report(&self, console: &Console) -> Exit {
        match self {
            Failure::Shoal(shoal::Error::Source(rejected)) => {
                let text = render_diagnostics(
                    &rejected.sources,
                    &rejected.diagnostics,
                    advise,
                    console.error_palette,
                );
                output::complain(text.trim_end());
            }
            other => output::complain(format_args!("{}: {other}", console.error_palette.bad("error"))),
        }
        self.exit()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Shoal(error) => write!(f, "{error}"),
            Failure::Wrong(message) => f.write_str(message),
        }
    }
}

impl From<shoal::Error> for Failure {
    fn from(error: shoal::Error) -> Self {
        Failure::Shoal(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Wrong(format!("cannot write: {error}"))
    }
}
