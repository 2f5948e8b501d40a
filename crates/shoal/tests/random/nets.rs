//! Nets, and the token game: nets are made, printed for Shoal in two formats, and played here with tokens.

use std::{
    collections::{HashSet, VecDeque},
    fmt::Write,
};

use super::choices::Choices;

/// A net whose places are numbers.
pub(crate) struct Net {
    transitions: Vec<Transition>,
    /// What a place holds in the beginning: at least, and at most where there is an end.
    initial: Vec<(u32, Option<u32>)>,
    /// How many tokens must not be reached, together; one of the list is enough.
    targets: Vec<Vec<(usize, u32)>>,
}

struct Transition {
    take: Vec<u32>,
    give: Vec<u32>,
    /// Where all tokens of a place go that are left; nowhere for a reset. Only one place is emptied.
    empties: Option<(usize, Option<usize>)>,
}

/// What the game showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Played {
    Reached,
    /// All markings were seen.
    Never,
    /// Some markings were not looked at.
    Unknown,
}

/// A net from choices.
pub(crate) fn net(choices: &mut Choices<'_>) -> Net {
    let places = 2 + choices.pick(4);
    let mut transitions = Vec::new();
    for _ in 0..1 + choices.pick(6) {
        let (mut take, mut give) = (vec![0; places], vec![0; places]);
        for _ in 0..1 + choices.pick(2) {
            take[choices.pick(places)] += 1 + choices.pick(4) as u32 / 3;
        }
        for _ in 0..choices.pick(3) {
            give[choices.pick(places)] += 1 + choices.pick(4) as u32 / 3;
        }
        let empties = (choices.pick(6) == 5).then(|| {
            let from = choices.pick(places);
            (from, Some(choices.pick(places)).filter(|to| *to != from))
        });
        transitions.push(Transition { take, give, empties });
    }
    let initial = (0..places)
        .map(|_| match choices.pick(6) {
            0 | 1 => (0, Some(0)),
            2 | 3 => (1, Some(1)),
            4 => (0, Some(2)),
            _ => (choices.pick(2) as u32, None),
        })
        .collect();
    let conjunct = |choices: &mut Choices<'_>| {
        let mut parts: Vec<(usize, u32)> = Vec::new();
        for _ in 0..1 + choices.pick(2) {
            let place = choices.pick(places);
            if parts.iter().all(|part| part.0 != place) {
                parts.push((place, 1 + choices.pick(3) as u32));
            }
        }
        parts
    };
    let targets = (0..1 + choices.pick(4) / 3).map(|_| conjunct(choices)).collect();
    Net { transitions, initial, targets }
}

impl Net {
    /// As MIST writes it.
    pub(crate) fn spec(&self) -> String {
        let mut text = String::from("vars");
        (0..self.initial.len()).for_each(|place| write!(text, " p{place}").unwrap());
        text.push_str("\nrules\n");
        for transition in &self.transitions {
            let guard: Vec<String> = (0..self.initial.len())
                .filter(|place| transition.take[*place] > 0)
                .map(|place| format!("p{place} >= {}", transition.take[place]))
                .collect();
            let mut updates = Vec::new();
            for place in 0..self.initial.len() {
                let change = i64::from(transition.give[place]) - i64::from(transition.take[place]);
                // What is left of a place that is emptied goes elsewhere; what is given comes after.
                let (sources, constant) = match transition.empties {
                    Some((from, _)) if from == place => (Vec::new(), i64::from(transition.give[place])),
                    Some((from, Some(to))) if to == place => {
                        (vec![place, from], change - i64::from(transition.take[from]))
                    }
                    _ => (vec![place], change),
                };
                let mut sum = sources.iter().map(|place| format!("p{place}")).collect::<Vec<_>>().join(" + ");
                match (sum.is_empty(), constant) {
                    (true, constant) => sum = constant.to_string(),
                    (false, 0) => {}
                    (false, constant) if constant > 0 => write!(sum, " + {constant}").unwrap(),
                    (false, constant) => write!(sum, " - {}", -constant).unwrap(),
                }
                if sum != format!("p{place}") {
                    updates.push(format!("p{place}' = {sum}"));
                }
            }
            writeln!(text, "  {} -> {};", guard.join(", "), updates.join(", ")).unwrap();
        }
        let bounds = |(place, (least, most)): (usize, &(u32, Option<u32>))| match most {
            Some(most) if most == least => format!("p{place} = {most}"),
            Some(most) => format!("p{place} in [{least}, {most}]"),
            None => format!("p{place} >= {least}"),
        };
        let initial: Vec<String> = self.initial.iter().enumerate().map(bounds).collect();
        write!(text, "init\n  {}\ntarget\n", initial.join(", ")).unwrap();
        for target in &self.targets {
            let parts: Vec<String> =
                target.iter().map(|(place, count)| format!("p{place} >= {count}")).collect();
            writeln!(text, "  {}", parts.join(", ")).unwrap();
        }
        text
    }

    /// As PNML, and its target; nothing if it is no place/transition net with one beginning and one target.
    pub(crate) fn pnml(&self) -> Option<(String, String)> {
        let [target] = &self.targets[..] else { return None };
        if self.transitions.iter().any(|transition| transition.empties.is_some()) {
            return None;
        }
        let mut text = String::from(
            "<pnml xmlns='http://www.pnml.org/version-2009/grammar/pnml'>\n<net id='n' type='http://www.pnml.org/version-2009/grammar/ptnet'>\n<page id='1'><name><text>a page</text></name>\n",
        );
        let mut arcs = String::new();
        for (at, transition) in self.transitions.iter().enumerate() {
            for (place, [take, give]) in
                transition.take.iter().zip(&transition.give).map(|(a, b)| [*a, *b]).enumerate()
            {
                for (weight, from, to) in [
                    (take, format!("p{place}"), format!("t{at}")),
                    (give, format!("t{at}"), format!("p{place}")),
                ] {
                    match weight {
                        0 => {}
                        1 => writeln!(arcs, "<arc id='{from}{to}' source='{from}' target='{to}'/>").unwrap(),
                        // Two arcs are as good as one that weighs two.
                        2 if at % 2 == 0 => {
                            writeln!(arcs, "<arc id='{from}{to}' source='{from}' target='{to}'/>").unwrap();
                            writeln!(arcs, "<arc id='2{from}{to}' source='{from}' target='{to}' type='normal'/>").unwrap();
                        }
                        _ => writeln!(arcs, "<arc id='{from}{to}' source='{from}' target='{to}'><inscription><text> {weight}</text></inscription></arc>").unwrap(),
                    }
                }
            }
            writeln!(arcs, "<transition id='t{at}'/>").unwrap();
        }
        text.push_str(&arcs);
        for (place, (least, most)) in self.initial.iter().enumerate() {
            if *most != Some(*least) {
                return None;
            }
            writeln!(
                text,
                "<place id='p{place}'><initialMarking><text>{least}</text></initialMarking></place>"
            )
            .unwrap();
        }
        text.push_str("</page></net></pnml>\n");
        let parts: Vec<String> = target.iter().map(|(place, count)| format!("p{place}>={count}")).collect();
        Some((text, parts.join(",")))
    }

    /// Whether it begins in one way only.
    pub(crate) fn is_fixed(&self) -> bool {
        self.initial.iter().all(|(least, most)| *most == Some(*least))
    }

    /// Plays from every beginning with at most `extra` tokens where there is no end.
    pub(crate) fn play(&self, extra: u32, markings: usize, largest: u32) -> Played {
        let mut seen: HashSet<Vec<u32>> = HashSet::from([Vec::new()]);
        for (least, most) in &self.initial {
            let values: Vec<u32> = (*least..=most.unwrap_or(least + extra)).collect();
            seen = seen
                .iter()
                .flat_map(|some| values.iter().map(move |value| [&some[..], &[*value]].concat()))
                .collect();
        }
        let mut open: VecDeque<Vec<u32>> = seen.iter().cloned().collect();
        let mut complete = true;
        while let Some(marking) = open.pop_front() {
            if self.targets.iter().any(|target| target.iter().all(|(place, count)| marking[*place] >= *count))
            {
                return Played::Reached;
            }
            for transition in &self.transitions {
                let Some(next) = transition.fire(&marking) else { continue };
                if next.iter().any(|tokens| *tokens > largest) || seen.len() > markings {
                    complete = false;
                } else if seen.insert(next.clone()) {
                    open.push_back(next);
                }
            }
        }
        if complete { Played::Never } else { Played::Unknown }
    }
}

impl Transition {
    fn fire(&self, marking: &[u32]) -> Option<Vec<u32>> {
        let mut next = marking.to_vec();
        for (tokens, taken) in next.iter_mut().zip(&self.take) {
            *tokens = tokens.checked_sub(*taken)?;
        }
        if let Some((from, to)) = self.empties {
            let moved = std::mem::take(&mut next[from]);
            if let Some(to) = to {
                next[to] += moved;
            }
        }
        next.iter_mut().zip(&self.give).for_each(|(tokens, given)| *tokens += given);
        Some(next)
    }
}
