//! Rounds: threads look at the next states together, then what they saw is taken in, state by state.
//!
//! A state may turn out to be included in another when it is its turn: then it is as if nobody had looked at it. So a search
//! goes as it does on one thread, and how many states a round has is only a question of time.

use std::{
    ops::Range,
    sync::{
        Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    thread::{self, Scope},
    time::{Duration, Instant},
};

use shoal_model::{Job, Observer};
use shoal_tctl::TctlHalt;
use shoal_team::{Dismiss, Team};

use super::{
    SearchFinish, ZoneSearch,
    look::{SeenSteps, ZoneLook},
};

/// What the threads do in a round.
#[derive(Clone, Copy, PartialEq)]
enum ZonePhase {
    Look,
}

/// How long a round takes, about: long beside the time to wake a thread, and short enough that few states are looked at in vain.
const ROUND_NANOS: u64 = 2_000_000;
/// What takes less than this is done alone.
const ALONE_NANOS: u64 = 100_000;
/// Other threads are started for searches that have taken so long.
const HIRE_AFTER: Duration = Duration::from_millis(if cfg!(debug_assertions) { 0 } else { 3 });
/// At most so many states a round.
const MOST: usize = if cfg!(debug_assertions) { 50 } else { 1 << 14 };
/// What waits to be taken in takes no more than this, but for what threads are at; nor more than a part of what is allowed.
const WAITING: u64 = 32 << 20;
const WAITING_PART: u64 = 64;
/// A thread that is at work needs room for about so many states; all of them have this, and a part of what is allowed.
const WORKING_STATES: usize = 8;
const WORKING: u64 = 16 << 20;
const WORKING_PART: u64 = 16;

/// The states of a round.
struct ZoneRound {
    next: AtomicUsize,
    end: AtomicUsize,
    /// The memory of what waits to be taken in.
    waiting: AtomicU64,
    most_waiting: u64,
    /// Nobody begins with another state.
    cut: AtomicBool,
    looks: Mutex<Vec<(usize, ZoneLook)>>,
}

impl ZoneRound {
    fn new(job: &Job) -> ZoneRound {
        let most_waiting = job.watch.memory().map_or(WAITING, |limit| WAITING.min(limit / WAITING_PART));
        ZoneRound {
            next: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            waiting: AtomicU64::new(0),
            most_waiting,
            cut: AtomicBool::new(false),
            looks: Mutex::default(),
        }
    }

    /// Between rounds.
    fn begin(&self, states: Range<usize>) {
        self.next.store(states.start, Ordering::Relaxed);
        self.end.store(states.end, Ordering::Relaxed);
        self.waiting.store(0, Ordering::Relaxed);
        self.cut.store(false, Ordering::Relaxed);
    }

    /// The next state to look at, if there is one more. They are given away in order, so those that are looked at have no gaps.
    fn claim(&self) -> Option<usize> {
        if self.cut.load(Ordering::Relaxed) {
            return None;
        }
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        (at < self.end.load(Ordering::Relaxed)).then_some(at)
    }

    /// What one thread does.
    fn work(&self, search: &ZoneSearch<'_>, job: &Job) {
        let mut looks = Vec::new();
        while let Some(at) = self.claim() {
            if search.kept[at].covered {
                continue;
            }
            let look = search.look(at, job);
            let bytes = look.seen.bytes();
            let waiting = self.waiting.fetch_add(bytes, Ordering::Relaxed) + bytes;
            if look.is_cut() || waiting > self.most_waiting {
                self.cut.store(true, Ordering::Relaxed);
            }
            looks.push((at, look));
        }
        self.looks.lock().unwrap_or_else(PoisonError::into_inner).append(&mut looks);
    }

    /// What was seen, in the order of the states; and the first state that nobody has looked at.
    fn finish(&self) -> (Vec<(usize, ZoneLook)>, usize) {
        let mut looks = std::mem::take(&mut *self.looks.lock().unwrap_or_else(PoisonError::into_inner));
        looks.sort_unstable_by_key(|(at, _)| *at);
        (looks, self.next.load(Ordering::Relaxed).min(self.end.load(Ordering::Relaxed)))
    }
}

/// The threads of a search: the calling one, and the others once there is enough to do for them.
struct ZoneCrew<'env> {
    team: &'env Team<ZonePhase>,
    round: &'env ZoneRound,
    job: &'env Job,
    began: Instant,
    /// How many are asked for, until they have been started.
    asked: usize,
    /// How many run, the calling one too.
    threads: usize,
    /// How long it takes to look at a state, of late.
    nanos: u64,
    /// What was seen alone: always the same room, as making it anew for every state is what would take longest.
    seen: SeenSteps,
}

/// Searches from the states that are kept.
pub(super) fn explore(
    search: &mut ZoneSearch<'_>,
    job: &Job,
    observer: &mut dyn Observer,
) -> Result<SearchFinish, TctlHalt> {
    let (team, round) = (Team::new(&[ZonePhase::Look]), ZoneRound::new(job));
    let search = RwLock::new(search);
    thread::scope(|scope| {
        let _dismiss = Dismiss(&team);
        let (began, asked) = (Instant::now(), job.threads);
        let seen = SeenSteps::default();
        let mut crew = ZoneCrew { team: &team, round: &round, job, began, asked, threads: 1, nanos: 0, seen };
        let mut next = 0;
        loop {
            let many = crew.many(&read(&search), next);
            let finish = match many {
                0 => Some(SearchFinish::All),
                1 => crew.alone(&mut write(&search), next, observer)?,
                _ => {
                    crew.call(scope, &search);
                    crew.look(&search, next..next + many);
                    crew.take_in(&mut write(&search), &mut next, observer)?
                }
            };
            if let Some(finish) = finish {
                return Ok(finish);
            }
            next += usize::from(many == 1);
        }
    })
}

impl<'env> ZoneCrew<'env> {
    /// How many states to look at next: one, if that is to be done alone.
    fn many(&self, search: &ZoneSearch<'_>, next: usize) -> usize {
        let open = search.kept.len() - next;
        if self.job.threads < 2 || open < 2 || self.began.elapsed() < HIRE_AFTER {
            return open.min(1);
        }
        let threads = self.job.threads;
        // Each needs room for some states while it is at work.
        let room = self.job.watch.memory().map_or(u64::MAX, |limit| limit / WORKING_PART + WORKING);
        if search.kept.bytes_of(next).saturating_mul((WORKING_STATES * threads) as u64) > room {
            return 1;
        }
        let in_time = (ROUND_NANOS * threads as u64).checked_div(self.nanos).unwrap_or(u64::MAX);
        let many = open.min(MOST.min(in_time as usize).max(2 * threads));
        // (Tests come to rounds soon.)
        let is_worth_it = cfg!(debug_assertions) || many as u64 * self.nanos >= ALONE_NANOS;
        if is_worth_it { many } else { 1 }
    }

    /// Looks at one state, and takes in what is seen.
    fn alone(
        &mut self,
        search: &mut ZoneSearch<'_>,
        at: usize,
        observer: &mut dyn Observer,
    ) -> Result<Option<SearchFinish>, TctlHalt> {
        if !search.kept[at].covered {
            let began = Instant::now();
            let sights = search.sights(at, self.job)?;
            if search.take_sights(at, sights, self.job, observer)? {
                return Ok(Some(SearchFinish::Decided));
            }
            search.see(at, &mut self.seen);
            search.take_steps(at, &mut self.seen, self.job, observer)?;
            self.pace(began, 1);
        }
        Ok(search.limit(self.job, observer, at + 1).map(SearchFinish::Stopped))
    }

    /// Notes how long it took to look at some states.
    fn pace(&mut self, began: Instant, states: usize) {
        let nanos = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let each = nanos / states.max(1) as u64;
        self.nanos = self.nanos - self.nanos / 8 + each / 8;
    }

    /// Starts the other threads, if that has not been done. Where the system has none to give, fewer do.
    fn call<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, 'env>,
        search: &'env RwLock<&mut ZoneSearch<'_>>,
    ) {
        let (team, round, job) = (self.team, self.round, self.job);
        for _ in 1..std::mem::replace(&mut self.asked, 1) {
            let hired = team.hire(scope, "shoal search", move |ticket| {
                team.work(ticket, |phase| match phase {
                    ZonePhase::Look => round.work(&read(search), job),
                });
            });
            self.threads += usize::from(hired);
        }
    }

    /// Looks at some states, together.
    fn look(&mut self, search: &RwLock<&mut ZoneSearch<'_>>, states: Range<usize>) {
        let began = Instant::now();
        self.round.begin(states.clone());
        self.team.start(ZonePhase::Look);
        self.round.work(&read(search), self.job);
        self.team.finish();
        self.pace(began, states.len() / self.threads);
    }

    /// Takes in what was seen, state by state.
    fn take_in(
        &mut self,
        search: &mut ZoneSearch<'_>,
        next: &mut usize,
        observer: &mut dyn Observer,
    ) -> Result<Option<SearchFinish>, TctlHalt> {
        search.threads = self.threads;
        let (looks, end) = self.round.finish();
        let mut looks = looks.into_iter().peekable();
        for at in *next..end {
            let look = looks.next_if(|(of, _)| *of == at).map(|(_, look)| look);
            // Another state may include it by now.
            if let Some(mut look) = look.filter(|_| !search.kept[at].covered) {
                // What takes too long or cannot be done need not be done if something has been decided in between.
                let sights = look.sights.or_else(|_| search.sights(at, self.job))?;
                if search.take_sights(at, sights, self.job, observer)? {
                    return Ok(Some(SearchFinish::Decided));
                }
                search.take_steps(at, &mut look.seen, self.job, observer)?;
            }
            if let Some(reason) = search.limit(self.job, observer, at + 1) {
                return Ok(Some(SearchFinish::Stopped(reason)));
            }
        }
        *next = end;
        Ok(None)
    }
}

fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
