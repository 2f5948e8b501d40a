//! Building the control flow of a proctype: each statement is followed by others as in SPIN.

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use shoal_syntax::{Diagnostic, Diagnostics, Span};

use super::{ElementId, ElementKind, FlowElement, ProctypeFlow, Sequence};
use crate::{
    ast::{LabelId, Proctype, Program, Stmt, StmtKind},
    codes,
};

/// The control flow of a proctype with the functions that it may call, or what is wrong with it. `seen` are the labels that
/// others ask for.
pub(crate) fn flow(
    proctype: &Proctype,
    program: &Program,
    seen: &HashSet<Rc<str>>,
) -> Result<ProctypeFlow, Diagnostics> {
    let mut builder = FlowBuilder {
        flow: ProctypeFlow::default(),
        numbers: 0,
        breaks: Vec::new(),
        d_step: None,
        inside: HashMap::new(),
        seen,
        jumps: &program.jumps,
        wrong: Diagnostics::new(),
    };
    let end = builder.element(ElementKind::End, proctype.end);
    let body = builder.sequence(&proctype.body, proctype.end);
    builder.follow(body.last, end);
    builder.number(end);
    if !builder.flow.calls().is_empty() {
        program.functions.iter().for_each(|function| builder.function(function));
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

struct FlowBuilder<'s> {
    flow: ProctypeFlow,
    /// How many elements have a number.
    numbers: u32,
    /// Where `break` leads, innermost last.
    breaks: Vec<ElementId>,
    /// The `d_step` that is being built.
    d_step: Option<ElementId>,
    /// Which `d_step` elements belong to.
    inside: HashMap<ElementId, ElementId>,
    /// Labels that others ask for.
    seen: &'s HashSet<Rc<str>>,
    /// Where jumps lead.
    jumps: &'s [Option<LabelId>],
    wrong: Diagnostics,
}

impl FlowBuilder<'_> {
    fn element(&mut self, kind: ElementKind, span: Span) -> ElementId {
        self.flow.elements.push(FlowElement {
            kind,
            span,
            number: 0,
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

    /// Gives an element the next number. SPIN numbers what is inside of a statement before the statement.
    fn number(&mut self, id: ElementId) {
        self.numbers += 1;
        self.flow.elements[id].number = self.numbers;
    }

    /// An element that has nothing inside.
    fn simple(&mut self, kind: ElementKind, span: Span) -> ElementId {
        let id = self.element(kind, span);
        self.number(id);
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
                let first = self.simple(skip(), span);
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
                let marks =
                    ["accept", "end", "progress"].iter().any(|mark| label.name.node.starts_with(mark));
                if jump && (marks || self.seen.contains(&label.name.node)) {
                    // Nobody waits at a jump, but here somebody should be seen waiting.
                    let wait = self.element(skip(), span);
                    self.append(wait, sequence);
                    self.flow.labels.push((label.clone(), wait));
                    let jump = self.stmt(inner, sequence);
                    // A label that marks its place gets a statement of its own, which is made after the jump; one that others
                    // ask for gets it when everything else is there, and it takes the place of the jump.
                    match marks {
                        true => self.number(wait),
                        false => self.flow.elements[wait].number = self.flow.elements[jump].number,
                    }
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
                [head, meet].into_iter().for_each(|id| self.number(id));
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
                [head, again, leave].into_iter().for_each(|id| self.number(id));
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
                let element = self.simple(ElementKind::Atomic(body), span);
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
                self.number(element);
                self.append(element, sequence);
                element
            }
            StmtKind::Block(body) | StmtKind::Atomic(body) | StmtKind::DStep(body) => {
                let body = self.sequence(body, span);
                let element = self.simple(ElementKind::Block(body), span);
                self.append(element, sequence);
                element
            }
            StmtKind::Several(all) => {
                let mut elements = all.iter().map(|one| self.stmt(one, sequence));
                let first = elements.next();
                elements.for_each(drop);
                first.unwrap_or_else(|| {
                    let nothing = self.simple(skip(), span);
                    self.append(nothing, sequence);
                    nothing
                })
            }
            StmtKind::Goto(jump) => {
                let element = self.simple(ElementKind::Goto(self.jumps[*jump]), span);
                self.append(element, sequence);
                element
            }
            StmtKind::Break => {
                let target = self.breaks.last().copied();
                if target.is_none() {
                    let message = "`break` stands in a `do` loop";
                    self.wrong.push(Diagnostic::error(codes::MISPLACED, span, message));
                }
                let element = self.simple(ElementKind::Leave(target.unwrap_or_default()), span);
                self.append(element, sequence);
                element
            }
            _ => {
                let element = self.simple(ElementKind::Basic(Box::new(stmt.kind.clone())), span);
                self.append(element, sequence);
                element
            }
        }
    }

    /// Sequences that all end at the same place.
    fn options(&mut self, options: &[Vec<Stmt>], span: Span, meet: ElementId) -> Vec<Sequence> {
        let (mut first, mut last) = (Vec::new(), Vec::new());
        let is_else = |option: &Vec<Stmt>| matches!(option.first(), Some(first) if matches!(first.kind, StmtKind::Else));
        for option in options {
            let mut sequence = Some(self.sequence(option, span));
            self.append(meet, &mut sequence);
            // `else` comes last, as it looks at the others.
            if is_else(option) { &mut last } else { &mut first }.extend(sequence);
        }
        first.append(&mut last);
        first
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
        // The inner ones first, so that what escapes from around them is stronger and leads out of their escapes, too.
        for id in (0..self.flow.elements.len()).rev() {
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

    /// Jumps do not lead into or out of a `d_step`.
    fn check_jumps(&mut self) {
        for (id, element) in self.flow.elements.iter().enumerate() {
            let ElementKind::Goto(label) = element.kind else { continue };
            let Some(target) = self.flow.destination(label) else { continue };
            if self.inside.get(&id) != self.inside.get(&target) {
                let message = "a jump into or out of a `d_step`";
                self.wrong.push(Diagnostic::error(codes::MISPLACED, element.span, message));
            }
        }
    }
}

/// `(1)`.
fn skip() -> ElementKind {
    let one = crate::ast::Expr { kind: crate::ast::ExprKind::Int(1), span: Span::default() };
    ElementKind::Basic(Box::new(StmtKind::Expr(one)))
}
