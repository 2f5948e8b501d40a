//! Calls: which argument goes to a parameter as a place, and which as a value.

use shoal_model::{Argument, Expr, ExprKind, FunctionId, Local, LocalKind, Place, Root, TypeId};
use shoal_syntax::{Diagnostic, Span};

use super::{Lowerer, OrReported, Reported, place::Designated, scope::Symbol};
use crate::{ast, codes};

impl Lowerer<'_> {
    /// A call in an expression: of a function.
    pub(crate) fn call_expr(&mut self, call: &ast::Call) -> OrReported<Expr> {
        let (function, arguments) = self.call(call)?;
        match self.model.functions[function].result {
            Some(ty) => Ok(Expr { kind: ExprKind::Call(function, arguments), ty, span: call.span }),
            None => {
                let declared = self.model.functions[function].span;
                let message = format!("`{}` is a procedure and has no value", call.name.node);
                let diagnostic = Diagnostic::error(codes::BAD_CALL, call.span, message)
                    .also(declared, "it is declared here")
                    .help("a function declares its result: `function f(): T`");
                self.report(diagnostic)
            }
        }
    }

    /// A call with its arguments.
    pub(crate) fn call(&mut self, call: &ast::Call) -> OrReported<(FunctionId, Vec<Argument>)> {
        let function = self.callee(&call.name)?;
        let callee = &self.model.functions[function];
        let params: Vec<Local> =
            callee.params.iter().map(|param| callee.code.locals[*param].clone()).collect();
        if params.len() != call.args.len() {
            let declared = callee.span;
            let plural = if params.len() == 1 { "argument" } else { "arguments" };
            let message =
                format!("`{}` takes {} {plural}, not {}", call.name.node, params.len(), call.args.len());
            let diagnostic =
                Diagnostic::error(codes::BAD_CALL, call.span, message).also(declared, "it is declared here");
            return self.report(diagnostic);
        }
        let arguments: Vec<OrReported<Argument>> =
            call.args.iter().zip(&params).map(|(argument, param)| self.argument(argument, param)).collect();
        let arguments = arguments.into_iter().collect::<OrReported<Vec<_>>>()?;
        if self.in_pure {
            self.pure_calls.push((function, call.span));
        }
        Ok((function, arguments))
    }

    fn callee(&mut self, name: &ast::Name) -> OrReported<FunctionId> {
        match self.scopes.find(&name.node).cloned() {
            Some((Symbol::Function(function), _)) => Ok(function),
            Some((Symbol::Broken, _)) => Err(Reported),
            Some((_, declared)) => {
                let message = format!("`{}` is not a function or procedure", name.node);
                let diagnostic = Diagnostic::error(codes::WRONG_KIND, name.span, message)
                    .also(declared, "it is declared here");
                self.report(diagnostic)
            }
            None => {
                self.unknown(name, "function or procedure", |symbol| matches!(symbol, Symbol::Function(_)))
            }
        }
    }

    fn argument(&mut self, argument: &ast::Expr, param: &Local) -> OrReported<Argument> {
        match param.kind {
            LocalKind::Reference { writable: true } => {
                self.var_argument(argument, param).map(Argument::Place)
            }
            LocalKind::Reference { writable: false } => self.const_reference(argument, param),
            _ => self.value_argument(argument, param.ty).map(Argument::Value),
        }
    }

    /// What is passed to a `var` parameter: a place of the same type that may be written.
    fn var_argument(&mut self, argument: &ast::Expr, param: &Local) -> OrReported<Place> {
        let ast::ExprKind::Designator(designator) = &argument.kind else {
            let message = format!("`{}` is a `var` parameter: it needs a variable, not a value", param.name);
            return self.error(codes::BAD_CALL, argument.span, message);
        };
        let place = self.writable_place(designator)?;
        if self.model.same_values(place.ty, param.ty) {
            return Ok(place);
        }
        let shown = |ty: TypeId| self.model.show_type(ty).to_string();
        let message =
            format!("the `var` parameter `{}` needs a variable of type `{}`", param.name, shown(param.ty));
        let diagnostic = Diagnostic::error(codes::TYPE_MISMATCH, argument.span, message)
            .at(format!("this is of type `{}`", shown(place.ty)))
            .help("a `var` parameter takes exactly its own type, ranges included");
        self.report(diagnostic)
    }

    /// CMurphi passes a designator of the very same type by reference, and converts anything else.
    fn const_reference(&mut self, argument: &ast::Expr, param: &Local) -> OrReported<Argument> {
        if let ast::ExprKind::Designator(designator) = &argument.kind
            && let Designated::Place(place) = self.designator(designator)?
        {
            if self.model.same_values(place.ty, param.ty) {
                return Ok(Argument::Place(place));
            }
            let value = Expr { ty: place.ty, span: argument.span, kind: ExprKind::Read(place) };
            self.fits(&value, param.ty, &format!("parameter `{}`", param.name))?;
            return Ok(Argument::Value(value));
        }
        self.value_argument(argument, param.ty).map(Argument::Value)
    }

    fn value_argument(&mut self, argument: &ast::Expr, ty: TypeId) -> OrReported<Expr> {
        if matches!(argument.kind, ast::ExprKind::Undefined) {
            return Ok(self.undefined_value(ty, argument.span));
        }
        let value = self.expr_or_undefined(argument)?;
        self.fits(&value, ty, "this argument")?;
        Ok(value)
    }

    /// An undefined value: what a local holds that is never assigned.
    fn undefined_value(&mut self, ty: TypeId, span: Span) -> Expr {
        let local = self.new_local("$undefined", ty, LocalKind::Variable, span);
        let place = Place { root: Root::Local(local), path: Vec::new(), ty, span };
        let scalar = self.model.kind(ty).is_scalar();
        Expr { kind: if scalar { ExprKind::Peek(place) } else { ExprKind::Read(place) }, ty, span }
    }
}
