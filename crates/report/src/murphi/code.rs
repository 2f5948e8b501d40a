//! Expressions and places.

use std::collections::BTreeSet;

use shoal_model::{
    Argument, Domain, Expr, ExprKind, FunctionId, IndexVec, Local, LocalId, Model, Place, Projection,
    Quantifier, Root, Type, TypeId, TypedId, UnaryOp, Value,
};

use super::{
    OrCannotSay, Writer,
    survey::{constant, is_empty, is_of_pointers, numbers},
};
use crate::CannotSay;

/// More values than this are not written out one by one.
const MOST_COUNTED: i64 = 512;

/// A piece of code, or a condition, while it is written.
pub(crate) struct MurphiScope<'w, 'm> {
    pub(crate) w: &'w mut Writer<'m>,
    pub(crate) locals: &'m IndexVec<LocalId, Local>,
    /// What each local is called, or what stands for it.
    pub(crate) texts: Vec<Option<String>>,
    /// Names that can be seen.
    pub(crate) active: Vec<String>,
    /// Declarations of local variables.
    pub(crate) declared: Vec<String>,
    /// The parameters that choices are; nothing where there can be none.
    pub(crate) choices: Option<Vec<String>>,
    /// The names of choices.
    around: Vec<String>,
    /// All other names that were given.
    used: BTreeSet<String>,
}

impl<'w, 'm> MurphiScope<'w, 'm> {
    pub(crate) fn new(w: &'w mut Writer<'m>, locals: &'m IndexVec<LocalId, Local>) -> Self {
        let texts = vec![None; locals.len()];
        let (active, declared, used) = (Vec::new(), Vec::new(), BTreeSet::new());
        MurphiScope { w, locals, texts, active, declared, choices: None, around: Vec::new(), used }
    }

    pub(crate) fn model(&self) -> &'m Model {
        self.w.model
    }

    /// Gives a local a name that nothing else has which can be seen.
    pub(crate) fn name(&mut self, local: LocalId) -> String {
        let wanted = &self.locals[local].name;
        let seen: Vec<String> = self.active.iter().chain(&self.around).cloned().collect();
        let name = self.w.names.taken.give_local(wanted, &seen);
        self.active.push(name.clone());
        self.used.insert(name.clone());
        self.texts[local.index()] = Some(name.clone());
        name
    }

    /// Gives a choice a name that nothing else has, as its parameter is around the whole rule.
    pub(crate) fn name_choice(&mut self, local: LocalId) -> String {
        let others: Vec<String> = self.used.iter().chain(&self.around).cloned().collect();
        let name = self.w.names.taken.give_local(&self.locals[local].name, &others);
        self.around.push(name.clone());
        self.texts[local.index()] = Some(name.clone());
        name
    }

    /// Forgets the last names that were given.
    pub(crate) fn forget(&mut self, to: usize) {
        self.active.truncate(to);
    }

    pub(crate) fn local(&self, local: LocalId) -> OrCannotSay<String> {
        let text = self.texts.get(local.index()).cloned().flatten();
        text.ok_or_else(|| {
            CannotSay::new(format!("the local {}, which nothing binds", self.locals[local].name))
        })
    }

    pub(crate) fn place(&mut self, place: &Place) -> OrCannotSay<String> {
        let (mut text, mut ty) = match place.root {
            Root::Var(var) => (self.w.names.vars[var].clone(), self.model().vars[var].ty),
            Root::Local(local) => (self.local(local)?, self.locals[local].ty),
        };
        for step in &place.path {
            let kind = self.model().kind(ty);
            match (step, kind) {
                (Projection::Field(position), Type::Record { fields }) => {
                    text += &format!(".{}", self.w.names.fields[&ty][*position as usize]);
                    ty = fields[*position as usize].ty;
                }
                (Projection::Index(at), Type::Array { element, .. })
                | (Projection::Slot(at), Type::Multiset { element, .. }) => {
                    text += &format!("[{}]", self.expr(at)?);
                    ty = *element;
                }
                _ => return Err(CannotSay::new("a way into a value that is not made so")),
            }
        }
        Ok(text)
    }

    /// Whether a value is copied as it is that may be undefined.
    pub(crate) fn peeked<'e>(&self, expr: &'e Expr) -> Option<&'e Place> {
        match &expr.kind {
            ExprKind::Peek(place)
                if self.model().kind(place.ty).is_scalar()
                    && self.w.survey.undefined.may_be(self.locals, place) =>
            {
                Some(place)
            }
            _ => None,
        }
    }

    /// A value that stands where CMurphi would copy something undefined: an error, if the model reads it.
    pub(crate) fn strict(&mut self, expr: &Expr) -> OrCannotSay<String> {
        let text = self.expr(expr)?;
        Ok(match &expr.kind {
            ExprKind::Read(place)
                if self.model().kind(place.ty).is_scalar()
                    && self.w.survey.undefined.may_be(self.locals, place) =>
            {
                format!("(isundefined({text}) ? {text} : {text})")
            }
            _ => text,
        })
    }

    pub(crate) fn expr(&mut self, expr: &Expr) -> OrCannotSay<String> {
        Ok(match &expr.kind {
            ExprKind::Const(value) => self.w.value(value)?,
            ExprKind::Read(place) | ExprKind::Peek(place) => self.place(place)?,
            ExprKind::IsUndefined(place) => format!("isundefined({})", self.place(place)?),
            ExprKind::Unary(op, operand) => self.unary(*op, operand)?,
            ExprKind::Binary(op, a, b) => {
                let symbol = self.w.symbol(*op);
                format!("({} {symbol} {})", self.expr(a)?, self.expr(b)?)
            }
            ExprKind::Equal(a, b) => self.equal(a, b)?,
            ExprKind::And(operands) => self.joined(operands, " & ", "true")?,
            ExprKind::Or(operands) => self.joined(operands, " | ", "false")?,
            ExprKind::Implies(a, b) => format!("({} -> {})", self.expr(a)?, self.expr(b)?),
            ExprKind::Cond(c, a, b) => format!("({} ? {} : {})", self.expr(c)?, self.expr(a)?, self.expr(b)?),
            ExprKind::Quantified { quantifier, local, domain, body } => {
                self.quantified(*quantifier, *local, domain, body)?
            }
            ExprKind::Call(function, arguments) => self.call(*function, arguments)?,
            ExprKind::IsMember(value, ty) => self.is_member(value, *ty)?,
            ExprKind::Ordinal(value) => {
                let text = self.expr(value)?;
                self.w.ordinal(value.ty, &text)?
            }
            ExprKind::ElementAt(sort, value) => {
                let text = self.expr(value)?;
                self.w.element_at(*sort, &text)?
            }
            ExprKind::Entry(table, value) => {
                let text = self.expr(value)?;
                self.w.entry(*table, &text)
            }
            ExprKind::Len(place) => self.len(place)?,
            ExprKind::Exists(value) => match self.model().kind(value.ty) {
                Type::Ref { nullable: true, .. } => {
                    let null = self.w.value(&Value::Null)?;
                    format!("({} != {null})", self.expr(value)?)
                }
                _ => "true".into(),
            },
        })
    }

    fn is_member(&mut self, value: &Expr, ty: TypeId) -> OrCannotSay<String> {
        let text = self.expr(value)?;
        if !is_of_pointers(self.model(), value.ty) {
            return Ok(format!("ismember({text}, {})", self.w.type_text(ty)?));
        }
        let Type::Ref { sort, nullable } = self.model().kind(ty) else {
            return Err(CannotSay::new("whether a reference is one of several"));
        };
        let base = self.w.survey.base(*sort);
        let last = base + i64::from(self.w.survey.size(*sort)?);
        let inside = format!("(({base} < {text}) & ({text} <= {last}))");
        let member = if *nullable { format!("(({text} = 0) | {inside})") } else { inside };
        Ok(match self.peeked(value) {
            Some(_) => format!("(!isundefined({text}) & {member})"),
            None => member,
        })
    }

    fn unary(&mut self, op: UnaryOp, operand: &Expr) -> OrCannotSay<String> {
        Ok(match (op, &operand.kind) {
            (UnaryOp::Not, ExprKind::Equal(a, b)) if self.peeked(a).is_none() && self.peeked(b).is_none() => {
                let (left, right) = self.sides(a, b)?;
                format!("({left} != {right})")
            }
            (UnaryOp::Not, _) => format!("!({})", self.expr(operand)?),
            (UnaryOp::Neg, _) => format!("(-{})", self.expr(operand)?),
            (UnaryOp::BitNot, _) => {
                self.w.survey.not_for_cmurphi.insert("bitwise operators");
                format!("(~{})", self.expr(operand)?)
            }
        })
    }

    fn joined(&mut self, operands: &[Expr], op: &str, none: &str) -> OrCannotSay<String> {
        let texts: OrCannotSay<Vec<String>> = operands.iter().map(|operand| self.expr(operand)).collect();
        Ok(match texts? {
            texts if texts.is_empty() => none.into(),
            texts => format!("({})", texts.join(op)),
        })
    }

    /// Undefined is the same as undefined only: to Rumur a comparison with it is an error, so it is asked for first.
    fn equal(&mut self, a: &Expr, b: &Expr) -> OrCannotSay<String> {
        let (left, right) = self.sides(a, b)?;
        let same = format!("({left} = {right})");
        Ok(match (self.peeked(a).is_some(), self.peeked(b).is_some()) {
            (false, false) => same,
            (true, true) => {
                format!("(isundefined({left}) ? isundefined({right}) : (!isundefined({right}) & {same}))")
            }
            // The other side may be an error, and is looked at whatever this one is.
            (true, false) => format!("(isundefined({left}) ? ({right} != {right}) : {same})"),
            (false, true) => format!("(isundefined({right}) ? ({left} != {left}) : {same})"),
        })
    }

    /// CMurphi compares references and values of unions as they are.
    fn sides(&mut self, a: &Expr, b: &Expr) -> OrCannotSay<(String, String)> {
        let as_it_is = |ty: TypeId| matches!(self.model().kind(ty), Type::Ref { .. } | Type::Union { .. });
        if as_it_is(a.ty) || as_it_is(b.ty) {
            return Ok((self.strict(a)?, self.strict(b)?));
        }
        Ok((self.expr(a)?, self.expr(b)?))
    }

    fn quantified(
        &mut self,
        quantifier: Quantifier,
        local: LocalId,
        domain: &Domain,
        body: &Expr,
    ) -> OrCannotSay<String> {
        if let Domain::Slots(bag) = domain {
            return self.slots(quantifier, local, bag, body);
        }
        let word = match quantifier {
            Quantifier::Forall => "forall",
            Quantifier::Exists => "exists",
            Quantifier::Count => return self.count(local, domain, body),
        };
        if is_empty(domain) {
            return Ok((quantifier == Quantifier::Forall).to_string());
        }
        let asked = self.has_values(domain)?;
        let domain = self.domain(domain)?;
        let before = self.active.len();
        let name = self.name(local);
        let body = self.expr(body)?;
        self.forget(before);
        let text = format!("({word} {name}{domain} do {body} end)");
        Ok(match (asked, quantifier) {
            (None, _) => text,
            (Some(asked), Quantifier::Forall) => format!("({asked} -> {text})"),
            (Some(asked), Quantifier::Exists | Quantifier::Count) => format!("({asked} & {text})"),
        })
    }

    /// The condition under which a range has numbers, if it is not known: where it has none, its step is an error to Rumur.
    pub(crate) fn has_values(&mut self, domain: &Domain) -> OrCannotSay<Option<String>> {
        let Domain::Range { from, to, by } = domain else { return Ok(None) };
        let op = match constant(by) {
            Some(1..) => "<=",
            Some(_) => ">=",
            None => return Ok(None),
        };
        if numbers(domain).is_some() {
            return Ok(None);
        }
        Ok(Some(format!("({} {op} {})", self.expr(from)?, self.expr(to)?)))
    }

    /// `: T` or `:= a to b`.
    pub(crate) fn domain(&mut self, domain: &Domain) -> OrCannotSay<String> {
        Ok(match domain {
            Domain::Type(ty) => format!(": {}", self.w.type_text(*ty)?),
            Domain::Range { from, to, by } => {
                let (first, last) = (self.expr(from)?, self.expr(to)?);
                match numbers(domain) {
                    Some((from, to, 1)) if from <= to => format!(": {from}..{to}"),
                    // Without a step, Rumur goes down where the first is greater than the last; with one, see `has_values`.
                    _ => format!(" := {first} to {last} by {}", self.expr(by)?),
                }
            }
            Domain::Slots(_) => return Err(CannotSay::new("a loop over what is in a multiset")),
        })
    }

    /// The language counts what is in a multiset.
    fn slots(
        &mut self,
        quantifier: Quantifier,
        local: LocalId,
        bag: &Place,
        body: &Expr,
    ) -> OrCannotSay<String> {
        let bag = self.place(bag)?;
        let before = self.active.len();
        let name = self.name(local);
        let body = self.expr(body)?;
        self.forget(before);
        Ok(match quantifier {
            Quantifier::Count => format!("multisetcount({name}: {bag}, {body})"),
            Quantifier::Exists => format!("(multisetcount({name}: {bag}, {body}) > 0)"),
            Quantifier::Forall => format!("(multisetcount({name}: {bag}, !({body})) = 0)"),
        })
    }

    /// The language does not count values: each is a term of a sum.
    fn count(&mut self, local: LocalId, domain: &Domain, body: &Expr) -> OrCannotSay<String> {
        let values = self.written_out(domain)?;
        let mut terms = Vec::new();
        for value in values {
            self.texts[local.index()] = Some(value);
            terms.push(format!("({} ? 1 : 0)", self.expr(body)?));
        }
        Ok(if terms.is_empty() { "0".into() } else { format!("({})", terms.join(" + ")) })
    }

    /// All values of a domain, as text.
    pub(crate) fn written_out(&mut self, domain: &Domain) -> OrCannotSay<Vec<String>> {
        let too_many = || CannotSay::new("counting so many values");
        match (domain, numbers(domain)) {
            (Domain::Type(ty), _) => {
                let sorts = self.model().sorts_of(*ty);
                if sorts.iter().any(|sort| !self.w.survey.is_range(*sort)) {
                    return Err(CannotSay::new("counting elements of a scalarset"));
                }
                let values: Vec<Value> = self.model().values(*ty).take(MOST_COUNTED as usize + 1).collect();
                if values.len() as i64 > MOST_COUNTED {
                    return Err(too_many());
                }
                values.iter().map(|value| self.w.value(value)).collect()
            }
            (_, Some((from, to, 1))) if to.saturating_sub(from) < MOST_COUNTED => {
                (from..=to).map(|value| self.w.value(&Value::Int(value))).collect()
            }
            (_, Some(_)) => Err(too_many()),
            (_, None) => Err(CannotSay::new("counting values whose bounds depend on the state")),
        }
    }

    fn len(&mut self, place: &Place) -> OrCannotSay<String> {
        match self.model().kind(place.ty) {
            Type::Multiset { .. } => {
                let bag = self.place(place)?;
                let name = self.w.names.taken.give_local("slot", &self.active);
                Ok(format!("multisetcount({name}: {bag}, true)"))
            }
            _ => Err(CannotSay::new("sequences")),
        }
    }

    pub(crate) fn call(&mut self, function: FunctionId, arguments: &[Argument]) -> OrCannotSay<String> {
        let texts: OrCannotSay<Vec<String>> = arguments
            .iter()
            .map(|argument| match argument {
                Argument::Place(place) => self.place(place),
                Argument::Value(value) => self.strict(value),
            })
            .collect();
        Ok(format!("{}({})", self.w.names.functions[function], texts?.join(", ")))
    }

    /// Whether a value is sure to be an index of an array of this type.
    pub(crate) fn is_inside(&self, value: &Expr, index: TypeId) -> bool {
        let survey = &self.w.survey;
        let constant = super::survey::constant(value).map(|number| (number, number));
        match (constant.or(survey.numbers_of(value.ty)), survey.numbers_of(index)) {
            (Some((lo, hi)), Some((first, last))) => first <= lo && hi <= last,
            _ => self.model().same_values(value.ty, index),
        }
    }
}
