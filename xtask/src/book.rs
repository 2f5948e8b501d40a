//! `cargo xtask book`: the book as pages for a browser, by mdbook, which is installed into `target/tools` where it is missing.

use std::{path::PathBuf, process::Command};

use crate::{succeed, tidy};

/// The release that the book is made with.
const VERSION: &str = "0.5.4";

pub(crate) fn book() -> Result<(), String> {
    let output = tidy::root().join("target/book");
    succeed(
        Command::new(mdbook()?).arg("build").arg(tidy::root().join("docs")).arg("--dest-dir").arg(&output),
    )?;
    println!("{}", output.join("index.html").display());
    Ok(())
}

/// Where mdbook is.
fn mdbook() -> Result<PathBuf, String> {
    let tools = tidy::root().join("target/tools");
    let program = tools.join("bin/mdbook");
    if !program.exists() {
        let mut install = Command::new(env!("CARGO"));
        // Without the server and the search it is half as large; an optimised one would take longer to build than to run.
        install.args([
            "install",
            "mdbook",
            "--version",
            VERSION,
            "--locked",
            "--no-default-features",
            "--debug",
        ]);
        succeed(install.arg("--quiet").arg("--root").arg(&tools))?;
    }
    Ok(program)
}
