//! Stores the successors that belong in a shard, some at a time.

use std::ops::ControlFlow;

use crate::{
    batch::{Record, RecordShape},
    equivariance::EquivarianceChecker,
    judge::{Dropped, Judge, JudgedState, Watched},
    monitor::Monitors,
    report::Where,
    shards::{Shard, StoreRefused, StoredForm, join},
    store::{Inserted, LookupKeys, NONE, hash},
    worker::{EventKind, Shared, note},
};

/// How many successors are looked up together.
pub(crate) const GROUP: usize = 64;

/// Successors that are looked up together: what is kept of them if that is not the packed states, the hash of that, and
/// which states are the same.
struct LookupGroup {
    keys: Vec<u64>,
    hashes: [u64; GROUP],
    found: [u32; GROUP],
    count: usize,
}

/// Those that are being stored, and the next.
#[derive(Default)]
pub(crate) struct Groups {
    present: LookupGroup,
    next: LookupGroup,
}

impl Default for LookupGroup {
    fn default() -> LookupGroup {
        LookupGroup { keys: Vec::new(), hashes: [0; GROUP], found: [NONE; GROUP], count: 0 }
    }
}

impl LookupGroup {
    fn hashes(&self) -> &[u64] {
        &self.hashes[..self.count]
    }

    /// Finds keys and hashes of some records.
    fn fill(&mut self, shape: RecordShape, records: &[u64], form: &mut StoredForm) {
        self.count = shape.hashes(records, &mut self.hashes);
        self.keys.clear();
        match form {
            StoredForm::Whole => return,
            StoredForm::Tree(tree) => {
                self.keys.extend(shape.each(records).map(|record| tree.key(shape.state(record))))
            }
            StoredForm::Hashes(_) => self.keys.extend_from_slice(&self.hashes[..self.count]),
        }
        self.hashes.iter_mut().zip(&self.keys).for_each(|(place, key)| *place = hash(&[*key]));
    }
}

/// Which states were not found, and how many that are. Without branches: it comes as by chance.
#[inline]
fn unknown(found: &[u32]) -> ([u8; GROUP], usize) {
    let (mut unknown, mut count) = ([0; GROUP], 0);
    for (at, found) in (0..).zip(found) {
        unknown[count % GROUP] = at;
        count += usize::from(*found == NONE);
    }
    (unknown, count)
}

/// What a new state is known by.
#[derive(Clone, Copy)]
enum NewState {
    Number(u32),
    /// Its words and its distance from a start.
    State(u32),
}

impl NewState {
    fn of(self, state: &[u64]) -> Where {
        match self {
            NewState::Number(number) => Where::At(number),
            NewState::State(depth) => Where::State(depth, state.to_vec()),
        }
    }
}

/// Stores successors in a shard.
pub(crate) struct Absorber<'w, 'm> {
    pub(crate) shared: &'w Shared<'m>,
    pub(crate) monitors: &'w Monitors,
    pub(crate) watched: &'w Watched,
    pub(crate) shard: &'w mut Shard,
    pub(crate) number: usize,
    pub(crate) allowance: &'w mut Option<u64>,
    pub(crate) judge: &'w mut Judge<'m>,
    pub(crate) checker: Option<&'w mut EquivarianceChecker<'m>>,
    /// Whether steps and labels are kept.
    pub(crate) keeps: bool,
    /// The distance of these states from a start, where states have no numbers.
    pub(crate) depth: Option<u32>,
}

impl Absorber<'_, '_> {
    /// Stores successors that come in groups of records. While some are stored, the places of the next are on their way.
    pub(crate) fn all<'r>(
        &mut self,
        shape: RecordShape,
        all: impl Iterator<Item = &'r [u64]>,
        groups: &mut Groups,
    ) -> ControlFlow<()> {
        let mut waiting = None;
        for records in all.map(Some).chain([None]) {
            std::mem::swap(&mut groups.present, &mut groups.next);
            if let Some(records) = records {
                groups.next.fill(shape, records, &mut self.shard.form);
                groups.next.hashes().iter().for_each(|hash| self.shard.store.fetch(*hash));
            }
            if let Some(records) = std::mem::replace(&mut waiting, records) {
                self.group(shape, records, &mut groups.present)?;
            }
            if !self.shard.account(&self.shared.shards.budget) {
                return self.refuse(StoreRefused::Memory);
            }
        }
        ControlFlow::Continue(())
    }

    fn group(&mut self, shape: RecordShape, records: &[u64], group: &mut LookupGroup) -> ControlFlow<()> {
        let LookupGroup { keys, hashes, found, count } = group;
        let keys = match self.shard.form {
            StoredForm::Whole => shape.states(records),
            StoredForm::Tree(_) | StoredForm::Hashes(_) => {
                LookupKeys { all: keys, first: 0, stride: 1, words: 1 }
            }
        };
        let (hashes, found) = (&hashes[..*count], &mut found[..*count]);
        self.shard.store.look_up(hashes, keys, found);
        let record = |at: usize| shape.record(&records[at * shape.length()..][..shape.length()]);
        let (unknown, count) = unknown(found);
        for at in &unknown[..count] {
            let at = usize::from(*at);
            found[at] = self.record(&record(at), keys.get(at), hashes[at])?;
        }
        if self.keeps {
            let kept = shape.kept(records).zip(&*found).filter(|(kept, _)| *kept);
            self.shard.numbers.extend(kept.map(|(_, local)| *local));
        }
        ControlFlow::Continue(())
    }

    fn refuse<T>(&mut self, why: StoreRefused) -> ControlFlow<(), T> {
        self.shard.refused = Some(why);
        ControlFlow::Break(())
    }

    /// Stores a successor unless it is there, and gives its number in the shard; [`NONE`] if an assumption drops it.
    fn record(&mut self, record: &Record<'_>, key: &[u64], hash: u64) -> ControlFlow<(), u32> {
        let Record { step, state, .. } = *record;
        let careful = !self.monitors.assumptions.is_empty() || self.allowance.is_some();
        if careful && !self.shard.store.contains_hashed(key, hash) {
            if self.drops(record) {
                return ControlFlow::Continue(NONE);
            }
            match self.allowance {
                Some(0) => return self.refuse(StoreRefused::Number),
                Some(left) => *left -= 1,
                None => {}
            }
        }
        match self.shard.store.insert_hashed(key, hash, step.parent, 0) {
            Inserted::Known(local) => ControlFlow::Continue(local),
            Inserted::Full => self.refuse(StoreRefused::Memory),
            Inserted::New(local) => {
                let Shard { full, form, fresh, unsure, .. } = &mut *self.shard;
                if !*unsure {
                    *full = full.zip(record.orbit).and_then(|(full, orbit)| full.checked_add(orbit));
                }
                if step.parent != NONE {
                    fresh[step.rule as usize] += 1;
                }
                if let StoredForm::Hashes(kept) = form {
                    kept.push(state);
                }
                self.check_symmetry(state)?;
                let place = match self.depth {
                    Some(depth) => NewState::State(depth),
                    None => match join(self.number, local) {
                        Some(number) => NewState::Number(number),
                        None => return self.refuse(StoreRefused::Memory),
                    },
                };
                if let NewState::Number(number) = place
                    && self.keeps
                    && !self.label(number, state)
                {
                    return self.refuse(StoreRefused::Memory);
                }
                // What waits for a look at the disk need not be new.
                if !self.shard.unsure {
                    self.look_at(place, state);
                }
                ControlFlow::Continue(local)
            }
        }
    }

    /// Whether elements are treated alike in a new state, where that is to be checked. Checking takes time.
    fn check_symmetry(&mut self, state: &[u64]) -> ControlFlow<()> {
        let Some(checker) = &mut self.checker else { return ControlFlow::Continue(()) };
        if self.shared.watch.check().is_err() {
            return self.refuse(StoreRefused::Time);
        }
        if self.shard.asymmetry.is_none() {
            self.shard.asymmetry = checker.check(state);
        }
        ControlFlow::Continue(())
    }

    /// Keeps which conditions hold in a new state; false if there is no memory for it.
    fn label(&mut self, number: u32, state: &[u64]) -> bool {
        let Some(labels) = &mut self.shard.labels else { return true };
        let room = labels.push();
        if room {
            self.judge.label(&self.shared.sink.conditions, state, number, labels);
        }
        room
    }

    /// Whether an assumption drops a state. One that faults does, too.
    fn drops(&mut self, record: &Record<'_>) -> bool {
        match self.judge.drops(self.monitors, record.state) {
            Dropped::No => return false,
            Dropped::Quietly => {}
            Dropped::Fault(at, problem) => {
                if let Some(at) = problem.fault().and_then(|fault| self.monitors.of_failing(&fault.kind)) {
                    note(&mut self.shard.events, at, || EventKind::Holds);
                }
                let Some(at) = at else { return true };
                let (parent, rule) = (record.step.parent, record.step.rule as usize);
                let place = || match self.depth {
                    Some(depth) => Where::State(depth, record.state.to_vec()),
                    None => Where::Dropped(parent, rule, record.state.to_vec()),
                };
                note(&mut self.shard.events, at, || EventKind::Late(place(), problem));
            }
        }
        true
    }

    /// Looks at the properties of a new state.
    fn look_at(&mut self, place: NewState, state: &[u64]) {
        let Shard { events, labels, .. } = &mut *self.shard;
        let keeps = self.keeps;
        let place = || place.of(state);
        self.judge.look_at(self.monitors, self.watched, state, &mut |seen| match seen {
            JudgedState::Wrong(at, problem) => note(events, at, || EventKind::Wrong(place(), problem)),
            JudgedState::Covered(at) => note(events, at, || EventKind::Holds),
            JudgedState::Goal(goal) => {
                labels.iter_mut().filter(|_| keeps).for_each(|labels| labels.reached(goal))
            }
            JudgedState::Fault(at, problem) => note(events, at, || EventKind::Late(place(), problem)),
        });
    }
}
