//! Statements.

use shoal_model::{
    Argument, Binding, CheckKind, Domain, Expr, ExprKind, LocalId, LocalKind, Node, OutputItem, Place,
    PropertyId, Stmt, StmtKind, TypedId, Value, walk_block,
};

use super::{
    MurphiNote, OrCannotSay,
    code::MurphiScope,
    names::quoted,
    survey::{is_empty, numbers},
};
use crate::CannotSay;

/// The rounds of a loop that all tools allow.
const ROUNDS: u64 = 1000;
/// More choices than this in one step are refused: each has a rule for each of its values.
const MOST_CHOICES: usize = 16;

impl<'m> MurphiScope<'_, 'm> {
    /// Declares the variables of a piece of code that statements give values.
    pub(crate) fn declare_variables(&mut self, body: &'m [Stmt], params: &[LocalId]) -> OrCannotSay<()> {
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

    fn declare_variable(&mut self, local: LocalId) -> OrCannotSay<()> {
        let ty = self.w.type_text(self.locals[local].ty)?;
        let name = self.name(local);
        self.declared.push(format!("{name}: {ty};"));
        Ok(())
    }

    /// Statements, each in a line. What an alias is for stands in it, up to the end of the block.
    pub(crate) fn block(&mut self, block: &'m [Stmt], depth: usize) -> OrCannotSay<String> {
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

    fn bind(&mut self, binding: &'m Binding, depth: &mut usize) -> OrCannotSay<String> {
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
    fn assign(&mut self, to: &str, value: &Expr, depth: usize) -> OrCannotSay<String> {
        let pad = pad(depth);
        if let ExprKind::Const(Value::Undefined) = value.kind {
            return Ok(format!("{pad}undefine {to};\n"));
        }
        let text = self.strict(value)?;
        Ok(match self.peeked(value) {
            None => format!("{pad}{to} := {text};\n"),
            Some(_) => format!(
                "{pad}if isundefined({text}) then\n{pad}  undefine {to};\n{pad}else\n{pad}  {to} := {text};\n{pad}end;\n"
            ),
        })
    }

    fn stmt(&mut self, stmt: &'m Stmt, depth: usize) -> OrCannotSay<String> {
        let pad = pad(depth);
        Ok(match &stmt.kind {
            StmtKind::Assign(place, value) => {
                self.refuse_gap(place, value)?;
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
                if has_choices(body) {
                    return Err(CannotSay::new("choices in loops whose rounds are not known"));
                }
                let condition = self.expr(condition)?;
                format!("{pad}while {condition} do\n{}{pad}end;\n", self.block(body, depth + 1)?)
            }
            StmtKind::For { local, domain, body } => {
                if is_empty(domain) {
                    return Ok(String::new());
                }
                if has_choices(body) {
                    return self.unrolled(*local, domain, body, depth);
                }
                self.rounds(*local, domain, body, depth)?
            }
            StmtKind::Bind(_) => return Err(CannotSay::new("a binding outside of a block")),
            StmtKind::Choose { local, domain } => {
                self.choose(*local, domain)?;
                String::new()
            }
            StmtKind::Check { kind, condition, property } => {
                self.check(*kind, condition.as_ref(), *property, depth)?
            }
            StmtKind::Return(None) => format!("{pad}return;\n"),
            StmtKind::Return(Some(value)) => format!("{pad}return {};\n", self.expr(value)?),
            StmtKind::Call(function, arguments) => format!("{pad}{};\n", self.call(*function, arguments)?),
            StmtKind::Output(items) => self.output(items, depth)?,
            StmtKind::MultisetAdd(place, value) => {
                let (value, place) = (self.strict(value)?, self.place(place)?);
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

    fn rounds(
        &mut self,
        local: LocalId,
        domain: &Domain,
        body: &'m [Stmt],
        depth: usize,
    ) -> OrCannotSay<String> {
        let asked = self.has_values(domain)?;
        let inner = depth + usize::from(asked.is_some());
        let before = self.active.len();
        let domain = self.domain(domain)?;
        let name = self.name(local);
        let body = self.block(body, inner + 1)?;
        self.forget(before);
        let text = format!("{0}for {name}{domain} do\n{body}{0}end;\n", pad(inner));
        Ok(match asked {
            Some(asked) => format!("{0}if {asked} then\n{text}{0}end;\n", pad(depth)),
            None => text,
        })
    }

    fn conditional(
        &mut self,
        arms: &'m [(Expr, Vec<Stmt>)],
        other: &'m [Stmt],
        depth: usize,
    ) -> OrCannotSay<String> {
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
    ) -> OrCannotSay<String> {
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

    fn output(&mut self, items: &'m [OutputItem], depth: usize) -> OrCannotSay<String> {
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

    /// A choice is a parameter of the rule: each value gives an outcome, whether the step comes to it or not.
    fn choose(&mut self, local: LocalId, domain: &Domain) -> OrCannotSay<()> {
        match domain {
            Domain::Slots(_) => return Err(CannotSay::new("choices from a multiset inside a rule")),
            Domain::Range { .. } if numbers(domain).is_none() => {
                return Err(CannotSay::new("a choice whose values depend on the state"));
            }
            Domain::Type(_) | Domain::Range { .. } => {}
        }
        let domain = self.domain(domain)?;
        let name = self.name_choice(local);
        let Some(choices) = &mut self.choices else {
            return Err(CannotSay::new("choices in functions"));
        };
        choices.push(format!("{name}{domain}"));
        if choices.len() > MOST_CHOICES {
            return Err(CannotSay::new("so many choices in one step"));
        }
        Ok(())
    }

    /// A loop with choices in it: each round has its own.
    fn unrolled(
        &mut self,
        local: LocalId,
        domain: &Domain,
        body: &'m [Stmt],
        depth: usize,
    ) -> OrCannotSay<String> {
        let mut text = String::new();
        for value in self.written_out(domain)? {
            self.texts[local.index()] = Some(value);
            text += &self.block(body, depth)?;
        }
        Ok(text)
    }

    /// Numbers that stand for no value of a type are refused by its range, but for those of a pointer with a gap.
    fn refuse_gap(&self, place: &Place, value: &Expr) -> OrCannotSay<()> {
        let fits =
            self.model().sorts_of(value.ty).iter().all(|sort| self.model().sorts_of(place.ty).contains(sort));
        if self.w.survey.has_gap(place.ty) && !fits {
            return Err(CannotSay::new(
                "a reference to one of several sorts that is given to a reference to one",
            ));
        }
        Ok(())
    }
}

/// Whether there are choices in a block.
pub(crate) fn has_choices(body: &[Stmt]) -> bool {
    let mut found = false;
    walk_block(body, &mut |node| {
        found |= matches!(node, Node::Stmt(Stmt { kind: StmtKind::Choose { .. }, .. }));
    });
    found
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
