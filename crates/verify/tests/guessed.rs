//! Guessed proofs. Provers make right ones, and damage makes most of them nonsense; a guess is often nearly a proof, and now and then it
//! is one. What is accepted must be one: what it excludes is not reached with any few tokens.

use std::collections::HashSet;

use shoal_certificate::{Config, OMEGA, Proof, System, Views, Weights};

use crate::random_systems::{Random, first, reached, system};

/// Small weights, mostly none where there is any number of tokens, and a bound that is mostly the weight of the heaviest beginning.
fn weights(system: &System, random: &mut Random) -> Weights {
    let small = |random: &mut Random| i64::from(random.below(6) / 2) - i64::from(random.below(24) == 0);
    let shared: Vec<i64> = (0..system.shared).map(|_| small(random)).collect();
    let mut places: Vec<i64> = (0..system.places).map(|_| small(random)).collect();
    for (place, count) in system.initial.iter().flat_map(|initial| &initial.tokens) {
        if *count == OMEGA && random.below(12) > 0 {
            places[*place as usize] = 0;
        }
    }
    let weight = |config: &Config| {
        let tokens = config.tokens.iter().filter(|token| token.1 != OMEGA);
        shared[config.shared as usize]
            + tokens.map(|(place, count)| places[*place as usize] * i64::from(*count)).sum::<i64>()
    };
    let heaviest = system.initial.iter().map(weight).max().unwrap_or(0);
    Weights { bound: heaviest - i64::from(random.below(12) == 0), shared, places }
}

/// The views of some configurations, of which now and then one is left out.
fn views(system: &System, seen: &HashSet<Config>, random: &mut Random) -> Views {
    let mut views = Views::empty(system.shared, system.places);
    let mut configs: Vec<&Config> = seen.iter().collect();
    configs.sort_by_key(|config| format!("{config:?}"));
    for config in configs {
        views.put_shared(config.shared);
        for (at, (place, count)) in config.tokens.iter().enumerate() {
            let others = config.tokens.iter().enumerate().filter(|(other, _)| *other != at || *count > 1);
            let partners: Vec<u32> =
                others.map(|(_, token)| token.0).filter(|_| random.below(40) > 0).collect();
            views.put_row(config.shared, *place, partners);
        }
    }
    views
}

fn guess(system: &System, targets: &[Config], seen: &HashSet<Config>, random: &mut Random) -> Proof {
    let bad = match random.below(3) {
        0 => Vec::new(),
        1 => targets.to_vec(),
        _ => targets
            .iter()
            .map(|target| Config::new(random.below(system.shared), target.tokens.clone()))
            .collect(),
    };
    let views = (random.below(2) == 0).then(|| views(system, seen, random));
    let weights = (0..random.below(3)).map(|_| weights(system, random)).collect();
    Proof::Excluding { bad, views, weights }
}

/// Kinds of what was accepted.
#[derive(Debug, Default)]
struct Accepted {
    by_weights: u32,
    by_views: u32,
    by_bad: u32,
}

impl Accepted {
    fn count(&mut self, proof: &Proof) {
        let Proof::Excluding { bad, views, weights } = proof else { return };
        let kinds = (bad.is_empty(), views.is_some(), weights.is_empty());
        self.by_weights += u32::from(matches!(kinds, (true, false, false)));
        self.by_views += u32::from(matches!(kinds, (true, true, true)));
        self.by_bad += u32::from(matches!(kinds, (false, false, true)));
    }
}

#[test]
fn a_guess_that_is_accepted_is_a_proof() {
    let count = std::env::var("SHOAL_RANDOM_SYSTEMS").ok().and_then(|text| text.parse().ok()).unwrap_or(800);
    let mut accepted = Accepted::default();
    for seed in (1..=count).map(|seed: u64| first() + seed) {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (system, targets) = system(&mut random);
        if system.places > 8 {
            continue;
        }
        let seen: Vec<HashSet<Config>> = (0..4).map(|tokens| reached(&system, tokens)).collect();
        let is_reached =
            seen.iter().flatten().any(|config| targets.iter().any(|target| target.is_below(config)));
        for _ in 0..20 {
            let views_of = &seen[2 + random.below(2) as usize];
            let proof = guess(&system, &targets, views_of, &mut random);
            if shoal_verify::check(&system, &targets, &proof) == Ok(()) {
                assert!(
                    !is_reached,
                    "seed {seed}: {targets:?} is reached in {system:?}, in spite of {proof:?}"
                );
                accepted.count(&proof);
            }
        }
    }
    let Accepted { by_weights, by_views, by_bad } = accepted;
    let least = (count / 100) as u32;
    assert!(by_weights.min(by_views).min(by_bad) > least, "dull: {accepted:?} of {count}");
    println!("{accepted:?}");
}
