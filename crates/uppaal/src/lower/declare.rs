//! Declarations: what they make names mean, and the initial values.

use std::rc::Rc;

use shoal_model::{Domain, Expr, LocalKind, Place, Projection, Stmt, StmtKind, Type, TypeId, Value};
use shoal_syntax::{Span, cursor::Parsed};
use shoal_template::{Setting, codes};

use super::{
    Channel, ExprView, Lowerer, Meaning, StateVariable, error,
    types::{Constant, ValueKind},
    unsupported,
};
use crate::ast::{self, Declaration, Start};

impl<'n> Lowerer<'n> {
    /// Declares something global (without prefix) or of a process.
    pub(super) fn declare(
        &mut self,
        prefix: &str,
        declaration: &'n Declaration,
        view: &mut ExprView<'n>,
    ) -> Parsed<()> {
        let (name, meaning) = match declaration {
            Declaration::Type(name, shape) => {
                (name, Meaning::Type(self.shape(shape, &format!("{prefix}{}", name.node), view)?))
            }
            Declaration::Function(function) => (&function.name, Meaning::Function(function)),
            Declaration::Priority(levels, span) if prefix.is_empty() => {
                return self.channel_priorities(levels, view, *span);
            }
            Declaration::Priority(_, span) => {
                return unsupported("priorities of the channels of a process", *span);
            }
            Declaration::Variable(variable) => {
                (&variable.name, self.declare_variable(prefix, variable, view)?)
            }
        };
        view.name(name.node.clone(), meaning);
        Ok(())
    }

    fn declare_variable(
        &mut self,
        prefix: &str,
        variable: &'n ast::Variable,
        view: &ExprView<'n>,
    ) -> Parsed<Meaning<'n>> {
        let (name, span) = (&variable.name.node, variable.name.span);
        let ty = match self.shape(&variable.shape, name, view)? {
            ValueKind::Data(ty) => ty,
            ValueKind::Channel { urgent, broadcast, indices } => {
                if !view.members.is_empty() {
                    return unsupported("channels of each process of a scalar type", span);
                }
                self.channels += 1;
                let number = self.channels - 1;
                return Ok(Meaning::Channel(Channel {
                    number,
                    given: Vec::new(),
                    indices,
                    urgent,
                    broadcast,
                }));
            }
            ValueKind::Void => return error(codes::WRONG_KIND, span, "a variable of no type"),
        };
        if variable.shape.base.constant {
            return self.declare_constant(prefix, ty, variable, view);
        }
        let made = self.make_variable(&format!("{prefix}{name}"), ty, view, span);
        let start = variable.start.as_ref();
        self.start_own(&made, view, |lowerer, place, own, into| lowerer.start_of(place, start, own, into))?;
        Ok(Meaning::Variable(made))
    }

    /// A variable; in a family, one for each member.
    fn make_variable(&mut self, name: &str, ty: TypeId, view: &ExprView<'n>, span: Span) -> StateVariable {
        let whole = view.members.iter().rev().fold(ty, |element, member| {
            let index = member.ty;
            self.b.ty(Type::Array { index, element })
        });
        let var = self.b.var(name, whole, span);
        StateVariable { var, own: !view.members.is_empty(), path: Vec::new(), ty }
    }

    /// A variable that begins as a copy of a constant.
    pub(super) fn declare_copy(
        &mut self,
        name: &str,
        constant: &Constant,
        view: &ExprView<'n>,
        span: Span,
    ) -> Parsed<StateVariable> {
        let made = self.make_variable(name, constant.ty, view, span);
        self.start_own(&made, view, |lowerer, place, _, into| lowerer.fill(place, Some(constant), into))?;
        Ok(made)
    }

    fn declare_constant(
        &mut self,
        prefix: &str,
        ty: TypeId,
        variable: &'n ast::Variable,
        view: &ExprView<'n>,
    ) -> Parsed<Meaning<'n>> {
        let name = &variable.name.node;
        let set = self.options.set.iter().rev().find(|(set, _)| prefix.is_empty() && set == name);
        match (set, &variable.start) {
            (Some((_, Setting::Any)), _) => Ok(Meaning::AnyNumber),
            (Some((_, Setting::Number(value))), _) if self.b.model.kind(ty).is_scalar() => {
                Ok(self.single(ty, *value))
            }
            (Some(_), _) => error(codes::BAD_SET, variable.name.span, format!("`{name}` is no number")),
            (None, Some(start)) => Ok(Meaning::Constant(self.constant_of(ty, start, view)?)),
            (None, None) => error(codes::NOT_CONSTANT, variable.name.span, "a constant needs a value"),
        }
    }

    /// Initial values of a variable for every process of its family.
    fn start_own(
        &mut self,
        variable: &StateVariable,
        view: &ExprView<'n>,
        fill: impl FnOnce(&mut Self, Place, &ExprView<'n>, &mut Vec<Stmt>) -> Parsed<()>,
    ) -> Parsed<()> {
        let span = self.b.model.vars[variable.var].span;
        let family: Vec<TypeId> = view.members.iter().map(|member| member.ty).collect();
        let mut failed = Ok(());
        let stmts = self.for_each_member(&family, span, |lowerer, members| {
            let own = ExprView { members: members.to_vec(), ..view.clone() };
            let place = lowerer.variable_place(variable, &own, span);
            let mut body = Vec::new();
            failed = fill(lowerer, place, &own, &mut body);
            body
        });
        self.start.extend(stmts);
        failed
    }

    /// Statements for each member of a family.
    pub(super) fn for_each_member(
        &mut self,
        family: &[TypeId],
        span: Span,
        body: impl FnOnce(&mut Self, &[Expr]) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let mut loops = Vec::new();
        let mut members = Vec::new();
        for ty in family {
            let local = self.b.local("$member", *ty, LocalKind::Bound, span);
            loops.push((local, *ty));
            members.push(self.b.read_local(local, span));
        }
        let body = body(self, &members);
        loops.into_iter().rev().fold(body, |body, (local, ty)| {
            vec![Stmt { kind: StmtKind::For { local, domain: Domain::Type(ty), body }, span }]
        })
    }

    /// The initial value of a place. What is not said is 0, or the least value if 0 is outside of the range.
    pub(super) fn start_of(
        &mut self,
        place: Place,
        start: Option<&'n Start>,
        view: &ExprView<'n>,
        into: &mut Vec<Stmt>,
    ) -> Parsed<()> {
        let span = place.span;
        match (self.b.model.kind(place.ty), start) {
            (Type::Array { .. } | Type::Record { .. }, Some(start)) => {
                match self.constant_of(place.ty, start, view) {
                    Ok(known) => self.fill(place, Some(&known), into),
                    Err(problem) if self.prelude.is_none() => Err(problem),
                    Err(_) => self.start_of_parts(place, start, view, into),
                }
            }
            (_, None) => self.fill(place, None, into),
            (_, Some(Start::List(_, span))) => {
                error(codes::WRONG_KIND, *span, "one value is needed here, not a list")
            }
            (_, Some(Start::Value(value))) => {
                let value = self.value(value, view)?;
                let value = self.as_type(value, place.ty)?;
                self.emit(self.b.assign(place, value, span), into);
                Ok(())
            }
        }
    }

    /// The same for a place with parts whose values are known only when the model runs.
    fn start_of_parts(
        &mut self,
        place: Place,
        start: &'n Start,
        view: &ExprView<'n>,
        into: &mut Vec<Stmt>,
    ) -> Parsed<()> {
        let span = place.span;
        let list = match start {
            Start::List(list, span) => self.ordered(place.ty, list, *span)?,
            Start::Value(value) => {
                let value = self.value(value, view)?;
                let value = self.as_type(value, place.ty)?;
                self.emit(self.b.assign(place, value, span), into);
                return Ok(());
            }
        };
        let projections: Vec<(Projection, TypeId)> = match self.b.model.kind(place.ty).clone() {
            Type::Array { index, .. } if matches!(self.b.model.kind(index), Type::Ref { .. }) => {
                return unsupported("values for the entries of an array over a scalar type", span);
            }
            Type::Array { index, element } => {
                let entry = |value| (Projection::Index(self.b.constant(value, index, span)), element);
                self.b.model.values(index).map(entry).collect()
            }
            Type::Record { fields } => {
                let part =
                    |(at, field): (usize, &shoal_model::Field)| (Projection::Field(at as u32), field.ty);
                fields.iter().enumerate().map(part).collect()
            }
            _ => return error(codes::INTERNAL, span, "parts of what has none"),
        };
        for ((projection, ty), start) in projections.into_iter().zip(list) {
            let mut part = place.clone();
            part.path.push(projection);
            part.ty = ty;
            self.start_of(part, Some(start), view, into)?;
        }
        Ok(())
    }

    /// Gives all parts of a place the values that are known, or else what they begin with.
    pub(super) fn fill(
        &mut self,
        place: Place,
        known: Option<&Constant>,
        into: &mut Vec<Stmt>,
    ) -> Parsed<()> {
        let span = place.span;
        let number = known.and_then(|known| known.values.first().copied());
        let value = match self.b.model.kind(place.ty).clone() {
            Type::Clock => return Ok(()),
            Type::Array { index, .. } if matches!(self.b.model.kind(index), Type::Ref { .. }) => {
                let local = self.b.local("$index", index, LocalKind::Bound, span);
                let part = self.b.index(place, self.b.read_local(local, span), span);
                let known = known.map(|known| self.same_entries(known, part.ty, span)).transpose()?;
                let mut body = Vec::new();
                self.fill(part, known.as_ref(), &mut body)?;
                into.push(Stmt { kind: StmtKind::For { local, domain: Domain::Type(index), body }, span });
                return Ok(());
            }
            Type::Array { index, .. } => {
                let values: Vec<Value> = self.b.model.values(index).collect();
                for value in values {
                    let known =
                        value.as_int().zip(known).and_then(|(number, known)| self.element(known, number));
                    let part = self.b.index(place.clone(), self.b.constant(value, index, span), span);
                    self.fill(part, known.as_ref(), into)?;
                }
                return Ok(());
            }
            Type::Record { fields } => {
                for (at, field) in fields.iter().enumerate() {
                    let known = known.and_then(|known| self.field(known, &field.name));
                    let mut part = place.clone();
                    part.path.push(Projection::Field(at as u32));
                    part.ty = field.ty;
                    self.fill(part, known.as_ref(), into)?;
                }
                return Ok(());
            }
            Type::Ref { .. } if self.is_numbered(place.ty) => {
                match self.first_number(place.ty, number, span) {
                    Some(first) => first?,
                    None => return error(codes::INTERNAL, span, "elements without numbers"),
                }
            }
            Type::Ref { .. } if number.is_some() => {
                return unsupported("an element of a scalar type by its number", span);
            }
            Type::Ref { sort, .. } => self.first_element(sort),
            Type::Bool => self.b.truth(number.unwrap_or(0) != 0, span),
            Type::Int { lo, hi } => {
                let least = if (lo..=hi).contains(&0) { 0 } else { lo };
                self.b.int(number.unwrap_or(least), span)
            }
            _ => return error(codes::WRONG_KIND, span, "this type has no initial value"),
        };
        into.push(self.b.assign(place, value, span));
        Ok(())
    }

    /// The one value that all entries of an array over a scalar type have: its elements have no order.
    fn same_entries(&self, known: &Constant, element: TypeId, span: Span) -> Parsed<Constant> {
        let mut entries = known.values.chunks(self.parts(element).max(1));
        match entries.next() {
            Some(first) if entries.all(|entry| entry == first) => {
                Ok(Constant { ty: element, values: Rc::new(first.to_vec()) })
            }
            _ => unsupported("different values for the entries of an array over a scalar type", span),
        }
    }
}
