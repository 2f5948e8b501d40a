//! Counter systems in the languages of other tools: MIST nets, thread transition systems, PNML.
//!
//! What is written says the same as the system, read by us or by others, or it is refused by the name of what is in the way. A shared
//! state is a place with one token where a language has no shared states.

use std::{
    borrow::Cow,
    fmt::{self, Write},
};

use shoal_certificate::{Config, OMEGA, System, Transition};

/// A language for counter systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetLanguage {
    /// `.spec`
    Mist,
    /// `.tts`
    ThreadTransitions,
    /// `.pnml`
    Pnml,
}

/// What a language cannot say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CannotSay(Cow<'static, str>);

impl CannotSay {
    /// By the name of what is in the way.
    pub(crate) fn new(what: impl Into<Cow<'static, str>>) -> CannotSay {
        CannotSay(what.into())
    }
}

impl fmt::Display for CannotSay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a file cannot say of a counter system, and has to be said when it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportNote {
    /// Where threads begin.
    Init(String),
    /// What must not be reached.
    Target(String),
}

/// A counter system in a language, and what has to be said beside the file.
pub fn export_net(
    system: &System,
    targets: &[Config],
    language: NetLanguage,
) -> Result<(String, Vec<ExportNote>), CannotSay> {
    match language {
        NetLanguage::Mist => Ok((mist(system, targets)?, Vec::new())),
        NetLanguage::ThreadTransitions => threads(system, targets),
        NetLanguage::Pnml => pnml(system, targets),
    }
}

/// The one beginning that a file can say: what each place has at least, and at most.
fn beginning(system: &System) -> Result<(&Config, &Config), CannotSay> {
    match (system.least.as_slice(), system.initial.as_slice()) {
        ([least], [most]) => Ok((least, most)),
        _ => Err(CannotSay::new("several beginnings")),
    }
}

/// Places and shared states as the places of a net.
fn names(system: &System) -> Vec<String> {
    let shared = (0..system.shared).map(|at| format!("s{at}"));
    shared.chain((0..system.places).map(|at| format!("p{at}"))).collect()
}

/// Tokens of a configuration, by the names of their places.
fn tokens(config: &Config) -> impl Iterator<Item = (String, u32)> + '_ {
    let shared = (format!("s{}", config.shared), 1);
    std::iter::once(shared).chain(config.tokens.iter().map(|(place, count)| (format!("p{place}"), *count)))
}

fn mist(system: &System, targets: &[Config]) -> Result<String, CannotSay> {
    let (least, most) = beginning(system)?;
    let mut text = format!("vars\n  {}\n\nrules\n", names(system).join(" "));
    for transition in &system.transitions {
        text += &mist_rule(transition)?;
    }
    let starts = (0..system.shared).map(|at| format!("s{at} = {}", u32::from(at == most.shared)));
    let begins = |place: u32| match (least.count(place), most.count(place)) {
        (least, OMEGA) => format!("p{place} >= {least}"),
        (least, most) if least == most => format!("p{place} = {least}"),
        (least, most) => format!("p{place} in [{least}, {most}]"),
    };
    let starts: Vec<String> = starts.chain((0..system.places).map(begins)).collect();
    let _ = write!(text, "\ninit\n  {}\n\ntarget\n", starts.join(",\n  "));
    if targets.is_empty() {
        return Err(CannotSay::new("a net of which nothing is asked"));
    }
    for target in targets {
        let parts: Vec<String> = tokens(target).map(|(place, count)| format!("{place} >= {count}")).collect();
        let _ = writeln!(text, "  {}", parts.join(", "));
    }
    Ok(text)
}

fn mist_rule(transition: &Transition) -> Result<String, CannotSay> {
    let mut guard = vec![format!("s{} >= 1", transition.from)];
    guard.extend(transition.take.iter().map(|(place, count)| format!("p{place} >= {count}")));
    let mut updates = Vec::new();
    if transition.from != transition.to {
        updates.push(format!("s{0}' = s{0} - 1", transition.from));
        updates.push(format!("s{0}' = s{0} + 1", transition.to));
    }
    let moves = transition.transfers.iter();
    if moves.clone().any(|transfer| transfer.targets.len() > 1) {
        return Err(CannotSay::new("transfers in which each token chooses where it goes"));
    }
    let given = transition.take.iter().chain(&transition.give).map(|(place, _)| *place);
    let moved = moves.clone().flat_map(|transfer| transfer.targets.iter().copied().chain([transfer.place]));
    let mut changed: Vec<u32> = given.chain(moved).collect();
    changed.sort_unstable();
    changed.dedup();
    for place in changed {
        // What is left after taking stays or comes, then something is given.
        let stays = transition.transfer(place).is_none();
        let from = moves.clone().filter(|transfer| transfer.targets.contains(&place));
        let sources: Vec<u32> =
            stays.then_some(place).into_iter().chain(from.map(|transfer| transfer.place)).collect();
        let count = |arcs: &[(u32, u32)], of: u32| {
            arcs.iter().find(|(place, _)| *place == of).map_or(0, |(_, count)| i64::from(*count))
        };
        let taken: i64 = sources.iter().map(|source| count(&transition.take, *source)).sum();
        let more = count(&transition.give, place) - taken;
        let mut sum = sources.iter().map(|source| format!("p{source}")).collect::<Vec<_>>().join(" + ");
        match more {
            0 if sum.is_empty() => sum = "0".into(),
            0 => {}
            more if sum.is_empty() => sum = more.to_string(),
            more if more > 0 => sum += &format!(" + {more}"),
            more => sum += &format!(" - {}", -more),
        }
        updates.push(format!("p{place}' = {sum}"));
    }
    Ok(format!("  {} ->\n    {};\n", guard.join(", "), updates.join(",\n    ")))
}

fn threads(system: &System, targets: &[Config]) -> Result<(String, Vec<ExportNote>), CannotSay> {
    let (least, most) = beginning(system)?;
    let mut text = format!("{} {}\n", system.shared, system.places);
    for Transition { from, to, take, give, transfers } in &system.transitions {
        let mut passive = String::new();
        for transfer in transfers {
            if transfer.targets.is_empty() {
                return Err(CannotSay::new("threads that vanish"));
            }
            transfer.targets.iter().for_each(|target| passive += &format!(" {} ~> {target}", transfer.place));
        }
        match (take.as_slice(), give.as_slice()) {
            ([(before, 1)], [(after, 1)]) => {
                let _ = writeln!(text, "{from} {before} -> {to} {after}{passive}");
            }
            ([(before, 1)], [(one, 1), (other, 1)])
                if passive.is_empty() && [one, other].contains(&before) =>
            {
                let new = if one == before { other } else { one };
                let _ = writeln!(text, "{from} {before} +> {to} {new}");
            }
            ([(before, 1)], [(after, 2)]) if passive.is_empty() && before == after => {
                let _ = writeln!(text, "{from} {before} +> {to} {before}");
            }
            _ => {
                return Err(CannotSay::new(
                    "a step that is not one of a single thread, which stays or starts one more",
                ));
            }
        }
    }
    let locals = |counts: &mut dyn Iterator<Item = (u32, u32)>| {
        let list = counts.flat_map(|(place, count)| (0..count).map(move |_| place.to_string()));
        list.collect::<Vec<_>>().join(",")
    };
    if most.tokens.iter().any(|(place, count)| *count != OMEGA && least.count(*place) != *count)
        || most.tokens.iter().any(|(place, count)| *count == OMEGA && least.count(*place) > 0)
    {
        return Err(CannotSay::new("a beginning with some threads, or no fewer than some"));
    }
    let single = locals(&mut most.tokens.iter().copied().filter(|(_, count)| *count != OMEGA));
    let many = most.tokens.iter().filter(|(_, count)| *count == OMEGA).map(|(place, _)| (*place, 1));
    let many = locals(&mut many.into_iter());
    let several = if many.is_empty() { String::new() } else { format!("/{many}") };
    let bar = if single.is_empty() { String::new() } else { format!("|{single}") };
    let [target] = targets else {
        return Err(CannotSay::new("several targets, or none"));
    };
    let _ = writeln!(text, "{}|{}", target.shared, locals(&mut target.tokens.iter().copied()));
    Ok((text, vec![ExportNote::Init(format!("{}{bar}{several}", most.shared))]))
}

fn pnml(system: &System, targets: &[Config]) -> Result<(String, Vec<ExportNote>), CannotSay> {
    let (least, most) = beginning(system)?;
    if system.transitions.iter().any(|transition| !transition.transfers.is_empty()) {
        return Err(CannotSay::new("transfers"));
    }
    let mut text = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <pnml xmlns=\"http://www.pnml.org/version-2009/grammar/pnml\">\n\
         <net id=\"net\" type=\"http://www.pnml.org/version-2009/grammar/ptnet\">\n<page id=\"page\">\n",
    );
    let place = |text: &mut String, name: &str, marked: u32| {
        let _ = write!(text, "<place id=\"{name}\">");
        if marked > 0 {
            let _ = write!(text, "<initialMarking><text>{marked}</text></initialMarking>");
        }
        text.push_str("</place>\n");
    };
    for at in 0..system.shared {
        place(&mut text, &format!("s{at}"), u32::from(at == most.shared));
    }
    for at in 0..system.places {
        match (least.count(at), most.count(at)) {
            (least, most) if least == most || most == OMEGA => place(&mut text, &format!("p{at}"), least),
            _ => {
                return Err(CannotSay::new("a beginning with one of several numbers of tokens"));
            }
        }
    }
    let mut arcs = 0;
    let mut step = |text: &mut String, name: String, takes: Vec<(String, u32)>, gives: Vec<(String, u32)>| {
        let _ = writeln!(text, "<transition id=\"{name}\"/>");
        let into = takes.into_iter().map(|(place, count)| (place, name.clone(), count));
        let out = gives.into_iter().map(|(place, count)| (name.clone(), place, count));
        for (source, target, count) in into.chain(out) {
            arcs += 1;
            let weight = match count {
                1 => String::new(),
                count => format!("<inscription><text>{count}</text></inscription>"),
            };
            let _ =
                writeln!(text, "<arc id=\"a{arcs}\" source=\"{source}\" target=\"{target}\">{weight}</arc>");
        }
    };
    for (number, transition) in system.transitions.iter().enumerate() {
        let named = |arcs: &[(u32, u32)], shared: u32| {
            let places = arcs.iter().map(|(place, count)| (format!("p{place}"), *count));
            std::iter::once((format!("s{shared}"), 1)).chain(places).collect::<Vec<_>>()
        };
        let (takes, gives) =
            (named(&transition.take, transition.from), named(&transition.give, transition.to));
        step(&mut text, format!("t{number}"), takes, gives);
    }
    // As many as anybody wants at the beginning is the same as more at any time: nothing here is hindered by them.
    for (at, _) in most.tokens.iter().filter(|(_, count)| *count == OMEGA) {
        step(&mut text, format!("more{at}"), Vec::new(), vec![(format!("p{at}"), 1)]);
    }
    text.push_str("</page>\n</net>\n</pnml>\n");
    let [target] = targets else {
        return Err(CannotSay::new("several targets, or none"));
    };
    let parts: Vec<String> = tokens(target).map(|(place, count)| format!("{place}>={count}")).collect();
    Ok((text, vec![ExportNote::Target(parts.join(","))]))
}
