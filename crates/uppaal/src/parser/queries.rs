//! Queries.

use shoal_syntax::{Diagnostic, SourceId, Span, cursor::Parsed};
use shoal_template::codes;

use super::parse;
use crate::ast::{Asked, Expr, Query, Values};

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
    let expr = |text: &str, offset: usize| condition(source, text, offset);
    for (word, asks) in [("sup", Values::Greatest), ("inf", Values::Least), ("bounds", Values::Both)] {
        if let Some(rest) = text.strip_prefix(word)
            && rest.trim_start().starts_with(['{', ':'])
        {
            return values(source, asks, rest, offset + word.len(), span);
        }
    }
    if let Some((left, right)) = text.split_once("-->") {
        return Ok(Asked::LeadsTo(expr(left, offset)?, expr(right, offset + left.len() + 3)?));
    }
    let kind = match text.split_at_checked(3) {
        Some(("A[]", _)) => Asked::Always,
        Some(("E<>", _)) => Asked::Possibly,
        Some(("A<>", _)) => Asked::Inevitably,
        Some(("E[]", _)) => Asked::Potentially,
        _ => {
            let message = "only `A[]`, `E<>`, `A<>`, `E[]`, `-->`, `sup`, `inf` and `bounds` are decided";
            return Err(Box::new(Diagnostic::error(codes::UNSUPPORTED, span, message)));
        }
    };
    Ok(kind(expr(&text[3..], offset + 3)?))
}

/// An expression, or the first thing that is wrong with it.
fn condition(source: SourceId, text: &str, offset: usize) -> Parsed<Expr> {
    parse(source, text, offset, |parser| parser.expr()).map_err(|mistakes| {
        let first = mistakes.iter().next().cloned();
        Box::new(first.unwrap_or_else(|| {
            let span = Span::new(source, offset, offset + text.len());
            Diagnostic::error(codes::INTERNAL, span, "a query is neither read nor wrong (uppaal::queries)")
        }))
    })
}

/// What stands behind `sup`: perhaps a condition in braces, then a list.
fn values(source: SourceId, asks: Values, text: &str, offset: usize, span: Span) -> Parsed<Asked> {
    let part = |from: usize, to: usize| -> Parsed<(String, Expr)> {
        let words = text[from..to].trim();
        let at = offset + from + text[from..to].len() - text[from..to].trim_start().len();
        Ok((words.to_string(), condition(source, words, at)?))
    };
    let cuts = top_level(text);
    let find = |sign: char| cuts.iter().find(|(_, found)| *found == sign).map(|(at, _)| *at);
    let Some(colon) = find(':') else {
        return Err(Box::new(Diagnostic::error(codes::UNEXPECTED, span, "a colon is missing")));
    };
    let given = match (find('{'), find('}')) {
        (Some(open), Some(close)) if open < close && close < colon => Some(part(open + 1, close)?),
        _ => None,
    };
    let commas = cuts.iter().filter(|(at, sign)| *sign == ',' && *at > colon).map(|(at, _)| *at);
    let mut of = Vec::new();
    let mut from = colon + 1;
    for to in commas.chain([text.len()]) {
        of.push(part(from, to)?);
        from = to + 1;
    }
    Ok(Asked::Values { asks, given, of })
}

/// The braces, colons and commas of a text that stand inside of nothing.
fn top_level(text: &str) -> Vec<(usize, char)> {
    let mut depth = 0;
    let mut found = Vec::new();
    for (at, sign) in text.char_indices() {
        match sign {
            '{' | '(' | '[' => {
                if depth == 0 {
                    found.push((at, sign));
                }
                depth += 1;
            }
            '}' | ')' | ']' => {
                depth -= 1;
                if depth == 0 {
                    found.push((at, sign));
                }
            }
            ':' | ',' if depth == 0 => found.push((at, sign)),
            _ => {}
        }
    }
    found
}
