//! Declarations and types.

use shoal_syntax::{Span, did_you_mean};

use super::{BlockKind, OrReported, Parser, Reported};
use crate::ast::{
    Body, ConstDecl, Decl, Expr, ExprKind, Extern, Name, Param, Procedure, TypeDecl, TypeExpr, TypeKind,
    VarDecl,
};
use crate::token::{Keyword, TokenKind};

/// Words a type can begin with.
const TYPE_WORDS: &[&str] = &["boolean", "enum", "record", "array", "scalarset", "union", "multiset"];

/// Where a section of declarations stands, which says what may follow it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SectionPlace {
    /// At the top level, where no statement can follow.
    Top,
    /// In a rule or procedure, where a statement may follow.
    Local,
}

impl Parser<'_> {
    /// `const .. type .. var ..`, as many as there are.
    pub(super) fn decls(&mut self, place: SectionPlace) -> Vec<Decl> {
        let mut decls = Vec::new();
        while let TokenKind::Keyword(section @ (Keyword::Const | Keyword::Type | Keyword::Var)) = self.kind()
        {
            self.bump();
            self.section(section, place, &mut decls);
        }
        decls
    }

    fn section(&mut self, section: Keyword, place: SectionPlace, decls: &mut Vec<Decl>) {
        loop {
            self.eat_semicolons();
            if !self.at_decl(place) {
                return;
            }
            match self.decl(section) {
                Ok(decl) => decls.push(decl),
                Err(Reported) => self.skip_decl(),
            }
            self.comma_for_semicolon();
        }
    }

    /// Whether the section goes on: at a name with `:` or `,`, and at the top level at any name that is not a soft
    /// word or a misspelt keyword.
    fn at_decl(&self, place: SectionPlace) -> bool {
        let listed = matches!(self.peek(1), TokenKind::Colon | TokenKind::Comma);
        match self.kind() {
            TokenKind::Ident if listed => true,
            TokenKind::Ident if place == SectionPlace::Top => {
                self.soft_word().is_none() && !self.near_keyword()
            }
            TokenKind::Keyword(_) => listed,
            _ => false,
        }
    }

    /// `a: T, b: U` is the way of other languages.
    fn comma_for_semicolon(&mut self) {
        if self.at(TokenKind::Comma) {
            self.unexpected("`;` after this declaration", &[]);
            self.bump();
        }
    }

    fn near_keyword(&self) -> bool {
        did_you_mean(self.slice(self.span()), super::rule::STARTERS.iter().copied()).is_some()
    }

    /// After an error in a declaration: to the next `;`, or to what can only be something else.
    fn skip_decl(&mut self) {
        let mut records = 0_usize;
        loop {
            match self.kind() {
                TokenKind::Semicolon if records == 0 => return,
                TokenKind::Keyword(Keyword::Record) => records += 1,
                TokenKind::Keyword(Keyword::End | Keyword::EndRecord) if records > 0 => records -= 1,
                _ if self.at_boundary() && !self.at(TokenKind::Semicolon) => return,
                _ => {}
            }
            self.bump();
        }
    }

    fn decl(&mut self, section: Keyword) -> OrReported<Decl> {
        let names = self.new_names("a name")?;
        self.expect(TokenKind::Colon, "after the name")?;
        let start = names[0].span;
        if section == Keyword::Const {
            let value = self.expr()?;
            return Ok(Decl::Const(ConstDecl { names, value, span: self.since(start) }));
        }
        let ty = self.type_expr()?;
        let span = self.since(start);
        Ok(match section {
            Keyword::Type => Decl::Type(TypeDecl { names, ty, span }),
            _ => Decl::Var(VarDecl { names, ty, span }),
        })
    }

    /// `const .. var .. begin stmts`, up to the closing word.
    pub(super) fn body(&mut self) -> Body {
        let after = Span { start: self.previous().end, ..self.previous() };
        let start = self.span();
        let first = self.pos;
        let decls = self.decls(SectionPlace::Local);
        self.eat_keyword(Keyword::Begin);
        let stmts = self.stmts();
        let span = if self.pos == first { after } else { self.since(start) };
        Body { decls, stmts, span }
    }
}

/// Procedures and functions.
impl Parser<'_> {
    pub(super) fn procedure(&mut self) -> OrReported<Procedure> {
        let start = self.bump().span;
        self.open(BlockKind::Procedure, start);
        let header = self.procedure_header();
        if header.is_err() {
            self.skip_to(|parser| parser.at_boundary() || parser.at(TokenKind::Semicolon));
        }
        self.eat_semicolons();
        let body = self.body();
        self.close();
        let (name, params, result) = header?;
        Ok(Procedure { name, params, result, body, span: self.since(start) })
    }

    fn procedure_header(&mut self) -> OrReported<(Name, Vec<Param>, Option<TypeExpr>)> {
        let name = self.new_name("the name of the procedure")?;
        let params = self.params()?;
        let result = if self.eat(TokenKind::Colon) { Some(self.type_expr()?) } else { None };
        Ok((name, params, result))
    }

    /// `(var a: T; b: U)`. Generated models end the list with `;` or `,`.
    fn params(&mut self) -> OrReported<Vec<Param>> {
        self.expect(TokenKind::LeftParen, "before the parameters (even if there are none)")?;
        let mut params = Vec::new();
        while !self.at(TokenKind::RightParen) {
            params.push(self.param()?);
            while self.eat(TokenKind::Semicolon) || self.eat(TokenKind::Comma) {}
            if !self.at(TokenKind::Ident) && !self.at_keyword(Keyword::Var) {
                break;
            }
        }
        self.expect(TokenKind::RightParen, "after the parameters")?;
        Ok(params)
    }

    fn param(&mut self) -> OrReported<Param> {
        let start = self.span();
        let by_reference = self.eat_keyword(Keyword::Var).then_some(start);
        let names = self.new_names("a parameter")?;
        self.expect(TokenKind::Colon, "between the parameter and its type")?;
        let ty = self.type_expr()?;
        Ok(Param { by_reference, names, ty, span: self.since(start) })
    }

    /// `externfun f(x: T): U "header.h";` or `externproc p() "header.h";`.
    pub(super) fn external(&mut self) -> OrReported<Extern> {
        let start = self.bump().span;
        let (name, params, result) = self.procedure_header()?;
        let header = self.text_opt();
        Ok(Extern { name, params, result, header, span: self.since(start) })
    }
}

/// Types.
impl Parser<'_> {
    pub(super) fn type_expr(&mut self) -> OrReported<TypeExpr> {
        self.nested(|parser| {
            let start = parser.span();
            let kind = parser.type_kind()?;
            Ok(TypeExpr { kind, span: parser.since(start) })
        })
    }

    fn type_kind(&mut self) -> OrReported<TypeKind> {
        match self.kind() {
            TokenKind::Keyword(Keyword::Boolean) => {
                self.bump();
                Ok(TypeKind::Boolean)
            }
            TokenKind::Keyword(Keyword::Enum) => self.enum_type(),
            TokenKind::Keyword(Keyword::Record) => Ok(self.record_type()),
            TokenKind::Keyword(Keyword::Array) => self.array_type(),
            TokenKind::Keyword(Keyword::Scalarset) => self.scalarset_type(),
            TokenKind::Ident => self.word_type(),
            _ if self.at_expr() => self.range_or_name(),
            _ => Err(self.unexpected("a type", TYPE_WORDS)),
        }
    }

    /// A soft word is a type only with what must follow it; otherwise it is a name.
    fn word_type(&mut self) -> OrReported<TypeKind> {
        match (self.soft_word(), self.peek(1)) {
            (Some("union"), TokenKind::LeftBrace) => self.union_type(),
            (Some("multiset"), TokenKind::LeftBracket) => self.multiset_type(),
            (Some("real"), TokenKind::LeftParen) => self.real_type(),
            _ => self.range_or_name(),
        }
    }

    /// `a..b`, or a name: which, only the `..` can tell.
    fn range_or_name(&mut self) -> OrReported<TypeKind> {
        let low = self.expr()?;
        if self.eat(TokenKind::DotDot) {
            let high = self.expr()?;
            return Ok(TypeKind::Range { low: Box::new(low), high: Box::new(high) });
        }
        match low {
            Expr { kind: ExprKind::Designator(designator), .. } if designator.path.is_empty() => {
                Ok(TypeKind::Named(designator.base))
            }
            _ => Err(self.unexpected("`..` and the end of the range", &[])),
        }
    }

    fn enum_type(&mut self) -> OrReported<TypeKind> {
        self.bump();
        self.expect(TokenKind::LeftBrace, "after `enum`")?;
        let mut members = Vec::new();
        while !self.at(TokenKind::RightBrace) {
            members.push(self.new_name("a member of the enum")?);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::RightBrace, "or `,` after a member of the enum")?;
        Ok(TypeKind::Enum(members))
    }

    /// A broken field costs only itself.
    fn record_type(&mut self) -> TypeKind {
        let opener = self.bump().span;
        self.open(BlockKind::Record, opener);
        let mut fields = Vec::new();
        loop {
            self.eat_semicolons();
            let listed = matches!(self.peek(1), TokenKind::Colon | TokenKind::Comma);
            let keyword = matches!(self.kind(), TokenKind::Keyword(_)) && listed;
            if !self.at(TokenKind::Ident) && !keyword {
                break;
            }
            match self.field() {
                Ok(field) => fields.push(field),
                Err(Reported) => self.skip_decl(),
            }
            self.comma_for_semicolon();
        }
        self.close();
        TypeKind::Record(fields)
    }

    /// Fields are no variables: a field called `undefined` does not hide the word.
    fn field(&mut self) -> OrReported<VarDecl> {
        let names = self.names("a field")?;
        self.expect(TokenKind::Colon, "between the field and its type")?;
        let ty = self.type_expr()?;
        let span = self.since(names[0].span);
        Ok(VarDecl { names, ty, span })
    }

    fn array_type(&mut self) -> OrReported<TypeKind> {
        self.bump();
        self.expect(TokenKind::LeftBracket, "after `array`")?;
        let index = Box::new(self.type_expr()?);
        self.expect(TokenKind::RightBracket, "after the type of the index")?;
        self.expect_keyword(Keyword::Of, "before the type of the elements")?;
        let element = Box::new(self.type_expr()?);
        Ok(TypeKind::Array { index, element })
    }

    fn scalarset_type(&mut self) -> OrReported<TypeKind> {
        self.bump();
        self.expect(TokenKind::LeftParen, "after `scalarset`")?;
        let size = Box::new(self.expr()?);
        self.expect(TokenKind::RightParen, "after the size of the scalarset")?;
        Ok(TypeKind::Scalarset(size))
    }

    fn union_type(&mut self) -> OrReported<TypeKind> {
        self.bump();
        self.expect(TokenKind::LeftBrace, "after `union`")?;
        let mut members = Vec::new();
        while !self.at(TokenKind::RightBrace) {
            members.push(self.type_expr()?);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::RightBrace, "or `,` after a member of the union")?;
        Ok(TypeKind::Union(members))
    }

    fn multiset_type(&mut self) -> OrReported<TypeKind> {
        self.bump();
        self.expect(TokenKind::LeftBracket, "after `multiset`")?;
        let capacity = Box::new(self.expr()?);
        self.expect(TokenKind::RightBracket, "after the capacity of the multiset")?;
        self.expect_keyword(Keyword::Of, "before the type of the elements")?;
        let element = Box::new(self.type_expr()?);
        Ok(TypeKind::Multiset { capacity, element })
    }

    fn real_type(&mut self) -> OrReported<TypeKind> {
        self.bump();
        self.expect(TokenKind::LeftParen, "after `real`")?;
        let mantissa = Box::new(self.expr()?);
        self.expect(TokenKind::Comma, "between mantissa and exponent")?;
        let exponent = Box::new(self.expr()?);
        self.expect(TokenKind::RightParen, "after the exponent")?;
        Ok(TypeKind::Real { mantissa, exponent })
    }
}
