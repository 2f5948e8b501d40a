//! Developer tasks: `cargo xtask test`, `tidy`, `bench`, `soak`, `dist`, `diagrams`, `book`, `grammars`.
//!
//! A plain Rust program, so that a fresh machine with Rust needs nothing else.

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod book;
mod dist;
mod gate;
mod newcomer;
mod process;
mod programs;
mod soak;
mod tidy;

use std::process::{Command, ExitCode};

const USAGE: &str = "\
usage: cargo xtask <task>

  test    format, lints, layers, all tests, and the README's first command: what CI runs
          --quick: only the tests inside the crates and the gallery
  tidy    only the rules of the house: dependency directions, documented error codes, links of the book
  bench   Shoal beside the papers and its peers: `cargo xtask bench` lists the tables
  soak    all hunts for disagreements with fresh seeds: --minutes M [--seed S] [--only WORD] [--release]
  dist    a package that runs on a bare Linux, from the packed crates; --check: try it in a bare Debian (debootstrap);
          --vscode: only the extension for VS Code (npm)
  diagrams  whether Mermaid (npm) and PlantUML (apt) read the diagrams of all runs of the gallery, and what axe-core says of the page
  book    the book as pages for a browser (mdbook)
  grammars  what editors colour the languages by, from the words of the front ends
  newcomer  the first hour of a new user, with times: a protocol at hand, from nothing, in a pipeline";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.first().map(String::as_str) {
        Some("test") => gate::test(&args[1..]),
        Some("tidy") => tidy::tidy(),
        Some("bench") => bench::bench(&args[1..]),
        Some("soak") => soak::soak(&args[1..]),
        Some("newcomer") => newcomer::newcomer(&args[1..]),
        Some("dist") => dist::dist(&args[1..]),
        Some("diagrams") => diagrams(),
        Some("book") => book::book(),
        Some("grammars") => cargo(&["run", "--quiet", "--no-default-features", "--", "grammars", "editors"]),
        _ => Err(USAGE.to_string()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// Gets the tools that draw diagrams, and runs the tests that hold ours against them.
fn diagrams() -> Result<(), String> {
    gate::install(&[("plantuml", "plantuml"), ("node", "nodejs"), ("npm", "npm")]);
    let folder = tidy::root().join("target/npm");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let npm = ["install", "--no-audit", "--no-fund", "--silent", "--prefix", ".", "mermaid@11", "axe-core@4"];
    succeed(Command::new("npm").args(npm).current_dir(&folder))?;
    let tests = ["test", "--package", "shoal-cli", "--test", "main", "diagrams::", "--", "--nocapture"];
    succeed(command(&tests).env("SHOAL_NODE_MODULES", &folder))?;
    let page = ["test", "--package", "shoal-studio", "--test", "main", "browser::", "--", "--nocapture"];
    succeed(command(&page).env("SHOAL_NODE_MODULES", &folder).env("SHOAL_SCENARIO", "everybody"))
}

/// Runs cargo at the root of the workspace and shows what it prints.
fn cargo(args: &[&str]) -> Result<(), String> {
    succeed(&mut command(args))
}

/// Runs a command to its end, which is to be a success.
fn succeed(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?} ended with {status}")),
        Err(error) => Err(format!("cannot run {command:?}: {error}")),
    }
}

/// Cargo at the root of the workspace, announced.
fn command(args: &[&str]) -> Command {
    println!("$ cargo {}", args.join(" "));
    let mut command = Command::new(env!("CARGO"));
    command.args(args).current_dir(tidy::root());
    // The same random models every time: a run that fails can be repeated. Others: set the variable, `cargo test`, or `soak`.
    if std::env::var_os("PROPTEST_RNG_SEED").is_none() {
        command.env("PROPTEST_RNG_SEED", "1");
    }
    command
}
