//! Texts of UPPAAL models: declarations, `.xta` processes, labels of edges.

mod code;
mod declarations;
mod expr;
mod queries;

use shoal_syntax::{
    Diagnostic, Diagnostics, SourceId,
    cursor::{Cursor, Parsed, error, read_part},
    lexer::{Lexicon, TokenKind},
};
use shoal_template::codes;

pub(crate) use self::queries::{queries, query};
use super::ast::{Edge, Expr, ExprKind, Instance, Location, Name, Nta, Sync, Template, TypeExpr};

const LEXICON: Lexicon = Lexicon {
    line_comment: "//",
    block_comments: true,
    symbols: &[
        "<<=", ">>=", "-->", "**", ":=", "==", "!=", "<=", ">=", "&&", "||", "++", "--", "+=", "-=", "*=",
        "/=", "%=", "&=", "|=", "^=", "->", "<<", ">>", "<?", ">?", "(", ")", "[", "]", "{", "}", ",", ";",
        ":", "=", "<", ">", "+", "-", "*", "/", "%", "!", "?", ".", "&", "|", "^", "'", "#",
    ],
};

/// Reads a text that stands at an offset in its source, or tells what is wrong with it.
pub(crate) fn parse<T>(
    source: SourceId,
    text: &str,
    offset: usize,
    part: impl FnOnce(&mut Parser<'_, '_>) -> Parsed<T>,
) -> Result<T, Diagnostics> {
    let (parsed, diagnostics) = read_part(source, text, offset, &LEXICON, |cursor| {
        let mut parser = Parser { cursor };
        let parsed = part(&mut parser)?;
        match parser.cursor.at_end() {
            true => Ok(parsed),
            false => Err(parser.cursor.expected("the end")),
        }
    });
    parsed.ok_or(diagnostics)
}

pub(crate) struct Parser<'c, 's> {
    cursor: &'c mut Cursor<'s>,
}

impl Parser<'_, '_> {
    fn unsupported<T>(&self, what: &str) -> Parsed<T> {
        let message = format!("not supported: {what}");
        Err(Box::new(Diagnostic::error(codes::UNSUPPORTED, self.cursor.span(), message)))
    }

    /// Global declarations, processes, instances and the system line, in any order.
    pub(crate) fn whole(&mut self, nta: &mut Nta) -> Parsed<()> {
        while !self.cursor.at_end() {
            self.recovering(|parser| parser.item(nta))?;
        }
        Ok(())
    }

    fn item(&mut self, nta: &mut Nta) -> Parsed<()> {
        if self.cursor.is_word("process") {
            nta.templates.push(self.process()?);
        } else if self.cursor.eat_word("system") {
            self.system(nta)?;
        } else if self.cursor.is_word("IO") {
            return self.unsupported("synchronisation without senders and receivers (IO)");
        } else if self.cursor.eat_word("gantt") || self.cursor.eat_word("progress") {
            self.skip_block()?;
        } else if self.starts_declaration() {
            self.declaration(&mut nta.declarations)?;
        } else {
            let instance = self.instance()?;
            nta.instances.push(instance);
        }
        Ok(())
    }

    /// Reads an item; if it cannot be read, its error is kept and the rest of it skipped. Whether it was read.
    fn recovering(&mut self, item: impl FnOnce(&mut Self) -> Parsed<()>) -> Parsed<bool> {
        let mark = self.cursor.mark();
        let read = item(self);
        Ok(self.cursor.recovered(mark, read, &[])?.is_some())
    }

    fn system(&mut self, nta: &mut Nta) -> Parsed<()> {
        for (name, level) in self.levels(|parser| parser.cursor.name())? {
            nta.system.push((name, level));
        }
        Ok(())
    }

    /// A list that ends with a semicolon, in which `<` says that what follows has priority.
    fn levels<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<(T, usize)>> {
        let (mut all, mut level) = (Vec::new(), 0);
        loop {
            all.push((item(self)?, level));
            if self.cursor.eat("<") {
                level += 1;
            } else if !self.cursor.eat(",") {
                self.cursor.expect(";")?;
                return Ok(all);
            }
        }
    }

    /// What is drawn or measured and changes nothing.
    fn skip_block(&mut self) -> Parsed<()> {
        self.cursor.expect("{")?;
        let mut depth = 1;
        while depth > 0 {
            if self.cursor.at_end() {
                return Err(self.cursor.expected("`}`"));
            }
            match self.cursor.bump().kind {
                TokenKind::Symbol("{") => depth += 1,
                TokenKind::Symbol("}") => depth -= 1,
                _ => {}
            }
        }
        Ok(())
    }

    fn instance(&mut self) -> Parsed<Instance> {
        let name = self.cursor.name()?;
        let parameters = if self.cursor.eat("(") {
            let parameters = self.parameters()?;
            self.cursor.expect(")")?;
            parameters
        } else {
            Vec::new()
        };
        if !self.cursor.eat(":=") {
            self.cursor.expect("=")?;
        }
        let template = self.cursor.name()?;
        self.cursor.expect("(")?;
        let arguments = self.arguments()?;
        self.cursor.expect(";")?;
        Ok(Instance { name, parameters, template, arguments })
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
            self.recovering(|parser| parser.declaration(&mut template.declarations))?;
        }
        while !self.cursor.eat("}") {
            if self.cursor.at_end() {
                return Err(self.cursor.expected("`}`"));
            }
            self.recovering(|parser| parser.section(&mut template))?;
        }
        // The process was read to its end.
        if let Err(error) = template.join_branches() {
            self.cursor.note(*error);
        }
        Ok(template)
    }

    /// A part of a process: its locations, its edges, where it begins.
    fn section(&mut self, template: &mut Template) -> Parsed<()> {
        if self.cursor.eat_word("state") {
            self.listed(|parser| {
                let location = parser.location()?;
                template.locations.push(location);
                Ok(())
            })
        } else if self.cursor.is_word("commit") || self.cursor.is_word("urgent") {
            self.still_locations(template)
        } else if self.cursor.eat_word("init") {
            let start = self.cursor.name()?;
            if template.start.replace(start.node).is_some() {
                let message = "a second initial location: which of them is meant nobody can say";
                return error(codes::REDECLARED, start.span, message);
            }
            self.cursor.expect(";").map(|_| ())
        } else if self.cursor.eat_word("trans") {
            let mut from = String::new();
            self.listed(|parser| {
                let edge = parser.edge(&from)?;
                from.clone_from(&edge.from);
                template.edges.push(edge);
                Ok(())
            })
        } else if self.cursor.eat_word("branchpoint") {
            self.listed(|parser| {
                let name = parser.cursor.name()?;
                template.branchpoints.push(name.node);
                Ok(())
            })
        } else {
            Err(self.cursor.expected("`state`, `commit`, `urgent`, `init`, `trans` or `}`"))
        }
    }

    /// Whether `urgent` begins a list of locations, not a channel.
    fn urgent_locations(&self) -> bool {
        self.cursor.is_word("urgent")
            && !matches!(self.cursor.peek_after(1), TokenKind::Word("chan" | "broadcast"))
    }

    fn location(&mut self) -> Parsed<Location> {
        let name = self.cursor.name()?;
        let invariant = if self.cursor.eat("{") {
            let invariant = if self.cursor.is_symbol("}") { None } else { Some(self.conjunction_list()?) };
            if self.cursor.is_symbol(";") {
                return self.unsupported("rates of locations");
            }
            self.cursor.expect("}")?;
            invariant
        } else {
            None
        };
        Ok(Location { id: name.node.clone(), name, invariant, urgent: false, committed: false })
    }

    /// The locations where time does not pass.
    fn still_locations(&mut self, template: &mut Template) -> Parsed<()> {
        let committed = self.cursor.is_word("commit");
        self.cursor.bump();
        self.listed(|parser| {
            let name = parser.cursor.name()?;
            let Some(location) = template.locations.iter_mut().find(|location| location.id == name.node)
            else {
                let message = format!("there is no location `{}`", name.node);
                return error(codes::UNKNOWN_NAME, name.span, message);
            };
            location.urgent = true;
            location.committed |= committed;
            Ok(())
        })
    }

    fn listed(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<()>) -> Parsed<()> {
        loop {
            // What was skipped may be the rest of the list.
            if !self.recovering(&mut item)? && (self.cursor.is_behind(";") || self.cursor.at_end()) {
                return Ok(());
            }
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
            if self.cursor.at_end() {
                return Err(self.cursor.expected("`}`"));
            }
            self.recovering(|parser| parser.label(&mut edge))?;
        }
        Ok(edge)
    }

    fn label(&mut self, edge: &mut Edge) -> Parsed<()> {
        if self.cursor.eat_word("guard") {
            edge.guard = Some(self.conjunction_list()?);
        } else if self.cursor.eat_word("sync") {
            edge.sync = Some(self.sync()?);
        } else if self.cursor.eat_word("assign") {
            edge.assigns = self.assigns()?;
        } else if self.cursor.eat_word("select") {
            edge.select = self.selects()?;
        } else if self.cursor.eat_word("probability") {
            if matches!(self.expr()?.kind, ExprKind::Number(0)) {
                return self.unsupported("branches of weight 0");
            }
        } else {
            return Err(self.cursor.expected("`select`, `guard`, `sync`, `assign` or `}`"));
        }
        self.cursor.expect(";").map(|_| ())
    }

    /// In old models the parts of a guard are separated by commas.
    pub(crate) fn conjunction_list(&mut self) -> Parsed<Expr> {
        let mut left = self.expr()?;
        while self.cursor.eat(",") {
            let right = self.expr()?;
            left = expr::binary("&&", left, right);
        }
        Ok(left)
    }

    pub(crate) fn selects(&mut self) -> Parsed<Vec<(Name, TypeExpr)>> {
        let mut selects = Vec::new();
        loop {
            let name = self.cursor.name()?;
            self.cursor.expect(":")?;
            selects.push((name, self.type_expr()?));
            if !self.cursor.eat(",") {
                return Ok(selects);
            }
        }
    }

    pub(crate) fn sync(&mut self) -> Parsed<Sync> {
        let channel = self.postfix()?;
        if self.cursor.eat("!") {
            return Ok(Sync { channel, sends: true });
        }
        if !self.cursor.is_symbol("?") {
            return self.unsupported("synchronisation without sender and receiver");
        }
        self.cursor.expect("?")?;
        Ok(Sync { channel, sends: false })
    }

    pub(crate) fn assigns(&mut self) -> Parsed<Vec<Expr>> {
        let mut assigns = vec![self.expr()?];
        while self.cursor.eat(",") {
            assigns.push(self.expr()?);
        }
        Ok(assigns)
    }
}
