//! Loops that count: `for p do if ... then n := n + 1`.
//!
//! Of a class one element is run, and what that adds to a number is added as many times as the class has elements. That
//! is the same as running them all if nothing else in the loop looks at the number, and if all that is added has the same
//! sign, so that the number leaves its range on the way only if it is outside at the end.

use shoal_model::{BinaryOp, Expr, ExprKind, LocalId, Node, Place, Root, Stmt, StmtKind, Value, walk_block};
use shoal_syntax::Span;

use super::{SymbolicAddress, SymbolicBase, SymbolicMachine};
use crate::{
    bits::{self, BitVector},
    dd::DdResult,
    value::{ScalarData, SymbolicScalar, SymbolicValue},
};

/// A number that a loop only adds constants to, and where it does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoopTally {
    root: Root,
    span: Span,
}

/// The numbers that the body of a loop only adds to.
pub(crate) fn tallies(body: &[Stmt]) -> Vec<LoopTally> {
    let mut found: Vec<LoopTally> = Vec::new();
    let mut calls = false;
    walk_block(body, &mut |node| {
        calls |= is_call(node);
        found.extend(addition(node).map(|(root, span)| LoopTally { root, span }));
    });
    if calls {
        // A function may look at variables of the model.
        found.retain(|tally| matches!(tally.root, Root::Local(_)));
    }
    // Each addition names its number twice: what is added to, and what becomes of it.
    let only_added = |tally: &LoopTally| {
        let additions = found.iter().filter(|it| it.root == tally.root).count();
        let mut mentions = 0;
        walk_block(body, &mut |node| mentions += usize::from(mentioned(node) == Some(tally.root)));
        mentions == 2 * additions
    };
    let mut tallies: Vec<LoopTally> = Vec::new();
    for tally in found.iter().filter(|tally| only_added(tally)) {
        if !tallies.iter().any(|it| it.root == tally.root) {
            tallies.push(*tally);
        }
    }
    tallies
}

fn is_call(node: Node<'_>) -> bool {
    match node {
        Node::Stmt(stmt) => matches!(stmt.kind, StmtKind::Call(..)),
        Node::Expr(expr) => matches!(expr.kind, ExprKind::Call(..)),
        Node::Place(_) => false,
    }
}

fn mentioned(node: Node<'_>) -> Option<Root> {
    match node {
        Node::Place(place) => Some(place.root),
        _ => None,
    }
}

/// The number that a statement adds a constant to.
fn addition(node: Node<'_>) -> Option<(Root, Span)> {
    let Node::Stmt(Stmt { kind: StmtKind::Assign(place, value), .. }) = node else { return None };
    let ExprKind::Binary(BinaryOp::Add, a, b) = &value.kind else { return None };
    let is_place = |expr: &Expr| matches!(&expr.kind, ExprKind::Read(Place { root, path, .. }) if *root == place.root && path.is_empty());
    let is_natural = |expr: &Expr| matches!(expr.kind, ExprKind::Const(Value::Int(number)) if number >= 0);
    let adds = is_place(a) && is_natural(b) || is_place(b) && is_natural(a);
    (adds && place.path.is_empty()).then_some((place.root, value.span))
}

impl<'a> SymbolicMachine<'a> {
    /// The numbers as they are.
    pub(crate) fn read_tallies(&self, tallies: &[LoopTally]) -> Vec<Option<SymbolicScalar>> {
        tallies
            .iter()
            .map(|tally| self.get(&self.place_of(tally)).and_then(SymbolicValue::scalar).cloned())
            .collect()
    }

    fn place_of(&self, tally: &LoopTally) -> SymbolicAddress {
        let base = match tally.root {
            Root::Var(var) => SymbolicBase::Var(var),
            Root::Local(local) => SymbolicBase::Local { frame: self.height().saturating_sub(1), local },
        };
        SymbolicAddress { base, hops: Vec::new() }
    }

    fn put_tally(&mut self, tally: &LoopTally, scalar: SymbolicScalar) {
        let place = self.place_of(tally);
        if let Some(held) = self.get_mut(&place) {
            *held = SymbolicValue::Scalar(scalar);
        }
    }

    /// Puts the numbers back to what they were; gives by how much each of them had grown.
    pub(crate) fn take_back(
        &mut self,
        tallies: &[LoopTally],
        before: &[Option<SymbolicScalar>],
    ) -> DdResult<Vec<Option<BitVector>>> {
        let mut grown = Vec::new();
        for (tally, before) in tallies.iter().zip(before) {
            let now = self.get(&self.place_of(tally)).and_then(SymbolicValue::scalar).cloned();
            grown.push(match (now, before) {
                (Some(SymbolicScalar { data: ScalarData::Int(now), .. }), Some(old)) => match &old.data {
                    ScalarData::Int(was) => {
                        let grown = bits::sub(&self.dd, &now, was)?;
                        self.put_tally(tally, old.clone());
                        Some(grown)
                    }
                    _ => None,
                },
                _ => None,
            });
        }
        Ok(grown)
    }

    /// Lets the numbers grow as many times.
    pub(crate) fn grow(
        &mut self,
        tallies: &[LoopTally],
        grown: &[Option<BitVector>],
        times: &BitVector,
    ) -> DdResult<()> {
        for (tally, grown) in tallies.iter().zip(grown) {
            let place = self.place_of(tally);
            let old = self.get(&place).and_then(SymbolicValue::scalar).cloned();
            let (Some(grown), Some(old)) = (grown, old) else { continue };
            let ScalarData::Int(was) = &old.data else { continue };
            let whole = bits::add(&self.dd, was, &bits::mul(&self.dd, times, grown)?)?;
            let Some(ty) = self.type_of(tally) else { continue };
            let sum = SymbolicValue::Scalar(SymbolicScalar {
                undefined: old.undefined.clone(),
                data: ScalarData::Int(whole),
            });
            if let SymbolicValue::Scalar(sum) = self.fit(sum, ty, tally.span)? {
                // Where it does not fit the run has ended.
                let sum = sum.merge(&self.dd, &self.path.clone(), &old)?;
                self.put_tally(tally, sum);
            }
        }
        Ok(())
    }

    fn type_of(&self, tally: &LoopTally) -> Option<shoal_model::TypeId> {
        match tally.root {
            Root::Var(var) => Some(self.model.vars[var].ty),
            Root::Local(local) => self.local_type(local),
        }
    }

    fn local_type(&self, local: LocalId) -> Option<shoal_model::TypeId> {
        self.frames.last().and_then(|frame| frame.locals.get(local)).map(|local| local.ty)
    }
}
