//! What is said of a text as it stands, whatever is wrong with it: which lines belong together, and how it is laid out.

use serde_json::{Value, json};
use shoal::vocabulary_of;

use crate::text::IndexedText;

/// Blocks and comments of more than one line.
pub(crate) fn folds(text: &IndexedText, name: &str, language: Option<&str>) -> Value {
    let Some(vocabulary) = vocabulary_of(name, language) else { return json!([]) };
    let folds = vocabulary.folds(&text.text).into_iter().map(|fold| {
        let kind = if fold.comment { "comment" } else { "region" };
        json!({"startLine": fold.first, "endLine": fold.last, "kind": kind})
    });
    json!(folds.collect::<Vec<_>>())
}

/// The text, laid out: only the lines that change are changed, so that the editor keeps its place.
pub(crate) fn formatting(text: &IndexedText, name: &str, language: Option<&str>) -> Value {
    let Some(laid_out) = shoal::formatted(name, &text.text, language) else { return Value::Null };
    let (old, new): (Vec<&str>, Vec<&str>) =
        (text.text.split_inclusive('\n').collect(), laid_out.split_inclusive('\n').collect());
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (&old[same..], &new[same..]);
    let behind = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
    let length = |lines: &[&str]| -> usize { lines.iter().map(|line| line.len()).sum() };
    let (from, until) =
        (length(&old[..same]), text.text.len() - length(&old_rest[old_rest.len() - behind..]));
    let replaced: String = new_rest[..new_rest.len() - behind].concat();
    if from == until && replaced.is_empty() {
        return json!([]);
    }
    json!([{"range": text.range(from, until), "newText": replaced}])
}
