//! Checks proofs: that targets of a counter system cannot be covered, that views hold all that any number of elements can
//! look like, that states are all that an instance can reach.
//!
//! From `shoal-certificate` only the plain data is used: systems, configurations, proofs. What a transition does, what lies below
//! what, and what an invariant is, is written here a second time, in the plainest way.

mod invariants;
mod states;
mod steps;
mod windows;

use std::fmt;

use shoal_certificate::{Config, Proof, System, Transition};

use invariants::Invariants;
pub use states::{check_states, count_orbits};
use steps::{below, by_shared, predecessors, successors};
pub use windows::{Doubt, Looked, check_windows, missing_window};

/// Why a proof is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProofRejected {
    /// The proof speaks of shared states or places that the system does not have.
    Misfit,
    /// Something initial is not below the covering elements.
    InitialOutside,
    /// A step leads out of what the proof says is everything.
    NotClosed {
        /// The transition.
        transition: usize,
    },
    /// A target is not excluded.
    TargetInside,
    /// Something initial is bad.
    InitialBad,
    /// Views that are not closed under a transition.
    Views {
        /// The transition; none if something initial is outside.
        transition: Option<usize>,
    },
    /// Weights that a transition raises, that are negative, or that something initial exceeds.
    Weights,
    /// A number leaves its range.
    Overflow,
    /// Nobody wants to wait any longer: nothing is wrong so far.
    Stopped,
}

impl fmt::Display for ProofRejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProofRejected::Misfit => f.write_str("the certificate is of another system"),
            ProofRejected::InitialOutside => f.write_str("an initial configuration is not covered"),
            ProofRejected::NotClosed { transition } => {
                write!(f, "transition {transition} leads out of the certificate")
            }
            ProofRejected::TargetInside => f.write_str("a target is not excluded"),
            ProofRejected::InitialBad => f.write_str("an initial configuration is bad"),
            ProofRejected::Views { transition: None } => {
                f.write_str("the views leave out an initial configuration")
            }
            ProofRejected::Views { transition: Some(transition) } => {
                write!(f, "the views are not closed under transition {transition}")
            }
            ProofRejected::Weights => f.write_str("weights are no invariant"),
            ProofRejected::Overflow => f.write_str("a number leaves its range"),
            ProofRejected::Stopped => f.write_str("there was too little time to check it"),
        }
    }
}

impl std::error::Error for ProofRejected {}

/// What a system may do next, as the checker understands it.
pub struct SystemSteps<'s>(Vec<Vec<&'s Transition>>);

impl<'s> SystemSteps<'s> {
    /// The steps of a system.
    pub fn of(system: &'s System) -> SystemSteps<'s> {
        let mut from = vec![Vec::new(); system.shared as usize];
        for transition in &system.transitions {
            from[transition.from as usize].push(transition);
        }
        SystemSteps(from)
    }

    /// Everything that a configuration leads to.
    pub fn after(&self, config: &Config) -> Result<Vec<Config>, ProofRejected> {
        let mut all = Vec::new();
        for transition in &self.0[config.shared as usize] {
            all.extend(successors(transition, config)?);
        }
        Ok(all)
    }
}

/// Accepts a proof that none of the targets can be covered, or says why not.
pub fn check(system: &System, targets: &[Config], proof: &Proof) -> Result<(), ProofRejected> {
    check_while(system, targets, proof, &|| true)
}

/// The same, as long as somebody wants to wait for it.
pub fn check_while(
    system: &System,
    targets: &[Config],
    proof: &Proof,
    go_on: &dyn Fn() -> bool,
) -> Result<(), ProofRejected> {
    targets.iter().try_for_each(|target| fits(system, target))?;
    match proof {
        Proof::Covering(elements) => covering(system, targets, elements, go_on),
        Proof::Excluding { bad, views, weights } => {
            let invariants = Invariants::checked(system, views.as_ref(), weights)?;
            excluding(system, targets, bad, &invariants, go_on)
        }
    }
}

fn fits(system: &System, config: &Config) -> Result<(), ProofRejected> {
    let known = config.shared < system.shared && config.tokens.iter().all(|token| token.0 < system.places);
    if known { Ok(()) } else { Err(ProofRejected::Misfit) }
}

fn covering(
    system: &System,
    targets: &[Config],
    elements: &[Config],
    go_on: &dyn Fn() -> bool,
) -> Result<(), ProofRejected> {
    elements.iter().try_for_each(|element| fits(system, element))?;
    let here = by_shared(system, elements);
    let covered = |config: &Config| here[config.shared as usize].iter().any(|element| below(config, element));
    if !system.initial.iter().all(covered) {
        return Err(ProofRejected::InitialOutside);
    }
    if targets.iter().any(covered) {
        return Err(ProofRejected::TargetInside);
    }
    for (id, transition) in system.transitions.iter().enumerate() {
        for element in &here[transition.from as usize] {
            if !go_on() {
                return Err(ProofRejected::Stopped);
            }
            for next in successors(transition, element)? {
                if !covered(&next) {
                    return Err(ProofRejected::NotClosed { transition: id });
                }
            }
        }
    }
    Ok(())
}

fn excluding(
    system: &System,
    targets: &[Config],
    bad: &[Config],
    invariants: &Invariants<'_>,
    go_on: &dyn Fn() -> bool,
) -> Result<(), ProofRejected> {
    bad.iter().try_for_each(|element| fits(system, element))?;
    let here = by_shared(system, bad);
    let is_bad = |config: &Config| here[config.shared as usize].iter().any(|element| below(element, config));
    if system.initial.iter().any(is_bad) {
        return Err(ProofRejected::InitialBad);
    }
    if !targets.iter().all(|target| is_bad(target) || invariants.exclude(target)) {
        return Err(ProofRejected::TargetInside);
    }
    for (id, transition) in system.transitions.iter().enumerate() {
        for element in &here[transition.to as usize] {
            if !go_on() {
                return Err(ProofRejected::Stopped);
            }
            for before in predecessors(transition, element)? {
                if !is_bad(&before) && !invariants.exclude(&before) {
                    return Err(ProofRejected::NotClosed { transition: id });
                }
            }
        }
    }
    Ok(())
}
