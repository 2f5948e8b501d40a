//! Several processes on this machine: the same counts as one, how much of the processor is lost, bytes on the wire, what a large
//! cluster would do by these figures, and what happens when something fails.
//!
//! Efficiency is the processor's time of the plain search on one thread over that of all processes together, so it does not depend on how
//! many cores there are; what else the machine does makes it vary.

mod faults;
mod network;
mod together;

use std::{fs, path::PathBuf};

use self::{
    faults::Disturbed,
    network::HostPlace,
    together::{ClusterBench, Subject, counted, sent},
};
use super::build_shoal;
use crate::process::{Interference, ProgramEnd};

/// The one that the calculation goes by comes first; the small ones last.
const SUBJECTS: &[Subject] = &[
    Subject { file: "murphi/german.m", options: &["--set", "N=5", "--set", "VALUES=1", "--no-symmetry"] },
    Subject { file: "murphi/german.m", options: &["--set", "N=6"] },
    Subject { file: "murphi/peterson.m", options: &["--set", "N=6", "--no-symmetry"] },
    Subject { file: "murphi/network_multiset.m", options: &["--set", "N=7"] },
    Subject { file: "murphi/german_bug.m", options: &["--set", "N=3"] },
    Subject { file: "promela/leader_ring.pml", options: &["--no-partial-order"] },
];
const SMALL: usize = 3;
/// What is disturbed.
const DISTURBED: Subject = SUBJECTS[0];
const DISTURBED_QUICK: Subject =
    Subject { file: "murphi/german.m", options: &["--set", "N=4", "--no-symmetry"] };
const KILLS: u32 = 20;
const CUTS: u32 = 6;

const USAGE: &str =
    "usage: cargo xtask bench cluster [--quick] [--only counts|kills|links|strangers] [--shoal PROGRAM]";

struct Options {
    quick: bool,
    only: Option<String>,
    shoal: Option<PathBuf>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Options, String> {
        let mut options = Options { quick: false, only: None, shoal: None };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--quick" => options.quick = true,
                "--only" => options.only = Some(args.next().ok_or(USAGE)?.clone()),
                "--shoal" => options.shoal = Some(args.next().ok_or(USAGE)?.into()),
                _ => return Err(USAGE.into()),
            }
        }
        match options.only.as_deref() {
            None | Some("counts" | "kills" | "links" | "strangers") => Ok(options),
            Some(_) => Err(USAGE.into()),
        }
    }

    fn wants(&self, what: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == what)
    }
}

/// Compares processes with one, and disturbs them. With `--quick`, small models and few disturbances.
pub(crate) fn bench(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let shoal = match &options.shoal {
        Some(shoal) => fs::canonicalize(shoal).map_err(|error| format!("{}: {error}", shoal.display()))?,
        None => build_shoal()?,
    };
    let folder = std::env::temp_dir().join(format!("shoal-bench-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let outcome = run(&ClusterBench { shoal, folder: folder.clone() }, &options);
    fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
    outcome
}

fn run(bench: &ClusterBench, options: &Options) -> Result<(), String> {
    if options.wants("counts") {
        compare(bench, &SUBJECTS[if options.quick { SMALL } else { 0 }..])?;
    }
    if !["kills", "links", "strangers"].into_iter().any(|what| options.wants(what)) {
        return Ok(());
    }
    let subject = if options.quick { DISTURBED_QUICK } else { DISTURBED };
    let disturbed = Disturbed::new(bench, subject)?;
    let dose = |times: u32| if options.quick { times.div_ceil(7) } else { times };
    if options.wants("kills") {
        disturbed.kills(dose(KILLS))?;
    }
    if options.wants("links") {
        disturbed.cuts(dose(CUTS))?;
    }
    if options.wants("strangers") {
        disturbed.strangers()?;
    }
    Ok(())
}

/// What was measured of a search by some processes.
struct Measured {
    processes: usize,
    states: f64,
    /// Seconds of the processor, of the plain search and of all processes.
    plain: f64,
    cpu: f64,
    /// Bytes that all processes sent to others.
    bytes: f64,
}

fn compare(bench: &ClusterBench, subjects: &[Subject]) -> Result<(), String> {
    let titles = ("states", "processes", "CPU s", "of plain", "bytes/state");
    println!("{:<56} {:>10} {:>9} {:>8} {:>8} {:>11}", "", titles.0, titles.1, titles.2, titles.3, titles.4);
    let mut all = Vec::new();
    for subject in subjects {
        let plain = bench.alone(subject, &["--threads", "1"])?;
        let thin = bench.alone(subject, &["--threads", "1", "--storage", "thin"])?;
        let expected = counted(&thin)?;
        let states = expected[0].as_f64().unwrap_or(0.0);
        let seconds = plain.cpu.as_secs_f64();
        println!("{:<56} {states:>10} {:>9} {seconds:>8.2}", subject.name(), "plain");
        let alone =
            Measured { processes: 1, states, plain: seconds, cpu: thin.cpu.as_secs_f64(), bytes: 0.0 };
        alone.tell();
        for processes in [2, 4] {
            let runs =
                bench.together(&HostPlace::Loopback, subject, processes, &[], |_| Interference::default())?;
            let found = counted(&runs[0])?;
            if found != expected {
                let name = subject.name();
                return Err(format!("{name}: {processes} processes found {found:?} instead of {expected:?}"));
            }
            let measured = Measured::of(&runs, states, seconds);
            measured.tell();
            all.push(measured);
        }
    }
    all.iter().find(|it| it.processes == 4 && it.states >= 1e6).into_iter().for_each(calculate);
    Ok(())
}

impl Measured {
    fn of(runs: &[ProgramEnd], states: f64, plain: f64) -> Measured {
        let cpu = runs.iter().map(|run| run.cpu.as_secs_f64()).sum();
        // Some say nothing.
        let told: Vec<f64> = runs.iter().filter_map(sent).collect();
        let bytes = told.iter().sum::<f64>() * runs.len() as f64 / told.len().max(1) as f64;
        Measured { processes: runs.len(), states, plain, cpu, bytes }
    }

    fn tell(&self) {
        let Measured { processes, states, plain, cpu, bytes } = self;
        let each = if *bytes > 0.0 { format!("{:.1}", bytes / states) } else { String::new() };
        println!("{:<56} {:>10} {processes:>9} {cpu:>8.2} {:>8.2} {each:>11}", "", "", plain / cpu);
    }
}

/// What sixteen machines of 32 cores would do, by what four processes do here. Nobody has seen it.
fn calculate(four: &Measured) {
    const MACHINES: f64 = 16.0;
    const CORES: f64 = 32.0;
    /// Of ten gigabits a second, what is left for states.
    const LINE: f64 = 1.1e9;
    const STATES: f64 = 1e10;
    let core = four.states / four.plain;
    let efficiency = four.plain / four.cpu;
    // With more processes less stays at home.
    let bytes = four.bytes / four.states * ((MACHINES - 1.0) / MACHINES) / (3.0 / 4.0);
    let machine = core * CORES * efficiency;
    let line = LINE / bytes;
    let rate = machine.min(line) * MACHINES;
    println!(
        "\nby calculation, 16 machines of 32 cores with 10 gigabits between them, for 10^10 such states:\n\
         a core {:.2} M states/s x 32 x {efficiency:.2} = {:.0} M a machine; {bytes:.1} bytes a state to others, so the line takes {:.0} M a \
         machine;\n\
         {:.0} M states/s in all, {:.0} s",
        core / 1e6,
        machine / 1e6,
        line / 1e6,
        rate / 1e6,
        STATES / rate
    );
}
