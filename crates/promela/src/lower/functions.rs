//! Functions: calls and what comes back from them.
//!
//! The body of a function stands once in the control flow of each proctype that has calls, whoever calls it from where. A call
//! makes an object, its *frame*, with the parameters and variables of the function, the frame of the caller, and the
//! place of the call; a process holds the frame that it is in. So a stack of calls is a list on the heap, recursion has
//! no bound of its own, and frames that nobody is in any more are collected. A call is one step and a return another;
//! others may move in between.

use shoal_model::{
    CheckKind, Expr, Field, LocalKind, Lost, Place, PropertyKind, Sort, SortId, SortSize, Stmt, StmtKind,
    Type as ModelType, TypeId, Var, VarId,
};
use shoal_syntax::Span;

use super::{Lowerer, Me, OrReported, VarStorage};
use crate::{
    ast::{self, Callee, StmtKind as S, Type, VarRef},
    codes,
    flow::{ElementId, ElementKind},
};

/// Where frames are stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frames {
    sort: SortId,
    pub(super) pointer: TypeId,
    cell: TypeId,
    var: VarId,
}

impl Frames {
    pub(super) fn var(&self) -> VarId {
        self.var
    }
}

/// The fields of a frame before the variables of functions.
const CALLER: usize = 0;
const BACK: usize = 1;

impl Lowerer<'_> {
    /// Declares the pointers to frames, if there are functions.
    pub(super) fn declare_frames(&mut self) {
        let Some(first) = self.program.functions.first() else { return };
        let span = first.name.span;
        let size = SortSize::Growing { limit: None, lost: Lost::Collected };
        let sort = self.model.sorts.push(Sort { name: "call".into(), size, first: 1, span });
        let pointer = self.add_type(None, ModelType::Ref { sort, nullable: true });
        let cell = self.add_type(None, ModelType::Ref { sort, nullable: false });
        let var = shoal_model::TypedId::from_index(0);
        self.frames = Some(Frames { sort, pointer, cell, var });
    }

    /// Declares the frames themselves, and where the variables of functions are.
    pub(super) fn declare_frame_fields(&mut self) {
        let Some(frames) = self.frames else { return };
        let most = self.procs.iter().map(|proc| proc.flow.elements.len()).max().unwrap_or(0);
        let back = self.int_type(0, most as i64);
        let mut fields = vec![
            Field { name: "caller".into(), ty: frames.pointer },
            Field { name: "back".into(), ty: back },
        ];
        for function in &self.program.functions {
            for id in &function.variables {
                let variable = &self.program.variables[*id];
                if variable.ty == Type::Chan {
                    let message = "not supported: channel variables in functions";
                    let _ = self.error::<()>(codes::UNSUPPORTED, variable.name.span, message);
                }
                self.homes.insert(*id, VarStorage::Frame(fields.len()));
                let name = format!("{}.{}", function.name.node, variable.name.node);
                let ty = self.sized(&variable.ty, variable.length);
                fields.push(Field { name, ty });
            }
        }
        let element = self.add_type(Some("call".into()), ModelType::Record { fields });
        let ty = self.add_type(None, ModelType::Array { index: frames.cell, element });
        let span = self.program.functions[0].name.span;
        let var = self.model.vars.push(Var { name: "calls".into(), ty, span });
        self.frames = Some(Frames { var, ..frames });
    }

    /// Where a process keeps the frame that it is in.
    fn frame_place(&self, me: &Me, span: Span) -> Place {
        self.field(self.entry(me, span), self.procs[me.proc].frame)
    }

    fn frame_at(&self, frames: Frames, pointer: Expr) -> Place {
        let span = pointer.span;
        self.index(self.var_place(frames.var, span), pointer)
    }

    /// The place of a variable of the function that a process is in.
    pub(super) fn in_frame(&self, me: &Me, field: usize, span: Span) -> Option<Place> {
        let frames = self.frames?;
        Some(self.field(self.frame_at(frames, self.read(self.frame_place(me, span))), field))
    }

    pub(super) fn function(&mut self, name: &ast::Name) -> OrReported<usize> {
        match self.program.functions.iter().position(|function| function.name.node == name.node) {
            Some(function) => Ok(function),
            None => {
                let message = format!("there is no function `{}`", name.node);
                self.error(codes::UNKNOWN_NAME, name.span, message)
            }
        }
    }

    /// The functions that a call may be of.
    fn callees(&self, callee: &Callee, arguments: usize) -> Vec<usize> {
        let functions = self.program.functions.iter().enumerate();
        let fits = |function: &ast::Proctype| match callee {
            Callee::Named(name) => function.name.node == name.node,
            Callee::Variable(_) => function.params.len() == arguments,
        };
        functions.filter(|(_, function)| fits(function)).map(|(at, _)| at).collect()
    }

    /// A call or a return, if the step is one: what happens, with the move of the process.
    pub(super) fn call_or_return(&mut self, me: &Me, element: ElementId) -> OrReported<Option<Vec<Stmt>>> {
        let flow = &self.procs[me.proc].flow;
        let ElementKind::Basic(kind) = flow.elements[element].kind.clone() else { return Ok(None) };
        let (span, atomic) = (flow.elements[element].span, flow.is_atomic(element));
        match &*kind {
            S::Call(..) if atomic => {
                let message = "not supported: a call inside `atomic`, but as its last statement";
                self.error(codes::UNSUPPORTED, span, message)
            }
            S::Call(_, callee, arguments) => self.call(me, element, callee, arguments, span).map(Some),
            S::Return(value) => self.give_back(me, element, value.as_ref(), span).map(Some),
            _ => Ok(None),
        }
    }

    fn call(
        &mut self,
        me: &Me,
        element: ElementId,
        callee: &Callee,
        arguments: &[ast::Expr],
        span: Span,
    ) -> OrReported<Vec<Stmt>> {
        match callee {
            Callee::Named(name) => {
                let function = self.function(name)?;
                self.enter(me, element, function, arguments, span)
            }
            Callee::Variable(var) => {
                let (place, _) = self.place(var, Some(me))?;
                let Some(place) = place else { return Err(super::Reported) };
                let mut arms = Vec::new();
                for function in self.callees(callee, arguments.len()) {
                    let is = self.equal(self.read(place.clone()), self.int(function as i64 + 1, span));
                    arms.push((is, self.enter(me, element, function, arguments, span)?));
                }
                let name = "what is called is a function with as many parameters";
                let property = self.named_property(name, PropertyKind::Assertion, span);
                let kind = StmtKind::Check { kind: CheckKind::Assert, condition: None, property };
                Ok(vec![Stmt { kind: StmtKind::If(arms, vec![Stmt { kind, span }]), span }])
            }
        }
    }

    /// Makes a frame and goes to where the function begins.
    fn enter(
        &mut self,
        me: &Me,
        element: ElementId,
        function: usize,
        arguments: &[ast::Expr],
        span: Span,
    ) -> OrReported<Vec<Stmt>> {
        let program = self.program;
        let Some(frames) = self.frames else { return Err(super::Reported) };
        let callee = &program.functions[function];
        if callee.params.len() != arguments.len() {
            let (name, wanted, given) = (&callee.name.node, callee.params.len(), arguments.len());
            let message = format!("`{name}` has {wanted} parameters, not {given}");
            return self.error(codes::WRONG_COUNT, span, message);
        }
        let local = self.new_local("$frame", frames.pointer, LocalKind::Variable, span);
        let create = StmtKind::Create(self.local_place(local, span), frames.sort);
        let mut body = vec![Stmt { kind: create, span }];
        let frame = self.frame_at(frames, self.read_local(local, span));
        body.extend(self.zero(&frame));
        let own = self.frame_place(me, span);
        body.push(self.assign(self.field(frame.clone(), CALLER), self.read(own.clone())));
        body.push(self.assign(self.field(frame.clone(), BACK), self.int(element as i64, span)));
        for (param, argument) in callee.params.iter().zip(arguments) {
            let Some(VarStorage::Frame(field)) = self.homes.get(param).copied() else { continue };
            let place = self.field(frame.clone(), field);
            body.extend(self.store_value(place, &program.variables[*param].ty, argument, Some(me))?);
        }
        body.push(self.assign(own, self.read_local(local, span)));
        for id in callee.variables.iter().filter(|id| !callee.params.contains(id)) {
            if let Some(VarStorage::Frame(field)) = self.homes.get(id).copied() {
                body.extend(self.first_value(*id, self.field(frame.clone(), field), Some(me)));
            }
        }
        let start = self.procs[me.proc].flow.function_start(function);
        body.push(self.stay(me, start, span));
        Ok(body)
    }

    /// Goes back to where the function was called, and leaves its value there.
    fn give_back(
        &mut self,
        me: &Me,
        element: ElementId,
        value: Option<&ast::Expr>,
        span: Span,
    ) -> OrReported<Vec<Stmt>> {
        let flow = &self.procs[me.proc].flow;
        let Some(function) = flow.function_of(element) else {
            return self.error(codes::MISPLACED, span, "`return` stands in a function");
        };
        let mut arms = Vec::new();
        for site in flow.calls() {
            let ElementKind::Basic(kind) = self.procs[me.proc].flow.elements[site].kind.clone() else {
                continue;
            };
            let S::Call(result, callee, arguments) = &*kind else { continue };
            if !self.callees(callee, arguments.len()).contains(&function) {
                continue;
            }
            let Some(back) = self.in_frame(me, BACK, span) else { continue };
            let here = self.equal(self.read(back), self.int(site as i64, span));
            arms.push((here, self.back_to(me, site, result.as_ref(), value, span)?));
        }
        Ok(vec![Stmt { kind: StmtKind::If(arms, Vec::new()), span }])
    }

    /// The value is found in the function, and its place where the call was.
    fn back_to(
        &mut self,
        me: &Me,
        site: ElementId,
        result: Option<&VarRef>,
        value: Option<&ast::Expr>,
        span: Span,
    ) -> OrReported<Vec<Stmt>> {
        let mut body = Vec::new();
        let mut store = None;
        if let Some(result) = result {
            let (place, ty) = self.place(result, Some(me))?;
            let nothing = match ty {
                Type::Pointer(_) | Type::Function => ast::ExprKind::Null,
                _ => ast::ExprKind::Int(0),
            };
            let nothing = ast::Expr { kind: nothing, span };
            let value = self.converted(value.unwrap_or(&nothing), &ty, Some(me))?;
            let local = self.new_local("$value", value.ty, LocalKind::Variable, span);
            body.push(self.bind(local, value));
            store = place.map(|place| self.assign(place, self.read_local(local, span)));
        }
        let Some(caller) = self.in_frame(me, CALLER, span) else { return Err(super::Reported) };
        body.push(self.assign(self.frame_place(me, span), self.read(caller)));
        body.extend(store);
        let next = self.procs[me.proc].flow.target(site);
        body.push(self.stay(me, next, span));
        Ok(body)
    }
}
