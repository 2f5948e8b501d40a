//! Why work ends before it is done.

use shoal_model::{StopReason, Unsupported};
use shoal_syntax::Span;

/// The engine that formulas with bounds on time belong to.
pub const ENGINE: &str = "timed";

/// Why something was not computed.
#[derive(Clone, Debug)]
pub enum Halt {
    /// The engine lacks something.
    Unsupported(Unsupported),
    /// A limit was reached.
    Stopped(StopReason),
    /// Numbers on the way of a run have become too large.
    Lost,
}

impl From<Unsupported> for Halt {
    fn from(unsupported: Unsupported) -> Halt {
        Halt::Unsupported(unsupported)
    }
}

impl From<StopReason> for Halt {
    fn from(reason: StopReason) -> Halt {
        Halt::Stopped(reason)
    }
}

impl Halt {
    /// The reason for which nothing is known; what the engine lacks is an error of its own.
    pub fn reason(self) -> Result<StopReason, Unsupported> {
        match self {
            Halt::Unsupported(unsupported) => Err(unsupported),
            Halt::Stopped(reason) => Ok(reason),
            Halt::Lost => Ok(StopReason::Overflow),
        }
    }
}

/// Refuses what the engine lacks, in a word of the caller's.
pub fn unsupported<T, E: From<Unsupported>>(
    construct: impl Into<String>,
    span: Option<Span>,
) -> Result<T, E> {
    Err(Unsupported { engine: ENGINE, construct: construct.into(), span }.into())
}
