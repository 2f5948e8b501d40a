//! Processes that search together, watched.

use std::{fs, path::PathBuf, process::Command, thread, time::Duration};

use serde_json::Value;

use super::network::HostPlace;
use crate::{
    process::{Interference, ProgramEnd, watch},
    tidy::root,
};

/// When a run is given up.
pub(super) const PATIENCE: Duration = Duration::from_secs(900);

/// A model of the gallery, and how it is searched.
#[derive(Clone, Copy)]
pub(super) struct Subject {
    pub(super) file: &'static str,
    pub(super) options: &'static [&'static str],
}

impl Subject {
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.file, self.options.join(" "))
    }
}

/// The program that is tried, and a folder for what it needs.
pub(super) struct ClusterBench {
    pub(super) shoal: PathBuf,
    pub(super) folder: PathBuf,
}

impl ClusterBench {
    /// A search by one process.
    pub(super) fn alone(&self, subject: &Subject, more: &[&str]) -> Result<ProgramEnd, String> {
        let mut command = Command::new(&self.shoal);
        self.search(&mut command, subject).args(more);
        watch(&mut command, Interference { wall: Some(PATIENCE), ..Interference::default() })
    }

    /// A search by several.
    pub(super) fn together(
        &self,
        place: &HostPlace,
        subject: &Subject,
        processes: usize,
        more: &[&str],
        interference: impl Fn(usize) -> Interference,
    ) -> Result<Vec<ProgramEnd>, String> {
        self.write_hosts(place, processes)?;
        let commands: Vec<Command> =
            (0..processes).map(|process| self.process(place, subject, process, more)).collect();
        let all = commands.into_iter().enumerate().map(|(at, command)| (command, interference(at)));
        watch_all(all.collect())
    }

    /// The file of hosts and the secret.
    pub(super) fn write_hosts(&self, place: &HostPlace, processes: usize) -> Result<(), String> {
        let failed = |error: std::io::Error| error.to_string();
        fs::write(self.folder.join("hosts"), place.hosts(processes)?).map_err(failed)?;
        self.write_secret("secret", "of no use to anybody")
    }

    pub(super) fn write_secret(&self, name: &str, text: &str) -> Result<(), String> {
        let failed = |error: std::io::Error| error.to_string();
        let secret = self.folder.join(name);
        fs::write(&secret, text).map_err(failed)?;
        #[cfg(unix)]
        fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o600)).map_err(failed)?;
        Ok(())
    }

    /// One of several processes.
    pub(super) fn process(
        &self,
        place: &HostPlace,
        subject: &Subject,
        process: usize,
        more: &[&str],
    ) -> Command {
        let mut command = place.command(process, &self.shoal);
        self.search(&mut command, subject);
        command.args(["--threads", "1", "--hosts", "hosts", "--process", &process.to_string()]);
        if !more.contains(&"--secret-file") {
            command.args(["--secret-file", "secret"]);
        }
        command.args(more);
        command
    }

    fn search<'c>(&self, command: &'c mut Command, subject: &Subject) -> &'c mut Command {
        command.arg("check").arg(root().join("models").join(subject.file)).args(subject.options);
        command
            .args(["--json", "--profile", "--trace", "none", "--engine", "explicit", "--all"])
            .current_dir(&self.folder)
    }
}

/// Runs programs at the same time.
pub(super) fn watch_all(commands: Vec<(Command, Interference)>) -> Result<Vec<ProgramEnd>, String> {
    thread::scope(|scope| {
        let start = |(mut command, interference): (Command, Interference)| {
            scope.spawn(move || watch(&mut command, interference))
        };
        let running: Vec<_> = commands.into_iter().map(start).collect();
        running.into_iter().map(|run| run.join().map_err(|_| "a watcher has ended".to_string())?).collect()
    })
}

/// What must be the same: states, steps, levels, orbits, verdicts and how long traces are.
pub(super) fn counted(run: &ProgramEnd) -> Result<Vec<Value>, String> {
    let events = run.output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut counts = Vec::new();
    for event in events.filter(|event| event["event"] == "verdict" || event["event"] == "profile") {
        let names = ["states", "transitions", "states_full", "verdict", "steps", "levels"];
        counts.extend(names.map(|name| event[name].clone()));
    }
    if counts.is_empty() { Err(format!("there is no verdict: {}", run.output)) } else { Ok(counts) }
}

/// How a program ended; nothing if it was killed.
pub(super) fn code(run: &ProgramEnd) -> Option<i32> {
    run.status.as_ref().and_then(std::process::ExitStatus::code)
}

/// How many bytes a process sent to others, as its notes say.
pub(super) fn sent(run: &ProgramEnd) -> Option<f64> {
    let (_, behind) = run.output.split_once("this one has ")?;
    let (_, behind) = behind.split_once("sent ")?;
    behind.split_whitespace().next()?.parse().ok()
}
