//! Every model that CMurphi or Rumur accepts must parse.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use shoal_murphi::parser::parse;
use shoal_syntax::SourceMap;

/// The models are not ours to distribute: they lie beside the workspace, if at all.
fn corpus() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/murphi");
    root.is_dir().then_some(root)
}

/// The first two columns, file and `accepted` or `rejected`, hold no quotes or commas.
fn accepted(table: &Path) -> Vec<String> {
    let text = fs::read_to_string(table).expect("a readable table of results");
    let rows = text.lines().skip(1).map(|line| line.splitn(3, ',').collect::<Vec<_>>());
    rows.filter(|row| row.get(1) == Some(&"accepted")).map(|row| row[0].to_string()).collect()
}

fn models(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a readable folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            models(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "m") {
            found.push(path);
        }
    }
}

#[test]
#[allow(clippy::print_stderr)]
fn what_the_other_tools_accept_parses() {
    let Some(root) = corpus() else {
        eprintln!("skipped: no corpus");
        return;
    };
    let tables = ["rumur-results.csv", "cmurphi-results.csv"];
    let accepted: BTreeSet<String> = tables.iter().flat_map(|table| accepted(&root.join(table))).collect();
    let mut files = Vec::new();
    models(&root, &mut files);
    let mut refused = Vec::new();
    for file in &files {
        let bytes = fs::read(file).expect("a readable model");
        let name = file.strip_prefix(&root).unwrap_or(file).display().to_string();
        let mut sources = SourceMap::new();
        let source = sources.add(name.clone(), String::from_utf8_lossy(&bytes));
        let (_, diagnostics) = parse(source, sources.file(source).text());
        if let Some(first) = diagnostics.iter().next() {
            let line = format!("{}: {}", sources.locate(first.primary.span), first.message);
            if std::env::var_os("SHOAL_CORPUS_VERBOSE").is_some() {
                eprintln!("{line}");
            }
            if accepted.contains(&name) {
                refused.push(line);
            }
        }
    }
    eprintln!("{} models, {} of them accepted by another tool", files.len(), accepted.len());
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}
