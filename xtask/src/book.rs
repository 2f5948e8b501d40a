//! `cargo xtask book`: the book as pages for a browser, by mdbook. Where there is none, it is installed into
//! `target/tools`.

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

/// An mdbook that can be run.
fn mdbook() -> Result<PathBuf, String> {
    if Command::new("mdbook").arg("--version").output().is_ok_and(|output| output.status.success()) {
        return Ok("mdbook".into());
    }
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
