//! Processes that are threads of this one, with real sockets between them: what they find, and what strangers do to them.

use std::{
    fs::File,
    io::{self, BufReader, BufWriter, Read, Write},
    net::TcpListener,
    path::PathBuf,
    thread,
    time::Duration,
};

use shoal_cluster::{Cluster, Host, Membership, digest, join};
use shoal_explicit::{Alone, Exchange, Party, StateFiles, Writing, check, check_apart};
use shoal_model::{Job, Limits, Model, Outcome, Quiet, SortId, Verdict, Watch};

fn hosts(processes: usize) -> Vec<Host> {
    let listeners: Vec<TcpListener> =
        (0..processes).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
    listeners.iter().map(|it| Host::parse(&format!("127.0.0.1:{}", port(it))).unwrap()).collect()
}

fn membership(hosts: &[Host], index: usize) -> Membership {
    Membership {
        hosts: hosts.to_vec(),
        index,
        secret: b"sixteen bytes or more".to_vec(),
        program: digest(b"this"),
        job: digest(b"that"),
        public: false,
        patience: Duration::from_secs(20),
    }
}

fn clusters(processes: usize) -> Vec<Cluster> {
    let hosts = hosts(processes);
    thread::scope(|scope| {
        let start = |index| {
            let of = membership(&hosts, index);
            scope.spawn(move || join(&of).unwrap())
        };
        let started: Vec<_> = (0..processes).map(start).collect();
        started.into_iter().map(|it| it.join().unwrap()).collect()
    })
}

/// Files in a folder, without guards.
struct Plain(PathBuf);

struct PlainFile(BufWriter<File>);

impl StateFiles for Plain {
    fn create(&mut self, name: &str) -> io::Result<Box<dyn Writing>> {
        Ok(Box::new(PlainFile(BufWriter::new(File::create(self.0.join(name))?))))
    }
    fn open(&mut self, name: &str) -> io::Result<Box<dyn Read>> {
        Ok(Box::new(BufReader::new(File::open(self.0.join(name))?)))
    }
    fn remove(&mut self, name: &str) -> io::Result<()> {
        std::fs::remove_file(self.0.join(name))
    }
}

impl Write for PlainFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Writing for PlainFile {
    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.0.flush()
    }
}

fn model(name: &str) -> Model {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../models/murphi").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    let mut sources = shoal_syntax::SourceMap::default();
    let file = sources.add(name, &text);
    shoal_murphi::load(&sources, file, &shoal_murphi::Options::default()).0.unwrap()
}

fn job(model: &Model, symmetric: &[SortId], threads: usize, memory: Option<u64>) -> Job {
    let watch = Watch::start(Limits { memory, ..Limits::default() });
    let properties = model.properties.ids().collect();
    Job { symmetric: symmetric.to_vec(), threads, watch, ..Job::new(properties) }
}

fn counted(outcome: &Outcome) -> String {
    let of = &outcome.statistics;
    let said = |verdict: &Verdict| match verdict {
        Verdict::Violated(violation) => {
            let steps = violation.trace.as_ref().map(|trace| trace.steps.len());
            format!("violated {steps:?} {:?}", std::mem::discriminant(&violation.reason))
        }
        other => format!("{other:?}"),
    };
    let verdicts: Vec<String> = outcome.results.iter().map(|result| said(&result.verdict)).collect();
    format!(
        "{verdicts:?} {} {:?} {} {:?} {:?}",
        of.states, of.states_full, of.transitions, of.levels, of.fired
    )
}

fn told(outcome: &Outcome) -> String {
    format!("{} {:?}", counted(outcome), outcome.results)
}

fn apart<'p>(
    model: &Model,
    exchange: &'p mut dyn Exchange,
    disk: Option<&'p mut dyn StateFiles>,
    job: &Job,
) -> Outcome {
    let mut party = Party::new(exchange);
    party.disk = disk;
    check_apart(model, job, &mut Quiet, &mut party).unwrap()
}

/// One process without the states before, with a disk, and several processes find what the plain search finds.
fn agree(name: &str, symmetric: bool) {
    let model = model(name);
    let symmetric: Vec<SortId> = match symmetric {
        true => {
            let known = shoal_analysis::symmetry(&model);
            model.sorts.ids().filter(|sort| known.sorts[*sort].is_proved()).collect()
        }
        false => Vec::new(),
    };
    let plain = check(&model, &job(&model, &symmetric, 1, None), &mut Quiet).unwrap();
    let thin = apart(&model, &mut Alone::default(), None, &job(&model, &symmetric, 1, None));
    if plain.statistics.exhaustive {
        assert_eq!(counted(&thin), counted(&plain), "{name}");
    }
    let folder = tempfile::tempdir().unwrap();
    let mut files = Plain(folder.path().to_path_buf());
    let limited = job(&model, &symmetric, 2, Some(250_000));
    let on_disk = apart(&model, &mut Alone::default(), Some(&mut files), &limited);
    assert_eq!(told(&on_disk), told(&thin), "{name}: disk");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
    for processes in [2, 3] {
        let outcomes: Vec<Outcome> = thread::scope(|scope| {
            let run = |mut cluster: Cluster| {
                let threads = 1 + cluster.index() % 2;
                let (model, job) = (&model, job(&model, &symmetric, threads, None));
                scope.spawn(move || apart(model, &mut cluster, None, &job))
            };
            let running: Vec<_> = clusters(processes).into_iter().map(run).collect();
            running.into_iter().map(|it| it.join().unwrap()).collect()
        });
        for outcome in outcomes {
            assert_eq!(told(&outcome), told(&thin), "{name}: {processes} processes");
        }
    }
}

#[test]
fn a_protocol_with_symmetry() {
    agree("german.m", true);
}

#[test]
fn a_lock_without_symmetry() {
    agree("peterson.m", false);
}

#[test]
fn a_protocol_with_bags() {
    agree("network_multiset.m", true);
}

#[test]
fn violations_are_the_same() {
    agree("peterson_bug.m", false);
    agree("two_phase_commit_bug.m", true);
}

#[test]
fn a_lost_process_is_noticed() {
    let mut clusters = clusters(2);
    let mut last = clusters.pop().unwrap();
    let mut first = clusters.pop().unwrap();
    last.send(vec![vec![1], vec![2]]).unwrap();
    first.send(vec![vec![3], vec![4]]).unwrap();
    assert_eq!(first.receive().unwrap(), [vec![3], vec![1]]);
    assert_eq!(last.receive().unwrap(), [vec![4], vec![2]]);
    drop(last);
    first.send(vec![vec![5], vec![6]]).unwrap();
    assert!(first.receive().is_err());
}
