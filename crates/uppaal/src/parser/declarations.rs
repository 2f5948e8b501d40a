//! Types, variables and functions.

use super::Parser;
use crate::ast::{
    Declaration, Dimension, Function, Name, Parameter, Shape, Start, TypeExpr, TypeKind, Variable,
};
use shoal_syntax::{cursor::Parsed, lexer::TokenKind};

/// Words that begin a type or another declaration.
const BEGINNINGS: [&str; 15] = [
    "const",
    "int",
    "bool",
    "clock",
    "chan",
    "urgent",
    "broadcast",
    "typedef",
    "struct",
    "void",
    "meta",
    "hybrid",
    "double",
    "scalar",
    "string",
];

/// Words that two of stand together without being a type and a name.
const NO_TYPES: [&str; 13] = [
    "process",
    "system",
    "state",
    "commit",
    "init",
    "trans",
    "gantt",
    "progress",
    "IO",
    "branchpoint",
    "return",
    "else",
    "assert",
];

impl Parser<'_, '_> {
    pub(crate) fn declarations(&mut self) -> Parsed<Vec<Declaration>> {
        let mut declarations = Vec::new();
        while !self.cursor.at_end() {
            self.recovering(|parser| parser.declaration(&mut declarations))?;
        }
        Ok(declarations)
    }

    /// Whether a declaration begins here: a word that is known to begin one, or the name of a type before a name.
    pub(super) fn starts_declaration(&self) -> bool {
        match self.cursor.peek() {
            TokenKind::Word(word) if BEGINNINGS.contains(&word) => true,
            TokenKind::Word(word) if NO_TYPES.contains(&word) => false,
            TokenKind::Word(_) => matches!(self.cursor.peek_after(1), TokenKind::Word(_)),
            _ => false,
        }
    }

    pub(super) fn declaration(&mut self, into: &mut Vec<Declaration>) -> Parsed<()> {
        if self.cursor.is_word("before_update") || self.cursor.is_word("after_update") {
            return self.unsupported("code before or after every update");
        }
        let is_type = self.cursor.eat_word("typedef");
        let base = self.type_expr()?;
        if self.cursor.is_word("priority") {
            let span = self.cursor.span();
            self.cursor.bump();
            let levels = self.levels(|parser| match parser.cursor.eat_word("default") {
                true => Ok(None),
                false => parser.postfix().map(Some),
            })?;
            into.push(Declaration::Priority(levels, span));
            return Ok(());
        }
        loop {
            let name = self.cursor.name()?;
            if self.cursor.is_symbol("(") {
                into.push(Declaration::Function(self.function(base, name)?));
                return Ok(());
            }
            let shape = Shape { base: base.clone(), dimensions: self.dimensions()? };
            if is_type {
                into.push(Declaration::Type(name, shape));
            } else {
                let start = self.start(base.constant)?;
                into.push(Declaration::Variable(Variable { name, shape, start }));
            }
            if !self.cursor.eat(",") {
                self.cursor.expect(";")?;
                return Ok(());
            }
        }
    }

    /// A type, without the dimensions that stand behind the name.
    pub(super) fn type_expr(&mut self) -> Parsed<TypeExpr> {
        let span = self.cursor.span();
        let (mut constant, mut urgent, mut broadcast) = (false, false, false);
        loop {
            match self.cursor.peek() {
                TokenKind::Word("const") => constant = true,
                TokenKind::Word("urgent") => urgent = true,
                TokenKind::Word("broadcast") => broadcast = true,
                // Variables like others: states that differ in one are told apart.
                TokenKind::Word("meta") => {}
                TokenKind::Word("hybrid") => return self.unsupported("hybrid clocks"),
                _ => break,
            }
            self.cursor.bump();
        }
        let kind = self.type_kind(constant)?;
        Ok(TypeExpr { constant, urgent, broadcast, kind, span: span.to(self.cursor.last_span()) })
    }

    fn type_kind(&mut self, constant: bool) -> Parsed<TypeKind> {
        // The old form: `const N 5;`
        if constant
            && let TokenKind::Word(word) = self.cursor.peek()
            && !BEGINNINGS.contains(&word)
            && !matches!(self.cursor.peek_after(1), TokenKind::Word(_) | TokenKind::Symbol("&"))
        {
            return Ok(TypeKind::Int(None));
        }
        let word = self.cursor.name()?;
        Ok(match word.node.as_str() {
            "int" if self.cursor.eat("[") => {
                let first = self.expr()?;
                self.cursor.expect(",")?;
                let last = self.expr()?;
                self.cursor.expect("]")?;
                TypeKind::Int(Some(Box::new((first, last))))
            }
            "int" => TypeKind::Int(None),
            "bool" => TypeKind::Bool,
            "clock" => TypeKind::Clock,
            "chan" => TypeKind::Channel,
            "void" => TypeKind::Void,
            "scalar" => {
                self.cursor.expect("[")?;
                let size = self.expr()?;
                self.cursor.expect("]")?;
                TypeKind::Scalar(Box::new(size))
            }
            "struct" => TypeKind::Struct(self.fields()?),
            "double" | "string" => return self.unsupported("doubles and strings"),
            _ => TypeKind::Name(word.node),
        })
    }

    fn fields(&mut self) -> Parsed<Vec<(Name, Shape)>> {
        self.cursor.enter()?;
        self.cursor.expect("{")?;
        let mut fields = Vec::new();
        while !self.cursor.eat("}") {
            let base = self.type_expr()?;
            loop {
                let name = self.cursor.name()?;
                fields.push((name, Shape { base: base.clone(), dimensions: self.dimensions()? }));
                if !self.cursor.eat(",") {
                    break;
                }
            }
            self.cursor.expect(";")?;
        }
        self.cursor.leave();
        Ok(fields)
    }

    fn dimensions(&mut self) -> Parsed<Vec<Dimension>> {
        let mut dimensions = Vec::new();
        while self.cursor.eat("[") {
            let typed = self.cursor.is_word("int") || self.cursor.is_word("scalar");
            dimensions.push(match typed {
                true => Dimension::Type(self.type_expr()?),
                false => Dimension::Size(self.expr()?),
            });
            self.cursor.expect("]")?;
        }
        Ok(dimensions)
    }

    fn start(&mut self, constant: bool) -> Parsed<Option<Start>> {
        if self.cursor.eat(":=") || self.cursor.eat("=") {
            return Ok(Some(self.start_value()?));
        }
        // The old form: `const N 5;`
        if constant && !self.cursor.is_symbol(",") && !self.cursor.is_symbol(";") {
            return Ok(Some(Start::Value(self.expr()?)));
        }
        Ok(None)
    }

    fn start_value(&mut self) -> Parsed<Start> {
        let span = self.cursor.span();
        if !self.cursor.eat("{") {
            return Ok(Start::Value(self.expr()?));
        }
        self.cursor.enter()?;
        let mut parts = Vec::new();
        while !self.cursor.eat("}") {
            // A field may be named.
            let named = matches!(
                (self.cursor.peek(), self.cursor.peek_after(1)),
                (TokenKind::Word(_), TokenKind::Symbol(":"))
            );
            let name = if named { Some(self.cursor.name()?) } else { None };
            if named {
                self.cursor.expect(":")?;
            }
            parts.push((name, self.start_value()?));
            if !self.cursor.eat(",") && !self.cursor.is_symbol("}") {
                return Err(self.cursor.expected("`,` or `}`"));
            }
        }
        self.cursor.leave();
        Ok(Start::List(parts, span.to(self.cursor.last_span())))
    }

    /// `const int id, int &x, chan &c`, or the old form: `int x, y; const n`.
    pub(crate) fn parameters(&mut self) -> Parsed<Vec<Parameter>> {
        let mut parameters: Vec<Parameter> = Vec::new();
        let mut base: Option<TypeExpr> = None;
        while !(self.cursor.at_end() || self.cursor.is_symbol(")")) {
            // In the old form one type stands before several names.
            let again = base.is_some()
                && !self.starts_parameter()
                && !matches!(self.cursor.peek_after(1), TokenKind::Symbol("&"));
            let own = match &base {
                Some(base) if again => base.clone(),
                _ => self.type_expr()?,
            };
            let reference = self.cursor.eat("&");
            let name = self.cursor.name()?;
            let shape = Shape { base: own.clone(), dimensions: self.dimensions()? };
            parameters.push(Parameter { name, shape, reference });
            base = Some(own);
            if self.cursor.eat(";") {
                base = None;
            } else if !self.cursor.eat(",") {
                break;
            }
        }
        Ok(parameters)
    }

    fn starts_parameter(&self) -> bool {
        self.starts_declaration()
    }

    fn function(&mut self, result: TypeExpr, name: Name) -> Parsed<Function> {
        self.cursor.expect("(")?;
        let parameters = self.parameters()?;
        self.cursor.expect(")")?;
        let body = self.block()?;
        Ok(Function { name, result, parameters, body })
    }
}
