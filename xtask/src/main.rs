//! Developer tasks: `cargo xtask test`, `cargo xtask tidy`, `cargo xtask bench`.
//!
//! A plain Rust program, so that a fresh machine with Rust needs nothing else.

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod tidy;

use std::process::{Command, ExitCode};

const USAGE: &str = "\
usage: cargo xtask <task>

  test    format, lints, layers, all tests, and the README's first command: what CI runs
  tidy    only the rules of the house: dependency directions, documented error codes, links of the book
  bench   Shoal beside the papers and its peers: `cargo xtask bench` lists the tables";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.first().map(String::as_str) {
        Some("test") => test(),
        Some("tidy") => tidy::tidy(),
        Some("bench") => bench::bench(&args[1..]),
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

/// Everything that must pass before a change lands.
fn test() -> Result<(), String> {
    tidy::tidy()?;
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "--deny", "warnings"])?;
    cargo(&["test", "--workspace", "--quiet"])?;
    cargo(&["run", "--release", "--quiet", "--", "check", "--trace", "none", "models/murphi/peterson.m"])
}

/// Runs cargo at the root of the workspace and shows what it prints.
fn cargo(args: &[&str]) -> Result<(), String> {
    println!("$ cargo {}", args.join(" "));
    let mut command = Command::new(env!("CARGO"));
    command.args(args).current_dir(tidy::root());
    // The same random models every time: a run that fails can be repeated. Others: set the variable, or `cargo test`.
    if std::env::var_os("PROPTEST_RNG_SEED").is_none() {
        command.env("PROPTEST_RNG_SEED", "1");
    }
    let status = command.status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("cargo {} ended with {status}", args.join(" "))),
        Err(error) => Err(format!("cannot run cargo: {error}")),
    }
}
