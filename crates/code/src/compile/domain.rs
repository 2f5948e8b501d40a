//! Loops over domains: of quantifiers, of `for`, of rule parameters; and choices.

use shoal_model::{Domain, Expr, LocalId, Model, OrInternal, Quantifier, Type, TypedId, internal};
use shoal_syntax::Span;

use super::{Compiler, JumpLabel, LocalBinding};
use crate::code::{FALSE, Op, Reg, Shown, TRUE};

/// A domain that has been evaluated, with a register for its values.
#[derive(Clone, Copy, Debug)]
pub(super) struct DomainLoop {
    pub(super) counter: Reg,
    pub(super) shown: Shown,
    pub(super) over: Over,
}

/// What a loop counts through.
#[derive(Clone, Copy, Debug)]
pub(super) enum Over {
    /// All numbers from the first to the last, both fixed.
    Fixed { first: i64, last: i64 },
    /// A range whose end and step stand in the registers after the counter.
    Range,
    /// The marked groups of a multiset.
    Marks { marks: Reg, capacity: u32, address: Reg, bag: u32 },
}

impl Compiler<'_> {
    /// Evaluates a domain.
    pub(super) fn domain(&mut self, domain: &Domain) -> DomainLoop {
        match domain {
            Domain::Type(_) => {
                let (first, last, shown) =
                    fixed_domain(self.model, domain).or_internal("types have fixed values");
                DomainLoop { counter: self.temp(), shown, over: Over::Fixed { first, last } }
            }
            Domain::Range { from, to, by } => {
                if let Some((first, last, shown)) = fixed_domain(self.model, domain) {
                    return DomainLoop { counter: self.temp(), shown, over: Over::Fixed { first, last } };
                }
                let counter = self.alloc(3);
                for (register, expr) in (counter..).zip([from, to, by]) {
                    let mark = self.next;
                    let src = self.integer(expr);
                    self.emit(Op::Move { dst: register, src });
                    self.next = mark;
                }
                let site = self.site(by.span);
                self.emit(Op::CheckStep { step: counter.saturating_add(2), site });
                DomainLoop { counter, shown: Shown::Raw, over: Over::Range }
            }
            Domain::Slots(place) => {
                let capacity = match self.model.kind(place.ty) {
                    Type::Multiset { capacity, .. } => *capacity,
                    other => internal!("slots of {other:?}"),
                };
                let counter = self.temp();
                let address = self.temp();
                let marks = self.alloc(capacity);
                let mark = self.next;
                let found = self.place(place);
                let src = self.address(found);
                self.emit(Op::Move { dst: address, src });
                let bag = self.bag(place.ty);
                self.emit(Op::BagScan { marks, address, bag });
                self.next = mark;
                DomainLoop { counter, shown: Shown::Raw, over: Over::Marks { marks, capacity, address, bag } }
            }
        }
    }

    /// Binds a local to the values of a loop.
    pub(super) fn bind_to(&mut self, local: LocalId, over: &DomainLoop) {
        self.slots[local.index()] = LocalBinding::Bound(over.counter, over.shown);
    }

    /// Runs `body` for each value; it may jump to the first label to go on with the next value, and to the
    /// second to leave the loop.
    pub(super) fn each(&mut self, over: &DomainLoop, body: impl FnOnce(&mut Self, JumpLabel, JumpLabel)) {
        let (next, end) = (self.label(), self.label());
        let counter = over.counter;
        let before = self.work;
        match over.over {
            Over::Fixed { first, last } => {
                if first <= last {
                    self.emit(Op::Const { dst: counter, value: first });
                    let again = self.bound_label();
                    body(self, next, end);
                    self.bind(next);
                    self.end_round(before, last.abs_diff(first).checked_add(1));
                    self.count_up(counter, last, again);
                }
            }
            Over::Range => {
                let again = self.bound_label();
                self.emit(Op::LeaveRange { counter, to: end.0 });
                body(self, next, end);
                self.bind(next);
                self.end_round(before, None);
                self.emit(Op::NextInRange { counter, to: again.0 });
            }
            Over::Marks { marks, capacity, .. } => {
                if capacity > 0 {
                    self.emit(Op::Const { dst: counter, value: 0 });
                    let again = self.bound_label();
                    self.emit(Op::JumpUnmarked { marks, position: counter, to: next.0 });
                    body(self, next, end);
                    self.bind(next);
                    self.end_round(before, Some(u64::from(capacity)));
                    self.count_up(counter, i64::from(capacity) - 1, again);
                }
            }
        }
        self.bind(end);
    }

    pub(super) fn count_up(&mut self, counter: Reg, last: i64, again: JumpLabel) {
        if let Ok(last) = i32::try_from(last) {
            self.emit(Op::Next { counter, last, to: again.0 });
            return;
        }
        let done = self.label();
        let last = self.constant(last);
        self.emit(Op::JumpAtMost { left: last, right: counter, to: done.0 });
        self.emit(Op::Offset { dst: counter, src: counter, add: 1 });
        self.jump(again);
        self.bind(done);
    }

    /// `forall` and `exists`, as a truth value.
    pub(super) fn quantified(
        &mut self,
        quantifier: Quantifier,
        local: LocalId,
        domain: &Domain,
        body: &Expr,
    ) -> Reg {
        let all = quantifier == Quantifier::Forall;
        let dst = self.constant(if all { TRUE } else { FALSE });
        let mark = self.next;
        let over = self.domain(domain);
        self.bind_to(local, &over);
        let to_the_end = looks_at_all(self.model, domain);
        self.each(&over, |this, next, end| {
            this.branch(body, all, next);
            this.emit(Op::Const { dst, value: if all { FALSE } else { TRUE } });
            if !to_the_end {
                this.jump(end);
            }
        });
        self.next = mark;
        dst
    }

    /// How many values satisfy the body.
    pub(super) fn count(&mut self, local: LocalId, domain: &Domain, body: &Expr) -> Reg {
        let dst = self.constant(0);
        let mark = self.next;
        let over = self.domain(domain);
        self.bind_to(local, &over);
        self.each(&over, |this, next, _| {
            this.branch(body, false, next);
            this.emit(Op::Offset { dst, src: dst, add: 1 });
        });
        self.next = mark;
        dst
    }

    /// Takes any value of a domain. The register stays taken.
    pub(super) fn choose(&mut self, local: LocalId, domain: &Domain, span: Span) {
        let over = self.domain(domain);
        let counter = over.counter;
        let mark = self.next;
        match over.over {
            Over::Fixed { first, last } => {
                let count =
                    last.checked_sub(first).and_then(|count| count.checked_add(1)).unwrap_or(i64::MAX);
                let count = self.constant(count);
                self.emit(Op::Choose { dst: counter, count });
                self.emit(Op::Offset { dst: counter, src: counter, add: first });
                if let Domain::Type(ty) = domain {
                    self.must_be_there(*ty, counter);
                }
            }
            Over::Range => {
                let (count, index) = (self.temp(), self.temp());
                self.emit(Op::CountRange { dst: count, counter });
                self.emit(Op::Choose { dst: index, count });
                let (site, step) = (self.site(span), counter.saturating_add(2));
                let binary = shoal_model::BinaryOp::Mul;
                self.emit(Op::Binary { op: binary, dst: index, left: index, right: step, site });
                self.emit(Op::Add { dst: counter, left: counter, right: index, site });
            }
            Over::Marks { marks, capacity, .. } => {
                let count = self.temp();
                self.emit(Op::CountMarks { dst: count, marks, length: capacity });
                self.emit(Op::Choose { dst: counter, count });
                self.emit(Op::SelectMark { index: counter, marks, length: capacity });
            }
        }
        self.program.choices.push(over.shown);
        let choice = self.program.choices.len() as u32 - 1;
        self.emit(Op::Chosen { src: counter, choice });
        self.next = mark;
        self.bind_to(local, &over);
    }

    /// The value that a loop gives first, if the loop is fixed and not empty.
    pub(super) fn first_value(over: &DomainLoop) -> Option<i64> {
        match over.over {
            Over::Fixed { first, last } if first <= last => Some(first),
            _ => None,
        }
    }
}

/// The first and the last content of the register of a domain that needs no evaluation.
pub(super) fn fixed_domain(model: &Model, domain: &Domain) -> Option<(i64, i64, Shown)> {
    let constant = |expr: &Expr| match &expr.kind {
        shoal_model::ExprKind::Const(value) => value.as_int(),
        _ => None,
    };
    match domain {
        Domain::Type(ty) => Some(match model.kind(*ty) {
            Type::Int { lo, hi } => (*lo, *hi, Shown::Raw),
            _ => (1, model.cardinality(*ty).or_internal("a domain that is finite") as i64, Shown::Code(*ty)),
        }),
        Domain::Range { from, to, by } if constant(by) == Some(1) => {
            Some((constant(from)?, constant(to)?, Shown::Raw))
        }
        _ => None,
    }
}

/// Whether a quantifier looks at all values even if the answer is known: their order must not matter.
fn looks_at_all(model: &Model, domain: &Domain) -> bool {
    match domain {
        Domain::Type(ty) => !model.sorts_of(*ty).is_empty(),
        Domain::Range { .. } => false,
        Domain::Slots(_) => true,
    }
}
