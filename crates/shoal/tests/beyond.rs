//! Searches beyond one memory: without the states before, on disk, and by several processes. All of them find the same.

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

use shoal::{
    Beyond, CheckOptions, DiskSpace, Engine, Exchange, Limits, LoadOptions, Loaded, LostContact, Packet,
    Processes, Quiet, Report, Verdict, Watch, check, load, model::StopReason,
};

/// Processes that are threads, and hand packets over in memory.
struct Mesh {
    index: usize,
    to: Vec<Sender<Packet>>,
    from: Vec<Receiver<Packet>>,
}

impl Mesh {
    fn new(processes: usize) -> Vec<Mesh> {
        let mut ends: Vec<Mesh> =
            (0..processes).map(|index| Mesh { index, to: Vec::new(), from: Vec::new() }).collect();
        for from in 0..processes {
            for to in 0..processes {
                let (sender, receiver) = channel();
                ends[from].to.push(sender);
                // Pushed in the order of those it comes from.
                ends[to].from.push(receiver);
            }
        }
        ends
    }
}

impl Exchange for Mesh {
    fn index(&self) -> usize {
        self.index
    }
    fn processes(&self) -> usize {
        self.to.len()
    }
    fn send(&mut self, packets: Vec<Packet>) -> Result<(), LostContact> {
        let sent = self.to.iter().zip(packets).try_for_each(|(to, packet)| to.send(packet));
        sent.map_err(|_| LostContact("it has ended".into()))
    }
    fn receive(&mut self) -> Result<Vec<Packet>, LostContact> {
        self.from.iter().map(|from| from.recv().map_err(|_| LostContact("it has ended".into()))).collect()
    }
    fn bytes_sent(&self) -> u64 {
        0
    }
}

fn model(path: &str, set: &[(&str, i64)]) -> Loaded {
    let set = set.iter().map(|(name, value)| ((*name).into(), *value)).collect();
    let options = LoadOptions { set, ..LoadOptions::default() };
    load(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(path), &options).unwrap()
}

fn options(symmetry: bool, threads: usize) -> CheckOptions {
    let strategy = shoal::Strategy::default();
    CheckOptions { engine: Some(Engine::Explicit), symmetry, threads, strategy, ..CheckOptions::default() }
}

fn found(loaded: &Loaded, options: &CheckOptions) -> Report {
    check(loaded, options, &mut Quiet).unwrap()
}

/// What must be the same in every search: counts, verdicts, and how long traces are.
fn counted(report: &Report) -> String {
    let of = &report.outcome.statistics;
    let verdicts: Vec<String> = report.outcome.results.iter().map(|result| said(&result.verdict)).collect();
    format!(
        "{verdicts:?} {} {:?} {} {:?} {:?}",
        of.states, of.states_full, of.transitions, of.levels, of.fired
    )
}

fn said(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Violated(violation) => {
            let steps = violation.trace.as_ref().map(|trace| trace.steps.len());
            format!("violated {steps:?} {:?}", std::mem::discriminant(&violation.reason))
        }
        other => format!("{other:?}"),
    }
}

/// What must be the same in every search that does not keep the states before: traces, too.
fn told(report: &Report) -> String {
    format!("{} {:?}", counted(report), report.outcome.results)
}

/// Searches with processes that are threads of this one; all reports.
fn by_processes(loaded: &Loaded, of: &CheckOptions, processes: usize) -> Vec<Report> {
    let reports = Arc::new(Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for end in Mesh::new(processes) {
            let (of, reports) = (of.clone(), reports.clone());
            scope.spawn(move || {
                let beyond = Beyond { processes: Some(Processes::new(end)), ..of.beyond.clone() };
                let report = found(loaded, &CheckOptions { beyond, ..of });
                reports.lock().unwrap().push(report);
            });
        }
    });
    Arc::into_inner(reports).unwrap().into_inner().unwrap()
}

/// A folder for a test.
fn folder(name: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("shoal-beyond-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// A model of the gallery, its constants, and whether symmetry is used.
type Case = (&'static str, &'static [(&'static str, i64)], bool);

const MODELS: [Case; 8] = [
    ("murphi/german.m", &[("N", 2)], false),
    ("murphi/german.m", &[], true),
    ("murphi/peterson.m", &[], false),
    ("murphi/peterson_bug.m", &[], true),
    ("murphi/network_multiset.m", &[], true),
    ("murphi/two_phase_commit_bug.m", &[], true),
    ("promela/spawn.pml", &[], false),
    ("promela/lost_update.pml", &[], false),
];

#[test]
fn all_searches_find_the_same() {
    let disk = folder("same");
    for (path, set, symmetry) in MODELS {
        let loaded = model(path, set);
        let plain_options = CheckOptions { patience: None, ..options(symmetry, 1) };
        let plain = found(&loaded, &plain_options);
        let thin =
            CheckOptions { beyond: Beyond { thin: true, ..Beyond::default() }, ..plain_options.clone() };
        let expected = found(&loaded, &thin);
        // A search that has nothing left to find out ends at the end of a level only.
        if plain.outcome.statistics.exhaustive {
            assert_eq!(counted(&expected), counted(&plain), "{path}: thin");
        }
        let expected = told(&expected);
        let memory = |bytes| Watch::start(Limits { memory: Some(bytes), ..Limits::default() });
        let space = DiskSpace { folder: disk.clone(), limit: None };
        let on_disk = CheckOptions {
            beyond: Beyond { disk: Some(space), ..Beyond::default() },
            watch: memory(300_000),
            ..plain_options.clone()
        };
        assert_eq!(told(&found(&loaded, &on_disk)), expected, "{path}: disk");
        for (processes, threads) in [(2, 1), (3, 2)] {
            let of = CheckOptions { threads, ..plain_options.clone() };
            for report in by_processes(&loaded, &of, processes) {
                assert_eq!(told(&report), expected, "{path}: {processes} processes with {threads} threads");
            }
        }
    }
    assert_eq!(std::fs::read_dir(&disk).unwrap().count(), 0, "nothing is left");
    std::fs::remove_dir(&disk).unwrap();
}

#[test]
fn a_full_disk_and_a_lost_process_end_the_search_without_a_verdict() {
    let loaded = model("murphi/german.m", &[]);
    let disk = folder("full");
    let space = DiskSpace { folder: disk.clone(), limit: Some(20_000) };
    let watch = Watch::start(Limits { memory: Some(300_000), ..Limits::default() });
    let beyond = Beyond { disk: Some(space), ..Beyond::default() };
    let report = found(&loaded, &CheckOptions { beyond, watch, ..options(false, 1) });
    let full = |verdict: &Verdict| matches!(verdict, Verdict::Unknown(StopReason::Disk(_)));
    assert!(
        report.outcome.results.iter().all(|result| full(&result.verdict)),
        "{:?}",
        report.outcome.results
    );
    std::fs::remove_dir(&disk).unwrap();
    // The other end is gone from the beginning.
    let mut ends = Mesh::new(2);
    ends.pop();
    let beyond = Beyond { processes: Some(Processes::new(ends.remove(0))), ..Beyond::default() };
    let report = found(&loaded, &CheckOptions { beyond, ..options(false, 1) });
    let lost = |verdict: &Verdict| matches!(verdict, Verdict::Unknown(StopReason::Lost(_)));
    assert!(
        report.outcome.results.iter().all(|result| lost(&result.verdict)),
        "{:?}",
        report.outcome.results
    );
}

#[test]
fn what_needs_steps_is_refused_by_name() {
    let loaded = model("murphi/starvation.m", &[]);
    let beyond = Beyond { thin: true, ..Beyond::default() };
    let report = check(&loaded, &CheckOptions { beyond, ..options(false, 1) }, &mut Quiet);
    let text = format!("{report:?}");
    assert!(text.contains("on disk or by several processes"), "{text}");
}

/// Wherever in a level memory is full: nothing is lost and nothing is counted twice.
#[test]
fn memory_may_be_full_at_any_time() {
    let loaded = model("murphi/german.m", &[("N", 3), ("VALUES", 1)]);
    let plain = counted(&found(&loaded, &options(false, 1)));
    let disk = folder("any-time");
    let mut on_disk = 0;
    for bytes in (150_000..1_200_000).step_by(70_000) {
        for threads in [1, 2] {
            let space = DiskSpace { folder: disk.clone(), limit: None };
            let beyond = Beyond { disk: Some(space), ..Beyond::default() };
            let watch = Watch::start(Limits { memory: Some(bytes), ..Limits::default() });
            let report = found(&loaded, &CheckOptions { beyond, watch, ..options(false, threads) });
            assert_eq!(counted(&report), plain, "{bytes} bytes, {threads} threads");
            let notes = &report.outcome.statistics.notes;
            on_disk += usize::from(notes.iter().any(|note| note.contains("on disk")));
        }
    }
    assert!(on_disk >= 8, "{on_disk} searches used the disk");
    std::fs::remove_dir(&disk).unwrap();
}

/// A search that is stopped after some levels and gone on with by others, how many they are, comes to the same.
#[test]
fn a_saved_search_is_gone_on_with_by_any_number_of_processes() {
    let (saved, disk) = (folder("saved"), folder("saved-disk"));
    let mut gone_on_with = 0;
    for (path, set, symmetry) in MODELS {
        let loaded = model(path, set);
        let base = CheckOptions { patience: None, ..options(symmetry, 1) };
        let thin = Beyond { thin: true, ..Beyond::default() };
        let expected = told(&found(&loaded, &CheckOptions { beyond: thin.clone(), ..base.clone() }));
        for (depth, first, second, on_disk) in
            [(3, 1, 2, false), (6, 3, 1, false), (5, 2, 3, true), (9, 1, 1, true)]
        {
            let space = DiskSpace { folder: disk.clone(), limit: None };
            let beyond = Beyond { disk: on_disk.then_some(space), ..thin.clone() };
            let by = |processes: usize, depth: Option<u64>, checkpoints: shoal::Checkpoints| {
                let memory = on_disk.then_some(300_000);
                let watch = Watch::start(Limits { depth, memory, ..Limits::default() });
                let of = CheckOptions { watch, checkpoints, beyond: beyond.clone(), ..base.clone() };
                match processes {
                    1 => vec![found(&loaded, &of)],
                    _ => by_processes(&loaded, &of, processes),
                }
            };
            let save = shoal::Checkpoints { save: Some(saved.clone()), ..shoal::Checkpoints::default() };
            let before = by(first, Some(depth), save);
            assert!(before.iter().all(|report| report.unsaved.is_none()), "{path}: {:?}", before[0].unsaved);
            let is_saved = std::fs::read_dir(&saved).unwrap().count() > 0;
            // What is violated, or too small to be shared, is not saved.
            if is_saved {
                gone_on_with += 1;
                let resume =
                    shoal::Checkpoints { resume: Some(saved.clone()), ..shoal::Checkpoints::default() };
                for report in by(second, None, resume) {
                    assert_eq!(
                        told(&report),
                        expected,
                        "{path}: {first}, then {second} processes, depth {depth}"
                    );
                }
            }
            std::fs::remove_dir_all(&saved).unwrap();
        }
    }
    assert!(gone_on_with >= 16, "{gone_on_with} searches were saved");
    std::fs::remove_dir_all(&disk).unwrap();
}
