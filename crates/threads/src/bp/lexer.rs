//! Words of boolean programs.

use shoal_syntax::{Diagnostic, SourceId, Span};

use crate::codes;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    /// Empty at the end of the file.
    pub(super) text: &'a str,
    pub(super) span: Span,
}

/// Signs of more than one character, longest first.
const SIGNS: [&str; 6] = [":=", "=>", "!=", "||", "&&", "=="];

/// All words of a text, and an empty one at the end.
pub(super) fn tokens(text: &str, id: SourceId) -> Result<Vec<Token<'_>>, Box<Diagnostic>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let first = rest.chars().next().unwrap_or(' ');
        let length = match first {
            _ if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            _ if rest.starts_with("/*") => match rest.find("*/") {
                Some(end) => end + 2,
                None => {
                    let span = Span::new(id, at, at + 2);
                    return Err(Box::new(Diagnostic::error(
                        codes::UNEXPECTED,
                        span,
                        "the comment is never closed",
                    )));
                }
            },
            c if c.is_whitespace() => c.len_utf8(),
            c if is_name(c) => rest.find(|c: char| !goes_on(c)).unwrap_or(rest.len()),
            c if c.is_ascii_digit() => rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()),
            _ => {
                SIGNS.iter().find(|sign| rest.starts_with(**sign)).map_or(first.len_utf8(), |sign| sign.len())
            }
        };
        let blank = first.is_whitespace() || rest.starts_with("//") || rest.starts_with("/*");
        if !blank {
            tokens.push(Token { text: &rest[..length], span: Span::new(id, at, at + length) });
        }
        at += length;
    }
    tokens.push(Token { text: "", span: Span::new(id, text.len(), text.len()) });
    Ok(tokens)
}

pub(super) fn is_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || c == '$'
}

fn goes_on(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '#' | '-')
}
