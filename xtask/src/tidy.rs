//! The rules of the house that a program can check.

mod names;

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
    breaches.extend(serialising(&metadata()?));
    breaches.extend(words_out_of_place());
    breaches.extend(options_in_messages());
    breaches.extend(headless_crates());
    breaches.extend(unlisted_decisions());
    breaches.extend(undocumented_codes());
    breaches.extend(broken_links());
    breaches.extend(lonely_tests());
    breaches.extend(tests_left_out());
    breaches.extend(texts_of_other_crates());
    breaches.extend(lost_files());
    breaches.extend(long_files());
    breaches.extend(names::shared_names(&all_sources()));
    if breaches.is_empty() { Ok(()) } else { Err(format!("tidy:\n  {}", breaches.join("\n  "))) }
}

/// What each crate may depend on, of our own crates. Dependencies point one way: see ARCHITECTURE.md.
const ALLOWED: &[(&str, &[&str])] = &[
    ("shoal-syntax", &[]),
    ("shoal-model", &["shoal-syntax"]),
    ("shoal-analysis", &["shoal-model", "shoal-syntax"]),
    ("shoal-interpret", &["shoal-model", "shoal-syntax"]),
    ("shoal-murphi", &["shoal-analysis", "shoal-model", "shoal-syntax"]),
    ("shoal-promela", &["shoal-model", "shoal-syntax"]),
    ("shoal-code", &["shoal-model", "shoal-syntax"]),
    ("shoal-automorphism", &["shoal-model"]),
    (
        "shoal-explicit",
        &["shoal-analysis", "shoal-automorphism", "shoal-code", "shoal-model", "shoal-syntax", "shoal-team"],
    ),
    // Knows nothing of what its threads do.
    ("shoal-team", &[]),
    ("shoal-counters", &["shoal-analysis", "shoal-model", "shoal-symbolic", "shoal-syntax"]),
    ("shoal-symbolic", &["shoal-analysis", "shoal-model", "shoal-syntax"]),
    ("shoal-certificate", &[]),
    ("shoal-cover", &["shoal-certificate", "shoal-code", "shoal-model", "shoal-syntax"]),
    ("shoal-threads", &["shoal-model", "shoal-syntax"]),
    // Nothing of a prover.
    ("shoal-verify", &["shoal-certificate", "shoal-interpret", "shoal-model", "shoal-syntax"]),
    ("shoal-template", &["shoal-model", "shoal-syntax"]),
    ("shoal-vpl", &["shoal-model", "shoal-syntax", "shoal-template"]),
    ("shoal-uppaal", &["shoal-model", "shoal-syntax", "shoal-template"]),
    ("shoal-red", &["shoal-model", "shoal-syntax", "shoal-template"]),
    ("shoal-dbm", &["shoal-model"]),
    ("shoal-tctl", &["shoal-dbm", "shoal-model", "shoal-syntax"]),
    (
        "shoal-timed",
        &["shoal-analysis", "shoal-dbm", "shoal-model", "shoal-syntax", "shoal-tctl", "shoal-team"],
    ),
    ("shoal-stategraphs", &["shoal-dbm", "shoal-model", "shoal-syntax", "shoal-tctl"]),
    ("shoal-views", &["shoal-analysis", "shoal-certificate", "shoal-model", "shoal-syntax"]),
    ("shoal-story", &["shoal-analysis", "shoal-interpret", "shoal-model", "shoal-syntax"]),
    (
        "shoal-report",
        &["shoal", "shoal-certificate", "shoal-cover", "shoal-model", "shoal-story", "shoal-syntax"],
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
            "shoal-stategraphs",
            "shoal-story",
            "shoal-symbolic",
            "shoal-promela",
            "shoal-red",
            "shoal-syntax",
            "shoal-template",
            "shoal-threads",
            "shoal-timed",
            "shoal-uppaal",
            "shoal-verify",
            "shoal-views",
            "shoal-vpl",
        ],
    ),
    ("shoal-peers", &[]),
    ("shoal-mcp", &["shoal", "shoal-report"]),
    ("shoal-studio", &["shoal", "shoal-report"]),
    ("shoal-lsp", &["shoal"]),
    ("shoal-cluster", &["shoal-explicit", "shoal-model"]),
    (
        "shoal-cli",
        &["shoal", "shoal-cluster", "shoal-lsp", "shoal-mcp", "shoal-peers", "shoal-report", "shoal-studio"],
    ),
    ("xtask", &["shoal-peers"]),
];

/// What cargo knows of our crates.
fn metadata() -> Result<Value, String> {
    metadata_with(&["--no-deps"])
}

/// What cargo knows of our crates and, unless an option leaves them out, of those that they depend on.
pub(crate) fn metadata_with(options: &[&str]) -> Result<Value, String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1"])
        .args(options)
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
        let used = dependencies(package);
        for dependency in &used {
            let ours = ALLOWED.iter().any(|(known, _)| known == dependency);
            if ours && !allowed.contains(dependency) {
                breaches.push(format!("crate {name} may not depend on {dependency}"));
            }
        }
        // A table that allows more than there is guards nothing.
        for unused in allowed.iter().filter(|allowed| !used.contains(allowed)) {
            breaches.push(format!(
                "crate {name} does not depend on {unused}: xtask/src/tidy.rs need not allow it"
            ));
        }
    }
    breaches
}

/// What a crate depends on. What only its tests use does not couple crates.
fn dependencies(package: &Value) -> Vec<&str> {
    let all = package["dependencies"].as_array().into_iter().flatten();
    let used = all.filter(|dependency| dependency["kind"] != "dev");
    used.filter_map(|dependency| dependency["name"].as_str()).collect()
}

/// Crates that know JSON and should not: formats are made in one place.
fn serialising(metadata: &Value) -> Vec<String> {
    // Servers speak JSON as others speak HTTP; they make no format of ours.
    const MAY: [&str; 7] =
        ["shoal-report", "shoal-mcp", "shoal-lsp", "shoal-studio", "shoal-cli", "shoal-peers", "xtask"];
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let name = |package: &Value| package["name"].as_str().unwrap_or_default().to_string();
    let knows = |package: &&Value| dependencies(package).iter().any(|it| it.starts_with("serde"));
    let breach =
        |package: &Value| format!("crate {} may not serialise: formats are made in report", name(package));
    packages.filter(knows).filter(|package| !MAY.contains(&name(package).as_str())).map(breach).collect()
}

/// Where code may be that is not like other code: what to look for, where it may be, and what ARCHITECTURE.md has to say of it.
const PLACES: &[(&[&str], &[&str], &[&str])] = &[
    (
        &["unsafe {", "unsafe fn", "unsafe impl", "allow(unsafe_code)"],
        &["crates/code/src/jit", "crates/explicit/src/cpu.rs", "crates/cli/src/allocation.rs"],
        &["`code::jit`", "`explicit::cpu`", "`cli::allocation`"],
    ),
    (
        &["std::fs", "fs::read", "fs::write", "File::open", "File::create"],
        &[
            "crates/shoal/src/load.rs",
            "crates/shoal/src/folder.rs",
            "crates/shoal/src/checkpoint.rs",
            "crates/shoal/src/memory.rs",
            "crates/shoal/src/beyond",
            "crates/cli/",
            "crates/peers/",
            // The address of a running server, of which only its user is to know.
            "crates/studio/src/neighbour.rs",
        ],
        &["`load`", "`folder`", "`checkpoint`", "`memory`"],
    ),
];

/// Code in a place where there is to be none of its kind, and statements about it that are not in ARCHITECTURE.md.
fn words_out_of_place() -> Vec<String> {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap_or_default();
    let mut breaches = Vec::new();
    for (words, places, said) in PLACES {
        for (path, text) in sources() {
            let found = words.iter().find(|word| text.contains(**word));
            if let Some(word) = found.filter(|_| !places.iter().any(|place| path.starts_with(place))) {
                breaches.push(format!("{path} has `{word}`, which only {} may have", places.join(", ")));
            }
        }
        let unsaid = said.iter().filter(|name| !map.contains(**name));
        breaches.extend(
            unsaid.map(|name| format!("ARCHITECTURE.md does not say that there is `{}` in {name}", words[0])),
        );
    }
    breaches
}

/// Options of the command line in code that others use too: what users can do is an `Advice`, which each surface words.
fn options_in_messages() -> Vec<String> {
    const MAY: [&str; 2] = ["crates/cli/", "crates/peers/"];
    let is_option = |line: &str| {
        let mut rest = line.split("--").skip(1);
        rest.any(|after| after.starts_with(|first: char| first.is_ascii_lowercase()))
    };
    let mut breaches = Vec::new();
    for (path, text) in sources() {
        if !path.ends_with(".rs") || MAY.iter().any(|may| path.starts_with(may)) {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            if !line.trim_start().starts_with("//") && is_option(line) {
                breaches
                    .push(format!("{path}:{} names an option of the command line: use Advice", number + 1));
            }
        }
    }
    breaches
}

/// The files of all crates, without tests, by their paths from the root.
fn sources() -> Vec<(String, String)> {
    files_in(entries(&root().join("crates")).iter().map(|it| it.join("src")).collect())
}

/// The same, and the files of this program.
fn all_sources() -> Vec<(String, String)> {
    let mut all = sources();
    all.extend(files_in(vec![root().join("xtask/src")]));
    all
}

/// The files in some folders, without tests, by their paths from the root.
fn files_in(mut folders: Vec<PathBuf>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            let is_test = path.file_stem().is_some_and(|name| name == "tests" || name == "testing");
            if is_test {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = fs::read_to_string(&path) {
                // Tests inside a file stand at its end.
                let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_string();
                let name = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
                found.push((name, code));
            }
        }
    }
    found
}

/// Crates that do not say in their head what they are.
fn headless_crates() -> Vec<String> {
    let heads = entries(&root().join("crates"));
    let head = |krate: &PathBuf| {
        let files = ["src/lib.rs", "src/main.rs"].map(|file| fs::read_to_string(krate.join(file)));
        files.into_iter().flatten().any(|text| text.starts_with("//!"))
    };
    heads
        .iter()
        .filter(|krate| !head(krate))
        .map(|krate| format!("{} has no head", krate.display()))
        .collect()
}

/// Decisions that the index does not list.
fn unlisted_decisions() -> Vec<String> {
    let folder = root().join("docs/adr");
    let index = fs::read_to_string(folder.join("README.md")).unwrap_or_default();
    let names = entries(&folder).into_iter().filter_map(|path| Some(path.file_name()?.to_str()?.to_string()));
    let listed = |name: &String| name == "README.md" || index.contains(&format!("({name})"));
    names
        .filter(|name| !listed(name))
        .map(|name| format!("docs/adr/README.md does not list {name}"))
        .collect()
}

/// Error codes without a section in the book.
fn undocumented_codes() -> Vec<String> {
    let page = fs::read_to_string(root().join("docs/src/errors.md")).unwrap_or_default();
    let tables: String = sources().into_iter().map(|(_, text)| text).collect();
    tables
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

/// Files with more lines than one idea needs.
fn long_files() -> Vec<String> {
    const MOST: usize = 900;
    let lines = |(path, text): (String, String)| (text.lines().count(), path);
    let long =
        all_sources().into_iter().map(lines).filter(|(lines, path)| *lines > MOST && path.ends_with(".rs"));
    long.map(|(lines, path)| format!("{path} has {lines} lines, more than {MOST}")).collect()
}

/// Files that the walks through the code go by and that are not there.
fn lost_files() -> Vec<String> {
    let walks = fs::read_to_string(root().join("docs/walks.md")).unwrap_or_default();
    let names = walks.split('`').skip(1).step_by(2).filter(|name| {
        ["crates/", "xtask/", "docs/", "models/"].iter().any(|folder| name.starts_with(folder))
    });
    names
        .filter(|name| !root().join(name).exists())
        .map(|name| format!("docs/walks.md names {name}, which does not exist"))
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

/// Tests inside of a crate whose manifest says that there are none, so that nothing builds them.
fn tests_left_out() -> Vec<String> {
    let is_test = |line: &str| line.starts_with("#[cfg(test)]");
    let is_example = |line: &str| line.starts_with("/// ```") || line.starts_with("//! ```");
    let mut breaches = Vec::new();
    for krate in entries(&root().join("crates")) {
        let manifest = fs::read_to_string(krate.join("Cargo.toml")).unwrap_or_default();
        let says = |line: &str| manifest.lines().any(|other| other == line);
        for (path, _) in files_in(vec![krate.join("src")]) {
            // Whole: what is read for the other rules ends where tests begin.
            let text = fs::read_to_string(root().join(&path)).unwrap_or_default();
            let has = |what: &dyn Fn(&str) -> bool| text.lines().any(|line| what(line.trim_start()));
            if says("test = false") && has(&is_test) || says("doctest = false") && has(&is_example) {
                breaches.push(format!("{path} has tests that its Cargo.toml leaves out"));
            }
        }
    }
    breaches
}

/// Files that a crate takes into itself and that would not be in its package.
fn texts_of_other_crates() -> Vec<String> {
    let leaves =
        |line: &&str| line.contains("include_str!(\"../../") || line.contains("include_bytes!(\"../../");
    let of_one = |(path, text): (String, String)| {
        let found: Vec<String> =
            text.lines().filter(leaves).map(|line| format!("{path}: {}", line.trim())).collect();
        found
    };
    sources().into_iter().filter(|(path, _)| !path.contains("/tests/")).flat_map(of_one).collect()
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
        let breaches = layers(&metadata);
        assert!(
            breaches.contains(&"crate shoal-murphi may not depend on shoal-explicit".to_string()),
            "{breaches:?}"
        );
        assert!(breaches.iter().any(|it| it.contains("does not depend on shoal-syntax")), "{breaches:?}");
    }
}
