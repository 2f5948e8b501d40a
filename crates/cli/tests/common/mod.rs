//! Running the command in a folder of its own.
#![allow(dead_code, reason = "each test file uses a part")]

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

/// A lock without a lock: two steps to a violation.
pub(crate) const BROKEN: &str = r#"
const N: 2;
type proc: scalarset(N);
var inside: array [proc] of boolean;
startstate "outside" begin for p: proc do inside[p] := false; end; end;
ruleset p: proc do
  rule "enter" !inside[p] ==> begin inside[p] := true; end;
  rule "leave" inside[p] ==> begin inside[p] := false; end;
end;
rule "never" false ==> begin end;
invariant "at most one is inside"
  forall p: proc do forall q: proc do p != q -> !(inside[p] & inside[q]) end end;
"#;

/// Counts up to a constant and back to 0.
pub(crate) const COUNTER: &str = r#"
const LAST: 9;
var x: 0..LAST;
startstate begin x := 0; end;
rule "up" x < LAST ==> begin x := x + 1; end;
rule "reset" x = LAST ==> begin x := 0; end;
invariant "small" x <= LAST;
"#;

/// Leaves a range after three steps.
pub(crate) const FAULT: &str = r#"
var x: 0..3;
startstate "zero" begin x := 0; end;
rule "up" true ==> begin x := x + 1; end;
"#;

pub(crate) struct Folder(TempDir);

pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self::new();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    pub(crate) fn shoal(&self, args: &[&str]) -> Ran {
        self.shoal_with_input(args, "")
    }

    pub(crate) fn shoal_with_input(&self, args: &[&str], input: &str) -> Ran {
        self.run(args, input, None)
    }

    /// As on a terminal of a width.
    pub(crate) fn shoal_within(&self, args: &[&str], width: usize) -> Ran {
        self.run(args, "", Some(width))
    }

    fn run(&self, args: &[&str], input: &str, width: Option<usize>) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shoal"));
        command.env_remove("COLUMNS");
        command.envs(width.map(|width| ("COLUMNS", width.to_string())));
        let mut child = command
            .args(args)
            .current_dir(self.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that ends without reading its input closes it.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Ran {
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "standard output:\n{}\nstandard error:\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(
            self.out.contains(text) || self.err.contains(text),
            "`{text}` is not in:\n{}\n{}",
            self.out,
            self.err
        );
        self
    }

    /// Standard output as one JSON object a line.
    pub(crate) fn events(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}
