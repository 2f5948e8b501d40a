//! The units that a source is made of: proctypes, claims, formulas, inlines, functions.

use std::{collections::HashMap, rc::Rc};

use shoal_syntax::{Diagnostic, Span, Spanned};

use super::{Current, Inline, MOST_ERRORS, OrReported, Parser, Reported};
use crate::{
    ast::{EventTrace, Formula, Name, Proctype, Type},
    codes,
    token::{Token, TokenKind},
};

/// Words that can only begin a unit.
pub(super) const BEGINNINGS: [&str; 8] =
    ["active", "proctype", "init", "never", "ltl", "inline", "typedef", "D_proctype"];

impl Parser {
    /// Reads all units.
    pub(super) fn units(&mut self) {
        while self.peek().kind != TokenKind::End {
            let before = self.at;
            if self.unit().is_err() {
                self.recover(before);
                let errors = self.diagnostics.len();
                if errors >= MOST_ERRORS {
                    return;
                }
            }
        }
    }

    /// Goes on at the next word that can only begin a unit.
    fn recover(&mut self, before: usize) {
        self.proctype = None;
        self.labels.forget();
        self.scopes.truncate(1);
        self.active_inlines.clear();
        self.results.clear();
        self.in_function = false;
        self.in_trace = false;
        if self.at == before {
            self.advance();
        }
        while self.peek().kind != TokenKind::End && !BEGINNINGS.iter().any(|word| self.is_word(word)) {
            self.advance();
        }
    }

    fn unit(&mut self) -> OrReported<()> {
        let token = self.peek().clone();
        let word = token.word().map(|word| word.to_string()).unwrap_or_default();
        match word.as_str() {
            _ if token.is(";") => {
                self.advance();
                Ok(())
            }
            "active" | "proctype" | "D_proctype" => self.proctype(),
            "init" => self.init(),
            "never" => self.never(),
            "ltl" => self.ltl(),
            "inline" => self.inline(),
            "typedef" => self.typedef(),
            "trace" => self.event_trace("trace"),
            "notrace" => self.event_trace("notrace"),
            "c_code" | "c_decl" | "c_state" | "c_track" | "c_expr" => self.no_c(token.span, &word),
            "function" if self.dynamic => self.function(),
            _ if self.begins_decl() => {
                for declared in self.decl()? {
                    self.declare(declared, true, false);
                }
                Ok(())
            }
            _ => self.unexpected("a declaration or a proctype"),
        }
    }

    fn inline(&mut self) -> OrReported<()> {
        self.expect_word("inline")?;
        let name = self.name("the name of an inline")?;
        self.expect("(")?;
        let mut params = Vec::new();
        while !self.is(")") {
            params.push(self.name("a parameter")?.node);
            if !self.accept(",") {
                break;
            }
        }
        self.expect(")")?;
        let body = self.braced()?;
        self.inlines.insert(name.node, Inline { params, body });
        Ok(())
    }

    /// The tokens between braces, with the braces.
    fn braced(&mut self) -> OrReported<Vec<Token>> {
        if !self.is("{") {
            return self.unexpected("`{`");
        }
        let open = self.peek().span;
        let mut depth = 0;
        let mut tokens = Vec::new();
        loop {
            let token = self.advance();
            depth += i32::from(token.is("{")) - i32::from(token.is("}"));
            if token.kind == TokenKind::End {
                return self.error(codes::UNEXPECTED, open, "this `{` has no `}`");
            }
            tokens.push(token);
            if depth == 0 {
                return Ok(tokens);
            }
        }
    }

    fn proctype(&mut self) -> OrReported<()> {
        let (mut active, mut said) = (0, None);
        if self.accept_word("active") {
            active = 1;
            if self.accept("[") {
                said = Some(self.peek().span);
                let count = self.constant()?;
                self.expect("]")?;
                active = match u32::try_from(count) {
                    Ok(count @ 0..=255) => count,
                    _ => {
                        return self.error(
                            codes::BAD_CONSTANT,
                            self.last_span(),
                            "0 to 255 processes can be active",
                        );
                    }
                };
            }
        }
        let is_deterministic = self.accept_word("D_proctype");
        if !is_deterministic {
            self.expect_word("proctype")?;
        }
        let name = self.name("the name of a proctype")?;
        let proctype = Proctype { is_deterministic, count: said, ..self.process(name, active, true)? };
        if let Some(other) = self.program.proctypes.iter().find(|other| other.name.node == proctype.name.node)
        {
            let other = other.name.span;
            let message = format!("the proctype `{}` is declared twice", proctype.name.node);
            let diagnostic = Diagnostic::error(codes::DECLARED_TWICE, proctype.name.span, message);
            return self.report(diagnostic.also(other, "it is declared here too"));
        }
        self.program.proctypes.push(proctype);
        Ok(())
    }

    fn init(&mut self) -> OrReported<()> {
        let span = self.expect_word("init")?;
        let proctype = self.process(Spanned::new("init".into(), span), 1, false)?;
        self.program.proctypes.push(proctype);
        Ok(())
    }

    fn never(&mut self) -> OrReported<()> {
        let span = self.expect_word("never")?;
        let name = match self.peek().word() {
            Some(_) => self.name("the name of a claim")?,
            None => Spanned::new("never".into(), span),
        };
        let claim = self.process(name, 1, false)?;
        self.program.nevers.push(claim);
        Ok(())
    }

    fn event_trace(&mut self, word: &'static str) -> OrReported<()> {
        let span = self.expect_word(word)?;
        if let Some(other) = &self.program.trace {
            let message = "there is one `trace` or `notrace` at most";
            let diagnostic = Diagnostic::error(codes::DECLARED_TWICE, span, message);
            let other = other.body.name.span;
            return self.report(diagnostic.also(other, "it is declared here too"));
        }
        self.in_trace = true;
        let body = self.process(Spanned::new(word.into(), span), 0, false);
        self.in_trace = false;
        self.program.trace = Some(EventTrace { body: body?, is_negated: word == "notrace" });
        Ok(())
    }

    fn function(&mut self) -> OrReported<()> {
        self.expect_word("function")?;
        let name = self.name("the name of a function")?;
        self.in_function = true;
        let function = self.process(name, 0, true);
        self.in_function = false;
        self.program.functions.push(function?);
        Ok(())
    }

    /// Functions may be called before they are declared.
    pub(super) fn find_functions(&mut self) {
        if !self.dynamic {
            return;
        }
        for pair in self.tokens.windows(2) {
            if pair[0].is_word("function")
                && let Some(name) = pair[1].word()
            {
                self.functions.push(name.clone());
            }
        }
    }

    /// What follows the name of a proctype.
    fn process(&mut self, name: Name, active: u32, with_params: bool) -> OrReported<Proctype> {
        self.proctype = Some(Current::default());
        self.scopes.push(HashMap::new());
        let mut params = Vec::new();
        if with_params {
            self.expect("(")?;
            while !self.is(")") {
                if self.accept(";") || self.accept(",") {
                    continue;
                }
                if !self.begins_decl() {
                    return self.unexpected("a parameter");
                }
                for declared in self.decl()? {
                    if declared.length.is_some() {
                        return self.error(
                            codes::BAD_TYPE,
                            declared.name.span,
                            "a parameter cannot be an array",
                        );
                    }
                    self.refuse_channels_in(&declared.ty, declared.name.span, "as a parameter")?;
                    params.push(self.declare(declared, false, true));
                }
            }
            self.expect(")")?;
        }
        let mut result = None;
        if self.in_function && self.accept(":") {
            let ty = self.type_name()?;
            result = Some(if self.accept("&") { Type::Pointer(Box::new(ty)) } else { ty });
        }
        let priority = self.priority()?;
        let provided = if self.accept_word("provided") { Some(self.expr()?) } else { None };
        self.expect("{")?;
        let body = self.sequence("}")?;
        let end = self.expect("}")?;
        self.resolve_jumps();
        self.scopes.pop();
        let Current { variables, promises, .. } = self.proctype.take().ok_or(Reported)?;
        let is_deterministic = false;
        Ok(Proctype {
            name,
            active,
            count: None,
            params,
            variables,
            promises,
            is_deterministic,
            provided,
            priority,
            body,
            result,
            end,
        })
    }

    fn ltl(&mut self) -> OrReported<()> {
        self.expect_word("ltl")?;
        let name = match self.peek().word() {
            Some(_) => Some(self.name("the name of a formula")?),
            None => None,
        };
        let mut tokens = self.braced()?;
        tokens.pop();
        let formula: Vec<Token> = tokens.drain(1..).collect();
        self.formulas.push((name, formula));
        Ok(())
    }

    /// Reads the formulas, when all that they can name is declared.
    pub(super) fn late_formulas(&mut self) {
        for (name, tokens) in std::mem::take(&mut self.formulas) {
            let span: Span = tokens.last().map_or_else(Span::default, |token| token.span);
            self.tokens = tokens;
            self.tokens.push(Token { kind: TokenKind::End, span, first: true, spaced: true });
            self.at = 0;
            self.in_formula = true;
            if let Ok(formula) = self.formula() {
                if self.peek().kind == TokenKind::End || self.is(";") {
                    self.program.formulas.push(Formula { name, formula });
                } else {
                    let _ = self.unexpected::<()>("the end of the formula");
                }
            }
            self.in_formula = false;
        }
    }

    /// What a call of an inline is replaced by.
    pub(super) fn inline_body(&mut self, name: &Name, arguments: &[Vec<Token>]) -> OrReported<Vec<Token>> {
        let Some(inline) = self.inlines.get(&name.node).cloned() else { return self.unknown(name) };
        if self.active_inlines.contains(&name.node) {
            let message = format!("the inline `{}` calls itself", name.node);
            return self.error(codes::TOO_DEEP, name.span, message);
        }
        if arguments.len() != inline.params.len() {
            let (wanted, given) = (inline.params.len(), arguments.len());
            let message = format!("the inline `{}` takes {wanted} arguments, not {given}", name.node);
            return self.error(codes::WRONG_COUNT, name.span, message);
        }
        let argument = |word: &Rc<str>| inline.params.iter().position(|param| param == word);
        let mut body = Vec::new();
        for token in inline.body {
            match token.word().and_then(argument) {
                Some(at) => {
                    let first = body.len();
                    body.extend(arguments[at].iter().cloned());
                    if let Some(replaced) = body.get_mut(first) {
                        replaced.first = token.first;
                    }
                }
                None => body.push(token),
            }
        }
        Ok(body)
    }
}
