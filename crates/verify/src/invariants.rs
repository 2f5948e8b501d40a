//! What no reachable configuration violates: views and weights, checked before they are used.

use shoal_certificate::{Config, OMEGA, PlaceTokens, System, Transition, Views, Weights};

use crate::ProofRejected;

/// Invariants that have been checked.
pub(crate) struct Invariants<'a> {
    views: Option<&'a Views>,
    weights: &'a [Weights],
}

impl<'a> Invariants<'a> {
    pub(crate) fn checked(
        system: &System,
        views: Option<&'a Views>,
        weights: &'a [Weights],
    ) -> Result<Invariants<'a>, ProofRejected> {
        for weights in weights {
            check_weights(system, weights)?;
        }
        if let Some(views) = views {
            check_views(system, views)?;
        }
        Ok(Invariants { views, weights })
    }

    /// Whether nothing above a configuration can be reached.
    pub(crate) fn exclude(&self, config: &Config) -> bool {
        self.views.is_some_and(|views| !admits(views, config.shared, &config.tokens))
            || self.weights.iter().any(|weights| {
                weight(weights, config).is_some_and(|weight| weight > i128::from(weights.bound))
            })
    }
}

/// The weight of a configuration; nothing if it is without bound.
fn weight(weights: &Weights, config: &Config) -> Option<i128> {
    let mut sum = i128::from(weights.shared[config.shared as usize]);
    for (place, count) in &config.tokens {
        match (weights.places[*place as usize], *count) {
            (0, _) => {}
            (_, OMEGA) => return None,
            (by, count) => sum += i128::from(by) * i128::from(count),
        }
    }
    Some(sum)
}

fn check_weights(system: &System, weights: &Weights) -> Result<(), ProofRejected> {
    if weights.shared.len() != system.shared as usize || weights.places.len() != system.places as usize {
        return Err(ProofRejected::Misfit);
    }
    let negative = weights.shared.iter().chain(&weights.places).any(|weight| *weight < 0);
    let light =
        |config: &Config| weight(weights, config).is_some_and(|weight| weight <= i128::from(weights.bound));
    let of = |place: u32| i128::from(weights.places[place as usize]);
    let arcs = |arcs: &[PlaceTokens]| -> i128 {
        arcs.iter().map(|(place, count)| of(*place) * i128::from(*count)).sum()
    };
    let raises = |transition: &Transition| {
        let before = i128::from(weights.shared[transition.from as usize]) + arcs(&transition.take);
        let after = i128::from(weights.shared[transition.to as usize]) + arcs(&transition.give);
        let moves = &transition.transfers;
        after > before
            || moves
                .iter()
                .any(|transfer| transfer.targets.iter().any(|target| of(*target) > of(transfer.place)))
    };
    if negative || !system.initial.iter().all(light) || system.transitions.iter().any(raises) {
        return Err(ProofRejected::Weights);
    }
    Ok(())
}

/// Whether all tokens may be there at the same time, as far as pairs tell.
fn admits(views: &Views, shared: u32, tokens: &[PlaceTokens]) -> bool {
    views.occurs(shared)
        && tokens.iter().enumerate().all(|(at, (place, count))| {
            has(views.single(shared), *place)
                && (*count < 2 || has(views.row(shared, *place), *place))
                && tokens[at + 1..].iter().all(|(other, _)| has(views.row(shared, *place), *other))
        })
}

fn has(bits: &[u64], at: u32) -> bool {
    bits[at as usize / 64] >> (at % 64) & 1 == 1
}

fn contains(all: &[u64], some: &[u64]) -> bool {
    some.iter().zip(all).all(|(some, all)| some & !all == 0)
}

fn ones(bits: &[u64]) -> impl Iterator<Item = u32> + '_ {
    (0..bits.len() as u32 * 64).filter(move |at| has(bits, *at))
}

/// Checks that views have everything initial, are symmetric, and have everything that a transition makes of what they have.
fn check_views(system: &System, views: &Views) -> Result<(), ProofRejected> {
    if !views.fits(system.shared, system.places) {
        return Err(ProofRejected::Misfit);
    }
    if !system.initial.iter().all(|initial| admits(views, initial.shared, &initial.tokens)) {
        return Err(ProofRejected::Views { transition: None });
    }
    for shared in (0..system.shared).filter(|shared| views.occurs(*shared)) {
        let single = views.single(shared);
        for place in ones(single) {
            let row = views.row(shared, place);
            if !contains(single, row) || ones(row).any(|other| !has(views.row(shared, other), place)) {
                return Err(ProofRejected::Views { transition: None });
            }
        }
    }
    let mut last: Option<&Transition> = None;
    for (id, transition) in system.transitions.iter().enumerate() {
        // Transitions that differ only in what they give leave the others alone in the same way.
        let same = last.is_some_and(|last| {
            (last.from, last.to, &last.take) == (transition.from, transition.to, &transition.take)
                && last.transfers.is_empty()
                && transition.transfers.is_empty()
        });
        if admits(views, transition.from, &transition.take) && !closed(views, transition, same) {
            return Err(ProofRejected::Views { transition: Some(id) });
        }
        last = Some(transition);
    }
    Ok(())
}

/// Whether views have what a transition that may fire makes of them. `same`: what happens to two others is known to be there.
fn closed(views: &Views, transition: &Transition, same: bool) -> bool {
    let (from, to) = (transition.from, transition.to);
    let mut others = views.single(from).to_vec();
    for (place, _) in &transition.take {
        let row = views.row(from, *place);
        others.iter_mut().zip(row).for_each(|(word, row)| *word &= row);
    }
    if !admits(views, to, &transition.give) {
        return false;
    }
    if transition.transfers.is_empty() {
        let single = views.single(to);
        let beside = transition.give.iter().all(|(place, _)| contains(views.row(to, *place), &others));
        return contains(single, &others)
            && beside
            && (same || from == to || pairs_stay(views, from, to, &others));
    }
    let moved = |place: u32| match transition.transfers.iter().find(|transfer| transfer.place == place) {
        Some(transfer) => transfer.targets.to_vec(),
        None => vec![place],
    };
    ones(&others).all(|one| {
        moved(one).into_iter().all(|target| {
            let row = views.row(to, target);
            let beside = transition.give.iter().all(|(place, _)| has(row, *place));
            let partners = ones(views.row(from, one)).filter(|other| has(&others, *other));
            has(views.single(to), target)
                && beside
                && partners.into_iter().all(|other| moved(other).into_iter().all(|other| has(row, other)))
        })
    })
}

/// Whether two others that were together before are together after.
fn pairs_stay(views: &Views, from: u32, to: u32, others: &[u64]) -> bool {
    ones(others).all(|one| {
        let (before, after) = (views.row(from, one), views.row(to, one));
        before.iter().zip(others).zip(after).all(|((before, others), after)| before & others & !after == 0)
    })
}
