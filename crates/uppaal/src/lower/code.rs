//! Functions and their statements.

use shoal_model::{
    Argument, Code, Domain, Expr, ExprKind, Function, FunctionEffect, FunctionId, LocalKind, Place, Root,
    Stmt, StmtKind, Type, TypeId, TypedId, effect_of,
};
use shoal_syntax::{Span, cursor::Parsed};
use shoal_template::codes;

use super::{ExprView, Lowerer, Meaning, error, types::ValueKind, unsupported, written};
use crate::ast::{self, Declaration, ExprKind as K};

/// So many rounds of a loop are more than any model needs.
const MOST_ROUNDS: u64 = 1 << 20;

impl<'n> Lowerer<'n> {
    /// A call for its value, of a function that `own` sees; `view` sees the arguments.
    pub(super) fn call_value(
        &mut self,
        name: &'n ast::Name,
        arguments: &'n [ast::Expr],
        own: &ExprView<'n>,
        view: &ExprView<'n>,
        span: Span,
    ) -> Parsed<Expr> {
        let (id, arguments) = self.call(name, arguments, own, view)?;
        let Some(ty) = self.b.model.functions[id].result else {
            return error(codes::WRONG_KIND, span, format!("`{}` has no result", name.node));
        };
        let call = Expr { kind: ExprKind::Call(id, arguments), ty, span };
        if self.prelude.is_none() {
            return match self.effects[id.index()] == FunctionEffect::Nothing {
                true => Ok(call),
                false => {
                    unsupported(&format!("a condition that changes something (by `{}`)", name.node), span)
                }
            };
        }
        // Its effects happen now, before what stands to its right.
        let local = self.b.local("$result", ty, LocalKind::Variable, span);
        let place = Place { root: Root::Local(local), path: Vec::new(), ty, span };
        self.before(Stmt { kind: StmtKind::Assign(place, call), span });
        Ok(self.b.read_local(local, span))
    }

    /// The function that is called, and what it is given.
    fn call(
        &mut self,
        name: &'n ast::Name,
        arguments: &'n [ast::Expr],
        callee: &ExprView<'n>,
        view: &ExprView<'n>,
    ) -> Parsed<(FunctionId, Vec<Argument>)> {
        let Some(Meaning::Function(function)) = callee.scope.get(&name.node) else {
            return self.unknown(&name.node, callee, name.span);
        };
        let function = *function;
        if function.parameters.len() != arguments.len() {
            let message = format!("`{}` needs {} arguments", name.node, function.parameters.len());
            return error(codes::WRONG_KIND, name.span, message);
        }
        let mut own = callee.clone();
        let (mut values, mut places, mut aliases) = (Vec::new(), Vec::new(), Vec::new());
        for (at, (parameter, argument)) in function.parameters.iter().zip(arguments).enumerate() {
            let ValueKind::Data(ty) = self.shape(&parameter.shape, &parameter.name.node, callee)? else {
                return unsupported("a parameter of this type", parameter.name.span);
            };
            let meaning = self.lent(function, parameter, ty, argument, view)?;
            if let Some(meaning) = meaning {
                own.name(format!("&{}", parameter.name.node), meaning.clone());
                aliases.push(meaning);
            } else if parameter.reference {
                let place = self.place(argument, view)?;
                if !parameter.shape.base.constant {
                    self.is_assignable(&place)?;
                }
                if self.has_clock(ty) || !self.b.model.same_values(ty, place.ty) {
                    return unsupported("passing this by reference", argument.span);
                }
                places.push((at, place, self.mark()));
            } else {
                let value = self.value(argument, view)?;
                values.push((at, self.as_type(value, ty)?, self.mark()));
            }
        }
        let given = self.in_order(values, places)?;
        let global = self.globals.get(&name.node);
        let global = matches!(global, Some(Meaning::Function(own)) if std::ptr::eq(*own, function));
        let home = if global { None } else { callee.home };
        // A variable of a family that is lent to a global function takes its process along.
        let lends = aliases.iter().any(|alias| matches!(alias, Meaning::Variable(variable) if variable.own));
        if lends && home.is_none() {
            own.members = view.members.clone();
        } else if home.is_none() {
            own.members = Vec::new();
        }
        let members = own.members.clone();
        let key = (home, name.node.clone());
        let id = match self.functions.get(&key).filter(|_| aliases.is_empty()) {
            Some(id) => *id,
            None => {
                let id = self.function(function, &own, home)?;
                if aliases.is_empty() {
                    self.functions.insert(key, id);
                }
                id
            }
        };
        let mut all: Vec<Argument> = members.into_iter().map(Argument::Value).collect();
        all.extend(given);
        Ok((id, all))
    }

    /// What takes a parameter's place in a function of its own: a variable that is passed by reference, or a constant that
    /// the function does not change.
    fn lent(
        &mut self,
        function: &'n ast::Function,
        parameter: &'n ast::Parameter,
        ty: TypeId,
        argument: &'n ast::Expr,
        view: &ExprView<'n>,
    ) -> Parsed<Option<Meaning<'n>>> {
        if let Some(constant) = self.known(argument, view) {
            let name = &parameter.name.node;
            let kept = parameter.reference || !self.b.model.kind(constant.ty).is_scalar();
            let changed = function.body.iter().any(|stmt| written::in_stmt(stmt, name));
            let fits = self.parts(ty) == constant.values.len();
            return Ok((kept && !changed && fits).then_some(Meaning::Constant(constant)));
        }
        if !parameter.reference {
            return Ok(None);
        }
        match self.named(argument, view) {
            Ok(Some(Meaning::Variable(variable))) if self.parts(ty) == self.parts(variable.ty) => {
                Ok(Some(Meaning::Variable(variable)))
            }
            // An index that is not known, or no variable of the state.
            Ok(_) | Err(_) => Ok(None),
        }
    }

    /// Arguments in their order, each as it was when it was its turn.
    fn in_order(
        &mut self,
        values: Vec<(usize, Expr, usize)>,
        places: Vec<(usize, Place, usize)>,
    ) -> Parsed<Vec<Argument>> {
        let mut given = Vec::new();
        // From the last one: what is put in moves only what comes after it.
        let (mut values, mut places) = (values, places);
        loop {
            let value_is_last = match (values.last(), places.last()) {
                (Some((value, ..)), Some((place, ..))) => value > place,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => break,
            };
            if value_is_last && let Some((_, value, mark)) = values.pop() {
                given.push(Argument::Value(self.kept(value, mark, false)?));
            } else if let Some((_, place, mark)) = places.pop() {
                given.push(Argument::Place(self.kept_place(place, mark)?));
            }
        }
        given.reverse();
        Ok(given)
    }

    /// A function as its process sees it; the members of the family come before its parameters.
    fn function(
        &mut self,
        function: &'n ast::Function,
        caller: &ExprView<'n>,
        home: Option<usize>,
    ) -> Parsed<FunctionId> {
        let name = &function.name.node;
        if self.lowering.iter().any(|own| std::ptr::eq(*own, function)) {
            return unsupported(&format!("recursion (`{name}` calls itself)"), function.name.span);
        }
        self.lowering.push(function);
        let locals = std::mem::take(&mut self.b.locals);
        let prelude = self.prelude.take();
        let made = self.function_inside(function, caller, home);
        let inner = std::mem::replace(&mut self.b.locals, locals);
        self.prelude = prelude;
        self.lowering.pop();
        let mut made = made?;
        made.code.locals = inner;
        self.effects.push(effect_of(&made.code, &self.effects));
        Ok(self.b.model.functions.push(made))
    }

    fn function_inside(
        &mut self,
        function: &'n ast::Function,
        caller: &ExprView<'n>,
        home: Option<usize>,
    ) -> Parsed<Function> {
        let span = function.name.span;
        let scope = match home {
            Some(home) => self.processes.get(home).map_or(&caller.scope, |process| &process.scope).clone(),
            None => self.globals.clone(),
        };
        let mut view = ExprView { scope, home, ..ExprView::default() };
        let mut params = Vec::new();
        for member in &caller.members {
            let local = self.b.local("$member", member.ty, LocalKind::Variable, span);
            params.push(local);
            view.members.push(self.b.read_local(local, span));
        }
        for parameter in &function.parameters {
            let name = &parameter.name.node;
            if let Some(alias) = caller.scope.get(&format!("&{name}")) {
                view.name(name.clone(), alias.clone());
                continue;
            }
            let ValueKind::Data(ty) = self.shape(&parameter.shape, name, &view)? else {
                return error(codes::WRONG_KIND, parameter.name.span, "a parameter of this type");
            };
            let kind = match parameter.reference {
                true => LocalKind::Reference { writable: !parameter.shape.base.constant },
                false => LocalKind::Variable,
            };
            let local = self.b.local(name, ty, kind, parameter.name.span);
            params.push(local);
            view.name(name.clone(), Meaning::Local(local));
        }
        let result = match &function.result.kind {
            ast::TypeKind::Void => None,
            _ => Some(self.data(&function.result, &function.name.node, &view)?),
        };
        if result.is_some_and(|ty| self.has_clock(ty)) {
            return unsupported("functions that give clocks", span);
        }
        view.result = result;
        let body = self.block(&function.body, &view)?;
        let shown = match home.and_then(|home| self.processes.get(home)) {
            Some(process) => format!("{}.{}", process.name, function.name.node),
            None => function.name.node.clone(),
        };
        Ok(Function { name: shown, params, result, code: Code { body, ..Code::default() }, span })
    }

    fn block(&mut self, stmts: &'n [ast::Stmt], view: &ExprView<'n>) -> Parsed<Vec<Stmt>> {
        let mut view = view.clone();
        let mut body = Vec::new();
        for stmt in stmts {
            self.stmt(stmt, &mut view, &mut body)?;
        }
        Ok(body)
    }

    fn inner(&mut self, stmt: &'n ast::Stmt, view: &ExprView<'n>) -> Parsed<Vec<Stmt>> {
        let mut body = Vec::new();
        self.stmt(stmt, &mut view.clone(), &mut body)?;
        Ok(body)
    }

    /// Lowers an expression in a place where what it does can come before it.
    fn with_effects<T>(
        &mut self,
        into: &mut Vec<Stmt>,
        part: impl FnOnce(&mut Self) -> Parsed<T>,
    ) -> Parsed<T> {
        let outer = self.prelude.replace(Vec::new());
        let result = part(self);
        into.extend(self.prelude.take().unwrap_or_default());
        self.prelude = outer;
        result
    }

    /// An expression that stands for what it does: an assignment or a call.
    pub(super) fn effect(
        &mut self,
        expr: &'n ast::Expr,
        view: &ExprView<'n>,
        into: &mut Vec<Stmt>,
    ) -> Parsed<()> {
        let mut stmts = Vec::new();
        let last = self.with_effects(&mut stmts, |lowerer| match &expr.kind {
            K::Assign(assign) => lowerer.assign(assign, view, expr.span).map(Some),
            K::Call(name, arguments) => {
                let (id, arguments) = lowerer.call(name, arguments, view, view)?;
                Ok(Some(Stmt { kind: StmtKind::Call(id, arguments), span: expr.span }))
            }
            K::Cond(condition, then, other) => {
                let condition = lowerer.truth(condition, view)?;
                let (mut one, mut two) = (Vec::new(), Vec::new());
                lowerer.effect(then, view, &mut one)?;
                lowerer.effect(other, view, &mut two)?;
                Ok(Some(Stmt { kind: StmtKind::If(vec![(condition, one)], two), span: expr.span }))
            }
            // Nobody wants its value, but it may fault.
            _ => {
                let value = lowerer.value(expr, view)?;
                let (ty, span) = (value.ty, expr.span);
                if lowerer.has_clock(ty) || matches!(value.kind, ExprKind::Const(_)) {
                    return Ok(None);
                }
                let local = lowerer.b.local("$dropped", ty, LocalKind::Variable, span);
                let place = Place { root: Root::Local(local), path: Vec::new(), ty, span };
                Ok(Some(lowerer.b.assign(place, value, span)))
            }
        })?;
        into.extend(stmts);
        into.extend(last);
        Ok(())
    }

    fn stmt(&mut self, stmt: &'n ast::Stmt, view: &mut ExprView<'n>, into: &mut Vec<Stmt>) -> Parsed<()> {
        match stmt {
            ast::Stmt::Block(stmts) => into.extend(self.block(stmts, view)?),
            ast::Stmt::Declare(declaration) => self.local_declaration(declaration, view, into)?,
            ast::Stmt::Expr(expr) => self.effect(expr, view, into)?,
            ast::Stmt::If(condition, then, other) => {
                let span = condition.span;
                let condition = self.with_effects(into, |lowerer| lowerer.truth(condition, view))?;
                let then = self.inner(then, view)?;
                let other = match other {
                    Some(other) => self.inner(other, view)?,
                    None => Vec::new(),
                };
                into.push(Stmt { kind: StmtKind::If(vec![(condition, then)], other), span });
            }
            ast::Stmt::While(condition, body) => self.repeat(condition, body, &[], view, into)?,
            ast::Stmt::DoWhile(body, condition) => {
                into.extend(self.inner(body, view)?);
                self.repeat(condition, body, &[], view, into)?;
            }
            ast::Stmt::For(parts, body) => {
                parts.0.iter().try_for_each(|first| self.effect(first, view, into))?;
                self.repeat(&parts.1, body, &parts.2, view, into)?;
            }
            ast::Stmt::Each(name, ty, body) => {
                let span = name.span;
                let ty = self.data(ty, &name.node, view)?;
                let local = self.b.local(&name.node, ty, LocalKind::Bound, span);
                let body = self.inner(body, &view.with(&name.node, Meaning::Local(local)))?;
                into.push(Stmt { kind: StmtKind::For { local, domain: Domain::Type(ty), body }, span });
            }
            ast::Stmt::Return(value, span) => {
                let value = match (value, view.result) {
                    (Some(value), Some(ty)) => {
                        let value = self.with_effects(into, |lowerer| lowerer.value(value, view))?;
                        Some(self.as_type(value, ty)?)
                    }
                    (None, None) => None,
                    (Some(value), None) => {
                        return error(codes::WRONG_KIND, value.span, "this function has no result");
                    }
                    (None, Some(_)) => {
                        return error(codes::WRONG_KIND, *span, "this function needs a result");
                    }
                };
                into.push(Stmt { kind: StmtKind::Return(value), span: *span });
            }
        }
        Ok(())
    }

    fn repeat(
        &mut self,
        condition: &'n ast::Expr,
        body: &'n ast::Stmt,
        step: &'n [ast::Expr],
        view: &ExprView<'n>,
        into: &mut Vec<Stmt>,
    ) -> Parsed<()> {
        let span = condition.span;
        let mut does = Vec::new();
        let mut condition = self.with_effects(&mut does, |lowerer| lowerer.truth(condition, view))?;
        let mut body = self.inner(body, view)?;
        step.iter().try_for_each(|step| self.effect(step, view, &mut body))?;
        if !does.is_empty() {
            // Whether to go on is found out before the first round and after each.
            let boolean = self.b.boolean;
            let local = self.b.local("$again", boolean, LocalKind::Variable, span);
            let place = Place { root: Root::Local(local), path: Vec::new(), ty: boolean, span };
            does.push(self.b.assign(place, condition, span));
            body.extend(does.iter().cloned());
            into.extend(does);
            condition = self.b.read_local(local, span);
        }
        into.push(Stmt { kind: StmtKind::While { condition, body, limit: MOST_ROUNDS }, span });
        Ok(())
    }

    fn local_declaration(
        &mut self,
        declaration: &'n Declaration,
        view: &mut ExprView<'n>,
        into: &mut Vec<Stmt>,
    ) -> Parsed<()> {
        let variable = match declaration {
            Declaration::Variable(variable) => variable,
            Declaration::Type(name, shape) => {
                let meaning = Meaning::Type(self.shape(shape, &name.node, view)?);
                view.name(name.node.clone(), meaning);
                return Ok(());
            }
            Declaration::Function(function) => {
                return unsupported("functions inside of functions", function.name.span);
            }
            Declaration::Priority(_, span) => return unsupported("priorities inside of functions", *span),
        };
        let (name, span) = (&variable.name.node, variable.name.span);
        let ValueKind::Data(ty) = self.shape(&variable.shape, name, view)? else {
            return error(codes::WRONG_KIND, span, "a variable of this type inside of a function");
        };
        if let (true, Some(start)) = (variable.shape.base.constant, &variable.start)
            && let Ok(constant) = self.constant_of(ty, start, view)
        {
            view.name(name.clone(), Meaning::Constant(constant));
            return Ok(());
        }
        let begins = !matches!(self.b.model.kind(ty), Type::Ref { .. } | Type::Clock) || self.is_numbered(ty);
        if !begins && variable.start.is_none() {
            return unsupported("a variable of this type without a value inside of a function", span);
        }
        let local = self.b.local(name, ty, LocalKind::Variable, span);
        let place = Place { root: Root::Local(local), path: Vec::new(), ty, span };
        let mut stmts = Vec::new();
        self.with_effects(into, |lowerer| {
            lowerer.start_of(place, variable.start.as_ref(), view, &mut stmts)
        })?;
        into.extend(stmts);
        view.name(name.clone(), Meaning::Local(local));
        Ok(())
    }
}
