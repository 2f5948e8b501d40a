//! Designators: `a[i].b` to places.

use shoal_model::{Expr, ExprKind, LocalId, Place, Projection, Root, Type, TypeId, print_expr};
use shoal_syntax::{Diagnostic, Span, did_you_mean};

use super::{Lowerer, OrReported, Reported, scope::Symbol};
use crate::{ast, codes};

/// What a designator stands for.
pub(crate) enum Designated {
    /// A location.
    Place(Place),
    /// A value: a constant or an alias for one.
    Value(Expr),
    /// A position in a multiset.
    Slot(LocalId, Place),
}

impl Lowerer<'_> {
    /// What a designator stands for.
    pub(crate) fn designator(&mut self, designator: &ast::Designator) -> OrReported<Designated> {
        let base = &designator.base;
        let Some((symbol, declared)) = self.scopes.find(&base.node).cloned() else {
            return self.unknown(base, "variable or constant", |symbol| {
                !matches!(symbol, Symbol::Type(_) | Symbol::Function(_))
            });
        };
        if self.uses.declared.contains(&declared) {
            self.uses.elsewhere.push(base.span);
        }
        let place = match symbol {
            Symbol::Var(var) => self.root(Root::Var(var), self.model.vars[var].ty, base.span),
            Symbol::Local { local, .. } => self.root(Root::Local(local), self.locals[local].ty, base.span),
            Symbol::Place(place) => Place { span: base.span, ..place },
            Symbol::Constant(value) | Symbol::Value(value) if designator.path.is_empty() => {
                return Ok(Designated::Value(Expr { span: base.span, ..value }));
            }
            Symbol::Slot { local, bag } if designator.path.is_empty() => {
                return Ok(Designated::Slot(local, bag));
            }
            Symbol::Broken => return Err(Reported),
            Symbol::Constant(_) | Symbol::Value(_) | Symbol::Slot { .. } => {
                let message = format!("`{}` has no parts", base.node);
                let diagnostic = Diagnostic::error(codes::NOT_INDEXABLE, designator.span, message)
                    .also(declared, "it is declared here");
                return self.report(diagnostic);
            }
            Symbol::Type(_) | Symbol::Function(_) => {
                let kind =
                    if matches!(symbol, Symbol::Type(_)) { "a type" } else { "a function or procedure" };
                let message = format!("`{}` is {kind}, not a variable or constant", base.node);
                let diagnostic = Diagnostic::error(codes::WRONG_KIND, base.span, message)
                    .also(declared, "it is declared here");
                return self.report(diagnostic);
            }
        };
        self.select(place, &designator.path).map(Designated::Place)
    }

    fn root(&self, root: Root, ty: TypeId, span: Span) -> Place {
        Place { root, path: Vec::new(), ty, span }
    }

    fn select(&mut self, mut place: Place, path: &[ast::Selector]) -> OrReported<Place> {
        for selector in path {
            let span = place.span.to(selector.span());
            let (projection, ty) = match selector {
                ast::Selector::Field(name) => self.field(&place, name)?,
                ast::Selector::Index(index, _) => self.index(&place, index)?,
            };
            place.path.push(projection);
            place.ty = ty;
            place.span = span;
        }
        Ok(place)
    }

    fn field(&mut self, place: &Place, name: &ast::Name) -> OrReported<(Projection, TypeId)> {
        let Type::Record { fields } = self.model.kind(place.ty) else {
            let message = format!(
                "`{}` is not a record, so it has no field `{}`",
                self.text_as_name(place.span),
                name.node
            );
            return self.error(codes::NO_FIELD, name.span, message);
        };
        if let Some(position) = fields.iter().position(|field| field.name == name.node) {
            return Ok((Projection::Field(position as u32), fields[position].ty));
        }
        let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        let help = match did_you_mean(&name.node, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the fields are {}", names.join(", ")),
        };
        let message = format!("`{}` has no field `{}`", self.text_as_name(place.span), name.node);
        self.report(Diagnostic::error(codes::NO_FIELD, name.span, message).help(help))
    }

    fn index(&mut self, place: &Place, index: &ast::Expr) -> OrReported<(Projection, TypeId)> {
        match *self.model.kind(place.ty) {
            Type::Array { index: of, element } => {
                let value = self.expr(index)?;
                self.fits(&value, of, "this index")?;
                Ok((Projection::Index(value), element))
            }
            Type::Multiset { element, .. } => Ok((Projection::Slot(self.slot(index, place)?), element)),
            _ => {
                let message = format!("`{}` is not an array", self.text_as_name(place.span));
                self.error(codes::NOT_INDEXABLE, index.span, message)
            }
        }
    }

    /// A position in a multiset. It must have been chosen from that very multiset, for positions have no meaning
    /// of their own.
    pub(crate) fn slot(&mut self, index: &ast::Expr, bag: &Place) -> OrReported<Expr> {
        let chosen = match &index.kind {
            ast::ExprKind::Designator(designator) => match self.designator(designator)? {
                Designated::Slot(local, from) if self.print_place(&from) == self.print_place(bag) => {
                    Some(local)
                }
                _ => None,
            },
            _ => None,
        };
        let Some(local) = chosen else {
            let message = format!("this is not a position in `{}`", self.text_as_name(bag.span));
            let diagnostic = Diagnostic::error(codes::BAD_SLOT, index.span, message).help(
                "positions come from `choose`, `multisetcount` or `multisetremovepred` on the same multiset",
            );
            return self.report(diagnostic);
        };
        let place = self.root(Root::Local(local), self.integer, index.span);
        Ok(Expr { kind: ExprKind::Read(place), ty: self.integer, span: index.span })
    }

    /// A place without aliases at its root.
    pub(crate) fn without_alias(&self, place: &Place) -> Place {
        match place.root {
            Root::Local(local) if self.aliases.contains_key(&local) => {
                let target = &self.aliases[&local];
                let path = target.path.iter().chain(&place.path).cloned().collect();
                self.without_alias(&Place { root: target.root, path, ty: place.ty, span: place.span })
            }
            _ => place.clone(),
        }
    }

    fn print_place(&self, place: &Place) -> String {
        let place = self.without_alias(place);
        let (ty, span) = (place.ty, place.span);
        let read = Expr { kind: ExprKind::Read(place), ty, span };
        print_expr(&self.model, &self.locals, &read)
    }

    /// A location, of whatever kind; reports a value.
    pub(crate) fn place(&mut self, designator: &ast::Designator) -> OrReported<Place> {
        match self.designator(designator)? {
            Designated::Place(place) => Ok(place),
            Designated::Value(_) | Designated::Slot(..) => {
                let message = format!("`{}` is a value, not a variable", self.text_as_name(designator.span));
                self.error(codes::WRONG_KIND, designator.span, message)
            }
        }
    }

    /// A location that may be written.
    pub(crate) fn writable_place(&mut self, designator: &ast::Designator) -> OrReported<Place> {
        let base = &designator.base;
        let reason = match self.scopes.find(&base.node) {
            Some((Symbol::Local { writable: false, .. }, declared)) => {
                Some(("it is a parameter that is not `var`, an index or an alias for a value", *declared))
            }
            Some((Symbol::Constant(_) | Symbol::Value(_), declared)) => {
                Some(("it is a constant value", *declared))
            }
            Some((Symbol::Slot { .. }, declared)) => Some(("it is a position in a multiset", *declared)),
            _ => None,
        };
        if let Some((reason, declared)) = reason {
            let message = format!("`{}` cannot be changed: {reason}", base.node);
            let diagnostic = Diagnostic::error(codes::NOT_ASSIGNABLE, designator.span, message)
                .also(declared, "it is declared here");
            return self.report(diagnostic);
        }
        self.place(designator)
    }

    /// Whether a designator names something that may be written.
    pub(crate) fn is_writable(&self, designator: &ast::Designator) -> bool {
        matches!(
            self.scopes.find(&designator.base.node),
            Some((Symbol::Var(_) | Symbol::Local { writable: true, .. }, _))
        )
    }

    /// A location that is a multiset.
    pub(crate) fn multiset(
        &mut self,
        designator: &ast::Designator,
        writable: bool,
    ) -> OrReported<(Place, TypeId)> {
        let place = if writable { self.writable_place(designator) } else { self.place(designator) }?;
        match *self.model.kind(place.ty) {
            Type::Multiset { element, .. } => Ok((place, element)),
            _ => {
                let message = format!("`{}` is not a multiset", self.text_as_name(designator.span));
                self.error(codes::TYPE_MISMATCH, designator.span, message)
            }
        }
    }
}
