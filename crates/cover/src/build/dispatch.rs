//! Which rules an element's local state lets fire, as far as their guards say it plainly.

use std::collections::{BTreeMap, HashMap};

use shoal_model::{Expr, ExprKind, Model, Projection, Root, RuleId, TypedId};

use super::{instance::FixedInstance, shape::CountedShape};

/// What the first and the second element of a rule must have: a cell and its content.
pub(crate) type Wanted = [Option<(usize, i64)>; 2];

/// Rules by what the content of one cell must be.
pub(crate) struct Dispatch {
    cell: usize,
    by_code: HashMap<i64, Vec<usize>>,
    /// Rules that do not say.
    others: Vec<usize>,
}

impl Dispatch {
    /// By the cell that most rules ask for: the program counter, where there is one.
    pub(crate) fn new(wanted: &[Wanted]) -> Dispatch {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for (cell, _) in wanted.iter().filter_map(|wanted| wanted[0]) {
            *counts.entry(cell).or_default() += 1;
        }
        let cell = counts.iter().max_by_key(|(_, count)| **count).map_or(0, |(cell, _)| *cell);
        let mut dispatch = Dispatch { cell, by_code: HashMap::new(), others: Vec::new() };
        for (rule, wanted) in wanted.iter().enumerate() {
            match wanted[0] {
                Some((at, code)) if at == cell => dispatch.by_code.entry(code).or_default().push(rule),
                _ => dispatch.others.push(rule),
            }
        }
        for rules in dispatch.by_code.values_mut() {
            rules.extend(&dispatch.others);
            rules.sort_unstable();
        }
        dispatch
    }

    /// The rules that may be able to fire for an element.
    pub(crate) fn rules(&self, local: &[i64]) -> &[usize] {
        local.get(self.cell).and_then(|code| self.by_code.get(code)).unwrap_or(&self.others)
    }
}

/// For each rule what its guard says that its elements must have in a cell: most need not be looked at.
pub(crate) fn wanted(model: &Model, shape: &CountedShape, instance: &FixedInstance) -> Vec<Wanted> {
    let of_rule = |id: &RuleId| {
        let rule = &model.rules[*id];
        let positions = &shape.rules[id.index()].elements;
        let parts: Vec<&Expr> = match &rule.guard {
            Some(Expr { kind: ExprKind::And(parts), .. }) => parts.iter().collect(),
            Some(guard) => vec![guard],
            None => Vec::new(),
        };
        let wants = |at: usize| {
            let local = rule.params[*positions.get(at)?].local;
            parts.iter().find_map(|part| {
                let ExprKind::Equal(left, right) = &part.kind else { return None };
                let (ExprKind::Read(place), ExprKind::Const(value)) = (&left.kind, &right.kind) else {
                    return None;
                };
                let (Root::Var(var), [Projection::Index(index)]) = (place.root, &place.path[..]) else {
                    return None;
                };
                let ExprKind::Read(index) = &index.kind else { return None };
                let position = shape.locals.iter().position(|known| *known == var)?;
                let code = instance.code(place.ty, value)?;
                (index.root == Root::Local(local)).then(|| (instance.offset(position), code))
            })
        };
        [wants(0), wants(1)]
    };
    instance.rules.iter().map(of_rule).collect()
}
