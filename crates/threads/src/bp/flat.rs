//! Flat code: what is left of a boolean program when its procedures are inlined.

use shoal_syntax::Span;

use super::ast::Op;

/// The number of an instruction.
pub(super) type BpPc = usize;

/// A program as one list of instructions that threads run through.
#[derive(Clone, Debug, Default)]
pub(super) struct FlatProgram {
    pub(super) globals: Vec<Global>,
    /// The names of the locals.
    pub(super) locals: Vec<String>,
    pub(super) code: Vec<Instr>,
    /// Where the first thread begins.
    pub(super) entry: BpPc,
    /// The locations that must not be reached, and their label.
    pub(super) target: Option<(String, Vec<BpPc>, Span)>,
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
pub(super) enum BpVar {
    Global(usize),
    Local(usize),
}

#[derive(Clone, Debug)]
pub(super) struct Instr {
    pub(super) kind: InstructionKind,
    /// Where it goes on, unless it says so itself.
    pub(super) next: BpPc,
    /// What is assumed whenever it runs.
    pub(super) enforce: Vec<E>,
    /// Where it stands: the function it was written in, and the place.
    pub(super) function: String,
    pub(super) span: Span,
}

#[derive(Clone, Debug)]
pub(super) enum InstructionKind {
    Nop,
    /// One of these comes next.
    Goto(Vec<BpPc>),
    /// All values are found before any is written; without a variable, a value is dropped.
    Assign(Vec<(Option<BpVar>, E)>, Option<E>),
    Assume(E),
    Assert(E),
    /// Goes on at the first if it holds, else at the second.
    Branch(E, BpPc, BpPc),
    AtomicBegin,
    AtomicEnd,
    /// A new thread begins there, with these values for its locals; or with a copy of the locals of the one that starts it.
    Spawn(BpPc, Vec<(usize, E)>, bool),
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
    Var(BpVar),
    Next(BpVar),
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
    pub(super) fn targets(&self) -> Vec<BpPc> {
        match &self.kind {
            InstructionKind::Goto(targets) => targets.clone(),
            InstructionKind::Branch(condition, then, other) => match condition.known() {
                Some(true) => vec![*then],
                Some(false) => vec![*other],
                None => vec![*then, *other],
            },
            InstructionKind::End => Vec::new(),
            _ => vec![self.next],
        }
    }

    /// The expressions in it.
    pub(super) fn exprs(&self) -> Vec<&E> {
        let own: Vec<&E> = match &self.kind {
            InstructionKind::Assign(parts, constrain) => {
                parts.iter().map(|part| &part.1).chain(constrain).collect()
            }
            InstructionKind::Assume(of) | InstructionKind::Assert(of) | InstructionKind::Branch(of, ..) => {
                vec![of]
            }
            InstructionKind::Spawn(_, values, _) => values.iter().map(|value| &value.1).collect(),
            InstructionKind::Nop
            | InstructionKind::Goto(_)
            | InstructionKind::AtomicBegin
            | InstructionKind::AtomicEnd => Vec::new(),
            InstructionKind::Wait | InstructionKind::Broadcast | InstructionKind::End => Vec::new(),
        };
        own.into_iter().chain(&self.enforce).collect()
    }
}
