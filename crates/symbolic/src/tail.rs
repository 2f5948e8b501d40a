//! What a rule does at its end, as steps of its own.
//!
//! Many rules end alike: variables that are not needed any more are reset, each under a condition of its own, of every
//! element. With the rest of the rule as one function of the state, all these conditions would be in one diagram. They
//! are kept apart: what a rule has changed is followed by one small change after another, made to all states at once.

use shoal_model::{Domain, ExprKind, LocalId, Node, Root, Rule, Stmt, StmtKind, Value, walk_block};

use crate::{
    dd::{Bdd, Dd, DdResult},
    layout::{self, Bit, BitLayout, now},
    machine::SymbolicMachine,
    stage::{ImageStage, RelationPart},
};

/// The body of a rule: what is run as one, and what follows.
pub(crate) struct RuleBody<'m> {
    pub(crate) head: &'m [Stmt],
    tail: Vec<Last<'m>>,
}

/// A statement at the end, with the values of the locals that it speaks of.
#[derive(PartialEq)]
struct Last<'m> {
    bound: Vec<(LocalId, Value)>,
    stmt: &'m Stmt,
}

/// What is known of all states.
pub(crate) struct TailGround<'g, 'm> {
    pub(crate) dd: &'g Dd,
    pub(crate) layout: &'g BitLayout,
    pub(crate) base: &'g SymbolicMachine<'m>,
}

impl<'m> RuleBody<'m> {
    /// All of it is run as one.
    pub(crate) fn whole(rule: &'m Rule) -> RuleBody<'m> {
        RuleBody { head: &rule.code.body, tail: Vec::new() }
    }

    /// As many as possible of the last statements follow.
    pub(crate) fn apart(base: &SymbolicMachine<'m>, rule: &'m Rule) -> RuleBody<'m> {
        let body = &rule.code.body;
        let separable = |stmt: &&Stmt| is_plain(stmt, rule);
        let from = body.len() - body.iter().rev().take_while(separable).count();
        // The first statements are the step itself. A return would skip the last ones.
        let (head, last) = body.split_at(from.max(1).min(body.len()));
        let mut returns = false;
        walk_block(head, &mut |node| {
            returns |= matches!(node, Node::Stmt(stmt) if matches!(stmt.kind, StmtKind::Return(_)));
        });
        if returns {
            return RuleBody::whole(rule);
        }
        let mut tail = Vec::new();
        last.iter().for_each(|stmt| unroll(base, stmt, &mut Vec::new(), &mut tail));
        RuleBody { head, tail }
    }

    /// What follows, as changes; nothing if it has to be run with the rest because it may fault.
    pub(crate) fn stages(
        &self,
        ground: &TailGround<'_, 'm>,
        rule: &'m Rule,
        args: &[Value],
        known: &mut TailCache<'m>,
    ) -> DdResult<Option<Vec<ImageStage>>> {
        let params = rule.params.iter().map(|param| param.local).zip(args.iter().cloned());
        let params: Vec<(LocalId, Value)> = params.collect();
        let mut stages = Vec::new();
        for last in &self.tail {
            let bound = [params.as_slice(), &last.bound].concat();
            let bound = bound.into_iter().filter(|(local, _)| mentions(last.stmt, *local)).collect();
            let last = Last { bound, stmt: last.stmt };
            let stage = match known.stages.iter().find(|(it, _)| *it == last) {
                Some((_, stage)) => stage.clone(),
                None => {
                    let Some(stage) = ground.run(rule, &last, &mut known.undefined)? else { return Ok(None) };
                    known.stages.push((last, stage.clone()));
                    stage
                }
            };
            stages.extend(stage);
        }
        Ok(Some(stages))
    }
}

/// What is known of statements at the ends of rules: many rules end alike.
#[derive(Default)]
pub(crate) struct TailCache<'m> {
    stages: Vec<(Last<'m>, Option<ImageStage>)>,
    /// Cells that were thought to be defined always and are not.
    pub(crate) undefined: Vec<usize>,
}

/// Whether a statement speaks of a local.
fn mentions(stmt: &Stmt, local: LocalId) -> bool {
    let mut found = false;
    walk_block(std::slice::from_ref(stmt), &mut |node| {
        found |= matches!(node, Node::Place(place) if place.root == Root::Local(local));
    });
    found
}

/// Whether a statement does nothing but change variables of the state, under conditions on them alone.
fn is_plain(stmt: &Stmt, rule: &Rule) -> bool {
    let mut bound: Vec<LocalId> = rule.params.iter().map(|param| param.local).collect();
    let mut plain = true;
    walk_block(std::slice::from_ref(stmt), &mut |node| match node {
        Node::Stmt(stmt) => match &stmt.kind {
            StmtKind::For { local, domain: Domain::Type(_), .. } => bound.push(*local),
            StmtKind::If(..) | StmtKind::Undefine(_) | StmtKind::Clear(_) => {}
            _ => plain = false,
        },
        Node::Place(place) => plain &= !matches!(place.root, Root::Local(local) if !bound.contains(&local)),
        Node::Expr(expr) => match &expr.kind {
            ExprKind::Quantified { local, .. } => bound.push(*local),
            ExprKind::Call(..) => plain = false,
            _ => {}
        },
    });
    plain
}

/// The statements of a loop, round by round.
fn unroll<'m>(
    base: &SymbolicMachine<'m>,
    stmt: &'m Stmt,
    bound: &mut Vec<(LocalId, Value)>,
    tail: &mut Vec<Last<'m>>,
) {
    match &stmt.kind {
        StmtKind::For { local, domain: Domain::Type(ty), body } => {
            for value in base.values_of(*ty) {
                bound.push((*local, value));
                body.iter().for_each(|stmt| unroll(base, stmt, bound, tail));
                bound.pop();
            }
        }
        _ => tail.push(Last { bound: bound.clone(), stmt }),
    }
}

impl<'m> TailGround<'_, 'm> {
    /// What a statement does, if anything; nothing at all if it may do more than change the state.
    fn run(
        &self,
        rule: &'m Rule,
        last: &Last<'m>,
        undefined: &mut Vec<usize>,
    ) -> DdResult<Option<Option<ImageStage>>> {
        let mut machine = self.base.clone();
        machine.enter(&rule.code.locals, None)?;
        last.bound.iter().for_each(|(local, value)| machine.assign_bound(*local, value));
        machine.block(std::slice::from_ref(last.stmt))?;
        if !machine.dead.is_false() || !machine.trail.is_empty() || !machine.covered.is_empty() {
            return Ok(None);
        }
        self.stage(&machine, undefined).map(Some)
    }

    /// What a machine has changed of all states; nothing if that is nothing.
    fn stage(&self, after: &SymbolicMachine<'_>, undefined: &mut Vec<usize>) -> DdResult<Option<ImageStage>> {
        let (mut changes, mut moves) = (Vec::new(), self.dd.no());
        let scalars = self.layout.scalars(after).into_iter().zip(self.layout.scalars(self.base));
        for (at, (cell, (scalar, before))) in self.layout.cells.iter().zip(scalars).enumerate() {
            if scalar == before {
                continue;
            }
            let valid = layout::valid(self.dd, cell)?;
            if !cell.optional && scalar.undefined.meets(&valid)? {
                undefined.push(at);
                continue;
            }
            let code = layout::write(self.base.model, self.dd, cell, scalar)?;
            for (bit, digit) in cell.bits.iter().zip(code) {
                let differs = self.dd.var(now(*bit))?.xor(&digit)?.and(&valid)?;
                if !differs.is_false() {
                    moves = moves.or(&differs)?;
                    changes.push((*bit, digit));
                }
            }
        }
        changes.sort_by_key(|(bit, _)| *bit);
        Ok(match changes.is_empty() {
            true => None,
            false => Some(ImageStage::change(self.dd, &moves, &changes)?),
        })
    }
}

/// A step: where it is taken, the bits it changes and what to, and the number of its end.
pub(crate) type TailStep<'s> = (Bdd, &'s [(Bit, Bdd)], usize);

/// All changes at the ends of steps, and by number those that have to follow each step, in order.
///
/// If no state before a step needs a change, only few do after it: those whose condition the step may have made true. So
/// it is where starts need none, where a change never makes an earlier one needed again, and where no step makes one
/// needed that does not follow it. If that cannot be seen, each step is followed by all of its end.
pub(crate) fn following(
    dd: &Dd,
    tails: &[Vec<ImageStage>],
    steps: &[TailStep<'_>],
    init: &Bdd,
) -> DdResult<(Vec<ImageStage>, Vec<Vec<usize>>)> {
    let mut ends: Vec<ImageStage> = Vec::new();
    let mut numbered: Vec<Vec<usize>> = Vec::new();
    for tail in tails {
        let number = |stage: &ImageStage| {
            let known = ends.iter().position(|it| it == stage);
            known.unwrap_or_else(|| {
                ends.push(stage.clone());
                ends.len() - 1
            })
        };
        numbered.push(tail.iter().map(number).collect());
    }
    let needed = match settled(&ends, &numbered, init)? {
        true => all_needed(dd, &ends, &numbered, steps)?,
        false => None,
    };
    let whole = || steps.iter().map(|(_, _, tail)| numbered[*tail].clone()).collect();
    Ok((ends, needed.unwrap_or_else(whole)))
}

/// Whether no change is needed at the start, and none is needed any more after those of an end.
fn settled(ends: &[ImageStage], tails: &[Vec<usize>], init: &Bdd) -> DdResult<bool> {
    for end in ends {
        let ImageStage::Put(put) = end else { return Ok(false) };
        if init.meets(put.wrong())? {
            return Ok(false);
        }
    }
    for tail in tails {
        for (at, later) in tail.iter().enumerate() {
            for (number, end) in ends.iter().enumerate() {
                let done = !tail[at..].contains(&number);
                if let ImageStage::Put(put) = end
                    && done
                    && !put.survives(&ends[*later])?
                {
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}

/// The changes that each step makes needed; nothing if one does that is not at its end.
fn all_needed(
    dd: &Dd,
    ends: &[ImageStage],
    tails: &[Vec<usize>],
    steps: &[TailStep<'_>],
) -> DdResult<Option<Vec<Vec<usize>>>> {
    let supports: Vec<Vec<Bit>> = ends.iter().map(ImageStage::condition).collect();
    let mut all = Vec::new();
    for (holds, changes, tail) in steps {
        let step = ImageStage::either(vec![RelationPart::function(dd, holds.clone(), changes)?]);
        let mut needed = Vec::new();
        for (number, end) in ends.iter().enumerate() {
            let concerned = changes.iter().any(|(bit, _)| supports[number].contains(bit));
            if let ImageStage::Put(put) = end
                && concerned
                && !put.survives(&step)?
            {
                needed.push(number);
            }
        }
        if needed.iter().any(|number| !tails[*tail].contains(number)) {
            return Ok(None);
        }
        needed.sort_by_key(|number| tails[*tail].iter().position(|it| it == number));
        all.push(needed);
    }
    Ok(Some(all))
}
