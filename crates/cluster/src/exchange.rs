//! Rounds of packets on timely dataflow.
//!
//! A thread runs timely; it has one dataflow: what a process hands over in a round goes, with the number of the round as its time, to
//! the process it is meant for, and when timely knows that nothing of a round is on its way any more, all that came in it is handed out.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    panic,
    sync::{
        Arc, Mutex, Once, OnceLock, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel},
    },
    thread,
    time::{Duration, Instant},
};

use shoal_explicit::{Exchange, LostContact, Packet};
use timely::{
    Accountable, WorkerConfig,
    bytes::arc::Bytes,
    communication::{
        Allocator, AllocatorBuilder, Hooks, Push, WorkerGuards,
        allocator::{
            ProcessBuilder,
            zero_copy::initialize::{CommsGuard, initialize_networking_from_sockets},
        },
        initialize_from,
    },
    container::NoopBuilder,
    dataflow::{
        InputHandle,
        channels::{ContainerBytes, Message, pact::DistributorPact, pushers::exchange::Distributor},
        operators::generic::Operator,
    },
    worker::Worker,
};

use crate::{
    Membership,
    hello::PeerSockets,
    pulse::{self, Fate},
};

/// How long timely may sleep without a look at whether somebody is lost.
const NAP: Duration = Duration::from_millis(50);
/// How long the end of connections is waited for: the others read what they still want.
const LEAVING: Duration = Duration::from_secs(10);

/// The processes that search together, as one of them knows them.
pub struct Cluster {
    index: usize,
    processes: usize,
    hand_over: Sender<Vec<Packet>>,
    arrived: Receiver<Vec<Packet>>,
    /// Timely's worker and the threads of its connections, and the worker's thread, to wake it.
    timely: Option<(WorkerGuards<()>, CommsGuard)>,
    worker: Arc<OnceLock<thread::Thread>>,
    life: Option<thread::JoinHandle<()>>,
    fate: Arc<Fate>,
    sent: u64,
}

impl Cluster {
    pub(crate) fn new(of: &Membership, sockets: Vec<Option<PeerSockets>>) -> io::Result<Cluster> {
        quieten();
        let mut states = Vec::new();
        let (mut lives, mut all) = (Vec::new(), Vec::new());
        for (peer, sockets) in sockets.into_iter().enumerate() {
            let Some(PeerSockets { states: of_states, life }) = sockets else {
                states.push(None);
                continue;
            };
            all.push(of_states.try_clone()?);
            states.push(Some(of_states));
            lives.push((peer, of.hosts[peer].place(), life));
        }
        let fate = Fate::new(all);
        let (hand_over, handed_over) = channel();
        let (arrive, arrived) = channel();
        let life = {
            let fate = fate.clone();
            thread::Builder::new().name("shoal life".into()).spawn(move || pulse::watch(lives, &fate))?
        };
        let (index, processes) = (of.index, of.hosts.len());
        let hooks = Hooks::default();
        let inner = ProcessBuilder::new_typed_vector(1, hooks.refill.clone(), None);
        let (builders, connections) = initialize_networking_from_sockets(inner, states, index, 1, hooks)?;
        let builders = builders.into_iter().map(AllocatorBuilder::Tcp).collect();
        let worker = Arc::new(OnceLock::new());
        let run = {
            let (fate, worker) = (fate.clone(), worker.clone());
            let ends = Mutex::new(Some((handed_over, arrive)));
            move |allocator: Allocator| {
                let _ = worker.set(thread::current());
                let ends = ends.lock().unwrap_or_else(PoisonError::into_inner).take();
                if let Some((handed_over, arrive)) = ends {
                    run(index, processes, allocator, handed_over, arrive, &fate);
                }
            }
        };
        let guards = initialize_from(builders, Box::new(()), run).map_err(io::Error::other)?;
        let timely = Some((guards, connections));
        Ok(Cluster { index, processes, hand_over, arrived, timely, worker, life: Some(life), fate, sent: 0 })
    }

    fn wake(&self) {
        // Before it has begun it does not sleep.
        if let Some(worker) = self.worker.get() {
            worker.unpark();
        }
    }

    fn why(&self) -> LostContact {
        LostContact(self.fate.lost().unwrap_or("the exchange of states has ended").to_string())
    }
}

impl Exchange for Cluster {
    fn index(&self) -> usize {
        self.index
    }

    fn processes(&self) -> usize {
        self.processes
    }

    fn send(&mut self, packets: Vec<Packet>) -> Result<(), LostContact> {
        let others = packets.iter().enumerate().filter(|(to, _)| *to != self.index);
        self.sent += others.map(|(_, packet)| 8 * (packet.len() as u64 + 1)).sum::<u64>();
        self.hand_over.send(packets).map_err(|_| self.why())?;
        self.wake();
        Ok(())
    }

    fn receive(&mut self) -> Result<Vec<Packet>, LostContact> {
        loop {
            match self.arrived.recv_timeout(NAP) {
                Ok(packets) => return Ok(packets),
                Err(RecvTimeoutError::Disconnected) => return Err(self.why()),
                Err(RecvTimeoutError::Timeout) if self.fate.lost().is_some() => return Err(self.why()),
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(peer) = self.fate.is_left_alone() {
                        self.fate.lose(format!("process {peer} has ended"));
                    }
                }
            }
        }
    }

    fn bytes_sent(&self) -> u64 {
        self.sent
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Without somebody to hand over, timely ends, when all that was sent has left. Where somebody is lost it may wait for ever.
        self.hand_over = channel().0;
        self.wake();
        let Some((guards, connections)) = self.timely.take() else { return };
        if self.fate.lost().is_some() {
            std::mem::forget((guards, connections));
            return;
        }
        let (ended, end) = channel();
        let wait = move || {
            // They panic where a connection has ended badly; by now that is of no concern to anybody.
            let _ = panic::catch_unwind(panic::AssertUnwindSafe(|| drop(guards)));
            let _ = panic::catch_unwind(panic::AssertUnwindSafe(|| drop(connections)));
            let _ = ended.send(());
        };
        if thread::Builder::new().name("timely:end".into()).spawn(wait).is_ok() {
            let _ = end.recv_timeout(LEAVING);
        }
        self.fate.end();
        if let Some(life) = self.life.take() {
            let _ = life.join();
        }
    }
}

/// What timely's own threads say when a connection ends is told by the pulse, in better words.
fn quieten() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !thread::current().name().is_some_and(|name| name.starts_with("timely:")) {
                before(info);
            }
        }));
    });
}

/// A packet on its way: a word that says from where and to where, and its words.
#[derive(Clone, Default)]
struct Letter {
    words: Vec<u64>,
}

impl Accountable for Letter {
    fn record_count(&self) -> i64 {
        i64::from(!self.words.is_empty())
    }
}

impl ContainerBytes for Letter {
    fn from_bytes(bytes: Bytes) -> Letter {
        let words = match bytemuck::try_cast_slice(&bytes) {
            Ok(words) => words.to_vec(),
            Err(_) => bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect(),
        };
        Letter { words }
    }

    fn length_in_bytes(&self) -> usize {
        8 * self.words.len()
    }

    fn into_bytes<W: Write>(&self, writer: &mut W) {
        // Into memory that has room for it.
        if writer.write_all(bytemuck::cast_slice(&self.words)).is_err() {
            shoal_model::internal!("a packet has as many bytes as it says");
        }
    }
}

/// Brings letters to where they are meant for.
struct LetterPost;

impl Distributor<Letter> for LetterPost {
    fn partition<T: Clone, P: Push<Message<T, Letter>>>(
        &mut self,
        letter: &mut Letter,
        time: &T,
        pushers: &mut [P],
    ) {
        let to = letter.words[0] as u32 as usize;
        Message::push_at(letter, time.clone(), &mut pushers[to]);
    }

    fn flush<T: Clone, P: Push<Message<T, Letter>>>(&mut self, _: &T, pushers: &mut [P]) {
        pushers.iter_mut().for_each(Push::done);
    }
}

/// Runs timely until nobody hands over anything any more, or somebody is lost.
fn run(
    index: usize,
    processes: usize,
    allocator: Allocator,
    handed_over: Receiver<Vec<Packet>>,
    arrive: Sender<Vec<Packet>>,
    fate: &Fate,
) {
    // A worker without a clock never sleeps.
    let mut worker = Worker::new(WorkerConfig::default(), allocator, Some(Instant::now()));
    let mut input = InputHandle::<u64, NoopBuilder<Letter>>::new_with_builder();
    worker.dataflow::<u64, _, _>(|scope| {
        let mut waiting: BTreeMap<u64, Vec<(u64, Packet)>> = BTreeMap::new();
        let mut next = 0;
        input.to_stream(scope).sink(DistributorPact(|_| LetterPost), "arrive", move |(input, frontier)| {
            input.for_each(|time, letter| {
                let mut packet = std::mem::take(&mut letter.words);
                let from = packet.swap_remove(0) >> 32;
                waiting.entry(*time.time()).or_default().push((from, packet));
            });
            while !frontier.less_equal(&next) && waiting.get(&next).is_some_and(|it| it.len() == processes) {
                let mut packets = waiting.remove(&next).unwrap_or_default();
                packets.sort_by_key(|(from, _)| *from);
                // Nobody wants it any more if this fails.
                let _ = arrive.send(packets.into_iter().map(|(_, packet)| packet).collect());
                next += 1;
            }
        });
    });
    let mut round = 0;
    loop {
        match handed_over.try_recv() {
            Ok(packets) => {
                for (to, mut packet) in packets.into_iter().enumerate() {
                    // The first word goes to the end, and comes back from there.
                    let first = packet.first().copied();
                    packet.extend(first);
                    let address = (index as u64) << 32 | to as u64;
                    match packet.first_mut() {
                        Some(place) => *place = address,
                        None => packet.push(address),
                    }
                    input.send_batch(&mut Letter { words: packet });
                }
                round += 1;
                input.advance_to(round);
                worker.step();
            }
            Err(TryRecvError::Empty) => drop(worker.step_or_park(Some(NAP))),
            Err(TryRecvError::Disconnected) => break,
        }
        if fate.lost().is_some() {
            std::mem::forget((worker, input));
            return;
        }
    }
    input.close();
    while fate.lost().is_none() && worker.has_dataflows() {
        worker.step_or_park(Some(NAP));
    }
}
