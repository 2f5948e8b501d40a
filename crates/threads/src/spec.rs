//! MIST nets (`.spec`): Petri nets with transfers and tests.

use std::collections::HashMap;

use shoal_model::Model;
use shoal_syntax::{Diagnostic, Diagnostics, SourceId, SourceMap, Span, cursor::Parsed};

use crate::{
    Options, codes,
    net::{self, Net, NetTransition, TokenBounds, TokenCount},
};

/// Makes a model of a MIST net.
pub(crate) fn load(sources: &SourceMap, id: SourceId, options: &Options) -> (Option<Model>, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let whole = Span::new(id, 0, 0);
    let mut parser =
        Parser { text: sources.file(id).text(), id, at: 0, net: Net::default(), names: HashMap::new() };
    let invariants = match parser.program() {
        Ok(invariants) => invariants,
        Err(error) => {
            diagnostics.push(*error);
            return (None, diagnostics);
        }
    };
    if let Some(span) = invariants {
        let message = "the invariants are not used: what is true of the net is found, not believed";
        diagnostics.push(Diagnostic::note(codes::IGNORED, span, message));
    }
    let model = net::lower(parser.net, whole, options, &mut diagnostics);
    (model, diagnostics)
}

struct Parser<'a> {
    text: &'a str,
    id: SourceId,
    at: usize,
    net: Net,
    names: HashMap<&'a str, usize>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct SpecWord<'a> {
    text: &'a str,
    start: usize,
}

const SECTIONS: [&str; 5] = ["vars", "rules", "init", "target", "invariants"];

impl<'a> Parser<'a> {
    fn span(&self, word: SpecWord<'_>) -> Span {
        Span::new(self.id, word.start, word.start + word.text.len())
    }

    fn unexpected<T>(&self, word: SpecWord<'_>, expected: &str) -> Parsed<T> {
        let found =
            if word.text.is_empty() { "the end of the file".into() } else { format!("`{}`", word.text) };
        Err(Box::new(Diagnostic::error(
            codes::UNEXPECTED,
            self.span(word),
            format!("{expected} is expected, not {found}"),
        )))
    }

    /// The next word, which is not taken.
    fn peek(&mut self) -> SpecWord<'a> {
        loop {
            let rest = &self.text[self.at..];
            let blank = rest.len() - rest.trim_start().len();
            self.at += blank;
            if !self.text[self.at..].starts_with('#') {
                break;
            }
            self.at += self.text[self.at..].find('\n').unwrap_or(self.text.len() - self.at);
        }
        let rest = &self.text[self.at..];
        let length = |test: fn(char) -> bool| rest.find(|c: char| !test(c)).unwrap_or(rest.len());
        let length = match rest.chars().next() {
            None => 0,
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                length(|c| c.is_ascii_alphanumeric() || c == '_')
            }
            Some(c) if c.is_ascii_digit() => length(|c| c.is_ascii_digit()),
            Some(_) if rest.starts_with("->") || rest.starts_with(">=") => 2,
            Some(c) => c.len_utf8(),
        };
        SpecWord { text: &rest[..length], start: self.at }
    }

    fn next(&mut self) -> SpecWord<'a> {
        let word = self.peek();
        self.at = word.start + word.text.len();
        word
    }

    fn take(&mut self, text: &str) -> bool {
        let found = self.peek().text == text;
        if found {
            self.next();
        }
        found
    }

    fn expect(&mut self, text: &str) -> Parsed<SpecWord<'a>> {
        let word = self.next();
        if word.text == text { Ok(word) } else { self.unexpected(word, &format!("`{text}`")) }
    }

    fn is_name(word: SpecWord<'_>) -> bool {
        word.text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && !SECTIONS.contains(&word.text)
    }

    fn number(&mut self) -> Parsed<TokenCount> {
        let word = self.next();
        if !word.text.starts_with(|c: char| c.is_ascii_digit()) {
            return self.unexpected(word, "a number");
        }
        net::tokens(word.text, self.span(word))
    }

    fn place(&mut self) -> Parsed<usize> {
        let word = self.next();
        if !Self::is_name(word) {
            return self.unexpected(word, "the name of a variable");
        }
        match self.names.get(word.text) {
            Some(place) => Ok(*place),
            None => {
                let near = shoal_syntax::did_you_mean(word.text, self.names.keys().copied());
                let message = format!("`{}` is not declared", word.text);
                let error = Diagnostic::error(codes::UNKNOWN_NAME, self.span(word), message);
                Err(Box::new(match near {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error.help("declare it under `vars`"),
                }))
            }
        }
    }

    /// The whole file; where the invariants stand, if there are any.
    fn program(&mut self) -> Parsed<Option<Span>> {
        self.expect("vars")?;
        while Self::is_name(self.peek()) {
            let word = self.next();
            if self.names.insert(word.text, self.net.places.len()).is_some() {
                let message = format!("`{}` is declared twice", word.text);
                return Err(Box::new(Diagnostic::error(codes::REDECLARED, self.span(word), message)));
            }
            self.net.places.push((word.text.into(), self.span(word)));
        }
        self.net.init = vec![TokenBounds::at_least(0); self.net.places.len()];
        self.expect("rules")?;
        while self.peek().text != "init" {
            self.rule()?;
        }
        self.expect("init")?;
        for (place, bounds) in self.conjunction()? {
            self.net.init[place] = bounds;
        }
        let target = self.expect("target")?;
        self.net.target_span = self.span(target);
        loop {
            let conjunction = self.conjunction()?;
            self.net.targets.push(conjunction);
            if !Self::is_name(self.peek()) {
                break;
            }
        }
        let word = self.next();
        match word.text {
            "" => Ok(None),
            "invariants" => {
                while !self.next().text.is_empty() {}
                Ok(Some(self.span(word)))
            }
            _ => self.unexpected(word, "another target, or the end of the file,"),
        }
    }

    fn conjunction(&mut self) -> Parsed<Vec<(usize, TokenBounds)>> {
        let mut parts: Vec<(usize, TokenBounds)> = Vec::new();
        loop {
            let word = self.peek();
            let (place, bounds) = self.constraint()?;
            if parts.iter().any(|(known, _)| *known == place) {
                let message = format!("`{}` is constrained twice", word.text);
                return Err(Box::new(Diagnostic::error(codes::REDECLARED, self.span(word), message)));
            }
            parts.push((place, bounds));
            if !self.take(",") {
                return Ok(parts);
            }
        }
    }

    fn constraint(&mut self) -> Parsed<(usize, TokenBounds)> {
        let place = self.place()?;
        let word = self.next();
        let bounds = match word.text {
            ">=" => TokenBounds::at_least(self.number()?),
            "=" => TokenBounds::exactly(self.number()?),
            "in" => {
                self.expect("[")?;
                let least = self.number()?;
                self.expect(",")?;
                let most = self.number()?;
                self.expect("]")?;
                if most < least {
                    return Err(Box::new(Diagnostic::error(
                        codes::NUMBER,
                        self.span(word),
                        "the interval is empty",
                    )));
                }
                TokenBounds { least, most: Some(most) }
            }
            _ => return self.unexpected(word, "`=`, `>=` or `in`"),
        };
        Ok((place, bounds))
    }

    fn rule(&mut self) -> Parsed<()> {
        let first = self.peek();
        if !Self::is_name(first) {
            return self.unexpected(first, "a rule, or `init`,");
        }
        let mut guard = Vec::new();
        loop {
            if !self.take("true") {
                guard.push(self.constraint()?);
            }
            if !self.take(",") {
                break;
            }
        }
        self.expect("->")?;
        let mut updates: Vec<(usize, Vec<usize>, i64)> = Vec::new();
        while self.peek().text != ";" {
            let word = self.peek();
            let place = self.place()?;
            if updates.iter().any(|(known, ..)| *known == place) {
                let message = format!("`{}` is changed twice", word.text);
                return Err(Box::new(Diagnostic::error(codes::REDECLARED, self.span(word), message)));
            }
            self.expect("'")?;
            self.expect("=")?;
            let (sum, constant) = self.sum()?;
            updates.push((place, sum, constant));
            if !self.take(",") {
                break;
            }
        }
        let end = self.expect(";")?;
        let name = format!("rule {}", self.net.rules.len() + 1);
        let span = self.span(first).to(self.span(end));
        self.net.rules.push(NetTransition { name, guard, updates, span });
        Ok(())
    }

    fn sum(&mut self) -> Parsed<(Vec<usize>, i64)> {
        let (mut places, mut constant) = (Vec::new(), 0i64);
        let mut sign = 1;
        loop {
            let word = self.peek();
            if Self::is_name(word) {
                if sign < 0 {
                    return self.unexpected(word, "a number");
                }
                places.push(self.place()?);
            } else {
                let span = self.span(word);
                constant += sign * i64::from(self.number()?);
                // What is added up must fit, too.
                net::tokens(&constant.unsigned_abs().to_string(), span)?;
            }
            sign = match self.peek().text {
                "+" => 1,
                "-" => -1,
                _ => return Ok((places, constant)),
            };
            self.next();
        }
    }
}
