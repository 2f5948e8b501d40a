//! Places: from a path to an address.

use shoal_model::{
    Argument, Expr, ExprKind, FaultKind, Model, Node, Place, Projection, Root, Stmt, StmtKind, Type, TypeId,
    TypedId,
};
use shoal_syntax::Span;

use super::{
    Compiler, LocalBinding, element,
    scalar::{Form, Scalar, constant_code},
};
use crate::code::{Op, Outside, Reg};

/// Where a value is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Address {
    /// A fixed cell of the state.
    Fixed(u32),
    /// A cell of the state: `base + index * stride`.
    Indexed { base: i32, index: Reg, stride: u16 },
    /// A fixed cell of the frame.
    Frame(Reg),
    /// An address in a register, and an offset.
    At { address: Reg, offset: u32 },
}

impl Compiler<'_> {
    /// Finds a place to read or write what is there: evaluates the indices on its path.
    pub(super) fn place(&mut self, place: &Place) -> Address {
        let (address, unchecked) = self.locate(place);
        if place.path.is_empty() {
            self.occupied(unchecked, place.span);
        }
        address
    }

    /// Finds a place, and the register with the address of the occupied cell if it leads into a multiset.
    /// If nothing but a reference is followed, it is not yet known whether that still leads anywhere.
    pub(super) fn locate(&mut self, place: &Place) -> (Address, Option<Reg>) {
        let (mut address, mut ty) = self.root(place.root);
        let mut flag = match place.root {
            Root::Local(local) => match self.slots[local.index()] {
                LocalBinding::Address { reg, into_bag: true } => Some(reg.saturating_add(1)),
                _ => None,
            },
            Root::Var(_) => None,
        };
        let mut unchecked = flag;
        for projection in &place.path {
            (address, ty) = match (projection, self.model.kind(ty)) {
                (Projection::Field(field), Type::Record { fields }) => {
                    let before: u32 =
                        fields.iter().take(*field as usize).map(|field| self.size(field.ty)).sum();
                    let ty = fields.get(*field as usize).map_or(ty, |field| field.ty);
                    self.occupied(unchecked.take(), place.span);
                    (self.shift(address, before), ty)
                }
                (Projection::Index(index), Type::Array { index: of, element }) => {
                    let scalar = self.scalar(index);
                    let address = self.step(address, &scalar, *of, self.size(*element), index.span);
                    self.occupied(unchecked.take(), index.span);
                    (address, *element)
                }
                (Projection::Slot(slot), Type::Multiset { .. }) => {
                    let position = self.scalar(slot);
                    let position = self.raw(&position);
                    let address = self.address(address);
                    let (dst, bag) = (self.temp(), self.bag(ty));
                    let site = self.site(slot.span);
                    self.emit(Op::BagElement { dst, address, position, bag, site });
                    let occupied = self.temp();
                    self.emit(Op::Offset { dst: occupied, src: dst, add: -1 });
                    flag = Some(occupied);
                    (Address::At { address: dst, offset: 0 }, element(self.model, ty))
                }
                // A verified model has no other paths.
                _ => (address, ty),
            };
        }
        (address, flag)
    }

    fn occupied(&mut self, flag: Option<Reg>, span: Span) {
        if let Some(flag) = flag {
            let site = self.site(span);
            self.emit(Op::Occupied { flag, site });
        }
    }

    fn root(&mut self, root: Root) -> (Address, TypeId) {
        match root {
            Root::Var(var) => (Address::Fixed(self.layout.var(var)), self.model.vars[var].ty),
            Root::Local(local) => {
                let ty = self.locals[local].ty;
                let address = match self.slots[local.index()] {
                    LocalBinding::Cells(reg) => Address::Frame(reg),
                    LocalBinding::Address { reg, .. } => Address::At { address: reg, offset: 0 },
                    // Someone wants the address of a bound value: it gets a cell.
                    LocalBinding::Bound(reg, shown) => {
                        let scalar = Scalar::shown(reg, shown, ty);
                        let outside = Outside::Fault(FaultKind::OutOfRange, self.locals[local].span);
                        let src = self.code(&scalar, ty, outside);
                        let dst = self.temp();
                        self.emit(Op::Move { dst, src });
                        Address::Frame(dst)
                    }
                    LocalBinding::Nothing => Address::Frame(self.constant(0)),
                };
                (address, ty)
            }
        }
    }

    /// The address so many cells further on.
    pub(super) fn shift(&mut self, address: Address, by: u32) -> Address {
        match address {
            Address::Fixed(base) => Address::Fixed(base + by),
            Address::Indexed { base, index, stride } => {
                Address::Indexed { base: base + by as i32, index, stride }
            }
            Address::Frame(reg) => Address::Frame(reg.saturating_add(by as Reg)),
            Address::At { address, offset } => Address::At { address, offset: offset + by },
        }
    }

    /// The address of the element of an array at an index.
    fn step(&mut self, address: Address, index: &Scalar, of: TypeId, stride: u32, span: Span) -> Address {
        if let Form::Const(value) = &index.form {
            return match constant_code(self.model, of, value) {
                Some(code) => self.shift(address, (code - 1) as u32 * stride),
                None if *value == shoal_model::Value::Null => {
                    self.fault(FaultKind::NullReference, span);
                    address
                }
                None => {
                    self.fault(FaultKind::IndexOutOfRange, span);
                    address
                }
            };
        }
        let (index, bias) = self.position(index, of, span);
        self.must_exist(of, (index, bias), span);
        let bias = bias * i64::from(stride);
        match (address, u16::try_from(stride)) {
            (Address::Fixed(base), Ok(stride)) => {
                // States have fewer than 2^22 cells.
                Address::Indexed { base: (i64::from(base) + bias) as i32, index, stride }
            }
            (address, _) => {
                let address = self.address(address);
                let scaled = self.temp();
                self.emit(Op::Scale { dst: scaled, index, stride, bias: bias as i32 });
                let dst = self.temp();
                self.emit(Op::Join { dst, left: address, right: scaled });
                Address::At { address: dst, offset: 0 }
            }
        }
    }

    /// The address in a register.
    pub(super) fn address(&mut self, address: Address) -> Reg {
        let dst = self.temp();
        match address {
            Address::Fixed(base) => self.emit(Op::Const { dst, value: i64::from(base) }),
            Address::Indexed { base, index, stride } => {
                self.emit(Op::Scale { dst, index, stride: u32::from(stride), bias: base })
            }
            Address::Frame(offset) => self.frame_address(dst, offset),
            Address::At { address, offset } => {
                self.emit(Op::Offset { dst, src: address, add: i64::from(offset) });
            }
        }
        dst
    }

    /// The address of a cell of the frame, which is one of the registers given out together most recently.
    pub(super) fn frame_address(&mut self, dst: Reg, offset: Reg) {
        let at = u32::from(offset);
        let around = self.given.iter().rev().find(|(first, count)| *first <= at && at < first + count);
        // An empty value has no cell to reach.
        let (first, length) = around.copied().unwrap_or((at, 0));
        self.emit(Op::FrameAddress { dst, offset, first: first as Reg, length });
    }

    /// The code in a cell, undefined or not.
    pub(super) fn peek(&mut self, address: Address) -> Reg {
        let dst = self.temp();
        self.emit(match address {
            Address::Fixed(base) => Op::Peek { dst, base },
            Address::Indexed { base, index, stride } => Op::PeekIndexed { dst, index, stride, base },
            // A copy: the variable may change before the value is used.
            Address::Frame(src) => Op::Move { dst, src },
            Address::At { address, offset } => Op::PeekAt { dst, address, offset },
        });
        dst
    }

    /// The code in a cell that must not be undefined.
    pub(super) fn load(&mut self, address: Address, span: Span) -> Reg {
        let site = self.site(span);
        let dst = self.temp();
        match address {
            Address::Fixed(base) => self.emit(Op::Load { dst, base, site }),
            Address::Indexed { base, index, stride } => {
                self.emit(Op::LoadIndexed { dst, index, stride, base, site });
            }
            Address::Frame(src) => {
                self.emit(Op::Move { dst, src });
                self.emit(Op::Defined { src: dst, site });
            }
            Address::At { address, offset } => self.emit(Op::LoadAt { dst, address, offset, site }),
        }
        dst
    }

    /// Writes a code.
    pub(super) fn store(&mut self, address: Address, src: Reg) {
        self.emit(match address {
            Address::Fixed(base) => Op::Store { src, base },
            Address::Indexed { base, index, stride } => Op::StoreIndexed { src, index, stride, base },
            Address::Frame(dst) => Op::Move { dst, src },
            Address::At { address, offset } => Op::StoreAt { src, address, offset },
        });
    }
}

/// Whether some reference of the model leads into a multiset.
pub(super) fn refers_to_slots(model: &Model) -> bool {
    let mut found = false;
    let mut visit = |argument: &Argument| {
        if let Argument::Place(place) = argument {
            found |= place.path.iter().any(|step| matches!(step, Projection::Slot(_)));
        }
    };
    let rules = || model.rules.iter().chain(model.starts.iter());
    rules().flat_map(|rule| &rule.bindings).for_each(|binding| visit(&binding.to));
    let functions = model.functions.iter().map(|function| &function.code);
    for code in rules().map(|rule| &rule.code).chain(functions) {
        shoal_model::walk_code(code, &mut |node| match node {
            Node::Stmt(Stmt { kind: StmtKind::Bind(bindings), .. }) => {
                bindings.iter().for_each(|binding| visit(&binding.to));
            }
            Node::Stmt(Stmt { kind: StmtKind::Call(_, arguments), .. })
            | Node::Expr(Expr { kind: ExprKind::Call(_, arguments), .. }) => {
                arguments.iter().for_each(&mut visit)
            }
            _ => {}
        });
    }
    found
}
