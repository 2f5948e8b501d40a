//! Random small systems: every prover, and exhaustive exploration with growing numbers of tokens, must agree, and every
//! proof must be accepted.
//!
//! `SHOAL_RANDOM_SYSTEMS=100000 cargo test --release -p shoal-verify` looks longer.

use std::collections::{HashSet, VecDeque};

use shoal_certificate::{Config, OMEGA, Proof, System, Transfer, Transition};
use shoal_cover::{CoveringRun, Meter, MeterStop, ProverChoice, TargetAnswer, covering_set, decide};
use shoal_model::{Limits, Quiet, Watch};

/// Others for every `PROPTEST_RNG_SEED` but the gate's.
fn salt() -> u64 {
    let seed = std::env::var("PROPTEST_RNG_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    seed.map_or(0, |seed| seed.wrapping_sub(1) << 24)
}

/// Numbers that look random.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(limit)) as u32
    }
}

pub(crate) fn system(random: &mut Random) -> (System, Vec<Config>) {
    let (shared, some) = (1 + random.below(4), 2 + random.below(4));
    // Views of systems with many places are found in another way.
    let spread = if random.below(4) == 0 { 128 } else { 1 };
    let places = some * spread;
    let place = |random: &mut Random| random.below(some) * spread;
    let mut transitions = Vec::new();
    for _ in 0..2 + random.below(8) {
        let kind = random.below(8);
        let one = (place(random), 1);
        let other = (place(random), 1 + random.below(2));
        let (take, give) = match kind {
            0 => (vec![one], vec![one, (place(random), 1)]),
            1 => (vec![one, other], vec![(place(random), 1)]),
            2 => (vec![one, other], vec![(place(random), 1), (place(random), 1)]),
            _ => (vec![one], vec![(place(random), 1)]),
        };
        let mut transfers = Vec::new();
        if kind == 3 && random.below(2) == 0 {
            let mut targets: Vec<u32> = (0..random.below(3)).map(|_| place(random)).collect();
            targets.sort_unstable();
            targets.dedup();
            transfers.push(Transfer { place: place(random), targets: targets.into_iter().collect() });
        }
        transitions.push(Transition {
            from: random.below(shared),
            to: random.below(shared),
            take: System::arcs(take),
            give: System::arcs(give),
            transfers,
        });
    }
    let (mut initial, mut least) = (Vec::new(), Vec::new());
    for _ in 0..1 + random.below(4) / 3 {
        let (mut most, mut fewest) = (Config::new(random.below(2) % shared, []), Config::new(0, []));
        fewest.shared = most.shared;
        for at in 0..1 + random.below(2) {
            let place = at * spread;
            let fixed = random.below(3);
            fewest.set(place, fixed);
            most.set(place, if random.below(3) == 0 { fixed } else { OMEGA });
        }
        initial.push(most);
        least.push(fewest);
    }
    let tokens = (0..random.below(3)).map(|_| (place(random), 1)).collect::<Vec<_>>();
    let target = Config::new(random.below(shared), tokens);
    (System { shared, places, transitions, initial, least }, vec![target])
}

/// Whether a target can be covered with so many tokens in place of omega; nothing if there is too much to look at.
fn explore(system: &System, targets: &[Config], tokens: u32) -> Option<bool> {
    let (seen, all) = search(system, tokens);
    let found = seen.iter().any(|config| targets.iter().any(|target| target.is_below(config)));
    (all || found).then_some(found)
}

/// What is reached with so many tokens in place of omega, or a part of it.
pub(crate) fn reached(system: &System, tokens: u32) -> HashSet<Config> {
    search(system, tokens).0
}

/// What is reached, and whether that is all.
fn search(system: &System, tokens: u32) -> (HashSet<Config>, bool) {
    let start = |initial: &Config| {
        let count = |count: u32| if count == OMEGA { tokens } else { count };
        Config::new(initial.shared, initial.tokens.iter().map(|token| (token.0, count(token.1))))
    };
    search_from(system, system.initial.iter().map(start).collect())
}

fn search_from(system: &System, mut seen: HashSet<Config>) -> (HashSet<Config>, bool) {
    let mut open: VecDeque<Config> = seen.iter().cloned().collect();
    while let Some(config) = open.pop_front() {
        if seen.len() > 3_000 || config.size() > 30 {
            return (seen, false);
        }
        for transition in system.transitions.iter().filter(|transition| transition.enabled(&config)) {
            for next in transition.successors(&config).unwrap() {
                if seen.insert(next.clone()) {
                    open.push_back(next);
                }
            }
        }
    }
    (seen, true)
}

/// All beginnings with fewer tokens than this.
fn smaller_beginnings(system: &System, tokens: u64) -> HashSet<Config> {
    let mut all = HashSet::new();
    for (most, least) in system.initial.iter().zip(&system.least) {
        let mut some = vec![least.clone()];
        while let Some(config) = some.pop().filter(|config| config.size() < tokens) {
            for (place, most) in &most.tokens {
                let mut more = config.clone();
                more.set(*place, config.count(*place) + 1);
                if more.count(*place) <= *most && !all.contains(&more) {
                    some.push(more);
                }
            }
            all.insert(config);
        }
    }
    all.retain(|config| config.size() < tokens);
    all
}

/// That no run needs fewer tokens must be true.
fn check_fewest(system: &System, targets: &[Config], run: &CoveringRun) {
    let (seen, all) = search_from(system, smaller_beginnings(system, run.start.size()));
    let found = seen.iter().any(|config| targets.iter().any(|target| target.is_below(config)));
    assert!(!found, "fewer than {:?} are enough for {targets:?} in {system:?}", run.start);
    let begins = system.least[run.initial].is_below(&run.start);
    assert!(begins && (all || seen.len() > 3_000 || run.start.size() > 20));
}

/// Runs a run again, step by step.
fn replay(system: &System, targets: &[Config], run: &CoveringRun) {
    let initial = &system.initial[run.initial];
    assert!(run.start.is_below(initial));
    let mut now = run.start.clone();
    for (id, after) in &run.steps {
        let transition = &system.transitions[*id as usize];
        assert!(transition.enabled(&now));
        assert!(transition.successors(&now).unwrap().contains(after));
        now = after.clone();
    }
    assert!(targets.iter().any(|target| target.is_below(&now)));
}

fn answer(system: &System, targets: &[Config], choice: ProverChoice) -> Option<TargetAnswer> {
    let watch = Watch::start(Limits { states: Some(2_000), ..Limits::default() });
    let mut quiet = Quiet;
    let mut meter = Meter::new(&watch, &mut quiet);
    match decide(system, targets, choice, &mut meter) {
        Ok((answer, _)) => Some(answer),
        // Forward search need not end where there are transfers, and small limits are reached.
        Err(MeterStop::Limit(_) | MeterStop::Overflow) => None,
    }
}

fn check(seed: u64) -> (bool, bool) {
    let (system, targets) = system(&mut Random((seed ^ salt()).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    let none = ProverChoice::NONE;
    let choices = [
        ProverChoice::ALL,
        ProverChoice { forward: true, ..none },
        ProverChoice { backward: true, ..none },
        ProverChoice { backward: true, views: true, ..none },
        ProverChoice { backward: true, linear: true, ..none },
        ProverChoice { directed: true, ..none },
        ProverChoice { directed: true, views: true, linear: true, ..none },
    ];
    let mut verdict: Option<bool> = None;
    for choice in choices {
        let Some(answer) = answer(&system, &targets, choice) else { continue };
        let reachable = match &answer {
            TargetAnswer::Reachable(run, fewest) => {
                replay(&system, &targets, run);
                if *fewest {
                    check_fewest(&system, &targets, run);
                }
                true
            }
            TargetAnswer::Unreachable(proof) => {
                let accepted = shoal_verify::check(&system, &targets, proof);
                assert_eq!(accepted, Ok(()), "seed {seed}, {choice:?}: {system:?} {targets:?} {proof:?}");
                false
            }
        };
        let same = verdict.is_none_or(|known| known == reachable);
        assert!(same, "seed {seed}: {choice:?} disagrees on {system:?} {targets:?}");
        verdict = Some(reachable);
    }
    let mut decided = false;
    for tokens in 0..5 {
        match explore(&system, &targets, tokens) {
            Some(true) => {
                assert_ne!(
                    verdict,
                    Some(false),
                    "seed {seed}: reachable with {tokens} tokens in {system:?} {targets:?}"
                );
                decided = true;
                break;
            }
            Some(false) => decided = true,
            None => break,
        }
    }
    (verdict == Some(true), decided && verdict.is_some())
}

/// Where seeds begin, for hunts that want others.
pub(crate) fn first() -> u64 {
    std::env::var("SHOAL_RANDOM_FIRST").ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

#[test]
fn provers_and_exploration_agree() {
    let count =
        std::env::var("SHOAL_RANDOM_SYSTEMS").ok().and_then(|text| text.parse().ok()).unwrap_or(2_000);
    let (mut reachable, mut decided) = (0, 0);
    for seed in (1..=count).map(|seed| first() + seed) {
        let (was_reachable, was_decided) = check(seed);
        reachable += u64::from(was_reachable);
        decided += u64::from(was_decided);
    }
    assert!(decided > count / 2, "dull: only {decided} of {count} decided");
    assert!(reachable > count / 10 && reachable < count * 9 / 10, "dull: {reachable} of {count} reachable");
}

#[test]
fn wrong_proofs_are_rejected() {
    let mut rejected = 0;
    for seed in 1..=400u64 {
        let (system, targets) = system(&mut Random((seed ^ salt()).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        // Where a target can be covered, no proof may be accepted; here are some that are nearly one.
        let Some(TargetAnswer::Reachable(run, _)) = answer(&system, &targets, ProverChoice::ALL) else {
            continue;
        };
        let mut wrong = vec![
            Proof::Covering(system.initial.clone()),
            Proof::Covering(Vec::new()),
            Proof::Excluding { bad: targets.clone(), views: None, weights: Vec::new() },
            Proof::Excluding { bad: Vec::new(), views: None, weights: Vec::new() },
        ];
        let passed: Vec<Config> =
            std::iter::once(run.start.clone()).chain(run.steps.iter().map(|step| step.1.clone())).collect();
        wrong.push(Proof::Covering(passed[..passed.len() - 1].to_vec()));
        for proof in wrong {
            assert!(shoal_verify::check(&system, &targets, &proof).is_err(), "seed {seed}: {proof:?}");
            rejected += 1;
        }
    }
    assert!(rejected > 100);
}

/// A text with one thing wrong.
pub(crate) fn damaged(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    if lines.is_empty() {
        return String::new();
    }
    let at = random.below(lines.len() as u32) as usize;
    let other = random.below(lines.len() as u32) as usize;
    match random.below(6) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(other, lines[at].clone()),
        2 => lines.swap(at, other),
        3 => lines.truncate(at),
        _ => {
            // Another digit, or any other character.
            let mut bytes = lines[at].clone().into_bytes();
            let digits: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at].is_ascii_digit()).collect();
            match digits.get(random.below(digits.len().max(1) as u32) as usize) {
                Some(digit) => bytes[*digit] = b'0' + random.below(10) as u8,
                None if bytes.is_empty() => {}
                None => {
                    let place = random.below(bytes.len() as u32) as usize;
                    bytes[place] = b' ' + random.below(90) as u8;
                }
            }
            lines[at] = String::from_utf8(bytes).unwrap();
        }
    }
    // The end says how many lines there are; whoever damages on purpose knows that.
    let count = lines.len().saturating_sub(1);
    match lines.last_mut().filter(|last| last.contains("end")) {
        Some(last) if random.below(3) > 0 => *last = format!("{{\"end\":{count}}}"),
        _ => {}
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// What is wrong with a certificate changes no verdict: where a target can be covered, none is accepted, though it is nearly
/// one of a system with a transition less.
#[test]
fn damaged_certificates_change_no_verdict() {
    let count: u64 =
        std::env::var("SHOAL_RANDOM_SYSTEMS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000);
    let mut random = Random(7 + first());
    let (mut tried, mut readable) = (0, 0);
    for seed in first() + 1.. {
        if tried >= count {
            break;
        }
        let (whole, targets) = system(&mut Random(seed.wrapping_mul(0x9e37_79b9)));
        let Some(TargetAnswer::Reachable(..)) = answer(&whole, &targets, ProverChoice::ALL) else { continue };
        for left_out in 0..whole.transitions.len() {
            let mut less = whole.clone();
            less.transitions.remove(left_out);
            let Some(TargetAnswer::Unreachable(proof)) = answer(&less, &targets, ProverChoice::ALL) else {
                continue;
            };
            let origin = shoal_report::Origin { file: "a.tts".into(), set: Vec::new(), options: Vec::new() };
            let name = |_: bool, at: u32| format!("number {at}");
            let (property, system) = ("holds", if random.below(2) == 0 { &whole } else { &less });
            let certificate = shoal_report::Certificate {
                origin: &origin,
                property,
                system,
                targets: &targets,
                proof: &proof,
                name: &name,
            };
            let mut written = Vec::new();
            shoal_report::write_certificate(&mut written, &certificate).unwrap();
            let read = shoal_report::read_certificate(&mut &written[..]).unwrap();
            assert_eq!((&read.targets, &read.proof), (&targets, &proof));
            assert_eq!(
                (read.system.transitions, read.system.initial, read.system.least),
                (system.transitions.clone(), system.initial.clone(), system.least.clone())
            );
            for _ in 0..20 {
                tried += 1;
                let mut text = damaged(std::str::from_utf8(&written).unwrap(), &mut random);
                if random.below(3) == 0 {
                    text = damaged(&text, &mut random);
                }
                let Ok(saved) = shoal_report::read_certificate(&mut text.as_bytes()) else { continue };
                readable += 1;
                let accepted = shoal_verify::check(&saved.system, &saved.targets, &saved.proof);
                let same = saved.system.transitions == whole.transitions
                    && saved.system.initial == whole.initial
                    && (saved.system.shared, saved.system.places) == (whole.shared, whole.places)
                    && saved.targets == targets;
                assert!(!same || accepted.is_err(), "seed {seed}, accepted: {text}");
            }
        }
    }
    assert!(readable > tried / 5, "dull: only {readable} of {tried} could be read");
}

/// The greatest elements of what can be covered: everything that is reached lies below them, nothing that lies below them
/// cannot be covered, and none lies below another.
#[test]
fn covering_sets_are_exact() {
    let (mut complete, mut elements) = (0, 0);
    for seed in 1..=500u64 {
        let (system, _) = system(&mut Random((seed ^ salt()).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let watch = Watch::start(Limits { states: Some(2_000), ..Limits::default() });
        let mut quiet = Quiet;
        let Ok(set) = covering_set(&system, &mut Meter::new(&watch, &mut quiet)) else { continue };
        complete += 1;
        for (at, element) in set.iter().enumerate() {
            let others = set.iter().enumerate().filter(|(other, _)| *other != at);
            assert!(others.into_iter().all(|(_, other)| !element.is_below(other)), "seed {seed}: {set:?}");
            // As many as anybody wants: three.
            let some = element
                .tokens
                .iter()
                .map(|(place, count)| (*place, if *count == OMEGA { 3 } else { *count }));
            let target = vec![Config::new(element.shared, some)];
            let backward = ProverChoice { backward: true, ..ProverChoice::NONE };
            match answer(&system, &target, backward) {
                Some(TargetAnswer::Unreachable(_)) => {
                    panic!("seed {seed}: {element:?} cannot be covered in {system:?}")
                }
                Some(TargetAnswer::Reachable(..)) => elements += 1,
                None => {}
            }
        }
        for tokens in 0..4 {
            for config in reached(&system, tokens) {
                let below = set.iter().any(|element| config.is_below(element));
                assert!(below, "seed {seed}: {config:?} is reached in {system:?} but not in {set:?}");
            }
        }
    }
    assert!(complete > 200 && elements > 300, "dull: {complete} sets, {elements} elements");
}
