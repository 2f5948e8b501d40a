//! What comes with the program: chapters of the book, messages by code, models to learn from, prompts.

use serde_json::{Map, Value as Json, json};

/// The chapters that are of use to somebody who writes models, by name.
const CHAPTERS: [(&str, &str, &str); 9] = [
    ("tutorial", "A first look", include_str!("../book/tutorial.md")),
    ("murphi", "The language Murphi", include_str!("../book/murphi.md")),
    ("promela", "The language Promela", include_str!("../book/promela.md")),
    ("vpl", "VPL: automata with clocks", include_str!("../book/vpl.md")),
    ("uppaal", "UPPAAL models", include_str!("../book/uppaal.md")),
    ("red", "Red: processes that point to each other", include_str!("../book/red.md")),
    ("threads", "Boolean programs, transition systems, nets", include_str!("../book/threads.md")),
    ("properties", "Properties and verdicts", include_str!("../book/properties.md")),
    ("symmetry", "Symmetry", include_str!("../book/symmetry.md")),
];

/// Models to learn from. What Shoal says of each stands in its first lines.
const EXAMPLES: [(&str, &str); 14] = [
    ("murphi/peterson.m", include_str!("../models/murphi_peterson.m")),
    ("murphi/peterson_bug.m", include_str!("../models/murphi_peterson_bug.m")),
    ("murphi/german.m", include_str!("../models/murphi_german.m")),
    ("murphi/german_bug.m", include_str!("../models/murphi_german_bug.m")),
    ("murphi/two_phase_commit.m", include_str!("../models/murphi_two_phase_commit.m")),
    ("murphi/network_multiset.m", include_str!("../models/murphi_network_multiset.m")),
    ("murphi/starvation.m", include_str!("../models/murphi_starvation.m")),
    ("promela/alternating_bit.pml", include_str!("../models/promela_alternating_bit.pml")),
    ("promela/lost_update.pml", include_str!("../models/promela_lost_update.pml")),
    ("heap/treiber_stack.dpml", include_str!("../models/heap_treiber_stack.dpml")),
    ("uppaal/fischer.xta", include_str!("../models/uppaal_fischer.xta")),
    ("sgm/fischer.vpl", include_str!("../models/sgm_fischer.vpl")),
    ("red/mcs.red", include_str!("../models/red_mcs.red")),
    ("beacon/barrier.bp", include_str!("../models/beacon_barrier.bp")),
];

pub(crate) fn resources() -> Json {
    let chapter = |(name, title, _): &(&str, &str, &str)| json!({ "uri": format!("shoal://book/{name}"), "name": name, "title": title, "mimeType": "text/markdown" });
    let example = |(name, _): &(&str, &str)| json!({ "uri": format!("shoal://models/{name}"), "name": name, "mimeType": "text/plain" });
    CHAPTERS.iter().map(chapter).chain(EXAMPLES.iter().map(example)).collect()
}

pub(crate) fn resource(uri: &str) -> Option<Json> {
    let chapter = uri.strip_prefix("shoal://book/");
    let example = uri.strip_prefix("shoal://models/");
    let (kind, text) = match (chapter, example) {
        (Some(name), _) => ("text/markdown", CHAPTERS.iter().find(|it| it.0 == name)?.2),
        (_, Some(name)) => ("text/plain", EXAMPLES.iter().find(|it| it.0 == name)?.1),
        _ => return None,
    };
    Some(json!({ "uri": uri, "mimeType": kind, "text": text }))
}

/// The section of a chapter whose heading has a word in it, and which chapter it is.
pub(crate) fn section(word: &str) -> Option<(&'static str, String)> {
    CHAPTERS.iter().find_map(|(name, _, text)| Some((*name, shoal_report::section(text, word)?)))
}

/// The chapters, for who asks for something that is not there.
pub(crate) fn chapters() -> String {
    CHAPTERS.map(|(name, ..)| name).join(", ")
}

/// A whole chapter.
pub(crate) fn chapter(name: &str) -> Option<&'static str> {
    CHAPTERS.iter().find(|it| it.0 == name).map(|it| it.2)
}

/// The models that have all words of a query in their name or their text, best first: those with a word in the name.
pub(crate) fn examples(query: &str) -> Vec<(&'static str, &'static str)> {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let mut found: Vec<(usize, (&str, &str))> = EXAMPLES
        .iter()
        .filter(|(name, text)| {
            let text = text.to_lowercase();
            words.iter().all(|word| name.contains(word) || text.contains(word))
        })
        .map(|(name, text)| (words.iter().filter(|word| name.contains(*word)).count(), (*name, *text)))
        .collect();
    found.sort_by_key(|(in_name, _)| std::cmp::Reverse(*in_name));
    found.into_iter().map(|(_, example)| example).collect()
}

pub(crate) fn prompts() -> Json {
    let argument = |name: &str, what: &str| json!({ "name": name, "description": what, "required": true });
    json!([
        {
            "name": "model-this-protocol",
            "title": "Model this protocol",
            "description": "Write a model of a protocol, check it, and say what was found",
            "arguments": [argument("protocol", "What the protocol does, or where it is described")],
        },
        {
            "name": "why-is-this-violated",
            "title": "Why is this violated?",
            "description": "Explain a counterexample by what each part does and which step is the mistake",
            "arguments": [argument("file", "The model"), argument("property", "The property")],
        },
    ])
}

pub(crate) fn prompt(name: &str, given: &Map<String, Json>) -> Option<Json> {
    let value = |name: &str| given.get(name).and_then(Json::as_str).unwrap_or("(not said)").to_string();
    let text = match name {
        "model-this-protocol" => format!(
            "Write a model of this protocol for Shoal: {}\n\nRead `explain` on the language Murphi and one of the `examples` first. Make the \
             identical parts a scalarset with a named constant as its size (2 or 3 to begin with). Ask at least one invariant. `diagnose` the \
             text until it has no errors, `check` it, and look at every violated property with `trace`: say whether the model or the \
             protocol is wrong. Report the sizes for which it was checked; `unknown` is not `holds`.",
            value("protocol")
        ),
        "why-is-this-violated" => format!(
            "`check` the file {} for the property {:?}. Read the run in lanes. Say in a few sentences what each part does, which step is the \
             first that should not have been possible, and which guard or assignment of the source allows it. `evaluate` the parts of the \
             property along the run to be sure, and propose a change; `check` the changed text before you recommend it.",
            value("file"),
            value("property")
        ),
        _ => return None,
    };
    Some(json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": text } }] }))
}
