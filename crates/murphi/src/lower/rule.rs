//! Rules, start states and properties, with the rulesets, aliases and choices around them.
//!
//! A group is visited once for each rule in it: the rule's own code gets the parameters and bindings of all groups
//! around it.

use shoal_model::{
    Binding, Code as ModelCode, Condition, Domain, Expr, ExprKind, IndexVec, Local, LocalId, Parameter,
    Place, PropertyKind, Quantifier, Root, Rule, TypeId, Value,
};
use shoal_syntax::Span;

use super::{Lowerer, OrReported, Reported, fold, scope::Symbol, stmt::Aliased};
use crate::{ast, codes};

/// A group around a rule.
#[derive(Clone, Copy)]
pub(crate) enum RuleGroup<'p> {
    /// `ruleset`.
    Quantifiers(&'p [ast::Quantifier]),
    /// `alias`.
    Aliases(&'p [ast::Alias]),
    /// `choose`.
    Choose(&'p ast::Name, &'p ast::Designator),
}

impl Lowerer<'_> {
    /// A rule or a group of rules; `heads` are the groups around it.
    pub(crate) fn rule_group<'p>(&mut self, rule: &'p ast::Rule, heads: &mut Vec<RuleGroup<'p>>) {
        match &rule.kind {
            ast::RuleKind::Simple(simple) => self.simple_rule(simple, heads, rule.span),
            ast::RuleKind::StartState(start) => self.start(start, heads, rule.span),
            ast::RuleKind::Property(property) => self.property(property, heads),
            ast::RuleKind::Temporal(property) => self.temporal(property, heads),
            ast::RuleKind::Fairness { condition, .. } => self.fairness(condition, heads, rule.span),
            ast::RuleKind::Ruleset { quantifiers, rules } => {
                self.group(RuleGroup::Quantifiers(quantifiers), rules, heads)
            }
            ast::RuleKind::Alias { aliases, rules } => self.group(RuleGroup::Aliases(aliases), rules, heads),
            ast::RuleKind::Choose { index, multiset, rules } => {
                self.group(RuleGroup::Choose(index, multiset), rules, heads);
            }
        }
    }

    fn group<'p>(&mut self, head: RuleGroup<'p>, rules: &'p [ast::Rule], heads: &mut Vec<RuleGroup<'p>>) {
        heads.push(head);
        for rule in rules {
            self.rule_group(rule, heads);
        }
        heads.pop();
    }

    fn simple_rule(&mut self, simple: &ast::SimpleRule, heads: &[RuleGroup<'_>], span: Span) {
        let (params, bindings) = self.enter(heads);
        self.in_pure = true;
        let guard = simple.guard.as_ref().map(|guard| self.condition(guard)).transpose();
        self.in_pure = false;
        let body = self.body(&simple.body);
        self.leave(heads);
        let code = ModelCode { locals: std::mem::take(&mut self.locals), body };
        let number = self.model.rules.len() + 1;
        let name = simple.name.as_ref().map_or_else(|| format!("rule {number}"), |name| name.node.clone());
        if let (Ok(params), Ok(guard)) = (params, guard) {
            let priority = simple.priority.as_ref().map_or(0, |priority| priority.node);
            // A guard that is always true is no guard.
            let guard = guard.filter(|guard| fold::constant(guard) != Some(&Value::Bool(true)));
            self.model.rules.push(Rule {
                name,
                params,
                bindings,
                guard,
                code,
                priority,
                urgent: false,
                span,
            });
        }
    }

    fn start(&mut self, start: &ast::StartState, heads: &[RuleGroup<'_>], span: Span) {
        let (params, bindings) = self.enter(heads);
        let body = self.body(&start.body);
        self.leave(heads);
        let code = ModelCode { locals: std::mem::take(&mut self.locals), body };
        let number = self.model.starts.len() + 1;
        let name = start.name.as_ref().map_or_else(|| format!("start {number}"), |name| name.node.clone());
        if let Ok(params) = params {
            self.model.starts.push(Rule {
                name,
                params,
                bindings,
                guard: None,
                code,
                priority: 0,
                urgent: false,
                span,
            });
        }
    }

    /// Binds what the groups around a rule bind: parameters, and aliases as references.
    fn enter(&mut self, heads: &[RuleGroup<'_>]) -> (OrReported<Vec<Parameter>>, Vec<Binding>) {
        self.begin_code();
        self.in_pure = true;
        let mut bindings = Vec::new();
        let bound = self.bind_heads(heads, &mut |lowerer, alias| bindings.extend(lowerer.bind_alias(alias)));
        self.in_pure = false;
        let parameter = |(local, domain)| Parameter { local, domain };
        (bound.map(|bound| bound.into_iter().map(parameter).collect()), bindings)
    }

    /// Binds what the groups around a property bind. Nothing changes while it is evaluated, so aliases are put in place of
    /// their names.
    pub(super) fn enter_condition(&mut self, heads: &[RuleGroup<'_>]) -> OrReported<Vec<(LocalId, Domain)>> {
        self.bind_heads(heads, &mut |lowerer, alias| lowerer.substitute_alias(alias))
    }

    /// Opens a scope for each group and binds its variables; `bind` sees to the aliases.
    fn bind_heads(
        &mut self,
        heads: &[RuleGroup<'_>],
        bind: &mut dyn FnMut(&mut Self, &ast::Alias),
    ) -> OrReported<Vec<(LocalId, Domain)>> {
        let mut bound = Ok(Vec::new());
        let mut add = |one: OrReported<(LocalId, Domain)>| match (&mut bound, one) {
            (Ok(bound), Ok(one)) => bound.push(one),
            (bound, _) => *bound = Err(Reported),
        };
        for head in heads {
            self.scopes.enter();
            match *head {
                RuleGroup::Quantifiers(quantifiers) => {
                    quantifiers.iter().for_each(|quantifier| add(self.rule_quantifier(quantifier)));
                }
                RuleGroup::Aliases(aliases) => aliases.iter().for_each(|alias| bind(self, alias)),
                RuleGroup::Choose(index, multiset) => {
                    // Parameters get their values before aliases are bound.
                    let slot = self.multiset(multiset, false).map(|(place, _)| {
                        (self.bind_slot(index, &place), Domain::Slots(self.without_alias(&place)))
                    });
                    if slot.is_err() {
                        self.declare(index, Symbol::Broken);
                    }
                    add(slot);
                }
            }
        }
        bound
    }

    /// Makes the names of an alias stand for what it says.
    pub(super) fn substitute_alias(&mut self, alias: &ast::Alias) {
        let symbol = match self.aliased(&alias.value) {
            Ok(Aliased::Known(symbol)) => symbol,
            Ok(Aliased::Place(place, _)) => Symbol::Place(place),
            Ok(Aliased::Value(value)) => Symbol::Value(value),
            Err(Reported) => Symbol::Broken,
        };
        alias.names.iter().for_each(|name| self.declare(name, symbol.clone()));
    }

    pub(super) fn leave(&mut self, heads: &[RuleGroup<'_>]) {
        heads.iter().for_each(|_| self.scopes.leave());
    }

    /// The bounds of a ruleset are constants: its instances are the same in every state.
    pub(super) fn rule_quantifier(&mut self, quantifier: &ast::Quantifier) -> OrReported<(LocalId, Domain)> {
        let (local, domain) = self.quantifier(quantifier)?;
        if let Domain::Range { from, to, by } = &domain
            && [from, to, by].iter().any(|bound| fold::constant(bound).is_none())
        {
            let message = "the bounds of a ruleset must be constant";
            return self.error(codes::NOT_CONSTANT, quantifier.span, message);
        }
        Ok((local, domain))
    }

    /// A property in rulesets is about all their values; a cover is about some.
    fn property(&mut self, property: &ast::Property, heads: &[RuleGroup<'_>]) {
        self.begin_code();
        self.in_pure = true;
        let bound = self.enter_condition(heads);
        let condition = self.condition(&property.condition);
        self.leave(heads);
        self.in_pure = false;
        let (Ok(bound), Ok(expr)) = (bound, condition) else { return };
        let name = self.property_name(property);
        let locals = std::mem::take(&mut self.locals);
        match property.kind {
            ast::PropertyKind::Liveness => {
                for (suffix, condition) in self.instances(&locals, bound, expr) {
                    self.new_property(
                        format!("{name}{suffix}"),
                        PropertyKind::AlwaysPossible(condition),
                        property.span,
                    );
                }
            }
            ast::PropertyKind::Cover => {
                let condition = Condition { locals, expr: self.close(Quantifier::Exists, bound, expr) };
                self.new_property(name, PropertyKind::Cover(Some(condition)), property.span);
            }
            kind => {
                let condition = Condition { locals, expr: self.close(Quantifier::Forall, bound, expr) };
                let kind = match kind {
                    ast::PropertyKind::Assume => PropertyKind::Assume(Some(condition)),
                    _ => PropertyKind::Invariant(condition),
                };
                self.new_property(name, kind, property.span);
            }
        }
    }

    /// Quantifies over what the groups bind, the outermost first.
    fn close(&self, quantifier: Quantifier, bound: Vec<(LocalId, Domain)>, expr: Expr) -> Expr {
        bound.into_iter().rev().fold(expr, |body, (local, domain)| {
            let span = body.span;
            let kind = ExprKind::Quantified { quantifier, local, domain, body: Box::new(body) };
            Expr { kind, ty: self.boolean, span }
        })
    }

    /// One condition for each value of what the groups bind, with a suffix for its name: "it is always possible that
    /// e(i)" must be asked of each i apart. `forall i: i = v -> e(i)` is e(v).
    pub(super) fn instances(
        &self,
        locals: &IndexVec<LocalId, Local>,
        bound: Vec<(LocalId, Domain)>,
        expr: Expr,
    ) -> Vec<(String, Condition)> {
        let mut instances = vec![(String::new(), expr)];
        for (local, domain) in bound.into_iter().rev() {
            let values = self.domain_values(&domain);
            let only = |value: &(Value, TypeId), body: &Expr| {
                let (span, ty) = (body.span, value.1);
                let place = Place { root: Root::Local(local), path: Vec::new(), ty, span };
                let read = Expr { kind: ExprKind::Read(place), ty, span };
                let is_value =
                    fold::equal(read, fold::literal(value.0.clone(), ty, span), self.boolean, span);
                let body = fold::implies(is_value, body.clone(), self.boolean, span);
                self.close(Quantifier::Forall, vec![(local, domain.clone())], body)
            };
            let name = &locals[local].name;
            instances = instances
                .iter()
                .flat_map(|(suffix, expr)| values.iter().map(move |value| (suffix, expr, value)))
                .map(|(suffix, expr, value)| {
                    (format!(" [{name} = {}]{suffix}", self.model.show(&value.0)), only(value, expr))
                })
                .collect();
        }
        let condition = |(suffix, expr)| (suffix, Condition { locals: locals.clone(), expr });
        instances.into_iter().map(condition).collect()
    }

    /// The constant values of a domain with their type.
    pub(super) fn domain_values(&self, domain: &Domain) -> Vec<(Value, TypeId)> {
        match domain {
            Domain::Type(ty) => self.model.values(*ty).map(|value| (value, *ty)).collect(),
            Domain::Range { from, to, by } => {
                let number = |bound: &Expr| fold::constant(bound).and_then(Value::as_int).unwrap_or(0);
                let (from, to, by) = (number(from), number(to), number(by));
                std::iter::successors(Some(from), |value| value.checked_add(by))
                    .take_while(|value| if by > 0 { *value <= to } else { *value >= to })
                    .map(|value| (Value::Int(value), self.integer))
                    .collect()
            }
            Domain::Slots(_) => Vec::new(),
        }
    }
}
