//! Scalarsets of any size: a constant that is nothing but their size may be any number.
//!
//! The model is made with two different numbers: the sorts whose sizes differ are meant. That nothing else depends on the
//! number is seen in the text, where the name must stand only in its declaration and as the size of a scalarset: a
//! comparison could have the same answer for both numbers and another one for others.

use shoal_model::{Model, SortSize};
use shoal_syntax::{Diagnostic, Diagnostics, SourceId, SourceMap, Span};

use crate::{
    Options, codes, file_start,
    lexer::lex,
    load_sized,
    token::{Keyword, Token, TokenKind},
};

/// Makes a model in which the sorts have any size whose size is a constant that is set to `any`.
pub(crate) fn load(sources: &SourceMap, id: SourceId, options: &Options) -> (Option<Model>, Diagnostics) {
    let with = |number: i64| {
        let any = options.any.iter().map(|name| (name.clone(), number));
        let set = options.set.iter().cloned().chain(any).collect();
        load_sized(sources, id, &Options { set, any: Vec::new(), ..options.clone() })
    };
    let (Some(mut model), mut diagnostics) = with(3) else { return with(3) };
    let (Some(other), _) = with(4) else { return with(4) };
    for (sort, twin) in model.sorts.iter_mut().zip(other.sorts.iter()) {
        if sort.size != twin.size {
            sort.size = SortSize::Any;
        }
    }
    for name in &options.any {
        let place = match uses(id, sources.file(id).text(), name) {
            Uses::AsSize => continue,
            Uses::Never => (file_start(id), format!("`{name}` is the size of no scalarset")),
            Uses::Elsewhere(span) => (span, format!("`{name}` is more than the size of a scalarset")),
        };
        let error =
            Diagnostic::error(codes::NOT_ANY, place.0, format!("{}, so it cannot be any number", place.1));
        diagnostics
            .push(error.help("a name that is set to `any` stands for nothing but the size of a scalarset"));
    }
    (Some(model).filter(|_| !diagnostics.has_errors()), diagnostics)
}

/// What a constant is used for.
#[derive(Debug, PartialEq)]
enum Uses {
    AsSize,
    Never,
    /// For something else, here.
    Elsewhere(Span),
}

fn uses(id: SourceId, text: &str, name: &str) -> Uses {
    let (tokens, _) = lex(id, text);
    let kind =
        |at: Option<usize>| at.and_then(|at| tokens.get(at)).map_or(TokenKind::Eof, |token| token.kind);
    let is_name = |token: &Token| {
        let (start, end) = (token.span.start as usize, token.span.end as usize);
        token.kind == TokenKind::Ident
            && text.get(start..end).is_some_and(|word| word.eq_ignore_ascii_case(name))
    };
    let mut found = Uses::Never;
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| is_name(token)) {
        let before = |by: usize| kind(at.checked_sub(by));
        let after = kind(Some(at + 1));
        let around = (before(2), before(1), after);
        let declares = matches!(before(1), TokenKind::Keyword(Keyword::Const) | TokenKind::Semicolon);
        let is_size =
            (TokenKind::Keyword(Keyword::Scalarset), TokenKind::LeftParen, TokenKind::RightParen) == around;
        if is_size {
            found = Uses::AsSize;
        } else if !(declares && after == TokenKind::Colon) {
            return Uses::Elsewhere(token.span);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_only_a_size_is_told_from_a_number() {
        let id = SourceId(0);
        let text = "const M: 2; N : 3; -- N here\ntype t: Scalarset( n ); /* N */ rule \"N\" a := b;";
        assert_eq!(uses(id, text, "N"), Uses::AsSize);
        assert_eq!(uses(id, text, "M"), Uses::Never);
        for more in [" x := N;", " type u: scalarset(N + 1);", " const K: N;", " for i: 0..N do"] {
            assert!(matches!(uses(id, &format!("{text}{more}"), "N"), Uses::Elsewhere(_)), "{more}");
        }
    }
}
