//! Rules: a loop through the instances that may fire, and a body.
//!
//! The guard's conjuncts (after the bindings) are evaluated from left to right. A beginning of them that needs
//! only the first parameters is tested before the others are run through. That changes nothing: if such a
//! conjunct is false or faults, it does so for all values of the others. It is done only where the others'
//! domains cannot fault and are never empty, since without instances there is nothing that can fault.

use shoal_model::{Condition, Domain, Expr, LocalId, Node, Place, Root, Rule, TypedId};

use super::{
    Compiler, JumpLabel, Leave,
    domain::{DomainLoop, Over, fixed_domain},
};
use crate::code::{Handler, Op, Param, Pc, Reg, RuleCode};

/// A body of more instructions than this ticks off what it costs.
const LONG_BODY: u64 = 1 << 10;

/// Something to be done before an instance may fire.
#[derive(Clone, Copy)]
enum InstanceTest<'m> {
    Bind(&'m shoal_model::Binding),
    Conjunct(&'m Expr),
}

/// A rule on its way to code.
struct RuleInstances<'m> {
    rule: &'m Rule,
    /// What is to be done once so many parameters have values.
    tests: Vec<Vec<InstanceTest<'m>>>,
    params: Vec<Param>,
    handlers: Vec<Handler>,
    /// The multisets and positions in them that parameters stand for.
    taken: Vec<(Reg, Reg)>,
    fire: Option<Pc>,
}

impl<'m> Compiler<'m> {
    /// The code of a rule. The registers of the first `given` parameters have their values before the code runs.
    pub(super) fn rule(&mut self, rule: &'m Rule, given: usize) -> RuleCode {
        self.begin(&rule.code.locals);
        let instances = self.here();
        let tests = self.tests(rule);
        // Variables that the rule's bindings give values to; the body has its own.
        self.place_locals();
        let mut state = RuleInstances {
            rule,
            tests,
            params: Vec::new(),
            handlers: Vec::new(),
            taken: Vec::new(),
            fire: None,
        };
        let end = self.label();
        for param in rule.params.iter().take(given) {
            let over = self.domain(&param.domain);
            self.bind_to(param.local, &over);
            state.params.push(parameter(&over));
            // What needs no more is done with what needs the next one.
            let before = std::mem::take(&mut state.tests[state.params.len() - 1]);
            state.tests[state.params.len()].splice(0..0, before);
        }
        self.instances(&mut state, end);
        self.bind(end);
        self.emit(Op::End);
        let body = self.body(rule);
        self.program.frame = self.program.frame.max(self.high);
        let RuleInstances { params, handlers, fire, .. } = state;
        RuleCode { instances, fire, body, params, priority: rule.priority, handlers }
    }

    /// Runs through the parameters that have no value yet; goes on at `next` for the next instance.
    fn instances(&mut self, state: &mut RuleInstances<'m>, next: JumpLabel) {
        let depth = state.params.len();
        let (handler, from) = (state.handlers.len(), self.here());
        state.handlers.push(Handler { from, to: from, resume: next.0, depth });
        for test in std::mem::take(&mut state.tests[depth]) {
            match test {
                InstanceTest::Bind(binding) => self.bindings(std::slice::from_ref(binding)),
                InstanceTest::Conjunct(conjunct) => self.branch(conjunct, false, next),
            }
        }
        let rule = state.rule;
        match rule.params.get(depth) {
            None => {
                state.fire = Some(self.here());
                self.emit(Op::Fire);
            }
            Some(param) => {
                let over = self.domain(&param.domain);
                self.bind_to(param.local, &over);
                state.params.push(parameter(&over));
                if let Over::Marks { marks, address, bag, .. } = over.over {
                    self.program.taken.push(state.taken.clone());
                    let taken = self.program.taken.len() as u32 - 1;
                    self.emit(Op::BagMerge { marks, address, bag, taken });
                    state.taken.push((address, over.counter));
                }
                self.each(&over, |this, next, _| this.instances(state, next));
                if state.params.len() == depth + 1 && depth + 1 < state.tests.len() {
                    self.rest_of_parameters(state, depth + 1);
                }
            }
        }
        state.handlers[handler].to = self.here();
    }

    /// The parameters after one without values still need registers: the body is compiled with them.
    fn rest_of_parameters(&mut self, state: &mut RuleInstances<'m>, from: usize) {
        let past = self.label();
        self.jump(past);
        for param in state.rule.params.iter().skip(from) {
            let over = self.domain(&param.domain);
            self.bind_to(param.local, &over);
            state.params.push(parameter(&over));
        }
        self.bind(past);
    }

    /// The tests by the number of parameters that must have values.
    fn tests(&self, rule: &'m Rule) -> Vec<Vec<InstanceTest<'m>>> {
        let count = rule.params.len();
        let fixed = |domain: &Domain| fixed_domain(self.model, domain).is_some_and(|it| it.0 <= it.1);
        // The least depth from which on all domains are fixed and not empty.
        let mut depth = count - rule.params.iter().rev().take_while(|param| fixed(&param.domain)).count();
        let mut depths = vec![0; rule.code.locals.len()];
        for (position, param) in rule.params.iter().enumerate() {
            depths[param.local.index()] = position + 1;
        }
        let mut tests = vec![Vec::new(); count + 1];
        for binding in &rule.bindings {
            let mut needs = 0;
            shoal_model::walk_argument(&binding.to, &mut |node| needs = needs.max(need(node, &depths)));
            depth = depth.max(needs);
            depths[binding.local.index()] = depth;
            tests[depth].push(InstanceTest::Bind(binding));
        }
        for conjunct in rule.guard.iter().flat_map(Expr::conjuncts) {
            let mut needs = 0;
            shoal_model::walk_expr(conjunct, &mut |node| needs = needs.max(need(node, &depths)));
            depth = depth.max(needs);
            tests[depth].push(InstanceTest::Conjunct(conjunct));
        }
        tests
    }

    fn body(&mut self, rule: &'m Rule) -> Pc {
        let params: Vec<LocalId> = rule.params.iter().map(|param| param.local).collect();
        for local in rule.code.locals.ids() {
            if !params.contains(&local) {
                self.slots[local.index()] = super::LocalBinding::Nothing;
            }
        }
        // Above everything that the loop through the instances keeps.
        self.next = self.high;
        let body = self.here();
        self.place_locals();
        self.bindings(&rule.bindings);
        let end = self.label();
        self.leave = Leave::Rule(end);
        self.work = 0;
        self.block(&rule.code.body);
        self.bind(end);
        // There may be as many bodies to run as there are instances.
        if self.work > LONG_BODY {
            self.tick(self.work);
        }
        self.emit(Op::End);
        body
    }

    /// The code of a condition.
    pub(super) fn condition(&mut self, condition: &'m Condition) -> Pc {
        self.begin(&condition.locals);
        self.condition_in_frame(condition)
    }

    /// The code of a condition some of whose locals have registers already.
    pub(super) fn condition_in_frame(&mut self, condition: &'m Condition) -> Pc {
        let entry = self.here();
        self.place_locals();
        self.answer(&condition.expr);
        entry
    }

    /// The code of each conjunct of a guard, as a condition. The first registers are the rule's parameters.
    pub(super) fn guards(&mut self, rule: &'m Rule) -> Vec<Pc> {
        let conjuncts = rule.guard.iter().flat_map(Expr::conjuncts);
        let mut guard = |conjunct: &'m Expr| {
            self.begin(&rule.code.locals);
            let entry = self.here();
            for param in &rule.params {
                let over = self.domain(&param.domain);
                self.bind_to(param.local, &over);
            }
            self.place_locals();
            self.bindings(&rule.bindings);
            self.answer(conjunct);
            entry
        };
        conjuncts.map(&mut guard).collect()
    }

    fn answer(&mut self, expr: &Expr) {
        let fails = self.label();
        self.branch(expr, false, fails);
        self.emit(Op::Truth { value: true });
        self.bind(fails);
        self.emit(Op::Truth { value: false });
        self.program.frame = self.program.frame.max(self.high);
    }
}

fn parameter(over: &DomainLoop) -> Param {
    Param { reg: over.counter, shown: over.shown, first: Compiler::first_value(over) }
}

/// How many parameters must have values for what a walk meets.
fn need(node: Node<'_>, depths: &[usize]) -> usize {
    match node {
        Node::Place(Place { root: Root::Local(local), .. }) => depths[local.index()],
        _ => 0,
    }
}
