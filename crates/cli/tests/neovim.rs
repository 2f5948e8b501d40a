//! A real editor, Debian's neovim without a screen, talks to the language server.

use std::process::{Command, Stdio};

use crate::common::Folder;

const MODEL: &str = "-- a lock without a lock
type proc: scalarset(2);
var inside: array [proc] of boolean;
startstate for p: proc do inside[p] := false; end; end;
ruleset p: proc do
rule \"enter\" !inside[p] ==>
  insdie[p] := true; end;
end;
invariant \"alone\" forall p: proc do forall q: proc do inside[p] & inside[q] -> p = q end end;
";

#[test]
fn neovim_is_served() {
    if Command::new("nvim").arg("--version").output().is_err() {
        #[allow(clippy::print_stderr)]
        {
            eprintln!("skipped: no neovim");
        }
        return;
    }
    let folder = Folder::with(&[("lock.m", MODEL)]);
    let facts = folder.path().join("facts");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/neovim.lua");
    let status = Command::new("nvim")
        .args(["--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", &format!("luafile {script}")])
        .current_dir(folder.path())
        .env("SHOAL", env!("CARGO_BIN_EXE_shoal"))
        .env("SHOAL_MODEL", folder.path().join("lock.m"))
        .env("SHOAL_FACTS", &facts)
        .env("XDG_STATE_HOME", folder.path())
        .env("XDG_DATA_HOME", folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let facts = std::fs::read_to_string(&facts)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&status.stderr)));
    let expected = [
        "error: ",
        "action: Replace `insdie` by `inside`",
        "formatted:   rule \"enter\" !inside[p] ==>",
        "hover: ``` sort proc ```  2 elements, symmetric: proved",
        "definition: 2",
        "references: 6",
        "completion: true",
        "verdict: invariant \"alone\" is violated in 2 steps",
    ];
    for fact in expected {
        assert!(facts.contains(fact), "`{fact}` is not in:\n{facts}");
    }
    for some in ["symbols: 0", "folds: 0", "lens: nil", "timeout"] {
        assert!(!facts.contains(some), "`{some}` is in:\n{facts}");
    }
}
