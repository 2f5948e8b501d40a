//! Where things are: processes, their control locations and numbers, variables.

use shoal_model::{BinaryOp, Expr, ExprKind as K, OrInternal, Place, Value};
use shoal_syntax::{Diagnostic, Span};

use super::{Lowerer, Me, OrReported, Reported, VarStorage, channels::ref_type};
use crate::{
    ast::{Type, VarRef},
    codes,
    flow::ElementId,
};

impl Lowerer<'_> {
    /// The entry of a process.
    pub(super) fn entry(&self, me: &Me, span: Span) -> Place {
        let place = self.var_place(self.procs[me.proc].var, span);
        match &me.entry {
            Some(entry) => self.index(place, entry.clone()),
            None => place,
        }
    }

    /// The location of a process.
    pub(super) fn at(&self, me: &Me, span: Span) -> Place {
        self.field(self.entry(me, span), 0)
    }

    /// A location of a proctype by its position.
    pub(super) fn location(&self, proc: usize, position: usize, span: Span) -> Expr {
        let ty = self.procs[proc].location_type;
        Expr { kind: K::Const(Value::Enum(ty, position as u32 + 1)), ty, span }
    }

    /// The location that no process has.
    pub(super) fn nowhere(&self, proc: usize, span: Span) -> Expr {
        let ty = self.procs[proc].location_type;
        Expr { kind: K::Const(Value::Enum(ty, 0)), ty, span }
    }

    pub(super) fn position(&self, proc: usize, element: ElementId) -> usize {
        let at = self.procs[proc].locations.iter().position(|location| *location == element);
        at.or_internal("an element at which a process can be is one of its locations")
    }

    /// Whether a process is at an element.
    pub(super) fn is_at(&self, me: &Me, element: ElementId, span: Span) -> Expr {
        self.is_at_position(me, self.position(me.proc, element), span)
    }

    /// Whether a process is at the location with a number.
    pub(super) fn is_at_position(&self, me: &Me, position: usize, span: Span) -> Expr {
        self.equal(self.read(self.at(me, span)), self.location(me.proc, position, span))
    }

    /// The number of a process.
    pub(super) fn pid(&self, me: &Me, span: Span) -> Expr {
        match &self.procs[me.proc].pids {
            None => self.read(self.field(self.entry(me, span), 1)),
            Some(pids) => match &me.entry {
                None => self.int(i64::from(pids[0]), span),
                Some(entry) => self.pid_of(pids, &self.entry_number(me.proc, entry), span),
            },
        }
    }

    /// The process number of an entry, from a table.
    fn pid_of(&self, pids: &[u32], entry: &Expr, span: Span) -> Expr {
        let step = i64::from(pids[1]) - i64::from(pids[0]);
        let even = pids.windows(2).all(|pair| i64::from(pair[1]) - i64::from(pair[0]) == step);
        if even {
            let scaled = self.binary(BinaryOp::Mul, entry.clone(), self.int(step, span));
            let scaled = if step == 1 { entry.clone() } else { scaled };
            return match pids[0] {
                0 => scaled,
                first => self.binary(BinaryOp::Add, scaled, self.int(i64::from(first), span)),
            };
        }
        let last = self.int(i64::from(pids[pids.len() - 1]), span);
        (0..pids.len() - 1).rev().fold(last, |rest, at| {
            let here = self.equal(entry.clone(), self.int(at as i64, span));
            self.cond(here, self.int(i64::from(pids[at]), span), rest)
        })
    }

    /// The place of a variable, with its type. `None` is a place that nobody reads.
    pub(super) fn place(&mut self, var: &VarRef, me: Option<&Me>) -> OrReported<(Option<Place>, Type)> {
        let program = self.program;
        let variable = &program.variables[var.variable];
        let Some((ty, length)) = ref_type(program, var) else { return self.no_such_field(var) };
        let lacks_index = variable.length.is_some() && var.index.is_none();
        if length.is_some() || lacks_index {
            return self.error(codes::BAD_TYPE, var.span, "this is an array; one of its elements is needed");
        }
        let points = matches!(variable.ty, Type::Pointer(_)) && !var.fields.is_empty();
        if var.index.is_some() && variable.length.is_none() && !points {
            let message = format!("`{}` is not an array", variable.name.node);
            return self.error(codes::BAD_TYPE, var.span, message);
        }
        let home = self.homes.get(&var.variable).copied();
        let mut place = match (home, me) {
            (Some(VarStorage::Global(id)), _) => self.var_place(id, var.span),
            (Some(VarStorage::Field(field)), Some(me)) => self.field(self.entry(me, var.span), field),
            (Some(VarStorage::Frame(field)), Some(me)) => {
                self.in_frame(me, field, var.span).ok_or(Reported)?
            }
            (Some(VarStorage::Nowhere), _) => return Ok((None, ty)),
            (Some(VarStorage::Channel), _) => {
                return self.error(codes::BAD_TYPE, var.span, "a channel cannot be used here");
            }
            _ => {
                let message = format!("`{}` belongs to no process here", variable.name.node);
                return self.error(codes::UNKNOWN_NAME, var.span, message);
            }
        };
        // Which object of an array that a pointer leads to.
        let mut inside = None;
        if let Some(index) = &var.index {
            let index = self.integer_expr(index, me)?;
            match variable.length {
                Some(_) => place = self.index(place, index),
                None => inside = Some(index),
            }
        }
        let mut of = variable.ty.clone();
        for (at, (name, index)) in var.fields.iter().enumerate() {
            if let Type::Pointer(target) = &of
                && let Some(heap) = self.heap_of(target)
            {
                place = self.cell(heap, self.read(place), inside.take())?;
                of = (**target).clone();
            }
            let Type::Record(id) = of else { return self.no_such_field(var) };
            let fields = &program.typedefs[id].fields;
            let Some(position) = fields.iter().position(|field| field.name.node == name.node) else {
                return self.no_such_field(var);
            };
            place = self.field(place, position);
            match (index, fields[position].length) {
                (Some(index), Some(_)) => {
                    let index = self.integer_expr(index, me)?;
                    place = self.index(place, index);
                }
                (None, None) => {}
                (Some(index), None)
                    if matches!(fields[position].ty, Type::Pointer(_)) && at + 1 < var.fields.len() =>
                {
                    inside = Some(self.integer_expr(index, me)?);
                }
                _ => {
                    let message = "this field is an array, or is none and has an index";
                    return self.error(codes::BAD_TYPE, name.span, message);
                }
            }
            of = fields[position].ty.clone();
        }
        Ok((Some(place), ty))
    }

    fn no_such_field<T>(&mut self, var: &VarRef) -> OrReported<T> {
        let mut whole = VarRef { fields: Vec::new(), ..var.clone() };
        for (name, index) in &var.fields {
            let known = match ref_type(self.program, &whole) {
                Some((Type::Record(id), _)) => &self.program.typedefs[id].fields,
                _ => return self.error(codes::BAD_TYPE, name.span, "this has no fields"),
            };
            if !known.iter().any(|field| field.name.node == name.node) {
                let near =
                    shoal_syntax::did_you_mean(&name.node, known.iter().map(|field| &*field.name.node));
                let message = format!("there is no field `{}`", name.node);
                let mut diagnostic = Diagnostic::error(codes::UNKNOWN_NAME, name.span, message);
                if let Some(near) = near {
                    diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
                }
                return self.report(diagnostic);
            }
            whole.fields.push((name.clone(), index.clone()));
        }
        Err(Reported)
    }
}
