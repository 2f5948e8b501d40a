//! What must pass before a change lands.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    sync::Mutex,
};

use crate::{
    book, command, dist,
    programs::{self, BuiltProgram, ProgramKind},
    succeed, tidy,
};

/// What tests run beside Shoal where it is installed, and the packages it is in: peers to compare with, a browser and an editor.
const PEERS: [(&str, &str); 5] = [
    ("rumur", "rumur"),
    ("spin", "spin"),
    ("chromium", "chromium"),
    ("chromedriver", "chromium-driver"),
    ("nvim", "neovim"),
];

/// The gate; with `--quick`, what can be known of it in two minutes.
pub(crate) fn test(args: &[String]) -> Result<(), String> {
    match args {
        [] => whole(),
        [quick] if quick == "--quick" => part(),
        _ => Err("usage: cargo xtask test [--quick]".into()),
    }
}

fn whole() -> Result<(), String> {
    // Nothing is built a second time, so nothing is kept for a second build.
    let cargo = |args: &[&str]| succeed(command(args).env("CARGO_INCREMENTAL", "0"));
    tidy::tidy()?;
    cargo(&["fmt", "--all", "--check"])?;
    install(&PEERS);
    dist::pack_crates()?;
    cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "--deny", "warnings"])?;
    // A library user can leave machine code out.
    cargo(&["check", "--package", "shoal", "--no-default-features", "--quiet"])?;
    let mut count = TestCount::default();
    let ran = count.run_all();
    println!("{} passed, {} failed", count.passed, count.failed);
    ran?;
    book::book()?;
    first_command()
}

/// The README's first command, by the program that the tests have built: `cargo run` would build most crates once more, as tests of
/// some ask for features that the program does not have.
fn first_command() -> Result<(), String> {
    let xtask = std::env::current_exe().map_err(|error| format!("where is this program? {error}"))?;
    let mut shoal = Command::new(xtask.with_file_name("shoal"));
    succeed(shoal.args(["check", "--trace", "none", "models/murphi/peterson.m"]).current_dir(tidy::root()))
}

fn part() -> Result<(), String> {
    tidy::tidy()?;
    let mut count = TestCount::default();
    let units =
        count.run(&mut command(&["test", "--workspace", "--lib", "--bins", "--no-fail-fast", "--quiet"]));
    let gallery = ["test", "--package", "shoal", "--test", "main", "--quiet", "gallery::"];
    let gallery = count.run(&mut command(&gallery));
    println!("{} passed, {} failed", count.passed, count.failed);
    units.and(gallery)
}

/// Installs the programs that are missing, where that is possible; tests that lack one say so and pass.
pub(crate) fn install(programs: &[(&str, &str)]) {
    let is_installed = |program: &str| Command::new(program).arg("--version").output().is_ok();
    let absent = programs.iter().filter(|(program, _)| !is_installed(program));
    let missing: Vec<&str> = absent.map(|(_, package)| *package).collect();
    if missing.is_empty() {
        return;
    }
    println!("$ apt-get install {}", missing.join(" "));
    let apt = |args: &[&str]| {
        let output = Command::new("apt-get").args(args).stdin(Stdio::null()).output();
        output.is_ok_and(|output| output.status.success())
    };
    let install = ["install", "--yes", "--quiet", "--no-install-recommends"];
    // A new machine has no list of packages, or an old one.
    if !(apt(&["update", "--quiet"]) && apt(&[&install[..], &missing].concat())) {
        println!("cannot be installed here: {}; tests that need them are skipped", missing.join(", "));
    }
}

/// How many tests passed and failed.
#[derive(Default)]
struct TestCount {
    passed: u64,
    failed: u64,
}

impl TestCount {
    /// Builds all tests, runs the programs several at a time (many tests wait, and one program has a few long ones), and then those
    /// in the documentation.
    fn run_all(&mut self) -> Result<(), String> {
        let built = programs::build(&["test", "--workspace", "--no-run", "--quiet"], false)?;
        let tests: Vec<BuiltProgram> =
            built.into_iter().filter(|program| program.kind != ProgramKind::Command).collect();
        let so_far = Mutex::new((&mut *self, 0));
        programs::run_tests(tests, &|run| {
            let Ok(mut so_far) = so_far.lock() else { return };
            let (count, failed) = &mut *so_far;
            run.output.lines().for_each(|line| count.note(line));
            *failed += usize::from(!run.passed);
            if !run.passed || !run.output.contains("\nrunning 0 tests\n") {
                println!("{}", run.output.trim_end());
            }
        });
        let failed = so_far.into_inner().map_or(usize::MAX, |(_, failed)| failed);
        let mut documentation = command(&["test", "--workspace", "--doc", "--no-fail-fast", "--quiet"]);
        let documented = self.run(documentation.env("CARGO_INCREMENTAL", "0"));
        match failed {
            0 => documented,
            _ => Err("tests failed".into()),
        }
    }

    /// Runs tests, shows what they print, and counts them.
    fn run(&mut self, tests: &mut Command) -> Result<(), String> {
        let mut child =
            tests.stdout(Stdio::piped()).spawn().map_err(|error| format!("{tests:?}: {error}"))?;
        let output = child.stdout.take().map(BufReader::new);
        for line in output.into_iter().flat_map(BufRead::lines).map_while(Result::ok) {
            self.note(&line);
            // A row of dots for each program, and its sum; nothing of programs without tests.
            if !line.is_empty() && line != "running 0 tests" && !line.contains(" 0 passed; 0 failed") {
                println!("{line}");
            }
        }
        match child.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("{tests:?} ended with {status}")),
            Err(error) => Err(format!("{tests:?}: {error}")),
        }
    }

    /// Counts what a line such as `test result: ok. 3 passed; 0 failed; ...` says.
    fn note(&mut self, line: &str) {
        let Some(result) = line.strip_prefix("test result: ") else { return };
        let number = |word: &str| {
            let before = result.split(word).next().and_then(|text| text.split_whitespace().last());
            before.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0)
        };
        self.passed += number(" passed");
        self.failed += number(" failed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_counted() {
        let mut count = TestCount::default();
        count.note("test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out");
        count.note("test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out");
        count.note("running 5 tests");
        assert_eq!((count.passed, count.failed), (15, 2));
    }
}
