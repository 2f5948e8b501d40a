//! Any number of parts: the counter system as a picture, what can be covered, and why what holds does.

use std::collections::BTreeMap;

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
/// So much of a covering set, and so many views are shown.
const MOST_ELEMENTS: usize = 200;
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
    json!({ "sizes": sizes, "picture": picture })
}

/// Local states with the ways between them; what is shared is written at the ways.
fn drawn(counted: &shoal::CountedModel<'_>) -> LabelledGraph {
    let system = counted.system();
    let places = system.places as usize;
    let (from_nowhere, to_nowhere) = (places, places + 1);
    let mut ways: BTreeMap<(usize, usize), Vec<String>> = BTreeMap::new();
    for step in &system.transitions {
        let (before, after) = (counted.shared_name(step.from), counted.shared_name(step.to));
        let label = if step.from == step.to { before } else { format!("{before} → {after}") };
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
    let mut nodes: Vec<String> =
        (0..system.places).map(|place| format!("{}{}", counted.place_name(place), begin(place))).collect();
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
            let token = |(place, count): &(String, Option<u32>)| json!({ "place": place, "count": count });
            let shown = elements.iter().take(MOST_ELEMENTS).map(|element| {
                json!({ "shared": element.shared, "tokens": element.tokens.iter().map(token).collect::<Vec<_>>() })
            });
            json!({ "count": elements.len(), "elements": shown.collect::<Vec<_>>() })
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
            "views": proof.views.iter().take(MOST_ELEMENTS).map(view).collect::<Vec<_>>() })
    };
    found.iter().flat_map(|found| &found.proofs).map(one).collect()
}
