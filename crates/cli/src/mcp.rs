//! `shoal mcp`: a server for agents.

use std::io;

use crate::{
    args::McpArgs,
    exit::{Exit, Failure},
};

/// Serves until standard input ends.
pub(crate) fn run(args: &McpArgs) -> Result<Exit, Failure> {
    let wrong = |error: io::Error| Failure::wrong(format_args!("{}: {error}", args.root.display()));
    shoal_mcp::serve(&args.root, io::stdin().lock(), io::stdout()).map_err(wrong)?;
    Ok(Exit::Good)
}
