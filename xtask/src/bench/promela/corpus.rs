//! The whole corpus beside SPIN: numbers of states without reductions, and verdicts with and without them.
//!
//! What SPIN says is kept in `target/spin-corpus.tsv`, so that a second run asks Shoal alone.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use shoal_peers::watch;

use super::super::build_shoal;
use crate::tidy::root;

/// Endings of files that are models. What only stands in includes is refused by both.
const ENDINGS: &[&str] = &["pml", "prom", "promela", "prm", "pr", "pm", "spin"];

/// What a tool says about a model.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    /// The states that it has, and what is wrong with the model.
    Done {
        states: u64,
        wrong: BTreeSet<String>,
    },
    /// A limit was reached.
    Limit,
    Refused(String),
}

/// Compares all models whose path contains one of the words.
pub(super) fn compare(limit: Duration, words: &[String]) -> Result<(), String> {
    let corpus = root().join("../shared/corpus/promela");
    if !corpus.is_dir() {
        return Err("no corpus".into());
    }
    let corpus = fs::canonicalize(corpus).map_err(|error| error.to_string())?;
    // A copy, so that what is built meanwhile does not change the answers.
    let shoal = std::env::temp_dir().join(format!("shoal-of-corpus-{}", std::process::id()));
    fs::copy(build_shoal()?, &shoal).map_err(|error| error.to_string())?;
    let mut files = Vec::new();
    collect(&corpus, &mut files)?;
    files.sort();
    let mut known = Known::read();
    let mut tally: BTreeMap<String, u32> = BTreeMap::new();
    for file in files {
        let name = file.strip_prefix(&corpus).unwrap_or(&file).display().to_string();
        if !words.is_empty() && !words.iter().any(|word| name.contains(word)) {
            continue;
        }
        let theirs = known.or_ask(&name, || spin(&file, limit))?;
        let raw = counted(&shoal, &file, limit)?;
        let mut notes = differences(&theirs, &raw, true);
        if let (Answer::Done { .. }, Answer::Done { .. }) = (&theirs, &raw) {
            let few = ask(&shoal, &file, &[], limit)?;
            notes
                .extend(differences(&theirs, &few, false).into_iter().map(|note| format!("reduced: {note}")));
        }
        let fails =
            |answer: &Answer| matches!(answer, Answer::Done { wrong, .. } if wrong.contains("assertion"));
        if !matches!(theirs, Answer::Refused(_)) && !matches!(raw, Answer::Refused(_)) && !fails(&theirs) {
            let claims = known.or_ask_claims(&name, || spin_claims(&shoal, &file, limit))?;
            notes.extend(claims_differ(&shoal, &file, &claims, limit)?);
        }
        let class = class_of(&theirs, &raw, &notes);
        *tally.entry(class.to_string()).or_insert(0) += 1;
        if class != "the same" {
            println!("{class}: {name}: {}", notes.join("; "));
        }
    }
    let _ = fs::remove_file(&shoal);
    println!();
    for (class, count) in tally {
        println!("{count:5}  {class}");
    }
    Ok(())
}

fn class_of(theirs: &Answer, ours: &Answer, notes: &[String]) -> &'static str {
    match (theirs, ours) {
        (Answer::Refused(_), Answer::Refused(_)) => "refused by both",
        (Answer::Refused(_), _) => "refused by SPIN",
        (_, Answer::Refused(_)) => "refused",
        (Answer::Limit, _) | (_, Answer::Limit) => "a limit reached",
        _ if notes.is_empty() => "the same",
        _ => "different",
    }
}

fn differences(theirs: &Answer, ours: &Answer, counts: bool) -> Vec<String> {
    let mut notes = Vec::new();
    match (theirs, ours) {
        (Answer::Done { states: a, wrong: x }, Answer::Done { states: b, wrong: y }) => {
            // SPIN goes on behind an assertion that fails, and finds more there.
            let same = x == y || (x.contains("assertion") && y.contains("assertion"));
            if !same {
                notes.push(format!("SPIN {x:?}, Shoal {y:?}"));
            } else if counts && a != b && !x.contains("assertion") && !x.contains("error") {
                notes.push(format!("SPIN {a} states, Shoal {b}"));
            }
        }
        (Answer::Refused(why), Answer::Refused(too)) => notes.push(format!("{why} / {too}")),
        (Answer::Refused(why), _) | (_, Answer::Refused(why)) => notes.push(why.clone()),
        (Answer::Limit, Answer::Done { states, .. }) => notes.push(format!("of SPIN; Shoal {states} states")),
        (Answer::Done { states, .. }, Answer::Limit) => notes.push(format!("of Shoal; SPIN {states} states")),
        (Answer::Limit, Answer::Limit) => {}
    }
    notes
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    for entry in fs::read_dir(folder).map_err(|error| error.to_string())? {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().and_then(|ending| ending.to_str()).is_some_and(|it| ENDINGS.contains(&it))
        {
            files.push(path);
        }
    }
    Ok(())
}

/// Shoal without reductions. Where it stops early because everything is decided, the states are counted without asking
/// for end states.
fn counted(shoal: &Path, file: &Path, limit: Duration) -> Result<Answer, String> {
    let first = ask(shoal, file, &["--no-partial-order"], limit)?;
    let Answer::Done { wrong, .. } = &first else { return Ok(first) };
    if !wrong.contains("end state") {
        return Ok(first);
    }
    Ok(match ask(shoal, file, &["--no-partial-order", "--deadlock", "off"], limit)? {
        Answer::Done { states, .. } => Answer::Done { states, wrong: wrong.clone() },
        other => other,
    })
}

fn report(shoal: &Path, file: &Path, options: &[&str], limit: Duration) -> Result<serde_json::Value, String> {
    let mut command = Command::new(shoal);
    command.args(["check", "--json", "--quiet", "--trace", "none", "--threads", "1"]).args(options).arg(file);
    command.args(["--time", &limit.as_secs().to_string(), "--memory", "2G"]);
    let (output, _) = watch(&mut command)?;
    let last = output.lines().last().unwrap_or_default();
    serde_json::from_str(last).map_err(|error| format!("{}: {error}: {output}", file.display()))
}

fn ask(shoal: &Path, file: &Path, options: &[&str], limit: Duration) -> Result<Answer, String> {
    let report = report(shoal, file, options, limit)?;
    if report["exit_code"] == 2 {
        let why = report["errors"][0]["message"].as_str().unwrap_or("?");
        return Ok(Answer::Refused(why.into()));
    }
    let none = Vec::new();
    let (mut states, mut wrong, mut unknown) = (0, BTreeSet::new(), false);
    for property in report["properties"].as_array().unwrap_or(&none) {
        let kind = property["kind"].as_str().unwrap_or_default();
        let Some(kind) = kind_of(kind) else { continue };
        states = states.max(property["states"].as_u64().unwrap_or(0));
        match property["verdict"].as_str() {
            Some("violated") => {
                wrong.insert(kind.into());
            }
            Some("holds") => {}
            _ => unknown = true,
        }
    }
    Ok(if unknown && wrong.is_empty() { Answer::Limit } else { Answer::Done { states, wrong } })
}

/// What SPIN's verifier would say.
fn kind_of(kind: &str) -> Option<&'static str> {
    match kind {
        "assertion" => Some("assertion"),
        "deadlock" => Some("end state"),
        "no run-time errors" | "bound" => Some("error"),
        _ => None,
    }
}

/// SPIN without reductions and without claims, on to the end whatever goes wrong.
fn spin(file: &Path, limit: Duration) -> Result<Answer, String> {
    let pan = match Pan::make(file, &["-DSAFETY", "-DNOREDUCE", "-DNOCLAIM"])? {
        Ok(pan) => pan,
        Err(why) => return Ok(Answer::Refused(why)),
    };
    let output = pan.run(&["-c0"], limit)?;
    let Some(states) = stored(&output) else { return Ok(Answer::Limit) };
    let wrong = output.lines().filter_map(|line| {
        let text = line.strip_prefix("pan:")?.split_once(": ")?.1;
        Some(match text {
            _ if text.starts_with("invalid end state") => "end state",
            _ if text.starts_with("assertion violated") || text.starts_with("block in d_step") => "assertion",
            _ => "error",
        })
    });
    Ok(Answer::Done { states, wrong: wrong.map(String::from).collect() })
}

/// The states that a search came to; none if it did not come to its end.
fn stored(output: &str) -> Option<u64> {
    let cut = ["max search depth too small", "out of memory", "search was not completed", "Interrupted"];
    if cut.iter().any(|word| output.contains(word)) {
        return None;
    }
    let line = output.lines().find_map(|line| line.trim().strip_suffix("states, stored"))?;
    line.trim().parse::<f64>().ok().map(|states| states as u64)
}

/// A verifier that SPIN made, in a folder of its own.
struct Pan(PathBuf);

impl Pan {
    /// The verifier of a model, or why there is none.
    fn make(file: &Path, options: &[&str]) -> Result<Result<Pan, String>, String> {
        let folder = std::env::temp_dir().join(format!("shoal-corpus-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let pan = Pan(folder.clone());
        let script = "timeout 60 spin -o1 -o2 -o3 -a \"$1\" 2>&1";
        let mut translate = Command::new("sh");
        let (said, _) = watch(translate.args(["-c", script, "sh"]).arg(file).current_dir(&folder))?;
        let mut gcc = Command::new("gcc");
        gcc.args(["-O1", "-w", "-DMEMLIM=2000", "-DVECTORSZ=4096", "-o", "pan", "pan.c"]).args(options);
        watch(gcc.current_dir(&folder))?;
        if folder.join("pan").exists() {
            return Ok(Ok(pan));
        }
        let why = said.lines().find(|line| line.contains("rror")).or(said.lines().next());
        Ok(Err(why.unwrap_or("pan.c does not compile").replace('\t', " ")))
    }

    /// What it prints. The limit is one of processor time, so that what else runs does not change answers.
    fn run(&self, options: &[&str], limit: Duration) -> Result<String, String> {
        let script = format!("ulimit -t {}; exec ./pan -m2000000 -n \"$@\"", limit.as_secs());
        let mut run = Command::new("sh");
        Ok(watch(run.args(["-c", &script, "sh"]).args(options).current_dir(&self.0))?.0)
    }
}

impl Drop for Pan {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// For each formula of a model: whether SPIN finds a run against it. A claim of a safety property is violated by an
/// assertion of its own, so the model must have none that fails.
fn spin_claims(shoal: &Path, file: &Path, limit: Duration) -> Result<Vec<(String, Option<bool>)>, String> {
    let names = formulas(shoal, file, limit)?;
    let mut claims = Vec::new();
    if names.is_empty() {
        return Ok(claims);
    }
    let Ok(pan) = Pan::make(file, &["-DNOREDUCE"])? else { return Ok(claims) };
    for name in names.into_keys() {
        let output = pan.run(&["-a", "-E", "-N", &name], limit)?;
        let found = output.lines().any(|line| line.starts_with("pan:1:"));
        claims.push((name, (found || stored(&output).is_some()).then_some(found)));
    }
    Ok(claims)
}

/// Formulas and claims of a model, and whether they are violated, where that is decided.
fn formulas(shoal: &Path, file: &Path, limit: Duration) -> Result<BTreeMap<String, Option<bool>>, String> {
    let report = report(shoal, file, &[], limit)?;
    let none = Vec::new();
    let properties = report["properties"].as_array().unwrap_or(&none).iter();
    let temporal = properties.filter(|property| kind_of(property["kind"].as_str().unwrap_or("")).is_none());
    Ok(temporal
        .filter_map(|property| {
            let verdict = match property["verdict"].as_str() {
                Some("violated") => Some(true),
                Some("holds") => Some(false),
                _ => None,
            };
            Some((property["name"].as_str()?.to_string(), verdict))
        })
        .collect())
}

fn claims_differ(
    shoal: &Path,
    file: &Path,
    theirs: &[(String, Option<bool>)],
    limit: Duration,
) -> Result<Vec<String>, String> {
    if theirs.is_empty() {
        return Ok(Vec::new());
    }
    let ours = formulas(shoal, file, limit)?;
    let mut notes = Vec::new();
    for (name, theirs) in theirs {
        let ours = ours.get(name).copied().flatten();
        let word =
            |wrong: Option<bool>| wrong.map_or("undecided", |wrong| if wrong { "violated" } else { "holds" });
        if *theirs != ours {
            notes.push(format!("{name}: SPIN {}, Shoal {}", word(*theirs), word(ours)));
        }
    }
    Ok(notes)
}

/// What SPIN said before.
struct Known {
    path: PathBuf,
    lines: HashMap<String, String>,
}

impl Known {
    fn read() -> Known {
        let path = root().join("target/spin-corpus.tsv");
        let text = fs::read_to_string(&path).unwrap_or_default();
        let lines = text.lines().filter_map(|line| line.split_once('\t'));
        let lines = lines.map(|(key, value)| (key.to_string(), value.to_string())).collect();
        Known { path, lines }
    }

    fn keep(&mut self, key: &str, value: String) -> Result<(), String> {
        use std::io::Write;
        let file = fs::OpenOptions::new().create(true).append(true).open(&self.path);
        let written = file.and_then(|mut file| writeln!(file, "{key}\t{value}"));
        self.lines.insert(key.into(), value);
        written.map_err(|error| error.to_string())
    }

    fn or_ask(&mut self, name: &str, ask: impl FnOnce() -> Result<Answer, String>) -> Result<Answer, String> {
        if let Some(line) = self.lines.get(name) {
            let mut words = line.split('\t');
            return Ok(match (words.next(), words.next()) {
                (Some("refused"), why) => Answer::Refused(why.unwrap_or_default().into()),
                (Some(states), Some(wrong)) if states != "limit" => Answer::Done {
                    states: states.parse().unwrap_or(0),
                    wrong: wrong.split(',').filter(|word| !word.is_empty()).map(String::from).collect(),
                },
                _ => Answer::Limit,
            });
        }
        let answer = ask()?;
        let line = match &answer {
            Answer::Refused(why) => format!("refused\t{}", why.replace('\n', " ")),
            Answer::Limit => "limit\t".to_string(),
            Answer::Done { states, wrong } => {
                let wrong: Vec<&str> = wrong.iter().map(|word| word.as_str()).collect();
                format!("{states}\t{}", wrong.join(","))
            }
        };
        self.keep(name, line)?;
        Ok(answer)
    }

    fn or_ask_claims(
        &mut self,
        name: &str,
        ask: impl FnOnce() -> Result<Vec<(String, Option<bool>)>, String>,
    ) -> Result<Vec<(String, Option<bool>)>, String> {
        let key = format!("claims of {name}");
        if let Some(line) = self.lines.get(&key) {
            let claims = line.split('\t').filter_map(|part| part.rsplit_once('='));
            return Ok(claims.map(|(name, wrong)| (name.to_string(), wrong.parse().ok())).collect());
        }
        let claims = ask()?;
        let parts = claims.iter().map(|(name, wrong)| match wrong {
            Some(wrong) => format!("{name}={wrong}"),
            None => format!("{name}=limit"),
        });
        self.keep(&key, parts.collect::<Vec<_>>().join("\t"))?;
        Ok(claims)
    }
}
