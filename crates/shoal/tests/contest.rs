//! Nets with questions as the Model Checking Contest writes them: random nets with inhibitor arcs are played here with tokens,
//! and random formulas looked up in every marking.

use std::collections::{HashSet, VecDeque};

use shoal::{CheckOptions, LoadOptions, Quiet, Sources, Verdict, check, load_sources};

use crate::random::{compared, dose, numbers::Numbers, salt};

struct Game {
    places: usize,
    initial: Vec<u32>,
    /// What is taken, what is given, and from how many tokens on it is forbidden (0: never).
    transitions: Vec<[Vec<u32>; 3]>,
}

enum Claim {
    Not(Box<Claim>),
    All(Vec<Claim>),
    Any(Vec<Claim>),
    AtMost(Vec<usize>, Result<u32, usize>),
    Fireable(Vec<usize>),
    Deadlock,
}

fn game(random: &mut Numbers) -> Game {
    let places = 2 + random.below(3);
    let mut transition = || {
        let (mut take, mut give, mut forbid) = (vec![0; places], vec![0; places], vec![0; places]);
        let taken = 1 + random.below(2);
        (0..taken).for_each(|_| take[random.below(places)] += 1);
        // No more than was there: all markings can be seen.
        (0..random.below(taken + 1)).for_each(|_| give[random.below(places)] += 1);
        if random.below(3) == 0 {
            forbid[random.below(places)] = 1 + random.below(2) as u32;
        }
        [take, give, forbid]
    };
    let transitions = (0..4).map(|_| transition()).collect();
    let initial = (0..places).map(|_| random.below(3) as u32).collect();
    Game { places, initial, transitions }
}

fn claim(random: &mut Numbers, game: &Game, depth: usize) -> Claim {
    let some = |random: &mut Numbers, of: usize| (0..1 + random.below(2)).map(|_| random.below(of)).collect();
    match random.below(if depth == 0 { 3 } else { 6 }) {
        0 => Claim::AtMost(some(random, game.places), Ok(random.below(3) as u32)),
        1 => Claim::AtMost(some(random, game.places), Err(random.below(game.places))),
        2 => Claim::Fireable(some(random, game.transitions.len())),
        3 => Claim::Not(Box::new(claim(random, game, depth - 1))),
        4 => Claim::All((0..2).map(|_| claim(random, game, depth - 1)).collect()),
        _ => Claim::Any((0..2).map(|_| claim(random, game, depth - 1)).collect()),
    }
}

impl Game {
    fn fire(&self, transition: usize, marking: &[u32]) -> Option<Vec<u32>> {
        let [take, give, forbid] = &self.transitions[transition];
        let forbidden = marking.iter().zip(forbid).any(|(tokens, limit)| *limit > 0 && tokens >= limit);
        let left: Option<Vec<u32>> =
            marking.iter().zip(take).map(|(tokens, taken)| tokens.checked_sub(*taken)).collect();
        let left = left.filter(|_| !forbidden)?;
        Some(left.iter().zip(give).map(|(tokens, given)| tokens + given).collect())
    }

    fn markings(&self) -> HashSet<Vec<u32>> {
        let mut seen = HashSet::from([self.initial.clone()]);
        let mut open = VecDeque::from([self.initial.clone()]);
        while let Some(marking) = open.pop_front() {
            for next in (0..self.transitions.len()).filter_map(|transition| self.fire(transition, &marking)) {
                if seen.insert(next.clone()) {
                    open.push_back(next);
                }
            }
        }
        seen
    }

    fn holds(&self, claim: &Claim, marking: &[u32]) -> bool {
        match claim {
            Claim::Not(of) => !self.holds(of, marking),
            Claim::All(of) => of.iter().all(|of| self.holds(of, marking)),
            Claim::Any(of) => of.iter().any(|of| self.holds(of, marking)),
            Claim::AtMost(left, right) => {
                let sum: u32 = left.iter().map(|place| marking[*place]).sum();
                sum <= right.unwrap_or_else(|place| marking[place])
            }
            Claim::Fireable(of) => of.iter().any(|transition| self.fire(*transition, marking).is_some()),
            Claim::Deadlock => (0..self.transitions.len()).all(|it| self.fire(it, marking).is_none()),
        }
    }

    fn pnml(&self) -> String {
        let mut text = String::from(
            "<pnml xmlns='http://www.pnml.org/version-2009/grammar/pnml'><net id='n' \
             type='http://www.pnml.org/version-2009/grammar/ptnet'><page id='g'>",
        );
        for (place, tokens) in self.initial.iter().enumerate() {
            text += &format!(
                "<place id='i{place}'><name><text>p{place}</text></name><initialMarking><text>{tokens}</text></initialMarking></place>"
            );
        }
        for (at, [take, give, forbid]) in self.transitions.iter().enumerate() {
            text += &format!("<transition id='t{at}'/>");
            for place in 0..self.places {
                let arc = |kind: usize, from: String, to: String, weight: u32, inner: &str| match weight {
                    0 => String::new(),
                    _ => format!(
                        "<arc id='a{at}_{place}_{kind}' source='{from}' target='{to}'{inner}<inscription><text>{weight}</text></inscription></arc>"
                    ),
                };
                let inhibits = if at % 2 == 0 { " type='inhibitor'>" } else { "><type value='inhibitor'/>" };
                text += &arc(0, format!("i{place}"), format!("t{at}"), take[place], ">");
                text += &arc(1, format!("t{at}"), format!("i{place}"), give[place], ">");
                text += &arc(2, format!("i{place}"), format!("t{at}"), forbid[place], inhibits);
            }
        }
        text + "</page></net></pnml>"
    }
}

impl Claim {
    fn xml(&self) -> String {
        let inside = |of: &[Claim]| of.iter().map(Claim::xml).collect::<String>();
        // By name in one place and by identifier in another.
        let places = |of: &[usize], by: &str| -> String {
            of.iter().map(|place| format!("<place>{by}{place}</place>")).collect()
        };
        match self {
            Claim::Not(of) => format!("<negation>{}</negation>", of.xml()),
            Claim::All(of) => format!("<conjunction>{}</conjunction>", inside(of)),
            Claim::Any(of) => format!("<disjunction>{}</disjunction>", inside(of)),
            Claim::AtMost(left, right) => {
                let right = match right {
                    Ok(number) => format!("<integer-constant>{number}</integer-constant>"),
                    Err(place) => format!("<tokens-count>{}</tokens-count>", places(&[*place], "i")),
                };
                format!("<integer-le><tokens-count>{}</tokens-count>{right}</integer-le>", places(left, "p"))
            }
            Claim::Fireable(of) => {
                let of: String = of.iter().map(|it| format!("<transition>t{it}</transition>")).collect();
                format!("<is-fireable>{of}</is-fireable>")
            }
            Claim::Deadlock => "<deadlock/>".into(),
        }
    }
}

#[test]
fn questions_of_the_contest_have_the_answers_of_the_token_game() {
    for seed in 0..u64::from(dose(40)) {
        let random = &mut Numbers::with_seed(seed + salt());
        let game = game(random);
        let mut claims: Vec<Claim> = (0..6).map(|_| claim(random, &game, 2)).collect();
        claims.push(Claim::Deadlock);
        claims.push(Claim::Not(Box::new(Claim::Deadlock)));
        claims.push(Claim::All(vec![Claim::Deadlock, claim(random, &game, 1)]));
        claims.push(Claim::Any(vec![Claim::Not(Box::new(Claim::Deadlock)), claim(random, &game, 1)]));
        let markings = game.markings();
        let (mut text, mut expected) =
            (String::from("<property-set xmlns='http://mcc.lip6.fr/'>"), Vec::new());
        for (at, claim) in claims.iter().enumerate() {
            let always = if at < 6 { random.below(2) == 0 } else { at % 2 == 1 };
            let (path, kind) = if always { ("all-paths", "globally") } else { ("exists-path", "finally") };
            text += &format!(
                "<property><id>q{at}</id><description>.</description><formula><{path}><{kind}>{}</{kind}></{path}></formula></property>",
                claim.xml()
            );
            expected.push(match always {
                true => markings.iter().all(|marking| game.holds(claim, marking)),
                false => markings.iter().any(|marking| game.holds(claim, marking)),
            });
        }
        text += "</property-set>";
        let sources =
            Sources::text("a/model.pnml", game.pnml()).with("a/ReachabilityCardinality.xml", text.as_str());
        let loaded =
            load_sources(&sources, &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        let options = CheckOptions { jit: false, ..CheckOptions::default() };
        let report = check(&loaded, &options, &mut Quiet).unwrap();
        assert_eq!(report.outcome.results.len(), expected.len(), "seed {seed}");
        for (result, expected) in report.outcome.results.iter().zip(expected) {
            let holds = match &result.verdict {
                Verdict::Holds => true,
                Verdict::Violated(_) => false,
                Verdict::Unknown(why) => panic!("seed {seed}: unknown ({why}): {text}"),
            };
            let name = &loaded.model.properties[result.property].name;
            assert_eq!(holds, expected, "seed {seed}, {name}:\n{}\n{text}", game.pnml());
            compared("question of the contest");
        }
    }
}

#[test]
fn what_a_question_asks_and_nobody_knows_is_unknown() {
    let net = "<pnml><net id='n'><place id='p'><initialMarking><text>1</text></initialMarking></place></net></pnml>";
    let ask = |formula: &str| {
        let text = format!(
            "<property-set><property><id>q</id><formula>{formula}</formula></property></property-set>"
        );
        let sources = Sources::text("model.pnml", net).with("ReachabilityFireability.xml", text);
        let loaded = load_sources(&sources, &LoadOptions::default()).unwrap();
        let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
        report.outcome.results[0].verdict.clone()
    };
    let of = |place: &str| {
        format!(
            "<integer-le><integer-constant>1</integer-constant><tokens-count><place>{place}</place></tokens-count></integer-le>"
        )
    };
    let always = |inside: &str| format!("<all-paths><globally>{inside}</globally></all-paths>");
    assert!(matches!(ask(&always(&of("p"))), Verdict::Holds));
    for strange in [
        always(&of("q")),
        format!("<all-paths><finally>{}</finally></all-paths>", of("p")),
        always("<is-live/>"),
        of("p"),
        always("<disjunction><deadlock/><is-fireable/></disjunction>"),
    ] {
        let verdict = ask(&strange);
        assert!(matches!(verdict, Verdict::Unknown(_)), "{strange}: {verdict:?}");
    }
}

/// Counts have 32 bits, and one of their values means any number: what is asked about that very number is no question about it.
#[test]
fn numbers_as_large_as_counts_are_decided_or_refused() {
    let net = "<pnml><net id='n'>
        <place id='p'><initialMarking><text>1</text></initialMarking></place>
        <place id='q'><initialMarking><text>4000000000</text></initialMarking></place><transition id='t'/>
        <arc id='a' source='p' target='t'/>
        <arc id='b' source='t' target='q'><inscription><text>1000000000</text></inscription></arc></net></pnml>";
    for number in
        [4_294_967_293u64, 4_294_967_294, 4_294_967_295, 4_294_967_296, 5_000_000_000, 5_000_000_001]
    {
        let text = format!(
            "<property-set><property><id>q</id><formula><exists-path><finally><integer-le><integer-constant>{number}\
             </integer-constant><tokens-count><place>q</place></tokens-count></integer-le></finally></exists-path>\
             </formula></property></property-set>"
        );
        let sources = Sources::text("model.pnml", net).with("ReachabilityCardinality.xml", text);
        let loaded = load_sources(&sources, &LoadOptions::default()).unwrap();
        let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
        match &report.outcome.results[0].verdict {
            Verdict::Holds => assert!(number <= 5_000_000_000, "{number}"),
            Verdict::Violated(_) => assert!(number > 5_000_000_000, "{number}"),
            Verdict::Unknown(_) => {}
        }
    }
}
