//! What stands around the command in the repository and calls it: pipelines, the Python package, manual pages.
#![allow(clippy::print_stderr)]

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use crate::common::{BROKEN, COUNTER, Folder};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `PATH` with the command in front.
fn path() -> OsString {
    let folder = Path::new(env!("CARGO_BIN_EXE_shoal")).parent().unwrap().to_path_buf();
    let others = env::var_os("PATH").unwrap_or_default();
    env::join_paths([folder].into_iter().chain(env::split_paths(&others))).unwrap()
}

fn has_python() -> bool {
    let found = Command::new("python3").arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: no python3");
    }
    found
}

/// Runs what pipelines run, as they do.
fn pipeline(folder: &Folder, files: &str) -> Output {
    let script = root().join("pipelines/check.sh");
    let mut command = Command::new("bash");
    command.arg(script).current_dir(folder.path()).env("PATH", path());
    command.env("FILES", files).env("OPTIONS", "--threads 1 --time 60").env("GITHUB_OUTPUT", "outputs");
    command.output().unwrap()
}

#[test]
fn a_pipeline_is_as_red_as_the_command() {
    for (text, code, tests) in [(COUNTER, 0, "failures=\"0\""), (BROKEN, 1, "failures=\"1\"")] {
        let folder = Folder::with(&[("model.m", text)]);
        let ran = pipeline(&folder, "*.m");
        assert_eq!(ran.status.code(), Some(code), "{}", String::from_utf8_lossy(&ran.stderr));
        assert_eq!(folder.read("outputs").trim(), format!("exit-code={code}"));
        assert!(folder.read("shoal-report/shoal.junit.xml").contains(tests));
        assert!(folder.read("shoal-report/shoal.ndjson").lines().last().unwrap().contains("\"finished\""));
        assert!(folder.path().join("shoal-report/shoal.sarif").exists());
        assert_eq!(folder.path().join("shoal-report/trace.itf.json").exists(), code == 1);
    }
    let missing = pipeline(&Folder::new(), "no-such-file.m");
    assert_eq!(missing.status.code(), Some(2));
}

/// The action and the template call a script that is there, and their inputs are the script's variables.
#[test]
fn pipelines_call_what_is_there() {
    let action = fs::read_to_string(root().join("action.yml")).unwrap();
    let template = fs::read_to_string(root().join("pipelines/gitlab/shoal.yml")).unwrap();
    let docker = fs::read_to_string(root().join("Dockerfile")).unwrap();
    assert!(action.contains("$ACTION/pipelines/check.sh") && action.contains("$ACTION/crates/cli"));
    assert!(
        docker.contains("pipelines/check.sh /usr/local/bin/shoal-pipeline")
            && template.contains("- shoal-pipeline")
    );
    for variable in ["FILES", "OPTIONS", "REPORT"] {
        assert!(action.contains(&format!("        {variable}: ${{{{ inputs.")), "{variable}");
        assert!(template.contains(&format!("    {variable}: ")), "{variable}");
    }
}

#[test]
fn the_python_package_reads_what_the_command_prints() {
    if !has_python() {
        return;
    }
    let mut tests = Command::new("python3");
    tests.args(["-m", "unittest", "discover", "tests"]).current_dir(root().join("python"));
    let ran =
        tests.env("SHOAL", env!("CARGO_BIN_EXE_shoal")).env("PYTHONDONTWRITEBYTECODE", "1").output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn the_python_example_makes_its_table_and_picture() {
    if !has_python() {
        return;
    }
    let folder = Folder::new();
    let mut example = Command::new("python3");
    example.arg(root().join("python/examples/growth.py")).arg(folder.path());
    let ran = example
        .env("SHOAL", env!("CARGO_BIN_EXE_shoal"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(folder.read("growth.csv").lines().last(), Some("4,504360,25481"));
    // The figure of the book is the one that is made now.
    let shown = fs::read_to_string(root().join("docs/src/growth.svg")).unwrap();
    assert_eq!(folder.read("growth.svg"), shown);
    let page = fs::read_to_string(root().join("docs/src/pipelines.md")).unwrap();
    for row in folder.read("growth.csv").lines().skip(1) {
        let (cells, grouped) = (row.split(','), |number: &str| number.parse::<u64>().unwrap());
        let wanted: Vec<u64> = cells.map(grouped).collect();
        let has = |line: &str| {
            let found: Vec<u64> =
                line.split('|').filter_map(|cell| cell.trim().replace(',', "").parse().ok()).collect();
            found == wanted
        };
        assert!(page.lines().any(has), "{row} is not in the table of the book");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = Folder::new();
    let ran = folder.shoal(&["manual", "."]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for page in ["shoal.1", "shoal-check.1", "shoal-trace-show.1"] {
        assert!(folder.read(page).contains(".SH NAME"), "{page}");
    }
    assert!(!folder.path().join("shoal-manual.1").exists());
}
