//! Texts of UPPAAL models: declarations, `.xta` processes, labels of edges.

use shoal_syntax::{Diagnostic, SourceId, Spanned};

use super::ast::{Declaration, Edge, Expr, ExprKind, Kind, Location, Name, Nta, Template};
use crate::{
    codes,
    cursor::{Cursor, Parsed},
    lexer::{Lexicon, TokenKind, lex},
};

const LEXICON: Lexicon = Lexicon {
    line_comment: "//",
    block_comments: true,
    symbols: &[
        ":=", "==", "!=", "<=", ">=", "&&", "||", "++", "--", "+=", "-=", "*=", "->", "(", ")", "[", "]",
        "{", "}", ",", ";", ":", "=", "<", ">", "+", "-", "*", "/", "%", "!", "?", ".", "&", "|", "^", "'",
    ],
};

/// Reads a part of a text.
pub(crate) fn parse<T>(
    source: SourceId,
    text: &str,
    offset: usize,
    part: impl FnOnce(&mut Parser<'_>) -> Parsed<T>,
) -> Parsed<T> {
    let (tokens, diagnostics) = lex(source, text, offset, &LEXICON);
    if let Some(first) = diagnostics.iter().next() {
        return Err(Box::new(first.clone()));
    }
    let mut parser = Parser { cursor: Cursor::new(tokens) };
    let parsed = part(&mut parser)?;
    match parser.cursor.at_end() {
        true => Ok(parsed),
        false => Err(parser.cursor.expected("the end")),
    }
}

pub(crate) struct Parser<'s> {
    cursor: Cursor<'s>,
}

impl Parser<'_> {
    fn unsupported<T>(&self, what: &str) -> Parsed<T> {
        let message = format!("not supported: {what}");
        Err(Box::new(Diagnostic::error(codes::UNSUPPORTED, self.cursor.span(), message)))
    }

    /// Global declarations, processes, instances and the system line, in any order.
    pub(crate) fn whole(&mut self, nta: &mut Nta) -> Parsed<()> {
        while !self.cursor.at_end() {
            if self.cursor.is_word("process") {
                let template = self.process()?;
                nta.templates.push(template);
            } else if self.cursor.eat_word("system") {
                loop {
                    nta.system.push(self.cursor.name()?);
                    if self.cursor.is_symbol("<") {
                        return self.unsupported("priorities of processes");
                    }
                    if !self.cursor.eat(",") {
                        break;
                    }
                }
                self.cursor.expect(";")?;
            } else if self.starts_declaration() {
                self.declaration(&mut nta.declarations)?;
            } else {
                let name = self.cursor.name()?;
                if !self.cursor.eat(":=") {
                    self.cursor.expect("=")?;
                }
                let template = self.cursor.name()?;
                self.cursor.expect("(")?;
                let mut arguments = Vec::new();
                while !self.cursor.eat(")") {
                    arguments.push(self.expr()?);
                    self.cursor.eat(",");
                }
                self.cursor.expect(";")?;
                nta.instances.push((name, template, arguments));
            }
        }
        Ok(())
    }

    pub(crate) fn declarations(&mut self) -> Parsed<Vec<Declaration>> {
        let mut declarations = Vec::new();
        while !self.cursor.at_end() {
            self.declaration(&mut declarations)?;
        }
        Ok(declarations)
    }

    fn starts_declaration(&self) -> bool {
        const WORDS: [&str; 14] = [
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
        ];
        matches!(self.cursor.peek(), TokenKind::Word(word) if WORDS.contains(&word))
    }

    fn declaration(&mut self, into: &mut Vec<Declaration>) -> Parsed<()> {
        for (word, what) in [
            ("typedef", "typedef"),
            ("struct", "records"),
            ("void", "functions"),
            ("meta", "meta variables"),
            ("hybrid", "hybrid clocks"),
            ("double", "doubles"),
            ("broadcast", "broadcast channels"),
            ("scalar", "scalar types"),
        ] {
            if self.cursor.is_word(word) {
                return self.unsupported(what);
            }
        }
        let constant = self.cursor.eat_word("const");
        let urgent = self.cursor.eat_word("urgent");
        if self.cursor.is_word("broadcast") {
            return self.unsupported("broadcast channels");
        }
        let kind = if self.cursor.eat_word("int") {
            let range = if self.cursor.eat("[") {
                let first = self.expr()?;
                self.cursor.expect(",")?;
                let last = self.expr()?;
                self.cursor.expect("]")?;
                Some((first, last))
            } else {
                None
            };
            if constant { Kind::Const } else { Kind::Int(range) }
        } else if self.cursor.eat_word("bool") {
            if constant { Kind::Const } else { Kind::Bool }
        } else if self.cursor.eat_word("clock") {
            Kind::Clock
        } else if self.cursor.eat_word("chan") {
            Kind::Channel { urgent }
        } else if constant {
            Kind::Const
        } else {
            return Err(self.cursor.expected("a declaration"));
        };
        loop {
            let name = self.cursor.name()?;
            if self.cursor.is_symbol("(") {
                return self.unsupported("functions");
            }
            let size = if self.cursor.eat("[") {
                let size = self.expr()?;
                self.cursor.expect("]")?;
                Some(size)
            } else {
                None
            };
            if self.cursor.is_symbol("[") {
                return self.unsupported("arrays of arrays");
            }
            let start = if self.cursor.eat(":=") || self.cursor.eat("=") {
                if self.cursor.is_symbol("{") {
                    return self.unsupported("initial values of arrays");
                }
                Some(self.expr()?)
            } else if constant && !self.cursor.is_symbol(",") {
                // The old form: `const N 5;`
                Some(self.expr()?)
            } else {
                None
            };
            into.push(Declaration { name, kind: kind.clone(), size, start });
            if !self.cursor.eat(",") {
                self.cursor.expect(";")?;
                return Ok(());
            }
        }
    }

    /// `const int id, int &x, chan &c`, or the old form with `;`. Arguments are put in by name.
    pub(crate) fn parameters(&mut self) -> Parsed<Vec<Name>> {
        let mut names = Vec::new();
        let mut last: Option<Name> = None;
        let mut depth = 0;
        while !(self.cursor.at_end() || depth == 0 && self.cursor.is_symbol(")")) {
            match self.cursor.peek() {
                TokenKind::Word("scalar" | "struct" | "double") => {
                    return self.unsupported("parameters of this type");
                }
                TokenKind::Symbol("[" | "(") => depth += 1,
                TokenKind::Symbol("]" | ")") => depth -= 1,
                TokenKind::Symbol("," | ";") if depth == 0 => names.extend(last.take()),
                TokenKind::Word(word) if depth == 0 => {
                    last = Some(Spanned::new(word.to_string(), self.cursor.span()))
                }
                _ => {}
            }
            self.cursor.next();
        }
        names.extend(last);
        Ok(names)
    }

    fn process(&mut self) -> Parsed<Template> {
        self.cursor.expect_word("process")?;
        let mut template = Template { name: Some(self.cursor.name()?), ..Template::default() };
        if self.cursor.eat("(") {
            template.parameters = self.parameters()?;
            self.cursor.expect(")")?;
        }
        self.cursor.expect("{")?;
        while self.starts_declaration() && !self.urgent_locations() {
            self.declaration(&mut template.declarations)?;
        }
        while !self.cursor.eat("}") {
            if self.cursor.eat_word("state") {
                self.listed(|parser| {
                    let name = parser.cursor.name()?;
                    let invariant = if parser.cursor.eat("{") {
                        let invariant =
                            if parser.cursor.is_symbol("}") { None } else { Some(parser.expr()?) };
                        parser.cursor.expect("}")?;
                        invariant
                    } else {
                        None
                    };
                    let id = name.node.clone();
                    template.locations.push(Location {
                        id,
                        name,
                        invariant,
                        urgent: false,
                        committed: false,
                    });
                    Ok(())
                })?;
            } else if self.cursor.is_word("commit") || self.cursor.is_word("urgent") {
                let committed = self.cursor.is_word("commit");
                self.cursor.next();
                self.listed(|parser| {
                    let name = parser.cursor.name()?;
                    for location in template.locations.iter_mut().filter(|location| location.id == name.node)
                    {
                        location.urgent = true;
                        location.committed |= committed;
                    }
                    Ok(())
                })?;
            } else if self.cursor.eat_word("init") {
                template.start = Some(self.cursor.name()?.node);
                self.cursor.expect(";")?;
            } else if self.cursor.eat_word("trans") {
                let mut from = String::new();
                self.listed(|parser| {
                    let edge = parser.edge(&from)?;
                    from.clone_from(&edge.from);
                    template.edges.push(edge);
                    Ok(())
                })?;
            } else {
                return Err(self.cursor.expected("`state`, `commit`, `urgent`, `init`, `trans` or `}`"));
            }
        }
        Ok(template)
    }

    /// Whether `urgent` begins a list of locations, not a channel.
    fn urgent_locations(&self) -> bool {
        self.cursor.is_word("urgent")
            && !matches!(self.cursor.peek_after(1), TokenKind::Word("chan" | "broadcast"))
    }

    fn listed(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<()>) -> Parsed<()> {
        loop {
            item(self)?;
            if !self.cursor.eat(",") {
                self.cursor.expect(";")?;
                return Ok(());
            }
        }
    }

    fn edge(&mut self, before: &str) -> Parsed<Edge> {
        let span = self.cursor.span();
        let from = if self.cursor.is_symbol("->") { before.to_string() } else { self.cursor.name()?.node };
        self.cursor.expect("->")?;
        let to = self.cursor.name()?.node;
        let mut edge =
            Edge { from, to, select: Vec::new(), guard: None, sync: None, assigns: Vec::new(), span };
        self.cursor.expect("{")?;
        while !self.cursor.eat("}") {
            if self.cursor.eat_word("guard") {
                edge.guard = Some(self.conjunction_list()?);
            } else if self.cursor.eat_word("sync") {
                edge.sync = Some(self.sync()?);
            } else if self.cursor.eat_word("assign") {
                edge.assigns = self.assigns()?;
            } else if self.cursor.eat_word("select") {
                edge.select = self.selects()?;
            } else {
                return Err(self.cursor.expected("`select`, `guard`, `sync`, `assign` or `}`"));
            }
            self.cursor.expect(";")?;
        }
        Ok(edge)
    }

    /// In old models the parts of a guard are separated by commas.
    pub(crate) fn conjunction_list(&mut self) -> Parsed<Expr> {
        let mut left = self.expr()?;
        while self.cursor.eat(",") {
            let right = self.expr()?;
            left = binary("&&", left, right);
        }
        Ok(left)
    }

    pub(crate) fn selects(&mut self) -> Parsed<Vec<(Name, Expr, Expr)>> {
        let mut selects = Vec::new();
        loop {
            let name = self.cursor.name()?;
            self.cursor.expect(":")?;
            if !self.cursor.eat_word("int") {
                return self.unsupported("select over other types than ranges of integers");
            }
            self.cursor.expect("[")?;
            let first = self.expr()?;
            self.cursor.expect(",")?;
            selects.push((name, first, self.expr()?));
            self.cursor.expect("]")?;
            if !self.cursor.eat(",") {
                return Ok(selects);
            }
        }
    }

    pub(crate) fn sync(&mut self) -> Parsed<(Expr, bool)> {
        let channel = self.postfix()?;
        if self.cursor.eat("!") {
            return Ok((channel, true));
        }
        self.cursor.expect("?")?;
        Ok((channel, false))
    }

    pub(crate) fn assigns(&mut self) -> Parsed<Vec<Expr>> {
        let mut assigns = vec![self.assign()?];
        while self.cursor.eat(",") {
            assigns.push(self.assign()?);
        }
        Ok(assigns)
    }

    fn assign(&mut self) -> Parsed<Expr> {
        let left = self.postfix()?;
        let span = left.span;
        let one = Expr { kind: ExprKind::Number(1), span };
        let op = match self.cursor.next().kind {
            TokenKind::Symbol(":=" | "=") => "",
            TokenKind::Symbol("+=") => "+",
            TokenKind::Symbol("-=") => "-",
            TokenKind::Symbol("*=") => "*",
            TokenKind::Symbol("++") => return Ok(assignment("+", left, one)),
            TokenKind::Symbol("--") => return Ok(assignment("-", left, one)),
            TokenKind::Symbol("(") => return self.unsupported("functions"),
            _ => return Err(self.cursor.expected("`:=`")),
        };
        let right = self.expr()?;
        Ok(assignment(op, left, right))
    }

    pub(crate) fn expr(&mut self) -> Parsed<Expr> {
        self.cursor.enter()?;
        let condition = self.level(0)?;
        let expr = if self.cursor.eat("?") {
            let then = self.expr()?;
            self.cursor.expect(":")?;
            let other = self.expr()?;
            let span = condition.span.to(other.span);
            Expr { kind: ExprKind::Cond(Box::new(condition), Box::new(then), Box::new(other)), span }
        } else {
            condition
        };
        self.cursor.leave();
        Ok(expr)
    }

    /// Operators, weakest first.
    fn level(&mut self, level: usize) -> Parsed<Expr> {
        const LEVELS: [&[(&str, &str)]; 7] = [
            &[("imply", "imply")],
            &[("or", "||"), ("||", "||")],
            &[("and", "&&"), ("&&", "&&")],
            &[("==", "=="), ("!=", "!=")],
            &[("<=", "<="), (">=", ">="), ("<", "<"), (">", ">")],
            &[("+", "+"), ("-", "-")],
            &[("*", "*"), ("/", "/"), ("%", "%")],
        ];
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.level(level + 1)?;
        loop {
            let found =
                operators.iter().find(|(text, _)| self.cursor.is_symbol(text) || self.cursor.is_word(text));
            let Some((_, op)) = found else { return Ok(left) };
            self.cursor.next();
            let right = self.level(level + 1)?;
            left = binary(op, left, right);
        }
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let start = self.cursor.span();
        let (not, minus) =
            (self.cursor.is_symbol("!") || self.cursor.is_word("not"), self.cursor.is_symbol("-"));
        if not || minus {
            self.cursor.next();
            self.cursor.enter()?;
            let of = Box::new(self.unary()?);
            self.cursor.leave();
            let span = start.to(of.span);
            return Ok(Expr { kind: if not { ExprKind::Not(of) } else { ExprKind::Minus(of) }, span });
        }
        self.postfix()
    }

    fn postfix(&mut self) -> Parsed<Expr> {
        let start = self.cursor.span();
        let kind = match self.cursor.next().kind {
            TokenKind::Number(number) => ExprKind::Number(number),
            TokenKind::Word("true") => ExprKind::Bool(true),
            TokenKind::Word("false") => ExprKind::Bool(false),
            TokenKind::Word("forall" | "exists" | "sum") => return self.unsupported("quantifiers"),
            TokenKind::Word(word) => {
                if self.cursor.eat(".") {
                    ExprKind::Dot(word.to_string(), self.cursor.name()?.node)
                } else if self.cursor.is_symbol("(") {
                    return self.unsupported("functions");
                } else {
                    ExprKind::Name(word.to_string())
                }
            }
            TokenKind::Symbol("(") => {
                let inner = self.expr()?;
                self.cursor.expect(")")?;
                inner.kind
            }
            _ => return Err(self.cursor.expected("an expression")),
        };
        let mut expr = Expr { kind, span: start.to(self.cursor.last_span()) };
        while self.cursor.eat("[") {
            let index = self.expr()?;
            self.cursor.expect("]")?;
            let span = start.to(self.cursor.last_span());
            expr = Expr { kind: ExprKind::Index(Box::new(expr), Box::new(index)), span };
        }
        if self.cursor.is_symbol("'") {
            return self.unsupported("rates of clocks");
        }
        Ok(expr)
    }
}

fn binary(op: &'static str, left: Expr, right: Expr) -> Expr {
    let span = left.span.to(right.span);
    Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), span }
}

fn assignment(op: &'static str, left: Expr, right: Expr) -> Expr {
    let span = left.span.to(right.span);
    Expr { kind: ExprKind::Assign(op, Box::new(left), Box::new(right)), span }
}
