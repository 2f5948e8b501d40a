//! Any number of processes: a macro that is nothing but how many processes of proctypes run from the start.
//!
//! The source is read with two numbers. That nothing else depends on the number is seen in the tokens, once macros are
//! expanded: where they differ they must be the number between `active [` and `]`, and no `#if` may have asked for it. Then
//! the two models must be the same but for the size of sorts, so that no number of a process, no `_nr_pr` and no place
//! kept for each process is left.

use shoal_model::{Model, SortSize, print_model};
use shoal_syntax::{Diagnostic, Diagnostics, SourceId, SourceMap, Span};

use crate::{
    Options, codes, load_sized,
    preprocess::preprocess,
    token::{Token, TokenKind},
};

/// The number with which the model is made.
const FROM: i64 = 3;

/// Makes a model in which those proctypes have any number of processes whose number is a macro that is any.
pub(crate) fn load(sources: &SourceMap, id: SourceId, options: &Options) -> (Option<Model>, Diagnostics) {
    let with = |number: i64| {
        let any = options.any.iter().map(|name| (name.clone(), number));
        let set = options.set.iter().cloned().chain(any).collect();
        Options { set, any: Vec::new(), ..options.clone() }
    };
    let refused = |span: Span, why: &str| {
        let names = options.any.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let message = format!("{why}, so {names} cannot be any number");
        let help = "a macro that is set to `any` stands for nothing but how many processes of a proctype are active from the start, and nothing asks which of them is which";
        let mut diagnostics = Diagnostics::new();
        diagnostics.push(Diagnostic::error(codes::NOT_ANY, span, message).help(help));
        (None, diagnostics)
    };
    let (some, more) = (with(FROM), with(FROM + 1));
    let counts = match counts(sources, id, &some, &more, &options.any) {
        Ok(counts) => counts,
        Err(span) => return refused(span, "it is more than a number of processes"),
    };
    let (Some(mut model), diagnostics) = load_sized(sources, id, &some, &counts) else {
        return (None, load_sized(sources, id, &some, &counts).1);
    };
    let Some(first) = counts.first() else {
        return refused(Span::new(id, 0, 0), "it is the number of no processes");
    };
    let (Some(mut other), _) = load_sized(sources, id, &more, &counts) else {
        return (None, load_sized(sources, id, &more, &counts).1);
    };
    open(&mut model, &other.clone());
    open(&mut other, &model.clone());
    if print_model(&model) != print_model(&other) {
        return refused(*first, "something depends on how many processes there are, or which one is which");
    }
    (Some(model), diagnostics)
}

/// Gives the sorts any size whose sizes differ.
fn open(model: &mut Model, other: &Model) {
    for (sort, twin) in model.sorts.iter_mut().zip(other.sorts.iter()) {
        if sort.size != twin.size {
            sort.size = SortSize::Any;
        }
    }
}

/// Where it is said how many processes there are. The error is where something else depends on the number.
fn counts(
    sources: &SourceMap,
    id: SourceId,
    some: &Options,
    more: &Options,
    names: &[String],
) -> Result<Vec<Span>, Span> {
    let (a, b) = (preprocess(sources, id, &some.set), preprocess(sources, id, &more.set));
    let start = Span::new(id, 0, 0);
    let decides = |name: &String| a.decisive.contains(name.as_str());
    if a.tokens.len() != b.tokens.len() || names.iter().any(decides) {
        return Err(start);
    }
    let mut counts = Vec::new();
    for (at, (token, twin)) in a.tokens.iter().zip(&b.tokens).enumerate() {
        if token.kind == twin.kind {
            continue;
        }
        let is = |at: usize, what: &dyn Fn(&Token) -> bool| a.tokens.get(at).is_some_and(what);
        let is_number = token.kind == TokenKind::Int(FROM) && twin.kind == TokenKind::Int(FROM + 1);
        let is_count = at >= 2
            && is(at - 2, &|it| it.is_word("active"))
            && is(at - 1, &|it| it.is("["))
            && is(at + 1, &|it| it.is("]"));
        if !is_number || !is_count {
            return Err(token.span);
        }
        counts.push(token.span);
    }
    Ok(counts)
}
