//! Progress: a live line on a terminal, a line every few seconds elsewhere, events for machines.

use std::{
    io::IsTerminal,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use shoal::{Cancel, Observer, Progress};
use shoal_report::{grouped, plural, progress_event, seconds, size};

use crate::output::{self, Console};

/// How often a line is written where nothing can be redrawn.
const EVERY: Duration = Duration::from_secs(5);

/// Tells the user how a search goes on.
pub(crate) struct ProgressWatcher<'a> {
    shown: ProgressDisplay<'a>,
    memory_limit: Option<u64>,
    last: Instant,
    before: Progress,
}

enum ProgressDisplay<'a> {
    Nothing,
    Live(ProgressBar),
    Lines,
    Events { console: &'a Console, file: &'a str },
}

/// Listens to Ctrl-C and to the signals that ask a process to end (SIGTERM, SIGHUP) from now on. The second one ends it at
/// once.
pub(crate) fn listen() -> Cancel {
    let cancel = Cancel::default();
    let handle = cancel.clone();
    // Where signals cannot be handled, Ctrl-C ends the process, which is fine too.
    let _ = ctrlc::set_handler(move || {
        if !handle.cancel() {
            std::process::exit(130);
        }
    });
    cancel
}

impl<'a> ProgressWatcher<'a> {
    pub(crate) fn new(memory_limit: Option<u64>, quiet: bool) -> Self {
        let shown = if quiet {
            ProgressDisplay::Nothing
        } else if std::io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5));
            bar.set_style(
                ProgressStyle::with_template("{spinner} {wide_msg}")
                    .unwrap_or(ProgressStyle::default_spinner()),
            );
            ProgressDisplay::Live(bar)
        } else {
            ProgressDisplay::Lines
        };
        ProgressWatcher { shown, memory_limit, last: Instant::now(), before: Progress::default() }
    }

    /// Writes events instead of text.
    pub(crate) fn with_events(mut self, console: &'a Console, file: &'a str) -> Self {
        if !matches!(self.shown, ProgressDisplay::Nothing) {
            self.shown = ProgressDisplay::Events { console, file };
        }
        self
    }

    /// Takes the live line away.
    pub(crate) fn finish(&self) {
        if let ProgressDisplay::Live(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }

    fn line(&self, progress: &Progress) -> String {
        let since = progress.elapsed.saturating_sub(self.before.elapsed).as_secs_f64();
        let new = progress.states.saturating_sub(self.before.states) as f64;
        let rate = if since > 0.0 { (new / since) as u64 } else { 0 };
        let trend = match progress.frontier.cmp(&self.before.frontier) {
            std::cmp::Ordering::Less => ", shrinking",
            std::cmp::Ordering::Equal => "",
            std::cmp::Ordering::Greater => ", growing",
        };
        let limit = self.memory_limit.map(|limit| format!(" of {}", size(limit))).unwrap_or_default();
        format!(
            "{}, {}/s, frontier {}{trend}, depth {}, {}{limit}, {}",
            plural(progress.states, "state", "states"),
            grouped(rate),
            grouped(progress.frontier),
            progress.depth,
            size(progress.memory_bytes),
            seconds(progress.elapsed),
        )
    }
}

impl Observer for ProgressWatcher<'_> {
    fn progress(&mut self, progress: &Progress) {
        let due = self.last.elapsed();
        match &self.shown {
            ProgressDisplay::Nothing => return,
            ProgressDisplay::Live(bar) => {
                bar.set_message(self.line(progress));
                bar.tick();
            }
            ProgressDisplay::Lines if due >= EVERY => output::complain(self.line(progress)),
            ProgressDisplay::Events { console, file } if due >= Duration::from_secs(1) => {
                // If nobody reads the events, the run still goes on to its exit code.
                let _ = console.line(progress_event(file, progress));
            }
            ProgressDisplay::Lines | ProgressDisplay::Events { .. } => return,
        }
        // Rates and trends are of the last second or more, or they would jump about.
        if due >= Duration::from_secs(1) {
            self.last = Instant::now();
            self.before = progress.clone();
        }
    }
}
