//! Flat code: what is left of a boolean program when its procedures are inlined.

use shoal_syntax::Span;

use super::ast::Op;

/// The number of an instruction.
pub(super) type Pc = usize;

/// A program as one list of instructions that threads run through.
#[derive(Clone, Debug, Default)]
pub(super) struct Flat {
    pub(super) globals: Vec<Global>,
    /// The names of the locals.
    pub(super) locals: Vec<String>,
    pub(super) code: Vec<Instr>,
    /// Where the first thread begins.
    pub(super) entry: Pc,
    /// The locations that must not be reached, and their label.
    pub(super) target: Option<(String, Vec<Pc>, Span)>,
    /// The first assertion of the source, wherever it stands.
    pub(super) assertion: Option<Span>,
    /// The words for where threads begin: any number of them, or one.
    pub(super) any: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Global {
    pub(super) name: String,
    pub(super) init: Option<bool>,
    pub(super) span: Span,
}

/// A variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Var {
    Global(usize),
    Local(usize),
}

#[derive(Clone, Debug)]
pub(super) struct Instr {
    pub(super) kind: Kind,
    /// Where it goes on, unless it says so itself.
    pub(super) next: Pc,
    /// What is assumed whenever it runs.
    pub(super) enforce: Vec<E>,
    /// Where it stands: the function it was written in, and the place.
    pub(super) function: String,
    pub(super) span: Span,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Nop,
    /// One of these comes next.
    Goto(Vec<Pc>),
    /// All values are found before any is written; without a variable, a value is dropped.
    Assign(Vec<(Option<Var>, E)>, Option<E>),
    Assume(E),
    Assert(E),
    /// Goes on at the first if it holds, else at the second.
    Branch(E, Pc, Pc),
    AtomicBegin,
    AtomicEnd,
    /// A new thread begins there, with these values for its locals; or with a copy of the locals of the one that starts it.
    Spawn(Pc, Vec<(usize, E)>, bool),
    /// The thread goes on only when another one broadcasts.
    Wait,
    /// All other threads that wait go on.
    Broadcast,
    /// The thread ends.
    End,
}

/// A resolved expression.
#[derive(Clone, Debug)]
pub(super) struct E {
    pub(super) kind: EKind,
    pub(super) span: Span,
}

#[derive(Clone, Debug)]
pub(super) enum EKind {
    Const(bool),
    Star,
    Var(Var),
    Next(Var),
    Not(Box<E>),
    Binary(Op, Box<E>, Box<E>),
    Schoose(Box<E>, Box<E>),
}

impl E {
    /// Visits the expression and all its parts.
    pub(super) fn visit(&self, visit: &mut dyn FnMut(&E)) {
        visit(self);
        match &self.kind {
            EKind::Const(_) | EKind::Star | EKind::Var(_) | EKind::Next(_) => {}
            EKind::Not(of) => of.visit(visit),
            EKind::Binary(_, left, right) | EKind::Schoose(left, right) => {
                left.visit(visit);
                right.visit(visit);
            }
        }
    }

    /// The truth of a constant.
    pub(super) fn known(&self) -> Option<bool> {
        match self.kind {
            EKind::Const(value) => Some(value),
            _ => None,
        }
    }
}

impl Instr {
    /// Where it may go on.
    pub(super) fn targets(&self) -> Vec<Pc> {
        match &self.kind {
            Kind::Goto(targets) => targets.clone(),
            Kind::Branch(condition, then, other) => match condition.known() {
                Some(true) => vec![*then],
                Some(false) => vec![*other],
                None => vec![*then, *other],
            },
            Kind::End => Vec::new(),
            _ => vec![self.next],
        }
    }

    /// The expressions in it.
    pub(super) fn exprs(&self) -> Vec<&E> {
        let own: Vec<&E> = match &self.kind {
            Kind::Assign(parts, constrain) => parts.iter().map(|part| &part.1).chain(constrain).collect(),
            Kind::Assume(of) | Kind::Assert(of) | Kind::Branch(of, ..) => vec![of],
            Kind::Spawn(_, values, _) => values.iter().map(|value| &value.1).collect(),
            Kind::Nop | Kind::Goto(_) | Kind::AtomicBegin | Kind::AtomicEnd => Vec::new(),
            Kind::Wait | Kind::Broadcast | Kind::End => Vec::new(),
        };
        own.into_iter().chain(&self.enforce).collect()
    }
}
