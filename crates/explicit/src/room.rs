//! Room for elements that come and go. A state is laid out with room for some elements of each growing sort. Where a step
//! needs more, the search begins anew with twice as much for that sort: nothing is known of the model's own bound
//! beforehand, and states are at most twice as large as the fullest needs. What the searches before cost is at most what
//! the last one does for each doubling, and less the earlier the room was too small.

use std::{
    io::{self, Read},
    time::Instant,
};

use shoal_model::{Job, Model, Observer, Outcome, PropertyResult, SortId, SortSize, StopReason, Verdict};

use crate::{
    bytes::{get_list, put_all},
    search::{FirstViolations, Keeper, Refusal, Save},
};

/// How many elements of a growing sort there is room for at first.
const FIRST: u32 = if cfg!(debug_assertions) { 4 } else { 8 };
/// How many states are looked at, while code is interpreted, before it is worth the time to translate it for this room.
const TRIAL: u64 = 20_000;
/// More are not laid out: such states could not be explored.
const MOST: u32 = 1 << 14;

/// How many elements of each sort there is room for; nothing said of those that do not grow.
#[derive(Clone, Debug)]
pub(crate) struct Rooms {
    rooms: Vec<Option<u32>>,
    limits: Vec<Option<u32>>,
}

impl Rooms {
    pub(crate) fn first(model: &Model) -> Rooms {
        let grows = |size: SortSize| match size {
            SortSize::Growing { limit, .. } => Some(limit.unwrap_or(MOST)),
            _ => None,
        };
        let limits: Vec<Option<u32>> = model.sorts.iter().map(|sort| grows(sort.size)).collect();
        Rooms { rooms: limits.iter().map(|limit| limit.map(|limit| limit.min(FIRST))).collect(), limits }
    }

    /// The model with its growing sorts limited to the room they have.
    pub(crate) fn model(&self, model: &Model) -> Model {
        let mut sized = model.clone();
        for (sort, room) in sized.sorts.iter_mut().zip(&self.rooms) {
            if let (SortSize::Growing { limit, .. }, Some(room)) = (&mut sort.size, room) {
                *limit = Some(*room);
            }
        }
        debug_assert_eq!(shoal_model::verify(&sized), Ok(()), "limiting the room of sorts changes no types");
        sized
    }

    fn none_grows(&self) -> bool {
        self.rooms.iter().all(Option::is_none)
    }

    /// Doubles the room of a sort; false if that is not allowed.
    pub(crate) fn enlarge(&mut self, sort: SortId) -> bool {
        let at = shoal_model::TypedId::index(sort);
        let (Some(room), Some(limit)) = (&mut self.rooms[at], self.limits[at]) else { return false };
        let before = *room;
        *room = room.saturating_mul(2).min(limit);
        *room > before
    }

    /// The rooms of a saved search.
    fn restore(&mut self, input: &mut dyn Read) -> io::Result<()> {
        let mut saved = Vec::new();
        get_list(input, &mut saved)?;
        for (room, saved) in self.rooms.iter_mut().flatten().zip(saved) {
            *room = (saved as u32).clamp(1, MOST);
        }
        Ok(())
    }
}

/// Decides the properties of a model, with as much room as it takes.
pub(crate) fn with_room(
    model: &Model,
    job: &Job,
    observer: &mut dyn Observer,
    keeper: &mut dyn Keeper,
    mut decide: impl FnMut(&Model, &Job, &mut dyn Observer, &mut dyn Keeper) -> Result<Outcome, Refusal>,
) -> Result<Outcome, Refusal> {
    let mut rooms = Rooms::first(model);
    if rooms.none_grows() {
        return decide(model, job, observer, keeper);
    }
    let began = Instant::now();
    let mut saved = keeper.resume().map_err(Refusal::Saved)?;
    if let Some(saved) = &mut saved {
        rooms.restore(saved).map_err(Refusal::Saved)?;
    }
    let mut observer = FirstViolations::new(observer);
    let mut before: Option<Outcome> = None;
    // As a rule it shows soon that there is too little room, and translation takes longer than that.
    let mut trial = job.jit && saved.is_none() && job.limits().states.is_none_or(|limit| limit > TRIAL);
    loop {
        let states = if trial { Some(TRIAL) } else { job.limits().states };
        let job_now = Job { watch: job.watch.with_states(states), jit: job.jit && !trial, ..job.clone() };
        let mut keeper = WithRooms { keeper, rooms: &rooms, saved: saved.take() };
        let mut outcome = match decide(&rooms.model(model), &job_now, &mut observer, &mut keeper) {
            // So much room is too much.
            Err(refusal) => return before.ok_or(refusal),
            Ok(outcome) => outcome,
        };
        let is_cut =
            |result: &PropertyResult| matches!(result.verdict, Verdict::Unknown(StopReason::States(_)));
        if trial && outcome.results.iter().any(is_cut) {
            trial = false;
            continue;
        }
        outcome.statistics.time = began.elapsed();
        let full = outcome.results.iter().find_map(|result| match result.verdict {
            Verdict::Unknown(StopReason::Elements(sort)) => Some(sort),
            _ => None,
        });
        if !full.is_some_and(|sort| rooms.enlarge(sort)) {
            return Ok(outcome);
        }
        before = Some(outcome);
    }
}

/// Keeps with a search how much room it had.
struct WithRooms<'k> {
    keeper: &'k mut dyn Keeper,
    rooms: &'k Rooms,
    saved: Option<Box<dyn Read>>,
}

impl Keeper for WithRooms<'_> {
    fn due(&mut self) -> bool {
        self.keeper.due()
    }

    fn save(&mut self, save: Save<'_>) {
        let rooms = || self.rooms.rooms.iter().flatten().map(|room| u64::from(*room));
        self.keeper.save(&mut |out| {
            put_all(out, rooms().count(), rooms())?;
            save(out)
        });
    }

    fn resume(&mut self) -> io::Result<Option<Box<dyn Read>>> {
        Ok(self.saved.take())
    }
}
