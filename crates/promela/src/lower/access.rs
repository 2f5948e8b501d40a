//! What statements touch.

use std::collections::BTreeSet;

use crate::{
    ast::{Expr, ExprKind, Pattern, Receive, StmtKind, VarRef, VariableId},
    walk::{SyntaxNode, walk_expr, walk_stmt},
};

/// What is done to a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touch {
    /// A message is put at the end.
    Send,
    /// A message is put somewhere.
    Insert,
    /// The first message is taken, or read.
    Take,
    /// Some message is.
    Find,
    /// It is only looked at.
    Test,
}

impl Touch {
    /// Whether it matters that another process does something to the same channel. Who puts at the end and who takes from
    /// the front do not notice each other, as long as there is room and something there.
    pub(super) fn minds(self, theirs: Touch) -> bool {
        match self {
            Touch::Send => matches!(theirs, Touch::Send | Touch::Insert | Touch::Test),
            Touch::Take => matches!(theirs, Touch::Take | Touch::Find | Touch::Insert | Touch::Test),
            Touch::Test => theirs != Touch::Test,
            Touch::Insert | Touch::Find => true,
        }
    }
}

/// What statements touch, all together.
#[derive(Default)]
pub(super) struct Accesses {
    pub(super) reads: BTreeSet<VariableId>,
    pub(super) writes: BTreeSet<VariableId>,
    pub(super) channels: Vec<(VarRef, Touch)>,
    /// How many of the channels belong to first steps.
    first: usize,
    /// Whether they make processes.
    pub(super) runs: bool,
    /// Whether they ask for the number of processes.
    pub(super) counts: bool,
    /// Whether they look into other processes.
    pub(super) looks: bool,
    /// Whether they name fields, of records or of objects.
    pub(super) follows: bool,
    /// Whether they compare what may be two pointers: that is an error if an object was deleted.
    pub(super) compares: bool,
    /// Whether they wait until nothing else can happen, or touch what is not followed here.
    pub(super) waits: bool,
}

impl Accesses {
    /// Whether a channel is one of a first step.
    pub(super) fn is_first(&self, channel: usize) -> bool {
        channel < self.first
    }

    /// Adds a statement; those of first steps come first.
    pub(super) fn stmt_at(&mut self, kind: &StmtKind, is_first: bool) {
        self.stmt(kind);
        if is_first {
            self.first = self.channels.len();
        }
    }

    /// Adds what a statement touches.
    pub(super) fn stmt(&mut self, kind: &StmtKind) {
        match kind {
            StmtKind::Assign(Some(place), _) => self.write(place),
            StmtKind::Send { channel, sorted, .. } => {
                self.channel(channel, if *sorted { Touch::Insert } else { Touch::Send });
            }
            StmtKind::Receive(receive) => {
                self.channel(&receive.channel, if receive.random { Touch::Find } else { Touch::Take });
                self.stores(receive);
            }
            StmtKind::New(..) | StmtKind::Delete(_) | StmtKind::Call(..) | StmtKind::Return(_) => {
                self.waits = true;
            }
            _ => {}
        }
        walk_stmt(kind, &mut |node| self.node(&node));
    }

    /// Adds what an expression touches.
    pub(super) fn expr(&mut self, expr: &Expr) {
        walk_expr(expr, &mut |node| self.node(&node));
    }

    fn write(&mut self, place: &VarRef) {
        self.follows |= !place.fields.is_empty();
        self.writes.insert(place.variable);
    }

    fn channel(&mut self, channel: &VarRef, touch: Touch) {
        self.follows |= !channel.fields.is_empty();
        self.reads.insert(channel.variable);
        self.channels.push((channel.clone(), touch));
    }

    fn stores(&mut self, receive: &Receive) {
        for part in &receive.parts {
            match part {
                Pattern::Store(place) => self.write(place),
                Pattern::Equal(value) => self.compares |= matches!(value.kind, ExprKind::Var(_)),
                Pattern::Any => {}
            }
        }
    }

    fn node(&mut self, node: &SyntaxNode<'_>) {
        let SyntaxNode::Expr(expr) = node else { return };
        match &expr.kind {
            ExprKind::Var(var) => {
                self.follows |= !var.fields.is_empty();
                self.reads.insert(var.variable);
            }
            ExprKind::Query(_, channel) => self.channel(channel, Touch::Test),
            ExprKind::Poll(receive) => {
                self.channel(&receive.channel, Touch::Test);
                for part in &receive.parts {
                    if let Pattern::Store(place) = part {
                        self.reads.insert(place.variable);
                    }
                }
            }
            ExprKind::Equal(a, b) | ExprKind::NotEqual(a, b) => {
                let may_point = |it: &Expr| matches!(it.kind, ExprKind::Var(_) | ExprKind::Cond(..));
                self.compares |= may_point(a) && may_point(b);
            }
            ExprKind::Run(..) => self.runs = true,
            ExprKind::Processes => self.counts = true,
            ExprKind::At(..)
            | ExprKind::Remote(..)
            | ExprKind::Enabled(_)
            | ExprKind::Location(_)
            | ExprKind::Priority(_) => self.looks = true,
            ExprKind::Timeout | ExprKind::NonProgress | ExprKind::Last => self.waits = true,
            _ => {}
        }
    }
}
