//! Types as written to types of the Model.

use shoal_model::{Field, Sort, SortSize, Type, TypeDef, TypeId, Value};
use shoal_syntax::{Diagnostic, Span};

use super::{Lowerer, OrReported, Reported, fold, is_shift, scope::Symbol};
use crate::{ast, codes};

/// More elements than this in one array, scalarset or multiset is surely a mistake.
const MOST_ELEMENTS: i64 = 1 << 24;

impl Lowerer<'_> {
    /// The type that is written here. A type is made once, however often its text is visited.
    pub(crate) fn type_expr(&mut self, ty: &ast::TypeExpr) -> OrReported<TypeId> {
        self.named_type(None, ty)
    }

    /// The type that is written here, under a name.
    pub(crate) fn named_type(&mut self, name: Option<&ast::Name>, ty: &ast::TypeExpr) -> OrReported<TypeId> {
        if let Some(known) = self.types_by_span.get(&ty.span) {
            return Ok(*known);
        }
        let id = self.make_type(name, ty)?;
        self.types_by_span.insert(ty.span, id);
        Ok(id)
    }

    fn make_type(&mut self, name: Option<&ast::Name>, ty: &ast::TypeExpr) -> OrReported<TypeId> {
        let kind = match &ty.kind {
            ast::TypeKind::Boolean => return Ok(self.boolean),
            ast::TypeKind::Named(named) => return self.type_name(named),
            ast::TypeKind::Range { low, high } => {
                let kind = self.range(low, high, ty.span)?;
                if let Some(id) = self.sized_range(name, &kind, ty.span)? {
                    return Ok(id);
                }
                return Ok(self.range_type(name, kind, low, high));
            }
            ast::TypeKind::Enum(members) => return self.enumeration(name, members, ty.span),
            ast::TypeKind::Record(fields) => self.record(fields)?,
            ast::TypeKind::Array { index, element } => {
                let (index_type, element) = (self.type_expr(index), self.type_expr(element));
                let index_type = index_type?;
                self.finite(index_type, index.span)?;
                if self.model.cardinality(index_type).is_none_or(|size| size > MOST_ELEMENTS as u64) {
                    return self.error(codes::BAD_TYPE, index.span, "the array is too large");
                }
                Type::Array { index: index_type, element: element? }
            }
            ast::TypeKind::Scalarset(size) => self.scalarset(name, size, ty.span)?,
            ast::TypeKind::Union(members) => return self.union(name, members, ty.span),
            ast::TypeKind::Multiset { capacity, element } => {
                let size = self.constant_int(capacity);
                let element_type = self.type_expr(element)?;
                let size = size?;
                if !(0..=MOST_ELEMENTS).contains(&size) {
                    return self.error(
                        codes::BAD_TYPE,
                        capacity.span,
                        format!("a multiset cannot have {size} places"),
                    );
                }
                let id =
                    self.push_type(name, Type::Multiset { capacity: size as u32, element: element_type });
                if self.taken_back_in(capacity, is_shift) {
                    self.uses.capacities.push(id);
                }
                return Ok(id);
            }
            ast::TypeKind::Real { .. } => {
                let diagnostic =
                    Diagnostic::error(codes::UNSUPPORTED, ty.span, "type `real` is not supported")
                        .help("scale the value to an integer range, such as 0..1000 for thousandths");
                return self.report(diagnostic);
            }
            ast::TypeKind::Error => return Err(Reported),
        };
        let id = self.push_type(name, kind);
        match self.model.is_too_large(id) {
            true => self.error(codes::BAD_TYPE, ty.span, "its values have too many parts"),
            false => Ok(id),
        }
    }

    pub(crate) fn push_type(&mut self, name: Option<&ast::Name>, kind: Type) -> TypeId {
        self.model.types.push(TypeDef { name: name.map(|name| name.node.clone()), kind })
    }

    fn type_name(&mut self, name: &ast::Name) -> OrReported<TypeId> {
        match self.scopes.find(&name.node).cloned() {
            Some((Symbol::Type(ty), _)) => Ok(ty),
            Some((Symbol::Broken, _)) => Err(Reported),
            Some((_, declared)) => {
                let diagnostic =
                    Diagnostic::error(codes::WRONG_KIND, name.span, format!("`{}` is not a type", name.node))
                        .also(declared, "it is declared here");
                self.report(diagnostic)
            }
            None => self.unknown(name, "type", |symbol| matches!(symbol, Symbol::Type(_))),
        }
    }

    fn range(&mut self, low: &ast::Expr, high: &ast::Expr, span: Span) -> OrReported<Type> {
        let (lo, hi) = (self.constant_int(low), self.constant_int(high));
        let (lo, hi) = (lo?, hi?);
        if lo > hi {
            return self.error(codes::BAD_TYPE, span, format!("the range {lo}..{hi} is empty"));
        }
        Ok(Type::Int { lo, hi })
    }

    /// A range whose name stands for how many values it has, where a number is set.
    fn sized_range(
        &mut self,
        name: Option<&ast::Name>,
        kind: &Type,
        span: Span,
    ) -> OrReported<Option<TypeId>> {
        let set = self.options.set.iter().rev().find(|(set, _)| name.is_some_and(|name| name.node == *set));
        let (Some((set, number)), Type::Int { lo, .. }) = (set.cloned(), kind) else { return Ok(None) };
        self.constants_set.push(set.clone());
        if !(1..=MOST_ELEMENTS).contains(&number) {
            return self.error(codes::BAD_TYPE, span, format!("a range cannot have {number} values"));
        }
        let id = self.push_type(name, Type::Int { lo: *lo, hi: lo + number - 1 });
        if self.uses.names.contains(&set) {
            self.uses.bounds.push(id);
        }
        Ok(Some(id))
    }

    /// A range. One that becomes wider with a constant that is to be any number is noted.
    fn range_type(
        &mut self,
        name: Option<&ast::Name>,
        kind: Type,
        low: &ast::Expr,
        high: &ast::Expr,
    ) -> TypeId {
        let id = self.push_type(name, kind);
        let is_number = |expr: &ast::Expr| matches!(expr.kind, ast::ExprKind::Int(_));
        let falls = self.taken_back_in(low, is_fall);
        if falls {
            self.uses.falling.push(id);
        } else if !is_number(low) {
            return id;
        }
        if self.taken_back_in(high, is_shift) && !falls {
            self.uses.bounds.push(id);
        }
        id
    }

    /// The use of a constant in an expression, if there is one and the expression is of this form.
    fn taken_back_in(&mut self, expr: &ast::Expr, is_form: fn(&ast::Expr) -> bool) -> bool {
        let uses = &mut self.uses.elsewhere;
        let mut here = (0..uses.len()).filter(|at| within(uses[*at], expr.span));
        match (here.next(), here.next()) {
            (Some(at), None) if is_form(expr) => {
                uses.remove(at);
                true
            }
            _ => false,
        }
    }

    fn enumeration(
        &mut self,
        name: Option<&ast::Name>,
        members: &[ast::Name],
        span: Span,
    ) -> OrReported<TypeId> {
        if members.is_empty() {
            return self.error(codes::BAD_TYPE, span, "an enumeration needs at least one member");
        }
        let variants = members.iter().map(|member| member.node.clone()).collect();
        let ty = self.push_type(name, Type::Enum { variants });
        for (position, member) in members.iter().enumerate() {
            let value = fold::literal(Value::Enum(ty, position as u32), ty, member.span);
            self.declare(member, Symbol::Constant(value));
        }
        Ok(ty)
    }

    fn record(&mut self, groups: &[ast::VarDecl]) -> OrReported<Type> {
        let mut fields: Vec<Field> = Vec::new();
        let mut result = Ok(());
        for group in groups {
            let ty = self.type_expr(&group.ty);
            for name in &group.names {
                if fields.iter().any(|field| field.name == name.node) {
                    let message = format!("the record has two fields `{}`", name.node);
                    result = self.error(codes::REDECLARED, name.span, message);
                }
                match ty {
                    Ok(ty) => fields.push(Field { name: name.node.clone(), ty }),
                    Err(Reported) => result = Err(Reported),
                }
            }
        }
        result.map(|()| Type::Record { fields })
    }

    fn scalarset(&mut self, name: Option<&ast::Name>, size: &ast::Expr, span: Span) -> OrReported<Type> {
        let before = self.uses.elsewhere.len();
        let mut count = self.constant_int(size)?;
        if self.taken_back(before, size) {
            self.uses.sizes.push(size.span);
        }
        // The name of a scalarset stands for its size where a number is set.
        let set = self.options.set.iter().rev().find(|(set, _)| name.is_some_and(|name| name.node == *set));
        if let Some((set, number)) = set {
            count = *number;
            self.constants_set.push(set.clone());
        }
        if !(1..=MOST_ELEMENTS).contains(&count) {
            return self.error(
                codes::BAD_TYPE,
                size.span,
                format!("a scalarset cannot have {count} elements"),
            );
        }
        let name =
            name.map_or_else(|| format!("scalarset{}", self.model.sorts.len() + 1), |name| name.node.clone());
        let size = SortSize::Fixed(count as u32);
        let sort = self.model.sorts.push(Sort { name, size, first: 1, span });
        Ok(Type::Ref { sort, nullable: false })
    }

    fn union(
        &mut self,
        name: Option<&ast::Name>,
        members: &[ast::TypeExpr],
        span: Span,
    ) -> OrReported<TypeId> {
        let mut flat: Vec<TypeId> = Vec::new();
        for member in members {
            let ty = self.type_expr(member)?;
            match self.model.kind(ty).clone() {
                Type::Union { members } => flat.extend(members),
                Type::Enum { .. } | Type::Ref { .. } | Type::Bool | Type::Int { .. } => flat.push(ty),
                _ => {
                    let message =
                        "a member of a union must be a scalarset, an enumeration, a boolean or a range";
                    return self.error(codes::BAD_TYPE, member.span, message);
                }
            }
        }
        let overlap =
            (0..flat.len()).any(|i| flat[..i].iter().any(|other| self.model.may_meet(flat[i], *other)));
        if overlap {
            return self.error(codes::BAD_TYPE, span, "two members of the union have values in common");
        }
        match flat.len() {
            0 => self.error(codes::BAD_TYPE, span, "a union needs members"),
            // A union of one type is that type.
            1 => Ok(flat[0]),
            _ => Ok(self.push_type(name, Type::Union { members: flat })),
        }
    }

    /// Reports a type that cannot be counted through.
    pub(crate) fn finite(&mut self, ty: TypeId, span: Span) -> OrReported<()> {
        match self.model.kind(ty) {
            Type::Bool | Type::Int { .. } | Type::Enum { .. } | Type::Ref { .. } | Type::Union { .. } => {
                Ok(())
            }
            _ => {
                let message = format!("`{}` is not a simple type", self.model.show_type(ty));
                let diagnostic = Diagnostic::error(codes::TYPE_MISMATCH, span, message).help(
                    "a range, an enumeration, a boolean, a scalarset or a union of them is needed here",
                );
                self.report(diagnostic)
            }
        }
    }

    /// The value of an expression that must be a constant integer.
    pub(crate) fn constant_int(&mut self, expr: &ast::Expr) -> OrReported<i64> {
        match self.constant(expr)? {
            Value::Int(value) => Ok(value),
            _ => self.error(codes::TYPE_MISMATCH, expr.span, "an integer is needed here"),
        }
    }

    /// The value of an expression that must be constant.
    pub(crate) fn constant(&mut self, expr: &ast::Expr) -> OrReported<Value> {
        let lowered = self.expr(expr)?;
        match fold::constant(&lowered) {
            Some(value) => Ok(value.clone()),
            None => {
                let diagnostic =
                    Diagnostic::error(codes::NOT_CONSTANT, expr.span, "a constant is needed here")
                        .help("its value must be known before the model runs");
                self.report(diagnostic)
            }
        }
    }
}

/// Whether an expression is the contrary of one that grows with a constant: `-N`.
fn is_fall(expr: &ast::Expr) -> bool {
    match &expr.kind {
        ast::ExprKind::Unary { op, operand } => op.node == ast::UnaryOp::Minus && is_shift(operand),
        _ => false,
    }
}

/// Whether a place is a part of another.
fn within(part: Span, whole: Span) -> bool {
    part.source == whole.source && whole.start <= part.start && part.end <= whole.end
}
