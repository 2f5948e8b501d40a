//! What is wrong at the end of a trace, in words and exactly.

use serde_json::{Value as Json, json};
use shoal_model::{During, Fault, FaultKind, Model, PropertyId, Reason, RuleId, StartId, TypedId};
use shoal_syntax::{SourceId, SourceMap, Span};

use super::{
    TraceError,
    decode::{exact_list, ratio},
    encode,
};
use crate::text::reason_in_words;

pub(super) fn encode(model: &Model, sources: &SourceMap, reason: &Reason) -> Json {
    if let Reason::After(delay, reason) = reason {
        let mut json = encode(model, sources, reason);
        json["after"] = json!(delay.to_string());
        return json;
    }
    let mut json = json!({ "kind": kind(reason), "text": reason_in_words(model, sources, reason) });
    if let Reason::Fault(during, fault) = reason {
        json["during"] = encode_during(model, during);
        json["position"] = json!(sources.locate(fault.span));
        json["fault"] = json!({
            "kind": fault_name(&fault.kind),
            "property": match fault.kind { FaultKind::Assertion(property) => Some(property.index()), _ => None },
            "span": [fault.span.source.0, fault.span.start, fault.span.end],
        });
    }
    json
}

fn kind(reason: &Reason) -> &'static str {
    match reason {
        Reason::ConditionFalse => "condition-false",
        Reason::Fault(..) => "fault",
        Reason::Deadlock => "deadlock",
        Reason::NeverCovered => "never-covered",
        Reason::NotPossible => "not-possible",
        Reason::FormulaFalse => "formula-false",
        Reason::After(_, reason) => kind(reason),
    }
}

fn encode_during(model: &Model, during: &During) -> Json {
    match during {
        During::Start(start, args, choices) => json!({
            "start": start.index(),
            "args": encode::exact_list(model, args),
            "choices": encode::exact_list(model, choices),
        }),
        During::Guard(rule, args) => {
            json!({ "guard": rule.index(), "args": encode::exact_list(model, args) })
        }
        During::Body(rule, args, choices) => json!({
            "body": rule.index(),
            "args": encode::exact_list(model, args),
            "choices": encode::exact_list(model, choices),
        }),
        During::Property(property) => json!({ "property": property.index() }),
    }
}

pub(super) fn decode(model: &Model, json: &Json) -> Result<Reason, TraceError> {
    let reason = decode_now(model, json)?;
    match json.get("after").and_then(Json::as_str) {
        Some(delay) => Ok(reason.after(ratio(delay)?)),
        None => Ok(reason),
    }
}

fn decode_now(model: &Model, json: &Json) -> Result<Reason, TraceError> {
    match json.get("kind").and_then(Json::as_str) {
        Some("condition-false") => Ok(Reason::ConditionFalse),
        Some("deadlock") => Ok(Reason::Deadlock),
        Some("never-covered") => Ok(Reason::NeverCovered),
        Some("not-possible") => Ok(Reason::NotPossible),
        Some("formula-false") => Ok(Reason::FormulaFalse),
        Some("fault") => Ok(Reason::Fault(decode_during(model, json)?, decode_fault(model, json)?)),
        _ => Err(TraceError("the trace does not say what is wrong at its end".into())),
    }
}

fn decode_during(model: &Model, json: &Json) -> Result<During, TraceError> {
    let unknown = || TraceError("the trace ends in something that the model does not have".into());
    let during = json.get("during").ok_or_else(unknown)?;
    let args = exact_list(model, during, "args")?;
    let choices = exact_list(model, during, "choices")?;
    let found = if let Some(start) = id::<StartId>(during, "start", model.starts.len()) {
        Some(During::Start(start, args, choices))
    } else if let Some(rule) = id::<RuleId>(during, "guard", model.rules.len()) {
        Some(During::Guard(rule, args))
    } else if let Some(rule) = id::<RuleId>(during, "body", model.rules.len()) {
        Some(During::Body(rule, args, choices))
    } else {
        id::<PropertyId>(during, "property", model.properties.len()).map(During::Property)
    };
    found.ok_or_else(unknown)
}

fn decode_fault(model: &Model, json: &Json) -> Result<Fault, TraceError> {
    let unknown = || TraceError("the trace ends in a fault of an unknown kind".into());
    let fault = json.get("fault").ok_or_else(unknown)?;
    let name = fault.get("kind").and_then(Json::as_str).ok_or_else(unknown)?;
    let property = id::<PropertyId>(fault, "property", model.properties.len());
    let number = |index: usize| fault.get("span")?.get(index)?.as_u64();
    let span = number(0).zip(number(1)).zip(number(2)).ok_or_else(unknown)?;
    let ((source, start), end) = span;
    Ok(Fault {
        kind: fault_kind(name, property).ok_or_else(unknown)?,
        span: Span { source: SourceId(source as u32), start: start as u32, end: end as u32 },
    })
}

fn id<I: TypedId>(json: &Json, name: &str, count: usize) -> Option<I> {
    let index = usize::try_from(json.get(name)?.as_u64()?).ok()?;
    (index < count).then(|| I::from_index(index))
}

const FAULTS: [(&str, FaultKind); 15] = [
    ("undefined", FaultKind::Undefined),
    ("out-of-range", FaultKind::OutOfRange),
    ("index-out-of-range", FaultKind::IndexOutOfRange),
    ("division-by-zero", FaultKind::DivisionByZero),
    ("overflow", FaultKind::Overflow),
    ("zero-step", FaultKind::ZeroStep),
    ("loop-limit", FaultKind::LoopLimit),
    ("call-depth", FaultKind::CallDepth),
    ("no-result", FaultKind::NoResult),
    ("full", FaultKind::Full),
    ("empty-slot", FaultKind::EmptySlot),
    ("null-reference", FaultKind::NullReference),
    ("dangling-reference", FaultKind::DanglingReference),
    ("sort-limit", FaultKind::SortLimit),
    ("lost-element", FaultKind::LostElement),
];

fn fault_name(kind: &FaultKind) -> &'static str {
    FAULTS.iter().find(|(_, known)| known == kind).map_or("assertion", |(name, _)| name)
}

fn fault_kind(name: &str, property: Option<PropertyId>) -> Option<FaultKind> {
    match FAULTS.iter().find(|(known, _)| *known == name) {
        Some((_, kind)) => Some(kind.clone()),
        None => property.filter(|_| name == "assertion").map(FaultKind::Assertion),
    }
}
