//! Calls. The frame of a function is its result, its parameters, its other locals, and what its code needs.
//! The caller writes the arguments straight into the frame to be, the *window*, above its own registers.

use shoal_model::{Argument, Expr, FunctionId, LocalKind, TypeId, TypedId};
use shoal_syntax::Span;

use super::{Compiler, LocalBinding, out_of_range, place::Address};
use crate::code::{Op, Reg};

/// The registers of a reference: the address, and the address of an occupied cell or -1.
pub(super) const REFERENCE: u32 = 2;

impl Compiler<'_> {
    /// Gives the parameters of the function that is being compiled their registers.
    pub(super) fn place_parameters(&mut self, id: FunctionId) {
        let function = &self.model.functions[id];
        let result = function.result.map_or(0, |ty| self.size(ty));
        self.alloc(result);
        for param in &function.params {
            let size = self.parameter_size(id, *param);
            let register = self.alloc(size);
            self.slots[param.index()] = match function.code.locals[*param].kind {
                LocalKind::Reference { .. } => {
                    LocalBinding::Address { reg: register, into_bag: self.slots_referred }
                }
                _ => LocalBinding::Cells(register),
            };
        }
    }

    /// A reference that is not writable is followed by cells for the value it may be given instead of a place.
    fn parameter_size(&self, function: FunctionId, param: shoal_model::LocalId) -> u32 {
        let local = &self.model.functions[function].code.locals[param];
        match local.kind {
            LocalKind::Reference { writable: true } => REFERENCE,
            LocalKind::Reference { writable: false } => REFERENCE + self.size(local.ty),
            _ => self.size(local.ty),
        }
    }

    /// Evaluates the arguments and calls; gives the register where the result begins.
    pub(super) fn call(&mut self, id: FunctionId, arguments: &[Argument], span: Span) -> Reg {
        let function = &self.model.functions[id];
        let result = function.result.map_or(0, |ty| self.size(ty));
        let sizes: Vec<u32> = function.params.iter().map(|param| self.parameter_size(id, *param)).collect();
        let window = self.alloc(result + sizes.iter().sum::<u32>());
        let mark = self.next;
        let mut register = window.saturating_add(result as Reg);
        for ((param, size), argument) in function.params.iter().zip(sizes).zip(arguments) {
            let local = &function.code.locals[*param];
            self.argument(argument, register, local.kind, local.ty);
            self.next = mark;
            register = register.saturating_add(size as Reg);
        }
        let site = self.site(span);
        match self.works.get(id.index()) {
            Some(work) => self.work = self.work.saturating_add(*work),
            // A function that may come back to itself.
            None => self.tick(1),
        }
        self.emit(Op::Call { function: id, window, site });
        window
    }

    /// Passes an argument to the register of a parameter; of a reference, the cells after it take a value.
    pub(super) fn argument(&mut self, argument: &Argument, register: Reg, kind: LocalKind, ty: TypeId) {
        let reference = matches!(kind, LocalKind::Reference { .. });
        match argument {
            Argument::Place(place) if is_bound(self, place) => {
                // A bound value has no cell: it is passed like the value it is.
                let value =
                    Expr { kind: shoal_model::ExprKind::Read(place.clone()), ty: place.ty, span: place.span };
                self.argument(&Argument::Value(value), register, kind, ty);
            }
            Argument::Place(place) if reference => {
                let (address, flag) = self.locate(place);
                let src = self.address(address);
                self.emit(Op::Move { dst: register, src });
                self.flag(register, flag);
            }
            Argument::Place(place) => {
                let value = shoal_model::ExprKind::Peek(place.clone());
                self.write_value(&Expr { kind: value, ty: place.ty, span: place.span }, register, ty);
            }
            Argument::Value(value) => {
                let cells = if reference { register.saturating_add(REFERENCE as Reg) } else { register };
                self.write_value(value, cells, ty);
                if reference {
                    self.frame_address(register, cells);
                    self.flag(register, None);
                }
            }
        }
    }

    /// Notes with a reference where the occupied cell is that says whether it still leads anywhere.
    fn flag(&mut self, reference: Reg, flag: Option<Reg>) {
        let dst = reference.saturating_add(1);
        match flag {
            Some(src) => self.emit(Op::Move { dst, src }),
            None => self.emit(Op::Const { dst, value: -1 }),
        }
    }

    /// Evaluates a value into cells of the frame, checked against their type.
    pub(super) fn write_value(&mut self, value: &Expr, cells: Reg, ty: TypeId) {
        if self.is_scalar(ty) {
            let scalar = self.scalar_or_undefined(value);
            let src = self.code(&scalar, ty, out_of_range(value.span));
            self.emit(Op::Move { dst: cells, src });
        } else {
            let from = self.composite(value, false);
            let to = self.address(Address::Frame(cells));
            self.emit(Op::Copy { to, from, length: self.size(ty) });
        }
    }
}

/// Whether a place is a bound local, which has no cell.
pub(super) fn is_bound(compiler: &Compiler<'_>, place: &shoal_model::Place) -> bool {
    match place.root {
        shoal_model::Root::Local(local) => matches!(compiler.slots[local.index()], LocalBinding::Bound(..)),
        shoal_model::Root::Var(_) => false,
    }
}
