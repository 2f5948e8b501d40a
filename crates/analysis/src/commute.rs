//! Whether the rounds of a loop may be executed in any order.
//!
//! The question behind it: in `for i: Proc do body end` the rounds are executed from the first element to the
//! last. If the elements are to be interchangeable, another order must lead to the same states and fault in the
//! same cases. That holds if any two rounds, for different elements, commute. Two rounds commute if no location
//! is written in the one and accessed in the other, except that two writes may meet if it does not matter which
//! is last:
//!
//! - both put there what does not depend on the round, under conditions that do not (`ready := false`);
//! - both put there the same value (`if s[i] = A then found := true end`);
//! - both are updates that commute: sums of one sign (then even *whether* a range is left does not depend on
//!   the order), disjunctions, conjunctions, the highest or the lowest of all, elements put into a bag.
//!
//! Locations at the index `i` are different in different rounds: that is how most loops pass. So are the entries of a bag
//! that equal `i`: counting or removing them is no business of other rounds, though adding some and removing others is,
//! as that decides whether the bag is full. A part of a variable of the code that every round writes before it reads it,
//! and that nobody reads after the loop, is as good as one that each round has for itself.
//!
//! A loop of a function is first looked at by itself, where its parameters may stand for anything. If that does not do, it
//! is looked at wherever the function is called.
//!
//! What is not told apart: *which* of several faults of a step comes first. A step that fails two assertions
//! in two rounds fails, in every order.

use shoal_model::{Expr, ExprKind, Model, Type, TypeId, print_expr};
use shoal_syntax::Span;

use crate::{
    effects::{
        AbstractValue, Access, AccessBase, AccessKind, AccessPath, AccessStep, CodeEffect, Deps, Footprint,
        LocalRef, Written, differ, of_other_types,
    },
    mutant::{self, AnalysisMutant},
};

/// Why rounds do not commute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) kind: ConflictKind,
    pub(crate) span: Span,
    pub(crate) reason: String,
}

/// The kinds of conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConflictKind {
    /// The last round decides what stays.
    LastWrite,
    /// A round uses what others write.
    CrossRead,
    /// Something that makes the order matter by itself, or that was not followed.
    Event(CodeEffect),
}

/// A round of a loop.
pub(crate) struct LoopRound<'r, 'a> {
    pub(crate) footprint: &'r Footprint<'a>,
    /// The variable of the loop.
    pub(crate) local: LocalRef,
    /// Activations from this one on belong to the round.
    pub(crate) own: u32,
}

/// Why the rounds of a loop do not commute; empty if they do. `is_live` says whether something may be read after the
/// loop that a round left at a location in a local.
pub(crate) fn conflicts(
    model: &Model,
    round: &LoopRound<'_, '_>,
    is_live: &mut dyn FnMut(&AccessPath) -> bool,
) -> Vec<Conflict> {
    let LoopRound { footprint, local, own } = *round;
    let written: Deps =
        footprint.accesses.iter().filter(|access| access.is_write()).filter_map(variable).collect();
    let is_own = |access: &Access<'_>| variable(access).is_some_and(|of| of.activation >= own);
    let mut private = Private { footprint, is_live, known: Vec::new() };
    let writes: Vec<&Access<'_>> = footprint
        .accesses
        .iter()
        .filter(|access| access.is_write() && !is_own(access) && !private.is_private(access))
        .collect();
    let reads = || {
        let seen = !mutant::is(AnalysisMutant::ReadsAreNotSeen);
        footprint.accesses.iter().filter(move |access| seen && !access.is_write() && !is_own(access))
    };
    let check = CommuteCheck { model, round: footprint, local, own, written };
    let mut found: Vec<Conflict> = footprint.events.iter().filter_map(|event| check.event(*event)).collect();
    if footprint.events.iter().any(|(event, _)| *event == CodeEffect::TooLarge) {
        return found;
    }
    for (position, write) in writes.iter().enumerate() {
        // A write also meets itself in another round.
        for other in writes[position..].iter().copied().chain(reads()) {
            if let Some(conflict) = check.pair(write, other)
                && !found.iter().any(|other| other.span == conflict.span && other.kind == conflict.kind)
            {
                found.push(conflict);
            }
        }
    }
    found
}

/// The local that an access is of, if it is of one.
fn variable(access: &Access<'_>) -> Option<LocalRef> {
    match access.location.base {
        AccessBase::Local(local) => Some(local),
        AccessBase::Var(_) | AccessBase::Referent(_) => None,
    }
}

/// Which writes to variables of the code around the loop are a round's own business: those of locations through which no
/// round hands anything to another or to what comes after the loop.
struct Private<'p, 'a> {
    footprint: &'p Footprint<'a>,
    is_live: &'p mut dyn FnMut(&AccessPath) -> bool,
    /// What is known of locations.
    known: Vec<(AccessPath, bool)>,
}

impl Private<'_, '_> {
    fn is_private(&mut self, write: &Access<'_>) -> bool {
        if variable(write).is_none() {
            return false;
        }
        if let Some((_, is)) = self.known.iter().find(|(known, _)| *known == write.location) {
            return *is;
        }
        let handed_on = self.footprint.accesses.iter().any(|access| access.exposes(&write.location));
        let handed_on = handed_on && !mutant::is(AnalysisMutant::RoundsHandNothingOn);
        let is =
            !handed_on && (mutant::is(AnalysisMutant::NobodyReadsLater) || !(self.is_live)(&write.location));
        self.known.push((write.location.clone(), is));
        is
    }
}

struct CommuteCheck<'a> {
    model: &'a Model,
    round: &'a Footprint<'a>,
    local: LocalRef,
    /// Activations from this one on belong to the round.
    own: u32,
    /// The locals that rounds write.
    written: Deps,
}

impl CommuteCheck<'_> {
    fn event(&self, (event, span): (CodeEffect, Span)) -> Option<Conflict> {
        let reason = match event {
            CodeEffect::Choose { may_be_empty: false } => return None,
            CodeEffect::Choose { may_be_empty: true } => {
                "a choice in the loop may have nothing to choose from, and whether that or a fault of another \
                 round comes first depends on their order"
                    .into()
            }
            CodeEffect::Return if mutant::is(AnalysisMutant::LeavingEarlyIsFine) => return None,
            CodeEffect::Return => "the loop is left early, so it depends on the order which rounds it has".into(),
            CodeEffect::Recursion(function) => format!(
                "the recursive procedure `{}` is called in the loop, and its effects are not followed",
                self.model.functions[function].name
            ),
            CodeEffect::Create => "elements are created in the order of the loop".into(),
            CodeEffect::Delete => "elements are deleted in the order of the loop".into(),
            CodeEffect::Assume => "whether an assumption in the loop or a fault of another round comes first depends \
                              on their order"
                .into(),
            CodeEffect::TooLarge => "the loop is too large to check with all that it calls".into(),
        };
        Some(Conflict { kind: ConflictKind::Event(event), span, reason })
    }

    /// What is wrong if the write belongs to one round and the other access to another.
    fn pair(&self, write: &Access<'_>, other: &Access<'_>) -> Option<Conflict> {
        if self.apart(write, other) {
            return None;
        }
        match (&write.action, &other.action) {
            (AccessKind::Write(a), AccessKind::Write(b)) if self.writes_agree((write, a), (other, b)) => None,
            (AccessKind::Write(_), AccessKind::Write(_)) => Some(self.last_write(other)),
            _ => Some(self.cross_read(other)),
        }
    }

    fn writes_agree(&self, a: (&Access<'_>, &Written), b: (&Access<'_>, &Written)) -> bool {
        use Written as W;
        match (a.1, b.1) {
            (W::Value(of_a), W::Value(of_b)) if of_a == of_b && self.is_same_in_all_rounds(of_a) => true,
            (W::Copy(of_a), W::Copy(of_b)) if of_a == of_b && self.stays_the_same(of_a) => true,
            (W::Undefined, W::Undefined) | (W::Least, W::Least) => true,
            (of_a, of_b) if of_a.replaces() && of_b.replaces() => {
                !self.depends_on_round(a.0) && !self.depends_on_round(b.0)
            }
            (W::Increased, W::Increased)
            | (W::Decreased, W::Decreased)
            | (W::Raised, W::Raised)
            | (W::Lowered, W::Lowered)
            | (W::Highest, W::Highest)
            | (W::Lowest, W::Lowest)
            | (W::Added, W::Added)
            | (W::Removed, W::Removed) => true,
            (W::Added, W::Removed) | (W::Removed, W::Added) => mutant::is(AnalysisMutant::BagsDoNotMeet),
            (W::Increased, W::Decreased) | (W::Decreased, W::Increased) => {
                mutant::is(AnalysisMutant::SignsDoNotMatter)
            }
            _ => false,
        }
    }

    /// Whether the access may be done in one round and not in another, or done differently.
    fn depends_on_round(&self, access: &Access<'_>) -> bool {
        access
            .deps
            .iter()
            .any(|dep| *dep == self.local || self.written.contains(dep) || self.round.chosen.contains(dep))
    }

    fn is_same_in_all_rounds(&self, sym: &AbstractValue) -> bool {
        match sym {
            AbstractValue::Const(_) => true,
            // A local of a call belongs to the round that makes the call.
            AbstractValue::Fixed(local) => {
                local.activation < self.own && *local != self.local && !self.round.bound.contains(local)
            }
            AbstractValue::Unknown => mutant::is(AnalysisMutant::UnknownIsTheSame),
        }
    }

    /// Whether a slot was found before the loop, so that something is in it that no round has put there.
    fn is_of_before(&self, slot: &AbstractValue) -> bool {
        match slot {
            AbstractValue::Fixed(_) => self.is_same_in_all_rounds(slot),
            AbstractValue::Const(_) | AbstractValue::Unknown => false,
        }
    }

    /// Whether all rounds find the same at a location. (If it is of the state and rounds write it, reading it
    /// is a conflict by itself.)
    fn stays_the_same(&self, location: &AccessPath) -> bool {
        let base_stays = match location.base {
            AccessBase::Local(local) => {
                !self.written.contains(&local) && self.is_same_in_all_rounds(&AbstractValue::Fixed(local))
            }
            AccessBase::Var(_) | AccessBase::Referent(_) => true,
        };
        base_stays
            && location.path.iter().filter_map(AccessStep::sym).all(|sym| self.is_same_in_all_rounds(sym))
    }

    /// Whether the two accesses, in different rounds, surely are of different locations.
    fn apart(&self, a: &Access<'_>, b: &Access<'_>) -> bool {
        match self.alias(&a.location, &b.location) {
            Aliasing::Never => true,
            Aliasing::Perhaps => false,
            Aliasing::SameBase => {
                let steps = a.location.path.iter().zip(&b.location.path);
                steps.into_iter().any(|(of_a, of_b)| self.steps_apart((a, of_a), (b, of_b)))
            }
        }
    }

    fn steps_apart(&self, a: (&Access<'_>, &AccessStep), b: (&Access<'_>, &AccessStep)) -> bool {
        match (a.1, b.1) {
            (AccessStep::Field(of_a), AccessStep::Field(of_b)) => return of_a != of_b,
            // What a bag holds of a value, and how much more it can hold.
            (AccessStep::Entry(_), AccessStep::Room) | (AccessStep::Room, AccessStep::Entry(_)) => {
                return true;
            }
            (AccessStep::Entry(_), AccessStep::Entry(_)) => {}
            // What is put into a bag takes the place of nothing that is there.
            (AccessStep::Slot(slot), AccessStep::Entry(_) | AccessStep::Room) => {
                return adds(b.0) && self.is_of_before(slot);
            }
            (AccessStep::Entry(_) | AccessStep::Room, AccessStep::Slot(slot)) => {
                return adds(a.0) && self.is_of_before(slot);
            }
            (AccessStep::Entry(_) | AccessStep::Room, _) | (_, AccessStep::Entry(_) | AccessStep::Room) => {
                return false;
            }
            _ => {}
        }
        let (Some(of_a), Some(of_b)) = (a.1.sym(), b.1.sym()) else { return false };
        let round = AbstractValue::Fixed(self.local);
        let other_types = || of_other_types(self.model, (&a.0.facts, of_a), (&b.0.facts, of_b));
        // What is known of the round is known of the round that the access is in.
        let of_all = |access: &Access<'_>| {
            mutant::is(AnalysisMutant::FactsOfAllRounds) && differ(&access.facts, of_a, of_b)
        };
        let differ_by = |access: &Access<'_>| differ(&access.facts, of_a, of_b) || of_all(a.0) || of_all(b.0);
        match (*of_a == round, *of_b == round) {
            _ if mutant::is(AnalysisMutant::IndicesDiffer) => true,
            (true, true) => true,
            (true, false) => self.is_same_in_all_rounds(of_b) && (differ_by(a.0) || other_types()),
            (false, true) => self.is_same_in_all_rounds(of_a) && (differ_by(b.0) || other_types()),
            (false, false) => match (of_a, of_b) {
                (AbstractValue::Const(of_a), AbstractValue::Const(of_b)) => of_a != of_b,
                _ => {
                    self.is_same_in_all_rounds(of_a)
                        && self.is_same_in_all_rounds(of_b)
                        && (differ_by(a.0) || differ_by(b.0) || other_types())
                }
            },
        }
    }

    fn alias(&self, a: &AccessPath, b: &AccessPath) -> Aliasing {
        match (a.base, b.base) {
            (of_a, of_b) if of_a == of_b => Aliasing::SameBase,
            (AccessBase::Referent(_), AccessBase::Var(_) | AccessBase::Referent(_))
            | (AccessBase::Var(_), AccessBase::Referent(_)) => self.alias_by_type(a.ty, b.ty),
            _ => Aliasing::Never,
        }
    }

    /// What a reference of unknown target may have to do with a base of some type. No type contains itself,
    /// so two bases of the same type are the same or have nothing in common.
    fn alias_by_type(&self, a: TypeId, b: TypeId) -> Aliasing {
        if self.model.same_values(a, b) {
            Aliasing::SameBase
        } else if self.is_part(a, b) || self.is_part(b, a) {
            Aliasing::Perhaps
        } else {
            Aliasing::Never
        }
    }

    /// Whether a location of type `whole` may have one of type `part` in it.
    fn is_part(&self, part: TypeId, whole: TypeId) -> bool {
        self.model.same_values(part, whole)
            || match self.model.kind(whole) {
                Type::Record { fields } => fields.iter().any(|field| self.is_part(part, field.ty)),
                Type::Array { element, .. }
                | Type::Multiset { element, .. }
                | Type::Sequence { element, .. } => self.is_part(part, *element),
                _ => false,
            }
    }

    fn last_write(&self, access: &Access<'_>) -> Conflict {
        let name = self.name(access);
        let reason = match &access.action {
            AccessKind::Write(written) if written.replaces() => {
                format!("`{name}` gets a value that depends on which element comes last in the loop")
            }
            _ => format!("`{name}` is changed in a way that depends on the order of the loop"),
        };
        Conflict { kind: ConflictKind::LastWrite, span: access.span, reason }
    }

    fn cross_read(&self, access: &Access<'_>) -> Conflict {
        let reason = format!("reads `{}`, which other rounds of the loop write", self.name(access));
        Conflict { kind: ConflictKind::CrossRead, span: access.span, reason }
    }

    fn name(&self, access: &Access<'_>) -> String {
        let place = access.place;
        let read = Expr { kind: ExprKind::Read(place.clone()), ty: place.ty, span: place.span };
        print_expr(self.model, access.locals, &read)
    }
}

/// Whether the access puts something into a bag.
fn adds(access: &Access<'_>) -> bool {
    access.action == AccessKind::Write(Written::Added)
}

enum Aliasing {
    Never,
    Perhaps,
    SameBase,
}
