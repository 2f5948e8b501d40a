//! Declarations: constants, types, variables, procedures and functions.

use shoal_model::{Code as ModelCode, Function, LocalKind, Type, TypeId, Value, Var};
use shoal_syntax::{Diagnostic, did_you_mean};

use super::{Lowerer, OrReported, Reported, fold, scope::Symbol};
use crate::{ast, codes};

impl Lowerer<'_> {
    /// A declaration at the top level.
    pub(crate) fn global_decl(&mut self, decl: &ast::Decl) {
        match decl {
            ast::Decl::Var(vars) => {
                let ty = self.type_expr(&vars.ty);
                for name in &vars.names {
                    let symbol = match ty {
                        Ok(ty) => {
                            let var = Var { name: name.node.clone(), ty, span: name.span };
                            Symbol::Var(self.model.vars.push(var))
                        }
                        Err(Reported) => Symbol::Broken,
                    };
                    self.declare(name, symbol);
                }
            }
            ast::Decl::Const(constant) => self.const_decl(constant, true),
            ast::Decl::Type(ty) => self.type_decl(ty),
        }
    }

    /// The declarations of a rule, start state or procedure; its variables are locals.
    pub(crate) fn local_decls(&mut self, decls: &[ast::Decl]) {
        for decl in decls {
            match decl {
                ast::Decl::Var(vars) => {
                    let ty = self.type_expr(&vars.ty);
                    for name in &vars.names {
                        let symbol = match ty {
                            Ok(ty) => {
                                let local = self.new_local(&name.node, ty, LocalKind::Variable, name.span);
                                Symbol::Local { local, writable: true }
                            }
                            Err(Reported) => Symbol::Broken,
                        };
                        self.declare(name, symbol);
                    }
                }
                ast::Decl::Const(constant) => self.const_decl(constant, false),
                ast::Decl::Type(ty) => self.type_decl(ty),
            }
        }
    }

    fn const_decl(&mut self, decl: &ast::ConstDecl, global: bool) {
        let before = self.uses.elsewhere.len();
        let value = self.expr(&decl.value).and_then(|value| match fold::constant(&value) {
            Some(_) => Ok(value),
            None => {
                self.error(codes::NOT_CONSTANT, decl.value.span, "the value of a constant must be constant")
            }
        });
        // A constant made of one that is to be any number is another such.
        let made = self.taken_back(before, &decl.value);
        for name in &decl.names {
            if made || (global && self.uses.names.contains(&name.node)) {
                self.uses.declared.push(name.span);
            }
            let symbol = match &value {
                Ok(value) => {
                    Symbol::Constant(if global { self.set_constant(name, value) } else { value.clone() })
                }
                Err(Reported) => Symbol::Broken,
            };
            self.declare(name, symbol);
        }
    }

    /// The value of a constant, or what `--set` says.
    fn set_constant(&mut self, name: &ast::Name, value: &shoal_model::Expr) -> shoal_model::Expr {
        let Some((_, new)) = self.options.set.iter().rev().find(|(set, _)| *set == name.node) else {
            return value.clone();
        };
        self.constants_set.push(name.node.clone());
        let new = match (fold::constant(value), *new) {
            (Some(Value::Int(_)), new) => Value::Int(new),
            (Some(Value::Bool(_)), new @ 0..=1) => Value::Bool(new == 1),
            _ => {
                let message = format!("`{}` cannot be set to {new}", name.node);
                let _: OrReported<()> = self.error(codes::BAD_SET, name.span, message);
                return value.clone();
            }
        };
        fold::literal(new, value.ty, value.span)
    }

    fn type_decl(&mut self, decl: &ast::TypeDecl) {
        let ty = self.named_type(decl.names.first(), &decl.ty);
        for name in &decl.names {
            let symbol = ty.as_ref().map_or(Symbol::Broken, |ty| Symbol::Type(*ty));
            self.declare(name, symbol);
        }
    }

    /// A procedure or function. Its name is known in its own body, so that it may call itself.
    pub(crate) fn procedure(&mut self, procedure: &ast::Procedure) {
        let types: Vec<OrReported<TypeId>> =
            procedure.params.iter().map(|param| self.type_expr(&param.ty)).collect();
        let result = procedure.result.as_ref().map(|result| self.type_expr(result)).transpose();
        let (Ok(result), true) = (result, types.iter().all(Result::is_ok)) else {
            self.declare(&procedure.name, Symbol::Broken);
            return;
        };
        let result = result.map(|ty| self.result_type(ty));

        self.begin_code();
        self.scopes.enter();
        let mut params = Vec::new();
        for (param, ty) in procedure.params.iter().zip(types) {
            let Ok(ty) = ty else { continue };
            for name in &param.names {
                let kind = match param.by_reference {
                    Some(_) => LocalKind::Reference { writable: true },
                    // CMurphi passes a constant reference: the callee sees what happens to the original.
                    None if self.is_cmurphi() => LocalKind::Reference { writable: false },
                    None => LocalKind::Variable,
                };
                let local = self.new_local(&name.node, ty, kind, name.span);
                params.push(local);
                self.declare(name, Symbol::Local { local, writable: param.by_reference.is_some() });
            }
        }
        let function = Function {
            name: procedure.name.node.clone(),
            params,
            result,
            code: ModelCode { locals: self.locals.clone(), body: Vec::new() },
            span: procedure.name.span,
        };
        let id = self.model.functions.push(function);
        self.scopes.declare(&procedure.name.node, Symbol::Function(id), procedure.name.span);

        self.result = Some(result);
        let body = self.body(&procedure.body);
        self.result = None;
        self.scopes.leave();
        self.model.functions[id].code = ModelCode { locals: std::mem::take(&mut self.locals), body };
        self.declare(&procedure.name, Symbol::Function(id));
    }

    /// Rumur does not check a result against its range.
    fn result_type(&self, ty: TypeId) -> TypeId {
        match self.model.kind(ty) {
            Type::Int { .. } if !self.is_cmurphi() => self.integer,
            _ => ty,
        }
    }

    /// Makes a name known in the innermost scope.
    pub(crate) fn declare(&mut self, name: &ast::Name, symbol: Symbol) {
        if let Some(earlier) = self.scopes.declare(&name.node, symbol, name.span) {
            let diagnostic =
                Diagnostic::error(codes::REDECLARED, name.span, format!("`{}` is declared twice", name.node))
                    .also(earlier, "the first declaration is here");
            let _: OrReported<()> = self.report(diagnostic);
        }
    }

    /// Reports a name that is not known, with the nearest one that is.
    pub(crate) fn unknown<T>(
        &mut self,
        name: &ast::Name,
        what: &str,
        wanted: impl Fn(&Symbol) -> bool,
    ) -> OrReported<T> {
        let mut diagnostic =
            Diagnostic::error(codes::UNKNOWN_NAME, name.span, format!("there is no {what} `{}`", name.node))
                .at("not declared");
        let names = self.scopes.names(wanted);
        if let Some(near) = did_you_mean(&name.node, names) {
            diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
        }
        self.report(diagnostic)
    }
}
