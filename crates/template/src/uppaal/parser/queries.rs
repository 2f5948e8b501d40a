//! Queries.

use shoal_syntax::{Diagnostic, SourceId, Span};

use super::parse;
use crate::{
    codes,
    cursor::Parsed,
    uppaal::ast::{Asked, Query},
};

/// The queries of a `.q` file: one a line, but for lines that end with a backslash; comments are left out.
pub(crate) fn queries(source: SourceId, text: &str) -> Vec<Query> {
    let blank = without_comments(text);
    let mut queries = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in blank.split_inclusive('\n') {
        at += line.len();
        if !line.trim_end().ends_with('\\') {
            let whole = blank[start..at].replace('\\', " ");
            if !whole.trim().is_empty() {
                queries.push(query(source, &whole, Span::new(source, start, at)));
            }
            start = at;
        }
    }
    queries
}

/// The same text with blanks for comments.
fn without_comments(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = [rest.find("/*"), rest.find("//")].into_iter().flatten().min() {
        let end = match rest[at..].starts_with("/*") {
            true => rest[at..].find("*/").map(|end| end + 2),
            false => rest[at..].find('\n'),
        };
        let end = end.map_or(rest.len(), |end| at + end);
        result.push_str(&rest[..at]);
        result.extend(rest[at..end].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
        rest = &rest[end..];
    }
    result + rest
}

/// A query. One that cannot be read does no harm to the others.
pub(crate) fn query(source: SourceId, text: &str, span: Span) -> Query {
    let trimmed = text.trim();
    let offset = span.start as usize + text.len() - text.trim_start().len();
    Query { text: trimmed.to_string(), span, asked: asked(source, trimmed, offset, span) }
}

fn asked(source: SourceId, text: &str, offset: usize, span: Span) -> Parsed<Asked> {
    let expr = |text: &str, offset: usize| parse(source, text, offset, |parser| parser.expr());
    if let Some((left, right)) = text.split_once("-->") {
        return Ok(Asked::LeadsTo(expr(left, offset)?, expr(right, offset + left.len() + 3)?));
    }
    let kind = match text.split_at_checked(3) {
        Some(("A[]", _)) => Asked::Always,
        Some(("E<>", _)) => Asked::Possibly,
        Some(("A<>", _)) => Asked::Inevitably,
        Some(("E[]", _)) => Asked::Potentially,
        _ => {
            let message = "only `A[]`, `E<>`, `A<>`, `E[]` and `-->` are decided";
            return Err(Box::new(Diagnostic::error(codes::UNSUPPORTED, span, message)));
        }
    };
    Ok(kind(expr(&text[3..], offset + 3)?))
}
