//! Sorts of any size in languages that only know numbers: a constant that is nothing but the size of a sort may be any number.

use shoal_model::{Model, SortSize};
use shoal_syntax::{Code, Diagnostic, Diagnostics, SourceId, SourceMap, Span};

use crate::LoadOptions;

/// A name cannot be set to `any`.
pub const NOT_ANY: Code = Code("E0713");

/// Loads a model, with a number for each name that is set to `any`, and makes the sorts of that size sorts of any size.
///
/// The model is made with two different numbers. Where the two differ in more than the sizes of sorts, the number means
/// something else too, and the model cannot be one for any number.
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
    if any > 0 && model == other {
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
