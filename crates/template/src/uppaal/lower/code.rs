//! Functions and their statements.

use shoal_model::{
    Argument, Code, Domain, Expr, ExprKind, Function, FunctionId, LocalKind, Place, Root, Stmt, StmtKind,
    Type,
};
use shoal_syntax::Span;

use super::{Lowerer, Meaning, View, error, types::Kind, unsupported};
use crate::{
    codes,
    cursor::Parsed,
    uppaal::ast::{self, Declaration, ExprKind as K},
};

/// So many rounds of a loop are more than any model needs.
const MOST_ROUNDS: u64 = 1 << 20;

impl<'n> Lowerer<'n> {
    /// A call for its value, of a function that `own` sees; `view` sees the arguments.
    pub(super) fn call_value(
        &mut self,
        name: &'n ast::Name,
        arguments: &'n [ast::Expr],
        own: &View<'n>,
        view: &View<'n>,
        span: Span,
    ) -> Parsed<Expr> {
        let (id, arguments) = self.call(name, arguments, own, view)?;
        let Some(ty) = self.b.model.functions[id].result else {
            return error(codes::WRONG_KIND, span, format!("`{}` has no result", name.node));
        };
        let call = Expr { kind: ExprKind::Call(id, arguments), ty, span };
        if self.prelude.is_none() {
            return Ok(call);
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
        callee: &View<'n>,
        view: &View<'n>,
    ) -> Parsed<(FunctionId, Vec<Argument>)> {
        let Some(Meaning::Function(function)) = callee.scope.get(&name.node) else {
            return self.unknown(&name.node, callee, name.span);
        };
        let function = *function;
        if function.parameters.len() != arguments.len() {
            let message = format!("`{}` needs {} arguments", name.node, function.parameters.len());
            return error(codes::WRONG_KIND, name.span, message);
        }
        // What is passed by reference takes the parameter's place in a function of its own.
        let mut own = callee.clone();
        let (mut values, mut aliases) = (Vec::new(), false);
        for (parameter, argument) in function.parameters.iter().zip(arguments) {
            let kind = self.shape(&parameter.shape, &parameter.name.node, callee)?;
            let scalar = matches!(kind, Kind::Data(ty) if self.b.model.kind(ty).is_scalar());
            if !parameter.reference && scalar {
                let value = self.value(argument, view)?;
                let value = match kind {
                    Kind::Data(ty) => self.as_type(value, ty)?,
                    Kind::Channel { .. } | Kind::Void => value,
                };
                values.push(Argument::Value(value));
                continue;
            }
            let meaning = match &argument.kind {
                K::Name(name) => view.scope.get(name).cloned(),
                _ => None,
            };
            match meaning {
                Some(meaning @ (Meaning::Variable(_) | Meaning::Constant(_))) => {
                    own.name(format!("&{}", parameter.name.node), meaning);
                    aliases = true;
                }
                _ => return unsupported("passing anything but a whole variable by reference", argument.span),
            }
        }
        let global = self.globals.get(&name.node);
        let global = matches!(global, Some(Meaning::Function(own)) if std::ptr::eq(*own, function));
        let home = if global { None } else { callee.home };
        let key = (home, name.node.clone());
        let id = match self.functions.get(&key).filter(|_| !aliases) {
            Some(id) => *id,
            None => {
                let id = self.function(function, &own, home)?;
                if !aliases {
                    self.functions.insert(key, id);
                }
                id
            }
        };
        let members = if home.is_some() { callee.members.clone() } else { Vec::new() };
        let mut all: Vec<Argument> = members.into_iter().map(Argument::Value).collect();
        all.extend(values);
        Ok((id, all))
    }

    /// A function as its process sees it; the members of the family come before its parameters.
    fn function(
        &mut self,
        function: &'n ast::Function,
        caller: &View<'n>,
        home: Option<usize>,
    ) -> Parsed<FunctionId> {
        let name = &function.name.node;
        if self.lowering.contains(name) {
            return unsupported(&format!("recursion (`{name}` calls itself)"), function.name.span);
        }
        self.lowering.push(name.clone());
        let locals = std::mem::take(&mut self.b.locals);
        let prelude = self.prelude.take();
        let made = self.function_inside(function, caller, home);
        let inner = std::mem::replace(&mut self.b.locals, locals);
        self.prelude = prelude;
        self.lowering.pop();
        let mut made = made?;
        made.code.locals = inner;
        Ok(self.b.model.functions.push(made))
    }

    fn function_inside(
        &mut self,
        function: &'n ast::Function,
        caller: &View<'n>,
        home: Option<usize>,
    ) -> Parsed<Function> {
        let span = function.name.span;
        let scope = match home {
            Some(home) => self.processes.get(home).map_or(&caller.scope, |process| &process.scope).clone(),
            None => self.globals.clone(),
        };
        let mut view = View { scope, home, ..View::default() };
        let mut params = Vec::new();
        if home.is_some() {
            for member in &caller.members {
                let local = self.b.local("$member", member.ty, LocalKind::Variable, span);
                params.push(local);
                view.members.push(self.b.read_local(local, span));
            }
        }
        for parameter in &function.parameters {
            let name = &parameter.name.node;
            if let Some(alias) = caller.scope.get(&format!("&{name}")) {
                view.name(name.clone(), alias.clone());
                continue;
            }
            let Kind::Data(ty) = self.shape(&parameter.shape, name, &view)? else {
                return error(codes::WRONG_KIND, parameter.name.span, "a parameter of this type");
            };
            let local = self.b.local(name, ty, LocalKind::Variable, parameter.name.span);
            params.push(local);
            view.name(name.clone(), Meaning::Local(local));
        }
        let result = match &function.result.kind {
            ast::TypeKind::Void => None,
            _ => Some(self.data(&function.result, &function.name.node, &view)?),
        };
        if result.is_some_and(|ty| !self.b.model.kind(ty).is_scalar()) {
            return unsupported("functions that give arrays or records", span);
        }
        view.result = result;
        let body = self.block(&function.body, &view)?;
        let shown = match home.and_then(|home| self.processes.get(home)) {
            Some(process) => format!("{}.{}", process.name, function.name.node),
            None => function.name.node.clone(),
        };
        Ok(Function { name: shown, params, result, code: Code { body, ..Code::default() }, span })
    }

    fn block(&mut self, stmts: &'n [ast::Stmt], view: &View<'n>) -> Parsed<Vec<Stmt>> {
        let mut view = view.clone();
        let mut body = Vec::new();
        for stmt in stmts {
            self.stmt(stmt, &mut view, &mut body)?;
        }
        Ok(body)
    }

    fn inner(&mut self, stmt: &'n ast::Stmt, view: &View<'n>) -> Parsed<Vec<Stmt>> {
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
        view: &View<'n>,
        into: &mut Vec<Stmt>,
    ) -> Parsed<()> {
        let mut stmts = Vec::new();
        let last = self.with_effects(&mut stmts, |lowerer| match &expr.kind {
            K::Assign(assign) => lowerer.assign(assign, view, expr.span).map(Some),
            K::Call(name, arguments) => {
                let (id, arguments) = lowerer.call(name, arguments, view, view)?;
                Ok(Some(Stmt { kind: StmtKind::Call(id, arguments), span: expr.span }))
            }
            // `true` and its like do nothing.
            _ => lowerer.value(expr, view).map(|_| None),
        })?;
        into.extend(stmts);
        into.extend(last);
        Ok(())
    }

    fn stmt(&mut self, stmt: &'n ast::Stmt, view: &mut View<'n>, into: &mut Vec<Stmt>) -> Parsed<()> {
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
        view: &View<'n>,
        into: &mut Vec<Stmt>,
    ) -> Parsed<()> {
        let span = condition.span;
        let condition = self.truth(condition, view)?;
        let mut body = self.inner(body, view)?;
        step.iter().try_for_each(|step| self.effect(step, view, &mut body))?;
        into.push(Stmt { kind: StmtKind::While { condition, body, limit: MOST_ROUNDS }, span });
        Ok(())
    }

    fn local_declaration(
        &mut self,
        declaration: &'n Declaration,
        view: &mut View<'n>,
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
        };
        let (name, span) = (&variable.name.node, variable.name.span);
        let Kind::Data(ty) = self.shape(&variable.shape, name, view)? else {
            return error(codes::WRONG_KIND, span, "a variable of this type inside of a function");
        };
        if let (true, Some(start)) = (variable.shape.base.constant, &variable.start)
            && let Ok(constant) = self.constant_of(ty, start, view)
        {
            view.name(name.clone(), Meaning::Constant(constant));
            return Ok(());
        }
        if matches!(self.b.model.kind(ty), Type::Ref { .. } | Type::Clock) && variable.start.is_none() {
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
