//! The top level: programs and rules.

use shoal_syntax::{Diagnostic, Span, Spanned};

use super::decl::SectionPlace;
use super::expr::continues_expr;
use super::{BlockKind, OrReported, Parser, Reported};
use crate::ast::{
    Designator, Expr, ExprKind, Item, Name, Program, PropertyKind, Rule, RuleKind, SimpleRule, StartState,
};
use crate::codes;
use crate::token::{Keyword, TokenKind};

/// Words something at the top level can begin with.
pub(super) const STARTERS: &[&str] = &[
    "const",
    "type",
    "var",
    "procedure",
    "function",
    "rule",
    "ruleset",
    "startstate",
    "invariant",
    "assume",
    "cover",
    "liveness",
    "ltl",
    "fairness",
    "alias",
    "choose",
];

impl Parser<'_> {
    pub(super) fn program(&mut self) -> Program {
        let mut items = Vec::new();
        loop {
            self.eat_semicolons();
            if self.at(TokenKind::Eof) {
                break;
            }
            let start = self.pos;
            if self.items(&mut items).is_err() {
                self.skip_item(start);
            }
            self.open.clear();
            self.else_if = None;
        }
        Program { items, span: Span::new(self.source, 0, self.text.len()) }
    }

    /// One thing at the top level, or one section of declarations.
    fn items(&mut self, items: &mut Vec<Item>) -> OrReported<()> {
        match self.kind() {
            TokenKind::Keyword(Keyword::Const | Keyword::Type | Keyword::Var) => {
                items.extend(self.decls(SectionPlace::Top).into_iter().map(Item::Decl));
            }
            TokenKind::Keyword(Keyword::Procedure | Keyword::Function) => {
                items.push(Item::Procedure(self.procedure()?));
            }
            TokenKind::Ident if self.at_soft("externfun") || self.at_soft("externproc") => {
                items.push(Item::Extern(self.external()?));
            }
            TokenKind::Ident if self.at_soft("pctl") => return Err(self.pctl()),
            _ if self.at_rule() => items.push(Item::Rule(self.rule()?)),
            _ => return Err(self.not_an_item()),
        }
        Ok(())
    }

    /// CMurphi's last section, a formula for its probabilistic engine. It is the end of the model.
    fn pctl(&mut self) -> Reported {
        let message = "`pctl` formulas are not supported";
        let diagnostic = Diagnostic::error(codes::UNSUPPORTED_SYNTAX, self.span(), message)
            .help("probabilistic models of CMurphi cannot be checked");
        let reported = self.report(diagnostic);
        self.pos = self.tokens.len() - 1;
        reported
    }

    fn not_an_item(&mut self) -> Reported {
        if let Some(word) = self.closer() {
            let message = format!("`{word}` closes nothing");
            let diagnostic = Diagnostic::error(codes::STRAY_CLOSER, self.span(), message)
                .help("everything before it is closed already");
            return self.report(diagnostic);
        }
        self.unexpected("a declaration, procedure, rule or property", STARTERS)
    }

    /// After an error at the top level: to the next word that can only stand there.
    fn skip_item(&mut self, start: usize) {
        if self.pos == start {
            self.bump();
        }
        self.skip_to(|parser| {
            use Keyword::{Const, Function, Invariant, Procedure, Rule, Ruleset, StartState, Type, Var};
            let TokenKind::Keyword(keyword) = parser.kind() else { return false };
            matches!(
                keyword,
                Const | Type | Var | Function | Procedure | Rule | Ruleset | StartState | Invariant
            )
        });
    }

    /// Whether a rule or property begins here.
    fn at_rule(&self) -> bool {
        use Keyword::{Alias, Assert, Invariant, Rule, Ruleset, StartState};
        match self.kind() {
            TokenKind::Keyword(keyword) => {
                matches!(keyword, Alias | Assert | Invariant | Rule | Ruleset | StartState)
            }
            _ => self.soft_property().is_some() || self.temporal_word().is_some() || self.at_choose(),
        }
    }

    fn at_choose(&self) -> bool {
        self.at_soft("choose") && self.peek(1) == TokenKind::Ident
    }

    fn rule(&mut self) -> OrReported<Rule> {
        self.nested(|parser| {
            let start = parser.span();
            let kind = parser.rule_kind()?;
            Ok(Rule { kind, span: parser.since(start) })
        })
    }

    fn rule_kind(&mut self) -> OrReported<RuleKind> {
        if let Some(kind) = self.soft_property() {
            return Ok(RuleKind::Property(self.property(kind)?));
        }
        if let Some(word) = self.temporal_word() {
            return self.temporal(word);
        }
        if self.at_choose() {
            return self.choose();
        }
        match self.kind() {
            TokenKind::Keyword(Keyword::Rule) => Ok(self.simple_rule()),
            TokenKind::Keyword(Keyword::StartState) => Ok(self.start_state()),
            TokenKind::Keyword(Keyword::Invariant) => {
                Ok(RuleKind::Property(self.property(PropertyKind::Invariant)?))
            }
            TokenKind::Keyword(Keyword::Assert) => {
                Ok(RuleKind::Property(self.property(PropertyKind::Assert)?))
            }
            TokenKind::Keyword(Keyword::Ruleset) => Ok(self.ruleset()),
            TokenKind::Keyword(Keyword::Alias) => Ok(self.alias_rule()),
            _ => Err(self.unexpected("a rule, start state or property", STARTERS)),
        }
    }

    fn simple_rule(&mut self) -> RuleKind {
        let opener = self.bump().span;
        self.open(BlockKind::Rule, opener);
        let priority = self.priority();
        let name = self.text_opt();
        let guard = self.guard();
        let body = self.body();
        self.close();
        RuleKind::Simple(SimpleRule { priority, name, guard, body })
    }

    /// A number is a priority unless an expression goes on after it: `rule 1 = x ==>` has a guard.
    fn priority(&mut self) -> Option<Spanned<i64>> {
        let alone = !continues_expr(self.peek(1)) && self.peek(1) != TokenKind::Arrow;
        if self.at(TokenKind::Int) && alone { self.int().ok() } else { None }
    }

    /// `guard ==>`, or nothing if the body begins here.
    fn guard(&mut self) -> Option<Expr> {
        if !self.at_expr() {
            return None;
        }
        let start = self.pos;
        let guard = self.expr();
        if self.eat(TokenKind::Arrow) {
            return guard.ok();
        }
        if let Ok(guard) = &guard {
            self.no_arrow(guard, start);
        }
        self.after_broken_guard(start);
        guard.ok()
    }

    /// Either the arrow was forgotten, or this was never meant to be a guard.
    fn no_arrow(&mut self, guard: &Expr, start: usize) -> Reported {
        let call = self.at(TokenKind::Semicolon) && matches!(guard.kind, ExprKind::Call(_));
        if self.at(TokenKind::Assign) || call {
            let message = "the statements of a rule without a guard need `begin` before them";
            let diagnostic = Diagnostic::error(codes::RULE_HEADER, self.tokens[start].span, message)
                .help("write `rule \"name\" begin .. end` or `rule \"name\" guard ==> .. end`");
            return self.report(diagnostic);
        }
        let message = format!("expected `==>` after the guard, found {}", self.describe());
        let mut diagnostic = Diagnostic::error(codes::RULE_HEADER, self.span(), message);
        if self.at_keyword(Keyword::Begin) {
            diagnostic = diagnostic.help("`==>` stands between the guard and `begin`");
        } else if let Some(help) = self.slip() {
            diagnostic = diagnostic.help(help);
        }
        self.report(diagnostic)
    }

    /// Goes on where the body begins: after the arrow, or at the statement that was taken for a guard.
    fn after_broken_guard(&mut self, start: usize) {
        if self.at(TokenKind::Assign) {
            self.pos = start;
            return;
        }
        self.skip_to(|parser| parser.at(TokenKind::Arrow) || parser.at_boundary());
        self.eat(TokenKind::Arrow);
    }

    fn start_state(&mut self) -> RuleKind {
        let opener = self.bump().span;
        self.open(BlockKind::StartState, opener);
        let name = self.text_opt();
        let body = self.body();
        self.close();
        RuleKind::StartState(StartState { name, body })
    }

    fn ruleset(&mut self) -> RuleKind {
        let opener = self.bump().span;
        self.open(BlockKind::Ruleset, opener);
        let quantifiers = self.quantifier_header();
        let rules = self.rules();
        self.close();
        RuleKind::Ruleset { quantifiers, rules }
    }

    fn alias_rule(&mut self) -> RuleKind {
        let opener = self.bump().span;
        self.open(BlockKind::Alias, opener);
        let aliases = self.alias_header();
        let rules = self.rules();
        self.close();
        RuleKind::Alias { aliases, rules }
    }

    fn choose(&mut self) -> OrReported<RuleKind> {
        let opener = self.bump().span;
        self.open(BlockKind::Choose, opener);
        let header = self.choose_header();
        if header.is_err() {
            self.skip_to_do();
        }
        let rules = self.rules();
        self.close();
        let (index, multiset) = header?;
        Ok(RuleKind::Choose { index, multiset, rules })
    }

    fn choose_header(&mut self) -> OrReported<(Name, Designator)> {
        let index = self.new_name("a name for the element")?;
        self.expect(TokenKind::Colon, "between the element and the multiset")?;
        let multiset = self.designator()?;
        self.expect_do("after the multiset")?;
        Ok((index, multiset))
    }

    /// Rules up to a closing word. What is neither is skipped, as far as the next rule.
    fn rules(&mut self) -> Vec<Rule> {
        let mut rules = Vec::new();
        loop {
            self.eat_semicolons();
            if self.closer().is_some() || self.at(TokenKind::Eof) || self.at_outer_item() {
                return rules;
            }
            let start = self.pos;
            let rule = if self.at_rule() { self.rule() } else { Err(self.not_a_rule()) };
            match rule {
                Ok(rule) => rules.push(rule),
                Err(Reported) => self.skip_rule(start),
            }
        }
    }

    /// What can stand only at the top level: the ruleset around was not closed.
    pub(super) fn at_outer_item(&self) -> bool {
        use Keyword::{Const, Function, Procedure, Type, Var};
        matches!(self.kind(), TokenKind::Keyword(Const | Type | Var | Function | Procedure))
    }

    fn not_a_rule(&mut self) -> Reported {
        if self.open.last().is_some_and(|open| open.block == BlockKind::Ruleset) && self.at_expr() {
            return self.unexpected("a rule inside the ruleset", STARTERS);
        }
        self.unexpected("a rule, start state or property", STARTERS)
    }

    fn skip_rule(&mut self, start: usize) {
        if self.pos == start {
            self.bump();
        }
        self.skip_to(|parser| {
            let rule = !parser.at(TokenKind::Ident) && parser.at_rule();
            rule || parser.closer().is_some() || parser.at_outer_item()
        });
    }
}
