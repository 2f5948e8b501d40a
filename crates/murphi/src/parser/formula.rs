//! Temporal properties: `ltl "name" [] (want -> <> have)`, `ctl "name" AG (want -> AF have)` and
//! `fairness "name" condition`. In formulas of branching time, `A [f U g]` and `E [f U g]` are in brackets, and the other
//! operators come with their path quantifier in one word.
//!
//! Formulas and expressions look alike where they begin. Whether a parenthesis or a quantifier holds a formula or a part
//! of an expression is found by looking ahead for a temporal operator up to where it closes. From the loosest:
//! `->`, `|`, `&`, `until` and `release`, then the prefix operators; what binds tighter is an expression.

use shoal_syntax::{Span, Spanned};

use super::{BlockKind, OrReported, Parser};
use crate::ast::{
    BinaryOp, Expr, ExprKind, Formula, FormulaKind, Level, Link, QuantifierKind, RuleKind, Temporal, UnaryOp,
};
use crate::token::{Keyword, TokenKind};

/// The operators before a formula.
#[derive(Clone, Copy)]
enum Prefix {
    Not,
    Always,
    Eventually,
    Next,
    /// An operator with its path quantifier: whether that is `A`, and the operator.
    Paths(bool, fn(Box<Formula>) -> FormulaKind),
}

/// Makes a formula of two.
type Infix = fn(Box<Formula>, Box<Formula>) -> FormulaKind;

impl Parser<'_> {
    /// The word of a temporal property, if one begins here.
    pub(super) fn temporal_word(&self) -> Option<&'static str> {
        use TokenKind::{Assign, Colon, Comma, Dot, Equal, LeftBracket};
        let word = self.soft_word().filter(|word| matches!(*word, "ltl" | "ctl" | "fairness"))?;
        let is_name = match self.peek(1) {
            LeftBracket => self.peek(2) != TokenKind::RightBracket,
            next => matches!(next, Assign | Colon | Comma | Dot | Equal),
        };
        (!is_name).then_some(word)
    }

    pub(super) fn temporal(&mut self, word: &str) -> OrReported<RuleKind> {
        let start = self.bump().span;
        let name = self.text_opt();
        if word == "fairness" {
            return Ok(RuleKind::Fairness { name, condition: self.expr()? });
        }
        let branching = word == "ctl";
        self.branching = branching;
        let formula = self.formula();
        self.branching = false;
        Ok(RuleKind::Temporal(Temporal { name, formula: formula?, branching, span: self.since(start) }))
    }

    /// A whole formula: `f -> g`, which binds to the right.
    fn formula(&mut self) -> OrReported<Formula> {
        self.nested(|parser| {
            let left = parser.disjunction()?;
            if !parser.at(TokenKind::Implies) {
                return Ok(left);
            }
            let op = parser.bump().span;
            let right = parser.formula()?;
            Ok(implies(left, op, right))
        })
    }

    fn disjunction(&mut self) -> OrReported<Formula> {
        let mut operands = vec![self.conjunction()?];
        while matches!(self.kind(), TokenKind::Bar | TokenKind::BarBar) {
            let op = self.bump().span;
            let operand = self.conjunction()?;
            add(&mut operands, BinaryOp::Or, op, operand);
        }
        Ok(join(operands, FormulaKind::Or))
    }

    fn conjunction(&mut self) -> OrReported<Formula> {
        let mut operands = vec![self.until()?];
        while matches!(self.kind(), TokenKind::Amp | TokenKind::AmpAmp) {
            let op = self.bump().span;
            let operand = self.until()?;
            add(&mut operands, BinaryOp::And, op, operand);
        }
        Ok(join(operands, FormulaKind::And))
    }

    /// `f until g`, which binds to the right.
    fn until(&mut self) -> OrReported<Formula> {
        self.nested(|parser| {
            let left = parser.prefixed()?;
            if parser.branching {
                return Ok(left);
            }
            let Some(make) = parser.infix_at(parser.pos) else { return Ok(left) };
            parser.bump();
            let right = parser.until()?;
            let span = left.span.to(right.span);
            Ok(Formula { kind: make(Box::new(left), Box::new(right)), span })
        })
    }

    fn prefixed(&mut self) -> OrReported<Formula> {
        let Some((prefix, tokens)) = self.prefix_at(self.pos) else { return self.operand_formula() };
        let start = self.span();
        self.pos += tokens;
        let operand = self.nested(Self::prefixed)?;
        let span = self.since(start);
        let make = match (prefix, operand.kind) {
            (Prefix::Not, FormulaKind::Atom(operand)) => {
                let op = Spanned::new(UnaryOp::Not, start);
                let kind = ExprKind::Unary { op, operand: Box::new(operand) };
                return Ok(Formula { kind: FormulaKind::Atom(Expr { kind, span }), span });
            }
            (Prefix::Not, kind) => FormulaKind::Not(Box::new(Formula { kind, span: operand.span })),
            (Prefix::Always, kind) => FormulaKind::Always(Box::new(Formula { kind, span: operand.span })),
            (Prefix::Eventually, kind) => {
                FormulaKind::Eventually(Box::new(Formula { kind, span: operand.span }))
            }
            (Prefix::Next, kind) => FormulaKind::Next(Box::new(Formula { kind, span: operand.span })),
            (Prefix::Paths(all, make), kind) => {
                let path = Formula { kind: make(Box::new(Formula { kind, span: operand.span })), span };
                quantify(all, path)
            }
        };
        Ok(Formula { kind: make, span })
    }

    fn operand_formula(&mut self) -> OrReported<Formula> {
        let start = self.span();
        match self.kind() {
            TokenKind::Ident if self.path_bracket_at(self.pos).is_some() => self.path_bracket(),
            TokenKind::LeftParen if self.temporal_inside() => {
                self.bump();
                let inner = self.formula()?;
                self.expect(TokenKind::RightParen, "to close the parenthesis")?;
                Ok(Formula { kind: inner.kind, span: self.since(start) })
            }
            TokenKind::Keyword(keyword @ (Keyword::Forall | Keyword::Exists)) if self.temporal_inside() => {
                self.quantified_formula(keyword)
            }
            _ => {
                let atom = self.nested(|parser| parser.expr_at(Level::Not))?;
                let span = atom.span;
                Ok(Formula { kind: FormulaKind::Atom(atom), span })
            }
        }
    }

    /// Whether `A [` or `E [` stands here, and which.
    fn path_bracket_at(&self, pos: usize) -> Option<bool> {
        let token = self.tokens[pos];
        let next = self.tokens.get(pos + 1).map(|token| token.kind);
        if !self.branching || token.kind != TokenKind::Ident || next != Some(TokenKind::LeftBracket) {
            return None;
        }
        let word = self.slice(token.span);
        let all = match word {
            "A" => true,
            "E" => false,
            _ => return None,
        };
        (!self.declared.contains(word)).then_some(all)
    }

    /// `A [f U g]`, `E [f R g]`.
    fn path_bracket(&mut self) -> OrReported<Formula> {
        let start = self.span();
        let all = self.path_bracket_at(self.pos).unwrap_or(true);
        self.pos += 2;
        let left = self.nested(Self::formula)?;
        let Some(make) = self.infix_at(self.pos) else {
            return Err(self.unexpected("`U` or `R` between two formulas", &["U", "R"]));
        };
        self.bump();
        let right = self.nested(Self::formula)?;
        self.expect(TokenKind::RightBracket, "to close the bracket")?;
        let span = self.since(start);
        let path = Formula { kind: make(Box::new(left), Box::new(right)), span };
        Ok(Formula { kind: quantify(all, path), span })
    }

    fn quantified_formula(&mut self, keyword: Keyword) -> OrReported<Formula> {
        let (block, kind) = match keyword {
            Keyword::Forall => (BlockKind::Forall, QuantifierKind::Forall),
            _ => (BlockKind::Exists, QuantifierKind::Exists),
        };
        let opener = self.bump().span;
        let quantifiers = self.quantifiers()?;
        let body = Box::new(self.formula()?);
        if self.closer().is_none() {
            let wanted = format!("`end{}` or `end` after the formula", block.word());
            return Err(self.unexpected(&wanted, &["end"]));
        }
        self.open(block, opener);
        self.close();
        let span = self.since(opener);
        Ok(Formula { kind: FormulaKind::Quantified { kind, quantifiers, body }, span })
    }

    /// The prefix operator at a token, and how many tokens it has.
    fn prefix_at(&self, pos: usize) -> Option<(Prefix, usize)> {
        let token = self.tokens[pos];
        let next = self.tokens.get(pos + 1).map(|token| token.kind);
        match (token.kind, next) {
            (TokenKind::Bang, _) => Some((Prefix::Not, 1)),
            (TokenKind::Ident, _) if self.branching => {
                let word = self.slice(token.span);
                let prefix = match word {
                    "AX" => Prefix::Paths(true, FormulaKind::Next),
                    "EX" => Prefix::Paths(false, FormulaKind::Next),
                    "AG" => Prefix::Paths(true, FormulaKind::Always),
                    "EG" => Prefix::Paths(false, FormulaKind::Always),
                    "AF" => Prefix::Paths(true, FormulaKind::Eventually),
                    "EF" => Prefix::Paths(false, FormulaKind::Eventually),
                    _ => return None,
                };
                (!self.declared.contains(word)).then_some((prefix, 1))
            }
            _ if self.branching => None,
            (TokenKind::LeftBracket, Some(TokenKind::RightBracket)) => Some((Prefix::Always, 2)),
            (TokenKind::Less, Some(TokenKind::Greater)) => Some((Prefix::Eventually, 2)),
            (TokenKind::Ident, _) => {
                let word = self.slice(token.span);
                let prefix = match word.to_ascii_lowercase().as_str() {
                    "always" => Prefix::Always,
                    "eventually" => Prefix::Eventually,
                    "next" => Prefix::Next,
                    _ => return None,
                };
                (!self.declared.contains(word)).then_some((prefix, 1))
            }
            _ => None,
        }
    }

    /// The operator between two formulas at a token. A name never follows an operand, so these need no reserved words.
    fn infix_at(&self, pos: usize) -> Option<Infix> {
        let token = self.tokens[pos];
        if token.kind != TokenKind::Ident || pos == 0 || !ends_operand(self.tokens[pos - 1].kind) {
            return None;
        }
        match self.slice(token.span) {
            "U" => Some(FormulaKind::Until),
            "R" => Some(FormulaKind::Release),
            word if word.eq_ignore_ascii_case("until") => Some(FormulaKind::Until),
            word if word.eq_ignore_ascii_case("release") => Some(FormulaKind::Release),
            _ => None,
        }
    }

    /// Whether there is a temporal operator before the parenthesis or quantifier that begins here is closed.
    fn temporal_inside(&self) -> bool {
        let mut depth = 0usize;
        for pos in self.pos..self.tokens.len() {
            match self.tokens[pos].kind {
                TokenKind::LeftParen | TokenKind::Keyword(Keyword::Forall | Keyword::Exists) => depth += 1,
                TokenKind::RightParen => depth = depth.saturating_sub(1),
                TokenKind::Keyword(keyword) if keyword.is_closer() => depth = depth.saturating_sub(1),
                TokenKind::Eof => return false,
                _ => {}
            }
            if depth == 0 {
                return false;
            }
            let temporal = self.prefix_at(pos).is_some_and(|(prefix, _)| !matches!(prefix, Prefix::Not));
            if temporal || self.infix_at(pos).is_some() || self.path_bracket_at(pos).is_some() {
                return true;
            }
        }
        false
    }
}

fn quantify(all: bool, path: Formula) -> FormulaKind {
    if all { FormulaKind::AllPaths(Box::new(path)) } else { FormulaKind::SomePath(Box::new(path)) }
}

/// Whether an operand may end with a token.
fn ends_operand(kind: TokenKind) -> bool {
    match kind {
        TokenKind::Ident | TokenKind::Int | TokenKind::RightParen | TokenKind::RightBracket => true,
        TokenKind::Keyword(keyword) => {
            keyword.is_closer() || matches!(keyword, Keyword::True | Keyword::False)
        }
        _ => false,
    }
}

fn implies(left: Formula, op: Span, right: Formula) -> Formula {
    let span = left.span.to(right.span);
    let kind = match (left.kind, right.kind) {
        (FormulaKind::Atom(left), FormulaKind::Atom(right)) => {
            let op = Spanned::new(BinaryOp::Implies, op);
            let kind = ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) };
            FormulaKind::Atom(Expr { kind, span })
        }
        (a, b) => {
            let left = Formula { kind: a, span: left.span };
            FormulaKind::Implies(Box::new(left), Box::new(Formula { kind: b, span: right.span }))
        }
    };
    Formula { kind, span }
}

/// Adds an operand of a junction. Conditions that follow each other become one, in which the first guards the second.
fn add(operands: &mut Vec<Formula>, op: BinaryOp, at: Span, operand: Formula) {
    let FormulaKind::Atom(right) = operand.kind else { return operands.push(operand) };
    match operands.pop() {
        Some(Formula { kind: FormulaKind::Atom(left), span }) => {
            let span = span.to(operand.span);
            let link = Link { op: Spanned::new(op, at), operand: right };
            let kind = match left.kind {
                ExprKind::Chain { first, mut links } if links.iter().all(|it| it.op.node == op) => {
                    links.push(link);
                    ExprKind::Chain { first, links }
                }
                kind => {
                    let first = Box::new(Expr { kind, span: left.span });
                    ExprKind::Chain { first, links: vec![link] }
                }
            };
            operands.push(Formula { kind: FormulaKind::Atom(Expr { kind, span }), span });
        }
        last => {
            operands.extend(last);
            operands.push(Formula { kind: FormulaKind::Atom(right), span: operand.span });
        }
    }
}

fn join(mut operands: Vec<Formula>, make: fn(Vec<Formula>) -> FormulaKind) -> Formula {
    let span = operands[0].span.to(operands[operands.len() - 1].span);
    match operands.pop() {
        Some(only) if operands.is_empty() => only,
        last => {
            operands.extend(last);
            Formula { kind: make(operands), span }
        }
    }
}
