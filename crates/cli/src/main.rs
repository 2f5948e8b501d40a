//! The command `shoal`.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod allocation;
mod args;
mod bench;
mod check;
mod clean;
mod cluster;
mod config;
mod cover_set;
mod exit;
mod explain;
mod export;
mod files;
mod fmt;
mod graph;
mod graphs;
mod guard;
mod interactive;
mod lines;
mod mcp;
mod new;
mod output;
mod pages;
mod progress;
mod refine;
mod repeat;
mod shell;
mod sim;
mod source;
mod studio;
mod testgen;
mod traces;
mod validate;
mod verify;
mod watch;
mod words;
mod wrap;

use std::{io, panic, process::ExitCode};

use clap::Parser;

use crate::{
    args::{Args, Command},
    exit::ExitKind,
    output::Console,
};

fn main() -> ExitCode {
    panic::set_hook(Box::new(|info| {
        output::complain(format_args!("internal error: {info}"));
        output::complain(format_args!(
            "This is a mistake in Shoal {}. Please report it with the model and the command: {}/issues",
            env!("CARGO_PKG_VERSION"),
            env!("CARGO_PKG_REPOSITORY"),
        ));
    }));
    let typed = match config::with_defaults(std::env::args_os().collect()) {
        Ok(typed) => typed,
        Err(failure) => return failure.report(&Console::new(args::ColorChoice::Auto)).into(),
    };
    let mut args = Args::parse_from(&typed);
    if let Command::Check(check) = &mut args.command {
        check.typed = typed.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    }
    let worker = shoal::on_large_stack(move || run(args));
    let exit = match worker {
        Ok(worker) => worker.join().unwrap_or(ExitKind::Internal),
        // A system that does not give such a stack: make do with the one there is.
        Err(_) => panic::catch_unwind(|| run(Args::parse_from(&typed))).unwrap_or(ExitKind::Internal),
    };
    exit.into()
}

fn run(args: Args) -> ExitKind {
    let console = Console::new(args.color);
    let result = match args.command {
        Command::Check(args) => check::run(&console, &args),
        Command::Watch(args) => watch::run(&console, &args),
        Command::Repeat { file } => repeat::run(&console, &file),
        Command::New(args) => new::run(&console, &args),
        Command::Sim(args) => sim::run(&console, &args),
        Command::Explain(args) => explain::run(&console, &args),
        Command::Trace(args) => traces::run(&console, &args),
        Command::Testgen(args) => testgen::run(&console, &args),
        Command::Fmt(args) => fmt::run(&console, &args),
        Command::Graph(args) => graph::run(&console, &args),
        Command::Export(args) => export::run(&console, &args),
        Command::Script(args) => graphs::script(&console, &args),
        Command::Graphs(args) => graphs::interactive(&console, &args),
        Command::Verify(args) => verify::run(&console, &args),
        Command::Refine(args) => refine::run(&console, &args),
        Command::Mcp(args) => mcp::run(&args),
        Command::Cluster(args) => cluster::run(&console, args.command),
        Command::Studio(args) => studio::run(&console, &args),
        Command::Bench(args) => bench::run(&console, &args),
        Command::Lsp => lsp(),
        Command::Completions { shell } => shell::completions(&console, shell),
        Command::Grammars { folder } => shell::grammars(&folder),
        Command::Manual { folder } => shell::manual(&folder),
    };
    result.unwrap_or_else(|failure| failure.report(&console))
}

/// An editor that ends without `shutdown` is gone: the protocol wants another exit code then.
fn lsp() -> Result<ExitKind, exit::CommandFailure> {
    let served = shoal_lsp::serve(io::BufReader::new(io::stdin()), io::stdout().lock());
    Ok(if served.unwrap_or(false) { ExitKind::Good } else { ExitKind::Violated })
}
