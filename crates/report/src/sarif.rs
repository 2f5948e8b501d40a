//! SARIF 2.1.0: diagnostics and violated properties for code review, a counterexample as a code flow.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use serde_json::{Value as Json, json};
use shoal_model::{PropertyResult, Trace, Verdict, Violation};
use shoal_syntax::{Diagnostic, Severity, SourceMap, Span, Words};

use crate::{Run, Suite, instance_name_in, invariant_certificate::fnv, start_name, text::violation_in_words};

/// Writes a report of all files of a call.
pub fn write_sarif(out: &mut dyn Write, suites: &[Suite<'_>]) -> io::Result<()> {
    let mut results = Vec::new();
    for suite in suites {
        if let Some((sources, diagnostics)) = suite.diagnostics {
            results.extend(diagnostics.iter().map(|it| message(sources, it, suite.words)));
        }
        if let Some(run) = suite.run {
            results.extend(run.outcome().results.iter().filter_map(|result| verdict(run, result)));
            results.extend(run.never_fired().filter(|_| run.outcome().statistics.exhaustive).map(
                |(_, rule)| {
                    let text = format!("Rule {:?} never fired.", rule.name);
                    entry("never-fired", "note", &text, location(run.sources(), rule.span))
                },
            ));
        }
        if let (Some(error), None) = (suite.error, suite.diagnostics) {
            let place = json!({ "physicalLocation": { "artifactLocation": { "uri": uri(suite.file) } } });
            results.push(entry("cannot-load", "error", error, place));
        }
    }
    for result in &mut results {
        fingerprint(result);
    }
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "Shoal",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules(&results),
            } },
            "invocations": [{ "executionSuccessful": suites.iter().all(|suite| suite.error.is_none()) }],
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    writeln!(out, "{document:#}")
}

/// The rules that the results name, each once.
fn rules(results: &[Json]) -> Vec<Json> {
    let known = |id: &str| match id {
        "violated" => "A property of the model is violated.",
        "unknown" => "A property of the model could not be decided within the limits.",
        "never-fired" => "A rule of the model never fired.",
        "cannot-load" => "A file could not be read.",
        _ => "A message about the source of a model; see `shoal explain CODE`.",
    };
    let ids: BTreeMap<&str, ()> =
        results.iter().filter_map(|result| Some((result["ruleId"].as_str()?, ()))).collect();
    ids.into_keys().map(|id| json!({ "id": id, "shortDescription": { "text": known(id) } })).collect()
}

fn entry(rule: &str, level: &str, text: &str, location: Json) -> Json {
    json!({ "ruleId": rule, "level": level, "message": { "text": text }, "locations": [location] })
}

/// What a result is known by in the next run: its kind, its file and what it says first, but not its line, which moves.
fn fingerprint(result: &mut Json) {
    let file = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    let text = result["message"]["text"].as_str().unwrap_or_default();
    let subject = text.lines().next().unwrap_or_default().split(": ").next().unwrap_or_default();
    let known_by = format!("{}\n{}\n{subject}", result["ruleId"], file);
    result["partialFingerprints"] = json!({ "shoal/v1": fnv(&known_by) });
}

fn message(sources: &SourceMap, diagnostic: &Diagnostic, words: Words) -> Json {
    let level = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let mut text = diagnostic.message.clone();
    for more in [diagnostic.primary.text.clone(), diagnostic.hint(words).unwrap_or_default()] {
        if !more.is_empty() {
            text.push_str(&format!("\n{more}"));
        }
    }
    let mut result = entry(diagnostic.code.0, level, &text, location(sources, diagnostic.primary.span));
    if !diagnostic.secondary.is_empty() {
        let related = |label: &shoal_syntax::Label| with_message(location(sources, label.span), &label.text);
        result["relatedLocations"] = diagnostic.secondary.iter().map(related).collect();
    }
    result
}

fn verdict(run: &Run<'_>, result: &PropertyResult) -> Option<Json> {
    let property = run.property(result);
    let title = run.title(property);
    let place = location(run.sources(), property.span);
    match &result.verdict {
        Verdict::Holds => None,
        Verdict::Unknown(reason) => Some(entry("unknown", "warning", &format!("{title}: {reason}."), place)),
        Verdict::Violated(violation) => {
            let reason = violation_in_words(run, result.property, violation);
            let mut json = entry("violated", "error", &format!("{title} is violated: {reason}."), place);
            if let Some(trace) = &violation.trace {
                json["codeFlows"] = json!([{ "threadFlows": flows(run, result, trace, violation) }]);
            }
            Some(json)
        }
    }
}

/// A flow for each part of the model that does something, in the order in which they begin; the start is the first one's. The
/// order of steps of several parts stands in `executionOrder`.
fn flows(run: &Run<'_>, result: &PropertyResult, trace: &Trace, violation: &Violation) -> Vec<Json> {
    let locations = flow(run, trace, violation);
    let told = shoal::tell(run.loaded, result.property, violation);
    let lane = |at: usize| -> &str {
        let row = told.as_ref().and_then(|told| {
            // What is wrong at the end is wrong after the last step.
            let row = told.story.rows.get(at.saturating_sub(1)).or(told.story.rows.last())?;
            told.story.lanes.get(row.lane)
        });
        row.map_or("", |lane| lane.name.as_str())
    };
    let mut flows: Vec<(&str, Vec<Json>)> = Vec::new();
    for (at, mut location) in locations.into_iter().enumerate() {
        location["executionOrder"] = json!(at);
        let name = lane(at);
        match flows.iter_mut().find(|(known, _)| *known == name) {
            Some((_, flow)) => flow.push(location),
            None => flows.push((name, vec![location])),
        }
    }
    let flow = |(name, locations): (&str, Vec<Json>)| match name {
        "" => json!({ "locations": locations }),
        _ => json!({ "id": name, "message": { "text": name }, "locations": locations }),
    };
    flows.into_iter().map(flow).collect()
}

/// One location a step; the message says what fired and what it changed.
fn flow(run: &Run<'_>, trace: &Trace, violation: &Violation) -> Vec<Json> {
    let at = |span, text: &str| json!({ "location": with_message(location(run.sources(), span), text) });
    let start = &run.model().starts[trace.start];
    let mut flow = vec![at(start.span, &start_name(run.model(), trace.start, &trace.args))];
    for (step, before) in trace.steps.iter().zip(trace.states()) {
        let changes: Vec<String> =
            crate::changes(run.model(), before, &step.state).iter().map(ToString::to_string).collect();
        let text = format!(
            "{}\n{}",
            instance_name_in(run.model(), before, step.rule, &step.args),
            changes.join("\n")
        );
        flow.push(at(run.model().rules[step.rule].span, text.trim_end()));
    }
    if let shoal_model::Reason::Fault(_, fault) = &violation.reason {
        flow.push(at(fault.span, &fault.kind.to_string()));
    }
    flow
}

fn with_message(mut location: Json, text: &str) -> Json {
    location["message"] = json!({ "text": text });
    location
}

fn location(sources: &SourceMap, span: Span) -> Json {
    let file = sources.file(span.source);
    let (start, end) = (file.position(span.start), file.position(span.end));
    json!({ "physicalLocation": {
        "artifactLocation": { "uri": uri(file.name()) },
        "region": {
            "startLine": start.line,
            "startColumn": start.column,
            "endLine": end.line,
            "endColumn": end.column,
        },
    } })
}

/// A path as a URI reference: everything that is not plain is written as `%XX`.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for byte in path.replace('\\', "/").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                out.push(byte as char)
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        assert_eq!(uri("models/my model.m"), "models/my%20model.m");
    }
}
