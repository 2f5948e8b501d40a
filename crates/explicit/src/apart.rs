//! Searches that do not fit in one memory: by several processes, and on disk.
//!
//! Every process does the same at the same time. It expands its own states, some at a time (a round), and hands each successor to
//! the process that [owns](crate::owner) it; what arrived in a round is stored when all of it is there. All processes hear the
//! same reports and decide the same from them: when a level ends, what is violated, when to stop. So each has the whole outcome,
//! and none is in charge.
//!
//! Nothing is kept of where states were reached from. The way to a state is found by expanding the levels before it again: of the
//! states that lead there, the least is taken, whoever has it. So traces do not depend on the number of processes.

use std::{collections::VecDeque, io};

use shoal_code::Layout;
use shoal_model::{Job, Model, Observer, Outcome, PropertyKind};

use crate::{
    batch::{Batch, RecordShape},
    bytes::put_all,
    owner::Owner,
    report::Where,
    room::with_room,
    runs::{LevelFiles, StateFiles},
    search::{self, Keeper, Refusal, Save, SavedLevels},
    shards::SHARDS,
    store::hash,
    support::unsupported,
};

/// What one process has for another in a round.
pub type Packet = Vec<u64>;

/// The processes cannot go on together: why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostContact(pub String);

/// How processes hand states to each other, in rounds that all of them take part in.
pub trait Exchange {
    /// Which process this is.
    fn index(&self) -> usize;
    /// How many there are.
    fn processes(&self) -> usize;
    /// Hands over a packet for each process: those of the next round.
    fn send(&mut self, packets: Vec<Packet>) -> Result<(), LostContact>;
    /// Waits for the packets that all processes have for this one, in their order, in the earliest round that was not received.
    fn receive(&mut self) -> Result<Vec<Packet>, LostContact>;
    /// Bytes that were sent to other processes.
    fn bytes_sent(&self) -> u64;
}

/// One process, which has nobody to exchange with.
#[derive(Debug, Default)]
pub struct Alone(VecDeque<Vec<Packet>>);

impl Exchange for Alone {
    fn index(&self) -> usize {
        0
    }
    fn processes(&self) -> usize {
        1
    }
    fn send(&mut self, packets: Vec<Packet>) -> Result<(), LostContact> {
        self.0.push_back(packets);
        Ok(())
    }
    fn receive(&mut self) -> Result<Vec<Packet>, LostContact> {
        self.0.pop_front().ok_or_else(|| LostContact("nothing was sent in this round".into()))
    }
    fn bytes_sent(&self) -> u64 {
        0
    }
}

/// With whom and where a search is done.
pub struct Party<'p> {
    /// The other processes.
    pub exchange: &'p mut dyn Exchange,
    /// Where states go when memory is full.
    pub disk: Option<&'p mut dyn StateFiles>,
    /// Where the search is saved.
    pub saves: Option<&'p mut dyn LevelFiles>,
    /// Where a search was saved to go on with.
    pub resumes: Option<&'p mut dyn LevelFiles>,
    /// What was saved there.
    pub(crate) resumed: Option<SavedLevels>,
}

impl<'p> Party<'p> {
    /// These processes, and nothing else.
    pub fn new(exchange: &'p mut dyn Exchange) -> Party<'p> {
        Party { exchange, disk: None, saves: None, resumes: None, resumed: None }
    }
}

/// Tells how much room a saved search had for elements that come and go.
struct SavedRooms(Option<Vec<u8>>);

impl Keeper for SavedRooms {
    fn due(&mut self) -> bool {
        false
    }
    fn save(&mut self, _: Save<'_>) {}
    fn resume(&mut self) -> io::Result<Option<Box<dyn io::Read>>> {
        Ok(self.0.take().map(|bytes| Box::new(io::Cursor::new(bytes)) as Box<dyn io::Read>))
    }
}

/// Decides the properties of a job together with other processes, or with the help of a disk. What needs more than states is
/// refused by name: what is always possible, and temporal formulas.
pub fn check_apart(
    model: &Model,
    job: &Job,
    observer: &mut dyn Observer,
    party: &mut Party<'_>,
) -> Result<Outcome, Refusal> {
    for property in &job.properties {
        supports_apart(model, *property)?;
    }
    party.resumed = match &mut party.resumes {
        Some(files) => Some(SavedLevels::find(&mut **files).map_err(Refusal::Saved)?),
        None => None,
    };
    let rooms = party.resumed.as_ref().map(|saved| {
        let mut bytes = Vec::new();
        let rooms = saved.rooms();
        put_all(&mut bytes, rooms.len(), rooms.iter().copied()).map(|()| bytes)
    });
    let mut rooms = SavedRooms(rooms.transpose().map_err(Refusal::Saved)?);
    with_room(model, job, observer, &mut rooms, |model, job, observer, _| {
        search::check_with(model, job, observer, party)
    })
}

/// Whether a property is decided by several processes, or on disk.
pub fn supports_apart(
    model: &Model,
    property: shoal_model::PropertyId,
) -> Result<(), shoal_model::Unsupported> {
    let property = &model.properties[property];
    let lacking = match &property.kind {
        PropertyKind::AlwaysPossible(_) => {
            "what is always possible, in a search on disk or by several processes"
        }
        PropertyKind::Temporal(..) => "temporal formulas, in a search on disk or by several processes",
        // The rest asks of states, or is refused where it always is.
        PropertyKind::Invariant(_)
        | PropertyKind::Assertion
        | PropertyKind::Bound
        | PropertyKind::NoFaults
        | PropertyKind::Deadlock(_)
        | PropertyKind::Cover(_)
        | PropertyKind::CoverDeadlock(_)
        | PropertyKind::Assume(_)
        | PropertyKind::Extreme(_)
        | PropertyKind::Unclear(_) => return Ok(()),
    };
    Err(unsupported(lacking, Some(property.span)))
}

/// Words before the records of a parcel: how many records there are for each shard, two to a word.
const COUNTS: usize = SHARDS / 2;

/// The round of a process: what it expands, and what it has got.
pub(crate) struct ApartRound {
    pub(crate) owner: Owner,
    words: usize,
    /// How records are written in batches, and how for others.
    fat: RecordShape,
    pub(crate) shape: RecordShape,
    /// The distance from a start of the states that are expanded, and of those that are stored.
    pub(crate) depth: u32,
    pub(crate) inserting: u32,
    /// How many states are stored.
    pub(crate) stored: u64,
    /// The states that are expanded.
    pub(crate) states: Vec<u64>,
    /// What has arrived.
    pub(crate) arrived: Vec<Arrived>,
    /// The state that is to be found among successors, on the way back from it.
    pub(crate) target: Option<Vec<u64>>,
}

impl ApartRound {
    pub(crate) fn new(layout: &Layout, fat: RecordShape) -> ApartRound {
        ApartRound {
            owner: Owner::alone(),
            words: layout.words(),
            fat,
            shape: fat.thin(),
            depth: 0,
            inserting: 0,
            stored: 0,
            states: Vec::new(),
            arrived: Vec::new(),
            target: None,
        }
    }

    /// A state of the round.
    pub(crate) fn state(&self, at: u32) -> &[u64] {
        &self.states[at as usize * self.words..][..self.words]
    }

    pub(crate) fn place(&self, at: u32) -> Where {
        Where::State(self.depth, self.state(at).to_vec())
    }

    /// After a piece was expanded: makes parcels of its successors, or looks for the target among them.
    pub(crate) fn finish(&self, batch: &mut Batch) {
        match &self.target {
            Some(target) => self.find_before(target, batch),
            None => self.pack(batch),
        }
    }

    /// The least state of a piece that leads to the target.
    fn find_before(&self, target: &[u64], batch: &mut Batch) {
        let shard = crate::shards::shard(hash(target));
        let leading = batch.records(shard).filter(|record| record.state == target);
        let before = leading.map(|record| self.state(record.step.parent)).min().map(<[u64]>::to_vec);
        batch.before = before;
    }

    /// Makes a parcel for each process.
    pub(crate) fn pack(&self, batch: &mut Batch) {
        let mut parcels = std::mem::take(&mut batch.parcels);
        parcels.resize(self.owner.processes(), Vec::new());
        for parcel in &mut parcels {
            parcel.clear();
            parcel.resize(COUNTS, 0);
        }
        for shard in 0..SHARDS {
            let one = 1 << (32 * (shard % 2));
            for record in self.fat.each(batch.raw(shard)) {
                let parcel = &mut parcels[self.owner.of(self.fat.state(record))];
                parcel[shard / 2] += one;
                self.fat.put_thin(record, parcel);
            }
        }
        batch.parcels = parcels;
    }

    /// A shard's records among those that have arrived, some at a time.
    pub(crate) fn groups(&self, shard: usize, most: usize) -> impl Iterator<Item = &[u64]> {
        let length = self.shape.length();
        self.arrived
            .iter()
            .flat_map(move |arrived| arrived.segments(shard))
            .flat_map(move |it| it.chunks(most * length))
    }

    /// Whether something has arrived for a shard.
    pub(crate) fn has_some_for(&self, shard: usize) -> bool {
        self.arrived.iter().any(|arrived| arrived.segments(shard).any(|records| !records.is_empty()))
    }
}

/// Parcels that have arrived in one packet.
pub(crate) struct Arrived {
    words: Vec<u64>,
    /// For each parcel, where the records of each shard begin, and where the last end.
    parcels: Vec<[usize; SHARDS + 1]>,
}

impl Arrived {
    /// Reads parcels behind the head of a packet. Nothing if they do not fill it exactly.
    pub(crate) fn read(words: Vec<u64>, head: usize, shape: RecordShape) -> Option<Arrived> {
        let mut parcels = Vec::new();
        let mut at = head;
        while at < words.len() {
            let counts = words.get(at..at + COUNTS)?;
            let mut begins = [0; SHARDS + 1];
            let mut end = at + COUNTS;
            for (shard, begin) in begins[..SHARDS].iter_mut().enumerate() {
                *begin = end;
                end += (counts[shard / 2] >> (32 * (shard % 2))) as u32 as usize * shape.length();
            }
            begins[SHARDS] = end;
            if end > words.len() {
                return None;
            }
            parcels.push(begins);
            at = end;
        }
        Some(Arrived { words, parcels })
    }

    /// A parcel of records for each shard.
    pub(crate) fn parcel(shards: &[Vec<u64>], shape: RecordShape) -> Vec<u64> {
        let mut words = vec![0; COUNTS];
        for (shard, records) in shards.iter().enumerate() {
            words[shard / 2] += ((records.len() / shape.length()) as u64) << (32 * (shard % 2));
            words.extend_from_slice(records);
        }
        words
    }

    fn segments(&self, shard: usize) -> impl Iterator<Item = &[u64]> {
        self.parcels.iter().map(move |begins| &self.words[begins[shard]..begins[shard + 1]])
    }

    /// How many records there are, at most.
    pub(crate) fn bytes(&self) -> u64 {
        self.words.capacity() as u64 * 8
    }
}
