//! Any number of parts: the counter system as a picture, what can be covered, and why what holds does.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};
use shoal::{
    CheckOptions, CoverSet, Error, Evidence, Loaded, Report, Session, Watch,
    model::{PropertyId, Quiet, SortSize, Verdict},
};
use shoal_report::{Arguments, LabelledGraph, picture_as_json};

use crate::{
    Studio,
    api::{Call, CallError, object},
    models::ModelCall,
};

/// A counter system with more places is not drawn.
const MOST_PLACES: usize = 120;
/// So much of a covering set, and so many views are sent.
const MOST_ELEMENTS: usize = 200;
const MOST_VIEWS: usize = 4_000;
/// The checks of one call end here if it says nothing else.
const WORDS_OF_A_WAY: usize = 3;

impl Studio {
    /// What is known of a model with any number of parts: verdicts with what stands behind them, the counter system, the covering
    /// set. The watch of the call ends whatever takes too long, and the answer says which part that was.
    pub(crate) fn any_number(&self, given: &mut Arguments) -> Call {
        let watch = given.watch()?;
        let call = ModelCall::take(&self.folder, given)?;
        given.end()?;
        let session = self.session(&call)?;
        let loaded = session.loaded();
        let open = loaded.model.sorts.iter().filter(|sort| sort.size == SortSize::Any);
        let open: Vec<&str> = open.map(|sort| sort.name.as_str()).collect();
        let is_net = loaded.model.sorts.is_empty() && shoal::count(loaded, &watch).is_ok();
        if open.is_empty() && !is_net {
            let sorts: Vec<&str> = loaded.model.sorts.iter().map(|sort| sort.name.as_str()).collect();
            let what = match sorts.as_slice() {
                [] => "it has no sorts: there is nothing that it could have any number of".to_string(),
                some => format!("its parts are counted: set one of {} to any", some.join(", ")),
            };
            return Err(CallError::new(422, "counted", what));
        }
        let report =
            session.run(&CheckOptions { watch: watch.clone(), ..CheckOptions::default() }, &mut |_| {})?;
        let counters = counters(&session, &watch);
        object(json!({
            "hash": call.hash(),
            "open": open,
            "engine": report.outcome.statistics.engine,
            "properties": properties(loaded, &report, &watch),
            "counters": counters,
            "cover": cover(loaded, &watch),
            "views": views(loaded, &report, &watch),
        }))
    }
}

/// The verdicts, what stands behind each, and what the checker says of it.
fn properties(loaded: &Loaded, report: &Report, watch: &Watch) -> Vec<Json> {
    let audited = audited(loaded, report, watch);
    let one = |result: &shoal::model::PropertyResult| {
        let property = &loaded.model.properties[result.property];
        let (word, reason) = match &result.verdict {
            Verdict::Holds => ("holds", None),
            Verdict::Violated(_) => ("violated", None),
            Verdict::Unknown(reason) => ("unknown", Some(reason.to_string())),
        };
        let proved = report.proved.iter().find(|proved| proved.property == result.property);
        let (evidence, audit) = match audited.get(&result.property) {
            Some((evidence, audit)) => (Some(*evidence), Some(audit.clone())),
            None => (None, None),
        };
        json!({
            "name": property.name, "title": property.title(), "verdict": word, "reason": reason,
            "words": proved.and_then(|proved| proved.words(loaded)),
            "elements": proved.and_then(|proved| proved.elements).map(|(count, least)| json!({ "count": count, "least": least })),
            "evidence": evidence, "audit": audit,
        })
    };
    report.outcome.results.iter().map(one).collect()
}

/// What kind of certificate there is for each property, and what the second checker says of it.
fn audited(loaded: &Loaded, report: &Report, watch: &Watch) -> BTreeMap<PropertyId, (&'static str, String)> {
    let mut found = BTreeMap::new();
    let done: Result<(), Error> = shoal::certificates(loaded, report, watch, |certified| {
        let (kind, said) = match &certified.evidence {
            Evidence::Counters { counted, targets, proof } => {
                let [property] = certified.properties[..] else { return Ok(()) };
                let parts = (counted.system(), &targets[..], *proof);
                (
                    "counters",
                    shoal::verify(loaded, counted, property, parts)?.map(|()| "accepted".to_string()),
                )
            }
            Evidence::Views(invariant) => {
                let audit = shoal::verify_views(loaded, invariant, &certified.properties, false, watch)?;
                let said = audit.map(|audit| {
                    format!("accepted: looked at {} of {} views", audit.looked.windows, audit.looked.all)
                });
                ("views", said)
            }
            _ => return Ok(()),
        };
        // What the checker cannot follow is not wrong.
        let said = said.unwrap_or_else(|why| match why.contains("does not support") {
            true => format!("not looked at: {why}"),
            false => format!("rejected: {why}"),
        });
        certified.properties.iter().for_each(|property| drop(found.insert(*property, (kind, said.clone()))));
        Ok(())
    });
    // What was not reached has no certificate in the answer; a verdict does not rest on that.
    if let Err(error) = done {
        for proved in report.proved.iter().filter(|proved| proved.proof.is_some() || proved.views.is_some()) {
            let kind = if proved.proof.is_some() { "counters" } else { "views" };
            found.entry(proved.property).or_insert_with(|| (kind, format!("not looked at: {error}")));
        }
    }
    found
}

/// The counter system, as a picture if it is small enough; or why there is none.
fn counters(session: &Session, watch: &Watch) -> Json {
    let counted = match shoal::count(session.loaded(), watch) {
        Ok(counted) => counted,
        Err(error) => return json!({ "refused": error.to_string() }),
    };
    let system = counted.system();
    let sizes =
        json!({ "places": system.places, "shared": system.shared, "transitions": system.transitions.len() });
    let picture = (system.places as usize <= MOST_PLACES).then(|| picture_as_json(&drawn(&counted)));
    let names = (system.places as usize <= MOST_PLACES).then(|| place_names(&counted));
    json!({ "sizes": sizes, "picture": picture, "names": names })
}

fn place_names(counted: &shoal::CountedModel<'_>) -> Vec<String> {
    (0..counted.system().places).map(|place| counted.place_name(place)).collect()
}

/// Names such as `pc=main:12 got=true up=false` without what most of them have in common: `main:12 got`. Others stay as they are.
fn brief(names: &[String]) -> Vec<String> {
    let parts = |name: &String| -> Option<Vec<(String, String)>> {
        name.split(' ')
            .map(|part| part.split_once('=').map(|(key, value)| (key.into(), value.into())))
            .collect()
    };
    let Some(all) = names.iter().map(parts).collect::<Option<Vec<_>>>() else { return names.to_vec() };
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (key, value) in all.iter().flatten() {
        *counts.entry((key, value)).or_default() += 1;
    }
    let mut common: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    for ((key, value), count) in &counts {
        if common.get(key).is_none_or(|(_, most)| most < count) {
            common.insert(key, (value, *count));
        }
    }
    let one = |parts: &Vec<(String, String)>| {
        let differs = |(at, (key, value)): (usize, &(String, String))| {
            let usual = common.get(key.as_str()).is_some_and(|(usual, _)| usual == value);
            match (at, value.as_str()) {
                (0, value) if key == "pc" => Some(value.to_string()),
                (0, _) if parts.len() == 1 => Some(format!("{key}={value}")),
                _ if usual => None,
                (_, "true") => Some(key.clone()),
                (_, "false") => Some(format!("!{key}")),
                _ => Some(format!("{key}={value}")),
            }
        };
        let kept: Vec<String> = parts.iter().enumerate().filter_map(differs).collect();
        if kept.is_empty() { "·".to_string() } else { kept.join(" ") }
    };
    all.iter().map(one).collect()
}

/// Local states with the ways between them; what is shared is written at the ways.
fn drawn(counted: &shoal::CountedModel<'_>) -> LabelledGraph {
    let system = counted.system();
    let places = system.places as usize;
    let (from_nowhere, to_nowhere) = (places, places + 1);
    let mut ways: BTreeMap<(usize, usize), Vec<String>> = BTreeMap::new();
    let used: BTreeSet<u32> = system.transitions.iter().flat_map(|step| [step.from, step.to]).collect();
    let used: Vec<u32> = used.into_iter().collect();
    let shared = brief(&used.iter().map(|state| counted.shared_name(*state)).collect::<Vec<_>>());
    let shared: BTreeMap<u32, &String> = used.iter().copied().zip(&shared).collect();
    for step in &system.transitions {
        let (before, after) = (shared[&step.from], shared[&step.to]);
        let label = if step.from == step.to { before.clone() } else { format!("{before} → {after}") };
        let mut way = |from: usize, to: usize, label: String| {
            let known = ways.entry((from, to)).or_default();
            if !known.contains(&label) {
                known.push(label);
            }
        };
        let many = |tokens: &[(u32, u32)]| -> Vec<usize> {
            tokens
                .iter()
                .flat_map(|(place, count)| std::iter::repeat_n(*place as usize, (*count).min(4) as usize))
                .collect()
        };
        let (take, give) = (many(&step.take), many(&step.give));
        for at in 0..take.len().max(give.len()) {
            let from = take.get(at).copied().unwrap_or(from_nowhere);
            let to = give.get(at).copied().unwrap_or(to_nowhere);
            way(from, to, label.clone());
        }
        for transfer in &step.transfers {
            for target in &transfer.targets {
                way(transfer.place as usize, *target as usize, format!("{label} (all at once)"));
            }
        }
    }
    let begin = |place: u32| {
        let counts = system.initial.iter().map(|config| config.count(place)).max();
        match counts {
            None | Some(0) => String::new(),
            Some(u32::MAX) => "\nω at the start".to_string(),
            Some(count) => format!("\n{count} at the start"),
        }
    };
    let names = brief(&place_names(counted));
    let mut nodes: Vec<String> =
        (0..system.places).map(|place| format!("{}{}", names[place as usize], begin(place))).collect();
    let starts: Vec<usize> = (0..places).filter(|place| nodes[*place].contains('\n')).collect();
    let mut moved: BTreeMap<usize, usize> = BTreeMap::new();
    for (special, name) in [(from_nowhere, "(new)"), (to_nowhere, "(gone)")] {
        if ways.keys().any(|(from, to)| *from == special || *to == special) {
            moved.insert(special, nodes.len());
            nodes.push(name.into());
        }
    }
    let node = |number: usize| moved.get(&number).copied().unwrap_or(number);
    let edges = ways.into_iter().map(|((from, to), mut labels)| {
        let more = labels.len() > WORDS_OF_A_WAY;
        labels.truncate(WORDS_OF_A_WAY);
        let dots = if more { ", …" } else { "" };
        (node(from), format!("{}{dots}", labels.join(", ")), node(to))
    });
    LabelledGraph { name: String::new(), nodes, starts, edges: edges.collect() }
}

/// Everything that can be covered; or why that is not known.
fn cover(loaded: &Loaded, watch: &Watch) -> Json {
    match shoal::cover_set(loaded, watch, &mut Quiet) {
        Err(error) => json!({ "refused": error.to_string() }),
        Ok(Err(reason)) => json!({ "refused": reason.to_string() }),
        Ok(Ok(CoverSet { elements, .. })) => {
            let shown = &elements[..elements.len().min(MOST_ELEMENTS)];
            let shared = brief(&shown.iter().map(|element| element.shared.clone()).collect::<Vec<_>>());
            let places: BTreeSet<&String> =
                shown.iter().flat_map(|it| &it.tokens).map(|(place, _)| place).collect();
            let places: Vec<String> = places.into_iter().cloned().collect();
            let short = brief(&places);
            let named = |place: &String| places.binary_search(place).ok().map(|at| short[at].as_str());
            let token = |(place, count): &(String, Option<u32>)| json!({ "place": named(place), "whole": place, "count": count });
            let element = |(element, brief): (&shoal::GreatestElement, &String)| json!({ "shared": brief, "whole": element.shared, "tokens": element.tokens.iter().map(token).collect::<Vec<_>>() });
            json!({ "count": elements.len(), "elements": shown.iter().zip(&shared).map(element).collect::<Vec<_>>() })
        }
    }
}

/// What a few parts can look like among any number, where that is why something holds.
fn views(loaded: &Loaded, report: &Report, watch: &Watch) -> Vec<Json> {
    if report.proved.iter().all(|proved| proved.views.is_none()) {
        return Vec::new();
    }
    let found = shoal::abstracted(loaded, watch);
    let one = |proof: &shoal::AbstractedProof| {
        let names = proof.properties.iter().map(|id| loaded.model.properties[*id].title());
        let view = |view: &shoal::ViewInWords| json!({ "shared": view.shared, "own": view.own });
        json!({ "words": proof.words, "properties": names.collect::<Vec<_>>(), "bits": proof.bits, "count": proof.count,
            "views": proof.views.iter().take(MOST_VIEWS).map(view).collect::<Vec<_>>() })
    };
    found.iter().flat_map(|found| &found.proofs).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::brief;

    #[test]
    fn names_are_told_by_what_differs() {
        let names = ["pc=main:1 up=false n=0", "pc=main:2 up=false n=0", "pc=main:2 up=true n=3"];
        assert_eq!(brief(&names.map(String::from)), ["main:1", "main:2", "main:2 up n=3"]);
        assert_eq!(brief(&["idle", "busy"].map(String::from)), ["idle", "busy"]);
        assert_eq!(
            brief(&["lock=false held=false", "lock=true held=false"].map(String::from)),
            ["·", "lock"]
        );
    }
}
