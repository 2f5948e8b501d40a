//! What stands beside the text: outline, colours, hints, and what can be done with a property.

use serde_json::{Value, json};
use shoal::model::Type;

use super::{DocumentView, head, places::symmetry};
use crate::{
    checks::PropertyStanding,
    names::{DeclaredName, NameKind},
};

/// The kinds of words that are coloured; a token says which by its place here.
pub(crate) const TOKEN_TYPES: [&str; 6] =
    ["type", "variable", "parameter", "function", "enumMember", "property"];
/// What else is said of them, a bit each: a sort whose elements are not interchangeable, a clock, a variable that every element of a sort has.
pub(crate) const TOKEN_MODIFIERS: [&str; 3] = ["asymmetric", "clock", "component"];

/// Sorts, variables, functions, rules and properties, in the order of the text.
pub(crate) fn outline(view: &DocumentView<'_>) -> Value {
    // Kinds of symbols, as the protocol numbers them.
    let shown = view.analysis.names.declared.iter().filter_map(|declared| {
        let kind = match declared.kind {
            NameKind::Sort => 5,
            NameKind::Variable => 13,
            NameKind::Function => 12,
            NameKind::Rule => 24,
            NameKind::Property => 7,
            NameKind::Local | NameKind::Value | NameKind::Field | NameKind::Type | NameKind::Word => {
                return None;
            }
        };
        let whole = view.range(declared.whole)?;
        let at = view.range(if declared.is_written { declared.at } else { head(view, declared.whole) })?;
        let name = if declared.name.is_empty() { "(no name)" } else { &declared.name };
        Some((
            declared.whole,
            json!({
                "name": name, "kind": kind, "detail": declared.detail, "range": whole, "selectionRange": at,
            }),
        ))
    });
    let mut shown: Vec<_> = shown.collect();
    shown.sort_by_key(|(span, _)| (span.start, span.end));
    json!(shown.into_iter().map(|(_, symbol)| symbol).collect::<Vec<_>>())
}

/// Every use of a name, coloured by what it stands for, in the protocol's way: each relative to the one before.
pub(crate) fn tokens(view: &DocumentView<'_>) -> Value {
    let mut data: Vec<u64> = Vec::new();
    let (mut line, mut character) = (0, 0);
    for (span, declared) in view.analysis.names.uses() {
        let kind = match declared.kind {
            NameKind::Sort => 0,
            NameKind::Variable => 1,
            NameKind::Local => 2,
            NameKind::Function => 3,
            NameKind::Value => 4,
            NameKind::Field => 5,
            NameKind::Type => 0,
            NameKind::Rule | NameKind::Property | NameKind::Word => continue,
        };
        let Some(range) = view.range(span) else { continue };
        let number = |value: &Value| value.as_u64().unwrap_or_default();
        let (at_line, at) = (number(&range["start"]["line"]), number(&range["start"]["character"]));
        let length = number(&range["end"]["character"]).saturating_sub(at);
        let from = if at_line == line { character } else { 0 };
        data.extend([at_line - line, at - from, length, kind, modifiers(view, declared)]);
        (line, character) = (at_line, at);
    }
    json!({"data": data})
}

/// The bits of [`TOKEN_MODIFIERS`].
fn modifiers(view: &DocumentView<'_>, declared: &DeclaredName) -> u64 {
    match declared.kind {
        NameKind::Sort => {
            u64::from(view.analysis.sorts().get(&declared.name).is_some_and(|it| it.broken.is_some()))
        }
        NameKind::Variable => {
            let Some(loaded) = &view.analysis.loaded else { return 0 };
            let Some(var) = loaded.model.vars.iter().find(|var| var.name == declared.name) else { return 0 };
            match loaded.model.kind(var.ty) {
                Type::Clock => 2,
                Type::Array { index, element } => {
                    let clock = *loaded.model.kind(*element) == Type::Clock;
                    let component = matches!(loaded.model.kind(*index), Type::Ref { .. });
                    u64::from(clock) * 2 + u64::from(component) * 4
                }
                _ => 0,
            }
        }
        NameKind::Local
        | NameKind::Function
        | NameKind::Rule
        | NameKind::Property
        | NameKind::Value
        | NameKind::Field
        | NameKind::Type
        | NameKind::Word => 0,
    }
}

/// Behind each sort, whether its elements are interchangeable.
pub(crate) fn hints(view: &DocumentView<'_>) -> Value {
    let sorts = view.analysis.names.declared.iter().filter(|it| it.kind == NameKind::Sort && it.is_written);
    let hints = sorts.filter_map(|sort| {
        let range = view.range(sort.at)?;
        let label = symmetry(view, &sort.name)?;
        Some(json!({"position": range["end"], "label": label, "paddingLeft": true}))
    });
    json!(hints.collect::<Vec<_>>())
}

/// Over each property: check it, and what came out the last time, if the text is the same.
pub(crate) fn lenses(view: &DocumentView<'_>) -> Value {
    let Some(loaded) = &view.analysis.loaded else { return json!([]) };
    let mut lenses = vec![lens(view, view.text.range(0, 0), "▶ check all", None)];
    for id in &loaded.asked {
        let property = &loaded.model.properties[*id];
        // What stands nowhere (`no deadlock`) is asked by "check all" and by the first line's lens.
        let Some(range) = view.range(head(view, property.span)) else { continue };
        let verdict = match view.document.verdict(&property.name) {
            None => String::new(),
            Some(PropertyStanding::Holds) => "  ✓ holds".into(),
            Some(PropertyStanding::Violated(shown)) => shown
                .length
                .map_or("  ✗ violated".into(), |length| format!("  ✗ violated in {length} steps")),
            Some(PropertyStanding::Unknown(_)) => "  ? unknown".into(),
        };
        let title = format!("▶ check {}{verdict}", property.title());
        lenses.push(lens(view, range, &title, Some(&property.name)));
    }
    let rules = loaded.model.rules.iter().zip(view.document.fired().unwrap_or_default());
    for (rule, times) in rules {
        let Some(range) = view.range(head(view, rule.span)) else { continue };
        let title = if *times == 0 { "never fired".into() } else { format!("fired {times}") };
        // Only to be read: a command without a name.
        lenses.push(json!({"range": range, "command": {"title": title, "command": ""}}));
    }
    json!(lenses)
}

fn lens(view: &DocumentView<'_>, range: Value, title: &str, property: Option<&str>) -> Value {
    let arguments = match property {
        Some(property) => json!([view.uri, property]),
        None => json!([view.uri]),
    };
    json!({"range": range, "command": {"title": title, "command": "shoal.check", "arguments": arguments}})
}
