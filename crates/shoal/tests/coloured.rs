//! Symmetric nets: random ones are played here with coloured tokens, one colour at a time, and counted.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use shoal::{CheckOptions, EngineKind, LoadOptions, Quiet, Sources, Verdict, check, load_sources};

use crate::random::{compared, dose, numbers::Numbers, salt};

/// Colours of the first class have no order; those of the second are a circle.
const SIZES: [usize; 2] = [3, 3];
/// Variables, and their classes.
const VARIABLES: [(&str, usize); 4] = [("x", 0), ("y", 0), ("u", 1), ("v", 1)];

#[derive(Clone, Copy, PartialEq)]
enum Colour {
    Variable(usize),
    Constant(usize),
    Next(usize),
    Every,
}

/// So many of these colours.
type Terms = Vec<(i64, Vec<Colour>)>;
type Marking = BTreeMap<(usize, Vec<usize>), i64>;

struct Played {
    domains: Vec<Vec<usize>>,
    initial: Vec<Terms>,
    moves: Vec<Move>,
}

#[derive(Default)]
struct Move {
    /// Two variables of a class that are the same, or are not.
    guard: Option<(bool, usize, usize)>,
    take: Vec<(usize, Terms)>,
    give: Vec<(usize, Terms)>,
}

impl Move {
    fn variables(&self) -> BTreeSet<usize> {
        let tuples = self.take.iter().chain(&self.give).flat_map(|(_, terms)| terms).map(|(_, tuple)| tuple);
        let used = tuples.flatten().filter_map(|colour| match colour {
            Colour::Variable(variable) | Colour::Next(variable) => Some(*variable),
            Colour::Constant(_) | Colour::Every => None,
        });
        used.chain(self.guard.iter().flat_map(|(_, left, right)| [*left, *right])).collect()
    }
}

fn colour(random: &mut Numbers, class: usize, constants: bool) -> Colour {
    let variable = 2 * class + random.below(2);
    match random.below(8) {
        0 if constants => Colour::Constant(random.below(SIZES[class])),
        1 => Colour::Every,
        2 | 3 if class == 1 => Colour::Next(variable),
        _ => Colour::Variable(variable),
    }
}

fn terms(random: &mut Numbers, domain: &[usize]) -> Terms {
    let one = |random: &mut Numbers| {
        let constants = random.below(3) == 0;
        (1 + random.below(2) as i64, domain.iter().map(|class| colour(random, *class, constants)).collect())
    };
    match random.below(5) {
        // All but one.
        0 if !domain.is_empty() => {
            let but: Vec<Colour> = domain.iter().map(|class| Colour::Variable(2 * class)).collect();
            vec![(1, vec![Colour::Every; domain.len()]), (-1, but)]
        }
        1 => vec![one(random), one(random)],
        _ => vec![one(random)],
    }
}

/// How many tokens there are.
fn size(terms: &Terms, domain: &[usize]) -> i64 {
    let every = |tuple: &[Colour]| -> i64 {
        let every = tuple.iter().zip(domain).filter(|(colour, _)| **colour == Colour::Every);
        every.map(|(_, class)| SIZES[*class] as i64).product()
    };
    terms.iter().map(|(number, tuple)| number * every(tuple)).sum()
}

fn played(random: &mut Numbers) -> Played {
    let domains: Vec<Vec<usize>> = [vec![0], vec![1], vec![0, 1], vec![]][..2 + random.below(3)].to_vec();
    let mut moves = Vec::new();
    for _ in 0..3 {
        let from = random.below(domains.len());
        let taken = terms(random, &domains[from]);
        let mut left = size(&taken, &domains[from]);
        let mut one = Move { take: vec![(from, taken)], ..Move::default() };
        for _ in 0..2 {
            let to = random.below(domains.len());
            let given = terms(random, &domains[to]);
            // No more than was there: all markings can be seen.
            if size(&given, &domains[to]) <= left && one.give.iter().all(|(known, _)| *known != to) {
                left -= size(&given, &domains[to]);
                one.give.push((to, given));
            }
        }
        if random.below(3) == 0 {
            let class = random.below(2);
            one.guard = Some((random.below(2) == 0, 2 * class, 2 * class + 1));
        }
        moves.push(one);
    }
    let mut initial = |domain: &Vec<usize>| -> Terms {
        let colour = |class: &usize| match random.below(2) {
            0 => Colour::Every,
            _ => Colour::Constant(random.below(SIZES[*class])),
        };
        vec![(1, domain.iter().map(colour).collect())]
    };
    let initial = domains.iter().map(&mut initial).collect();
    Played { domains, initial, moves }
}

/// All orders of some colours.
fn orders(of: &[usize]) -> Vec<Vec<usize>> {
    of.iter().fold(vec![Vec::new()], |orders: Vec<Vec<usize>>, _| {
        let longer = |order: &Vec<usize>| {
            let rest = of.iter().filter(|it| !order.contains(it));
            rest.map(|it| [&order[..], &[*it]].concat()).collect::<Vec<_>>()
        };
        orders.iter().flat_map(longer).collect()
    })
}

/// All ways to give each of some classes a colour.
fn choices(classes: &[usize]) -> Vec<Vec<usize>> {
    classes.iter().fold(vec![Vec::new()], |all, class| {
        let longer =
            |some: &Vec<usize>| (0..SIZES[*class]).map(|it| [&some[..], &[it]].concat()).collect::<Vec<_>>();
        all.iter().flat_map(longer).collect()
    })
}

/// The tokens that terms stand for, where variables have these colours.
fn tokens(place: usize, domain: &[usize], terms: &Terms, of: &BTreeMap<usize, usize>) -> Marking {
    let mut all = Marking::new();
    for colours in choices(domain) {
        let matches = |colour: &Colour, class: usize, at: usize| match colour {
            Colour::Variable(variable) => of[variable] == at,
            Colour::Constant(constant) => *constant == at,
            Colour::Next(variable) => (of[variable] + 1) % SIZES[class] == at,
            Colour::Every => true,
        };
        for (number, tuple) in terms {
            if tuple
                .iter()
                .zip(domain)
                .zip(&colours)
                .all(|((colour, class), at)| matches(colour, *class, *at))
            {
                *all.entry((place, colours.clone())).or_default() += number;
            }
        }
    }
    all.retain(|_, number| *number != 0);
    all
}

fn add(marking: &mut Marking, more: &Marking, sign: i64) -> bool {
    for (colour, number) in more {
        *marking.entry(colour.clone()).or_default() += sign * number;
    }
    let is_one = marking.values().all(|number| *number >= 0);
    marking.retain(|_, number| *number != 0);
    is_one
}

impl Played {
    fn start(&self) -> Marking {
        let mut marking = Marking::new();
        for (place, terms) in self.initial.iter().enumerate() {
            add(&mut marking, &tokens(place, &self.domains[place], terms, &BTreeMap::new()), 1);
        }
        marking
    }

    fn after(&self, marking: &Marking, one: &Move) -> Vec<Marking> {
        let variables: Vec<usize> = one.variables().into_iter().collect();
        let classes: Vec<usize> = variables.iter().map(|variable| VARIABLES[*variable].1).collect();
        let mut all = Vec::new();
        for colours in choices(&classes) {
            let of: BTreeMap<usize, usize> = variables.iter().copied().zip(colours).collect();
            if one.guard.is_some_and(|(same, left, right)| (of[&left] == of[&right]) != same) {
                continue;
            }
            let mut next = marking.clone();
            let part = |(place, terms): &(usize, Terms)| tokens(*place, &self.domains[*place], terms, &of);
            if one.take.iter().all(|taken| add(&mut next, &part(taken), -1)) {
                one.give.iter().for_each(|given| {
                    add(&mut next, &part(given), 1);
                });
                all.push(next);
            }
        }
        all
    }

    /// All markings that can be reached; nothing if there are too many.
    fn markings(&self) -> Option<HashSet<Marking>> {
        let mut seen = HashSet::from([self.start()]);
        let mut open = vec![self.start()];
        while let Some(marking) = open.pop() {
            for next in self.moves.iter().flat_map(|one| self.after(&marking, one)) {
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
            if seen.len() > 3000 {
                return None;
            }
        }
        Some(seen)
    }

    fn colours(&self) -> impl Iterator<Item = (Colour, usize)> {
        let sides = self.moves.iter().flat_map(|one| one.take.iter().chain(&one.give));
        sides.flat_map(|(place, terms)| {
            let tuples = terms.iter().flat_map(|(_, tuple)| tuple.iter().copied());
            tuples.zip(self.domains[*place].iter().copied().cycle())
        })
    }

    /// The colours of a class that may change places: no move names them, or depends on their order.
    fn alike(&self, class: usize) -> Vec<usize> {
        let of_class = |(colour, of): (Colour, usize)| (of == class).then_some(colour);
        let used: Vec<Colour> = self.colours().filter_map(of_class).collect();
        if used.iter().any(|colour| matches!(colour, Colour::Next(_))) {
            return Vec::new();
        }
        (0..SIZES[class]).filter(|it| !used.contains(&Colour::Constant(*it))).collect()
    }

    /// How many markings are different when colours that are alike may change places.
    fn orbits(&self, markings: &HashSet<Marking>) -> usize {
        let alike = [self.alike(0), self.alike(1)];
        let orders = alike.each_ref().map(|colours| orders(colours));
        let image = |marking: &Marking, order: [&[usize]; 2]| -> Marking {
            let moved = |((place, colours), number): (&(usize, Vec<usize>), &i64)| {
                let change = |(class, colour): (&usize, &usize)| {
                    let at = alike[*class].iter().position(|it| it == colour);
                    at.map_or(*colour, |at| order[*class][at])
                };
                ((*place, self.domains[*place].iter().zip(colours).map(change).collect()), *number)
            };
            marking.iter().map(moved).collect()
        };
        let least = |marking: &Marking| {
            let pairs =
                orders[0].iter().flat_map(|one| orders[1].iter().map(move |other| [&one[..], &other[..]]));
            pairs.map(|order| image(marking, order)).min()
        };
        markings.iter().map(least).collect::<HashSet<_>>().len()
    }

    fn total(&self, marking: &Marking, place: usize) -> i64 {
        marking.iter().filter(|((of, _), _)| *of == place).map(|(_, number)| number).sum()
    }

    fn pnml(&self) -> String {
        let classes = ["finiteenumeration", "cyclicenumeration"];
        let mut text = String::from(
            "<pnml xmlns='http://www.pnml.org/version-2009/grammar/pnml'><net id='n' \
             type='http://www.pnml.org/version-2009/grammar/symmetricnet'><page id='g'>",
        );
        for (place, terms) in self.initial.iter().enumerate() {
            let sort = match self.domains[place][..] {
                [] => "dot".to_string(),
                [class] => format!("c{class}"),
                _ => "pair".into(),
            };
            text += &format!(
                "<place id='p{place}'><type><structure><usersort declaration='{sort}'/></structure></type>\
                 <hlinitialMarking><text>.</text><structure>{}</structure></hlinitialMarking></place>",
                self.xml(terms, place)
            );
        }
        for (at, one) in self.moves.iter().enumerate() {
            let condition = one.guard.map_or(String::new(), |(same, left, right)| {
                let kind = if same { "equality" } else { "inequality" };
                let side =
                    |it: usize| format!("<subterm><variable refvariable='{}'/></subterm>", VARIABLES[it].0);
                let sides = side(left) + &side(right);
                format!("<condition><structure><{kind}>{sides}</{kind}></structure></condition>")
            });
            text += &format!("<transition id='t{at}'>{condition}</transition>");
            for (takes, (place, terms)) in
                one.take.iter().map(|it| (true, it)).chain(one.give.iter().map(|it| (false, it)))
            {
                let (source, target) = (format!("p{place}"), format!("t{at}"));
                let (source, target) = if takes { (source, target) } else { (target, source) };
                text += &format!(
                    "<arc id='a{source}{target}' source='{source}' target='{target}'><hlinscription><structure>{}</structure></hlinscription></arc>",
                    self.xml(terms, *place)
                );
            }
        }
        text += "</page><declaration><structure><declarations><namedsort id='dot' name='dot'><dot/></namedsort>\
            <namedsort id='pair' name='pair'><productsort><usersort declaration='c0'/><usersort declaration='c1'/></productsort></namedsort>";
        for (class, kind) in classes.iter().enumerate() {
            let colours: String =
                (0..SIZES[class]).map(|it| format!("<feconstant id='k{class}{it}' name='{it}'/>")).collect();
            text +=
                &format!("<namedsort id='c{class}' name='C{class}'><{kind}>{colours}</{kind}></namedsort>");
        }
        for (name, class) in VARIABLES {
            text += &format!(
                "<variabledecl id='{name}' name='{name}'><usersort declaration='c{class}'/></variabledecl>"
            );
        }
        text + "</declarations></structure></declaration></net></pnml>"
    }

    fn xml(&self, terms: &Terms, place: usize) -> String {
        let domain = &self.domains[place];
        let one = |(colour, class): (&Colour, &usize)| match colour {
            Colour::Variable(it) => format!("<variable refvariable='{}'/>", VARIABLES[*it].0),
            Colour::Constant(it) => format!("<useroperator declaration='k{class}{it}'/>"),
            Colour::Next(it) => {
                let of = VARIABLES[*it].0;
                format!("<successor><subterm><variable refvariable='{of}'/></subterm></successor>")
            }
            Colour::Every => format!("<all><usersort declaration='c{class}'/></all>"),
        };
        let sub = |text: String| format!("<subterm>{text}</subterm>");
        let addend = |(number, tuple): &(i64, Vec<Colour>)| {
            let parts: Vec<String> = tuple.iter().zip(domain).map(one).collect();
            let tuple = match &parts[..] {
                [] => "<dotconstant/>".to_string(),
                [part] => part.clone(),
                parts => format!("<tuple>{}</tuple>", parts.iter().cloned().map(sub).collect::<String>()),
            };
            let number = format!("<numberconstant value='{}'><positive/></numberconstant>", number.abs());
            sub(format!("<numberof>{}{}</numberof>", sub(number), sub(tuple)))
        };
        let kind = if terms.iter().any(|(number, _)| *number < 0) { "subtract" } else { "add" };
        format!("<{kind}>{}</{kind}>", terms.iter().map(addend).collect::<String>())
    }
}

/// Questions, and what the token game says.
fn questions(net: &Played, markings: &HashSet<Marking>) -> (String, Vec<bool>) {
    let mut text = String::from("<property-set xmlns='http://mcc.lip6.fr/'>");
    let mut expected = Vec::new();
    let mut ask = |text: &mut String, path: &str, kind: &str, inside: String, answer: bool| {
        *text += &format!(
            "<property><id>q{}</id><formula><{path}><{kind}>{inside}</{kind}></{path}></formula></property>",
            expected.len()
        );
        expected.push(answer);
    };
    for place in 0..net.domains.len() {
        let most = |limit: usize| {
            format!(
                "<integer-le><tokens-count><place>p{place}</place></tokens-count><integer-constant>{limit}</integer-constant></integer-le>"
            )
        };
        let all = |limit: usize| markings.iter().all(|it| net.total(it, place) <= limit as i64);
        ask(&mut text, "all-paths", "globally", most(2), all(2));
        ask(&mut text, "all-paths", "globally", most(9999), true);
    }
    for (at, one) in net.moves.iter().enumerate() {
        let fires = |marking: &Marking| !net.after(marking, one).is_empty();
        let inside = format!("<is-fireable><transition>t{at}</transition></is-fireable>");
        ask(&mut text, "exists-path", "finally", inside.clone(), markings.iter().any(fires));
        ask(&mut text, "all-paths", "globally", inside, markings.iter().all(fires));
    }
    let stuck = |marking: &Marking| net.moves.iter().all(|one| net.after(marking, one).is_empty());
    ask(&mut text, "exists-path", "finally", "<deadlock/>".into(), markings.iter().any(stuck));
    (text + "</property-set>", expected)
}

#[test]
fn coloured_tokens_are_played_as_they_are_written() {
    let (mut seen, mut fewer) = (0, 0);
    for seed in 0..u64::from(dose(40)) {
        let net = played(&mut Numbers::with_seed(seed + salt()));
        let Some(markings) = net.markings() else { continue };
        let (text, expected) = questions(&net, &markings);
        let sources = Sources::text("a/model.pnml", net.pnml()).with("a/ReachabilityCardinality.xml", text);
        let loaded = load_sources(&sources, &LoadOptions::default())
            .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{}", net.pnml()));
        for symmetry in [false, true] {
            let options =
                CheckOptions { symmetry, engine: Some(EngineKind::Explicit), ..CheckOptions::default() };
            let report = check(&loaded, &options, &mut Quiet).unwrap();
            for (result, expected) in report.outcome.results.iter().zip(&expected) {
                let holds = match &result.verdict {
                    Verdict::Holds => true,
                    Verdict::Violated(_) => false,
                    Verdict::Unknown(why) => panic!("seed {seed}: unknown ({why})"),
                };
                let name = &loaded.model.properties[result.property].name;
                assert_eq!(holds, *expected, "seed {seed}, symmetry {symmetry}, {name}\n{}", net.pnml());
                compared("question about coloured tokens");
            }
            let states = if symmetry { net.orbits(&markings) } else { markings.len() };
            assert_eq!(
                report.outcome.statistics.states,
                states as u64,
                "seed {seed}, {symmetry}\n{}",
                net.pnml()
            );
            fewer += usize::from(symmetry && states < markings.len());
        }
        seen += 1;
    }
    assert!(seen > 5 && fewer > 2, "dull: {seen} nets, {fewer} with fewer states");
}
