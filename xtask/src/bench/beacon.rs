//! Any number of threads: Rockall, the corpus of other people's instances, and generated systems of Beacon's size.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use crate::tidy::root;

const USAGE: &str = "\
usage: cargo xtask bench beacon [--seconds S]

Runs `shoal check` on the models of models/beacon, on ../shared/corpus/threads (where it is there) and on generated systems
of 2,049 x 257 states and half a million edges, and compares verdicts and times with what is known of them. Certificates are
written and accepted by `shoal verify`; traces are replayed; programs that say what they refine are compared with it. A wrong
verdict is an error. Times are from start to exit, the best of three where it is short. Times of peers were recorded to a
hundredth of a second: what differs from them by half of that or less counts as even.";

/// What a run of the command came to.
struct BeaconRun {
    verdict: &'static str,
    seconds: f64,
    note: String,
}

struct Bench {
    shoal: PathBuf,
    folder: PathBuf,
    limit: String,
    wrong: Vec<String>,
}

/// Runs everything and prints tables.
pub(crate) fn bench(args: &[String]) -> Result<(), String> {
    let limit = match args {
        [] => "60".to_string(),
        [flag, seconds] if flag == "--seconds" && seconds.parse::<u32>().is_ok() => seconds.clone(),
        _ => return Err(USAGE.into()),
    };
    let folder = std::env::temp_dir().join("shoal-bench-beacon");
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let mut bench = Bench { shoal: crate::bench::build_shoal()?, folder, limit, wrong: Vec::new() };
    bench.gallery()?;
    bench.generated()?;
    bench.corpus()?;
    match bench.wrong.is_empty() {
        true => Ok(()),
        false => Err(format!("wrong verdicts:\n  {}", bench.wrong.join("\n  "))),
    }
}

/// Runs shorter than this are repeated.
const SHORT: f64 = 0.5;

/// Half of the last digit of the times that were recorded of peers.
const RESOLUTION: f64 = 0.005;

impl Bench {
    /// Checks a file; a certificate is verified, a trace is replayed by the command itself.
    fn run(&self, file: &Path, options: &[&str]) -> Result<BeaconRun, String> {
        let certificate = self.folder.join("certificate.json");
        let _ = fs::remove_file(&certificate);
        let first = ["check", "--json", "--quiet", "--trace", "none", "--time", &self.limit];
        let timed = || -> Result<_, String> {
            let begun = Instant::now();
            let (code, text) = self.shoal(&first, options, file)?;
            Ok((code, text, begun.elapsed().as_secs_f64()))
        };
        let (code, text, mut seconds) = timed()?;
        if seconds < SHORT {
            seconds = seconds.min(timed()?.2).min(timed()?.2);
        }
        let finished: serde_json::Value = serde_json::from_str(text.lines().last().unwrap_or_default())
            .map_err(|error| format!("{}: {error}", file.display()))?;
        let property = &finished["properties"][0];
        let mut note = property["note"].as_str().unwrap_or_default().to_string();
        let verdict = match code {
            Some(0) => "safe",
            Some(1) => "unsafe",
            Some(3) => "unknown",
            _ => "error",
        };
        if verdict == "safe" && !property.is_null() {
            let path = certificate.display().to_string();
            let options: Vec<&str> = options.iter().copied().chain(["--certificate", &path]).collect();
            self.shoal(&["check", "--quiet", "--trace", "none", "--time", &self.limit], &options, file)?;
            let begun = Instant::now();
            let (code, _) = self.shoal(&["verify"], &[], &certificate)?;
            let seconds = begun.elapsed().as_secs_f64();
            let accepted = if code == Some(0) { "accepted" } else { "REJECTED" };
            let _ = write!(note, "; verify: {accepted} in {seconds:.2} s");
        }
        Ok(BeaconRun { verdict, seconds, note })
    }

    fn shoal(&self, first: &[&str], options: &[&str], file: &Path) -> Result<(Option<i32>, String), String> {
        let output = Command::new(&self.shoal)
            .args(first)
            .args(options)
            .arg(file)
            .stderr(Stdio::null())
            .output()
            .map_err(|error| format!("cannot run {}: {error}", self.shoal.display()))?;
        Ok((output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned()))
    }

    /// Notes a verdict that is not as expected.
    fn compare(&mut self, name: &str, expected: &str, run: &BeaconRun) {
        if run.verdict != expected || run.note.contains("REJECTED") {
            self.wrong.push(format!("{name}: expected {expected}, found {} {}", run.verdict, run.note));
        }
    }

    fn gallery(&mut self) -> Result<(), String> {
        println!("| model | verdict | s | |\n|---|---|--:|---|");
        let mut files: Vec<PathBuf> = fs::read_dir(root().join("models/beacon"))
            .map_err(|error| error.to_string())?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        files.sort();
        for file in files {
            let text = fs::read_to_string(&file).map_err(|error| error.to_string())?;
            let expected = if text.contains("shoal: verdict=holds") { "safe" } else { "unsafe" };
            let name = file.file_name().map_or_else(String::new, |name| name.display().to_string());
            let first = text.lines().next().unwrap_or_default();
            let wanted = |key: &str| first.split_whitespace().find_map(|word| word.strip_prefix(key));
            let options: Vec<&str> = wanted("target=").map_or(Vec::new(), |target| vec!["--target", target]);
            let run = self.run(&file, &options)?;
            println!("| {name} | {} | {:.3} | {} |", run.verdict, run.seconds, run.note);
            self.compare(&name, expected, &run);
            if let Some(spec) = wanted("refines=") {
                self.refines(&file, &name, spec)?;
            }
        }
        println!();
        Ok(())
    }

    /// Whether a program refines a specification, or not if that is what it says.
    fn refines(&mut self, file: &Path, name: &str, spec: &str) -> Result<(), String> {
        let other = spec.trim_start_matches("no:");
        let begun = Instant::now();
        let program = file.display().to_string();
        let (code, _) = self.shoal(&["refine", &program], &[], &file.with_file_name(other))?;
        let seconds = begun.elapsed().as_secs_f64();
        let verdict = if code == Some(0) { "refines" } else { "does not refine" };
        println!("| {name}, {other} | {verdict} | {seconds:.3} | |");
        if code != Some(i32::from(spec.starts_with("no:"))) {
            self.wrong.push(format!("{name} {verdict} {other}"));
        }
        Ok(())
    }

    fn generated(&mut self) -> Result<(), String> {
        println!("| generated system | verdict | s | |\n|---|---|--:|---|");
        for (seed, buggy) in [(1, false), (2, false), (3, false), (1, true), (2, true), (3, true)] {
            let (text, edges) = generate(seed, buggy);
            let name = format!("{}_{seed}.tts", if buggy { "buggy" } else { "safe" });
            let file = self.folder.join(&name);
            fs::write(&file, text).map_err(|error| error.to_string())?;
            let run = self.run(&file, &[])?;
            println!("| {name}, {edges} edges | {} | {:.2} | {} |", run.verdict, run.seconds, run.note);
            self.compare(&name, if buggy { "unsafe" } else { "safe" }, &run);
        }
        println!();
        Ok(())
    }

    fn corpus(&mut self) -> Result<(), String> {
        let corpus = root().join("../shared/corpus/threads");
        let Ok(table) = fs::read_to_string(corpus.join("verdicts.csv")) else {
            println!("skipped: no corpus");
            return Ok(());
        };
        let instances = instances(&corpus, &table);
        println!("| instance of the corpus | expected | s | best peer s | |\n|---|---|--:|--:|---|");
        let (mut total, mut faster, mut even, mut slower) = (0.0, 0, 0, 0);
        for instance in &instances {
            let options: Vec<&str> = instance.options.iter().map(String::as_str).collect();
            let run = self.run(&corpus.join(&instance.file), &options)?;
            total += run.seconds;
            let compared = match instance.best {
                None => "",
                Some(best) if run.seconds < best - RESOLUTION => {
                    faster += 1;
                    "faster"
                }
                Some(best) if run.seconds <= best + RESOLUTION => {
                    even += 1;
                    "even"
                }
                Some(_) => {
                    slower += 1;
                    "SLOWER"
                }
            };
            let best = match instance.best {
                None => String::new(),
                Some(best) if best < RESOLUTION => "< 0.005".into(),
                Some(best) => format!("{best:.2}"),
            };
            let mark = if run.verdict == instance.expected { "" } else { " (WRONG)" };
            println!(
                "| {} {} | {}{mark} | {:.3} | {best} | {compared} |",
                instance.file,
                instance.options.join(" "),
                instance.expected,
                run.seconds
            );
            self.compare(&format!("{} {:?}", instance.file, instance.options), instance.expected, &run);
        }
        println!(
            "\n{} instances in {total:.1} s; of those that a peer solved, {faster} faster than the best, {even} even within \
             its resolution, {slower} slower",
            instances.len()
        );
        Ok(())
    }
}

/// A question about a file of the corpus, and the answer.
struct CorpusQuestion {
    file: String,
    options: Vec<String>,
    expected: &'static str,
    best: Option<f64>,
}

fn instances(corpus: &Path, table: &str) -> Vec<CorpusQuestion> {
    let rows: Vec<Vec<String>> = table.lines().skip(1).map(fields).collect();
    let verdict = |text: &str| match text.split([' ', ']', ';']).next() {
        Some("safe") => Some("safe"),
        Some("unsafe") => Some("unsafe"),
        _ => None,
    };
    let mut all = Vec::new();
    for row in rows.iter().filter(|row| row.len() >= 6) {
        let (file, known) = (&row[0], &row[3]);
        let best = row[5].split_whitespace().filter_map(|peer| {
            let mut parts = peer.split(':').skip(1);
            matches!(parts.next(), Some("safe" | "unsafe"))
                .then(|| parts.next()?.trim_end_matches('s').parse::<f64>().ok())?
        });
        let best = best.min_by(f64::total_cmp);
        let mut add = |options: Vec<String>, expected: Option<&'static str>| {
            all.extend(expected.map(|expected| CorpusQuestion {
                file: file.clone(),
                options,
                expected,
                best,
            }));
        };
        let description =
            fs::read_to_string(corpus.join(file).with_file_name("test.desc")).unwrap_or_default();
        if file.ends_with(".tts") || file.ends_with(".spec") {
            if let Some((_, init)) = known.split_once("[test.desc init ") {
                let init = init.split(']').next().unwrap_or_default();
                // Without a target, the recorded answer is about something else.
                if description.contains("--target") {
                    add(vec!["--init".into(), init.into()], verdict(known));
                }
                continue;
            }
            add(Vec::new(), verdict(known));
            let single = known.split("init 0|0 -> ").nth(1).and_then(verdict);
            add(vec!["--init".into(), "0|0".into()], single);
        } else if file.ends_with(".bp") {
            let label = description.split("-l ").nth(1).and_then(|rest| rest.split_whitespace().next());
            let options = label.map_or(Vec::new(), |label| vec!["--target".into(), label.to_string()]);
            // The verdict of the program is that of the transition system beside it.
            let beside = file.replace(".bp", ".tts");
            let twin =
                rows.iter().find(|row| row[0] == beside).and_then(|row| row[3].split("init 0|0 -> ").nth(1));
            add(options, verdict(known).or_else(|| twin.and_then(verdict)));
        }
    }
    all
}

/// The fields of a line with commas and quotes.
fn fields(line: &str) -> Vec<String> {
    let (mut all, mut field, mut quoted) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    all.push(field);
    all
}

const BITS: u32 = 11;
const STEPS: u32 = 64;

/// What a line of a generated program does.
#[derive(Clone, Copy)]
enum ProgramLine {
    /// Waits until a bit is 0 and sets it.
    Lock(u32),
    /// Sets a bit to a constant.
    Put(u32, u32),
    /// A bit becomes the exclusive or of two others.
    Mix(u32, u32, u32),
    /// A local bit becomes a shared bit.
    Keep(u32, u32),
    /// Goes on elsewhere if a local bit is set.
    Jump(u32, u32),
    /// An error unless a bit has a value.
    Assert(u32, u32),
}

/// A program of 64 lines with 11 shared bits and 2 local bits, as a transition system: its text and how many edges it has. A
/// section that a lock guards raises a flag, works, looks whether it is still up, and lowers it; in a buggy one the lock is
/// not taken.
fn generate(seed: u64, buggy: bool) -> (String, usize) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = |below: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % u64::from(below)) as u32
    };
    // Bit 0 is the lock, bit 1 the flag; the others may be anything.
    let mut lines: Vec<ProgramLine> = (0..STEPS)
        .map(|_| match random(4) {
            0 => ProgramLine::Put(2 + random(BITS - 2), random(2)),
            1 => ProgramLine::Mix(2 + random(BITS - 2), 2 + random(BITS - 2), 2 + random(BITS - 2)),
            2 => ProgramLine::Keep(random(2), 2 + random(BITS - 2)),
            _ => ProgramLine::Jump(random(2), random(STEPS)),
        })
        .collect();
    let section = 20;
    for line in &mut lines[..section as usize] {
        // Every thread comes to the section.
        if matches!(line, ProgramLine::Jump(..)) {
            *line = ProgramLine::Put(4, 1);
        }
    }
    for line in &mut lines {
        // Nobody jumps into the section or out of it.
        if let ProgramLine::Jump(_, to) = line
            && (section..section + 10).contains(to)
        {
            *to = section;
        }
    }
    for at in section..section + 10 {
        if matches!(lines[at as usize], ProgramLine::Jump(..)) {
            lines[at as usize] = ProgramLine::Put(3, 1);
        }
    }
    lines[section as usize] = if buggy { ProgramLine::Put(2, 1) } else { ProgramLine::Lock(0) };
    lines[section as usize + 1] = ProgramLine::Put(1, 1);
    lines[section as usize + 7] = ProgramLine::Assert(1, 1);
    lines[section as usize + 8] = ProgramLine::Put(1, 0);
    lines[section as usize + 9] = ProgramLine::Put(0, 0);
    write_system(&lines)
}

fn write_system(lines: &[ProgramLine]) -> (String, usize) {
    let (shared, local) = (1u32 << BITS, STEPS * 4);
    let mut text = format!("{} {}\n", shared + 1, local + 1);
    let mut edges = 0;
    for (pc, line) in lines.iter().enumerate() {
        let pc = pc as u32;
        for s in 0..shared {
            for own in 0..4 {
                let bit = |at: u32| s >> at & 1;
                let put = |at: u32, value: u32| s & !(1 << at) | value << at;
                let mut next = (pc + 1) % STEPS;
                let mut mine = own;
                let after = match *line {
                    ProgramLine::Lock(at) if bit(at) == 1 => continue,
                    ProgramLine::Lock(at) => put(at, 1),
                    ProgramLine::Put(at, value) => put(at, value),
                    ProgramLine::Mix(at, one, other) => put(at, bit(one) ^ bit(other)),
                    ProgramLine::Keep(at, from) => {
                        mine = own & !(1 << at) | bit(from) << at;
                        s
                    }
                    ProgramLine::Jump(at, to) => {
                        if own >> at & 1 == 1 {
                            next = to;
                        }
                        s
                    }
                    ProgramLine::Assert(at, value) if bit(at) == value => s,
                    ProgramLine::Assert(..) => {
                        let _ = writeln!(text, "{s} {} -> {shared} {local}", pc * 4 + own);
                        edges += 1;
                        continue;
                    }
                };
                let _ = writeln!(text, "{s} {} -> {after} {}", pc * 4 + own, next * 4 + mine);
                edges += 1;
            }
        }
    }
    let _ = writeln!(text, "{shared}|{local}");
    (text, edges)
}
