//! `cargo xtask newcomer`: the first hour of somebody who has just got the command, with times.
//!
//! Everything is done with the packed binary alone, in an empty folder and without anything else on the path: with a protocol at hand, from
//! nothing, and in a pipeline. Where the package of `cargo xtask dist` is there, its binary is taken.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use crate::{command, succeed, tidy};

/// What a step is, what is typed, how it has to end, and a word that it has to say.
type Try = (&'static str, &'static [&'static str], i32, &'static str);

const AT_HAND: &[Try] = &[
    ("What is wrong with this protocol?", &["check", "german_bug.m"], 1, "✗ violated"),
    ("Who does what?", &["trace", "show", "german_bug.1.itf.json", "--as", "lanes"], 0, "client_1"),
    ("Send it to a colleague", &["trace", "show", "german_bug.1.itf.json", "--html", "bug.html"], 0, ""),
    ("What does Shoal see in it?", &["explain", "german_bug.m"], 0, "symmetric"),
    ("The corrected one", &["check", "german.m"], 0, "✓ holds"),
    (
        "Is the violation gone?",
        &["trace", "replay", "german_bug.1.itf.json", "german.m"],
        0,
        "no longer violated",
    ),
    ("With five clients", &["check", "german.m", "--set", "N=5", "--set", "VALUES=1"], 0, "✓ holds"),
    ("With any number", &["check", "german.m", "--set", "N=any"], 0, "any number"),
    (
        "Tests for what implements it",
        &["testgen", "german.m", "--set", "N=2", "--cover", "rules"],
        0,
        "rules",
    ),
];

const FROM_NOTHING: &[Try] = &[
    ("A first model", &["new", "murphi"], 0, "lock.m is written"),
    ("Does it hold?", &["check", "lock.m"], 0, "✓ holds"),
    ("A slip", &["check", "slip.m"], 2, "did you mean"),
    ("What does the code mean?", &["explain", "E0201"], 0, "E0201"),
    ("A walk", &["sim", "lock.m", "--seed", "1", "--steps", "5"], 0, "seed 1"),
    ("A picture", &["graph", "lock.m", "--quotient"], 0, "digraph"),
    ("The text, laid out", &["fmt", "lock.m"], 0, ""),
    ("The same in Promela", &["new", "promela"], 0, "lock.pml"),
    ("checked", &["check", "lock.pml"], 0, "✓ holds"),
    ("with clocks", &["new", "vpl"], 0, "lock.vpl"),
    ("checked", &["check", "lock.vpl"], 0, "✓ holds"),
    ("as threads", &["new", "threads"], 0, "lock.bp"),
    ("checked, for any number", &["check", "lock.bp"], 0, "any number"),
];

const PIPELINE: &[Try] = &[
    (
        "Reports",
        &["check", "peterson.m", "--junit", "junit.xml", "--sarif", "x.sarif", "--record", "run.json"],
        0,
        "✓",
    ),
    ("The same again", &["repeat", "run.json"], 0, "✓ the same"),
    ("What the comments expect", &["check", "--expect", "peterson.m", "peterson_bug.m"], 0, "as expected"),
    ("A violation ends in 1", &["check", "--quiet", "peterson_bug.m"], 1, "✗ violated"),
    ("A limit ends in 3", &["check", "--quiet", "german.m", "--set", "N=6", "--time", "1"], 3, "? unknown"),
    ("All events", &["check", "--json", "peterson.m"], 0, "\"event\":\"finished\""),
];

pub(crate) fn newcomer(args: &[String]) -> Result<(), String> {
    if !args.is_empty() {
        return Err("usage: cargo xtask newcomer".into());
    }
    let shoal = binary()?;
    let folder = tidy::root().join("target/newcomer");
    let mut wrong = Vec::new();
    for (title, tries) in
        [("With a protocol at hand", AT_HAND), ("From nothing", FROM_NOTHING), ("In a pipeline", PIPELINE)]
    {
        prepare(&folder)?;
        println!("\n## {title}\n\n| what | typed | seconds |\n|---|---|---|");
        let mut all = Duration::ZERO;
        for (what, typed, code, says) in tries {
            if *what == "A slip" {
                let text = fs::read_to_string(folder.join("lock.m")).map_err(|error| error.to_string())?;
                fs::write(folder.join("slip.m"), text.replacen("inside[p] := true", "insdie[p] := true", 1))
                    .map_err(|error| error.to_string())?;
            }
            let (took, ended, said) = run(&shoal, &folder, typed)?;
            all += took;
            println!("| {what} | `shoal {}` | {:.2} |", typed.join(" "), took.as_secs_f64());
            if ended != *code || !said.contains(says) {
                wrong.push(format!(
                    "shoal {} ended with {ended} (not {code}), or does not say {says:?}:\n{said}",
                    typed.join(" ")
                ));
            }
        }
        println!("| in all | | {:.2} |", all.as_secs_f64());
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// The binary of the package, or one that is built now.
fn binary() -> Result<PathBuf, String> {
    let packed = tidy::entries(&tidy::root().join("target/dist"));
    let packed = packed.into_iter().map(|folder| folder.join("bin/shoal")).find(|path| path.is_file());
    if let Some(path) = packed {
        println!("{}", path.display());
        return Ok(path);
    }
    succeed(&mut command(&["build", "--release", "--quiet"]))?;
    Ok(tidy::root().join("target/release/shoal"))
}

/// A folder with the models that somebody has at hand.
fn prepare(folder: &Path) -> Result<(), String> {
    let said = |error: std::io::Error| format!("{}: {error}", folder.display());
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).map_err(said)?;
    for name in ["german.m", "german_bug.m", "peterson.m", "peterson_bug.m"] {
        fs::copy(tidy::root().join("models/murphi").join(name), folder.join(name)).map_err(said)?;
    }
    Ok(())
}

fn run(shoal: &Path, folder: &Path, typed: &[&str]) -> Result<(Duration, i32, String), String> {
    let began = Instant::now();
    let output =
        Command::new(shoal).args(typed).current_dir(folder).env_clear().env("PATH", "/nonexistent").output();
    let output = output.map_err(|error| format!("{}: {error}", shoal.display()))?;
    let said = [output.stdout, output.stderr].concat();
    Ok((began.elapsed(), output.status.code().unwrap_or(-1), String::from_utf8_lossy(&said).into_owned()))
}
