//! Control flow: from the statements of a proctype to locations and the steps between them.
//!
//! The state spaces of SPIN are counted in its own control locations, so these are the same: every statement is a
//! location, an `if` or `do` is one that has the first statements of its options as steps, a block is one that has the
//! steps of its first statement, and jumps are followed at once, except out of an atomic sequence.

mod merge;

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use shoal_syntax::{Diagnostic, Diagnostics, Span};

use crate::{
    ast::{Name, Proctype, Stmt, StmtKind},
    codes,
};

pub(crate) use merge::Merging;

/// Which element. Elements are locations and, but for composite ones, steps.
pub(crate) type ElementId = usize;

/// Statements of a proctype as elements that follow each other.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    pub(crate) elements: Vec<Element>,
    pub(crate) labels: Vec<(Name, ElementId)>,
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
pub(crate) struct Element {
    pub(crate) kind: ElementKind,
    pub(crate) span: Span,
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
    Goto(Name),
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

/// The control flow of a proctype with the functions that it may call, or what is wrong with it. `seen` are the labels that
/// others ask for.
pub(crate) fn flow(
    proctype: &Proctype,
    functions: &[Proctype],
    seen: &HashSet<Rc<str>>,
) -> Result<Flow, Diagnostics> {
    let mut builder = Builder {
        flow: Flow::default(),
        breaks: Vec::new(),
        d_step: None,
        inside: HashMap::new(),
        seen,
        wrong: Diagnostics::new(),
    };
    let end = builder.element(ElementKind::End, proctype.end);
    let body = builder.sequence(&proctype.body, proctype.end);
    builder.follow(body.last, end);
    if !builder.flow.calls().is_empty() {
        functions.iter().for_each(|function| builder.function(function));
    }
    builder.tie_ends();
    builder.attach_escapes();
    builder.flow.end = end;
    builder.check_jumps();
    if builder.wrong.has_errors() {
        return Err(builder.wrong);
    }
    let mut flow = builder.flow;
    flow.in_d_step = builder.inside.into_keys().collect();
    // Who has nothing to do is at the end at once.
    flow.start = if proctype.body.is_empty() { end } else { flow.hunt(body.first, false) };
    Ok(flow)
}

impl Flow {
    /// The element a label names. Where several inlines have the same label, the nearest before.
    pub(crate) fn label(&self, name: &str) -> Option<ElementId> {
        self.labels.iter().find(|(label, _)| *label.node == *name).map(|(_, element)| *element)
    }

    /// The calls.
    pub(crate) fn calls(&self) -> Vec<ElementId> {
        let is_call = |element: &Element| matches!(&element.kind, ElementKind::Basic(kind) if matches!(**kind, StmtKind::Call(..)));
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
    fn destination(&self, from: ElementId, name: &Name) -> Option<ElementId> {
        let within = self.function_of(from);
        let here = |element: ElementId| self.function_of(element) == within;
        let found = self.labels.iter().filter(|(label, at)| label.node == name.node && here(*at));
        found.min_by_key(|(_, element)| element.abs_diff(from)).map(|(_, element)| *element)
    }

    /// Follows jumps and meeting points from an element to the one where a process waits. Jumps out of an atomic
    /// sequence are steps of it.
    pub(crate) fn hunt(&self, from: ElementId, atomic: bool) -> ElementId {
        let mut at = from;
        for _ in 0..self.elements.len() {
            let next = match &self.elements[at].kind {
                ElementKind::Goto(name) => self.destination(at, name),
                ElementKind::Leave(target) => Some(*target),
                ElementKind::Meet => self.elements[at].next,
                ElementKind::Unless(main, _) => Some(self.hunt(main.first, atomic)),
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
            ElementKind::Goto(name) => self.destination(step, name),
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
            ElementKind::Goto(name) => self.destination(step, name),
            ElementKind::Leave(target) => Some(*target),
            _ => return element.atomic,
        };
        let inside = |element: &Element| element.atomic || element.last_of_atomic;
        inside(element) && destination.is_some_and(|destination| inside(&self.elements[destination]))
    }

    /// The steps that may be taken at a location.
    pub(crate) fn outgoing(&self, at: ElementId) -> Vec<Outgoing> {
        self.outgoing_to(at, 0)
    }

    fn outgoing_to(&self, at: ElementId, depth: usize) -> Vec<Outgoing> {
        if depth > self.elements.len() {
            return Vec::new();
        }
        let inner = |sequence: &Sequence| self.outgoing_to(self.begin(sequence.first), depth + 1);
        let element = &self.elements[at];
        let mut all: Vec<Outgoing> = match &element.kind {
            ElementKind::If(options) | ElementKind::Do(options) => options.iter().flat_map(inner).collect(),
            ElementKind::Atomic(body) | ElementKind::Block(body) | ElementKind::Unless(body, _) => {
                inner(body)
            }
            _ => vec![Outgoing { element: at, unless: Vec::new() }],
        };
        for escape in element.escapes.iter().rev() {
            let mut first = inner(escape);
            first.retain(|step| !all.iter().any(|known| known.element == step.element));
            for step in &mut all {
                step.unless.extend(first.iter().map(|escape| escape.element));
            }
            first.extend(all);
            all = first;
        }
        all
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

    /// The labels that mark a location with a name that begins so.
    pub(crate) fn is_marked(&self, location: ElementId, prefix: &str) -> bool {
        self.labels.iter().any(|(label, element)| {
            label.node.starts_with(prefix) && (*element == location || self.hunt(*element, false) == location)
        })
    }
}

struct Builder<'s> {
    flow: Flow,
    /// Where `break` leads, innermost last.
    breaks: Vec<ElementId>,
    /// The `d_step` that is being built.
    d_step: Option<ElementId>,
    /// Which `d_step` elements belong to.
    inside: HashMap<ElementId, ElementId>,
    /// Labels that others ask for.
    seen: &'s HashSet<Rc<str>>,
    wrong: Diagnostics,
}

impl Builder<'_> {
    fn element(&mut self, kind: ElementKind, span: Span) -> ElementId {
        self.flow.elements.push(Element {
            kind,
            span,
            next: None,
            atomic: false,
            last_of_atomic: false,
            escapes: Vec::new(),
        });
        let id = self.flow.elements.len() - 1;
        if let Some(d_step) = self.d_step {
            self.inside.insert(id, d_step);
        }
        id
    }

    /// Adds the body of a function, which returns at its end.
    fn function(&mut self, function: &Proctype) {
        let begin = self.flow.elements.len();
        let body = self.sequence(&function.body, function.end);
        let back = self.element(ElementKind::Basic(Box::new(StmtKind::Return(None))), function.end);
        self.follow(body.last, back);
        self.flow.functions.push((body.first, begin..self.flow.elements.len()));
    }

    fn follow(&mut self, element: ElementId, next: ElementId) {
        self.flow.elements[element].next = Some(next);
    }

    fn sequence(&mut self, stmts: &[Stmt], span: Span) -> Sequence {
        let mut sequence: Option<Sequence> = None;
        for stmt in stmts {
            self.stmt(stmt, &mut sequence);
        }
        match sequence {
            Some(sequence) => sequence,
            None => {
                let first = self.element(skip(), span);
                Sequence { first, last: first }
            }
        }
    }

    fn append(&mut self, element: ElementId, sequence: &mut Option<Sequence>) {
        match sequence {
            Some(sequence) => {
                self.follow(sequence.last, element);
                sequence.last = element;
            }
            None => *sequence = Some(Sequence { first: element, last: element }),
        }
    }

    /// Adds a statement to a sequence; its element is the one that a label of it names.
    fn stmt(&mut self, stmt: &Stmt, sequence: &mut Option<Sequence>) -> ElementId {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Label(label, inner) => {
                let jump = matches!(inner.kind, StmtKind::Goto(_) | StmtKind::Break);
                let marks = ["accept", "end", "progress"].iter().any(|mark| label.node.starts_with(mark));
                if jump && (marks || self.seen.contains(&label.node)) {
                    // Nobody waits at a jump, but here somebody should be seen waiting.
                    let wait = self.element(skip(), span);
                    self.append(wait, sequence);
                    self.flow.labels.push((label.clone(), wait));
                    self.stmt(inner, sequence);
                    return wait;
                }
                let element = self.stmt(inner, sequence);
                self.flow.labels.push((label.clone(), element));
                element
            }
            StmtKind::If(options) => {
                let head = self.element(ElementKind::Meet, span);
                let meet = self.element(ElementKind::Meet, span);
                let options = self.options(options, span, meet);
                self.flow.elements[head].kind = ElementKind::If(options);
                self.append(head, sequence);
                // Where options meet follows the `if`, though control does not go from the one to the other.
                self.append(meet, sequence);
                head
            }
            StmtKind::Do(options) => {
                let head = self.element(ElementKind::Meet, span);
                let again = self.element(ElementKind::Meet, span);
                let leave = self.element(ElementKind::Meet, span);
                self.breaks.push(leave);
                let options = self.options(options, span, again);
                self.breaks.pop();
                self.flow.elements[head].kind = ElementKind::Do(options);
                self.append(again, sequence);
                self.append(head, sequence);
                self.append(leave, sequence);
                head
            }
            StmtKind::Unless(main, escape) => {
                let head = self.element(ElementKind::Meet, span);
                let meet = self.element(ElementKind::Meet, span);
                let mut both = self.options(&[main.clone(), escape.clone()], span, meet).into_iter();
                if let (Some(main), Some(escape)) = (both.next(), both.next()) {
                    self.flow.elements[head].kind = ElementKind::Unless(main, escape);
                }
                self.append(head, sequence);
                self.append(meet, sequence);
                head
            }
            StmtKind::Atomic(body) if self.d_step.is_none() => {
                let body = self.sequence(body, span);
                let element = self.element(ElementKind::Atomic(body), span);
                self.mark_atomic(body);
                self.append(element, sequence);
                element
            }
            StmtKind::DStep(body) if self.d_step.is_none() => {
                let element = self.element(ElementKind::Meet, span);
                self.d_step = Some(element);
                let body = self.sequence(body, span);
                let exit = self.element(ElementKind::Exit, span);
                self.follow(body.last, exit);
                self.d_step = None;
                self.flow.elements[element].kind = ElementKind::DStep(body, exit);
                self.append(element, sequence);
                element
            }
            StmtKind::Block(body) | StmtKind::Atomic(body) | StmtKind::DStep(body) => {
                let body = self.sequence(body, span);
                let element = self.element(ElementKind::Block(body), span);
                self.append(element, sequence);
                element
            }
            StmtKind::Several(all) => {
                let mut elements = all.iter().map(|one| self.stmt(one, sequence));
                let first = elements.next();
                elements.for_each(drop);
                first.unwrap_or_else(|| {
                    let nothing = self.element(skip(), span);
                    self.append(nothing, sequence);
                    nothing
                })
            }
            StmtKind::Goto(label) => {
                let element = self.element(ElementKind::Goto(label.clone()), span);
                self.append(element, sequence);
                element
            }
            StmtKind::Break => {
                let target = self.breaks.last().copied();
                if target.is_none() {
                    let message = "`break` stands in a `do` loop";
                    self.wrong.push(Diagnostic::error(codes::MISPLACED, span, message));
                }
                let element = self.element(ElementKind::Leave(target.unwrap_or_default()), span);
                self.append(element, sequence);
                element
            }
            _ => {
                let element = self.element(ElementKind::Basic(Box::new(stmt.kind.clone())), span);
                self.append(element, sequence);
                element
            }
        }
    }

    /// Sequences that all end at the same place.
    fn options(&mut self, options: &[Vec<Stmt>], span: Span, meet: ElementId) -> Vec<Sequence> {
        let mut sequences = Vec::new();
        for option in options {
            let mut sequence = Some(self.sequence(option, span));
            self.append(meet, &mut sequence);
            sequences.extend(sequence);
        }
        sequences
    }

    /// What follows within an atomic sequence belongs to it.
    fn mark_atomic(&mut self, body: Sequence) {
        self.walk_atomic(body);
        self.unmark_last(body);
    }

    fn walk_atomic(&mut self, body: Sequence) {
        let mut at = body.first;
        loop {
            self.flow.elements[at].atomic = true;
            match self.flow.elements[at].kind.clone() {
                ElementKind::If(options) | ElementKind::Do(options) => {
                    options.into_iter().for_each(|option| self.walk_atomic(option));
                }
                ElementKind::Unless(main, escape) => {
                    self.walk_atomic(main);
                    self.walk_atomic(escape);
                }
                ElementKind::Atomic(inner) => {
                    self.flow.elements[at].kind = ElementKind::Block(inner);
                    self.walk_atomic(inner);
                }
                ElementKind::Block(inner) => self.walk_atomic(inner),
                _ => {}
            }
            match self.flow.elements[at].next {
                Some(next) if at != body.last => at = next,
                _ => return,
            }
        }
    }

    /// After the last step other processes may move again.
    fn unmark_last(&mut self, body: Sequence) {
        match self.flow.elements[body.last].kind.clone() {
            ElementKind::Block(inner) | ElementKind::Atomic(inner) => self.unmark_last(inner),
            ElementKind::Unless(main, _) => self.unmark_last(main),
            _ => {
                self.flow.elements[body.last].atomic = false;
                self.flow.elements[body.last].last_of_atomic = true;
            }
        }
    }

    /// The last element of a block is followed by what follows the block.
    fn tie_ends(&mut self) {
        // A block is made after what is in it: outer blocks come first this way.
        for id in (0..self.flow.elements.len()).rev() {
            let (ElementKind::Block(body) | ElementKind::Atomic(body)) = self.flow.elements[id].kind else {
                continue;
            };
            // A meeting point is not passed here: whether it is a step of its own depends on who comes to it.
            let next = self.flow.elements[id].next;
            if self.flow.elements[body.last].next.is_none() {
                self.flow.elements[body.last].next = next;
            }
        }
    }

    fn attach_escapes(&mut self) {
        for id in 0..self.flow.elements.len() {
            if let ElementKind::Unless(main, escape) = self.flow.elements[id].kind {
                self.attach(main, escape);
            }
        }
    }

    fn attach(&mut self, main: Sequence, escape: Sequence) {
        let mut at = main.first;
        loop {
            self.attach_to(at, escape);
            match self.flow.elements[at].next {
                // The last element of each is the meeting point, from which nobody escapes.
                Some(next) if next != main.last && at != main.last => at = next,
                _ => return,
            }
        }
    }

    fn attach_to(&mut self, at: ElementId, escape: Sequence) {
        if self.flow.elements[at].escapes.contains(&escape) {
            return;
        }
        for inner in self.flow.elements[at].escapes.clone() {
            self.attach(inner, escape);
        }
        self.flow.elements[at].escapes.insert(0, escape);
        match self.flow.elements[at].kind.clone() {
            ElementKind::If(options) | ElementKind::Do(options) => {
                options.into_iter().for_each(|option| self.attach(option, escape));
            }
            ElementKind::Unless(main, _) => self.attach(main, escape),
            ElementKind::Atomic(body) | ElementKind::Block(body) => self.attach_all(body, escape),
            _ => {}
        }
    }

    /// A block has no meeting point at its end.
    fn attach_all(&mut self, body: Sequence, escape: Sequence) {
        let mut at = body.first;
        loop {
            self.attach_to(at, escape);
            match self.flow.elements[at].next {
                Some(next) if at != body.last => at = next,
                _ => return,
            }
        }
    }

    /// Jumps lead to labels, and not into or out of a `d_step`.
    fn check_jumps(&mut self) {
        let mut wrong = Diagnostics::new();
        for (id, element) in self.flow.elements.iter().enumerate() {
            let ElementKind::Goto(label) = &element.kind else { continue };
            match self.flow.destination(id, label) {
                None => {
                    let known = self.flow.labels.iter().map(|(label, _)| &*label.node);
                    let near = shoal_syntax::did_you_mean(&label.node, known);
                    let message = format!("there is no label `{}` in this proctype", label.node);
                    let mut diagnostic = Diagnostic::error(codes::BAD_LABEL, label.span, message);
                    if let Some(near) = near {
                        diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
                    }
                    wrong.push(diagnostic);
                }
                Some(target) if self.inside.get(&id) != self.inside.get(&target) => {
                    let message = "a jump into or out of a `d_step`";
                    wrong.push(Diagnostic::error(codes::MISPLACED, label.span, message));
                }
                Some(_) => {}
            }
        }
        self.wrong.extend(wrong);
    }
}

/// `(1)`.
fn skip() -> ElementKind {
    let one = crate::ast::Expr { kind: crate::ast::ExprKind::Int(1), span: Span::default() };
    ElementKind::Basic(Box::new(StmtKind::Expr(one)))
}

/// The name of a label, for messages and for the names of locations.
pub(crate) fn label_of(flow: &Flow, location: ElementId) -> Option<Rc<str>> {
    flow.labels.iter().find(|(_, element)| *element == location).map(|(label, _)| label.node.clone())
}
