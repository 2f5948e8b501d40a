//! Concrete runs: what shows that a target can be reached.

use shoal_certificate::{Config, System};

use crate::meter::MeterStop;

/// A run from concrete tokens to a configuration that covers a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoveringRun {
    /// Which of the system's initial configurations it begins below.
    pub initial: usize,
    /// Where it begins: no omegas.
    pub start: Config,
    /// The transitions, and where each leads to.
    pub steps: Vec<(u32, Config)>,
}

/// Runs longer than this are not written out.
pub(crate) const LONGEST: usize = 1_000_000;

/// Runs from a requirement that holds in the beginning. `node` tells of each requirement what it is, and the one that it
/// leads to and how.
pub(crate) fn backwards<'n>(
    system: &System,
    found: u32,
    node: impl Fn(u32) -> (&'n Config, Option<(u32, u32)>),
) -> Result<CoveringRun, MeterStop> {
    let (first, mut next) = node(found);
    let (mut steps, mut needed) = (Vec::new(), vec![first.clone()]);
    while let Some((id, transition)) = next {
        let (config, after) = node(id);
        steps.push(transition);
        needed.push(config.clone());
        next = after;
    }
    execute(system, &steps, &needed)
}

/// Runs transitions from a requirement at the beginning. `needed` has what must be there before each transition and, last,
/// the target; where a transfer leaves a choice, the configuration that covers what comes next is taken.
pub(crate) fn execute(system: &System, steps: &[u32], needed: &[Config]) -> Result<CoveringRun, MeterStop> {
    let Some((initial, start)) = system.beginning(&needed[0]) else { return Err(MeterStop::Overflow) };
    let mut run = CoveringRun { initial, start: start.clone(), steps: Vec::with_capacity(steps.len()) };
    let mut now = start;
    for (id, next) in steps.iter().zip(&needed[1..]) {
        let transition = &system.transitions[*id as usize];
        if !transition.enabled(&now) {
            return Err(MeterStop::Overflow);
        }
        let found = transition.successors(&now)?.into_iter().find(|after| next.is_below(after));
        now = found.ok_or(MeterStop::Overflow)?;
        run.steps.push((*id, now.clone()));
    }
    Ok(run)
}
