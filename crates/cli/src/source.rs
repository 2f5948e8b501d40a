//! Where a model is read from: a file, or standard input for `-`.

use std::{
    io::{self, Read},
    path::Path,
};

use shoal::{LARGEST_FILE, LoadOptions, Loaded};

use crate::exit::CommandFailure;

/// The name that a model from standard input has.
const STDIN: &str = "stdin.m";

/// Loads a model.
pub(crate) fn load(path: &Path, options: &LoadOptions) -> Result<Loaded, CommandFailure> {
    if path != Path::new("-") {
        return Ok(shoal::load(path, options)?);
    }
    let mut text = String::new();
    let read = io::stdin().lock().take(LARGEST_FILE).read_to_string(&mut text);
    read.map_err(|error| CommandFailure::wrong(format_args!("standard input cannot be read: {error}")))?;
    Ok(shoal::load_text(STDIN, text, options)?)
}
