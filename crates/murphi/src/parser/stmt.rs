//! Statements.

use shoal_syntax::{Diagnostic, Span, did_you_mean};

use super::{BlockKind, OrReported, Parser, Reported};
use crate::ast::{Alias, Case, Expr, IfArm, Property, PropertyKind, Quantifier, Stmt, StmtKind};
use crate::codes;
use crate::token::{Keyword, TokenKind};

/// Words a statement can begin with, for "did you mean".
const STARTERS: &[&str] = &[
    "if", "elsif", "else", "switch", "case", "for", "while", "alias", "clear", "undefine", "put", "error",
    "assert", "return", "end",
];

impl Parser<'_> {
    /// Statements up to something that cannot be one. Each but the last needs a `;`; more of them do no harm.
    pub(super) fn stmts(&mut self) -> Vec<Stmt> {
        let mut stmts = Vec::new();
        loop {
            self.eat_semicolons();
            if self.at_end_of_stmts() {
                return stmts;
            }
            let start = self.pos;
            match self.nested(Self::stmt) {
                Ok(stmt) => stmts.push(stmt),
                Err(Reported) => self.recover(start),
            }
            self.expect_separator();
        }
    }

    /// Where a list of statements ends: at a closing word, at a part of the statement around it, or at what can only
    /// stand outside.
    fn at_end_of_stmts(&self) -> bool {
        use Keyword::{
            Begin, Case, Const, Else, Elsif, Function, Procedure, Rule, Ruleset, StartState, Type, Var,
        };
        match self.kind() {
            TokenKind::Eof => true,
            TokenKind::Keyword(keyword) => {
                let outside = matches!(
                    keyword,
                    Begin | Const | Type | Var | Function | Procedure | Rule | Ruleset | StartState
                );
                outside || keyword.is_closer() || matches!(keyword, Case | Else | Elsif)
            }
            _ => self.closer().is_some(),
        }
    }

    /// After a statement: a `;`, or the end of the list.
    fn expect_separator(&mut self) {
        if self.at(TokenKind::Semicolon) || self.at_end_of_stmts() {
            return;
        }
        let start = self.pos;
        self.missing_semicolon("this statement");
        if !self.at_stmt() {
            self.recover(start);
        }
    }

    /// Whether a statement can begin here.
    fn at_stmt(&self) -> bool {
        match self.kind() {
            TokenKind::Ident => {
                let slip = matches!(self.peek(1), TokenKind::Equal | TokenKind::Colon);
                slip || self.designator_follows() || self.soft_property().is_some()
            }
            TokenKind::Keyword(keyword) => starts_stmt(keyword),
            _ => false,
        }
    }

    /// Goes to where the next statement may begin, and at least one token on from `start` unless the list ends there.
    fn recover(&mut self, start: usize) {
        if self.pos == start && !self.at_end_of_stmts() {
            self.bump();
        }
        self.skip_to(Self::at_boundary);
    }

    /// Skips tokens until a condition holds; it must hold at the end of the text.
    pub(super) fn skip_to(&mut self, stop: impl Fn(&Self) -> bool) {
        while !self.at(TokenKind::Eof) && !stop(self) {
            self.bump();
        }
    }

    /// Where something new begins for certain.
    pub(super) fn at_boundary(&self) -> bool {
        let keyword = match self.kind() {
            TokenKind::Keyword(keyword) => starts_stmt(keyword),
            _ => self.at(TokenKind::Semicolon),
        };
        keyword || self.at_end_of_stmts()
    }

    fn stmt(&mut self) -> OrReported<Stmt> {
        let start = self.span();
        let kind = match self.kind() {
            TokenKind::Ident => self.word_stmt()?,
            TokenKind::Keyword(keyword) => self.keyword_stmt(keyword)?,
            _ => return Err(self.unexpected("a statement", STARTERS)),
        };
        Ok(Stmt { kind, span: self.since(start) })
    }

    fn keyword_stmt(&mut self, keyword: Keyword) -> OrReported<StmtKind> {
        match keyword {
            Keyword::If => Ok(self.if_stmt()),
            Keyword::Switch => Ok(self.switch_stmt()),
            Keyword::For => Ok(self.for_stmt()),
            Keyword::While => Ok(self.while_stmt()),
            Keyword::Alias => Ok(self.alias_stmt()),
            Keyword::Assert => Ok(StmtKind::Property(self.property(PropertyKind::Assert)?)),
            Keyword::Invariant => Ok(StmtKind::Property(self.property(PropertyKind::Invariant)?)),
            Keyword::Clear => {
                self.bump();
                Ok(StmtKind::Clear(self.designator()?))
            }
            Keyword::Undefine => {
                self.bump();
                Ok(StmtKind::Undefine(self.designator()?))
            }
            Keyword::Error => {
                self.bump();
                Ok(StmtKind::Error(self.expect_text("after `error`")?))
            }
            Keyword::Put => self.put_stmt(),
            Keyword::Return => self.return_stmt(),
            _ => Err(self.unexpected("a statement", STARTERS)),
        }
    }

    fn put_stmt(&mut self) -> OrReported<StmtKind> {
        self.bump();
        match self.text_opt() {
            Some(text) => Ok(StmtKind::PutText(text)),
            None => Ok(StmtKind::PutExpr(self.expr()?)),
        }
    }

    fn return_stmt(&mut self) -> OrReported<StmtKind> {
        self.bump();
        let value = if self.at_expr() { Some(self.expr()?) } else { None };
        Ok(StmtKind::Return(value))
    }

    /// `assert c "text"` or `assert "text" c`, and the same with the other words.
    pub(super) fn property(&mut self, kind: PropertyKind) -> OrReported<Property> {
        let keyword = self.bump().span;
        let before = self.text_opt();
        let condition = self.expr()?;
        let name = before.or_else(|| self.text_opt());
        Ok(Property { kind, keyword, name, condition, span: self.since(keyword) })
    }

    /// The property a soft word begins here, if what follows can be its condition. `assume (x)` is one, `assume := x`
    /// is not; the call of a procedure of that name has been told apart by its declaration.
    pub(super) fn soft_property(&self) -> Option<PropertyKind> {
        let kind = match self.soft_word()? {
            "assume" => PropertyKind::Assume,
            "cover" => PropertyKind::Cover,
            "liveness" => PropertyKind::Liveness,
            _ => return None,
        };
        use TokenKind::{Assign, Colon, Comma, Dot, Equal, LeftBracket};
        (!matches!(self.peek(1), Assign | Colon | Comma | Dot | Equal | LeftBracket)).then_some(kind)
    }

    /// A statement that begins with a name or a soft word.
    fn word_stmt(&mut self) -> OrReported<StmtKind> {
        if let Some(kind) = self.soft_property() {
            return Ok(StmtKind::Property(self.property(kind)?));
        }
        if self.peek(1) == TokenKind::LeftParen {
            return match self.soft_word() {
                Some("multisetadd") => self.multiset_add(),
                Some("multisetremove") => self.multiset_remove(),
                Some("multisetremovepred") => {
                    self.bump();
                    Ok(StmtKind::MultisetRemovePred(self.multiset_filter()?))
                }
                _ => Ok(StmtKind::Call(self.call()?)),
            };
        }
        if self.at_soft("choose") && self.peek(1) == TokenKind::Ident {
            let diagnostic =
                Diagnostic::error(codes::UNEXPECTED, self.span(), "`choose` cannot stand among statements")
                    .help("put the rule inside the `choose`");
            return Err(self.report(diagnostic));
        }
        self.assignment()
    }

    fn assignment(&mut self) -> OrReported<StmtKind> {
        if self.peek(1) == TokenKind::Colon && self.slip().is_some() {
            return Err(self.unexpected("a statement", STARTERS));
        }
        let start = self.token();
        let target = self.designator()?;
        match self.kind() {
            TokenKind::Assign => {
                self.bump();
            }
            TokenKind::Equal | TokenKind::EqualEqual | TokenKind::Colon => {
                let found = self.describe();
                let message = format!("expected `:=` in an assignment, found {found}");
                let diagnostic = Diagnostic::error(codes::ASSIGN_OR_EQUAL, self.span(), message)
                    .help("`:=` assigns and `=` compares");
                self.report(diagnostic);
                self.bump();
            }
            _ if target.path.is_empty() => return Err(self.not_a_statement(start.span)),
            _ => return Err(self.unexpected("`:=` in an assignment", &[])),
        }
        let value = self.expr()?;
        Ok(StmtKind::Assign { target, value })
    }

    /// A lone name: a misspelt keyword, or a call without parentheses.
    fn not_a_statement(&mut self, word: Span) -> Reported {
        let text = self.slice(word).to_string();
        let found = self.describe();
        let message = format!("expected `:=` or `(` after `{text}`, found {found}");
        let mut diagnostic = Diagnostic::error(codes::UNEXPECTED, self.span(), message);
        let near = did_you_mean(&text, STARTERS.iter().copied().filter(|_| text.len() > 2));
        if let Some(near) = near {
            diagnostic =
                diagnostic.also(word, "this is read as a name").help(format!("did you mean `{near}`?"));
        } else if let Some(help) = self.slip() {
            diagnostic = diagnostic.help(help);
        } else if self.at(TokenKind::Semicolon) || self.at_end_of_stmts() {
            diagnostic = diagnostic.help(format!("a procedure is called with parentheses: `{text}()`"));
        }
        self.report(diagnostic)
    }

    fn multiset_add(&mut self) -> OrReported<StmtKind> {
        self.bump();
        self.expect(TokenKind::LeftParen, "after `multisetadd`")?;
        let element = self.expr()?;
        self.expect(TokenKind::Comma, "before the multiset")?;
        let multiset = self.designator()?;
        self.expect(TokenKind::RightParen, "after the multiset")?;
        Ok(StmtKind::MultisetAdd { element, multiset })
    }

    fn multiset_remove(&mut self) -> OrReported<StmtKind> {
        self.bump();
        self.expect(TokenKind::LeftParen, "after `multisetremove`")?;
        let index = self.expr()?;
        self.expect(TokenKind::Comma, "before the multiset")?;
        let multiset = self.designator()?;
        self.expect(TokenKind::RightParen, "after the multiset")?;
        Ok(StmtKind::MultisetRemove { index, multiset })
    }
}

/// Statements with a body. Their headers mend themselves: a broken condition does not cost the block.
impl Parser<'_> {
    fn if_stmt(&mut self) -> StmtKind {
        let opener = self.span();
        self.open(BlockKind::If, opener);
        let mut arms = vec![self.if_arm()];
        while self.at_keyword(Keyword::Elsif) {
            arms.push(self.if_arm());
        }
        let otherwise = self.else_part();
        self.close();
        StmtKind::If { arms, otherwise }
    }

    /// `if c then ..` or `elsif c then ..`.
    fn if_arm(&mut self) -> IfArm {
        let start = self.bump().span;
        let condition = self.expr_before(Keyword::Then);
        self.header_end(Keyword::Then, "after the condition");
        let body = self.stmts();
        IfArm { condition, body, span: self.since(start) }
    }

    fn else_part(&mut self) -> Option<Vec<Stmt>> {
        if !self.at_keyword(Keyword::Else) {
            return None;
        }
        let start = self.bump().span;
        if self.at_keyword(Keyword::If) {
            self.else_if = Some(start.to(self.span()));
        }
        Some(self.stmts())
    }

    /// The keyword that ends a header. If it is missing, what is left of the header is skipped.
    fn header_end(&mut self, keyword: Keyword, context: &str) {
        let found = match keyword {
            Keyword::Do => self.expect_do(context),
            _ => self.expect_keyword(keyword, context).map(|_| ()),
        };
        let misspelt = self.at(TokenKind::Ident) && !self.designator_follows() && self.near(keyword);
        if found.is_err() && misspelt {
            self.bump();
        } else if found.is_err() && (!self.at_stmt() || self.reaches(keyword)) {
            self.skip_to(|parser| parser.at_keyword(keyword) || parser.at_boundary());
            self.eat_keyword(keyword);
        }
    }

    fn near(&self, keyword: Keyword) -> bool {
        did_you_mean(self.slice(self.span()), [keyword.text()]).is_some()
    }

    /// Whether a keyword follows before anything that looks like a statement.
    fn reaches(&self, keyword: Keyword) -> bool {
        let rest = self.tokens[self.pos..].iter().map(|token| token.kind);
        let mut rest = rest.skip_while(|kind| match kind {
            TokenKind::Assign | TokenKind::Semicolon | TokenKind::Eof => false,
            TokenKind::Keyword(found) => *found != keyword && !starts_stmt(*found) && !found.is_closer(),
            _ => true,
        });
        rest.next() == Some(TokenKind::Keyword(keyword))
    }

    fn switch_stmt(&mut self) -> StmtKind {
        let opener = self.bump().span;
        self.open(BlockKind::Switch, opener);
        let subject = self.expr_before(Keyword::Case);
        self.eat_semicolons();
        let mut cases = Vec::new();
        loop {
            if self.at_keyword(Keyword::Case) {
                cases.push(self.case());
            } else if self.at_stmt() || self.at_keyword(Keyword::Elsif) {
                // Nothing but cases can stand here, but what stands here should not be lost to the next `end`.
                self.unexpected("`case`, `else` or `end` in this `switch`", &["case", "else", "endswitch"]);
                self.bump();
                self.stmts();
            } else {
                break;
            }
        }
        let otherwise = self.else_part();
        self.close();
        StmtKind::Switch { subject, cases, otherwise }
    }

    fn case(&mut self) -> Case {
        let start = self.bump().span;
        let labels = self.labels().unwrap_or_else(|Reported| {
            self.skip_to(|parser| parser.at(TokenKind::Colon) || parser.at_boundary());
            self.eat(TokenKind::Colon);
            Vec::new()
        });
        let body = self.stmts();
        Case { labels, body, span: self.since(start) }
    }

    /// `a, b:`.
    fn labels(&mut self) -> OrReported<Vec<Expr>> {
        let mut labels = vec![self.expr()?];
        while self.eat(TokenKind::Comma) && !self.at(TokenKind::Colon) {
            labels.push(self.expr()?);
        }
        self.expect(TokenKind::Colon, "after the values of a `case`")?;
        Ok(labels)
    }

    fn for_stmt(&mut self) -> StmtKind {
        let opener = self.bump().span;
        self.open(BlockKind::For, opener);
        let quantifiers = self.quantifier_header();
        let body = self.stmts();
        self.close();
        StmtKind::For { quantifiers, body }
    }

    /// The quantifiers of a block and its `do`; none if they are broken.
    pub(super) fn quantifier_header(&mut self) -> Vec<Quantifier> {
        self.quantifiers().unwrap_or_else(|Reported| {
            self.skip_to_do();
            Vec::new()
        })
    }

    /// After an error in a header: on to its `do`, if there is one.
    pub(super) fn skip_to_do(&mut self) {
        let line_end = |parser: &Self| parser.at_keyword(Keyword::Do) || parser.at_boundary();
        self.skip_to(line_end);
        self.eat_keyword(Keyword::Do);
    }

    fn while_stmt(&mut self) -> StmtKind {
        let opener = self.bump().span;
        self.open(BlockKind::While, opener);
        let condition = self.expr_before(Keyword::Do);
        self.header_end(Keyword::Do, "after the condition");
        let body = self.stmts();
        self.close();
        StmtKind::While { condition, body }
    }

    fn alias_stmt(&mut self) -> StmtKind {
        let opener = self.bump().span;
        self.open(BlockKind::Alias, opener);
        let aliases = self.alias_header();
        let body = self.stmts();
        self.close();
        StmtKind::Alias { aliases, body }
    }

    /// `a: e; b: f` and the `do`; none if they are broken.
    pub(super) fn alias_header(&mut self) -> Vec<Alias> {
        self.aliases().unwrap_or_else(|Reported| {
            self.skip_to_do();
            Vec::new()
        })
    }

    /// Rumur needs no `;` between them.
    fn aliases(&mut self) -> OrReported<Vec<Alias>> {
        let mut aliases = Vec::new();
        while self.at(TokenKind::Ident) {
            let names = self.new_names("a name for the alias")?;
            self.expect(TokenKind::Colon, "after the name of the alias")?;
            let value = self.expr()?;
            let span = self.since(names[0].span);
            aliases.push(Alias { names, value, span });
            self.eat_semicolons();
        }
        self.expect_do("after the aliases")?;
        Ok(aliases)
    }
}

fn starts_stmt(keyword: Keyword) -> bool {
    use Keyword::{Alias, Assert, Clear, Error, For, If, Invariant, Put, Return, Switch, Undefine, While};
    matches!(
        keyword,
        Alias | Assert | Clear | Error | For | If | Invariant | Put | Return | Switch | Undefine | While
    )
}
