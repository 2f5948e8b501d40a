//! Sorts of any size in languages that only know numbers: a constant that is nothing but the size of a sort may be any number.

use shoal_model::{Model, SortSize};
use shoal_syntax::{Code, Diagnostic, Diagnostics, SourceId, SourceMap, Span};

use crate::LoadOptions;

/// A name cannot be set to `any`.
pub const NOT_ANY: Code = Code("E0713");

/// Loads a model, with a number for each name that is set to `any`, and makes the sorts of that size sorts of any size.
///
/// The model is made with two different numbers: the sorts whose sizes differ are meant. That nothing else depends on the
/// number is seen in the source, where the name must stand for nothing but the size of a scalarset; a comparison with it
/// could have the same answer for both numbers and another one for others.
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
    let only_sizes = options.any.iter().all(|name| is_only_size(text, name));
    if any > 0 && only_sizes && model == other {
        return (Some(model), diagnostics);
    }
    let names = options.any.join("`, `");
    let message = match any {
        0 => format!("`{names}` is the size of no sort, so it cannot be any number"),
        _ => format!("`{names}` is more than the size of a sort, so it cannot be any number"),
    };
    let what = sources.file(id).name();
    let error = Diagnostic::error(NOT_ANY, Span::new(id, 0, 0), message);
    diagnostics.push(error.help(format!("use it in {what} for nothing but a scalarset")));
    (None, diagnostics)
}

/// Whether a name stands in a Murphi source only where it is declared and as the size of a scalarset.
fn is_only_size(text: &str, name: &str) -> bool {
    let words = words(text);
    (0..words.len()).filter(|at| words[*at] == name).all(|at| {
        let before = |by: usize| at.checked_sub(by).map_or("", |at| words[at]);
        let declared = words.get(at + 1) == Some(&":");
        let size = before(1) == "("
            && before(2).eq_ignore_ascii_case("scalarset")
            && words.get(at + 1) == Some(&")");
        declared || size
    })
}

/// The words and signs of a Murphi source, without comments and strings.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let after =
            |end: &str, skip: usize| rest[skip..].find(end).map_or(rest.len(), |at| skip + at + end.len());
        let length = match first {
            _ if rest.starts_with("--") => after("\n", 0),
            _ if rest.starts_with("/*") => after("*/", 2),
            '"' => after("\"", 1),
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let skipped =
            first.is_whitespace() || first == '"' || rest.starts_with("--") || rest.starts_with("/*");
        if !skipped {
            words.push(&rest[..length]);
        }
        rest = &rest[length..];
    }
    words
}

#[cfg(test)]
mod tests {
    use super::is_only_size;

    #[test]
    fn a_size_is_told_from_a_number() {
        let plain =
            "const N: 3; -- N is a number\ntype P: scalarset(N); /* N */ var x: array [P] of boolean;";
        assert!(is_only_size(plain, "N"));
        assert!(!is_only_size(&format!("{plain} rule \"N\" N > 2 ==> begin end;"), "N"));
        assert!(!is_only_size("const N: 3; const M: N + 1; type P: scalarset(N);", "N"));
    }
}
