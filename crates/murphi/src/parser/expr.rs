//! Expressions and designators.
//!
//! Operators are parsed by climbing levels ([`Level`] says which binds tighter). A left-associative level becomes one flat
//! chain, however long; what nests is only what stands in parentheses, brackets or behind a prefix.

use shoal_syntax::{Diagnostic, Span, Spanned};

use super::{BlockKind, MAX_DEPTH, OrReported, Parser, Reported};
use crate::ast::{
    BinaryOp, Call, Designator, Domain, Expr, ExprKind, Level, Link, MultisetFilter, Quantifier,
    QuantifierKind, Selector, UnaryOp,
};
use crate::codes;
use crate::token::{Keyword, TokenKind};

/// Words an expression can begin with.
const STARTERS: &[&str] = &["forall", "exists", "isundefined", "true", "false"];

impl Parser<'_> {
    /// A whole expression.
    pub(super) fn expr(&mut self) -> OrReported<Expr> {
        self.nested(|parser| parser.expr_at(Level::Conditional))
    }

    /// An expression that should be followed by a keyword. If it is broken, what is left of it is skipped, so that the
    /// block that begins with the keyword is still read as a block.
    pub(super) fn expr_before(&mut self, keyword: Keyword) -> Expr {
        let start = self.span();
        match self.expr() {
            Ok(expr) => expr,
            Err(Reported) => {
                self.skip_to(|parser| parser.at_keyword(keyword) || parser.at_boundary());
                Expr { kind: ExprKind::Error, span: self.since(start) }
            }
        }
    }

    /// Whether an expression can begin here.
    pub(super) fn at_expr(&self) -> bool {
        use TokenKind::{Bang, Ident, Int, LeftParen, Minus, Plus, Real, Tilde};
        match self.kind() {
            Ident | Int | Real | LeftParen | Minus | Plus | Bang | Tilde => true,
            TokenKind::Keyword(keyword) => STARTERS.contains(&keyword.text()),
            _ => false,
        }
    }

    pub(super) fn expr_at(&mut self, min: Level) -> OrReported<Expr> {
        let reach = std::mem::replace(&mut self.reach, self.depth);
        let mut left = self.operand()?;
        while let Some(op) = binary_op(self.kind()).filter(|op| op.level() >= min) {
            self.put_under()?;
            left =
                if op.is_left_associative() { self.chain(left, op.level())? } else { self.binary(left, op)? };
        }
        if min == Level::Conditional && self.at(TokenKind::Question) {
            self.put_under()?;
            left = self.conditional(left)?;
        }
        self.reach = self.reach.max(reach);
        Ok(left)
    }

    /// What was parsed becomes the left operand of something, one level further down.
    fn put_under(&mut self) -> OrReported<()> {
        self.reach += 1;
        if self.reach > MAX_DEPTH { Err(self.too_deep()) } else { Ok(()) }
    }

    /// All operators of one left-associative level that follow.
    fn chain(&mut self, first: Expr, level: Level) -> OrReported<Expr> {
        let start = first.span;
        let mut links = Vec::new();
        while let Some(op) = binary_op(self.kind()).filter(|op| op.level() == level) {
            let op = Spanned::new(op, self.bump().span);
            let operand = self.nested(|parser| parser.expr_at(level.tighter()))?;
            links.push(Link { op, operand });
        }
        Ok(Expr { kind: ExprKind::Chain { first: Box::new(first), links }, span: self.since(start) })
    }

    fn binary(&mut self, left: Expr, op: BinaryOp) -> OrReported<Expr> {
        let start = left.span;
        let op = Spanned::new(op, self.bump().span);
        let right = self.nested(|parser| parser.expr_at(op.node.level().tighter()))?;
        if let Some(next) = binary_op(self.kind()).filter(|next| next.level() == op.node.level()) {
            return Err(self.not_associative(op, next, [start, right.span]));
        }
        let kind = ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) };
        Ok(Expr { kind, span: self.since(start) })
    }

    /// Reports `a op b next c` at `next`. Going on would build a deep tree out of a long row of these.
    fn not_associative(&mut self, op: Spanned<BinaryOp>, next: BinaryOp, operands: [Span; 2]) -> Reported {
        let [a, b] = operands.map(|span| self.brief(span));
        let (first, second) = (op.node.symbol(), next.symbol());
        let help = match op.node.level() {
            Level::Implies => format!("write `({a} -> {b}) -> ..` or `{a} -> ({b} -> ..)`"),
            _ if matches!(op.node, BinaryOp::Eq | BinaryOp::Ne) => {
                format!("write `({a} {first} {b}) {second} ..`, or two comparisons joined by `&`")
            }
            _ => format!("write `{a} {first} {b} & {b} {second} ..`"),
        };
        let message = format!("`{second}` cannot follow `{first}` without parentheses");
        let diagnostic = Diagnostic::error(codes::NOT_ASSOCIATIVE, self.span(), message)
            .also(op.span, "the other operator")
            .help(help);
        self.report(diagnostic)
    }

    /// An operand as it stands in the source, if it is short enough to be quoted in a hint.
    fn brief(&self, span: Span) -> String {
        let text = self.slice(span);
        if text.len() <= 24 && !text.contains('\n') { text.to_string() } else { "..".to_string() }
    }

    fn conditional(&mut self, condition: Expr) -> OrReported<Expr> {
        let start = condition.span;
        let question = self.bump().span;
        let then = self.expr()?;
        self.expect(TokenKind::Colon, "between the two values of `?`")?;
        let otherwise = self.nested(|parser| parser.expr_at(Level::Conditional.tighter()))?;
        if self.at(TokenKind::Question) {
            let diagnostic = Diagnostic::error(
                codes::NOT_ASSOCIATIVE,
                self.span(),
                "a second `?` cannot follow the first without parentheses",
            )
            .also(question, "the first")
            .help("write `a ? b : (c ? d : e)`");
            return Err(self.report(diagnostic));
        }
        let kind = ExprKind::Conditional {
            condition: Box::new(condition),
            then: Box::new(then),
            otherwise: Box::new(otherwise),
        };
        Ok(Expr { kind, span: self.since(start) })
    }

    /// A prefix operator with its operand, or a primary. The operand of `!` may be a comparison.
    fn operand(&mut self) -> OrReported<Expr> {
        let (op, level) = match self.kind() {
            TokenKind::Bang => (UnaryOp::Not, Level::Not),
            TokenKind::Tilde => (UnaryOp::BitNot, Level::Prefix),
            TokenKind::Minus => (UnaryOp::Minus, Level::Prefix),
            TokenKind::Plus => (UnaryOp::Plus, Level::Prefix),
            _ => return self.primary(),
        };
        let op = Spanned::new(op, self.bump().span);
        let operand = Box::new(self.nested(|parser| parser.expr_at(level))?);
        Ok(Expr { span: self.since(op.span), kind: ExprKind::Unary { op, operand } })
    }

    fn primary(&mut self) -> OrReported<Expr> {
        let start = self.span();
        let kind = match self.kind() {
            TokenKind::Int => ExprKind::Int(self.int()?.node),
            TokenKind::Real => ExprKind::Real(self.take_slice()),
            TokenKind::Ident => self.word()?,
            TokenKind::LeftParen => self.parenthesised()?,
            TokenKind::Keyword(keyword) => self.keyword_expr(keyword)?,
            _ => return Err(self.unexpected("an expression", STARTERS)),
        };
        Ok(Expr { kind, span: self.since(start) })
    }

    fn keyword_expr(&mut self, keyword: Keyword) -> OrReported<ExprKind> {
        match keyword {
            Keyword::True | Keyword::False => {
                self.bump();
                Ok(ExprKind::Bool(keyword == Keyword::True))
            }
            Keyword::Forall => self.quantified(BlockKind::Forall, QuantifierKind::Forall),
            Keyword::Exists => self.quantified(BlockKind::Exists, QuantifierKind::Exists),
            Keyword::IsUndefined => self.is_undefined(),
            _ => Err(self.unexpected("an expression", STARTERS)),
        }
    }

    fn take_slice(&mut self) -> String {
        let span = self.bump().span;
        self.slice(span).to_string()
    }

    /// The value of the number at the current token.
    pub(super) fn int(&mut self) -> OrReported<Spanned<i64>> {
        let span = self.span();
        let text = self.slice(span);
        let value = match text.get(..2) {
            Some("0x" | "0X") => i64::from_str_radix(&text[2..], 16),
            _ => text.parse(),
        };
        let Ok(value) = value else {
            let message = "this number does not fit 64 bits";
            self.report(Diagnostic::error(codes::NUMBER_TOO_LARGE, span, message));
            self.bump();
            return Ok(Spanned::new(0, span));
        };
        self.bump();
        Ok(Spanned::new(value, span))
    }

    fn parenthesised(&mut self) -> OrReported<ExprKind> {
        self.bump();
        let inner = self.expr()?;
        self.expect(TokenKind::RightParen, "to close the parenthesis")?;
        Ok(inner.kind)
    }

    /// What begins with a name: a call, a designator or one of the soft words.
    fn word(&mut self) -> OrReported<ExprKind> {
        let called = self.peek(1) == TokenKind::LeftParen;
        match self.soft_word() {
            Some("undefined") if !self.designator_follows() => {
                self.bump();
                Ok(ExprKind::Undefined)
            }
            Some("ismember") if called => self.is_member(),
            Some("multisetcount") if called => {
                self.bump();
                Ok(ExprKind::MultisetCount(self.multiset_filter()?))
            }
            _ if called => Ok(ExprKind::Call(self.call()?)),
            _ => Ok(ExprKind::Designator(self.designator()?)),
        }
    }

    fn is_undefined(&mut self) -> OrReported<ExprKind> {
        self.bump();
        self.expect(TokenKind::LeftParen, "after `isundefined`")?;
        let designator = self.designator()?;
        self.expect(TokenKind::RightParen, "after the variable")?;
        Ok(ExprKind::IsUndefined(designator))
    }

    fn is_member(&mut self) -> OrReported<ExprKind> {
        self.bump();
        self.expect(TokenKind::LeftParen, "after `ismember`")?;
        let value = self.designator()?;
        self.expect(TokenKind::Comma, "before the type")?;
        let ty = Box::new(self.type_expr()?);
        self.eat(TokenKind::Comma);
        self.expect(TokenKind::RightParen, "after the type")?;
        Ok(ExprKind::IsMember { value, ty })
    }

    /// `(i: multiset, condition)`.
    pub(super) fn multiset_filter(&mut self) -> OrReported<MultisetFilter> {
        self.expect(TokenKind::LeftParen, "before the index")?;
        let index = self.new_name("a name for the index")?;
        self.expect(TokenKind::Colon, "between the index and the multiset")?;
        let multiset = self.designator()?;
        self.expect(TokenKind::Comma, "before the condition")?;
        let condition = Box::new(self.expr()?);
        self.expect(TokenKind::RightParen, "after the condition")?;
        Ok(MultisetFilter { index, multiset, condition })
    }

    /// `f(a, b)`, with perhaps a last comma.
    pub(super) fn call(&mut self) -> OrReported<Call> {
        let name = self.name("a name")?;
        self.expect(TokenKind::LeftParen, "before the arguments")?;
        let mut args = Vec::new();
        while !self.at(TokenKind::RightParen) {
            args.push(self.expr()?);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::RightParen, "after the arguments")?;
        let span = self.since(name.span);
        Ok(Call { name, args, span })
    }

    /// `a[i].b`.
    pub(super) fn designator(&mut self) -> OrReported<Designator> {
        let base = self.name("a variable")?;
        let mut path = Vec::new();
        loop {
            if self.eat(TokenKind::Dot) {
                path.push(Selector::Field(self.name("the name of a field")?));
            } else if self.at(TokenKind::LeftBracket) {
                path.push(self.index()?);
            } else {
                break;
            }
        }
        let span = self.since(base.span);
        Ok(Designator { base, path, span })
    }

    fn index(&mut self) -> OrReported<Selector> {
        let start = self.bump().span;
        let index = self.expr()?;
        if self.at(TokenKind::Comma) {
            let diagnostic =
                Diagnostic::error(codes::UNEXPECTED, self.span(), "expected `]` after the index, found `,`")
                    .help("each index has its own brackets: `a[i][j]`");
            return Err(self.report(diagnostic));
        }
        self.expect(TokenKind::RightBracket, "after the index")?;
        Ok(Selector::Index(index, self.since(start)))
    }

    fn quantified(&mut self, block: BlockKind, kind: QuantifierKind) -> OrReported<ExprKind> {
        let opener = self.bump().span;
        let quantifiers = self.quantifiers()?;
        let body = Box::new(self.expr()?);
        self.open(block, opener);
        if self.closer().is_none() {
            // The body ended too early: that is an error of the expression, and the statement around it is lost.
            self.open.pop();
            let word = block.word();
            return Err(self.unexpected(&format!("`end{word}` or `end` after the condition"), &["end"]));
        }
        self.close();
        Ok(ExprKind::Quantified { kind, quantifiers, body })
    }

    /// `i: T; j := 0 to 3` and the `do` after it, which CMurphi lets one write `:`.
    pub(super) fn quantifiers(&mut self) -> OrReported<Vec<Quantifier>> {
        let mut quantifiers = vec![self.quantifier()?];
        while self.eat(TokenKind::Semicolon) {
            self.eat_semicolons();
            if self.at_keyword(Keyword::Do) {
                break;
            }
            quantifiers.push(self.quantifier()?);
        }
        self.expect_do("after the range of the variable")?;
        Ok(quantifiers)
    }

    /// `do`, or CMurphi's `:` for it.
    pub(super) fn expect_do(&mut self, context: &str) -> OrReported<()> {
        if self.eat(TokenKind::Colon) {
            return Ok(());
        }
        self.expect_keyword(Keyword::Do, context).map(|_| ())
    }

    fn quantifier(&mut self) -> OrReported<Quantifier> {
        let name = self.new_name("a variable")?;
        let domain = match self.kind() {
            TokenKind::Colon => {
                self.bump();
                Domain::Type(self.type_expr()?)
            }
            TokenKind::Assign => self.steps()?,
            TokenKind::Equal => {
                let message = "expected `:=` before the first value, found `=`";
                let diagnostic = Diagnostic::error(codes::ASSIGN_OR_EQUAL, self.span(), message)
                    .help("a loop over numbers is written `i := 0 to 3`, one over a type `i: T`");
                self.report(diagnostic);
                self.steps()?
            }
            _ => return Err(self.unexpected("`:` and a type or `:=` and a first value", &[])),
        };
        let span = self.since(name.span);
        Ok(Quantifier { name, domain, span })
    }

    fn steps(&mut self) -> OrReported<Domain> {
        self.bump();
        let from = self.expr()?;
        self.expect_keyword(Keyword::To, "before the last value")?;
        let to = self.expr()?;
        let step = if self.eat_keyword(Keyword::By) { Some(self.expr()?) } else { None };
        Ok(Domain::Steps { from, to, step })
    }
}

fn binary_op(kind: TokenKind) -> Option<BinaryOp> {
    Some(match kind {
        TokenKind::Implies => BinaryOp::Implies,
        TokenKind::BarBar => BinaryOp::OrElse,
        TokenKind::AmpAmp => BinaryOp::AndAlso,
        TokenKind::Bar => BinaryOp::Or,
        TokenKind::Caret => BinaryOp::Xor,
        TokenKind::Amp => BinaryOp::And,
        TokenKind::Equal | TokenKind::EqualEqual => BinaryOp::Eq,
        TokenKind::NotEqual => BinaryOp::Ne,
        TokenKind::Less => BinaryOp::Lt,
        TokenKind::LessEqual => BinaryOp::Le,
        TokenKind::Greater => BinaryOp::Gt,
        TokenKind::GreaterEqual => BinaryOp::Ge,
        TokenKind::ShiftLeft => BinaryOp::Shl,
        TokenKind::ShiftRight => BinaryOp::Shr,
        TokenKind::Plus => BinaryOp::Add,
        TokenKind::Minus => BinaryOp::Sub,
        TokenKind::Star => BinaryOp::Mul,
        TokenKind::Slash => BinaryOp::Div,
        TokenKind::Percent => BinaryOp::Mod,
        _ => return None,
    })
}

/// Whether a token goes on with an expression that ends before it.
pub(super) fn continues_expr(kind: TokenKind) -> bool {
    binary_op(kind).is_some() || kind == TokenKind::Question
}
