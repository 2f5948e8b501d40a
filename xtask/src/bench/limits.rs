//! How well limits are kept: every engine and command on something too hard for it, against the clock, the memory and signals.
//!
//! What counts is what is seen beyond the limit: at most a second and a tenth of the time, a tenth of the memory and 64 MB. The
//! figures are of the clock, so a machine that does other things beside makes them larger.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use super::build_shoal;
use crate::process::{Interference, ProgramEnd, watch};

const TIME: Duration = Duration::from_secs(2);
const MEMORY: u64 = 100_000_000;
/// When signals come.
const SIGNAL: Duration = Duration::from_millis(1500);
/// When a run is given up.
const PATIENCE: Duration = Duration::from_secs(90);

/// The file with what is typed.
const TYPED: &str = "typed.txt";

/// Something too hard: a name for it, the words of the command, the model (a file of ours, or a text with its ending).
struct Hard {
    name: &'static str,
    words: &'static str,
    model: LimitsModel,
    /// Whether it fills memory before it is done.
    fills: bool,
}

enum LimitsModel {
    File(&'static str),
    Text(&'static str, fn() -> String),
    /// A text, and what is typed.
    Typed(&'static str, fn() -> String, fn() -> String),
    /// A text, and a second one that it is held against.
    Against(&'static str, fn() -> String, &'static str, &'static str),
    /// The certificate of a file of ours, made by this command beforehand.
    Certificate(&'static str, &'static str),
}

const HARD: &[Hard] = &[
    Hard {
        name: "explicit",
        words: "check --engine explicit --set N=7 --no-symmetry",
        model: LimitsModel::File("murphi/german.m"),
        fills: true,
    },
    Hard {
        name: "explicit, symmetry",
        words: "check --engine explicit --set N=9",
        model: LimitsModel::File("murphi/german.m"),
        fills: true,
    },
    Hard {
        name: "explicit, depth first",
        words: "check --engine explicit --search depth --set N=7 --no-symmetry",
        model: LimitsModel::File("murphi/german.m"),
        fills: true,
    },
    Hard {
        name: "explicit, hashes",
        words: "check --engine explicit --storage hashes --set N=7 --no-symmetry",
        model: LimitsModel::File("murphi/german.m"),
        fills: true,
    },
    Hard {
        name: "explicit, tree",
        words: "check --engine explicit --storage tree --set N=7 --no-symmetry",
        model: LimitsModel::File("murphi/german.m"),
        fills: true,
    },
    Hard {
        name: "explicit, ltl",
        words: "check --engine explicit",
        model: LimitsModel::Text("m", ltl),
        fills: true,
    },
    Hard {
        name: "explicit, promela",
        words: "check --set N=9",
        model: LimitsModel::File("promela/leader_ring.pml"),
        fills: true,
    },
    Hard {
        name: "symbolic",
        words: "check --engine symbolic --set N=8",
        model: LimitsModel::File("murphi/german.m"),
        fills: true,
    },
    Hard {
        name: "symbolic, backward",
        words: "check --engine symbolic --search backward --set N=8",
        model: LimitsModel::File("murphi/german.m"),
        fills: true,
    },
    Hard {
        name: "counters",
        words: "check --engine counters --set N=3000",
        model: LimitsModel::File("utool/mcs_spin.m"),
        fills: false,
    },
    Hard {
        name: "timed",
        words: "check --engine timed --no-symmetry",
        model: LimitsModel::Text("vpl", fischer),
        fills: true,
    },
    Hard {
        name: "timed, tctl",
        words: "check --engine timed",
        model: LimitsModel::Text("vpl", fischer_live),
        fills: false,
    },
    Hard {
        name: "cover",
        words: "check --engine cover",
        model: LimitsModel::Text("bp", toggles),
        fills: true,
    },
    Hard { name: "one guard", words: "check", model: LimitsModel::Text("m", guard), fills: false },
    Hard {
        name: "instances of a rule",
        words: "check",
        model: LimitsModel::Text("m", instances),
        fills: false,
    },
    Hard { name: "start states", words: "check", model: LimitsModel::Text("m", starts), fills: true },
    Hard {
        name: "sim, one guard",
        words: "sim --steps 5 --seed 1",
        model: LimitsModel::Text("m", guard),
        fills: false,
    },
    Hard {
        name: "graph",
        words: "graph --limit 1000000000 --set N=7",
        model: LimitsModel::File("murphi/german.m"),
        fills: true,
    },
    Hard {
        name: "graph, start states",
        words: "graph --limit 1000000000",
        model: LimitsModel::Text("m", starts),
        fills: true,
    },
    Hard {
        name: "cover set",
        words: "check --engine cover --cover-set",
        model: LimitsModel::Text("bp", toggles),
        fills: false,
    },
    Hard { name: "script", words: "script", model: LimitsModel::File("sgm/ring_timed.vpl"), fills: false },
    Hard { name: "graphs", words: "graphs", model: LimitsModel::Typed("vpl", fischer, merges), fills: true },
    Hard {
        name: "explain, any number",
        words: "explain --set N=any",
        model: LimitsModel::Text("m", digits),
        // (It says what it could not find out in the memory, and goes on.)
        fills: false,
    },
    Hard { name: "views", words: "check --set N=any", model: LimitsModel::Text("m", digits), fills: true },
    Hard {
        name: "verify",
        words: "verify --full",
        model: LimitsModel::Certificate("murphi/german.m", "check --set N=4 --set VALUES=1 --no-symmetry"),
        fills: false,
    },
    Hard {
        name: "refine",
        words: "refine",
        model: LimitsModel::Against("bp", own_toggles, "tts", "2 1\n0 0 -> 1 0\n1|\n"),
        fills: true,
    },
];

/// Elements with so many values of their own that pairs of them cannot be gone through.
fn digits() -> String {
    "const N: 3;\ntype node: scalarset(N); digit: 0..9;\nvar a, b, c, d: array [node] of digit; w: node;\n\
     startstate begin for i: node do a[i] := 0; b[i] := 0; c[i] := 0; d[i] := 0; end; undefine w; end;\n\
     ruleset i: node do\n  rule true ==> begin a[i] := (a[i] + 1) % 10; w := i; end;\n\
     rule true ==> begin b[i] := (b[i] + a[i]) % 10; end;\n  rule true ==> begin c[i] := (c[i] + b[i]) % 10; end;\n\
     rule !isundefined(w) ==> begin d[i] := (d[i] + c[w]) % 10; end;\nend;\n\
     invariant \"small\" forall i: node do a[i] < 10 end;\n"
        .into()
}

/// A thread that turns its own variables over, one by one.
fn own_toggles() -> String {
    const OWN: usize = 24;
    let names: Vec<String> = (0..OWN).map(|at| format!("l{at}")).collect();
    let labels: Vec<String> = (0..OWN).map(|at| format!("a{at}")).collect();
    let turns: String = (0..OWN).map(|at| format!("  a{at}: l{at} := !l{at}; goto again;\n")).collect();
    let (names, labels) = (names.join(", "), labels.join(", "));
    format!("decl g := F;\nvoid main() begin\n  decl {names};\n  again: goto {labels};\n{turns}end\n")
}

fn ltl() -> String {
    "var x: array [0..7] of 0..9;\nstartstate begin for i: 0..7 do x[i] := 0; end; end;\n\
     ruleset i: 0..7 do rule x[i] < 9 ==> begin x[i] := x[i] + 1; end; rule x[i] = 9 ==> begin x[i] := 0; end; end;\n\
     ltl \"never stays\" [] <> true;\n"
        .into()
}

fn guard() -> String {
    let bound: String = (0..9).map(|at| format!("forall a{at}: 0..999 do ")).collect();
    let sum: String = (0..9).map(|at| format!("a{at} + ")).collect();
    format!(
        "var x: 0..1;\nstartstate begin x := 0; end;\nrule {bound} {sum} x >= 0 {} ==> begin x := 1 - x; end;\n",
        "end ".repeat(9)
    )
}

fn instances() -> String {
    "var x: 0..1;\nstartstate begin x := 0; end;\n\
     ruleset i: -2147483648..2; j: 0..1000000 do rule i + j > 5000000 ==> begin x := 1 - x; end; end;\n"
        .into()
}

fn starts() -> String {
    let sets: String = (0..12).map(|at| format!("x{at} := a{at}; ")).collect();
    let vars: String = (0..12).map(|at| format!("x{at}: 0..9; ")).collect();
    let bound: String = (0..12).map(|at| format!("ruleset a{at}: 0..9 do ")).collect();
    format!(
        "var {vars}\n{bound} startstate begin {sets} end; {}\nrule true ==> begin x0 := 0; end;\n",
        "end; ".repeat(12)
    )
}

/// The protocol of Fischer with more processes than can be told apart.
fn fischer() -> String {
    crowd("fischer.vpl", 9)
}

/// One product after another, with nothing reduced.
fn merges() -> String {
    (3..=9).fold("merge A[1] A[2]\n".to_string(), |typed, last| {
        typed + &format!("merge g{} A[{last}]\n", last - 2)
    })
}

fn fischer_live() -> String {
    crowd("fischer_live.vpl", 300)
}

/// A model of the gallery with many processes.
fn crowd(name: &str, processes: u32) -> String {
    let text = fs::read_to_string(crate::tidy::root().join("models/sgm").join(name)).unwrap_or_default();
    let line = |line: &str| match line.split_once("i = 1..") {
        Some((before, _)) if before.contains("automata") => format!("{before}i = 1..{processes};\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// Threads that turn shared variables over, one by one: every combination of their values can be reached.
fn toggles() -> String {
    const SHARED: usize = 22;
    let named = |text: &dyn Fn(usize) -> String, between: &str| {
        (0..SHARED).map(text).collect::<Vec<_>>().join(between)
    };
    let names = named(&|at| format!("g{at}"), ", ");
    let start = named(&|_| "F".into(), ", ");
    let labels = named(&|at| format!("l{at}"), ", ");
    let turns = named(&|at| format!("  l{at}: g{at} := !g{at}; goto again;"), "\n");
    let some = named(&|at| format!("!g{at}"), " | ");
    format!(
        "decl {names};\nvoid main() begin\n  {names} := {start};\n  more: start_thread worker(); goto more;\nend\n\
         void worker() begin\n  again: goto {labels}, check;\n{turns}\n  check: assert({some} | T); goto again;\nend\n"
    )
}

impl Hard {
    /// What the command is given, written to a folder where it is not there.
    fn files(&self, shoal: &Path, folder: &Path) -> Result<Vec<PathBuf>, String> {
        let ours = |name: &str| crate::tidy::root().join("models").join(name);
        let write = |ending: &str, text: &str| -> Result<PathBuf, String> {
            let path = folder.join(format!("{}.{ending}", self.name.replace([' ', ','], "_")));
            fs::write(&path, text).map_err(|error| error.to_string())?;
            Ok(path)
        };
        match &self.model {
            LimitsModel::File(name) => Ok(vec![ours(name)]),
            LimitsModel::Text(ending, text) => Ok(vec![write(ending, &text())?]),
            LimitsModel::Typed(ending, text, typed) => {
                fs::write(folder.join(TYPED), typed()).map_err(|error| error.to_string())?;
                Ok(vec![write(ending, &text())?])
            }
            LimitsModel::Against(ending, text, other_ending, other) => {
                Ok(vec![write(ending, &text())?, write(other_ending, other)?])
            }
            LimitsModel::Certificate(name, words) => {
                let path = folder.join("certificate");
                let mut command = Command::new(shoal);
                command.args(words.split(' ')).arg(ours(name)).args(["--trace", "none", "--quiet"]);
                let made = watch(command.arg("--certificate").arg(&path), Interference::default())?;
                match made.status.is_some_and(|status| status.success()) {
                    true => Ok(vec![path, ours(name)]),
                    false => Err(format!("no certificate of {name}: {}", made.output)),
                }
            }
        }
    }
}

/// Prints the table.
pub(super) fn bench(args: &[String]) -> Result<(), String> {
    let (shoal, only) = match args {
        [option, program, only @ ..] if option == "--shoal" => (program.into(), only.first()),
        only => (build_shoal()?, only.first()),
    };
    let folder = std::env::temp_dir().join(format!("shoal-limits-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    println!(
        "beyond the limit: time {} s, memory {} MB, signals after {} s",
        TIME.as_secs(),
        MEMORY / 1_000_000,
        SIGNAL.as_secs_f64()
    );
    println!("{:<24} {:>14} {:>16} {:>14} {:>14}", "", "--time", "--memory", "SIGINT", "SIGTERM");
    let mut broken = 0;
    for hard in HARD.iter().filter(|hard| only.is_none_or(|only| hard.name.contains(only.as_str()))) {
        let cells = row(&shoal, &folder, hard)?;
        broken += cells.iter().filter(|cell| cell.contains('✗')).count();
        println!("{:<24} {:>14} {:>16} {:>14} {:>14}", hard.name, cells[0], cells[1], cells[2], cells[3]);
    }
    let _ = fs::remove_dir_all(&folder);
    if broken == 0 { Ok(()) } else { Err(format!("{broken} limits are not kept (✗)")) }
}

fn row(shoal: &Path, folder: &Path, hard: &Hard) -> Result<[String; 4], String> {
    let paths = hard.files(shoal, folder)?;
    let run = |more: &[String], signal| -> Result<ProgramEnd, String> {
        let mut command = match hard.model {
            LimitsModel::Typed(..) => {
                let mut command = Command::new("sh");
                command.args(["-c", &format!("exec \"$0\" \"$@\" < {TYPED}")]).arg(shoal);
                command
            }
            LimitsModel::File(_)
            | LimitsModel::Text(..)
            | LimitsModel::Against(..)
            | LimitsModel::Certificate(..) => Command::new(shoal),
        };
        command.args(hard.words.split(' ')).args(&paths).args(more).current_dir(folder);
        if hard.words.starts_with("check") {
            command.args(["--trace", "none", "--quiet"]);
        }
        watch(&mut command, Interference { signal, wall: Some(PATIENCE), ..Interference::default() })
    };
    let time = run(&["--time".into(), TIME.as_secs().to_string()], None)?;
    let memory = match hard.fills {
        true => {
            let limits = ["--memory".into(), MEMORY.to_string(), "--time".into(), "60".into()];
            beyond_memory(&run(&limits, None)?)
        }
        false => "-".into(),
    };
    let signal = |name| -> Result<String, String> {
        Ok(beyond_time(&run(&[], Some((name, SIGNAL)))?, SIGNAL, &[0, 1, 2, 3, 130]))
    };
    Ok([beyond_time(&time, TIME, &[0, 1, 2, 3]), memory, signal("INT")?, signal("TERM")?])
}

/// The time beyond a limit; with a mark if it is too much, if the run ended as it must not, or before there was a limit to keep.
fn beyond_time(ended: &ProgramEnd, limit: Duration, codes: &[i32]) -> String {
    let over = ended.wall.as_secs_f64() - limit.as_secs_f64();
    match ended.status.map(|status| (status, status.code())) {
        None => "✗ goes on".into(),
        Some((_, Some(code))) if codes.contains(&code) => {
            let most = 1.0 + limit.as_secs_f64() / 10.0;
            // A clock that is read a moment later says a little less.
            let kept = (-0.05..=most).contains(&over);
            format!("{}{over:+.2} s ({code})", if kept { "" } else { "✗ " })
        }
        Some((status, _)) => format!("✗ {status}"),
    }
}

/// The memory beyond the limit.
fn beyond_memory(ended: &ProgramEnd) -> String {
    let over = ended.peak as f64 - MEMORY as f64;
    let megabytes = over / 1e6;
    match ended.status.map(|status| (status, status.code())) {
        None => format!("✗ goes on, {megabytes:+.0} MB"),
        Some((_, Some(code @ 0..=3))) => {
            let most = MEMORY as f64 / 10.0 + 64.0 * f64::from(1 << 20);
            // Only what ended for lack of memory says something.
            let kept = over <= most && code == 3;
            format!("{}{megabytes:+.0} MB ({code})", if kept { "" } else { "✗ " })
        }
        Some((status, _)) => format!("✗ {status}"),
    }
}
