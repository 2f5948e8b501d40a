//! The programs that cargo builds of the workspace: those with tests, and the command.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Mutex,
    thread,
};

use serde_json::Value;

use crate::command;

/// What a program is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProgramKind {
    /// The tests beside a crate: those in its folder `tests`.
    Tests,
    /// The tests inside a crate.
    UnitTests,
    /// A program for users.
    Command,
}

/// A program that was built.
pub(crate) struct BuiltProgram {
    pub(crate) kind: ProgramKind,
    /// The name of what it was built of, such as `main`.
    pub(crate) target: String,
    /// The folder of its package.
    pub(crate) folder: PathBuf,
    pub(crate) path: PathBuf,
}

/// Builds what arguments of cargo say, and gives the programs.
pub(crate) fn build(args: &[&str], incremental: bool) -> Result<Vec<BuiltProgram>, String> {
    let mut cargo = command(&[args, &["--message-format=json"]].concat());
    if !incremental {
        cargo.env("CARGO_INCREMENTAL", "0");
    }
    let output =
        cargo.stderr(Stdio::inherit()).output().map_err(|error| format!("cannot run cargo: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let messages: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    if !output.status.success() {
        // What the compiler has to say is in the messages.
        messages.iter().filter_map(|it| it["message"]["rendered"].as_str()).for_each(|it| eprint!("{it}"));
        return Err(format!("cargo {} ended with {}", args.join(" "), output.status));
    }
    Ok(messages.iter().filter_map(program).collect())
}

/// The program that cargo tells of.
fn program(message: &Value) -> Option<BuiltProgram> {
    let path = PathBuf::from(message["executable"].as_str()?);
    let is_test = message["profile"]["test"] == true;
    let kind = match (message["target"]["kind"][0].as_str()?, is_test) {
        ("test", true) => ProgramKind::Tests,
        (_, true) => ProgramKind::UnitTests,
        ("bin", false) => ProgramKind::Command,
        _ => return None,
    };
    let folder = message["manifest_path"].as_str().map(Path::new).and_then(Path::parent)?.to_path_buf();
    let target = message["target"]["name"].as_str()?.to_string();
    Some(BuiltProgram { kind, target, folder, path })
}

/// What a program of tests printed, and whether all of them passed.
pub(crate) struct ProgramRun {
    pub(crate) output: String,
    pub(crate) passed: bool,
}

/// Runs programs of tests, several at a time, and tells of each when it ends. Large ones begin: they take longest.
pub(crate) fn run_tests(mut programs: Vec<BuiltProgram>, tell: &(dyn Fn(&ProgramRun) + Sync)) {
    programs.sort_by_key(|program| std::fs::metadata(&program.path).map_or(0, |it| it.len()));
    let left = Mutex::new(programs);
    let work = || {
        while let Some(program) = left.lock().ok().and_then(|mut left| left.pop()) {
            tell(&run(&program));
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(work);
        }
    });
}

fn run(program: &BuiltProgram) -> ProgramRun {
    let mut tests = Command::new(&program.path);
    // As cargo does: a test finds its files from the folder of its package.
    tests.arg("--quiet").current_dir(&program.folder).env("CARGO_MANIFEST_DIR", &program.folder);
    if std::env::var_os("PROPTEST_RNG_SEED").is_none() {
        tests.env("PROPTEST_RNG_SEED", "1");
    }
    let folder = program.folder.file_name().unwrap_or_default().to_string_lossy();
    let head = format!("{folder} ({})", program.target);
    match tests.stdin(Stdio::null()).output() {
        Ok(output) => {
            let [told, complained] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
            // What tests that pass complain of is nobody's concern.
            let complained = if output.status.success() { "".into() } else { complained };
            ProgramRun { output: format!("{head}\n{told}{complained}"), passed: output.status.success() }
        }
        Err(error) => ProgramRun { output: format!("{head}: {error}"), passed: false },
    }
}
