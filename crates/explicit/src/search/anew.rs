//! When a search begins anew, as it has seen that another would do better.
//!
//! To find and prove automorphisms takes time that most models are not worth: they are searched before anybody has looked. So a
//! search begins without them, and looks once it is large, with an effort that grows with the states there are. What it
//! finds then is what it begins anew with. And where no steps are put off, looking for such steps costs and gains nothing.

use std::ops::ControlFlow;

use shoal_automorphism::{Automorphisms, automorphisms};
use shoal_model::{Job, Model, Order, PropertyId, PropertyKind, Reduction};

use super::{Search, total};

/// With how many states it is looked for automorphisms, and how much of what can be done is done for it then.
const LOOKS: [(u64, u64); 3] =
    [(1 << 15, FULL_EFFORT / 16), (1 << 17, FULL_EFFORT / 4), (1 << 19, FULL_EFFORT)];
const FULL_EFFORT: u64 = shoal_automorphism::MOST_EFFORT;
/// After so many states it is seen whether steps are put off; it pays if they are in one of so many.
const ORDER_JUDGED: u64 = 1 << 13;
const ORDER_PAYS: u64 = 64;

/// How a search begins anew.
pub(super) enum AnewWith {
    /// Reduced by automorphisms.
    Mirrors(FoundMirrors),
    /// With steps in all orders.
    AllOrders,
}

/// What a search without automorphisms has found out.
pub(super) struct FoundMirrors {
    pub(super) mirrors: Automorphisms,
    /// How many states it had.
    pub(super) states: u64,
}

/// Whether a search can be reduced by automorphisms: by what is asked, and how.
pub(super) fn may_mirror(model: &Model, job: &Job) -> bool {
    let is_followed = |property: &PropertyId| match &model.properties[*property].kind {
        PropertyKind::Invariant(_)
        | PropertyKind::Assertion
        | PropertyKind::NoFaults
        | PropertyKind::Bound
        | PropertyKind::Deadlock(_)
        | PropertyKind::Assume(_)
        | PropertyKind::Cover(_)
        | PropertyKind::CoverDeadlock(_) => true,
        PropertyKind::AlwaysPossible(_)
        | PropertyKind::Temporal(..)
        | PropertyKind::Extreme(_)
        | PropertyKind::Unclear(_) => false,
    };
    let walks = matches!(job.strategy.order, Order::Walk { .. } | Order::Backward);
    !walks && job.checked.is_empty() && job.properties.iter().all(is_followed)
}

/// The automorphisms that are found with some effort, or with all that is ever spent.
pub(super) fn mirrors(model: &Model, job: &Job, effort: Option<u64>) -> Option<Automorphisms> {
    let is_given =
        |property: &PropertyId| matches!(model.properties[*property].kind, PropertyKind::Assume(_));
    let given = model.properties.ids().filter(is_given);
    let mut properties: Vec<PropertyId> = given.chain(job.properties.iter().copied()).collect();
    properties.sort_unstable();
    properties.dedup();
    automorphisms(model, &properties, &job.watch, effort.unwrap_or(FULL_EFFORT)).ok()
}

impl Search<'_, '_> {
    /// Ends the search if another is better. Once something is wrong, what is left is not worth it.
    pub(super) fn look_for_better(&mut self) -> ControlFlow<()> {
        if self.give_up_at.is_some() {
            return ControlFlow::Continue(());
        }
        if self.may_reorder && self.expanded >= ORDER_JUDGED {
            self.may_reorder = false;
            if self.statistics.put_off * ORDER_PAYS < self.expanded {
                self.anew = Some(AnewWith::AllOrders);
                return ControlFlow::Break(());
            }
        }
        let states = total(&self.lengths);
        let due = LOOKS.get(self.looks).filter(|(at, _)| self.may_mirror && states >= *at);
        let Some((_, effort)) = due else { return ControlFlow::Continue(()) };
        self.looks += 1;
        match mirrors(self.shared.model, self.job, Some(*effort)) {
            Some(mirrors) => {
                self.anew = Some(AnewWith::Mirrors(FoundMirrors { mirrors, states }));
                ControlFlow::Break(())
            }
            None => ControlFlow::Continue(()),
        }
    }

    /// Notes by what states are reduced, and how many there were before that was known.
    pub(super) fn is_mirrored_by(&mut self, mirrors: &Automorphisms, before: Option<u64>) {
        let reductions = &mut self.statistics.reductions;
        reductions.retain(|reduction| !matches!(reduction, Reduction::Symmetry(_)));
        reductions.insert(0, Reduction::Automorphisms(mirrors.which.clone()));
        let anew =
            |states| format!("automorphisms were found after {states} states, and the search began anew");
        self.statistics.notes.extend(before.map(anew));
    }
}
