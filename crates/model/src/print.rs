//! The printed form of a model: what `shoal explain` shows and what tests compare.

use std::fmt::{self, Display, Write};

use crate::{
    Agents, Argument, BinaryOp, Binding, CheckKind, Code, Condition, DeadlockKind, Domain, Expr, ExprKind,
    Formula, Function, IndexVec, Local, LocalId, LocalKind, Logic, Lost, Model, OutputItem, Place,
    Projection, PropertyKind, Quantifier, Root, Rule, Runs, SortSize, Stmt, StmtKind, Type, TypeId, UnaryOp,
    Value,
};

/// The whole model as text.
pub fn print_model(model: &Model) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_model(model, &mut out);
    out
}

/// An expression as text; `locals` are those of the code or condition it stands in.
pub fn print_expr(model: &Model, locals: &IndexVec<LocalId, Local>, expr: &Expr) -> String {
    Scope { model, locals }.expr(expr)
}

/// A value or a type with the names of its model.
#[derive(Clone, Copy)]
pub struct Named<'a, T> {
    model: &'a Model,
    thing: T,
}

impl Model {
    /// A value with the model's names, for people.
    pub fn show<'a>(&'a self, value: &'a Value) -> Named<'a, &'a Value> {
        Named { model: self, thing: value }
    }

    /// A type by its name, or written out if it has none.
    pub fn show_type(&self, ty: TypeId) -> Named<'_, TypeId> {
        Named { model: self, thing: ty }
    }
}

impl Display for Named<'_, &Value> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let model = self.model;
        let list = |f: &mut fmt::Formatter<'_>, items: &[Value]| {
            for (position, item) in items.iter().enumerate() {
                let comma = if position > 0 { ", " } else { "" };
                write!(f, "{comma}{}", model.show(item))?;
            }
            Ok(())
        };
        match self.thing {
            Value::Undefined => f.write_str("undefined"),
            Value::Null => f.write_str("null"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Int(value) => write!(f, "{value}"),
            Value::Enum(ty, position) => match model.kind(*ty) {
                Type::Enum { variants } => f.write_str(&variants[*position as usize]),
                _ => write!(f, "{ty}#{position}"),
            },
            Value::Elem(sort, element) => f.write_str(&model.sorts[*sort].element_name(*element)),
            Value::Clock(value) => write!(f, "{value}"),
            Value::Record(items) => {
                f.write_str("{")?;
                list(f, items)?;
                f.write_str("}")
            }
            Value::Array(items) | Value::Sequence(items) => {
                f.write_str("[")?;
                list(f, items)?;
                f.write_str("]")
            }
            Value::Multiset(slots) => {
                f.write_str("{|")?;
                list(f, &slots.iter().flatten().cloned().collect::<Vec<_>>())?;
                f.write_str("|}")
            }
        }
    }
}

impl Display for Named<'_, TypeId> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.model.types[self.thing].name {
            Some(name) => f.write_str(name),
            None => write_type(self.model, self.model.kind(self.thing), f),
        }
    }
}

fn write_type(model: &Model, kind: &Type, f: &mut impl Write) -> fmt::Result {
    match kind {
        Type::Bool => f.write_str("bool"),
        Type::Int { lo: i64::MIN, hi: i64::MAX } => f.write_str("int"),
        Type::Int { lo, hi } => write!(f, "{lo}..{hi}"),
        Type::Enum { variants } => write!(f, "enum {{{}}}", variants.join(", ")),
        Type::Ref { sort, nullable } => {
            write!(f, "ref {}{}", model.sorts[*sort].name, if *nullable { "?" } else { "" })
        }
        Type::Union { members } => {
            let members: Vec<String> =
                members.iter().map(|member| model.show_type(*member).to_string()).collect();
            write!(f, "union {{{}}}", members.join(", "))
        }
        Type::Record { fields } => {
            let fields: Vec<String> =
                fields.iter().map(|field| format!("{}: {}", field.name, model.show_type(field.ty))).collect();
            write!(f, "record {{{}}}", fields.join(", "))
        }
        Type::Array { index, element } => {
            write!(f, "array [{}] of {}", model.show_type(*index), model.show_type(*element))
        }
        Type::Multiset { capacity, element } => {
            write!(f, "multiset [{capacity}] of {}", model.show_type(*element))
        }
        Type::Sequence { capacity, element } => {
            write!(f, "sequence [{capacity}] of {}", model.show_type(*element))
        }
        Type::Clock => f.write_str("clock"),
    }
}

fn write_model(model: &Model, out: &mut String) -> fmt::Result {
    writeln!(out, "model {}", model.name)?;
    for sort in model.sorts.iter() {
        match sort.size {
            SortSize::Fixed(size) => writeln!(out, "sort {}: {size}", sort.name)?,
            SortSize::Growing { limit, lost } => {
                let limit = limit.map_or(String::new(), |limit| format!(" to {limit}"));
                let lost = match lost {
                    Lost::Stays => "",
                    Lost::Collected => ", collected",
                    Lost::Faults => ", none lost",
                };
                writeln!(out, "sort {}: growing{limit}{lost}", sort.name)?
            }
            SortSize::Any => writeln!(out, "sort {}: any", sort.name)?,
        }
    }
    for def in model.types.iter() {
        if let Some(name) = &def.name {
            write!(out, "type {name} = ")?;
            write_type(model, &def.kind, out)?;
            writeln!(out)?;
        }
    }
    for var in model.vars.iter() {
        writeln!(out, "var {}: {}", var.name, model.show_type(var.ty))?;
    }
    for table in model.tables.iter() {
        writeln!(out, "table {}: {} entries", table.name, table.entries.len())?;
    }
    for function in model.functions.iter() {
        write_function(model, function, out)?;
    }
    for start in model.starts.iter() {
        write_rule(model, "start", start, out)?;
    }
    for rule in model.rules.iter() {
        write_rule(model, "rule", rule, out)?;
    }
    for property in model.properties.iter() {
        writeln!(out, "{} {:?}{}", property.kind.noun(), property.name, kind_text(model, &property.kind))?;
    }
    if let Some(condition) = &model.while_time_passes {
        writeln!(out, "while time passes {}", condition_text(model, condition))?;
    }
    if model.runs == Runs::Maximal {
        writeln!(out, "formulas speak of all maximal runs")?;
    }
    for condition in &model.fairness {
        writeln!(out, "fairness {}", condition_text(model, condition))?;
    }
    for agents in &model.agents {
        write_agents(model, agents, out)?;
    }
    Ok(())
}

/// Where agents may go first, and what they do not need there.
fn write_agents(model: &Model, agents: &Agents, out: &mut String) -> fmt::Result {
    writeln!(out, "agents {}", model.vars[agents.var].name)?;
    for (position, location) in agents.locations.iter().enumerate() {
        if let Some(condition) = &location.goes_first {
            let cut = if location.cuts_loops { ", cuts loops" } else { "" };
            writeln!(out, "  {position}{cut}{}", condition_text(model, condition))?;
        }
        if !location.dead.is_empty() {
            writeln!(out, "  {position} dead fields {:?}", location.dead)?;
        }
    }
    Ok(())
}

impl PropertyKind {
    /// What this kind of property is called.
    pub fn noun(&self) -> &'static str {
        match self {
            PropertyKind::Invariant(_) => "invariant",
            PropertyKind::Assertion => "assertion",
            PropertyKind::Bound => "bound",
            PropertyKind::NoFaults => "no run-time errors",
            PropertyKind::Deadlock(_) => "deadlock",
            PropertyKind::Assume(_) => "assume",
            PropertyKind::Cover(_) | PropertyKind::CoverDeadlock(_) => "cover",
            PropertyKind::AlwaysPossible(_) => "liveness",
            PropertyKind::Extreme(_) => "value",
            PropertyKind::Unclear(_) => "not understood",
            PropertyKind::Temporal(Logic::Ctl, _) => "ctl",
            PropertyKind::Temporal(Logic::Ltl, _) => "ltl",
            PropertyKind::Temporal(Logic::Tctl, _) => "tctl",
        }
    }
}

fn condition_text(model: &Model, condition: &Condition) -> String {
    print_expr(model, &condition.locals, &condition.expr)
}

fn kind_text(model: &Model, kind: &PropertyKind) -> String {
    match kind {
        PropertyKind::Invariant(condition)
        | PropertyKind::Assume(Some(condition))
        | PropertyKind::Cover(Some(condition))
        | PropertyKind::AlwaysPossible(condition) => format!(": {}", condition_text(model, condition)),
        PropertyKind::CoverDeadlock(condition) => {
            format!(": no rule is enabled, and {}", condition_text(model, condition))
        }
        PropertyKind::Deadlock(DeadlockKind::Stuck) => ": no rule is enabled".into(),
        PropertyKind::Deadlock(DeadlockKind::Timelock) => ": time cannot diverge".into(),
        PropertyKind::Deadlock(DeadlockKind::Stuttering) => ": no rule leads to another state".into(),
        PropertyKind::Deadlock(DeadlockKind::StuckUnless(condition)) => {
            format!(": no rule is enabled, unless {}", condition_text(model, condition))
        }
        PropertyKind::Temporal(_, formula) => format!(": {}", print_formula(model, formula)),
        PropertyKind::Extreme(extreme) => format!(
            ": the {} of {} where {}",
            if extreme.greatest { "greatest" } else { "least" },
            print_expr(model, &extreme.locals, &extreme.of),
            print_expr(model, &extreme.locals, &extreme.given),
        ),
        PropertyKind::Unclear(why) => format!(": {why}"),
        PropertyKind::Assertion
        | PropertyKind::Bound
        | PropertyKind::NoFaults
        | PropertyKind::Assume(None)
        | PropertyKind::Cover(None) => String::new(),
    }
}

/// The text of a temporal formula.
pub fn print_formula(model: &Model, formula: &Formula) -> String {
    let text = |formula: &Formula| print_formula(model, formula);
    let join = |formulas: &[Formula], op: &str| formulas.iter().map(text).collect::<Vec<_>>().join(op);
    let within = |interval: &crate::Interval| {
        let bound = |bound: Option<(u64, bool)>, none: &str| match bound {
            Some((bound, _)) => bound.to_string(),
            None => none.to_string(),
        };
        match (interval.from, interval.to) {
            (None, None) => String::new(),
            (from, to) => format!(
                "{}{}, {}{}",
                if from.is_some_and(|(_, open)| open) { "(" } else { "[" },
                bound(from, "0"),
                bound(to, "∞"),
                if to.is_none_or(|(_, open)| open) { ")" } else { "]" },
            ),
        }
    };
    match formula {
        Formula::Atom(condition) => condition_text(model, condition),
        Formula::Not(of) => format!("!{}", text(of)),
        Formula::And(of) => format!("({})", join(of, " & ")),
        Formula::Or(of) => format!("({})", join(of, " | ")),
        Formula::AllPaths(of) => format!("A {}", text(of)),
        Formula::SomePath(of) => format!("E {}", text(of)),
        Formula::Next(of) => format!("X {}", text(of)),
        Formula::Always(interval, of) => format!("G{} {}", within(interval), text(of)),
        Formula::Eventually(interval, of) => format!("F{} {}", within(interval), text(of)),
        Formula::Until(interval, a, b) => format!("({} U{} {})", text(a), within(interval), text(b)),
        Formula::Release(interval, a, b) => format!("({} R{} {})", text(a), within(interval), text(b)),
        Formula::Never(observer) => {
            let state = |state: &crate::ObserverState| {
                let mark = if state.accepting { "*" } else { "" };
                let step = |(condition, to): &(crate::Condition, usize)| {
                    format!("{} -> {}", condition_text(model, condition), observer.states[*to].name)
                };
                let steps: Vec<String> = state.steps.iter().map(step).collect();
                format!("{}{mark}: [{}]", state.name, steps.join("; "))
            };
            format!("never {{{}}}", observer.states.iter().map(state).collect::<Vec<_>>().join(", "))
        }
    }
}

fn write_function(model: &Model, function: &Function, out: &mut String) -> fmt::Result {
    let params: Vec<String> = function
        .params
        .iter()
        .map(|param| {
            let local = &function.code.locals[*param];
            let mode = match local.kind {
                LocalKind::Reference { writable: true } => "var ",
                LocalKind::Reference { writable: false } => "ref ",
                _ => "",
            };
            format!("{mode}{}: {}", local.name, model.show_type(local.ty))
        })
        .collect();
    let result = function.result.map_or(String::new(), |ty| format!(": {}", model.show_type(ty)));
    writeln!(out, "function {}({}){result}", function.name, params.join(", "))?;
    write_code(model, &function.code, out)
}

fn write_rule(model: &Model, word: &str, rule: &Rule, out: &mut String) -> fmt::Result {
    let scope = Scope { model, locals: &rule.code.locals };
    write!(out, "{word} {:?}", rule.name)?;
    for (position, param) in rule.params.iter().enumerate() {
        let lead = if position == 0 { " for " } else { ", " };
        write!(out, "{lead}{} in {}", scope.local(param.local), scope.domain(&param.domain))?;
    }
    if rule.priority != 0 {
        write!(out, " priority {}", rule.priority)?;
    }
    if rule.urgent {
        write!(out, " urgent")?;
    }
    for binding in &rule.bindings {
        write!(out, " {}", scope.binding(binding))?;
    }
    if let Some(guard) = &rule.guard {
        write!(out, " when {}", scope.expr(guard))?;
    }
    writeln!(out)?;
    write_code(model, &rule.code, out)
}

fn write_code(model: &Model, code: &Code, out: &mut String) -> fmt::Result {
    let scope = Scope { model, locals: &code.locals };
    scope.block(&code.body, 1, out)
}

/// Names for one piece of code.
#[derive(Clone, Copy)]
struct Scope<'a> {
    model: &'a Model,
    locals: &'a IndexVec<LocalId, Local>,
}

impl Scope<'_> {
    fn local(&self, local: LocalId) -> String {
        self.locals.get(local).map_or_else(|| local.to_string(), |local| local.name.clone())
    }

    fn domain(&self, domain: &Domain) -> String {
        match domain {
            Domain::Type(ty) => self.model.show_type(*ty).to_string(),
            Domain::Range { from, to, by } => match by.kind {
                ExprKind::Const(Value::Int(1)) => format!("{} to {}", self.expr(from), self.expr(to)),
                _ => format!("{} to {} by {}", self.expr(from), self.expr(to), self.expr(by)),
            },
            Domain::Slots(place) => format!("slots of {}", self.place(place)),
        }
    }

    fn binding(&self, binding: &Binding) -> String {
        let sign = if matches!(binding.to, Argument::Place(_)) { "->" } else { "=" };
        format!("let {} {sign} {};", self.local(binding.local), self.argument(&binding.to))
    }

    fn argument(&self, argument: &Argument) -> String {
        match argument {
            Argument::Place(place) => format!("&{}", self.place(place)),
            Argument::Value(value) => self.expr(value),
        }
    }

    fn arguments(&self, arguments: &[Argument]) -> String {
        arguments.iter().map(|argument| self.argument(argument)).collect::<Vec<_>>().join(", ")
    }

    fn place(&self, place: &Place) -> String {
        let (mut text, mut ty) = match place.root {
            Root::Var(var) => (self.model.vars[var].name.clone(), Some(self.model.vars[var].ty)),
            Root::Local(local) => (self.local(local), self.locals.get(local).map(|local| local.ty)),
        };
        for projection in &place.path {
            let kind = ty.map(|ty| self.model.kind(ty));
            match (projection, kind) {
                (Projection::Field(position), Some(Type::Record { fields })) => {
                    text = format!("{text}.{}", fields[*position as usize].name);
                    ty = Some(fields[*position as usize].ty);
                }
                (Projection::Field(position), _) => text = format!("{text}.{position}"),
                (Projection::Index(at) | Projection::Slot(at) | Projection::Item(at), kind) => {
                    text = format!("{text}[{}]", self.expr(at));
                    ty = match kind {
                        Some(
                            Type::Array { element, .. }
                            | Type::Multiset { element, .. }
                            | Type::Sequence { element, .. },
                        ) => Some(*element),
                        _ => None,
                    };
                }
            }
        }
        text
    }

    fn operands(&self, operands: &[Expr], op: &str) -> String {
        format!("({})", operands.iter().map(|operand| self.expr(operand)).collect::<Vec<_>>().join(op))
    }

    fn expr(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Const(value) => self.model.show(value).to_string(),
            ExprKind::Read(place) => self.place(place),
            ExprKind::Peek(place) => format!("peek {}", self.place(place)),
            ExprKind::IsUndefined(place) => format!("isundefined({})", self.place(place)),
            ExprKind::Unary(op, operand) => match (&op, &operand.kind) {
                (UnaryOp::Not, ExprKind::Equal(a, b)) => format!("({} != {})", self.expr(a), self.expr(b)),
                (UnaryOp::Not, _) => format!("!{}", self.expr(operand)),
                (UnaryOp::Neg, _) => format!("-{}", self.expr(operand)),
                (UnaryOp::BitNot, _) => format!("~{}", self.expr(operand)),
            },
            ExprKind::Binary(op, a, b) => format!("({} {} {})", self.expr(a), op.symbol(), self.expr(b)),
            ExprKind::Equal(a, b) => format!("({} = {})", self.expr(a), self.expr(b)),
            ExprKind::And(operands) => self.operands(operands, " & "),
            ExprKind::Or(operands) => self.operands(operands, " | "),
            ExprKind::Implies(a, b) => format!("({} -> {})", self.expr(a), self.expr(b)),
            ExprKind::Cond(c, a, b) => format!("({} ? {} : {})", self.expr(c), self.expr(a), self.expr(b)),
            ExprKind::Quantified { quantifier, local, domain, body } => {
                let word = match quantifier {
                    Quantifier::Forall => "forall",
                    Quantifier::Exists => "exists",
                    Quantifier::Count => "count",
                };
                format!("({word} {} in {}: {})", self.local(*local), self.domain(domain), self.expr(body))
            }
            ExprKind::Call(function, arguments) => {
                format!("{}({})", self.model.functions[*function].name, self.arguments(arguments))
            }
            ExprKind::IsMember(value, ty) => {
                format!("({} is {})", self.expr(value), self.model.show_type(*ty))
            }
            ExprKind::Ordinal(value) => format!("ordinal({})", self.expr(value)),
            ExprKind::ElementAt(sort, value) => {
                format!("{}#({})", self.model.sorts[*sort].name, self.expr(value))
            }
            ExprKind::Entry(table, value) => {
                format!("{}[{}]", self.model.tables[*table].name, self.expr(value))
            }
            ExprKind::Len(place) => format!("len({})", self.place(place)),
            ExprKind::Exists(value) => format!("exists({})", self.expr(value)),
        }
    }

    fn block(&self, block: &[Stmt], depth: usize, out: &mut String) -> fmt::Result {
        block.iter().try_for_each(|stmt| self.stmt(stmt, depth, out))
    }

    fn stmt(&self, stmt: &Stmt, depth: usize, out: &mut String) -> fmt::Result {
        let pad = "  ".repeat(depth);
        match &stmt.kind {
            StmtKind::Assign(place, value) => {
                writeln!(out, "{pad}{} := {}", self.place(place), self.expr(value))
            }
            StmtKind::Clear(place) => writeln!(out, "{pad}clear {}", self.place(place)),
            StmtKind::Undefine(place) => writeln!(out, "{pad}undefine {}", self.place(place)),
            StmtKind::If(arms, other) => {
                for (position, (condition, block)) in arms.iter().enumerate() {
                    let word = if position == 0 { "if" } else { "elsif" };
                    writeln!(out, "{pad}{word} {}", self.expr(condition))?;
                    self.block(block, depth + 1, out)?;
                }
                if !other.is_empty() {
                    writeln!(out, "{pad}else")?;
                    self.block(other, depth + 1, out)?;
                }
                Ok(())
            }
            StmtKind::While { condition, body, limit } => {
                writeln!(out, "{pad}while {} at most {limit} times", self.expr(condition))?;
                self.block(body, depth + 1, out)
            }
            StmtKind::For { local, domain, body } => {
                writeln!(out, "{pad}for {} in {}", self.local(*local), self.domain(domain))?;
                self.block(body, depth + 1, out)
            }
            StmtKind::Bind(bindings) => {
                bindings.iter().try_for_each(|binding| writeln!(out, "{pad}{}", self.binding(binding)))
            }
            StmtKind::Choose { local, domain } => {
                writeln!(out, "{pad}choose {} in {}", self.local(*local), self.domain(domain))
            }
            StmtKind::Check { kind, condition, property } => {
                let word = match kind {
                    CheckKind::Assert => "assert",
                    CheckKind::Assume => "assume",
                    CheckKind::Cover => "cover",
                };
                let text = condition.as_ref().map_or("false".into(), |condition| self.expr(condition));
                writeln!(out, "{pad}{word} {text} {:?}", self.model.properties[*property].name)
            }
            StmtKind::Return(None) => writeln!(out, "{pad}return"),
            StmtKind::Return(Some(value)) => writeln!(out, "{pad}return {}", self.expr(value)),
            StmtKind::Call(function, arguments) => {
                writeln!(out, "{pad}{}({})", self.model.functions[*function].name, self.arguments(arguments))
            }
            StmtKind::Output(items) => {
                let items: Vec<String> = items
                    .iter()
                    .map(|item| match item {
                        OutputItem::Text(text) => format!("{text:?}"),
                        OutputItem::Value(value) => self.expr(value),
                    })
                    .collect();
                writeln!(out, "{pad}output {}", items.join(", "))
            }
            StmtKind::MultisetAdd(place, value) => {
                writeln!(out, "{pad}add {} to {}", self.expr(value), self.place(place))
            }
            StmtKind::MultisetRemove(place, slot) | StmtKind::Remove(place, slot) => {
                writeln!(out, "{pad}remove {}[{}]", self.place(place), self.expr(slot))
            }
            StmtKind::MultisetRemoveIf { place, local, condition } => {
                let local = self.local(*local);
                writeln!(out, "{pad}remove {local} from {} if {}", self.place(place), self.expr(condition))
            }
            StmtKind::Insert { place, at, value } => {
                let at = at.as_ref().map_or("end".into(), |at| self.expr(at));
                writeln!(out, "{pad}insert {} in {} at {at}", self.expr(value), self.place(place))
            }
            StmtKind::Create(place, sort) => {
                writeln!(out, "{pad}{} := new {}", self.place(place), self.model.sorts[*sort].name)
            }
            StmtKind::Delete(element) => writeln!(out, "{pad}delete {}", self.expr(element)),
        }
    }
}

impl BinaryOp {
    /// How it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
            BinaryOp::BitAnd => "bitand",
            BinaryOp::BitOr => "bitor",
            BinaryOp::BitXor => "^",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
        }
    }
}
