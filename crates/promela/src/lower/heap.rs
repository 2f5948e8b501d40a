//! Objects: pointers, `new` and `delete`.
//!
//! The objects of a type are the elements of a sort that grows, and what they hold is an array over it. Pointers can only be
//! compared for equality, so objects are interchangeable, and engines that reduce by symmetry keep one state for all
//! ways to place them. What nobody can reach any more is gone when a step ends, or is an error, as the options say. An
//! object that was deleted is told apart from all others as long as somebody points to it.

use shoal_model::{
    Expr, ExprKind as K, LocalKind, Lost, Place, Property, PropertyId, PropertyKind, Sort, SortId, SortSize,
    Stmt, StmtKind, Type as ModelType, TypeId, Value, Var,
};
use shoal_syntax::Span;

use super::{Lowerer, Me, Outcome};
use crate::{
    ast::{Type, VarRef},
    codes,
};

/// The objects of a type.
#[derive(Clone, Debug)]
pub(super) struct Heap {
    pub(super) record: usize,
    sort: SortId,
    /// The type of pointers.
    pub(super) pointer: TypeId,
    /// The type of pointers that are not null.
    cell: TypeId,
    var: shoal_model::VarId,
}

impl Heap {
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
            match ty {
                Type::Pointer(target) => match **target {
                    Type::Record(id) if !targets.contains(&id) => targets.push(id),
                    Type::Record(_) => {}
                    _ => {
                        let message = "not supported: pointers to anything but objects of a `typedef`";
                        let _ = self.error::<()>(codes::UNSUPPORTED, span, message);
                    }
                },
                _ => {}
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
        self.heaps.push(Heap { record, sort, pointer, cell, var });
    }

    fn declare_cells(&mut self, heap: usize) {
        let (record, index) = (self.heaps[heap].record, self.heaps[heap].cell);
        let element = self.scalar_type(&Type::Record(record));
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

    /// The object that a pointer leads to. Faults if there is none.
    pub(super) fn cell(&self, heap: usize, pointer: Expr) -> Place {
        let span = pointer.span;
        self.index(self.var_place(self.heaps[heap].var, span), pointer)
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
        let (place, target) = self.place(place, me)?;
        match place {
            Some(place) => self.create_object(Some((place, target)), ty, me, span),
            None => self.create_object(None, ty, me, span),
        }
    }

    /// Makes an object, and a pointer lead there.
    pub(super) fn create_object(
        &mut self,
        place: Option<(Place, Type)>,
        ty: &Type,
        me: Option<&Me>,
        span: Span,
    ) -> Outcome<Vec<Stmt>> {
        let fits = place.as_ref().is_none_or(|(_, target)| *target == Type::Pointer(Box::new(ty.clone())));
        let Some(heap) = self.heap_of(ty).filter(|_| fits) else {
            return self.error(codes::BAD_TYPE, span, "this pointer is one to another type");
        };
        let local = self.new_local("$new", self.heaps[heap].pointer, LocalKind::Variable, span);
        let create = StmtKind::Create(self.local_place(local, span), self.heaps[heap].sort);
        let mut body = vec![Stmt { kind: create, span }];
        let cell = self.cell(heap, self.read_local(local, span));
        body.extend(self.zero(&cell));
        body.extend(self.first_fields(self.heaps[heap].record, &cell, None, me));
        body.extend(place.map(|(place, _)| self.assign(place, self.read_local(local, span))));
        Ok(body)
    }

    /// `delete p`.
    pub(super) fn delete(&mut self, place: &VarRef, me: Option<&Me>, span: Span) -> Outcome<Vec<Stmt>> {
        let (Some(at), Type::Pointer(_)) = self.place(place, me)? else {
            return self.error(codes::BAD_TYPE, span, "this is not a pointer");
        };
        Ok(vec![Stmt { kind: StmtKind::Delete(self.read(at)), span }])
    }
}
