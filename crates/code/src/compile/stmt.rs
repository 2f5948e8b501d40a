//! Statements.

use shoal_model::{
    Argument, Binding, CheckKind, Expr, FaultKind, LocalKind, OutputItem, Place, Projection, PropertyId,
    Root, Stmt, StmtKind, Type, TypeId, TypedId,
};
use shoal_syntax::Span;

use super::{
    Compiler, Leave, LocalBinding,
    call::{REFERENCE, is_bound},
    domain::Over,
    element,
    expr::{peeks, place_calls},
    out_of_range,
    place::Address,
};
use crate::code::{Op, Reg};

/// As many cells are written one by one.
const FEW_CELLS: usize = 8;

impl Compiler<'_> {
    pub(super) fn block(&mut self, block: &[Stmt]) {
        let first = self.next;
        let mut mark = first;
        for stmt in block {
            self.stmt(stmt);
            if matches!(stmt.kind, StmtKind::Bind(_) | StmtKind::Choose { .. }) {
                // What they bind lives to the end of the block.
                mark = self.next;
            }
            self.next = mark;
        }
        self.next = first;
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Assign(place, value) => self.assign(place, value),
            StmtKind::Clear(place) => self.clear(place),
            StmtKind::Undefine(place) => {
                let address = self.place(place);
                let length = self.size(place.ty);
                if !self.write_few(address, place.ty, &vec![0; length as usize]) {
                    let address = self.address(address);
                    self.emit(Op::Fill { address, length, value: 0 });
                }
            }
            StmtKind::If(arms, other) => self.conditionals(arms, other),
            StmtKind::While { condition, body, limit } => self.repeat(condition, body, *limit, stmt.span),
            StmtKind::For { local, domain, body } => {
                let over = self.domain(domain);
                self.bind_to(*local, &over);
                self.each(&over, |this, _, _| this.block(body));
            }
            StmtKind::Bind(bindings) => self.bindings(bindings),
            StmtKind::Choose { local, domain } => self.choose(*local, domain, stmt.span),
            StmtKind::Check { kind, condition, property } => {
                self.check(*kind, condition.as_ref(), *property, stmt.span)
            }
            StmtKind::Return(value) => self.leave(value.as_ref()),
            StmtKind::Call(function, arguments) => {
                self.call(*function, arguments, stmt.span);
            }
            StmtKind::Output(items) => {
                for item in items {
                    if let OutputItem::Value(value) = item {
                        self.evaluate(value);
                    }
                }
            }
            StmtKind::MultisetAdd(place, value) => self.add(place, value, stmt.span),
            StmtKind::MultisetRemove(place, slot) => {
                let address = self.place(place);
                let address = self.address(address);
                let position = self.integer(slot);
                let (bag, site) = (self.bag(place.ty), self.site(slot.span));
                self.emit(Op::BagRemove { address, position, bag, site });
            }
            StmtKind::MultisetRemoveIf { place, local, condition } => {
                self.remove_if(place, *local, condition);
            }
            StmtKind::Create(place, sort) => self.create(place, *sort, stmt.span),
            StmtKind::Delete(of) => self.delete(of),
            // Refused before compilation.
            StmtKind::Insert { .. } | StmtKind::Remove(..) => {}
        }
    }

    fn assign(&mut self, place: &Place, value: &Expr) {
        if self.is_scalar(place.ty) {
            let scalar = self.scalar_or_undefined(value);
            let address = self.place(place);
            let src = self.code(&scalar, place.ty, out_of_range(value.span));
            self.store(address, src);
        } else {
            let from = self.composite(value, place_calls(place));
            let address = self.place(place);
            let to = self.address(address);
            self.emit(Op::Copy { to, from, length: self.size(place.ty) });
        }
    }

    fn clear(&mut self, place: &Place) {
        let address = self.place(place);
        let mut cells = Vec::new();
        self.least(place.ty, &mut cells);
        if self.write_few(address, place.ty, &cells) {
            return;
        }
        let to = self.address(address);
        self.program.templates.push(cells);
        self.emit(Op::Template { to, template: self.program.templates.len() as u32 - 1 });
    }

    /// Writes the cells of a value one by one, if they are few and it is known where they are. False if not.
    fn write_few(&mut self, address: Address, ty: TypeId, cells: &[i64]) -> bool {
        let known = !matches!(address, Address::At { .. });
        let few = known && cells.len() <= FEW_CELLS;
        if !few || self.model.type_contains(ty, &|part| matches!(part, Type::Multiset { .. })) {
            return false;
        }
        for (cell, by) in cells.iter().zip(0..) {
            let mark = self.next;
            let src = self.constant(*cell);
            let address = self.shift(address, by);
            self.store(address, src);
            self.next = mark;
        }
        true
    }

    /// The cells of the least value of a type.
    fn least(&self, ty: TypeId, cells: &mut Vec<i64>) {
        match self.model.kind(ty) {
            Type::Record { fields } => fields.iter().for_each(|field| self.least(field.ty, cells)),
            Type::Array { index, element } => {
                for _ in 0..self.model.cardinality(*index).unwrap_or(0) {
                    self.least(*element, cells);
                }
            }
            Type::Multiset { .. } => cells.extend((0..self.size(ty)).map(|_| 0)),
            _ => cells.push(i64::from(self.model.cardinality(ty) != Some(0))),
        }
    }

    fn conditionals(&mut self, arms: &[(Expr, Vec<Stmt>)], other: &[Stmt]) {
        let end = self.label();
        for (condition, block) in arms {
            let otherwise = self.label();
            self.branch(condition, false, otherwise);
            self.block(block);
            self.jump(end);
            self.bind(otherwise);
        }
        self.block(other);
        self.bind(end);
    }

    fn repeat(&mut self, condition: &Expr, body: &[Stmt], limit: u64, span: Span) {
        let counter = self.constant(0);
        self.program.limits.push((limit, span));
        let limit = self.program.limits.len() as u32 - 1;
        let again = self.bound_label();
        let end = self.label();
        let before = self.work;
        self.branch(condition, false, end);
        self.emit(Op::Round { counter, limit });
        self.block(body);
        self.end_round(before, None);
        self.jump(again);
        self.bind(end);
    }

    /// Binds locals. The registers of what is bound stay taken.
    pub(super) fn bindings(&mut self, bindings: &[Binding]) {
        for binding in bindings {
            let local = &self.locals[binding.local];
            match (local.kind, self.slots[binding.local.index()]) {
                (LocalKind::Variable, LocalBinding::Cells(cells)) => {
                    let mark = self.next;
                    self.argument(&binding.to, cells, local.kind, local.ty);
                    self.next = mark;
                }
                _ => {
                    // The cells after the address are for a value, if it is one.
                    let size = match &binding.to {
                        Argument::Place(place) if !is_bound(self, place) => 0,
                        _ => self.size(local.ty),
                    };
                    let into_bag = match &binding.to {
                        Argument::Place(place) => self.may_lead_into_bag(place),
                        Argument::Value(_) => false,
                    };
                    let register = self.alloc(REFERENCE + size);
                    let mark = self.next;
                    self.argument(&binding.to, register, local.kind, local.ty);
                    self.next = mark;
                    self.slots[binding.local.index()] = LocalBinding::Address { reg: register, into_bag };
                }
            }
        }
    }

    fn may_lead_into_bag(&self, place: &Place) -> bool {
        let through = place.path.iter().any(|step| matches!(step, Projection::Slot(_)));
        through
            || match place.root {
                Root::Local(local) => {
                    matches!(self.slots[local.index()], LocalBinding::Address { into_bag: true, .. })
                }
                Root::Var(_) => false,
            }
    }

    fn check(&mut self, kind: CheckKind, condition: Option<&Expr>, property: PropertyId, span: Span) {
        let past = self.label();
        match kind {
            CheckKind::Assert | CheckKind::Assume => {
                if let Some(condition) = condition {
                    self.branch(condition, true, past);
                }
                match kind {
                    CheckKind::Assert => self.fault(FaultKind::Assertion(property), span),
                    _ => self.emit(Op::Discard),
                }
            }
            CheckKind::Cover => {
                if let Some(condition) = condition {
                    self.branch(condition, false, past);
                    self.emit(Op::Cover { property });
                }
            }
        }
        self.bind(past);
    }

    fn leave(&mut self, value: Option<&Expr>) {
        match (self.leave, value) {
            (Leave::Rule(end), _) => self.jump(end),
            (Leave::Function(Some(ty)), Some(value)) => {
                self.write_value(value, 0, ty);
                if self.is_scalar(ty) && peeks(value) {
                    let site = self.site(value.span);
                    self.emit(Op::Defined { src: 0, site });
                }
                self.emit(Op::Return);
            }
            (Leave::Function(_), _) => self.emit(Op::Return),
        }
    }

    fn add(&mut self, place: &Place, value: &Expr, span: Span) {
        let ty = element(self.model, place.ty);
        let bag = self.bag(place.ty);
        let site = self.site(span);
        if self.is_scalar(ty) {
            let scalar = self.scalar_or_undefined(value);
            let address = self.place(place);
            let address = self.address(address);
            let src = self.code(&scalar, ty, out_of_range(value.span));
            let dst = self.temp();
            self.emit(Op::BagAdd { dst, address, bag, site });
            self.emit(Op::StoreAt { src, address: dst, offset: 0 });
        } else {
            let from = self.composite(value, place_calls(place));
            let address = self.place(place);
            let address = self.address(address);
            let dst = self.temp();
            self.emit(Op::BagAdd { dst, address, bag, site });
            self.emit(Op::Copy { to: dst, from, length: self.size(ty) });
        }
    }

    fn remove_if(&mut self, place: &Place, local: shoal_model::LocalId, condition: &Expr) {
        let over = self.domain(&shoal_model::Domain::Slots(place.clone()));
        self.bind_to(local, &over);
        let Over::Marks { capacity, address, bag, .. } = over.over else { return };
        let swept: Reg = self.alloc(capacity);
        self.emit(Op::Zero { first: swept, length: capacity });
        let base = self.address(Address::Frame(swept));
        let one = self.constant(1);
        self.each(&over, |this, next, _| {
            this.branch(condition, false, next);
            let to = this.temp();
            this.emit(Op::Join { dst: to, left: base, right: over.counter });
            this.emit(Op::StoreAt { src: one, address: to, offset: 0 });
        });
        self.emit(Op::BagSweep { marks: swept, address, bag });
    }
}
