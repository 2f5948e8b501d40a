//! Objects: pointers, `new`, `delete`, and the collection of what nobody can reach.
//!
//! The objects of a type are the elements of a sort, with room for a fixed number of them: a cell is free, holds an
//! object, or held one that was deleted while somebody still points to it. A new object takes any free cell, and pointers
//! can only be compared for equality, so cells are interchangeable and engines that reduce by symmetry keep one state
//! for all ways to place the objects. Where symmetry is not wanted, cells are numbers, and the first that is free is
//! taken.

use shoal_model::{
    CheckKind, Code, Domain, Expr, ExprKind as K, Field, Function, IndexVec, LocalId, LocalKind, Place,
    Property, PropertyId, PropertyKind, Sort, SortSize, Stmt, StmtKind, Type as ModelType, TypeId, Value,
    Var,
};
use shoal_syntax::Span;

use super::{Home, Lowerer, Me, Outcome};
use crate::{
    ast::{Type, VarRef},
    codes,
};

/// The objects of a type.
#[derive(Clone, Debug)]
pub(super) struct Heap {
    pub(super) record: usize,
    /// The type of pointers.
    pub(super) pointer: TypeId,
    /// The type of pointers that are not null.
    cell: TypeId,
    var: shoal_model::VarId,
}

impl Heap {
    /// Where the cells are stored.
    pub(super) fn var(&self) -> shoal_model::VarId {
        self.var
    }
}

/// Nobody uses the cell.
const FREE: i64 = 0;
/// The cell holds an object.
const LIVE: i64 = 1;
/// The cell held an object that somebody still points to.
const DELETED: i64 = 2;

impl Lowerer<'_> {
    /// Declares a heap for each type that something points to, and refuses what is not made yet.
    pub(super) fn declare_heaps(&mut self) {
        let program = self.program;
        if let Some(function) = program.functions.first() {
            let _ = self.error::<()>(codes::UNSUPPORTED, function.name.span, "not supported: functions");
        }
        let fields = program.typedefs.iter().flat_map(|typedef| &typedef.fields);
        let fields = fields.map(|field| (&field.ty, field.name.span));
        let variables = program.variables.iter().map(|variable| (&variable.ty, variable.name.span));
        let mut targets: Vec<usize> = Vec::new();
        for (ty, span) in fields.chain(variables) {
            match ty {
                Type::Pointer(target) => match **target {
                    Type::Record(id) if !targets.contains(&id) => targets.push(id),
                    Type::Record(_) => {}
                    _ => {
                        let message = "not supported: pointers to anything but objects of a `typedef`";
                        let _ = self.error::<()>(codes::UNSUPPORTED, span, message);
                    }
                },
                Type::Function => {
                    let _ = self.error::<()>(codes::UNSUPPORTED, span, "not supported: functions");
                }
                _ => {}
            }
        }
        targets.sort_unstable();
        for record in targets {
            self.declare_pointer(record);
        }
        for heap in 0..self.heaps.len() {
            self.declare_cells(heap);
        }
    }

    fn declare_pointer(&mut self, record: usize) {
        let typedef = &self.program.typedefs[record];
        let size = self.options.heap;
        let (name, span) = (typedef.name.node.to_string(), typedef.name.span);
        let (pointer, cell) = if self.options.symmetric_heap {
            let size = SortSize::Fixed(size);
            let sort = self.model.sorts.push(Sort { name, size, first: 1, span });
            let pointer = ModelType::Ref { sort, nullable: true };
            let cell = ModelType::Ref { sort, nullable: false };
            (self.add_type(None, pointer), self.add_type(None, cell))
        } else {
            (self.int_type(0, i64::from(size)), self.int_type(1, i64::from(size)))
        };
        let var = shoal_model::TypedId::from_index(0);
        self.heaps.push(Heap { record, pointer, cell, var });
    }

    fn declare_cells(&mut self, heap: usize) {
        let (record, cell) = (self.heaps[heap].record, self.heaps[heap].cell);
        let typedef = &self.program.typedefs[record];
        let state = self.int_type(FREE, DELETED);
        let mut fields = vec![Field { name: "$state".into(), ty: state }];
        for field in &typedef.fields {
            let ty = self.sized(&field.ty, field.length);
            fields.push(Field { name: field.name.node.to_string(), ty });
        }
        let (name, span) = (typedef.name.node.to_string(), typedef.name.span);
        let element = self.add_type(Some(format!("{name} cell")), ModelType::Record { fields });
        let ty = self.add_type(None, ModelType::Array { index: cell, element });
        self.heaps[heap].var = self.model.vars.push(Var { name: format!("heap of {name}"), ty, span });
    }

    /// The heap of the objects of a type.
    pub(super) fn heap_of(&self, target: &Type) -> Option<usize> {
        let Type::Record(id) = target else { return None };
        self.heaps.iter().position(|heap| heap.record == *id)
    }

    pub(super) fn null(&self, heap: usize, span: Span) -> Expr {
        let ty = self.heaps[heap].pointer;
        let value = if self.options.symmetric_heap { Value::Null } else { Value::Int(0) };
        Expr { kind: K::Const(value), ty, span }
    }

    /// The cell that a pointer leads to. Faults if there is none.
    pub(super) fn cell(&self, heap: usize, pointer: Expr) -> Place {
        let span = pointer.span;
        self.index(self.var_place(self.heaps[heap].var, span), pointer)
    }

    fn state_of(&self, heap: usize, pointer: Expr) -> Expr {
        self.read(self.field(self.cell(heap, pointer), 0))
    }

    fn is(&self, heap: usize, pointer: Expr, state: i64) -> Expr {
        let span = pointer.span;
        self.equal(self.state_of(heap, pointer), self.int(state, span))
    }

    /// What is pointed to on the way to a place that is written must be there.
    pub(super) fn check_alive(&mut self, var: &VarRef, me: Option<&Me>) -> Outcome<Vec<Stmt>> {
        let mut checks = Vec::new();
        let mut whole = VarRef { fields: Vec::new(), ..var.clone() };
        for (name, index) in &var.fields {
            if let Some((Type::Pointer(target), None)) = super::channels::ref_type(self.program, &whole)
                && let Some(heap) = self.heap_of(&target)
                && let (Some(place), _) = self.place(&whole, me)?
            {
                checks.push(self.must_live(heap, self.read(place), var.span));
            }
            whole.fields.push((name.clone(), index.clone()));
        }
        Ok(checks)
    }

    fn must_live(&mut self, heap: usize, pointer: Expr, span: Span) -> Stmt {
        let condition = Some(self.is(heap, pointer, LIVE));
        let property = self.named_property("no deleted object is used", PropertyKind::Assertion, span);
        Stmt { kind: StmtKind::Check { kind: CheckKind::Assert, condition, property }, span }
    }

    /// A property by its name, made when it is first needed.
    pub(super) fn named_property(&mut self, name: &str, kind: PropertyKind, span: Span) -> PropertyId {
        let known =
            self.model.properties.enumerate().find(|(_, property)| property.name == name).map(|(id, _)| id);
        known.unwrap_or_else(|| self.model.properties.push(Property { name: name.into(), kind, span }))
    }

    /// `p = new T`.
    pub(super) fn allocate(
        &mut self,
        place: &VarRef,
        ty: &Type,
        me: Option<&Me>,
        span: Span,
    ) -> Outcome<Vec<Stmt>> {
        let mut body = self.check_alive(place, me)?;
        let (place, target) = self.place(place, me)?;
        let Some(heap) = self.heap_of(ty).filter(|_| target == Type::Pointer(Box::new(ty.clone()))) else {
            return self.error(codes::BAD_TYPE, span, "this pointer is one to another type");
        };
        let name = format!("at most {} objects of a type (--heap)", self.options.heap);
        let property = self.named_property(&name, PropertyKind::Bound, span);
        let local = self.bound_cell(heap, "$k", span);
        let some = self.is(heap, self.read_local(local, span), FREE);
        let condition = Some(self.exists(local, Domain::Type(self.heaps[heap].cell), some));
        body.push(Stmt { kind: StmtKind::Check { kind: CheckKind::Assert, condition, property }, span });
        let fresh = self.fresh_cell(heap, &mut body, span);
        let cell = self.cell(heap, fresh.clone());
        body.push(self.assign(self.field(cell.clone(), 0), self.int(LIVE, span)));
        let record = self.heaps[heap].record;
        for field in 0..self.program.typedefs[record].fields.len() {
            let part = self.field(cell.clone(), field + 1);
            body.extend(self.zero(&part));
        }
        body.extend(self.first_fields_from(record, &cell, 1, me));
        body.extend(place.map(|place| self.assign(place, fresh)));
        body.extend(self.collect(span));
        Ok(body)
    }

    fn bound_cell(&mut self, heap: usize, name: &str, span: Span) -> LocalId {
        self.new_local(name, self.heaps[heap].cell, LocalKind::Bound, span)
    }

    /// Any free cell, or the first.
    fn fresh_cell(&mut self, heap: usize, body: &mut Vec<Stmt>, span: Span) -> Expr {
        let cell = self.heaps[heap].cell;
        if self.options.symmetric_heap {
            let local = self.bound_cell(heap, "$new", span);
            body.push(Stmt { kind: StmtKind::Choose { local, domain: Domain::Type(cell) }, span });
            let fresh = self.read_local(local, span);
            let property = self.assumption(span);
            let condition = Some(self.is(heap, fresh.clone(), FREE));
            body.push(Stmt { kind: StmtKind::Check { kind: CheckKind::Assume, condition, property }, span });
            return fresh;
        }
        let local = self.new_local("$new", self.integer, LocalKind::Variable, span);
        body.push(self.bind(local, self.int(0, span)));
        let at = self.bound("$k", span);
        let here = self.read_local(at, span);
        let free = self.is(heap, here.clone(), FREE);
        let take = self.assign(self.local_place(local, span), here);
        let down = Domain::Range {
            from: Box::new(self.int(i64::from(self.options.heap), span)),
            to: Box::new(self.int(1, span)),
            by: Box::new(self.int(-1, span)),
        };
        let look = self.when(free, vec![take], Vec::new());
        body.push(Stmt { kind: StmtKind::For { local: at, domain: down, body: look }, span });
        self.read_local(local, span)
    }

    /// `delete p`.
    pub(super) fn delete(&mut self, place: &VarRef, me: Option<&Me>, span: Span) -> Outcome<Vec<Stmt>> {
        let (Some(at), Type::Pointer(target)) = self.place(place, me)? else {
            return self.error(codes::BAD_TYPE, span, "this is not a pointer");
        };
        let Some(heap) = self.heap_of(&target) else { return Err(super::Reported) };
        let pointer = self.read(at);
        let mut body = vec![self.must_live(heap, pointer.clone(), span)];
        body.extend(self.empty_cell(heap, pointer, DELETED, span));
        body.extend(self.collect(span));
        Ok(body)
    }

    /// What was in the cell is gone.
    fn empty_cell(&self, heap: usize, pointer: Expr, state: i64, span: Span) -> Vec<Stmt> {
        let cell = self.cell(heap, pointer);
        let mut body = vec![self.assign(self.field(cell.clone(), 0), self.int(state, span))];
        for field in 0..self.program.typedefs[self.heaps[heap].record].fields.len() {
            let place = self.field(cell.clone(), field + 1);
            body.push(Stmt { kind: StmtKind::Undefine(place), span });
        }
        body
    }

    /// All cells begin free.
    pub(super) fn free_all(&mut self, span: Span) -> Vec<Stmt> {
        let mut body = Vec::new();
        for heap in 0..self.heaps.len() {
            let local = self.bound_cell(heap, "$k", span);
            let free = self.empty_cell(heap, self.read_local(local, span), FREE, span);
            let domain = Domain::Type(self.heaps[heap].cell);
            body.push(Stmt { kind: StmtKind::For { local, domain, body: free }, span });
        }
        body
    }

    /// Calls the collector, which is needed whenever a pointer changes.
    pub(super) fn collect(&self, span: Span) -> Option<Stmt> {
        let function = self.collector?;
        Some(Stmt { kind: StmtKind::Call(function, Vec::new()), span })
    }

    /// The procedure that frees the cells that nobody can reach.
    pub(super) fn make_collector(&mut self, span: Span) {
        if self.heaps.is_empty() {
            return;
        }
        self.locals = IndexVec::new();
        let mut reached = Vec::new();
        for heap in 0..self.heaps.len() {
            let (index, element) = (self.heaps[heap].cell, self.boolean);
            let ty = self.add_type(None, ModelType::Array { index, element });
            let now = self.new_local("$reached", ty, LocalKind::Variable, span);
            let next = self.new_local("$next", ty, LocalKind::Variable, span);
            reached.push((now, next));
        }
        let mut body = Vec::new();
        for (heap, (now, _)) in reached.iter().enumerate() {
            body.push(self.mark_roots(heap, *now, span));
        }
        let more = self.new_local("$more", self.boolean, LocalKind::Variable, span);
        body.push(self.bind(more, self.truth(true, span)));
        let mut round = Vec::new();
        for heap in 0..self.heaps.len() {
            round.push(self.mark_next(heap, &reached, span));
        }
        let mut changes = Vec::new();
        for (heap, (now, next)) in reached.iter().enumerate() {
            let local = self.bound_cell(heap, "$k", span);
            let at =
                |of: LocalId| self.read(self.index(self.local_place(of, span), self.read_local(local, span)));
            let differs = self.not(self.equal(at(*now), at(*next)));
            changes.push(self.exists(local, Domain::Type(self.heaps[heap].cell), differs));
        }
        round.push(self.assign(self.local_place(more, span), self.or(changes, span)));
        for (now, next) in &reached {
            round.push(self.assign(self.local_place(*now, span), self.read_local(*next, span)));
        }
        let condition = self.read_local(more, span);
        let limit = u64::from(self.options.heap) * self.heaps.len() as u64 + 2;
        body.push(Stmt { kind: StmtKind::While { condition, body: round, limit }, span });
        for (heap, (now, _)) in reached.iter().enumerate() {
            body.push(self.sweep(heap, *now, span));
        }
        let code = Code { locals: std::mem::take(&mut self.locals), body };
        let function = Function { name: "collect".into(), params: Vec::new(), result: None, code, span };
        self.collector = Some(self.model.functions.push(function));
    }

    /// Marks what a variable, a process or a message points to.
    fn mark_roots(&mut self, heap: usize, reached: LocalId, span: Span) -> Stmt {
        let local = self.bound_cell(heap, "$cell", span);
        let mut parts = Vec::new();
        for var in self.model.vars.ids().collect::<Vec<_>>() {
            if !self.heaps.iter().any(|heap| heap.var == var) {
                let place = self.var_place(var, span);
                parts.push(self.points_to(&place, heap, local));
            }
        }
        let some = self.or(parts, span);
        let mark = self.index(self.local_place(reached, span), self.read_local(local, span));
        let body = vec![self.assign(mark, some)];
        Stmt { kind: StmtKind::For { local, domain: Domain::Type(self.heaps[heap].cell), body }, span }
    }

    /// Marks what objects point to that are marked.
    fn mark_next(&mut self, heap: usize, reached: &[(LocalId, LocalId)], span: Span) -> Stmt {
        let local = self.bound_cell(heap, "$cell", span);
        let here = self.read_local(local, span);
        let (now, next) = reached[heap];
        let mut parts = vec![self.read(self.index(self.local_place(now, span), here.clone()))];
        for (from, (marks, _)) in reached.iter().enumerate() {
            let source = self.bound_cell(from, "$from", span);
            let who = self.read_local(source, span);
            let marked = self.read(self.index(self.local_place(*marks, span), who.clone()));
            let lives = self.is(from, who.clone(), LIVE);
            let cell = self.cell(from, who);
            let mut fields = Vec::new();
            for field in 0..self.program.typedefs[self.heaps[from].record].fields.len() {
                fields.push(self.points_to(&self.field(cell.clone(), field + 1), heap, local));
            }
            let points = self.or(fields, span);
            let body = self.and(vec![marked, lives, points], span);
            if body.kind != K::Const(Value::Bool(false)) {
                parts.push(self.exists(source, Domain::Type(self.heaps[from].cell), body));
            }
        }
        let some = self.or(parts, span);
        let mark = self.index(self.local_place(next, span), here);
        let body = vec![self.assign(mark, some)];
        Stmt { kind: StmtKind::For { local, domain: Domain::Type(self.heaps[heap].cell), body }, span }
    }

    fn sweep(&mut self, heap: usize, reached: LocalId, span: Span) -> Stmt {
        let local = self.bound_cell(heap, "$cell", span);
        let here = self.read_local(local, span);
        let marked = self.read(self.index(self.local_place(reached, span), here.clone()));
        let used = self.not(self.is(heap, here.clone(), FREE));
        let lost = self.and(vec![self.not(marked), used], span);
        let free = self.empty_cell(heap, here, FREE, span);
        let body = self.when(lost, free, Vec::new());
        Stmt { kind: StmtKind::For { local, domain: Domain::Type(self.heaps[heap].cell), body }, span }
    }

    /// Whether some part of a place points to a cell.
    fn points_to(&mut self, place: &Place, heap: usize, cell: LocalId) -> Expr {
        let span = place.span;
        match self.model.kind(place.ty).clone() {
            ModelType::Record { fields } => {
                let parts =
                    (0..fields.len()).map(|at| self.points_to(&self.field(place.clone(), at), heap, cell));
                let parts = parts.collect();
                self.or(parts, span)
            }
            ModelType::Array { index, .. } => {
                let local = self.bound("$at", span);
                let part = self.index(place.clone(), self.read_local(local, span));
                let points = self.points_to(&part, heap, cell);
                if points.kind == K::Const(Value::Bool(false)) {
                    return points;
                }
                let last = self.model.cardinality(index).unwrap_or(1) as i64 - 1;
                let domain = self.range_domain(self.int(0, span), self.int(last, span));
                self.exists(local, domain, points)
            }
            _ if place.ty == self.heaps[heap].pointer => {
                self.equal(self.read(place.clone()), self.read_local(cell, span))
            }
            _ => self.truth(false, span),
        }
    }

    /// Whether a variable is a pointer or has one.
    pub(super) fn has_pointers(&self, ty: &Type) -> bool {
        match ty {
            Type::Pointer(_) => true,
            Type::Record(id) => {
                self.program.typedefs[*id].fields.iter().any(|field| self.has_pointers(&field.ty))
            }
            _ => false,
        }
    }

    /// Whether a process leaves pointers behind when it goes.
    pub(super) fn process_has_pointers(&self, proc: usize) -> bool {
        let variables = &self.program.proctypes[proc].variables;
        let field = |id: &usize| matches!(self.homes.get(id), Some(Home::Field(_)));
        variables.iter().any(|id| field(id) && self.has_pointers(&self.program.variables[*id].ty))
            || self
                .channels
                .sites
                .iter()
                .any(|site| site.owner == Some(proc) && site.parts.iter().any(|part| self.has_pointers(part)))
    }
}
