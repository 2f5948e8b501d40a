//! Types, and values that are known before the model runs.

use std::rc::Rc;

use shoal_model::{BinaryOp, Field, Sort, SortSize, Type, TypeId};
use shoal_syntax::{
    Span,
    cursor::{Parsed, not_constant},
};
use shoal_template::codes;

use super::{ExprView, Lowerer, Meaning, error, processes::OpenArgument, unsupported};
use crate::ast::{self, Dimension, ExprKind as K, Shape, Start, TypeKind};

/// Integers that are declared without a range.
const DEFAULT_RANGE: (i64, i64) = (-32768, 32767);
/// An array with more elements than this is a mistake.
const MOST_ELEMENTS: u64 = 100_000;
/// A quantifier over more integers than this is a mistake.
const MOST_VALUES: i64 = 10_000;

/// What a type is.
#[derive(Clone, Debug)]
pub(super) enum ValueKind {
    Data(TypeId),
    Channel { urgent: bool, broadcast: bool, indices: Vec<TypeId> },
    Void,
}

/// A constant: its scalar parts, first to last.
#[derive(Clone, Debug)]
pub(super) struct Constant {
    pub(super) ty: TypeId,
    pub(super) values: Rc<Vec<i64>>,
}

impl<'n> Lowerer<'n> {
    pub(super) fn shape(&mut self, shape: &'n Shape, name: &str, view: &ExprView<'n>) -> Parsed<ValueKind> {
        let mut kind = self.type_of(&shape.base, name, view)?;
        for dimension in shape.dimensions.iter().rev() {
            let index = self.dimension(dimension, name, view)?;
            kind = match kind {
                ValueKind::Data(element) => {
                    ValueKind::Data(self.composed(Type::Array { index, element }, shape.base.span)?)
                }
                ValueKind::Channel { urgent, broadcast, mut indices } => {
                    indices.insert(0, index);
                    ValueKind::Channel { urgent, broadcast, indices }
                }
                ValueKind::Void => return error(codes::WRONG_KIND, shape.base.span, "an array of nothing"),
            };
        }
        Ok(kind)
    }

    fn dimension(&mut self, dimension: &'n Dimension, name: &str, view: &ExprView<'n>) -> Parsed<TypeId> {
        let (ty, span) = match dimension {
            Dimension::Type(ty) => (self.data(ty, name, view)?, ty.span),
            Dimension::Size(size) => match &size.kind {
                K::Name(of) if matches!(view.scope.get(of), Some(Meaning::Type(ValueKind::Data(_)))) => {
                    let Some(Meaning::Type(ValueKind::Data(ty))) = view.scope.get(of) else {
                        return self.unknown(of, view, size.span);
                    };
                    (*ty, size.span)
                }
                _ => {
                    let size_known = self.constant(size, view)?;
                    self.range(0, size_known - 1, size.span)?;
                    (self.size_declared((size.span, name.to_string()), size_known)?, size.span)
                }
            },
        };
        let fits = match self.b.model.kind(ty) {
            Type::Ref { .. } => true,
            Type::Int { .. } => self.b.model.cardinality(ty).is_some_and(|count| count <= MOST_ELEMENTS),
            _ => false,
        };
        match fits {
            true => Ok(ty),
            false => error(codes::OUT_OF_RANGE, span, "an array cannot be indexed by this"),
        }
    }

    /// A range has something in it.
    fn range(&self, lo: i64, hi: i64, span: Span) -> Parsed<()> {
        match lo <= hi {
            true => Ok(()),
            false => error(codes::OUT_OF_RANGE, span, "there is nothing in this range"),
        }
    }

    /// A type of data, without dimensions.
    pub(super) fn data(&mut self, ty: &'n ast::TypeExpr, name: &str, view: &ExprView<'n>) -> Parsed<TypeId> {
        match self.type_of(ty, name, view)? {
            ValueKind::Data(ty) => Ok(ty),
            _ => error(codes::WRONG_KIND, ty.span, "a type of data is needed here"),
        }
    }

    /// A type; a scalar type is called `name`.
    fn type_of(&mut self, ty: &'n ast::TypeExpr, name: &str, view: &ExprView<'n>) -> Parsed<ValueKind> {
        Ok(ValueKind::Data(match &ty.kind {
            TypeKind::Int(None) => {
                self.integers_declared((ty.span, name.to_string()), DEFAULT_RANGE.0, DEFAULT_RANGE.1)?
            }
            TypeKind::Int(Some(range)) => {
                let (lo, hi) = (self.constant(&range.0, view)?, self.constant(&range.1, view)?);
                self.range(lo, hi, ty.span)?;
                self.integers_declared((ty.span, name.to_string()), lo, hi)?
            }
            TypeKind::Bool => self.b.boolean,
            TypeKind::Clock => self.b.ty(Type::Clock),
            TypeKind::Channel => {
                return Ok(ValueKind::Channel {
                    urgent: ty.urgent,
                    broadcast: ty.broadcast,
                    indices: Vec::new(),
                });
            }
            TypeKind::Void => return Ok(ValueKind::Void),
            TypeKind::Scalar(size) => self.scalar(size, name, view)?,
            TypeKind::Struct(fields) => {
                let mut made = Vec::new();
                for (field, shape) in fields {
                    match self.shape(shape, &field.node, view)? {
                        ValueKind::Data(ty) => made.push(Field { name: field.node.clone(), ty }),
                        _ => return unsupported("channels in records", field.span),
                    }
                }
                self.composed(Type::Record { fields: made }, ty.span)?
            }
            TypeKind::Name(of) => match view.scope.get(of) {
                Some(Meaning::Type(ValueKind::Channel { urgent, broadcast, indices })) => {
                    return Ok(ValueKind::Channel {
                        urgent: *urgent || ty.urgent,
                        broadcast: *broadcast || ty.broadcast,
                        indices: indices.clone(),
                    });
                }
                Some(Meaning::Type(kind)) => return Ok(kind.clone()),
                _ => return self.unknown(of, view, ty.span),
            },
        }))
    }

    /// A type that is made of others.
    fn composed(&mut self, kind: Type, span: Span) -> Parsed<TypeId> {
        let made = self.b.ty(kind);
        match self.b.model.is_too_large(made) {
            true => error(codes::OUT_OF_RANGE, span, "its values have too many parts"),
            false => Ok(made),
        }
    }

    /// A scalar type is a sort.
    fn scalar(&mut self, size: &ast::Expr, name: &str, view: &ExprView<'n>) -> Parsed<TypeId> {
        let any = matches!(&size.kind, K::Name(of) if matches!(view.scope.get(of), Some(Meaning::AnyNumber)));
        let number = if any {
            SortSize::Any
        } else {
            match u32::try_from(self.constant(size, view)?) {
                Ok(number) if number > 0 => SortSize::Fixed(number),
                _ => {
                    return error(codes::OUT_OF_RANGE, size.span, "a scalar type needs at least one element");
                }
            }
        };
        let sort = Sort { name: name.to_string(), size: number, first: 0, span: size.span };
        let sort = self.b.model.sorts.push(sort);
        Ok(self.b.reference(sort, false))
    }

    /// How many scalar parts a value has.
    pub(super) fn parts(&self, ty: TypeId) -> usize {
        match self.b.model.kind(ty) {
            Type::Array { index, element } => {
                self.b.model.cardinality(*index).unwrap_or(0) as usize * self.parts(*element)
            }
            Type::Record { fields } => fields.iter().map(|field| self.parts(field.ty)).sum(),
            _ => 1,
        }
    }

    /// A constant of a type.
    pub(super) fn constant_of(&self, ty: TypeId, start: &Start, view: &ExprView<'n>) -> Parsed<Constant> {
        let mut values = Vec::new();
        self.collect(ty, start, view, &mut values)?;
        Ok(Constant { ty, values: Rc::new(values) })
    }

    fn collect(&self, ty: TypeId, start: &Start, view: &ExprView<'n>, into: &mut Vec<i64>) -> Parsed<()> {
        let kinds: Vec<TypeId> = match (self.b.model.kind(ty), start) {
            (Type::Array { .. } | Type::Record { .. }, Start::Value(value)) => {
                // A copy of another constant.
                let known = self.known(value, view).filter(|known| known.values.len() == self.parts(ty));
                return match known {
                    Some(known) => {
                        into.extend(known.values.iter());
                        Ok(())
                    }
                    None => error(codes::WRONG_KIND, value.span, "a list of values in braces is needed here"),
                };
            }
            (Type::Array { index, element }, _) => {
                vec![*element; self.b.model.cardinality(*index).unwrap_or(0) as usize]
            }
            (Type::Record { fields }, _) => fields.iter().map(|field| field.ty).collect(),
            (kind, Start::Value(value)) => {
                let number = self.constant(value, view)?;
                if matches!(kind, Type::Int { lo, hi } if !(*lo..=*hi).contains(&number)) {
                    let message = format!("{number} is outside of its range");
                    return error(codes::OUT_OF_RANGE, value.span, message);
                }
                into.push(if *kind == Type::Bool { i64::from(number != 0) } else { number });
                return Ok(());
            }
            (_, Start::List(_, span)) => {
                return error(codes::WRONG_KIND, *span, "one value is needed here, not a list");
            }
        };
        let Start::List(parts, span) = start else {
            return error(codes::INTERNAL, self.span, "a list that is none");
        };
        let parts = self.ordered(ty, parts, *span)?;
        kinds.iter().zip(parts).try_for_each(|(ty, part)| self.collect(*ty, part, view, into))
    }

    /// The values of a list in the order of the parts of a type: those of a record may be named.
    pub(super) fn ordered<'s>(
        &self,
        ty: TypeId,
        list: &'s [(Option<ast::Name>, Start)],
        span: Span,
    ) -> Parsed<Vec<&'s Start>> {
        let names: Option<Vec<&String>> = match self.b.model.kind(ty) {
            Type::Record { fields } => Some(fields.iter().map(|field| &field.name).collect()),
            _ => None,
        };
        let needed = match (&names, self.b.model.kind(ty)) {
            (Some(names), _) => names.len(),
            (None, Type::Array { index, .. }) => self.b.model.cardinality(*index).unwrap_or(0) as usize,
            (None, _) => 1,
        };
        if needed != list.len() {
            let message = format!("{needed} values are needed here, not {}", list.len());
            return error(codes::WRONG_KIND, span, message);
        }
        let mut ordered: Vec<Option<&Start>> = vec![None; needed];
        for (at, (name, start)) in list.iter().enumerate() {
            let at = match (name, &names) {
                (None, _) => Some(at),
                (Some(name), Some(names)) => names.iter().position(|own| **own == name.node),
                (Some(_), None) => None,
            };
            match at.filter(|at| ordered[*at].is_none()) {
                Some(at) => ordered[at] = Some(start),
                None => {
                    let span = name.as_ref().map_or(span, |name| name.span);
                    return error(
                        codes::UNKNOWN_NAME,
                        span,
                        "no part is called this, or it has a value already",
                    );
                }
            }
        }
        Ok(ordered.into_iter().flatten().collect())
    }

    /// The constant, or the part of one, that an expression names.
    pub(super) fn known(&self, expr: &ast::Expr, view: &ExprView<'n>) -> Option<Constant> {
        match &expr.kind {
            K::Name(name) => match view.scope.get(name) {
                Some(Meaning::Constant(constant)) => Some(constant.clone()),
                _ => None,
            },
            K::Index(of, index) => {
                let of = self.known(of, view)?;
                let index = self.constant(index, view).ok()?;
                self.element(&of, index)
            }
            K::Dot(process, name) if self.names_process(process, view) => self.known_of(process, name, view),
            K::Dot(of, field) => {
                let of = self.known(of, view)?;
                self.field(&of, &field.node)
            }
            _ => None,
        }
    }

    /// A constant of a process.
    fn known_of(&self, process: &ast::Expr, name: &ast::Name, view: &ExprView<'n>) -> Option<Constant> {
        let (line, given) = match &process.kind {
            K::Name(name) => (name, &[][..]),
            K::Call(name, arguments) => (&name.node, arguments.as_slice()),
            _ => return None,
        };
        let given: Option<Vec<OpenArgument>> =
            given.iter().map(|given| self.constant(given, view).ok().map(OpenArgument::Number)).collect();
        let given = given?;
        let process = self.processes.iter().find(|own| own.line == *line && own.arguments == given)?;
        let is_location = process.template.locations.iter().any(|location| location.name.node == name.node);
        match process.scope.get(&name.node) {
            Some(Meaning::Constant(constant)) if !is_location => Some(constant.clone()),
            _ => None,
        }
    }

    pub(super) fn element(&self, of: &Constant, index: i64) -> Option<Constant> {
        let Type::Array { index: by, element } = self.b.model.kind(of.ty) else { return None };
        let at = self.b.model.ordinal(*by, &shoal_model::Value::Int(index))? as usize;
        let size = self.parts(*element);
        let values = of.values.get(at * size..(at + 1) * size)?.to_vec();
        Some(Constant { ty: *element, values: Rc::new(values) })
    }

    pub(super) fn field(&self, of: &Constant, name: &str) -> Option<Constant> {
        let Type::Record { fields } = self.b.model.kind(of.ty) else { return None };
        let mut at = 0;
        for field in fields {
            let size = self.parts(field.ty);
            if field.name == name {
                let values = of.values.get(at..at + size)?.to_vec();
                return Some(Constant { ty: field.ty, values: Rc::new(values) });
            }
            at += size;
        }
        None
    }

    /// An integer that is known now.
    pub(super) fn constant(&self, expr: &ast::Expr, view: &ExprView<'n>) -> Parsed<i64> {
        let value = match &expr.kind {
            K::Number(number) => Some(*number),
            K::Bool(value) => Some(i64::from(*value)),
            K::Name(name) if matches!(view.scope.get(name), Some(Meaning::AnyNumber)) => {
                let message = format!("`{name}` may be any number, but here it matters which");
                return error(codes::NOT_CONSTANT, expr.span, message);
            }
            K::Name(name) if !view.scope.contains_key(name) => return self.unknown(name, view, expr.span),
            K::Name(_) | K::Index(..) | K::Dot(..) => {
                self.known(expr, view).filter(|known| known.values.len() == 1).map(|known| known.values[0])
            }
            K::Minus(of) => self.constant(of, view)?.checked_neg(),
            K::Not(of) => Some(i64::from(self.constant(of, view)? == 0)),
            K::Cond(condition, then, other) => {
                let taken = if self.constant(condition, view)? != 0 { then } else { other };
                Some(self.constant(taken, view)?)
            }
            K::Binary(op, left, right) => fold(op, self.constant(left, view)?, self.constant(right, view)?),
            _ => None,
        };
        match value {
            Some(value) => Ok(value),
            None => not_constant(expr.span),
        }
    }

    /// The integers of a type, for taking them one by one.
    pub(super) fn integers(&self, ty: TypeId, span: Span) -> Parsed<Option<std::ops::RangeInclusive<i64>>> {
        match self.b.model.kind(ty) {
            Type::Bool => Ok(Some(0..=1)),
            Type::Int { lo, hi } if hi - lo < MOST_VALUES => Ok(Some(*lo..=*hi)),
            Type::Int { .. } => error(codes::OUT_OF_RANGE, span, "there is too much in this range"),
            Type::Ref { .. } => Ok(None),
            _ => error(codes::WRONG_KIND, span, "a range of integers or a scalar type is needed here"),
        }
    }

    /// A constant that stands for one value of a quantifier or a parameter.
    pub(super) fn single(&self, ty: TypeId, value: i64) -> Meaning<'n> {
        Meaning::Constant(Constant { ty, values: Rc::new(vec![value]) })
    }
}

/// The value of an operator on numbers; truth values are 0 and 1.
fn fold(op: &str, left: i64, right: i64) -> Option<i64> {
    Some(match op {
        "&&" => i64::from(left != 0 && right != 0),
        "||" => i64::from(left != 0 || right != 0),
        "imply" => i64::from(left == 0 || right != 0),
        "==" => i64::from(left == right),
        "!=" => i64::from(left != right),
        "<?" => left.min(right),
        ">?" => left.max(right),
        "**" => left.checked_pow(u32::try_from(right).ok()?)?,
        _ => match BinaryOp::of_symbol(op)?.apply(left, right).ok()? {
            shoal_model::Value::Bool(truth) => i64::from(truth),
            value => value.as_int()?,
        },
    })
}
