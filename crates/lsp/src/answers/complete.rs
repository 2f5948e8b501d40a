//! What may be meant by the beginning of a word.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use shoal::model::{Model, Type};

use super::DocumentView;
use crate::{analysis::TextAnalysis, names::NameKind};

/// Kinds of completions, as the protocol numbers them.
const FUNCTION: u32 = 3;
const FIELD: u32 = 5;
const VARIABLE: u32 = 6;
const CLASS: u32 = 7;
const KEYWORD: u32 = 14;
const CONSTANT: u32 = 21;
const ENUM_MEMBER: u32 = 20;

/// The words of the language, the names of the model, its fields and its named values. A text that has errors just now has no model: then those
/// of the last one that had none.
pub(crate) fn completion(view: &DocumentView<'_>) -> Value {
    let analysis = if view.analysis.loaded.is_some() { view.analysis } else { view.document.last_good() };
    let mut items: BTreeMap<&str, (u32, &str)> = BTreeMap::new();
    for word in view.vocabulary().iter().flat_map(|it| it.all_words()) {
        items.insert(word, (KEYWORD, "a word of the language"));
    }
    if let Some(loaded) = &analysis.loaded {
        of_model(analysis, &loaded.model, &mut items);
    }
    let items = items
        .into_iter()
        .map(|(label, (kind, detail))| json!({"label": label, "kind": kind, "detail": detail}));
    json!(items.collect::<Vec<_>>())
}

/// The names of a model, its fields and its named values.
fn of_model<'a>(analysis: &'a TextAnalysis, model: &'a Model, items: &mut BTreeMap<&'a str, (u32, &'a str)>) {
    for declared in &analysis.names.declared {
        let kind = match declared.kind {
            NameKind::Sort => CLASS,
            NameKind::Variable | NameKind::Local => VARIABLE,
            NameKind::Function => FUNCTION,
            NameKind::Value => ENUM_MEMBER,
            NameKind::Field => FIELD,
            NameKind::Type => CLASS,
            NameKind::Word => CONSTANT,
            // Their names are texts, not words.
            NameKind::Rule | NameKind::Property => continue,
        };
        if declared.is_written {
            items.entry(&declared.name).or_insert((kind, &declared.detail));
        }
    }
    for ty in model.types.iter() {
        match &ty.kind {
            Type::Record { fields } => {
                for field in fields {
                    items.entry(&field.name).or_insert((FIELD, "a field"));
                }
            }
            Type::Enum { variants } => {
                let of = ty.name.as_deref().unwrap_or("a value");
                for name in variants {
                    items.entry(name).or_insert((ENUM_MEMBER, of));
                }
            }
            Type::Bool
            | Type::Int { .. }
            | Type::Ref { .. }
            | Type::Union { .. }
            | Type::Array { .. }
            | Type::Multiset { .. }
            | Type::Sequence { .. }
            | Type::Clock => {}
        }
    }
}
