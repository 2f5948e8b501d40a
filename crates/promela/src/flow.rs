//! Control flow: from the statements of a proctype to locations and the steps between them.
//!
//! The state spaces of SPIN are counted in its own control locations, so these are the same: every statement is a
//! location, an `if` or `do` is one that has the first statements of its options as steps, a block is one that has the
//! steps of its first statement, and jumps are followed at once, except out of an atomic sequence.

mod build;
mod merge;

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use shoal_syntax::Span;

use crate::ast::{Label, LabelId, StmtKind};

pub(crate) use build::flow;
pub(crate) use merge::Merging;

/// Which element. Elements are locations and, but for composite ones, steps.
pub(crate) type ElementId = usize;

/// Statements of a proctype as elements that follow each other.
#[derive(Debug, Default)]
pub(crate) struct ProctypeFlow {
    pub(crate) elements: Vec<FlowElement>,
    pub(crate) labels: Vec<(Label, ElementId)>,
    /// Where a process begins.
    pub(crate) start: ElementId,
    /// Where it ends.
    pub(crate) end: ElementId,
    /// The functions that it may call: where each begins, and where its elements begin and end.
    functions: Vec<(ElementId, std::ops::Range<ElementId>)>,
    /// The elements that stand in a `d_step`.
    in_d_step: HashSet<ElementId>,
    /// The steps that are taken together with a step before them, in their order.
    merged: HashMap<ElementId, Vec<ElementId>>,
}

#[derive(Debug)]
pub(crate) struct FlowElement {
    pub(crate) kind: ElementKind,
    pub(crate) span: Span,
    /// The number that SPIN gives it, which `pc_value` says; 0 for what SPIN has no element for.
    pub(crate) number: u32,
    next: Option<ElementId>,
    /// Whether what follows belongs to the same atomic sequence.
    atomic: bool,
    /// Whether it is the last of an atomic sequence.
    last_of_atomic: bool,
    /// The beginnings of what can escape from here, the strongest first.
    escapes: Vec<Sequence>,
}

#[derive(Clone, Debug)]
pub(crate) enum ElementKind {
    /// A statement that is one step.
    Basic(Box<StmtKind>),
    /// A jump.
    Goto(Option<LabelId>),
    /// A `break`, to the element after its loop.
    Leave(ElementId),
    /// Where options meet, or a loop ends.
    Meet,
    If(Vec<Sequence>),
    Do(Vec<Sequence>),
    Unless(Sequence, Sequence),
    Atomic(Sequence),
    Block(Sequence),
    /// A deterministic sequence, which ends at the element named second.
    DStep(Sequence, ElementId),
    /// The end of a `d_step`.
    Exit,
    /// The end of the proctype.
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sequence {
    pub(crate) first: ElementId,
    last: ElementId,
}

/// A step that may be taken at a location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outgoing {
    pub(crate) element: ElementId,
    /// Steps that must not be possible: those that escape from here.
    pub(crate) unless: Vec<ElementId>,
}

/// Deeper than programs can be nested: only jumps in a circle, which have no steps of their own, lead so deep.
const DEEPEST: usize = 400;

impl ProctypeFlow {
    /// The element that a label names for other processes. Where several expansions of an inline have the same label, that
    /// is the last of them, as in SPIN.
    pub(crate) fn label(&self, name: &str) -> Option<ElementId> {
        self.labels.iter().rfind(|(label, _)| *label.name.node == *name).map(|(_, element)| *element)
    }

    /// The calls.
    pub(crate) fn calls(&self) -> Vec<ElementId> {
        let is_call = |element: &FlowElement| matches!(&element.kind, ElementKind::Basic(kind) if matches!(**kind, StmtKind::Call(..)));
        (0..self.elements.len()).filter(|id| is_call(&self.elements[*id])).collect()
    }

    /// The function that an element belongs to.
    pub(crate) fn function_of(&self, element: ElementId) -> Option<usize> {
        self.functions.iter().position(|(_, elements)| elements.contains(&element))
    }

    /// Where a function begins.
    pub(crate) fn function_start(&self, function: usize) -> ElementId {
        self.functions.get(function).map_or(self.end, |(first, _)| self.hunt(*first, false))
    }

    fn returns(&self, element: ElementId) -> bool {
        matches!(&self.elements[element].kind, ElementKind::Basic(kind) if matches!(**kind, StmtKind::Return(_)))
    }

    /// The element that a jump leads to.
    fn destination(&self, label: Option<LabelId>) -> Option<ElementId> {
        let wanted = label?;
        self.labels.iter().find(|(label, _)| label.id == wanted).map(|(_, element)| *element)
    }

    /// Follows jumps and meeting points from an element to the one where a process waits. Jumps out of an atomic
    /// sequence are steps of it.
    pub(crate) fn hunt(&self, from: ElementId, atomic: bool) -> ElementId {
        self.hunt_for(from, atomic, &mut self.elements.len().min(2 * DEEPEST))
    }

    /// The same, for so many jumps at most: they may lead in a circle, also through the `unless` that they are in.
    fn hunt_for(&self, from: ElementId, atomic: bool, jumps: &mut usize) -> ElementId {
        let mut at = from;
        while *jumps > 0 {
            *jumps -= 1;
            let next = match &self.elements[at].kind {
                ElementKind::Goto(label) => self.destination(*label),
                ElementKind::Leave(target) => Some(*target),
                ElementKind::Meet => self.elements[at].next,
                ElementKind::Unless(main, _) => Some(self.hunt_for(main.first, atomic, jumps)),
                _ => return at,
            };
            let Some(next) = next else { return at };
            if atomic && !self.elements[next].atomic {
                return at;
            }
            at = next;
        }
        at
    }

    /// The steps that are taken together with one.
    pub(crate) fn merged_with(&self, step: ElementId) -> &[ElementId] {
        self.merged.get(&step).map_or(&[], Vec::as_slice)
    }

    fn last_merged(&self, step: ElementId) -> ElementId {
        self.merged_with(step).last().copied().unwrap_or(step)
    }

    /// Where a step leads.
    pub(crate) fn target(&self, step: ElementId) -> ElementId {
        let step = self.last_merged(step);
        let element = &self.elements[step];
        let next = match &element.kind {
            ElementKind::Goto(label) => self.destination(*label),
            ElementKind::Leave(target) => Some(*target),
            _ => element.next,
        };
        self.hunt(next.unwrap_or(step), self.holds_on(step))
    }

    /// Whether nobody else moves after a step. A jump that leaves an atomic sequence is its last step, unless it leads
    /// into another.
    pub(crate) fn is_atomic(&self, step: ElementId) -> bool {
        self.holds_on(self.last_merged(step))
    }

    fn holds_on(&self, step: ElementId) -> bool {
        let element = &self.elements[step];
        let destination = match &element.kind {
            ElementKind::Goto(label) => self.destination(*label),
            ElementKind::Leave(target) => Some(*target),
            _ => return element.atomic,
        };
        let inside = |element: &FlowElement| element.atomic || element.last_of_atomic;
        inside(element) && destination.is_some_and(|destination| inside(&self.elements[destination]))
    }

    /// The steps that may be taken at a location. Where a step that escapes can be taken, no other can: not even another
    /// option of an `if` or `do` in which only one option can be escaped from. Of several that escape from different options,
    /// those of the last that can be taken are.
    pub(crate) fn outgoing(&self, at: ElementId) -> Vec<Outgoing> {
        let ranked = self.ranked(at, 0);
        let stronger = |position: usize| {
            let group = ranked[position].0;
            ranked[..position].iter().filter(move |(other, _)| *other != group).map(|(_, element)| *element)
        };
        let step = |(position, (_, element)): (usize, &(Option<ElementId>, ElementId))| Outgoing {
            element: *element,
            unless: stronger(position).collect(),
        };
        ranked.iter().enumerate().map(step).collect()
    }

    /// The steps of a location, strongest first, each with the beginning of the sequence by which it escapes. What escapes
    /// from an escape inside a composite location counts as that.
    fn ranked(&self, at: ElementId, depth: usize) -> Vec<(Option<ElementId>, ElementId)> {
        let first = self.first_steps(at, depth);
        let mut all: Vec<_> = first.iter().map(|element| (None, *element)).collect();
        if depth > self.elements.len().min(DEEPEST) {
            return all;
        }
        for element in first {
            for escape in self.elements[element].escapes.iter().rev() {
                let begin = self.begin(escape.first);
                let is_inside = element != at && !self.elements[at].escapes.contains(escape);
                let steps = match is_inside {
                    true => self.ranked(begin, depth + 1).into_iter().map(|(_, step)| step).collect(),
                    false => self.first_steps(begin, depth + 1),
                };
                for step in steps {
                    if !all.iter().any(|(_, known)| *known == step) {
                        all.insert(0, (Some(begin), step));
                    }
                }
            }
        }
        all
    }

    /// The steps of a location, but for those that escape from it.
    fn first_steps(&self, at: ElementId, depth: usize) -> Vec<ElementId> {
        if depth > self.elements.len().min(DEEPEST) {
            return Vec::new();
        }
        let inner = |sequence: &Sequence| self.first_steps(self.begin(sequence.first), depth + 1);
        match &self.elements[at].kind {
            ElementKind::If(options) | ElementKind::Do(options) => options.iter().flat_map(inner).collect(),
            ElementKind::Atomic(body) | ElementKind::Block(body) | ElementKind::Unless(body, _) => {
                inner(body)
            }
            ElementKind::Basic(_)
            | ElementKind::Goto(_)
            | ElementKind::Leave(_)
            | ElementKind::Meet
            | ElementKind::DStep(..)
            | ElementKind::Exit
            | ElementKind::End => vec![at],
        }
    }

    /// Meeting points and the heads of `unless` are no locations.
    fn begin(&self, from: ElementId) -> ElementId {
        match &self.elements[from].kind {
            ElementKind::Meet => self.elements[from].next.map_or(from, |next| self.begin(next)),
            ElementKind::Unless(main, _) => self.begin(main.first),
            _ => from,
        }
    }

    /// The locations that control can reach, the start first.
    pub(crate) fn locations(&self) -> Vec<ElementId> {
        let mut all = vec![self.start];
        for function in 0..self.functions.len() {
            let start = self.function_start(function);
            if !all.contains(&start) {
                all.push(start);
            }
        }
        let mut at = 0;
        while at < all.len() {
            for step in self.outgoing(all[at]) {
                let target = self.target(step.element);
                let goes_on = step.element != self.end && !self.returns(step.element);
                if goes_on && !all.contains(&target) {
                    all.push(target);
                }
            }
            at += 1;
        }
        all
    }

    /// Whether a label marks a location with a name that begins so.
    pub(crate) fn is_marked(&self, location: ElementId, prefix: &str) -> bool {
        self.mark(location, prefix).is_some()
    }

    /// The first label with such a name that marks none of these locations.
    pub(crate) fn mark_nowhere(&self, locations: &[ElementId], prefix: &str) -> Option<Rc<str>> {
        let nowhere = |(label, element): &&(Label, ElementId)| {
            label.name.node.starts_with(prefix)
                && !locations.contains(element)
                && !locations.contains(&self.hunt(*element, false))
        };
        self.labels.iter().find(nowhere).map(|(label, _)| label.name.node.clone())
    }

    /// The first label that marks a location with a name that begins so.
    pub(crate) fn mark(&self, location: ElementId, prefix: &str) -> Option<Rc<str>> {
        let marks = |(label, element): &&(Label, ElementId)| {
            label.name.node.starts_with(prefix)
                && (*element == location || self.hunt(*element, false) == location)
        };
        self.labels.iter().find(marks).map(|(label, _)| label.name.node.clone())
    }
}

/// The name of a label, for messages and for the names of locations.
pub(crate) fn label_of(flow: &ProctypeFlow, location: ElementId) -> Option<Rc<str>> {
    flow.labels.iter().find(|(_, element)| *element == location).map(|(label, _)| label.name.node.clone())
}
