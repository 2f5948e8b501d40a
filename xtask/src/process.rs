//! A program that is watched: how it ends, how long it takes, how much memory it has.

use std::{
    fs,
    io::Read,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How often the program is looked at.
const EVERY: Duration = Duration::from_millis(5);
/// Clock ticks a second in `/proc`: the same on every Linux that we know.
const TICKS: f64 = 100.0;

/// What became of a program.
pub(crate) struct ProgramEnd {
    /// Nothing if it had to be killed because it went on for too long.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) output: String,
    pub(crate) wall: Duration,
    /// Of all its threads, as far as was seen.
    pub(crate) cpu: Duration,
    /// The most memory that it had, in bytes.
    pub(crate) peak: u64,
}

/// When a program is interfered with.
#[derive(Clone, Copy, Default)]
pub(crate) struct Interference {
    /// A signal (`INT`, `TERM`), and after what time.
    pub(crate) signal: Option<(&'static str, Duration)>,
    /// The time on the processor after which it is interrupted: it may say what it has found so far.
    pub(crate) interrupt: Option<Duration>,
    /// The most time on the clock and on the processor; then it is killed.
    pub(crate) wall: Option<Duration>,
    pub(crate) cpu: Option<Duration>,
}

/// Runs a program to its end.
pub(crate) fn watch(command: &mut Command, interference: Interference) -> Result<ProgramEnd, String> {
    let began = Instant::now();
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|error| format!("cannot run {command:?}: {error}"))?;
    let readers = [reader(child.stdout.take()), reader(child.stderr.take())];
    let (mut cpu, mut peak, mut signal) = (Duration::ZERO, 0, interference.signal);
    let mut interrupt = interference.interrupt;
    let status = loop {
        cpu = cpu.max(cpu_of(&child));
        peak = peak.max(peak_of(&child));
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            break Some(status);
        }
        if let Some((name, _)) = signal.take_if(|(_, after)| began.elapsed() >= *after) {
            send(&child, name)?;
        }
        if interrupt.take_if(|limit| cpu > *limit).is_some() {
            send(&child, "INT")?;
        }
        let over = |limit: Option<Duration>, used: Duration| limit.is_some_and(|limit| used > limit);
        if over(interference.wall, began.elapsed()) || over(interference.cpu, cpu) {
            child.kill().and_then(|()| child.wait()).map_err(|error| error.to_string())?;
            break None;
        }
        thread::sleep(EVERY);
    };
    let wall = began.elapsed();
    let output = readers.into_iter().map(|reader| reader.join().unwrap_or_default()).collect();
    Ok(ProgramEnd { status, output, wall, cpu, peak })
}

/// Reads a stream to its end, beside everything else.
fn reader(stream: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            let _ = stream.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Sends a signal to a program that we started.
fn send(child: &Child, signal: &str) -> Result<(), String> {
    let id = child.id().to_string();
    let sent = Command::new("kill").args([&format!("-{signal}"), &id]).status();
    sent.map(drop).map_err(|error| format!("cannot run kill: {error}"))
}

fn cpu_of(child: &Child) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    // The name stands in parentheses and may hold anything; the times are the 12th and 13th word behind it.
    let words: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: u64 = words.iter().skip(11).take(2).filter_map(|word| word.parse::<u64>().ok()).sum();
    Duration::from_secs_f64(ticks as f64 / TICKS)
}

fn peak_of(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}
