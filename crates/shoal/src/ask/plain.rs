//! Expressions about the variables of a model as they are shown, for languages whose texts have no place for them: nets, transition
//! systems and boolean programs. `lock & !updating`, `critical >= 2, idle = 0`, `pc[1] = main:3`.

use shoal_model::{
    BinaryOp, Condition, Expr, ExprBuilder, IndexVec, Model, Place, Projection, Root, Type, TypeDef, TypeId,
    Value,
};
use shoal_syntax::{
    SourceMap, Span, codes,
    cursor::{Cursor, Parsed, error, read_all, unknown},
    lexer::{Lexicon, TokenKind},
};

use crate::{Error, Rejected};

const LEXICON: Lexicon = Lexicon {
    line_comment: "//",
    block_comments: false,
    symbols: &[
        "<=", ">=", "==", "!=", "&&", "||", "(", ")", "[", "]", ",", "=", "<", ">", "+", "-", "!", "&", "|",
        ":", ".", "'", "#",
    ],
};

/// Reads an expression about a model.
pub(super) fn read(model: &mut Model, text: &str) -> Result<Condition, Error> {
    let make = ExprBuilder { boolean: unnamed(model, Type::Bool), integer: unnamed(model, Type::INTEGER) };
    let mut sources = SourceMap::new();
    let source = sources.add("expression", text);
    let (expr, diagnostics) = read_all(source, text, &LEXICON, |cursor| {
        let mut reader = QuestionReader { cursor, model, make };
        let expr = reader.any()?;
        if reader.cursor.at_end() {
            Ok(expr)
        } else {
            Err(reader.cursor.expected("the end of the expression"))
        }
    });
    match expr {
        Some(expr) => Ok(Condition { locals: IndexVec::new(), expr }),
        None => Err(Error::Source(Box::new(Rejected { sources, diagnostics }))),
    }
}

fn unnamed(model: &mut Model, kind: Type) -> TypeId {
    let known =
        model.types.enumerate().find(|(_, def)| def.name.is_none() && def.kind == kind).map(|it| it.0);
    known.unwrap_or_else(|| model.types.push(TypeDef { name: None, kind }))
}

struct QuestionReader<'r, 's> {
    cursor: &'r mut Cursor<'s>,
    model: &'r Model,
    make: ExprBuilder,
}

impl QuestionReader<'_, '_> {
    /// Parts of which one holds.
    fn any(&mut self) -> Parsed<Expr> {
        let span = self.cursor.span();
        let mut parts = vec![self.all()?];
        while self.cursor.eat("|") || self.cursor.eat("||") || self.cursor.eat_word("or") {
            parts.push(self.all()?);
        }
        self.joined(parts, span, ExprBuilder::or)
    }

    /// Parts that all hold.
    fn all(&mut self) -> Parsed<Expr> {
        let span = self.cursor.span();
        let mut parts = vec![self.one()?];
        while ["&", "&&", ","].iter().any(|and| self.cursor.eat(and)) || self.cursor.eat_word("and") {
            parts.push(self.one()?);
        }
        self.joined(parts, span, ExprBuilder::and)
    }

    fn joined(
        &self,
        mut parts: Vec<Expr>,
        span: Span,
        join: fn(ExprBuilder, Vec<Expr>, Span) -> Expr,
    ) -> Parsed<Expr> {
        if parts.len() == 1 {
            return Ok(parts.remove(0));
        }
        for part in &parts {
            self.truth(part)?;
        }
        Ok(join(self.make, parts, span))
    }

    fn truth(&self, expr: &Expr) -> Parsed<()> {
        match self.model.kind(expr.ty) {
            Type::Bool => Ok(()),
            _ => error(codes::UNEXPECTED, expr.span, "this is not something that is true or false"),
        }
    }

    fn number(&self, expr: &Expr) -> Parsed<()> {
        match self.model.kind(expr.ty) {
            Type::Int { .. } => Ok(()),
            _ => error(codes::UNEXPECTED, expr.span, "this is not a number"),
        }
    }

    fn one(&mut self) -> Parsed<Expr> {
        if self.cursor.eat("!") || self.cursor.eat_word("not") {
            self.cursor.enter()?;
            let of = self.one()?;
            self.cursor.leave();
            self.truth(&of)?;
            return Ok(self.make.not(of));
        }
        let left = self.sum()?;
        let TokenKind::Symbol(symbol) = self.cursor.peek() else { return Ok(left) };
        let span = self.cursor.span();
        match symbol {
            "=" | "==" | "!=" => {
                self.cursor.bump();
                let right = self.valued(left.ty)?;
                let same = self.make.equal(left, right, span);
                Ok(if symbol == "!=" { self.make.not(same) } else { same })
            }
            "<" | "<=" | ">" | ">=" => {
                self.cursor.bump();
                let right = self.sum()?;
                self.number(&left)?;
                self.number(&right)?;
                match BinaryOp::of_symbol(symbol) {
                    Some(op) => Ok(self.make.binary(op, left, right, span)),
                    None => Err(self.cursor.expected("a comparison")),
                }
            }
            _ => Ok(left),
        }
    }

    /// What something of a type is compared with.
    fn valued(&mut self, ty: TypeId) -> Parsed<Expr> {
        let span = self.cursor.span();
        if matches!(self.model.kind(ty), Type::Enum { .. } | Type::Ref { .. }) {
            let text = self.text(|_| false)?;
            return match self.value(ty, &text) {
                Some(value) => Ok(self.make.constant(value, ty, span)),
                None => error(codes::UNKNOWN_NAME, span, format!("`{text}` is no value of it")),
            };
        }
        let right = self.sum()?;
        let alike = |one: &Type, other: &Type| {
            matches!((one, other), (Type::Bool, Type::Bool) | (Type::Int { .. }, Type::Int { .. }))
        };
        match alike(self.model.kind(ty), self.model.kind(right.ty)) {
            true => Ok(right),
            false => error(codes::UNEXPECTED, right.span, "what is compared is of different kinds"),
        }
    }

    /// A value of a type, as it is shown; an element of a sort by its number, too.
    fn value(&self, ty: TypeId, text: &str) -> Option<Value> {
        let count = self.model.cardinality(ty)?;
        let values = (0..count.min(100_000)).filter_map(|at| self.model.value_at(ty, at));
        let numbered = |value: &Value| match (value, text.parse::<i64>()) {
            (Value::Elem(sort, element), Ok(number)) => {
                number.checked_sub(self.model.sorts[*sort].first.into()) == Some(i64::from(*element))
            }
            _ => false,
        };
        values.into_iter().find(|value| self.model.show(value).to_string() == text || numbered(value))
    }

    fn sum(&mut self) -> Parsed<Expr> {
        let mut left = self.atom()?;
        loop {
            let span = self.cursor.span();
            let op = match () {
                () if self.cursor.eat("+") => BinaryOp::Add,
                () if self.cursor.eat("-") => BinaryOp::Sub,
                () => return Ok(left),
            };
            let right = self.atom()?;
            self.number(&left)?;
            self.number(&right)?;
            left = self.make.binary(op, left, right, span);
        }
    }

    fn atom(&mut self) -> Parsed<Expr> {
        let span = self.cursor.span();
        if self.cursor.eat("(") {
            self.cursor.enter()?;
            let inner = self.any()?;
            self.cursor.leave();
            self.cursor.expect(")")?;
            return Ok(inner);
        }
        if self.cursor.eat("-") {
            let of = self.atom()?;
            self.number(&of)?;
            let zero = self.make.int(0, span);
            return Ok(self.make.binary(BinaryOp::Sub, zero, of, span));
        }
        match self.cursor.peek() {
            TokenKind::Number(number) => {
                self.cursor.bump();
                Ok(self.make.int(number, span))
            }
            TokenKind::Word("true" | "T") if !self.is_variable("T") => {
                self.cursor.bump();
                Ok(self.make.truth(true, span))
            }
            TokenKind::Word("false" | "F") if !self.is_variable("F") => {
                self.cursor.bump();
                Ok(self.make.truth(false, span))
            }
            TokenKind::Word(_) => self.place(),
            TokenKind::Text(_) | TokenKind::Symbol(_) | TokenKind::End => {
                Err(self.cursor.expected("an expression"))
            }
        }
    }

    fn is_variable(&self, name: &str) -> bool {
        self.model.vars.iter().any(|var| var.name == name)
    }

    /// A name whose parts may stand for more than words: `main:3`, `p.q`. It ends where it may.
    fn text(&mut self, ends: impl Fn(&str) -> bool) -> Parsed<String> {
        let mut text = String::new();
        loop {
            match self.cursor.peek() {
                TokenKind::Word(word) => text += word,
                TokenKind::Number(number) => text += &number.to_string(),
                TokenKind::Text(_) | TokenKind::Symbol(_) | TokenKind::End => {
                    return Err(self.cursor.expected("a name"));
                }
            }
            self.cursor.bump();
            let joins = [":", ".", "'", "#"].into_iter().find(|joint| self.cursor.is_symbol(joint));
            match joins {
                Some(joint) if !ends(&text) => {
                    text += joint;
                    self.cursor.bump();
                }
                _ => return Ok(text),
            }
        }
    }

    /// A variable, an entry of it or a field.
    fn place(&mut self) -> Parsed<Expr> {
        let span = self.cursor.span();
        let model = self.model;
        let name = self.text(|text| model.vars.iter().any(|var| var.name == text))?;
        let Some((var, declared)) = model.vars.enumerate().find(|(_, var)| var.name == name) else {
            return unknown(&name, span, model.vars.iter().map(|var| var.name.as_str()));
        };
        let mut place = Place { root: Root::Var(var), path: Vec::new(), ty: declared.ty, span };
        loop {
            match model.kind(place.ty) {
                Type::Array { index, element } if self.cursor.eat("[") => {
                    let at = self.cursor.span();
                    let text = self.text(|_| false)?;
                    let Some(value) = self.value(*index, &text) else {
                        return error(codes::UNKNOWN_NAME, at, format!("there is no entry `{text}`"));
                    };
                    self.cursor.expect("]")?;
                    place.path.push(Projection::Index(self.make.constant(value, *index, at)));
                    place.ty = *element;
                }
                Type::Record { fields } if self.cursor.eat(".") => {
                    let field = self.cursor.name()?;
                    let Some(at) = fields.iter().position(|it| it.name == field.node) else {
                        return unknown(&field.node, field.span, fields.iter().map(|it| it.name.as_str()));
                    };
                    place.path.push(Projection::Field(at as u32));
                    place.ty = fields[at].ty;
                }
                _ => return Ok(self.make.read(place)),
            }
        }
    }
}
