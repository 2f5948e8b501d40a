//! Statements.

use shoal_model::{
    Argument, Binding, CheckKind, Expr, ExprKind, LocalId, LocalKind, Node, OutputItem, Place, PropertyId, Stmt, StmtKind, Value,
    walk_block,
};

use super::{MurphiNote, Said, code::Scope, names::quoted};
use crate::CannotSay;

/// The rounds of a loop that all tools allow.
const ROUNDS: u64 = 1000;

impl<'m> Scope<'_, 'm> {
    /// Declares the variables of a piece of code that statements give values.
    pub(crate) fn declare_variables(&mut self, body: &'m [Stmt], params: &[LocalId]) -> Said<()> {
        let mut used = std::collections::BTreeSet::new();
        walk_block(body, &mut |node| match node {
            Node::Place(Place { root: shoal_model::Root::Local(local), .. }) => _ = used.insert(*local),
            Node::Stmt(Stmt { kind: StmtKind::Bind(bindings), .. }) => {
                used.extend(bindings.iter().map(|binding| binding.local));
            }
            Node::Place(_) | Node::Stmt(_) | Node::Expr(_) => {}
        });
        let values = values_bound(body);
        for (local, declared) in self.locals.enumerate() {
            let holds_value = match declared.kind {
                LocalKind::Variable => true,
                LocalKind::Reference { .. } => values.contains(&local),
                LocalKind::Bound => false,
            };
            if holds_value && used.contains(&local) && !params.contains(&local) {
                self.declare_variable(local)?;
            }
        }
        Ok(())
    }

    fn declare_variable(&mut self, local: LocalId) -> Said<()> {
        let ty = self.w.type_text(self.locals[local].ty)?;
        let name = self.name(local);
        self.declared.push(format!("{name}: {ty};"));
        Ok(())
    }

    /// Statements, each in a line. What an alias is for stands in it, up to the end of the block.
    pub(crate) fn block(&mut self, block: &'m [Stmt], depth: usize) -> Said<String> {
        let (mut text, mut depth, outer) = (String::new(), depth, depth);
        let before = self.active.len();
        for stmt in block {
            match &stmt.kind {
                StmtKind::Bind(bindings) => {
                    for binding in bindings {
                        text += &self.bind(binding, &mut depth)?;
                    }
                }
                _ => text += &self.stmt(stmt, depth)?,
            }
        }
        for depth in (outer..depth).rev() {
            text += &format!("{}end;\n", pad(depth));
        }
        self.forget(before);
        Ok(text)
    }

    fn bind(&mut self, binding: &'m Binding, depth: &mut usize) -> Said<String> {
        match &binding.to {
            Argument::Place(place) => {
                let place = self.place(place)?;
                let text = format!("{}alias {}: {place} do\n", pad(*depth), self.name(binding.local));
                *depth += 1;
                Ok(text)
            }
            Argument::Value(value) => {
                let name = self.local(binding.local)?;
                self.assign(&name, value, *depth)
            }
        }
    }

    /// To Rumur it is an error to copy what is undefined.
    fn assign(&mut self, to: &str, value: &Expr, depth: usize) -> Said<String> {
        let pad = pad(depth);
        if let ExprKind::Const(Value::Undefined) = value.kind {
            return Ok(format!("{pad}undefine {to};\n"));
        }
        let text = self.expr(value)?;
        Ok(match self.peeked(value) {
            None => format!("{pad}{to} := {text};\n"),
            Some(_) => format!(
                "{pad}if isundefined({text}) then\n{pad}  undefine {to};\n{pad}else\n{pad}  {to} := {text};\n{pad}end;\n"
            ),
        })
    }

    fn stmt(&mut self, stmt: &'m Stmt, depth: usize) -> Said<String> {
        let pad = pad(depth);
        Ok(match &stmt.kind {
            StmtKind::Assign(place, value) => {
                let place = self.place(place)?;
                self.assign(&place, value, depth)?
            }
            StmtKind::Clear(place) => format!("{pad}clear {};\n", self.place(place)?),
            StmtKind::Undefine(place) => format!("{pad}undefine {};\n", self.place(place)?),
            StmtKind::If(arms, other) => self.conditional(arms, other, depth)?,
            StmtKind::While { condition, body, limit } => {
                if *limit != ROUNDS {
                    self.w.note(MurphiNote::WhileLimit(*limit));
                }
                self.refuse_choices(body)?;
                let condition = self.expr(condition)?;
                format!("{pad}while {condition} do\n{}{pad}end;\n", self.block(body, depth + 1)?)
            }
            StmtKind::For { local, domain, body } => {
                self.refuse_choices(body)?;
                let before = self.active.len();
                let domain = self.domain(domain)?;
                let name = self.name(*local);
                let body = self.block(body, depth + 1)?;
                self.forget(before);
                format!("{pad}for {name}{domain} do\n{body}{pad}end;\n")
            }
            StmtKind::Bind(_) => return Err(CannotSay::new("a binding outside of a block")),
            StmtKind::Choose { .. } if self.chosen => String::new(),
            StmtKind::Choose { .. } => return Err(CannotSay::new("choices in functions and starts")),
            StmtKind::Check { kind, condition, property } => {
                self.check(*kind, condition.as_ref(), *property, depth)?
            }
            StmtKind::Return(None) => format!("{pad}return;\n"),
            StmtKind::Return(Some(value)) => format!("{pad}return {};\n", self.expr(value)?),
            StmtKind::Call(function, arguments) => format!("{pad}{};\n", self.call(*function, arguments)?),
            StmtKind::Output(items) => self.output(items, depth)?,
            StmtKind::MultisetAdd(place, value) => {
                let (value, place) = (self.expr(value)?, self.place(place)?);
                format!("{pad}multisetadd({value}, {place});\n")
            }
            StmtKind::MultisetRemove(place, slot) => {
                let (slot, place) = (self.expr(slot)?, self.place(place)?);
                format!("{pad}multisetremove({slot}, {place});\n")
            }
            StmtKind::MultisetRemoveIf { place, local, condition } => {
                let before = self.active.len();
                let (place, name) = (self.place(place)?, self.name(*local));
                let condition = self.expr(condition)?;
                self.forget(before);
                format!("{pad}multisetremovepred({name}: {place}, {condition});\n")
            }
            StmtKind::Insert { .. } | StmtKind::Remove(..) => return Err(CannotSay::new("sequences")),
            StmtKind::Create(..) | StmtKind::Delete(_) => {
                return Err(CannotSay::new("elements that come and go"));
            }
        })
    }

    fn conditional(&mut self, arms: &'m [(Expr, Vec<Stmt>)], other: &'m [Stmt], depth: usize) -> Said<String> {
        let (pad, mut text) = (pad(depth), String::new());
        for (position, (condition, block)) in arms.iter().enumerate() {
            let word = if position == 0 { "if" } else { "elsif" };
            text += &format!("{pad}{word} {} then\n", self.expr(condition)?);
            text += &self.block(block, depth + 1)?;
        }
        if !other.is_empty() {
            text += &format!("{pad}else\n{}", self.block(other, depth + 1)?);
        }
        Ok(text + &format!("{pad}end;\n"))
    }

    fn check(
        &mut self,
        kind: CheckKind,
        condition: Option<&Expr>,
        property: PropertyId,
        depth: usize,
    ) -> Said<String> {
        let (pad, name) = (pad(depth), quoted(&self.model().properties[property].name));
        let word = match kind {
            CheckKind::Assert => "assert",
            CheckKind::Assume => "assume",
            CheckKind::Cover => "cover",
        };
        if kind != CheckKind::Assert {
            self.w.survey.not_for_cmurphi.insert("assumptions and covers");
        }
        Ok(match condition {
            None if kind == CheckKind::Assert => format!("{pad}error {name};\n"),
            None => format!("{pad}{word} false {name};\n"),
            Some(condition) => format!("{pad}{word} {} {name};\n", self.expr(condition)?),
        })
    }

    fn output(&mut self, items: &'m [OutputItem], depth: usize) -> Said<String> {
        let mut text = String::new();
        for item in items {
            let shown = match item {
                OutputItem::Text(of) => quoted(of),
                OutputItem::Value(value) => self.expr(value)?,
            };
            text += &format!("{}put {shown};\n", pad(depth));
        }
        Ok(text)
    }

    /// A choice in a loop is made in each round: no parameter says that.
    fn refuse_choices(&self, body: &[Stmt]) -> Said<()> {
        let mut found = false;
        walk_block(body, &mut |node| {
            found |= matches!(node, Node::Stmt(Stmt { kind: StmtKind::Choose { .. }, .. }));
        });
        if found { Err(CannotSay::new("choices in loops")) } else { Ok(()) }
    }
}

/// Locals that are bound to values.
fn values_bound(body: &[Stmt]) -> Vec<LocalId> {
    let mut values = Vec::new();
    walk_block(body, &mut |node| {
        if let Node::Stmt(Stmt { kind: StmtKind::Bind(bindings), .. }) = node {
            let of_values = bindings.iter().filter(|binding| matches!(binding.to, Argument::Value(_)));
            values.extend(of_values.map(|binding| binding.local));
        }
    });
    values
}

pub(crate) fn pad(depth: usize) -> String {
    "  ".repeat(depth)
}
