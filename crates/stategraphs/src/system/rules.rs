//! What processes do: the start, rules and invariants taken apart.

use shoal_dbm::Bound;
use shoal_model::{CheckKind, Domain, Expr, ExprKind, Quantifier, Stmt, StmtKind, Value};
use shoal_syntax::Span;

use super::{
    BoundValues, Conjunction, Dnf, OrUnsupported, ProcessRule, ProcessSystem,
    conditions::{constant, is_convex},
    places::PlainTerm,
    unsupported,
};

impl ProcessSystem<'_> {
    /// Runs the one start.
    pub(super) fn start(&mut self) -> OrUnsupported<()> {
        let mut starts = self.model.starts.iter();
        let (Some(start), None) = (starts.next(), starts.next()) else {
            return unsupported("several starts", Span::default());
        };
        if !start.params.is_empty() {
            return unsupported("starts with parameters", start.span);
        }
        self.run(&start.code.body, &mut Vec::new())
    }

    pub(super) fn run(&mut self, body: &[Stmt], env: &mut BoundValues) -> OrUnsupported<()> {
        for stmt in body {
            match &stmt.kind {
                StmtKind::Assign(place, value) => match (self.find(place, env)?, self.term(value, env)?) {
                    (PlainTerm::Cell(cell), PlainTerm::Const(value)) => {
                        self.cells[cell].start = self.position(cell, &value, stmt.span)?
                    }
                    (PlainTerm::Timer(_), PlainTerm::Const(Value::Int(0))) => {}
                    _ => return unsupported("a start that is more than values and clocks at 0", stmt.span),
                },
                // Cells are at their least value already.
                StmtKind::Clear(_) => {}
                StmtKind::For { local, domain: Domain::Type(ty), body } => {
                    for value in self.model.values(*ty).collect::<Vec<_>>() {
                        env.push((*local, value));
                        self.run(body, env)?;
                        env.pop();
                    }
                }
                // Whether an invariant holds where all begins is known here: all has its first value.
                StmtKind::Check { kind: CheckKind::Assert, condition: Some(condition), .. } => {
                    if !self.dnf(condition, env, true)?.iter().any(|case| self.holds_at_start(case)) {
                        return unsupported("a start in which an invariant does not hold", condition.span);
                    }
                }
                _ => return unsupported("a start with other statements than assignments", stmt.span),
            }
        }
        Ok(())
    }

    /// Whether a conjunction holds where cells have their first values and timers are 0.
    fn holds_at_start(&self, case: &Conjunction) -> bool {
        case.cells.iter().all(|(cell, values)| values >> self.cells[*cell].start & 1 == 1)
            && case.timers.iter().all(|timer| timer.bound >= Bound::ZERO)
    }

    pub(super) fn rules(&mut self) -> OrUnsupported<()> {
        for (id, rule) in self.model.rules.enumerate() {
            let ([param], true) = (rule.params.as_slice(), rule.bindings.is_empty()) else {
                return unsupported("rules of none or several processes", rule.span);
            };
            let sort = match &param.domain {
                Domain::Type(ty) => self.model.sorts_of(*ty).first().copied(),
                _ => None,
            };
            let Some(sort) = sort else { return unsupported("rules that are of no process", rule.span) };
            if rule.urgent || rule.priority != 0 {
                return unsupported("urgent rules and priorities", rule.span);
            }
            for process in 0..self.processes.len() {
                if self.processes[process].sort != sort {
                    continue;
                }
                let env = vec![(param.local, Value::Elem(sort, self.processes[process].element))];
                let guards = match &rule.guard {
                    Some(guard) => self.dnf(guard, &env, true)?,
                    None => vec![Conjunction::default()],
                };
                let (mut assigns, mut resets) = (Vec::new(), Vec::new());
                for stmt in &rule.code.body {
                    let StmtKind::Assign(place, value) = &stmt.kind else {
                        return unsupported("statements other than assignments", stmt.span);
                    };
                    match (self.find(place, &env)?, self.term(value, &env)?) {
                        (PlainTerm::Cell(cell), PlainTerm::Const(value)) => {
                            let value = self.position(cell, &value, stmt.span)?;
                            assigns.retain(|(known, _)| *known != cell);
                            assigns.push((cell, value));
                        }
                        (PlainTerm::Timer(timer), PlainTerm::Const(Value::Int(value))) => {
                            resets.retain(|(known, _)| *known != timer);
                            resets.push((timer, constant(value, stmt.span)?));
                        }
                        _ => return unsupported("assignments of other values than constants", stmt.span),
                    }
                }
                let rules = guards.into_iter().map(|guard| ProcessRule {
                    rule: id,
                    guard,
                    assigns: assigns.clone(),
                    resets: resets.clone(),
                });
                self.processes[process].rules.extend(rules);
            }
        }
        Ok(())
    }

    pub(super) fn invariants(&mut self) -> OrUnsupported<()> {
        let Some(condition) = &self.model.while_time_passes else { return Ok(()) };
        let mut parts = vec![&condition.expr];
        while let Some(part) = parts.pop() {
            match &part.kind {
                ExprKind::And(inner) => parts.extend(inner),
                ExprKind::Quantified {
                    quantifier: Quantifier::Forall,
                    local,
                    domain: Domain::Type(ty),
                    body,
                } => {
                    for value in self.model.values(*ty).collect::<Vec<_>>() {
                        let process = match value {
                            Value::Elem(sort, element) => self.process(sort, element),
                            _ => None,
                        };
                        let conjuncts = match &body.kind {
                            ExprKind::And(parts) => parts.as_slice(),
                            _ => std::slice::from_ref(body.as_ref()),
                        };
                        for conjunct in conjuncts {
                            let dnf = self.invariant_dnf(conjunct, &vec![(*local, value.clone())])?;
                            match process {
                                Some(process) => self.processes[process].invariant.push(dnf),
                                None => self.invariant.push(dnf),
                            }
                        }
                    }
                }
                _ => {
                    let dnf = self.invariant_dnf(part, &Vec::new())?;
                    self.invariant.push(dnf);
                }
            }
        }
        Ok(())
    }

    fn invariant_dnf(&self, expr: &Expr, env: &BoundValues) -> OrUnsupported<Dnf> {
        let dnf = self.dnf(expr, env, true)?;
        match is_convex(&dnf) {
            true => Ok(dnf),
            false => unsupported("an invariant with `or` between clocks", expr.span),
        }
    }
}
