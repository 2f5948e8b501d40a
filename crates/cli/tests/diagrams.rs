//! Diagrams that the tools which draw them read: Mermaid's own parser (npm) and PlantUML (Debian). `cargo xtask diagrams` gets both.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::common::Folder;

/// A model whose names mean something in the languages of diagrams.
const ODD: &str = "type end: enum { loop, alt, participant };
var mail: array [end] of enum { None, Note, rect };
startstate for e: end do mail[e] := None; end; end;
ruleset e: end do
  rule \"a; b # c: d <br/> end % participant -->> \\\" @enduml\" mail[e] = None ==> mail[e] := rect; end;
end;
invariant \"never; ever: # end\" exists e: end do mail[e] = None end;
";

/// The models of the gallery that say of themselves that they are violated.
fn violated() -> Vec<PathBuf> {
    let gallery = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let folders = std::fs::read_dir(gallery).unwrap().map(|entry| entry.unwrap().path());
    let files =
        folders.flat_map(|folder| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    let says = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines().take(12).any(|line| line.contains("shoal: verdict=violated"))
    };
    let mut found: Vec<PathBuf> = files.filter(says).collect();
    found.sort();
    found
}

/// The diagrams of all runs, in a format.
fn diagrams(folder: &Folder, format: &str) -> Vec<PathBuf> {
    let mut models = violated();
    models.push(folder.path().join("odd.m"));
    let mut made = Vec::new();
    for (number, model) in models.iter().enumerate() {
        let trace = format!("{number}.itf.json");
        folder.shoal(&[
            "check",
            "--first",
            "--quiet",
            "--time",
            "20",
            "--trace",
            &trace,
            model.to_str().unwrap(),
        ]);
        if folder.path().join(&trace).exists() {
            let diagram = format!("{number}.{format}");
            folder.shoal(&["trace", "convert", &trace, "--to", format, "-o", &diagram]).expect(0);
            made.push(folder.path().join(diagram));
        }
    }
    assert!(made.len() > 10, "only {} runs", made.len());
    made
}

#[test]
fn mermaid_reads_the_diagrams() {
    let Ok(modules) = std::env::var("SHOAL_NODE_MODULES") else {
        return skipped("no mermaid (cargo xtask diagrams)");
    };
    let folder = Folder::with(&[("odd.m", ODD)]);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mermaid.mjs");
    let mut node = Command::new("node");
    node.arg(script).args(diagrams(&folder, "mermaid")).env("SHOAL_NODE_MODULES", modules);
    let read = node.output().unwrap();
    assert!(
        read.status.success(),
        "{}{}",
        String::from_utf8_lossy(&read.stdout),
        String::from_utf8_lossy(&read.stderr)
    );
}

#[test]
fn plantuml_reads_the_diagrams() {
    if std::env::var("SHOAL_NODE_MODULES").is_err()
        || Command::new("plantuml").arg("-version").output().is_err()
    {
        return skipped("no plantuml (cargo xtask diagrams)");
    }
    let folder = Folder::with(&[("odd.m", ODD)]);
    let mut check = Command::new("plantuml");
    let read = check.args(["-headless", "-checkonly"]).args(diagrams(&folder, "plantuml")).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&read.stdout), String::from_utf8_lossy(&read.stderr));
    assert!(read.status.success() && !said.contains("rror"), "{said}");
}

#[allow(clippy::print_stderr)]
fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}
