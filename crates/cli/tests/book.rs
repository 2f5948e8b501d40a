//! Every command that the book shows is run, and what the book shows of its output is compared.
//!
//! In a block of a page, a line that begins with `shoal` (or `$ shoal`) is a command, and the lines below it are its output: each has to be
//! in what is printed, in this order. `…` stands for what is left out; times and sizes are not compared.

use std::{fs, os::unix::fs::symlink, path::Path};

use crate::common::Folder;

/// Commands that take long; they are run with `SHOAL_BOOK=all`.
const SLOW: &[&str] = &[
    "shoal check models/murphi/german.m --set N=5",
    "shoal check models/murphi/clh_lock.m --set N=any",
    "shoal check models/murphi/mcs_lock.m --set N=any",
    "shoal check models/red/mcs.red --set M=8",
    "shoal check --set M=6 models/red/mcs.red",
    "shoal check models/uppaal/fischer.xta --set N=40",
    "shoal check --engine counters --set R=100000 --set W=100000 models/utool/readers_writers.m",
    "shoal explain models/murphi/german.m --set N=any",
    "shoal script fischer.vpl",
    "shoal script fischer.vpl --reducers rw,sc,sm",
    "shoal script fischer.vpl --reducers auto",
];

/// Commands that wait for somebody, or name a model that only the reader has.
const NOT_RUN: &[&str] = &[
    "shoal lsp",
    "shoal studio",
    "shoal sim -i models/murphi/german.m",
    "shoal graphs fischer.vpl",
    "model.pml",
    "shoal cluster",
    "--disk /fast/disk",
    "--hosts hosts",
];

/// A command of the book, and what is shown of its output.
struct Shown {
    place: String,
    command: String,
    output: Vec<String>,
}

/// The commands of a page. A summary of commands, with what each does behind it, is none.
fn commands(name: &str, text: &str) -> Vec<Shown> {
    let mut found: Vec<Shown> = Vec::new();
    let mut in_block = false;
    for (number, line) in text.lines().enumerate() {
        let Some(inner) = line.strip_prefix("    ") else {
            in_block &= line.trim().is_empty();
            continue;
        };
        let typed = inner.strip_prefix("$ ").unwrap_or(inner);
        if typed.starts_with("shoal ") {
            let command = typed.split(" #").next().unwrap_or(typed).trim().to_string();
            in_block = true;
            found.push(Shown { place: format!("{name}:{}", number + 1), command, output: Vec::new() });
        } else if let Some(last) = found.last_mut().filter(|_| in_block) {
            last.output.push(inner.to_string());
        }
    }
    let is_name = |word: &str| {
        let plain = word.trim_end_matches("...").trim_matches(['[', ']']);
        !plain.is_empty() && plain.chars().all(|it| it.is_ascii_uppercase())
    };
    // A list of commands has what each does in a column beside it.
    found.retain(|shown| {
        let named = shown.command.split_whitespace().any(|word| is_name(word) || word.contains("FILE"));
        !named && !shown.command.contains("  ")
    });
    found
}

/// A line without what differs from run to run: times, sizes, how many blanks there are.
fn plain(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_unit = |word: &str| {
        let word = word.trim_end_matches([',', ';', '.', ')']);
        matches!(word, "s" | "ms" | "KiB" | "MiB" | "GiB")
    };
    let mut kept = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let measured = words.get(at + 1).is_some_and(|next| is_unit(next));
        if !measured && !is_unit(word) {
            kept.push(*word);
        }
    }
    kept.join(" ")
}

/// The first shown line that is not in an output, below the ones before it.
fn missing<'s>(shown: &'s [String], output: &str) -> Option<&'s str> {
    let printed: Vec<String> = output.lines().map(plain).collect();
    let mut at = 0;
    for line in shown.iter().filter(|line| !matches!(line.trim(), "" | "…" | "...")) {
        let wanted = plain(line);
        let parts: Vec<&str> = wanted.split('…').map(str::trim).filter(|part| !part.is_empty()).collect();
        let fits = |printed: &String| parts.iter().all(|part| printed.contains(part));
        match printed[at..].iter().position(fits) {
            Some(found) => at += found + 1,
            None => return Some(line),
        }
    }
    None
}

#[test]
fn every_command_of_the_book_prints_what_the_book_shows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let all = std::env::var_os("SHOAL_BOOK").is_some();
    let folder = Folder::new();
    symlink(root.join("models"), folder.path().join("models")).unwrap();
    fs::copy(root.join("models/sgm/fischer.vpl"), folder.path().join("fischer.vpl")).unwrap();
    let mut pages: Vec<_> =
        fs::read_dir(root.join("docs/src")).unwrap().map(|it| it.unwrap().path()).collect();
    pages.push(root.join("README.md"));
    pages.sort();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for page in pages.iter().filter(|page| page.extension().is_some_and(|ending| ending == "md")) {
        let name = page.file_name().unwrap().to_string_lossy().into_owned();
        for shown in commands(&name, &fs::read_to_string(page).unwrap()) {
            let slow = SLOW.contains(&shown.command.as_str());
            if NOT_RUN.iter().any(|it| shown.command.contains(it)) || slow && !all {
                continue;
            }
            count += 1;
            let words: Vec<&str> = shown.command.split_whitespace().skip(1).collect();
            let ran = folder.shoal(&words);
            let printed = format!("{}{}", ran.out, ran.err);
            if !matches!(ran.code, Some(0 | 1 | 3)) {
                wrong.push(format!(
                    "{}: `{}` ended with {:?}:\n{printed}",
                    shown.place, shown.command, ran.code
                ));
            } else if let Some(line) = missing(&shown.output, &printed) {
                wrong.push(format!(
                    "{}: `{}` does not print {line:?}:\n{printed}",
                    shown.place, shown.command
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(count >= 12, "only {count} commands");
}

#[test]
fn what_is_shown_is_compared_line_by_line() {
    let shown = |text: &str| text.lines().map(str::to_string).collect::<Vec<_>>();
    let printed = "a  b 0.3 s\nc\nd e f\n";
    assert_eq!(missing(&shown("a b 9.9 s\n…\nd … f"), printed), None);
    assert_eq!(missing(&shown("c\na b"), printed), Some("a b"));
    assert_eq!(missing(&shown("d e g"), printed), Some("d e g"));
    let page =
        "text\n\n    shoal check x.m   # why\n\n    ✓ holds\n\nmore\n\n    other\n    $ shoal check FILE\n";
    let found = commands("p", page);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].command.as_str(), found[0].output.len()), ("shoal check x.m", 1));
}
