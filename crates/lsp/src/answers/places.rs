//! Where a name is declared and used, and what it stands for.

use serde_json::{Value, json};
use shoal::{
    Sources,
    model::{Model, TypedId, print_model},
    syntax::{Piece, PieceKind, Span},
};

use super::{DocumentView, MAIN};
use crate::{
    names::{DeclaredName, NameKind},
    text::is_word,
};

fn named<'v>(view: &'v DocumentView<'_>, params: &Value) -> Option<(usize, &'v DeclaredName)> {
    let index = view.analysis.names.at(MAIN, view.offset(params)?)?;
    Some((index, &view.analysis.names.declared[index]))
}

pub(crate) fn definition(view: &DocumentView<'_>, params: &Value) -> Option<Value> {
    let (_, declared) = named(view, params)?;
    let range = view.range(declared.at)?;
    Some(json!({"uri": view.uri, "range": range}))
}

pub(crate) fn references(view: &DocumentView<'_>, params: &Value) -> Option<Value> {
    let (index, declared) = named(view, params)?;
    let with_declaration = params["context"]["includeDeclaration"] != false;
    let uses = view.analysis.names.uses_of(index).filter(|span| with_declaration || *span != declared.at);
    let places = uses.filter_map(|span| Some(json!({"uri": view.uri, "range": view.range(span)?})));
    Some(json!(places.collect::<Vec<_>>()))
}

pub(crate) fn highlights(view: &DocumentView<'_>, params: &Value) -> Option<Value> {
    let (index, _) = named(view, params)?;
    let places =
        view.analysis.names.uses_of(index).filter_map(|span| Some(json!({"range": view.range(span)?})));
    Some(json!(places.collect::<Vec<_>>()))
}

pub(crate) fn hover(view: &DocumentView<'_>, params: &Value) -> Option<Value> {
    let (_, declared) = named(view, params)?;
    let noun = match declared.kind {
        NameKind::Sort => "sort",
        NameKind::Variable => "var",
        NameKind::Local => "local",
        NameKind::Function => "function",
        NameKind::Rule => "rule",
        NameKind::Property => "property",
        NameKind::Value => "value",
        NameKind::Field => "field",
        NameKind::Type => "type",
        NameKind::Word => "",
    };
    let text = match declared.kind {
        NameKind::Sort => format!("{noun} {}", declared.name),
        // All that is known is where it stands.
        NameKind::Word => {
            view.text.text.get(declared.whole.start as usize..declared.whole.end as usize)?.trim().into()
        }
        _ => format!("{noun} {}: {}", declared.name, declared.detail),
    };
    let mut text = format!("```\n{text}\n```");
    let about = match declared.kind {
        NameKind::Sort => symmetry(view, &declared.name),
        NameKind::Variable => extent(view, &declared.name),
        NameKind::Rule => fired(view, declared),
        NameKind::Local
        | NameKind::Function
        | NameKind::Property
        | NameKind::Value
        | NameKind::Field
        | NameKind::Type
        | NameKind::Word => None,
    };
    for more in about.into_iter().chain(comment(view, declared)) {
        text += &format!("\n\n{more}");
    }
    Some(json!({"contents": {"kind": "markdown", "value": text}}))
}

/// How often a rule fired in the last check of all properties.
fn fired(view: &DocumentView<'_>, declared: &DeclaredName) -> Option<String> {
    let model = &view.analysis.loaded.as_ref()?.model;
    let (id, _) = model.rules.enumerate().find(|(_, rule)| rule.span == declared.whole)?;
    Some(match *view.document.fired()?.get(id.index())? {
        0 => "never fired".into(),
        1 => "fired once".into(),
        times => format!("fired {times} times"),
    })
}

/// How many elements a sort has, and whether they are interchangeable: proved, checked by a search, or broken and where.
pub(super) fn symmetry(view: &DocumentView<'_>, sort: &str) -> Option<String> {
    let known = view.analysis.sorts().get(sort)?;
    let size = known.size.map_or("any number of elements".into(), |size| format!("{size} elements"));
    let symmetric = match &known.broken {
        None if known.pinned == 0 => "symmetric: proved".into(),
        None => format!("symmetric: proved, but for {} that the model names", known.pinned),
        Some((reason, span)) => {
            let how = if known.checked { "checked in every state, as it is not proved" } else { "broken" };
            format!("symmetric: {how}: {reason} ({})", view.analysis.sources.locate(*span))
        }
    };
    Some(format!("{size}, {symmetric}"))
}

/// How many values a variable may have, and how many bits these take.
fn extent(view: &DocumentView<'_>, name: &str) -> Option<String> {
    let model = &view.analysis.loaded.as_ref()?.model;
    let var = model.vars.iter().find(|var| var.name == name)?;
    let values = model.cardinality(var.ty)?;
    // A variable may be undefined, too.
    let bits = u64::BITS - values.leading_zeros();
    Some(format!("{values} values, {bits} bits"))
}

/// The comment that belongs to a declaration: on its line, or on lines of its own above it.
fn comment(view: &DocumentView<'_>, declared: &DeclaredName) -> Option<String> {
    let vocabulary = view.vocabulary()?;
    let text = &view.text.text;
    if declared.at.source.0 != MAIN {
        return None;
    }
    let at = declared.at.start as usize;
    let line = text.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
    let strip = |comment: &str| comment.trim().trim_start_matches(vocabulary.line_comment).trim().to_string();
    let own = text[at..].lines().next().unwrap_or_default();
    if let Some((_, beside)) = own.split_once(vocabulary.line_comment) {
        return Some(beside.trim().to_string());
    }
    let above =
        text[..line].lines().rev().take_while(|it| it.trim_start().starts_with(vocabulary.line_comment));
    let mut above: Vec<String> = above.map(strip).collect();
    above.reverse();
    (!above.is_empty()).then(|| above.join(" "))
}

/// A name can be changed if every word of the text that is spelt so is known to be a use of it.
fn renamed(view: &DocumentView<'_>, params: &Value) -> Result<(usize, String), String> {
    let (index, declared) = named(view, params).ok_or("there is nothing here that has a name")?;
    if !declared.is_written || matches!(declared.kind, NameKind::Rule | NameKind::Property) {
        return Err(format!("`{}` is not a name that can be changed", declared.name));
    }
    let name = declared.name.clone();
    let text = &view.text.text;
    let pieces = view.vocabulary().map(|it| it.pieces(text)).unwrap_or_default();
    let is_it = |piece: &&Piece| piece.kind == PieceKind::Name && piece.text(text) == name;
    let words = pieces.iter().filter(is_it).count();
    let uses: Vec<_> = view.analysis.names.uses_of(index).collect();
    if uses.iter().any(|span| span.source.0 != MAIN) {
        return Err(format!("`{name}` is used in other files too"));
    }
    if words != uses.len() {
        let others = words.saturating_sub(uses.len());
        return Err(format!("`{name}` stands in {others} more places, and what they mean is not known"));
    }
    Ok((index, name))
}

pub(crate) fn prepare_rename(view: &DocumentView<'_>, params: &Value) -> Result<Value, String> {
    let (_, name) = renamed(view, params)?;
    let offset = view.offset(params).unwrap_or_default();
    let (start, word) = view.text.word(offset).ok_or("there is no word here")?;
    Ok(json!({"range": view.text.range(start, start + word.len()), "placeholder": name}))
}

pub(crate) fn rename(view: &DocumentView<'_>, params: &Value) -> Result<Value, String> {
    let (index, name) = renamed(view, params)?;
    let new = params["newName"].as_str().unwrap_or_default();
    let begins = new.chars().next().is_some_and(|first| first.is_alphabetic() || first == '_');
    if !begins || !new.chars().all(is_word) {
        return Err(format!("`{new}` is not a name"));
    }
    let text = &view.text.text;
    let taken = text.split(|it| !is_word(it)).any(|word| word.eq_ignore_ascii_case(new));
    if taken {
        return Err(format!("`{new}` stands in the text already"));
    }
    let places: Vec<Span> = view.analysis.names.uses_of(index).collect();
    means_the_same(view, &places, &name, new)?;
    let edits = places.into_iter().filter_map(|span| view.range(span));
    let edits: Vec<Value> = edits.map(|range| json!({"range": range, "newText": new})).collect();
    Ok(json!({"changes": {view.uri: edits}}))
}

/// Reads the text with the new name: it has to be the same model, but for the name.
fn means_the_same(view: &DocumentView<'_>, places: &[Span], old: &str, new: &str) -> Result<(), String> {
    let Some(loaded) = &view.analysis.loaded else {
        return Err("the text has errors: mend them first".into());
    };
    let mut text = view.text.text.clone();
    for span in places.iter().rev() {
        text.replace_range(span.start as usize..span.end as usize, new);
    }
    let others = loaded.sources.files().skip(1);
    let sources = others.fold(Sources::text(crate::server::path_of(view.uri), text), |sources, file| {
        sources.with(file.name(), file.text())
    });
    let again = shoal::load_sources(&sources, &loaded.options);
    let again = again.map_err(|_| format!("with `{new}` for `{old}` the text would have errors"))?;
    match shape(&loaded.model, old, new) == shape(&again.model, old, new) {
        true => Ok(()),
        false => Err(format!("with `{new}` for `{old}` the model would be another one")),
    }
}

/// A model in print, without the names of rules and properties, which are cut from the text, and with one word for another.
fn shape(model: &Model, old: &str, new: &str) -> String {
    let mut model = model.clone();
    model.rules.iter_mut().chain(model.starts.iter_mut()).for_each(|rule| rule.name.clear());
    model.properties.iter_mut().for_each(|property| property.name.clear());
    with_word(&print_model(&model), old, new)
}

/// A text with one word for another.
fn with_word(text: &str, old: &str, new: &str) -> String {
    let words = text.split_inclusive(|it: char| !is_word(it));
    let one = |part: &str| match part.strip_prefix(old) {
        Some(rest) if rest.chars().all(|it| !is_word(it)) => format!("{new}{rest}"),
        _ => part.to_string(),
    };
    words.map(one).collect()
}
