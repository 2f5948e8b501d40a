//! Sorts of any size in languages that only know numbers: a constant that is nothing but the size of a sort may be any number.

use shoal_model::{Model, SortSize};
use shoal_syntax::{Code, Diagnostic, Diagnostics, SourceId, SourceMap, Span};

use crate::LoadOptions;

/// A name cannot be set to `any`.
pub const NOT_ANY: Code = Code("E0713");

/// Loads a model, with a number for each name that is set to `any`, and makes the sorts of that size sorts of any size.
///
/// The model is made with two different numbers, to see which sorts have that size. The text is asked whether the name
/// stands anywhere else: two numbers may lie on the same side of a comparison.
pub(crate) fn load_any(
    load: &dyn Fn(&LoadOptions) -> (Option<Model>, Diagnostics),
    sources: &SourceMap,
    id: SourceId,
    options: &LoadOptions,
) -> (Option<Model>, Diagnostics) {
    let with = |number: i64| {
        let mut sized = LoadOptions { any: Vec::new(), ..options.clone() };
        sized.set.extend(options.any.iter().map(|name| (name.clone(), number)));
        load(&sized)
    };
    let (Some(mut model), mut diagnostics) = with(3) else { return with(3) };
    let (Some(mut other), _) = with(4) else { return with(4) };
    let mut any = 0;
    for (sort, twin) in model.sorts.iter_mut().zip(other.sorts.iter_mut()) {
        if sort.size != twin.size {
            sort.size = SortSize::Any;
            twin.size = SortSize::Any;
            any += 1;
        }
    }
    let text = sources.file(id).text();
    let elsewhere = options.any.iter().find_map(|name| used_elsewhere(text, name));
    if any > 0 && elsewhere.is_none() && model == other {
        return (Some(model), diagnostics);
    }
    let names = options.any.join("`, `");
    let message = match any {
        0 => format!("`{names}` is the size of no sort, so it cannot be any number"),
        _ => format!("`{names}` is more than the size of a sort, so it cannot be any number"),
    };
    let what = sources.file(id).name();
    let (start, end) = elsewhere.unwrap_or((0, 0));
    let error = Diagnostic::error(NOT_ANY, Span::new(id, start, end), message);
    diagnostics.push(error.help(format!("use it in {what} for nothing but a scalarset")));
    (None, diagnostics)
}

/// The first place where a name stands in a Murphi text for anything but a constant's declaration or the size of a
/// scalarset.
fn used_elsewhere(text: &str, name: &str) -> Option<(usize, usize)> {
    let tokens = tokens(text);
    let at = |position: Option<usize>| position.and_then(|at| tokens.get(at)).map_or("", |token| token.1);
    tokens.iter().enumerate().find_map(|(position, (start, token))| {
        let before = |by: usize| at(position.checked_sub(by));
        let after = at(Some(position + 1));
        let is_size = before(2).eq_ignore_ascii_case("scalarset") && before(1) == "(" && after == ")";
        let is_declared = (before(1).eq_ignore_ascii_case("const") || before(1) == ";") && after == ":";
        let elsewhere = token.eq_ignore_ascii_case(name) && !is_size && !is_declared;
        elsewhere.then_some((*start, start + token.len()))
    })
}

/// The words and signs of a text, without comments and strings, and where they begin.
fn tokens(text: &str) -> Vec<(usize, &str)> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let until =
            |end: &str| rest.get(end.len()..).and_then(|rest| rest.find(end)).map(|it| it + 2 * end.len());
        let is_word = |character: char| character.is_alphanumeric() || character == '_';
        let (length, kept) = if rest.starts_with("--") {
            (rest.find('\n').unwrap_or(rest.len()), false)
        } else if rest.starts_with("/*") {
            (rest.find("*/").map_or(rest.len(), |end| end + 2), false)
        } else if first == '"' {
            (until("\"").unwrap_or(rest.len()), false)
        } else if is_word(first) {
            (rest.find(|character| !is_word(character)).unwrap_or(rest.len()), true)
        } else {
            (first.len_utf8(), !first.is_whitespace())
        };
        if kept {
            tokens.push((at, &rest[..length]));
        }
        at += length;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_only_a_size_is_found() {
        let text = "const M: 2; N : 3; -- N here\ntype t: Scalarset( n ); /* N */ rule \"N\" a := b;";
        assert_eq!(used_elsewhere(text, "N"), None);
        for more in [" x := N;", " type u: scalarset(N + 1);", " const K: N;", " for i: 0..N do"] {
            assert!(used_elsewhere(&format!("{text}{more}"), "N").is_some(), "{more}");
        }
    }
}
