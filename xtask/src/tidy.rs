//! The rules of the house that a program can check.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask stands in the workspace").to_path_buf()
}

/// Checks all rules and reports every breach.
pub(crate) fn tidy() -> Result<(), String> {
    let mut breaches = layers(&metadata()?);
    breaches.extend(undocumented_codes());
    breaches.extend(broken_links());
    breaches.extend(lonely_tests());
    if breaches.is_empty() { Ok(()) } else { Err(format!("tidy:\n  {}", breaches.join("\n  "))) }
}

/// What each crate may depend on, of our own crates. Dependencies point one way: see ARCHITECTURE.md.
const ALLOWED: &[(&str, &[&str])] = &[
    ("shoal-syntax", &[]),
    ("shoal-model", &["shoal-syntax"]),
    ("shoal-analysis", &["shoal-model", "shoal-syntax"]),
    ("shoal-interpret", &["shoal-analysis", "shoal-model", "shoal-syntax"]),
    ("shoal-murphi", &["shoal-model", "shoal-syntax"]),
    ("shoal-promela", &["shoal-model", "shoal-syntax"]),
    ("shoal-code", &["shoal-model", "shoal-syntax"]),
    ("shoal-explicit", &["shoal-analysis", "shoal-code", "shoal-model", "shoal-syntax"]),
    ("shoal-counters", &["shoal-analysis", "shoal-model", "shoal-symbolic", "shoal-syntax"]),
    ("shoal-symbolic", &["shoal-analysis", "shoal-model", "shoal-syntax"]),
    ("shoal-certificate", &[]),
    ("shoal-cover", &["shoal-certificate", "shoal-code", "shoal-model", "shoal-syntax"]),
    ("shoal-threads", &["shoal-model", "shoal-syntax"]),
    // Nothing of a prover.
    ("shoal-verify", &["shoal-certificate"]),
    ("shoal-template", &["shoal-model", "shoal-syntax"]),
    ("shoal-timed", &["shoal-analysis", "shoal-model", "shoal-syntax"]),
    ("shoal-views", &["shoal-analysis", "shoal-model", "shoal-syntax"]),
    (
        "shoal-report",
        &[
            "shoal-analysis",
            "shoal-interpret",
            "shoal-model",
            "shoal-syntax",
            "shoal-explicit",
            "shoal",
            "shoal-certificate",
            "shoal-cover",
        ],
    ),
    (
        "shoal",
        &[
            "shoal-analysis",
            "shoal-certificate",
            "shoal-counters",
            "shoal-explicit",
            "shoal-interpret",
            "shoal-model",
            "shoal-murphi",
            "shoal-cover",
            "shoal-symbolic",
            "shoal-promela",
            "shoal-syntax",
            "shoal-template",
            "shoal-threads",
            "shoal-timed",
            "shoal-verify",
            "shoal-views",
        ],
    ),
    ("shoal-peers", &[]),
    ("shoal-cli", &["shoal", "shoal-peers", "shoal-report"]),
    ("xtask", &["shoal-peers"]),
];

fn metadata() -> Result<Value, String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(root())
        .output()
        .map_err(|error| format!("cannot run cargo metadata: {error}"))?;
    serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))
}

/// Forbidden edges between our crates, and crates that the table does not know.
fn layers(metadata: &Value) -> Vec<String> {
    let empty = Vec::new();
    let packages = metadata["packages"].as_array().unwrap_or(&empty);
    let mut breaches = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| *known == name) else {
            breaches.push(format!("crate {name} has no place in xtask/src/tidy.rs"));
            continue;
        };
        if package["description"].as_str().unwrap_or_default().is_empty() {
            breaches.push(format!("crate {name} has no description"));
        }
        // What only tests use does not couple the crates.
        let used = package["dependencies"].as_array().unwrap_or(&empty).iter();
        for dependency in used.filter(|dependency| dependency["kind"] != "dev") {
            let dependency = dependency["name"].as_str().unwrap_or_default();
            let ours = ALLOWED.iter().any(|(known, _)| *known == dependency);
            if ours && !allowed.contains(&dependency) {
                breaches.push(format!("crate {name} may not depend on {dependency}"));
            }
        }
    }
    breaches
}

/// Error codes without a section in the book.
fn undocumented_codes() -> Vec<String> {
    let page = fs::read_to_string(root().join("docs/src/errors.md")).unwrap_or_default();
    let files = [
        "crates/murphi/src/codes.rs",
        "crates/promela/src/codes.rs",
        "crates/template/src/codes.rs",
        "crates/threads/src/codes.rs",
        "crates/shoal/src/script.rs",
    ];
    let tables = files.map(|file| fs::read_to_string(root().join(file)).unwrap_or_default());
    tables
        .concat()
        .split("Code(\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .filter(|code| !page.lines().any(|line| line.starts_with('#') && line.contains(code)))
        .map(|code| format!("{code} has no section in docs/src/errors.md"))
        .collect()
}

/// Pages that the book's summary names and that are not there.
fn broken_links() -> Vec<String> {
    let source = root().join("docs/src");
    let summary = fs::read_to_string(source.join("SUMMARY.md")).unwrap_or_default();
    summary
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter(|page| !source.join(page).exists())
        .map(|page| format!("docs/src/SUMMARY.md names {page}, which does not exist"))
        .collect()
}

/// Files of tests that nothing runs: where all tests of a crate are one program, `main.rs` has to name them.
fn lonely_tests() -> Vec<String> {
    let mut breaches = Vec::new();
    for krate in entries(&root().join("crates")) {
        let tests = krate.join("tests");
        let Ok(main) = fs::read_to_string(tests.join("main.rs")) else { continue };
        for file in entries(&tests) {
            let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let is_test = file.extension().is_some_and(|extension| extension == "rs") && name != "main";
            if is_test && !main.lines().any(|line| line == format!("mod {name};")) {
                breaches.push(format!(
                    "{} is not a module of main.rs beside it: nothing runs it",
                    file.display()
                ));
            }
        }
    }
    breaches
}

/// What is in a folder, in order.
pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_house_is_tidy() {
        assert_eq!(tidy(), Ok(()));
    }

    #[test]
    fn a_forbidden_edge_is_found() {
        let metadata = serde_json::json!({"packages": [{
            "name": "shoal-murphi",
            "description": "x",
            "dependencies": [{"name": "shoal-explicit", "kind": null}, {"name": "shoal-model", "kind": null}],
        }]});
        assert_eq!(layers(&metadata), ["crate shoal-murphi may not depend on shoal-explicit"]);
    }
}
