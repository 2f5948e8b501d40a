//! Random UPPAAL networks read a second time: the automata themselves, not the Model that is made of them, are run on a graph
//! of regions that shares no code with Shoal. What can be reached, deadlocks, faults and formulas about runs must agree.

use std::collections::HashMap;

use shoal_model::{Job, PropertyId, PropertyKind, Quiet, Verdict};
use shoal_syntax::SourceMap;
use shoal_template::Options;
use shoal_uppaal as uppaal;

use crate::common::{Random, on_threads};

/// What an edge says about the clock of its process.
#[derive(Clone, Copy)]
struct Guard {
    op: &'static str,
    bound: u8,
}

/// `x0 - x1 op bound`, and in which of three forms it is written.
#[derive(Clone, Copy)]
struct Apart {
    op: &'static str,
    bound: i8,
    form: u64,
}

impl Apart {
    fn new(random: &mut Random) -> Apart {
        let op = random.one_of(&["<", "<=", ">", ">=", "=="]);
        Apart { op, bound: random.below(5) as i8 - 2, form: random.below(3) }
    }

    fn text(self) -> String {
        let Apart { op, bound, form } = self;
        match form {
            0 => format!("x0 - x1 {op} {bound}"),
            1 => format!("x0 {op} x1 + ({bound})"),
            _ => format!("x0 - ({bound}) {op} x1"),
        }
    }

    fn holds(self, apart: i8) -> bool {
        let bound = 2 * self.bound;
        match self.op {
            "<" => apart < bound,
            "<=" => apart <= bound,
            ">" => apart > bound,
            ">=" => apart >= bound,
            _ => apart == bound,
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Sync {
    None,
    Send(usize),
    Receive(usize),
}

/// What happens to the shared variable, whose values are 0..2.
#[derive(Clone, Copy, PartialEq)]
enum Effect {
    None,
    Set(u8),
    /// Faults at 2.
    Increase,
    /// `a[v] = n`: faults at 2, for there are two entries.
    Write(u8),
    /// By a function.
    Turn,
    /// To what the edge selects.
    Selected,
}

struct Edge {
    from: usize,
    to: usize,
    guard: Option<Guard>,
    /// What it says about the difference of the clocks.
    apart: Option<Apart>,
    /// The shared variable must have this value.
    flag: Option<u8>,
    /// `a[v]` must have this value: faults at 2.
    entry: Option<u8>,
    sync: Sync,
    /// The clock is set to this.
    reset: Option<u8>,
    effect: Effect,
}

#[derive(Clone, Copy, Default)]
struct Location {
    /// At most this, or less.
    most: Option<(u8, bool)>,
    /// Of the difference of the clocks.
    apart: Option<Apart>,
    urgent: bool,
    committed: bool,
}

struct Process {
    locations: Vec<Location>,
    edges: Vec<Edge>,
}

/// Channel 0 is binary, channel 1 a broadcast, channel 2 binary and urgent.
struct Network {
    processes: Vec<Process>,
    ranks: Option<Ranks>,
}

/// Priorities: of the channels and of all the rest, and of the processes.
struct Ranks {
    channels: [u8; 4],
    processes: [u8; 2],
}

impl Ranks {
    fn new(random: &mut Random) -> Ranks {
        let mut level = || random.below(3) as u8;
        let channels = [level(), level(), level(), level()];
        Ranks { channels, processes: if level() == 0 { [level(), level()] } else { [0, 0] } }
    }

    fn of(&self, channel: Option<usize>, processes: &[usize]) -> (u8, u8) {
        let process = processes.iter().map(|number| self.processes[*number]).max().unwrap();
        (self.channels[channel.unwrap_or(3)], process)
    }

    /// Names in the order of their levels.
    fn listed(names: &[&str], levels: &[u8]) -> String {
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by_key(|at| levels[*at]);
        let mut text = String::new();
        for (position, at) in order.iter().enumerate() {
            if let Some(before) = position.checked_sub(1) {
                text += if levels[order[before]] < levels[*at] { " < " } else { ", " };
            }
            text += names[*at];
        }
        text
    }
}

const GREATEST: u8 = 3;
const CHANNELS: [&str; 3] = ["a", "b", "c"];

/// A clock: its integral part (one more than the greatest constant if it is beyond), and the place of its fraction among those
/// of all clocks; 0 is none.
type Clock = (u8, u8);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Point {
    at: Vec<usize>,
    clocks: Vec<Clock>,
    /// The difference of the clocks: twice its integral part, and one more if there is a fraction; beyond 2, one more than
    /// that. (A clock beyond the greatest constant is that far from one that is set.)
    apart: i8,
    v: u8,
    a: [u8; 2],
}

/// What a step comes to: a state, or a fault.
type Stepped = Result<Point, ()>;

fn compare((whole, rest): Clock, op: &str, bound: u8) -> bool {
    match op {
        ">=" => whole >= bound,
        ">" => whole > bound || whole == bound && rest > 0,
        "<=" => whole < bound || whole == bound && rest == 0,
        "==" => whole == bound && rest == 0,
        "<" => whole < bound,
        _ => panic!("{op} compares no clock"),
    }
}

/// The difference of the clocks after one of them was set to a value that is greater by no more than a constant.
fn apart(clocks: &[Clock], set: usize) -> i8 {
    let value = clocks[set].0 as i8;
    let (whole, rest) = clocks[1 - set];
    let code = match (whole > GREATEST, rest > 0) {
        (true, _) => 5,
        (false, false) => 2 * (whole as i8 - value),
        (false, true) => 2 * (whole as i8 - value) + 1,
    };
    // The code of the opposite difference is the opposite code.
    (if set == 0 { -code } else { code }).clamp(-5, 5)
}

/// The next region in time; nothing if all clocks are beyond every constant.
fn later(clocks: &[Clock]) -> Option<Vec<Clock>> {
    let mut clocks = clocks.to_vec();
    let bounded = |clock: &Clock| clock.0 <= GREATEST;
    if clocks.iter().any(|clock| bounded(clock) && clock.1 == 0) {
        for clock in clocks.iter_mut().filter(|clock| bounded(clock)) {
            *clock = match *clock {
                (GREATEST, 0) => (GREATEST + 1, 0),
                (whole, rest) => (whole, rest + 1),
            };
        }
    } else {
        let most = clocks.iter().map(|clock| clock.1).max().filter(|most| *most > 0)?;
        clocks.iter_mut().filter(|clock| clock.1 == most).for_each(|clock| *clock = (clock.0 + 1, 0));
    }
    Some(tidied(clocks))
}

/// Places of fractions without gaps.
fn tidied(mut clocks: Vec<Clock>) -> Vec<Clock> {
    let mut places: Vec<u8> = clocks.iter().map(|clock| clock.1).filter(|place| *place > 0).collect();
    places.sort_unstable();
    places.dedup();
    for clock in clocks.iter_mut().filter(|clock| clock.1 > 0) {
        clock.1 = 1 + places.iter().position(|place| *place == clock.1).unwrap() as u8;
    }
    clocks
}

impl Network {
    fn new(random: &mut Random, faults: bool, differences: bool) -> Network {
        let mut process = |_| {
            let count = 2 + random.below(2) as usize;
            let mut locations = vec![Location::default(); count];
            for (number, location) in locations.iter_mut().enumerate() {
                match random.below(8) {
                    0 | 1 => location.most = Some((1 + random.below(3) as u8, random.below(3) == 0)),
                    2 => location.urgent = true,
                    3 if number > 0 => (location.urgent, location.committed) = (true, true),
                    _ => {}
                }
                if differences && number > 0 && random.below(5) == 0 {
                    location.apart = Some(Apart::new(random));
                }
            }
            let more = random.below(3) + u64::from(differences);
            let edges = (0..2 + more).map(|_| Edge::new(random, count as u64, faults, differences)).collect();
            Process { locations, edges }
        };
        Network { processes: (0..2).map(&mut process).collect(), ranks: None }
    }

    fn text(&self) -> String {
        let mut text = "clock x0, x1; chan a; broadcast chan b; urgent chan c; int[0,2] v; int[0,2] w[2];\n\
                        int turn(int n) { if (n == 2) { return 0; } else { n++; } return n; }\n"
            .to_string();
        let names = ["a", "b", "c", "default"];
        if let Some(ranks) = &self.ranks {
            text += &format!("chan priority {};\n", Ranks::listed(&names, &ranks.channels));
        }
        for (number, process) in self.processes.iter().enumerate() {
            let location = |(at, location): (usize, &Location)| {
                let most = location
                    .most
                    .map(|(most, strict)| format!("x{number} {} {most}", if strict { "<" } else { "<=" }));
                let said: Vec<String> = most.into_iter().chain(location.apart.map(Apart::text)).collect();
                match said.is_empty() {
                    true => format!("L{at}"),
                    false => format!("L{at} {{ {} }}", said.join(" && ")),
                }
            };
            let named = |wanted: fn(&Location) -> bool, word: &str| {
                let all = process.locations.iter().enumerate().filter(|(_, location)| wanted(location));
                let found: Vec<String> = all.map(|(at, _)| format!("L{at}")).collect();
                if found.is_empty() { String::new() } else { format!("{word} {};\n", found.join(", ")) }
            };
            text += &format!("process P{number}() {{\nstate ");
            text += &process.locations.iter().enumerate().map(location).collect::<Vec<_>>().join(", ");
            text += ";\n";
            text += &named(|location| location.committed, "commit");
            text += &named(|location| location.urgent && !location.committed, "urgent");
            text += "init L0;\ntrans\n";
            text += &process.edges.iter().map(|edge| edge.text(number)).collect::<Vec<_>>().join(",\n");
            text += ";\n}\n";
        }
        let processes = self.ranks.as_ref().map_or([0, 0], |ranks| ranks.processes);
        text + &format!("system {};\n", Ranks::listed(&["P0", "P1"], &processes))
    }

    fn allowed(&self, point: &Point) -> bool {
        self.processes.iter().enumerate().all(|(number, process)| {
            let location = &process.locations[point.at[number]];
            location.apart.is_none_or(|apart| apart.holds(point.apart))
                && location.most.is_none_or(|(most, strict)| {
                    compare(point.clocks[number], if strict { "<" } else { "<=" }, most)
                })
        })
    }

    /// The edges of a process that begin where it is.
    fn leaving(&self, point: &Point, number: usize, sync: Sync) -> Vec<&Edge> {
        let here = |edge: &&Edge| edge.from == point.at[number] && edge.sync == sync;
        self.processes[number].edges.iter().filter(here).collect()
    }

    /// Whether a guard holds, or faults.
    fn enabled(&self, point: &Point, number: usize, edge: &Edge) -> Result<bool, ()> {
        let clock = edge.guard.is_none_or(|guard| compare(point.clocks[number], guard.op, guard.bound));
        if !clock
            || !edge.apart.is_none_or(|apart| apart.holds(point.apart))
            || edge.flag.is_some_and(|flag| flag != point.v)
        {
            return Ok(false);
        }
        match edge.entry {
            None => Ok(true),
            Some(wanted) => point.a.get(usize::from(point.v)).map(|entry| *entry == wanted).ok_or(()),
        }
    }

    fn committed(&self, point: &Point, number: usize) -> bool {
        self.processes[number].locations[point.at[number]].committed
    }

    /// Whether processes may move while others are in committed locations.
    fn may(&self, point: &Point, parts: &[usize]) -> bool {
        let anybody = (0..self.processes.len()).any(|number| self.committed(point, number));
        !anybody || parts.iter().any(|number| self.committed(point, *number))
    }

    /// Takes edges together, the sender's first; in every way that they can select.
    fn taken(&self, point: &Point, parts: &[(usize, &Edge)], into: &mut Vec<Stepped>) {
        let mut ways = vec![point.clone()];
        for (number, edge) in parts {
            let mut next = Vec::new();
            for mut way in ways {
                if let Some(value) = edge.reset {
                    way.clocks[*number] = (value, 0);
                    way.apart = apart(&way.clocks, *number);
                }
                let values = if edge.effect == Effect::Selected { vec![0, 1] } else { vec![way.v] };
                for value in values {
                    let mut way = way.clone();
                    match edge.effect {
                        Effect::None => {}
                        Effect::Set(value) => way.v = value,
                        Effect::Selected => way.v = value,
                        Effect::Turn => way.v = (way.v + 1) % 3,
                        Effect::Increase if way.v < 2 => way.v += 1,
                        Effect::Write(entry) if way.v < 2 => way.a[usize::from(way.v)] = entry,
                        Effect::Increase | Effect::Write(_) => {
                            into.push(Err(()));
                            continue;
                        }
                    }
                    next.push(way);
                }
            }
            ways = next;
        }
        for mut way in ways {
            parts.iter().for_each(|(number, edge)| way.at[*number] = edge.to);
            way.clocks = tidied(way.clocks);
            if self.allowed(&way) {
                into.push(Ok(way));
            }
        }
    }

    /// Guards of several edges, one after the other.
    fn all_enabled(&self, point: &Point, parts: &[(usize, &Edge)]) -> Result<bool, ()> {
        for (number, edge) in parts {
            if !self.enabled(point, *number, edge)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn together(&self, point: &Point, parts: &[(usize, &Edge)], into: &mut Vec<Stepped>) -> bool {
        if !self.may(point, &parts.iter().map(|(number, _)| *number).collect::<Vec<_>>()) {
            return false;
        }
        match self.all_enabled(point, parts) {
            Ok(true) => self.taken(point, parts, into),
            Ok(false) => return false,
            Err(()) => into.push(Err(())),
        }
        true
    }

    /// All steps, and whether one over the urgent channel is possible.
    fn steps(&self, point: &Point) -> (Vec<Stepped>, bool) {
        let (mut found, mut urgent) = (Vec::new(), false);
        let mut ranked: Vec<(u8, u8)> = Vec::new();
        let mut rank = |found: &[Stepped], channel: Option<usize>, processes: &[usize]| {
            let rank = self.ranks.as_ref().map_or((0, 0), |ranks| ranks.of(channel, processes));
            ranked.resize(found.len(), rank);
        };
        for number in 0..self.processes.len() {
            let other = 1 - number;
            for edge in self.leaving(point, number, Sync::None) {
                self.together(point, &[(number, edge)], &mut found);
            }
            rank(&found, None, &[number]);
            for channel in [0, 2] {
                for sender in self.leaving(point, number, Sync::Send(channel)) {
                    for receiver in self.leaving(point, other, Sync::Receive(channel)) {
                        let parts = [(number, sender), (other, receiver)];
                        let possible = self.together(point, &parts, &mut found);
                        urgent |= channel == 2 && possible && self.all_enabled(point, &parts) == Ok(true);
                    }
                }
                rank(&found, Some(channel), &[number, other]);
            }
            for sender in self.leaving(point, number, Sync::Send(1)) {
                let receivers = self.leaving(point, other, Sync::Receive(1));
                let able = |edge: &&&Edge| self.enabled(point, other, edge) == Ok(true);
                let receivers: Vec<&Edge> = receivers.iter().filter(able).copied().collect();
                for receiver in &receivers {
                    self.together(point, &[(number, sender), (other, receiver)], &mut found);
                }
                // (No broadcast is heard by somebody with a higher priority than the sender's.)
                if receivers.is_empty() {
                    self.together(point, &[(number, sender)], &mut found);
                }
            }
            rank(&found, Some(1), &[number]);
        }
        let most = ranked.iter().max().copied();
        let mut ranks = ranked.into_iter();
        found.retain(|_| ranks.next() == most);
        (found, urgent)
    }

    fn graph(&self) -> Graph {
        let start = Point { at: vec![0; 2], clocks: vec![(0, 0); 2], apart: 0, v: 0, a: [0; 2] };
        let mut graph =
            Graph { points: vec![start.clone()], steps: Vec::new(), delay: Vec::new(), faults: false };
        let mut index = HashMap::from([(start, 0)]);
        let mut number = |point: Point, points: &mut Vec<Point>| {
            *index.entry(point.clone()).or_insert_with(|| {
                points.push(point);
                points.len() - 1
            })
        };
        while graph.steps.len() < graph.points.len() {
            let point = graph.points[graph.steps.len()].clone();
            let (steps, urgent) = self.steps(&point);
            graph.faults |= steps.contains(&Err(()));
            let steps = steps.into_iter().flatten().map(|next| number(next, &mut graph.points)).collect();
            let locations = self.processes.iter().zip(&point.at);
            let still = urgent || locations.into_iter().any(|(process, at)| process.locations[*at].urgent);
            let clocks = later(&point.clocks).unwrap_or_else(|| point.clocks.clone());
            let next = Some(Point { clocks, ..point }).filter(|next| !still && self.allowed(next));
            graph.steps.push(steps);
            graph.delay.push(next.map(|next| number(next, &mut graph.points)));
        }
        graph
    }
}

struct Graph {
    points: Vec<Point>,
    steps: Vec<Vec<usize>>,
    delay: Vec<Option<usize>>,
    faults: bool,
}

impl Graph {
    fn is_at(&self, point: usize, process: usize, location: usize) -> bool {
        self.points[point].at[process] == location
    }

    /// No step, now or later.
    fn is_stuck(&self, mut point: usize) -> bool {
        let mut seen = Vec::new();
        loop {
            if !self.steps[point].is_empty() {
                return false;
            }
            seen.push(point);
            match self.delay[point] {
                Some(next) if !seen.contains(&next) => point = next,
                _ => return true,
            }
        }
    }

    /// From where a run that cannot be made longer stays in a set.
    fn stays(&self, set: impl Fn(usize) -> bool) -> Vec<bool> {
        let mut found: Vec<bool> = (0..self.points.len()).map(set).collect();
        loop {
            let goes_on = |at: usize| {
                let mut next = self.steps[at].iter().chain(&self.delay[at]).peekable();
                next.peek().is_none() || next.any(|to| found[*to])
            };
            let next: Vec<bool> = (0..found.len()).map(|at| found[at] && goes_on(at)).collect();
            if next == found {
                return found;
            }
            found = next;
        }
    }
}

impl Edge {
    fn new(random: &mut Random, locations: u64, faults: bool, differences: bool) -> Edge {
        let guard = (random.below(2) == 0).then(|| Guard {
            op: random.one_of(&[">=", ">=", ">", "<=", "<", "=="]),
            bound: 1 + random.below(u64::from(GREATEST)) as u8,
        });
        let sync = match random.below(10) {
            0 => Sync::Send(0),
            1 => Sync::Receive(0),
            2 => Sync::Send(1),
            3 | 4 => Sync::Receive(1),
            5 => Sync::Send(2),
            6 => Sync::Receive(2),
            _ => Sync::None,
        };
        let value =
            |random: &mut Random, chance: u64| (random.below(chance) == 0).then(|| random.below(3) as u8);
        let effect = match random.below(if faults { 5 } else { 8 }) {
            0 => Effect::Set(random.below(3) as u8),
            1 if faults => Effect::Increase,
            2 if faults => Effect::Write(random.below(3) as u8),
            3 => Effect::Turn,
            4 if !matches!(sync, Sync::Receive(1)) => Effect::Selected,
            _ => Effect::None,
        };
        let urgent = matches!(sync, Sync::Send(2) | Sync::Receive(2));
        let receives = sync == Sync::Receive(1);
        Edge {
            from: random.below(locations) as usize,
            to: random.below(locations) as usize,
            // The urgent channel allows no guards on clocks.
            guard: guard.filter(|_| !urgent),
            apart: (differences && !urgent && random.below(2) == 0).then(|| Apart::new(random)),
            flag: value(random, 3),
            entry: value(random, 3).filter(|_| faults && !receives),
            sync,
            reset: match random.below(4) {
                0 | 1 => Some(0),
                2 => Some(1),
                _ => None,
            },
            effect,
        }
    }

    fn text(&self, number: usize) -> String {
        let mut text = format!("L{} -> L{} {{ ", self.from, self.to);
        if self.effect == Effect::Selected {
            text += "select s : int[0,1]; ";
        }
        let clock = self.guard.map(|guard| format!("x{number} {} {}", guard.op, guard.bound));
        let flag = self.flag.map(|flag| format!("v == {flag}"));
        let entry = self.entry.map(|entry| format!("w[v] == {entry}"));
        let apart = self.apart.map(Apart::text);
        let guards: Vec<String> = clock.into_iter().chain(apart).chain(flag).chain(entry).collect();
        if !guards.is_empty() {
            text += &format!("guard {}; ", guards.join(" && "));
        }
        match self.sync {
            Sync::None => {}
            Sync::Send(number) => text += &format!("sync {}!; ", CHANNELS[number]),
            Sync::Receive(number) => text += &format!("sync {}?; ", CHANNELS[number]),
        }
        let effect = match self.effect {
            Effect::None => None,
            Effect::Set(value) => Some(format!("v = {value}")),
            Effect::Increase => Some("v++".to_string()),
            Effect::Write(entry) => Some(format!("w[v] = {entry}")),
            Effect::Turn => Some("v = turn(v)".to_string()),
            Effect::Selected => Some("v = s".to_string()),
        };
        let updates: Vec<String> =
            self.reset.map(|value| format!("x{number} = {value}")).into_iter().chain(effect).collect();
        if !updates.is_empty() {
            text += &format!("assign {}; ", updates.join(", "));
        }
        text + "}"
    }
}

pub(crate) fn number(names: &[&str], otherwise: u64) -> u64 {
    let found = names.iter().find_map(|name| std::env::var(name).ok()?.parse().ok());
    found.unwrap_or(otherwise)
}

/// What is asked of a network, and the answers.
fn questions(network: &Network, graph: &Graph, differences: bool) -> (String, Vec<bool>) {
    let (mut queries, mut expected) = (String::new(), Vec::new());
    let mut ask = |query: String, answer: bool| {
        queries += &query;
        queries.push('\n');
        expected.push(answer);
    };
    let reached = || 0..graph.points.len();
    let locations = |number: usize| 0..network.processes[number].locations.len();
    for (p, q) in locations(0).flat_map(|p| locations(1).map(move |q| (p, q))) {
        let both = |point: usize| graph.is_at(point, 0, p) && graph.is_at(point, 1, q);
        ask(format!("E<> P0.L{p} && P1.L{q}"), reached().any(both));
    }
    ask("A[] not deadlock".into(), !reached().any(|point| graph.is_stuck(point)));
    for (process, at) in (0..2).flat_map(|process| locations(process).map(move |at| (process, at))) {
        let here = |point: usize| graph.is_at(point, process, at);
        ask(
            format!("E<> deadlock and P{process}.L{at}"),
            reached().any(|point| here(point) && graph.is_stuck(point)),
        );
        ask(
            format!("A[] not deadlock or not P{process}.L{at}"),
            !reached().any(|point| here(point) && graph.is_stuck(point)),
        );
        let away = graph.stays(|point| !here(point));
        ask(format!("E[] P{process}.L{at}"), graph.stays(here)[0]);
        ask(format!("A<> P{process}.L{at}"), !away[0]);
        let from = |point: usize| graph.is_at(point, 1 - process, 0);
        let leads = !reached().any(|point| from(point) && away[point]);
        ask(format!("P{}.L0 --> P{process}.L{at}", 1 - process), leads);
        ask(
            format!("A[] not P{process}.L{at} or not (v == 2)"),
            !reached().any(|point| here(point) && graph.points[point].v == 2),
        );
    }
    for bound in (-2..=2).filter(|_| differences) {
        let apart = Apart { op: "<", bound, form: 0 };
        let far = |point: usize| !apart.holds(graph.points[point].apart);
        ask(format!("E<> P0.L1 && x0 - x1 < {bound}"), reached().any(|at| graph.is_at(at, 0, 1) && !far(at)));
        ask(format!("A[] x0 < x1 + ({bound})"), !reached().any(far));
        ask(format!("A<> x0 - ({bound}) >= x1"), !graph.stays(|point| !far(point))[0]);
    }
    (queries, expected)
}

/// Compares what the engine says of a network with its graph. How many answers are yes and no, and whether something faults; nothing
/// if the network is too large, or refused for a reason with this word.
fn compare_network(
    seed: u64,
    network: &Network,
    differences: bool,
    refused: &str,
) -> Option<(u64, u64, bool)> {
    let graph = network.graph();
    if graph.points.len() > 4_000 {
        return None;
    }
    let (queries, expected) = questions(network, &graph, differences);
    let text = network.text();
    let mut sources = SourceMap::new();
    let id = sources.add("network.xta", text.as_str());
    let queries = sources.add("network.q", queries);
    let (model, diagnostics) = uppaal::load_xta(&sources, id, Some(queries), &Options::default());
    let by_name = |found: &shoal_syntax::Diagnostic| found.message.contains(refused);
    if model.is_none() && !refused.is_empty() && diagnostics.iter().all(by_name) {
        return None;
    }
    let model = model.unwrap_or_else(|| panic!("{diagnostics:?}\n{text}"));
    assert!(diagnostics.is_empty(), "{diagnostics:?}\n{text}");
    let asked = |kind: &PropertyKind| !matches!(kind, PropertyKind::Assume(_));
    let asked = model.properties.enumerate().filter(|(_, property)| asked(&property.kind));
    let asked: Vec<PropertyId> = asked.map(|(id, _)| id).collect();
    on_threads(&model, &Job::new(asked.clone()), &text);
    let outcome = shoal_timed::check(&model, &Job::new(asked), &mut Quiet)
        .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
    let expected = expected.into_iter().chain([!graph.faults]);
    assert_eq!(outcome.results.len(), expected.clone().count(), "seed {seed}\n{text}");
    let (mut yes, mut no) = (0, 0);
    for (result, expected) in outcome.results.iter().zip(expected) {
        let name = &model.properties[result.property].name;
        let holds = match &result.verdict {
            Verdict::Holds => true,
            Verdict::Violated(violation) => {
                shoal_interpret::confirm(&model, result.property, violation)
                    .unwrap_or_else(|error| panic!("seed {seed}: {name}: {error}\n{violation:?}\n{text}"));
                false
            }
            Verdict::Unknown(reason) => panic!("seed {seed}: {name}: {reason}\n{text}"),
        };
        assert_eq!(holds, expected, "seed {seed}: {name}\n{text}");
        if holds { yes += 1 } else { no += 1 }
    }
    Some((yes, no, graph.faults))
}

/// The seeds of a test, so many unless the environment says how many.
fn seeds(few: u64) -> impl ExactSizeIterator<Item = u64> {
    let count = number(&["SHOAL_RANDOM_MODELS", "SHOAL_RANDOM_SYSTEMS"], few) as u32;
    let first = number(&["PROPTEST_RNG_SEED"], 0).wrapping_mul(1_000_003);
    (0..count).map(move |seed| first.wrapping_add(u64::from(seed)))
}

#[test]
fn networks_are_read_as_they_are_meant() {
    let (mut yes, mut no, mut faulty) = (0, 0, 0);
    let seeds = seeds(60);
    let count = seeds.len() as u64;
    for seed in seeds {
        let differences = seed % 4 > 1;
        let network = Network::new(&mut Random::new(seed), seed % 2 == 0, differences);
        let Some((holds, fails, faults)) = compare_network(seed, &network, differences, "") else { continue };
        (yes, no, faulty) = (yes + holds, no + fails, faulty + u64::from(faults));
    }
    // Few networks fault: a small dose may have none.
    assert!(
        yes > count && no > count && (faulty > 0 || count <= 200),
        "{yes} yes, {no} no, {faulty} with faults"
    );
}

#[test]
fn what_has_priority_goes_first() {
    let (mut yes, mut no, mut matter) = (0, 0, 0);
    let seeds = seeds(80);
    let count = seeds.len() as u64;
    for seed in seeds {
        let random = &mut Random::new(seed);
        let mut network = Network::new(random, false, false);
        let free = network.graph().points.len();
        network.ranks = Some(Ranks::new(random));
        let Some((holds, fails, _)) = compare_network(seed, &network, false, "priorit") else { continue };
        (yes, no) = (yes + holds, no + fails);
        matter += u64::from(network.graph().points.len() != free);
    }
    // (In one of thirty priorities change what can be reached: of a few networks it may be none.)
    assert!(yes > count && no > count && matter > count / 120, "dull: {yes} yes, {no} no, {matter} changed");
}
