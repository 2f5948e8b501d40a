//! What there is between processes: how long a round takes, and how many bytes a second go from each to the next.

use std::time::Instant;

use shoal_explicit::{Exchange, LostContact, Packet};

/// Rounds of nothing, and words of the packets that measure.
const ROUNDS: u32 = 50;
const WORDS: usize = 1 << 20;

/// What was measured.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Microseconds of an empty round, as the slowest process saw it.
    pub round: u64,
    /// For each process, the least number of bytes a second that it sent to another while all sent.
    pub rates: Vec<u64>,
    /// For each process, what it says of itself.
    pub said: Vec<[u64; 2]>,
}

/// Measures together with all others. Two numbers of this process are told to all.
pub fn probe(exchange: &mut dyn Exchange, say: [u64; 2]) -> Result<Probe, LostContact> {
    let (index, processes) = (exchange.index(), exchange.processes());
    let all = |exchange: &mut dyn Exchange, words: Vec<u64>| -> Result<Vec<Packet>, LostContact> {
        exchange.send(vec![words; processes])?;
        exchange.receive()
    };
    // The first round waits for those that come last.
    all(exchange, Vec::new())?;
    let began = Instant::now();
    for _ in 0..ROUNDS {
        all(exchange, Vec::new())?;
    }
    let round = (began.elapsed() / ROUNDS).as_micros() as u64;
    let mut rate = u64::MAX;
    for distance in 1..processes {
        let mut packets = vec![Vec::new(); processes];
        packets[(index + distance) % processes] = vec![1; WORDS];
        let began = Instant::now();
        exchange.send(packets)?;
        exchange.receive()?;
        rate = rate.min((8.0 * WORDS as f64 / began.elapsed().as_secs_f64()) as u64);
    }
    let told = all(exchange, vec![round, rate, say[0], say[1]])?;
    let numbers =
        |at: usize| told.iter().map(|words| words.get(at).copied().unwrap_or(0)).collect::<Vec<u64>>();
    let said = numbers(2).into_iter().zip(numbers(3)).map(|(one, two)| [one, two]).collect();
    Ok(Probe { round: numbers(0).into_iter().max().unwrap_or(0), rates: numbers(1), said })
}
