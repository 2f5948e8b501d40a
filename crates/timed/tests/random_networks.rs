//! Random UPPAAL networks: which pairs of locations can be reached together, by the zone engine and by a search in whole
//! units of time. With closed constraints both find the same.

use std::collections::BTreeSet;

use crate::common::Random;
use shoal_model::{Job, Quiet, Verdict};
use shoal_syntax::SourceMap;
use shoal_template::{Options, uppaal};

/// What an edge says about the clock of its process.
#[derive(Clone, Copy)]
enum Guard {
    Least(u8),
    Most(u8),
}

#[derive(Clone, Copy, PartialEq)]
enum Sync {
    None,
    Send(usize),
    Receive(usize),
}

struct Edge {
    from: usize,
    to: usize,
    guard: Option<Guard>,
    /// The shared variable must have this value.
    flag: Option<u8>,
    sync: Sync,
    reset: bool,
    /// The shared variable gets this value.
    set: Option<u8>,
}

#[derive(Clone, Copy, Default)]
struct Location {
    most: Option<u8>,
    urgent: bool,
    committed: bool,
}

struct Process {
    locations: Vec<Location>,
    edges: Vec<Edge>,
}

/// Channel 0 is binary, channel 1 a broadcast.
struct Network {
    processes: Vec<Process>,
}

const GREATEST: u8 = 4;

/// Locations, clocks in whole units, the shared variable.
type Point = (Vec<usize>, Vec<u8>, u8);

impl Network {
    fn new(random: &mut Random) -> Network {
        let mut process = |_| {
            let count = 2 + random.below(2) as usize;
            let mut locations = vec![Location::default(); count];
            for location in &mut locations {
                match random.below(8) {
                    0 | 1 => location.most = Some(1 + random.below(3) as u8),
                    2 => location.urgent = true,
                    3 => (location.urgent, location.committed) = (true, true),
                    _ => {}
                }
            }
            let edges = (0..2 + random.below(3)).map(|_| Edge::new(random, count as u64)).collect();
            Process { locations, edges }
        };
        Network { processes: (0..3).map(&mut process).collect() }
    }

    fn text(&self) -> String {
        let mut text = "chan a; broadcast chan b; int[0,2] v;\n".to_string();
        for (number, process) in self.processes.iter().enumerate() {
            let location = |(at, location): (usize, &Location)| match location.most {
                Some(most) => format!("L{at} {{ x <= {most} }}"),
                None => format!("L{at}"),
            };
            let named = |wanted: fn(&Location) -> bool, word: &str| {
                let found: Vec<String> = process
                    .locations
                    .iter()
                    .enumerate()
                    .filter(|(_, location)| wanted(location))
                    .map(|(at, _)| format!("L{at}"))
                    .collect();
                if found.is_empty() { String::new() } else { format!("{word} {};\n", found.join(", ")) }
            };
            text += &format!("process P{number}() {{ clock x;\nstate ");
            text += &process.locations.iter().enumerate().map(location).collect::<Vec<_>>().join(", ");
            text += ";\n";
            text += &named(|location| location.committed, "commit");
            text += &named(|location| location.urgent && !location.committed, "urgent");
            text += "init L0;\ntrans\n";
            text += &process.edges.iter().map(Edge::text).collect::<Vec<_>>().join(",\n");
            text += ";\n}\n";
        }
        text + "system P0, P1, P2;\n"
    }

    fn allowed(&self, point: &Point) -> bool {
        self.processes.iter().enumerate().all(|(number, process)| {
            process.locations[point.0[number]].most.is_none_or(|most| point.1[number] <= most)
        })
    }

    /// The edges that a process may take, by what they send or receive.
    fn enabled(&self, point: &Point, number: usize, sync: Sync) -> Vec<&Edge> {
        let fits = |edge: &&Edge| {
            edge.from == point.0[number]
                && edge.sync == sync
                && edge.flag.is_none_or(|flag| flag == point.2)
                && match edge.guard {
                    None => true,
                    Some(Guard::Least(least)) => point.1[number] >= least,
                    Some(Guard::Most(most)) => point.1[number] <= most,
                }
        };
        self.processes[number].edges.iter().filter(fits).collect()
    }

    fn committed(&self, point: &Point, number: usize) -> bool {
        self.processes[number].locations[point.0[number]].committed
    }

    /// Takes edges together, the sender's first.
    fn taken(&self, point: &Point, parts: &[(usize, &Edge)]) -> Option<Point> {
        let anybody = (0..self.processes.len()).any(|number| self.committed(point, number));
        if anybody && !parts.iter().any(|(number, _)| self.committed(point, *number)) {
            return None;
        }
        let mut next = point.clone();
        for (number, edge) in parts {
            next.0[*number] = edge.to;
            if edge.reset {
                next.1[*number] = 0;
            }
            next.2 = edge.set.unwrap_or(next.2);
        }
        self.allowed(&next).then_some(next)
    }

    fn next(&self, point: &Point) -> Vec<Point> {
        let all = 0..self.processes.len();
        let mut found = Vec::new();
        for number in all.clone() {
            for edge in self.enabled(point, number, Sync::None) {
                found.extend(self.taken(point, &[(number, edge)]));
            }
            for sender in self.enabled(point, number, Sync::Send(0)) {
                for other in all.clone().filter(|other| *other != number) {
                    for receiver in self.enabled(point, other, Sync::Receive(0)) {
                        found.extend(self.taken(point, &[(number, sender), (other, receiver)]));
                    }
                }
            }
            for sender in self.enabled(point, number, Sync::Send(1)) {
                let mut ways = vec![vec![(number, sender)]];
                for other in all.clone().filter(|other| *other != number) {
                    let receivers = self.enabled(point, other, Sync::Receive(1));
                    if !receivers.is_empty() {
                        let mut more = Vec::new();
                        for way in &ways {
                            more.extend(
                                receivers.iter().map(|edge| [way.as_slice(), &[(other, *edge)]].concat()),
                            );
                        }
                        ways = more;
                    }
                }
                found.extend(ways.iter().filter_map(|way| self.taken(point, way)));
            }
        }
        let still = all.clone().any(|number| self.processes[number].locations[point.0[number]].urgent);
        if !still {
            let later = |clock: &u8| (clock + 1).min(GREATEST + 1);
            let later = (point.0.clone(), point.1.iter().map(later).collect(), point.2);
            found.extend(Some(later).filter(|later| self.allowed(later)));
        }
        found
    }

    fn reached(&self) -> BTreeSet<Point> {
        let start: Point = (vec![0; 3], vec![0; 3], 0);
        let mut seen = BTreeSet::new();
        let mut open: Vec<Point> = Some(start).filter(|start| self.allowed(start)).into_iter().collect();
        while let Some(point) = open.pop() {
            if seen.insert(point.clone()) {
                open.extend(self.next(&point));
            }
        }
        seen
    }
}

impl Edge {
    fn new(random: &mut Random, locations: u64) -> Edge {
        let guard = match random.below(4) {
            0 => Some(Guard::Least(1 + random.below(u64::from(GREATEST)) as u8)),
            1 => Some(Guard::Most(random.below(u64::from(GREATEST)) as u8)),
            _ => None,
        };
        let sync = match random.below(8) {
            0 => Sync::Send(0),
            1 => Sync::Receive(0),
            2 => Sync::Send(1),
            3 | 4 => Sync::Receive(1),
            _ => Sync::None,
        };
        let value = |random: &mut Random| (random.below(3) == 0).then(|| random.below(3) as u8);
        Edge {
            from: random.below(locations) as usize,
            to: random.below(locations) as usize,
            // Where nobody can receive a broadcast the guards of receivers are false, and then they are no longer closed.
            guard: guard.filter(|_| sync != Sync::Receive(1)),
            flag: value(random),
            sync,
            reset: random.below(2) == 0,
            set: value(random),
        }
    }

    fn text(&self) -> String {
        let mut text = format!("L{} -> L{} {{ ", self.from, self.to);
        let clock = self.guard.map(|guard| match guard {
            Guard::Least(least) => format!("x >= {least}"),
            Guard::Most(most) => format!("x <= {most}"),
        });
        let guards: Vec<String> =
            clock.into_iter().chain(self.flag.map(|flag| format!("v == {flag}"))).collect();
        if !guards.is_empty() {
            text += &format!("guard {}; ", guards.join(" && "));
        }
        let channel = |channel: usize| ["a", "b"][channel];
        match self.sync {
            Sync::None => {}
            Sync::Send(number) => text += &format!("sync {}!; ", channel(number)),
            Sync::Receive(number) => text += &format!("sync {}?; ", channel(number)),
        }
        let mut updates = Vec::new();
        if self.reset {
            updates.push("x = 0".to_string());
        }
        updates.extend(self.set.map(|value| format!("v = {value}")));
        if !updates.is_empty() {
            text += &format!("assign {}; ", updates.join(", "));
        }
        text + "}"
    }
}

#[test]
fn zones_reach_what_whole_units_of_time_reach() {
    let count = std::env::var("SHOAL_RANDOM_SYSTEMS").ok().and_then(|count| count.parse().ok()).unwrap_or(60);
    for seed in 0..count {
        let network = Network::new(&mut Random::new(seed));
        let reached = network.reached();
        let mut queries = String::new();
        let mut expected = Vec::new();
        let locations = |number: usize| 0..network.processes[number].locations.len();
        for (one, other) in [(0, 1), (1, 2), (0, 2)] {
            for (p, q) in locations(one).flat_map(|p| locations(other).map(move |q| (p, q))) {
                queries += &format!("E<> P{one}.L{p} && P{other}.L{q}\n");
                expected.push(reached.iter().any(|point| point.0[one] == p && point.0[other] == q));
            }
        }
        let text = network.text();
        let mut sources = SourceMap::new();
        let id = sources.add("network.xta", text.as_str());
        let queries = sources.add("network.q", queries);
        let (model, diagnostics) = uppaal::load_xta(&sources, id, Some(queries), &Options::default());
        let model = model.unwrap_or_else(|| panic!("{diagnostics:?}\n{text}"));
        let asked = model.properties.enumerate().filter(|(_, property)| property.name.starts_with("E<>"));
        let job = Job::new(asked.map(|(id, _)| id).collect());
        let outcome =
            shoal_timed::check(&model, &job, &mut Quiet).unwrap_or_else(|error| panic!("{error}\n{text}"));
        for (result, expected) in outcome.results.iter().zip(expected) {
            let found = matches!(result.verdict, Verdict::Holds);
            let name = &model.properties[result.property].name;
            assert_eq!(found, expected, "seed {seed}: {name}\n{text}");
        }
    }
}
