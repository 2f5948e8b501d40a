//! Objects: pointers, `new` and `delete`.
//!
//! The objects of a type are the elements of a sort that grows, and what they hold is an array over it. Pointers can only be
//! compared for equality, so objects are interchangeable, and engines that reduce by symmetry keep one state for all
//! ways to place them. What nobody can reach any more is gone when a step ends, or is an error, as the options say. To compare
//! a pointer to an object that was deleted is an error.
//!
//! Where objects are used again, one that was deleted stays and is only marked as free. Then `new` makes an object or takes one
//! that is free; those that nobody points to are gone, as they are no different from a new one.

use shoal_model::{
    Argument, BinaryOp, Binding, CheckKind, Code, Domain, Expr, ExprKind as K, Field, Function, FunctionId,
    LocalId, LocalKind, Lost, Place, Property, PropertyId, PropertyKind, Sort, SortId, SortSize, Stmt,
    StmtKind, Type as ModelType, TypeId, Value, Var, internal,
};
use shoal_syntax::Span;

use super::{Lowerer, Me, OrReported};
use crate::{
    ast::{self, Type, VarRef},
    codes,
    walk::{SyntaxNode, walk_block},
};

/// The objects of a type.
#[derive(Clone, Debug)]
pub(super) struct ObjectHeap {
    pub(super) record: usize,
    sort: SortId,
    /// The type of pointers.
    pub(super) pointer: TypeId,
    /// The type of pointers that are not null.
    cell: TypeId,
    var: shoal_model::VarId,
    /// How many objects the longest array of them has, if there are arrays. Then every object is stored as an array, which
    /// has a length; what lies behind its end is never touched.
    most: Option<u32>,
    /// The function that faults where a pointer leads to an object that was deleted, where it is needed.
    lives: Option<FunctionId>,
}

/// Where objects are stored as arrays: the fields of such an array.
const ITEMS: usize = 0;
const LENGTH: usize = 1;

/// The number of objects in an array, which the parser has seen to.
fn array_length(length: &ast::Expr) -> u32 {
    match length.kind {
        ast::ExprKind::Int(value) => u32::try_from(value).unwrap_or(u32::MAX),
        _ => internal!("the length of an array of objects is a number"),
    }
}

impl ObjectHeap {
    /// Where the objects are stored.
    pub(super) fn var(&self) -> shoal_model::VarId {
        self.var
    }
}

impl Lowerer<'_> {
    /// Declares a heap for each type that something points to, and refuses what is not made yet.
    pub(super) fn declare_heaps(&mut self) {
        let program = self.program;
        let fields = program.typedefs.iter().flat_map(|typedef| &typedef.fields);
        let fields = fields.map(|field| (&field.ty, field.name.span));
        let variables = program.variables.iter().map(|variable| (&variable.ty, variable.name.span));
        let mut targets: Vec<usize> = Vec::new();
        for (ty, span) in fields.chain(variables) {
            let Type::Pointer(target) = ty else { continue };
            match **target {
                Type::Record(id) if !targets.contains(&id) => targets.push(id),
                Type::Record(_) => {}
                _ => {
                    let message = "not supported: pointers to anything but objects of a `typedef`";
                    let _ = self.error::<()>(codes::UNSUPPORTED, span, message);
                }
            }
        }
        targets.sort_unstable();
        for record in targets {
            self.declare_pointer(record);
        }
        self.declare_frames();
        for heap in 0..self.heaps.len() {
            self.declare_cells(heap);
        }
    }

    fn declare_pointer(&mut self, record: usize) {
        let typedef = &self.program.typedefs[record];
        let (name, span) = (typedef.name.node.to_string(), typedef.name.span);
        let lost = if self.options.leaks { Lost::Faults } else { Lost::Collected };
        let size = SortSize::Growing { limit: self.options.heap, lost };
        let sort = self.model.sorts.push(Sort { name, size, first: 1, span });
        let pointer = self.add_type(None, ModelType::Ref { sort, nullable: true });
        let cell = self.add_type(None, ModelType::Ref { sort, nullable: false });
        let var = shoal_model::TypedId::from_index(0);
        let most = self.longest_array(record);
        self.heaps.push(ObjectHeap { record, sort, pointer, cell, var, most, lives: None });
    }

    /// How many objects of a type are made at once, at most, if ever several are.
    fn longest_array(&self, record: usize) -> Option<u32> {
        let mut most = None;
        for proctype in self.program.proctypes.iter().chain(&self.program.functions) {
            walk_block(&proctype.body, &mut |node| {
                if let SyntaxNode::Stmt(stmt) = node
                    && let ast::StmtKind::New(_, Type::Record(made), Some(length)) = &stmt.kind
                    && *made == record
                {
                    most = most.max(Some(array_length(length)));
                }
            });
        }
        most
    }

    fn declare_cells(&mut self, heap: usize) {
        let (record, index) = (self.heaps[heap].record, self.heaps[heap].cell);
        let mut element = self.scalar_type(&Type::Record(record));
        if let Some(most) = self.heaps[heap].most {
            let index = self.add_type(None, ModelType::Int { lo: 0, hi: i64::from(most) - 1 });
            let items = self.add_type(None, ModelType::Array { index, element });
            let length = self.add_type(None, ModelType::Int { lo: 0, hi: i64::from(most) });
            let fields =
                vec![Field { name: "items".into(), ty: items }, Field { name: "length".into(), ty: length }];
            element = self.add_type(None, ModelType::Record { fields });
        }
        if let (true, ModelType::Record { mut fields }) =
            (self.options.reuse, self.model.kind(element).clone())
        {
            fields.push(Field { name: "free".into(), ty: self.boolean });
            element = self.add_type(None, ModelType::Record { fields });
        }
        let ty = self.add_type(None, ModelType::Array { index, element });
        let typedef = &self.program.typedefs[record];
        let (name, span) = (format!("heap of {}", typedef.name.node), typedef.name.span);
        self.heaps[heap].var = self.model.vars.push(Var { name, ty, span });
    }

    /// The heap of the objects of a type.
    pub(super) fn heap_of(&self, target: &Type) -> Option<usize> {
        let Type::Record(id) = target else { return None };
        self.heaps.iter().position(|heap| heap.record == *id)
    }

    pub(super) fn null(&self, heap: usize, span: Span) -> Expr {
        Expr { kind: K::Const(Value::Null), ty: self.heaps[heap].pointer, span }
    }

    /// The object that a pointer leads to, or the one at an index of an array. Faults if there is none.
    pub(super) fn cell(&mut self, heap: usize, pointer: Expr, index: Option<Expr>) -> OrReported<Place> {
        let span = pointer.span;
        let pointer = if self.options.reuse { self.living(heap, pointer) } else { pointer };
        let memory = self.memory(heap, pointer);
        let Some(most) = self.heaps[heap].most else {
            return match index {
                None => Ok(memory),
                Some(index) => self.error(codes::BAD_TYPE, index.span, "this never points to an array"),
            };
        };
        let items = self.field(memory.clone(), ITEMS);
        let Some(index) = index else { return Ok(self.index(items, self.int(0, span))) };
        // Behind the end of a shorter array there is nothing either.
        let inside = self.binary(BinaryOp::Lt, index.clone(), self.read(self.field(memory, LENGTH)));
        let index = self.cond(inside, index, self.int(i64::from(most), span));
        Ok(self.index(items, index))
    }

    /// Where an object is stored, though it may be free.
    fn memory(&self, heap: usize, pointer: Expr) -> Place {
        let span = pointer.span;
        self.index(self.var_place(self.heaps[heap].var, span), pointer)
    }

    /// Whether the object at a place is free.
    fn is_free(&self, heap: usize, memory: Place) -> Place {
        let before = match self.heaps[heap].most {
            Some(_) => LENGTH + 1,
            None => self.program.typedefs[self.heaps[heap].record].fields.len(),
        };
        self.field(memory, before)
    }

    /// The same pointer, if it is null or its object was not deleted. Faults otherwise.
    pub(super) fn living(&mut self, heap: usize, pointer: Expr) -> Expr {
        let function = match self.heaps[heap].lives {
            Some(known) => known,
            None => self.lives(heap, pointer.span),
        };
        self.checked(heap, function, pointer)
    }

    fn lives(&mut self, heap: usize, span: Span) -> FunctionId {
        let locals = std::mem::take(&mut self.locals);
        let ty = self.heaps[heap].pointer;
        let param = self.new_local("pointer", ty, LocalKind::Variable, span);
        let pointer = self.read_local(param, span);
        let null = self.equal(pointer.clone(), self.null(heap, span));
        let lives = if self.options.reuse {
            let memory = self.memory(heap, pointer.clone());
            self.not(self.read(self.is_free(heap, memory)))
        } else {
            Expr { kind: K::Exists(Box::new(pointer.clone())), ty: self.boolean, span }
        };
        let fine = self.or(vec![null, lives], span);
        let back = Stmt { kind: StmtKind::Return(Some(pointer)), span };
        let name = match self.options.reuse {
            true => "no object is used after it was deleted",
            false => "no pointer to a deleted object is compared",
        };
        let property = self.named_property(name, PropertyKind::Assertion, span);
        let check = StmtKind::Check { kind: CheckKind::Assert, condition: Some(fine), property };
        let body = vec![Stmt { kind: check, span }, back];
        let code = Code { locals: std::mem::replace(&mut self.locals, locals), body };
        let name = format!("{} lives", self.program.typedefs[self.heaps[heap].record].name.node);
        let function = Function { name, params: vec![param], result: Some(ty), code, span };
        *self.heaps[heap].lives.insert(self.model.functions.push(function))
    }

    /// Whether two pointers are the same. Who was deleted cannot be compared, unless memory is used again.
    pub(super) fn same_object(&mut self, heap: usize, a: Expr, b: Expr) -> Expr {
        let (a, b) = (self.compared(heap, a), self.compared(heap, b));
        self.equal(a, b)
    }

    /// A pointer that is compared.
    pub(super) fn compared(&mut self, heap: usize, pointer: Expr) -> Expr {
        if self.options.reuse || !self.deletes() { pointer } else { self.living(heap, pointer) }
    }

    /// Whether objects are deleted at all.
    fn deletes(&self) -> bool {
        let mut found = false;
        for proctype in self.program.proctypes.iter().chain(&self.program.functions) {
            walk_block(&proctype.body, &mut |node| {
                found |=
                    matches!(node, SyntaxNode::Stmt(stmt) if matches!(stmt.kind, ast::StmtKind::Delete(_)));
            });
        }
        found
    }

    /// A pointer that one is compared with which has been seen to.
    pub(super) fn compared_again(&self, heap: usize, pointer: Expr) -> Expr {
        match self.heaps[heap].lives.filter(|_| !self.options.reuse) {
            Some(function) => self.checked(heap, function, pointer),
            None => pointer,
        }
    }

    fn checked(&self, heap: usize, function: FunctionId, pointer: Expr) -> Expr {
        let span = pointer.span;
        let kind = K::Call(function, vec![Argument::Value(pointer)]);
        Expr { kind, ty: self.heaps[heap].pointer, span }
    }

    /// A property by its name, made when it is first needed.
    pub(super) fn named_property(&mut self, name: &str, kind: PropertyKind, span: Span) -> PropertyId {
        let known =
            self.model.properties.enumerate().find(|(_, property)| property.name == name).map(|(id, _)| id);
        known.unwrap_or_else(|| self.model.properties.push(Property { name: name.into(), kind, span }))
    }

    /// `p = new T` and `p = new T[n]`.
    pub(super) fn allocate(
        &mut self,
        place: &VarRef,
        ty: &Type,
        length: Option<&ast::Expr>,
        me: Option<&Me>,
        span: Span,
    ) -> OrReported<Vec<Stmt>> {
        let (place, target) = self.place(place, me)?;
        let made = (ty, length.map_or(1, array_length));
        match place {
            Some(place) => self.create_object(Some((place, target)), made, me, span),
            None => self.create_object(None, made, me, span),
        }
    }

    /// Makes so many objects of a type, and a pointer lead there.
    pub(super) fn create_object(
        &mut self,
        place: Option<(Place, Type)>,
        (ty, count): (&Type, u32),
        me: Option<&Me>,
        span: Span,
    ) -> OrReported<Vec<Stmt>> {
        let fits = place.as_ref().is_none_or(|(_, target)| *target == Type::Pointer(Box::new(ty.clone())));
        let Some(heap) = self.heap_of(ty).filter(|_| fits) else {
            return self.error(codes::BAD_TYPE, span, "this pointer is one to another type");
        };
        let local = self.new_local("$new", self.heaps[heap].pointer, LocalKind::Variable, span);
        let create = StmtKind::Create(self.local_place(local, span), self.heaps[heap].sort);
        let mut body = vec![Stmt { kind: create, span }];
        if self.options.reuse {
            body = self.take_again(heap, local, body, span);
        }
        let cell = self.memory(heap, self.read_local(local, span));
        body.extend(self.zero(&cell));
        let record = self.heaps[heap].record;
        if self.heaps[heap].most.is_some() {
            let length = self.field(cell.clone(), LENGTH);
            body.push(self.assign(length, self.int(i64::from(count), span)));
            let items = self.field(cell, ITEMS);
            body.extend(self.first_fields(record, &items, Some(count), me));
        } else {
            body.extend(self.first_fields(record, &cell, None, me));
        }
        body.extend(place.map(|(place, _)| self.assign(place, self.read_local(local, span))));
        Ok(body)
    }

    /// Makes an object, or takes one that is free and that something still points to: a variable, a field, a message.
    fn take_again(&mut self, heap: usize, taken: LocalId, create: Vec<Stmt>, span: Span) -> Vec<Stmt> {
        let null = Binding { local: taken, to: Argument::Value(self.null(heap, span)) };
        let again = self.bound("$again", span);
        let domain = self.range_domain(self.int(0, span), self.int(1, span));
        let cell = self.heaps[heap].cell;
        let freed = self.new_local("$freed", cell, LocalKind::Bound, span);
        let object = self.read_local(freed, span);
        let condition = Some(self.read(self.is_free(heap, self.memory(heap, object.clone()))));
        let property = self.assumption(span);
        let take = vec![
            Stmt { kind: StmtKind::Choose { local: freed, domain: Domain::Type(cell) }, span },
            Stmt { kind: StmtKind::Check { kind: CheckKind::Assume, condition, property }, span },
            self.assign(self.local_place(taken, span), object),
        ];
        let chosen = self.equal(self.read_local(again, span), self.int(1, span));
        vec![
            Stmt { kind: StmtKind::Bind(vec![null]), span },
            Stmt { kind: StmtKind::Choose { local: again, domain }, span },
            Stmt { kind: StmtKind::If(vec![(chosen, take)], create), span },
        ]
    }

    /// `delete p`.
    pub(super) fn delete(&mut self, place: &VarRef, me: Option<&Me>, span: Span) -> OrReported<Vec<Stmt>> {
        let (Some(at), Type::Pointer(target)) = self.place(place, me)? else {
            return self.error(codes::BAD_TYPE, span, "this is not a pointer");
        };
        if let (true, Some(heap)) = (self.options.reuse, self.heap_of(&target)) {
            // The place may be in the object itself, so the object is found once.
            let local = self.new_local("$freed", self.heaps[heap].pointer, LocalKind::Variable, span);
            let pointer = self.living(heap, self.read(at));
            let mut body = vec![self.bind(local, pointer)];
            let memory = self.memory(heap, self.read_local(local, span));
            body.extend(self.zero(&memory));
            body.push(self.assign(self.is_free(heap, memory), self.truth(true, span)));
            return Ok(body);
        }
        Ok(vec![Stmt { kind: StmtKind::Delete(self.read(at)), span }])
    }
}
