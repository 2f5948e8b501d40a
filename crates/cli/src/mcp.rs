//! `shoal mcp`: a server for agents.

use std::io;

use crate::{
    args::McpArgs,
    exit::{CommandFailure, ExitKind},
};

/// Serves until standard input ends.
pub(crate) fn run(args: &McpArgs) -> Result<ExitKind, CommandFailure> {
    let wrong = |error: io::Error| CommandFailure::wrong(format_args!("{}: {error}", args.root.display()));
    shoal_mcp::serve(&args.root, io::stdin().lock(), io::stdout()).map_err(wrong)?;
    Ok(ExitKind::Good)
}
