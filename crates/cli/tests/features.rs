//! The table of features: whatever it says is there has a test, and the test is there.

use std::{
    fs,
    path::{Path, PathBuf},
};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn everything_the_table_claims_has_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for krate in fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path().join("tests")) {
        if krate.is_dir() {
            sources(&krate, &mut files);
        }
    }
    let texts: Vec<String> = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let page = fs::read_to_string(root.join("docs/src/features.md")).unwrap();
    let mut count = 0;
    for row in page.lines().filter(|line| line.starts_with("| ") && line.contains('●')) {
        let last = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
        let names: Vec<&str> = last.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "no test is named: {row}");
        for name in names {
            let head = format!("#[test]\nfn {name}() {{");
            assert!(texts.iter().any(|text| text.contains(&head)), "there is no test `{name}`: {row}");
            count += 1;
        }
    }
    assert!(count > 40, "only {count}");
}
