//! Statements.

use shoal_model::{
    Argument, Binding, CheckKind, Domain, Expr, ExprKind, LocalId, LocalKind, OutputItem, Place, Property,
    PropertyId, PropertyKind, Quantifier, Root, Stmt, StmtKind, Type, TypeId, Value,
};
use shoal_syntax::{Diagnostic, Span};

use super::{Lowerer, OrReported, Reported, fold, place::Designated, scope::Symbol};
use crate::{ast, codes};

impl Lowerer<'_> {
    /// The declarations and statements of a rule, start state or procedure.
    pub(crate) fn body(&mut self, body: &ast::Body) -> Vec<Stmt> {
        self.scopes.enter();
        self.local_decls(&body.decls);
        let block = self.block(&body.stmts);
        self.scopes.leave();
        block
    }

    pub(crate) fn block(&mut self, stmts: &[ast::Stmt]) -> Vec<Stmt> {
        let mut block = Vec::with_capacity(stmts.len());
        for stmt in stmts {
            // What is wrong has been reported; the next statement may be wrong too.
            let _ = self.stmt(stmt, &mut block);
        }
        block
    }

    /// Adds what a statement does to a block.
    fn stmt(&mut self, stmt: &ast::Stmt, block: &mut Vec<Stmt>) -> OrReported<()> {
        let span = stmt.span;
        let kind = match &stmt.kind {
            ast::StmtKind::Assign { target, value } => self.assign(target, value)?,
            ast::StmtKind::If { arms, otherwise } => self.if_stmt(arms, otherwise.as_deref())?,
            ast::StmtKind::Switch { subject, cases, otherwise } => {
                return self.switch(subject, cases, otherwise.as_deref(), span, block);
            }
            ast::StmtKind::For { quantifiers, body } => {
                block.push(self.for_stmt(quantifiers, body, span)?);
                return Ok(());
            }
            ast::StmtKind::While { condition, body } => {
                let condition = self.condition(condition);
                let body = self.block(body);
                StmtKind::While { condition: condition?, body, limit: self.options.while_limit }
            }
            ast::StmtKind::Alias { aliases, body } => return self.alias_stmt(aliases, body, span, block),
            ast::StmtKind::Clear(designator) => self.clear(designator)?,
            ast::StmtKind::Undefine(designator) => StmtKind::Undefine(self.writable_place(designator)?),
            ast::StmtKind::PutText(text) => StmtKind::Output(vec![OutputItem::Text(text.node.clone())]),
            ast::StmtKind::PutExpr(value) => {
                StmtKind::Output(vec![OutputItem::Value(self.expr_or_undefined(value)?)])
            }
            ast::StmtKind::Error(text) => {
                let property = self.new_property(text.node.clone(), PropertyKind::Assertion, span);
                StmtKind::Check { kind: CheckKind::Assert, condition: None, property }
            }
            ast::StmtKind::Property(property) => self.check(property)?,
            ast::StmtKind::Return(value) => self.return_stmt(value.as_ref(), span)?,
            ast::StmtKind::Call(call) => {
                let (function, arguments) = self.call(call)?;
                StmtKind::Call(function, arguments)
            }
            ast::StmtKind::MultisetAdd { element, multiset } => {
                let (place, ty) = self.multiset(multiset, true)?;
                let value =
                    if self.is_cmurphi() { self.expr_or_undefined(element) } else { self.expr(element) }?;
                self.fits(&value, ty, "the new element")?;
                StmtKind::MultisetAdd(place, value)
            }
            ast::StmtKind::MultisetRemove { index, multiset } => {
                let (place, _) = self.multiset(multiset, true)?;
                let slot = self.slot(index, &place)?;
                StmtKind::MultisetRemove(place, slot)
            }
            ast::StmtKind::MultisetRemovePred(filter) => {
                let (place, local, condition) = self.filter(filter, true)?;
                StmtKind::MultisetRemoveIf { place, local, condition }
            }
        };
        block.push(Stmt { kind, span });
        Ok(())
    }

    /// CMurphi copies an undefined variable as it is; Rumur faults.
    fn assign(&mut self, target: &ast::Designator, value: &ast::Expr) -> OrReported<StmtKind> {
        if matches!(value.kind, ast::ExprKind::Undefined) {
            return Ok(StmtKind::Undefine(self.writable_place(target)?));
        }
        let place = self.writable_place(target);
        let value = if self.is_cmurphi() { self.expr_or_undefined(value) } else { self.expr(value) };
        let (place, value) = (place?, value?);
        self.fits(&value, place.ty, "the new value")?;
        Ok(StmtKind::Assign(place, value))
    }

    fn if_stmt(&mut self, arms: &[ast::IfArm], otherwise: Option<&[ast::Stmt]>) -> OrReported<StmtKind> {
        let mut lowered = Vec::with_capacity(arms.len());
        let mut result = Ok(());
        for arm in arms {
            let condition = self.condition(&arm.condition);
            let body = self.block(&arm.body);
            match condition {
                Ok(condition) => lowered.push((condition, body)),
                Err(Reported) => result = Err(Reported),
            }
        }
        let otherwise = otherwise.map_or_else(Vec::new, |block| self.block(block));
        result.map(|()| StmtKind::If(lowered, otherwise))
    }

    /// A `switch` is a ladder of comparisons. Nothing changes between them, so the subject is looked at again each
    /// time unless a call makes that costly or different.
    fn switch(
        &mut self,
        subject: &ast::Expr,
        cases: &[ast::Case],
        otherwise: Option<&[ast::Stmt]>,
        span: Span,
        block: &mut Vec<Stmt>,
    ) -> OrReported<()> {
        let subject = self.expr(subject);
        let subject = match subject {
            Ok(value) if !self.model.kind(value.ty).is_scalar() => {
                self.mismatch(&value, self.integer, "what is switched on")
            }
            Ok(value) if cases.is_empty() || has_call(&value) => Ok(self.hold(value, block)),
            other => other,
        };
        let mut arms = Vec::with_capacity(cases.len());
        let mut result = Ok(());
        for case in cases {
            let labels: OrReported<Vec<Expr>> =
                case.labels.iter().map(|label| self.label(&subject, label)).collect();
            let body = self.block(&case.body);
            match labels {
                Ok(labels) => arms.push((fold::junction(false, labels, self.boolean, case.span), body)),
                Err(Reported) => result = Err(Reported),
            }
        }
        let otherwise = otherwise.map_or_else(Vec::new, |block| self.block(block));
        result?;
        subject?;
        block.push(Stmt { kind: StmtKind::If(arms, otherwise), span });
        Ok(())
    }

    fn label(&mut self, subject: &OrReported<Expr>, label: &ast::Expr) -> OrReported<Expr> {
        let label = self.expr(label)?;
        let Ok(subject) = subject else { return Err(Reported) };
        self.fits(&label, subject.ty, "this label")?;
        let span = label.span;
        Ok(fold::equal(subject.clone(), label, self.boolean, span))
    }

    /// Keeps a value in a new local.
    fn hold(&mut self, value: Expr, block: &mut Vec<Stmt>) -> Expr {
        let (ty, span) = (value.ty, value.span);
        let local = self.new_local("$switch", ty, LocalKind::Variable, span);
        let binding = Binding { local, to: Argument::Value(value) };
        block.push(Stmt { kind: StmtKind::Bind(vec![binding]), span });
        let place = Place { root: Root::Local(local), path: Vec::new(), ty, span };
        Expr { kind: ExprKind::Read(place), ty, span }
    }

    fn for_stmt(
        &mut self,
        quantifiers: &[ast::Quantifier],
        body: &[ast::Stmt],
        span: Span,
    ) -> OrReported<Stmt> {
        self.scopes.enter();
        let bound: Vec<OrReported<(LocalId, Domain)>> =
            quantifiers.iter().map(|quantifier| self.quantifier(quantifier)).collect();
        let mut block = self.block(body);
        self.scopes.leave();
        for bound in bound.into_iter().rev() {
            let (local, domain) = bound?;
            block = vec![Stmt { kind: self.loop_over(local, domain, block), span }];
        }
        // There is at least one quantifier, so the block is the outermost loop.
        block.pop().ok_or(Reported)
    }

    /// `for i: S do if c then return K end end` looks for an element of a sort. Which one is found first must not
    /// matter, so it becomes `if exists i: S do c end then return K end`.
    fn loop_over(&mut self, local: LocalId, domain: Domain, body: Vec<Stmt>) -> StmtKind {
        let over_sort = matches!(&domain, Domain::Type(ty) if !self.model.sorts_of(*ty).is_empty());
        if over_sort && let Some((condition, found)) = as_search(&body, self.boolean) {
            let span = condition.span;
            let condition = Box::new(condition);
            let kind =
                ExprKind::Quantified { quantifier: Quantifier::Exists, local, domain, body: condition };
            return StmtKind::If(vec![(Expr { kind, ty: self.boolean, span }, found)], Vec::new());
        }
        StmtKind::For { local, domain, body }
    }

    fn alias_stmt(
        &mut self,
        aliases: &[ast::Alias],
        body: &[ast::Stmt],
        span: Span,
        block: &mut Vec<Stmt>,
    ) -> OrReported<()> {
        self.scopes.enter();
        for alias in aliases {
            let bindings = self.bind_alias(alias);
            if !bindings.is_empty() {
                block.push(Stmt { kind: StmtKind::Bind(bindings), span });
            }
        }
        let body = self.block(body);
        self.scopes.leave();
        block.extend(body);
        Ok(())
    }

    /// Binds the names of an alias in the innermost scope: to a place if it is one, otherwise to a value.
    pub(crate) fn bind_alias(&mut self, alias: &ast::Alias) -> Vec<Binding> {
        let mut bindings = Vec::new();
        for name in &alias.names {
            let symbol = match self.aliased(&alias.value) {
                Ok(Aliased::Known(symbol)) => symbol,
                Ok(Aliased::Place(place, writable)) => {
                    let kind = LocalKind::Reference { writable };
                    let local = self.new_local(&name.node, place.ty, kind, name.span);
                    self.aliases.insert(local, place.clone());
                    bindings.push(Binding { local, to: Argument::Place(place) });
                    Symbol::Local { local, writable }
                }
                Ok(Aliased::Value(value)) => {
                    let local = self.new_local(&name.node, value.ty, LocalKind::Variable, name.span);
                    bindings.push(Binding { local, to: Argument::Value(value) });
                    Symbol::Local { local, writable: false }
                }
                Err(Reported) => Symbol::Broken,
            };
            self.declare(name, symbol);
        }
        bindings
    }

    /// What an alias stands for.
    pub(crate) fn aliased(&mut self, value: &ast::Expr) -> OrReported<Aliased> {
        if let ast::ExprKind::Designator(designator) = &value.kind {
            return Ok(match self.designator(designator)? {
                Designated::Place(place) => Aliased::Place(place, self.is_writable(designator)),
                Designated::Slot(local, bag) => Aliased::Known(Symbol::Slot { local, bag }),
                Designated::Value(value) => Aliased::Known(Symbol::Constant(value)),
            });
        }
        let value = self.expr(value)?;
        Ok(match fold::constant(&value) {
            Some(_) => Aliased::Known(Symbol::Constant(value)),
            None => Aliased::Value(value),
        })
    }

    fn clear(&mut self, designator: &ast::Designator) -> OrReported<StmtKind> {
        let place = self.writable_place(designator)?;
        if self.model.type_contains(place.ty, &|part| matches!(part, Type::Ref { .. })) {
            let message =
                "`clear` makes one element of a scalarset special, so its elements are not interchangeable";
            let diagnostic = Diagnostic::warning(codes::CLEARED_SCALARSET, designator.span, message)
                .help("use `undefine`, or clear the other parts one by one");
            let _: OrReported<()> = self.report(diagnostic);
        }
        Ok(StmtKind::Clear(place))
    }

    fn check(&mut self, property: &ast::Property) -> OrReported<StmtKind> {
        let (kind, of) = match property.kind {
            ast::PropertyKind::Assert | ast::PropertyKind::Invariant => {
                (CheckKind::Assert, PropertyKind::Assertion)
            }
            ast::PropertyKind::Assume => (CheckKind::Assume, PropertyKind::Assume(None)),
            ast::PropertyKind::Cover => (CheckKind::Cover, PropertyKind::Cover(None)),
            ast::PropertyKind::Liveness => {
                let message = "`liveness` is a property of the whole model, not a statement";
                return self.error(codes::MISPLACED_PROPERTY, property.span, message);
            }
        };
        let condition = self.condition(&property.condition)?;
        let name = self.property_name(property);
        let property = self.new_property(name, of, property.span);
        Ok(StmtKind::Check { kind, condition: Some(condition), property })
    }

    /// The name of a property: what the source calls it, or its own text.
    pub(crate) fn property_name(&self, property: &ast::Property) -> String {
        match &property.name {
            Some(name) => name.node.clone(),
            None => self.text_as_name(property.condition.span),
        }
    }

    pub(crate) fn new_property(&mut self, name: String, kind: PropertyKind, span: Span) -> PropertyId {
        self.model.properties.push(Property { name, kind, span })
    }

    fn return_stmt(&mut self, value: Option<&ast::Expr>, span: Span) -> OrReported<StmtKind> {
        match (value, self.result.flatten()) {
            (None, None) => Ok(StmtKind::Return(None)),
            (Some(value), Some(ty)) => {
                let value = self.expr(value)?;
                self.fits(&value, ty, "the result")?;
                Ok(StmtKind::Return(Some(value)))
            }
            (Some(value), None) => {
                let message = "only a function returns a value";
                self.error(codes::BAD_RETURN, value.span, message)
            }
            (None, Some(ty)) => {
                let message =
                    format!("the function must return a value of type `{}`", self.model.show_type(ty));
                self.error(codes::BAD_RETURN, span, message)
            }
        }
    }
}

/// What an alias stands for.
pub(crate) enum Aliased {
    /// Something that needs no binding.
    Known(Symbol),
    /// A place, and whether it may be written.
    Place(Place, bool),
    /// A value.
    Value(Expr),
}

/// Whether evaluating an expression calls a function.
fn has_call(expr: &Expr) -> bool {
    let mut found = false;
    shoal_model::walk_expr(expr, &mut |node| {
        found |= matches!(node, shoal_model::Node::Expr(Expr { kind: ExprKind::Call(..), .. }));
    });
    found
}

/// The parts of a block that only looks for something: `if c then return K end` with a constant `K` (or none) and a condition
/// without calls. There may be several such statements and arms, one in another, if they return the same.
fn as_search(block: &[Stmt], boolean: TypeId) -> Option<(Expr, Vec<Stmt>)> {
    let mut looked_for: Vec<Expr> = Vec::new();
    let mut result: Option<&Stmt> = None;
    for stmt in block {
        let StmtKind::If(arms, otherwise) = &stmt.kind else { return None };
        if !otherwise.is_empty() {
            return None;
        }
        for (condition, found) in arms {
            let (condition, found) = as_find(condition, found, boolean)?;
            if result.is_some_and(|known| returned(known) != returned(found)) {
                return None;
            }
            result = Some(found);
            looked_for.push(condition);
        }
    }
    let found = result?.clone();
    let span = looked_for.first()?.span;
    let condition = fold::junction(false, looked_for, boolean, span);
    (!has_call(&condition)).then(|| (condition, vec![found]))
}

/// The constant that is returned, if it is one.
fn returned(stmt: &Stmt) -> Option<&Value> {
    match &stmt.kind {
        StmtKind::Return(Some(value)) => fold::constant(value),
        _ => None,
    }
}

/// Under which condition an arm returns a constant, which is all it may do.
fn as_find<'a>(condition: &Expr, block: &'a [Stmt], boolean: TypeId) -> Option<(Expr, &'a Stmt)> {
    let [stmt] = block else { return None };
    match &stmt.kind {
        StmtKind::Return(None) => Some((condition.clone(), stmt)),
        StmtKind::Return(Some(value)) => {
            let scalar =
                matches!(fold::constant(value), Some(Value::Bool(_) | Value::Int(_) | Value::Enum(..)));
            scalar.then(|| (condition.clone(), stmt))
        }
        StmtKind::If(arms, otherwise) => {
            let ([(inner, block)], []) = (&arms[..], &otherwise[..]) else { return None };
            let (inner, found) = as_find(inner, block, boolean)?;
            Some((fold::junction(true, vec![condition.clone(), inner], boolean, condition.span), found))
        }
        _ => None,
    }
}
