//! Why work ends before it is done.

use shoal_model::{StopReason, Unsupported};
use shoal_syntax::Span;

/// The engine that formulas with bounds on time belong to.
pub const ENGINE: &str = "timed";

/// Why something was not computed.
#[derive(Clone, Debug)]
pub enum TctlHalt {
    /// The engine lacks something.
    Unsupported(Unsupported),
    /// A limit was reached.
    Stopped(StopReason),
    /// Numbers on the way of a run have become too large.
    Lost,
}

impl From<Unsupported> for TctlHalt {
    fn from(unsupported: Unsupported) -> TctlHalt {
        TctlHalt::Unsupported(unsupported)
    }
}

impl From<StopReason> for TctlHalt {
    fn from(reason: StopReason) -> TctlHalt {
        TctlHalt::Stopped(reason)
    }
}

impl TctlHalt {
    /// The reason for which nothing is known; what the engine lacks is an error of its own.
    pub fn reason(self) -> Result<StopReason, Unsupported> {
        match self {
            TctlHalt::Unsupported(unsupported) => Err(unsupported),
            TctlHalt::Stopped(reason) => Ok(reason),
            TctlHalt::Lost => Ok(StopReason::Overflow),
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
