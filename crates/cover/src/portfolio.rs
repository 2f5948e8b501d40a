//! Several provers, one after another and in turns; each uses what those before have learnt.
//!
//! Turns are counted in elements, not in time, so that the same question always gets the same answer.

use shoal_certificate::{Config, Proof, System, Views};

use crate::{
    backward::{Backed, Backward, ReachableBound},
    directed::{Directed, Directing},
    forward::{ForwardSearch, Forwarded},
    index::TransitionIndex,
    linear::Inequations,
    meter::{Meter, MeterStop},
    run::CoveringRun,
    views,
};

/// Which prover found the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Prover {
    /// Pairs of tokens.
    Views,
    /// Weights.
    Linear,
    /// Forward with omegas.
    Forward,
    /// Backward from the target.
    Backward,
    /// Frames that keep the target out.
    Directed,
}

impl Prover {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Prover::Views => "views of two threads",
            Prover::Linear => "state inequation",
            Prover::Forward => "forward search",
            Prover::Backward => "backward search",
            Prover::Directed => "property-directed search",
        }
    }
}

/// What is found out about targets.
#[derive(Clone, Debug)]
pub enum TargetAnswer {
    /// None can be covered.
    Unreachable(Proof),
    /// One can; whether no run needs fewer tokens in the beginning is known.
    Reachable(CoveringRun, bool),
}

/// Views of more bytes than this are not computed.
const LARGEST_VIEWS: u64 = 1 << 30;

/// Which provers may be used: all, but for tests.
#[derive(Clone, Copy, Debug)]
pub struct ProverChoice {
    /// Pairs of tokens, to prove and to prune.
    pub views: bool,
    /// Weights, to prove and to prune.
    pub linear: bool,
    /// Forward with omegas.
    pub forward: bool,
    /// Backward from the target.
    pub backward: bool,
    /// Frames that keep the target out.
    pub directed: bool,
}

impl ProverChoice {
    /// All provers.
    pub const ALL: ProverChoice =
        ProverChoice { views: true, linear: true, forward: true, backward: true, directed: true };
    /// No prover.
    pub const NONE: ProverChoice =
        ProverChoice { views: false, linear: false, forward: false, backward: false, directed: false };
}

/// Decides whether any of the targets can be covered. Without targets there is nothing to decide.
pub fn decide(
    system: &System,
    targets: &[Config],
    choice: ProverChoice,
    meter: &mut Meter<'_>,
) -> Result<(TargetAnswer, Prover), MeterStop> {
    let small = views::bytes(system) <= LARGEST_VIEWS && meter.room(views::bytes(system)).is_ok();
    let views = match choice.views && small {
        true => Some(views::of(system, meter)?),
        false => None,
    };
    meter.bytes += views.as_ref().map_or(0, |_| views::bytes(system));
    let left = |views: &Views| targets.iter().filter(|target| !views.exclude(target)).cloned().collect();
    let rest: Vec<Config> = views.as_ref().map_or_else(|| targets.to_vec(), left);
    if let Some(views) = &views
        && rest.is_empty()
    {
        let proof = Proof::invariants(Some(views.clone()), Vec::new());
        return Ok((TargetAnswer::Unreachable(proof), Prover::Views));
    }
    search(system, &rest, choice, views, meter)
}

/// How many elements each search takes in its turn.
const TURN: usize = 64;

/// The property-directed search joins after so many rounds: where the others are quick, it would only take time.
const STALLED: usize = 24;

fn search(
    system: &System,
    targets: &[Config],
    choice: ProverChoice,
    views: Option<Views>,
    meter: &mut Meter<'_>,
) -> Result<(TargetAnswer, Prover), MeterStop> {
    let (leaving, entering) = (TransitionIndex::leaving(system), TransitionIndex::entering(system));
    let mut known =
        ReachableBound { views: views.as_ref(), inequations: Inequations::new(system, choice.linear) };
    let mut forward = ForwardSearch::new(system, &leaving, Some(targets));
    // Which searches still run: what is too large for one need not be for another.
    let mut running = [choice.forward, choice.backward, choice.directed];
    // A short look ahead: most mistakes are near, and linear programs take their time.
    if choice.forward {
        match forward.advance(TURN, meter) {
            Ok(Forwarded::Found(run)) => {
                let answer = fewest(system, &entering, targets, run, &mut known, meter);
                return Ok((answer, Prover::Forward));
            }
            Ok(Forwarded::More | Forwarded::Done(_)) => {}
            Err(MeterStop::Overflow) => running[0] = false,
            Err(stop) => return Err(stop),
        }
    }
    if choice.linear && known.inequations.exclude_targets(targets, meter)? {
        let weights = std::mem::take(&mut known.inequations.known);
        return Ok((TargetAnswer::Unreachable(Proof::invariants(views.clone(), weights)), Prover::Linear));
    }
    let mut backward = Backward::new(system, &entering, targets, None, &mut known, meter)?;
    let mut directed = Directed::new(system, &entering, targets);
    let excluding = |bad, known: &mut ReachableBound<'_>| Proof::Excluding {
        bad,
        views: views.clone(),
        weights: std::mem::take(&mut known.inequations.known),
    };
    for round in 0usize.. {
        meter.look()?;
        for (at, prover) in [Prover::Forward, Prover::Backward, Prover::Directed].into_iter().enumerate() {
            let alone = running.iter().filter(|runs| **runs).count() == 1;
            if !running[at] || prover == Prover::Directed && round < STALLED && !alone {
                continue;
            }
            let found = match prover {
                Prover::Forward => forward.advance(TURN, meter).map(|came| match came {
                    Forwarded::More => None,
                    Forwarded::Done(elements) => Some(Ok(Proof::Covering(elements))),
                    Forwarded::Found(run) => Some(Err(run)),
                }),
                Prover::Backward => backward.advance(TURN, &mut known, meter).map(|came| match came {
                    Backed::More => None,
                    Backed::Done(bad) => Some(Ok(excluding(bad, &mut known))),
                    Backed::Found(run) => Some(Err(run)),
                }),
                _ => directed.advance(TURN, &mut known, meter).map(|came| match came {
                    Directing::More => None,
                    Directing::Done(bad) => Some(Ok(excluding(bad, &mut known))),
                    Directing::Found(run) => Some(Err(run)),
                }),
            };
            match found {
                Ok(None) => {}
                Ok(Some(Ok(proof))) => return Ok((TargetAnswer::Unreachable(proof), prover)),
                Ok(Some(Err(run))) => {
                    let answer = fewest(system, &entering, targets, run, &mut known, meter);
                    return Ok((answer, prover));
                }
                Err(MeterStop::Overflow) => running[at] = false,
                Err(stop) => return Err(stop),
            }
        }
        if running == [false; 3] {
            break;
        }
    }
    Err(MeterStop::Overflow)
}

/// Comparisons that a search for a run with fewer threads may take: a few tenths of a second's worth. The tokens of a net are
/// not threads, and how many there are in the beginning says little.
const PATIENCE: u64 = 100_000_000;
const PATIENCE_WITH_NETS: u64 = 1_000_000;

/// Looks for a run that begins with fewer tokens, by backward searches for smaller requirements. That there is none is said
/// only where such a search has come to its end: no transition makes tokens, so a run with few has few everywhere.
fn fewest(
    system: &System,
    entering: &TransitionIndex,
    targets: &[Config],
    mut run: CoveringRun,
    known: &mut ReachableBound<'_>,
    meter: &mut Meter<'_>,
) -> TargetAnswer {
    known.inequations.rest();
    let mut patience = if system.shared == 1 { PATIENCE_WITH_NETS } else { PATIENCE };
    while let Some(bound) = run.start.size().checked_sub(1) {
        let Ok(mut backward) = Backward::new(system, entering, targets, Some(bound), known, meter) else {
            return TargetAnswer::Reachable(run, false);
        };
        let better = loop {
            match backward.advance(TURN, known, meter) {
                Ok(Backed::More) if backward.work <= patience => {}
                Ok(Backed::Found(better)) if better.start.size() <= bound => break better,
                Ok(Backed::Done(_)) => return TargetAnswer::Reachable(run, !spawns(system)),
                Ok(Backed::Found(_) | Backed::More) | Err(_) => return TargetAnswer::Reachable(run, false),
            }
        };
        patience = patience.saturating_sub(backward.work);
        run = better;
    }
    TargetAnswer::Reachable(run, true)
}

/// Whether some transition gives more tokens than it takes.
fn spawns(system: &System) -> bool {
    let sum = |arcs: &[(u32, u32)]| -> u64 { arcs.iter().map(|arc| u64::from(arc.1)).sum() };
    system.transitions.iter().any(|transition| sum(&transition.give) > sum(&transition.take))
}

/// The greatest elements of everything that can be covered: the minimal coverability set.
pub fn covering_set(system: &System, meter: &mut Meter<'_>) -> Result<Vec<Config>, MeterStop> {
    let leaving = TransitionIndex::leaving(system);
    let mut forward = ForwardSearch::new(system, &leaving, None);
    loop {
        meter.look()?;
        if let Forwarded::Done(elements) = forward.advance(TURN, meter)? {
            return Ok(elements);
        }
    }
}
