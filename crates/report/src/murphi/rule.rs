//! Rules, starts and functions.

use std::collections::BTreeSet;

use shoal_model::{
    Argument, Domain, Expr, ExprKind, Function, FunctionId, GuardFaults, LocalId, Node, Rule, Stmt, StmtKind,
    TypedId, walk_code,
};

use super::{
    OrCannotSay, Writer,
    aliasing::Passing,
    code::MurphiScope,
    names::quoted,
    statement::{has_choices, pad},
    survey::{is_empty, numbers},
};
use crate::CannotSay;

impl<'m> Writer<'m> {
    /// The section of functions: those that are called come first.
    pub(crate) fn functions(&mut self) -> OrCannotSay<String> {
        let mut texts = Vec::new();
        let (mut done, mut begun) = (BTreeSet::new(), BTreeSet::new());
        for function in self.model.functions.ids() {
            self.function_after_others(function, &mut begun, &mut done, &mut texts)?;
        }
        Ok(texts.join("\n"))
    }

    fn function_after_others(
        &mut self,
        id: FunctionId,
        begun: &mut BTreeSet<FunctionId>,
        done: &mut BTreeSet<FunctionId>,
        texts: &mut Vec<String>,
    ) -> OrCannotSay<()> {
        if done.contains(&id) {
            return Ok(());
        }
        if !begun.insert(id) {
            return Err(CannotSay::new("functions that call each other"));
        }
        let model = self.model;
        for called in called(&model.functions[id]).into_iter().filter(|called| *called != id) {
            self.function_after_others(called, begun, done, texts)?;
        }
        texts.push(self.function(id)?);
        done.insert(id);
        Ok(())
    }

    fn function(&mut self, id: FunctionId) -> OrCannotSay<String> {
        let model = self.model;
        let function = &model.functions[id];
        let passing: Vec<Passing> =
            (0..function.params.len()).map(|at| self.survey.aliasing.passing(id, at)).collect();
        let result = function.result.map(|ty| self.type_text(ty)).transpose()?;
        let head = self.names.functions[id].clone();
        let mut scope = MurphiScope::new(self, &function.code.locals);
        let mut params = Vec::new();
        for (param, passing) in function.params.iter().zip(passing) {
            let var = match passing {
                Passing::Value => "",
                Passing::Var => "var ",
                Passing::Unclear => {
                    let name = &function.code.locals[*param].name;
                    return Err(CannotSay::new(format!(
                        "the parameter {name} of {}, which is changed while it is looked at",
                        function.name
                    )));
                }
            };
            let ty = scope.w.type_text(function.code.locals[*param].ty)?;
            params.push(format!("{var}{}: {ty}", scope.name(*param)));
        }
        scope.declare_variables(&function.code.body, &function.params)?;
        let body = scope.block(&function.code.body, 1)?;
        let (word, result) = match result {
            Some(result) => ("function", format!(": {result}")),
            None => ("procedure", String::new()),
        };
        let vars = declarations(&scope.declared, 0);
        Ok(format!("{word} {head}({}){result};\n{vars}begin\n{body}end;\n", params.join("; ")))
    }

    /// The section of starts.
    pub(crate) fn starts(&mut self) -> OrCannotSay<String> {
        let model = self.model;
        let texts: OrCannotSay<Vec<String>> =
            model.starts.iter().map(|start| self.rule(start, true)).collect();
        Ok(texts?.join("\n"))
    }

    /// The section of rules.
    pub(crate) fn rules(&mut self) -> OrCannotSay<String> {
        let model = self.model;
        let first = self.first_rules()?;
        let mut texts = Vec::new();
        for rule in model.rules.iter() {
            let before =
                first.iter().rfind(|(priority, _)| *priority < rule.priority).map(|(_, name)| name.clone());
            texts.push(self.rule_after(rule, before)?);
        }
        Ok(texts.join("\n"))
    }

    fn rule_after(&mut self, rule: &'m Rule, before: Option<String>) -> OrCannotSay<String> {
        let first = before.map(|name| format!("!{name}()"));
        self.write_rule(rule, false, first)
    }

    fn rule(&mut self, rule: &'m Rule, is_start: bool) -> OrCannotSay<String> {
        self.write_rule(rule, is_start, None)
    }

    fn write_rule(&mut self, rule: &'m Rule, is_start: bool, first: Option<String>) -> OrCannotSay<String> {
        let priority = if is_start { String::new() } else { self.priority(rule) };
        let disable = self.model.guard_faults == GuardFaults::Disable;
        let mut scope = MurphiScope::new(self, &rule.code.locals);
        if never_fires(rule) {
            return Ok(String::new());
        }
        let mut heads = scope.heads(rule)?;
        scope.choices = Some(Vec::new());
        let depth = heads.len() + usize::from(has_choices(&rule.code.body));
        let head = if is_start { "startstate" } else { "rule" };
        let mut text = format!("{}{head} {priority}{}\n", pad(depth), quoted(&rule.name));
        if !is_start {
            let guard = scope.guard(rule, disable)?;
            let guard = match first {
                Some(first) => format!("({guard} & {first})"),
                None => guard,
            };
            text += &format!("{0}  {guard}\n{0}==>\n", pad(depth));
        }
        scope.declare_variables(&rule.code.body, &[])?;
        let body = scope.block(&rule.code.body, depth + 1)?;
        text += &declarations(&scope.declared, depth);
        text += &format!("{0}begin\n{body}{0}end;\n", pad(depth));
        if let Some(choices) = scope.choices.take().filter(|choices| !choices.is_empty()) {
            heads.insert(0, format!("ruleset {}", choices.join("; ")));
        }
        let around = |(depth, head): (usize, &String)| format!("{}{head} do\n", pad(depth));
        let opened: String = heads.iter().enumerate().map(around).collect();
        let closed: String = (0..heads.len()).rev().map(|depth| format!("{}end;\n", pad(depth))).collect();
        Ok(opened + &text + &closed)
    }

    /// The number before the name of a rule, where CMurphi is to read it: only the order counts.
    fn priority(&self, rule: &Rule) -> String {
        let all: BTreeSet<i64> = self.model.rules.iter().map(|rule| rule.priority).collect();
        if all.len() < 2 || self.survey.not_for_rumur.is_empty() {
            return String::new();
        }
        format!("{} ", all.range(..rule.priority).count())
    }

    /// Functions that say whether a rule with a smaller number may fire, by increasing number: the first number that each is for
    /// rules up to. The language of CMurphi has numbers; that of Rumur has not.
    fn first_rules(&mut self) -> OrCannotSay<Vec<(i64, String)>> {
        let model = self.model;
        let priorities: BTreeSet<i64> = model.rules.iter().map(|rule| rule.priority).collect();
        if priorities.len() > 1 && !self.survey.not_for_rumur.is_empty() {
            self.survey.not_for_rumur.insert("priorities");
            return Ok(Vec::new());
        }
        let mut first = Vec::new();
        for priority in priorities.iter().take(priorities.len().saturating_sub(1)) {
            let mut enabled = Vec::new();
            for rule in model.rules.iter().filter(|rule| rule.priority <= *priority && !never_fires(rule)) {
                enabled.push(self.enabled(rule)?);
            }
            if enabled.is_empty() {
                enabled.push("false".into());
            }
            let name = self.names.taken.give("goes_first");
            let text = format!(
                "function {name}(): boolean;\nbegin\n  return ({});\nend;\n",
                enabled.join("\n    | ")
            );
            self.helpers.add_last(text);
            first.push((*priority, name));
        }
        Ok(first)
    }

    /// Whether some instance of a rule may fire.
    fn enabled(&mut self, rule: &'m Rule) -> OrCannotSay<String> {
        let disable = self.model.guard_faults == GuardFaults::Disable;
        let mut scope = MurphiScope::new(self, &rule.code.locals);
        let mut quantifiers = Vec::new();
        for param in &rule.params {
            let domain = scope.domain(&param.domain)?;
            quantifiers.push(format!("exists {}{domain} do ", scope.name(param.local)));
        }
        scope.put_in_place(rule)?;
        let guard = scope.guard(rule, disable)?;
        Ok(format!("({}{guard}{})", quantifiers.concat(), " end".repeat(quantifiers.len())))
    }
}

impl<'m> MurphiScope<'_, 'm> {
    /// What stands around a rule: its parameters, its choices and its bindings.
    fn heads(&mut self, rule: &'m Rule) -> OrCannotSay<Vec<String>> {
        let mut heads = Vec::new();
        for param in &rule.params {
            heads.push(self.head(param.local, &param.domain)?);
        }
        for binding in &rule.bindings {
            let to = match &binding.to {
                Argument::Place(place) => self.place(place)?,
                Argument::Value(value) => self.expr(value)?,
            };
            heads.push(format!("alias {}: {to}", self.name(binding.local)));
        }
        Ok(heads)
    }

    /// A parameter: its values are the same in every state, but for those of what is in a multiset.
    fn head(&mut self, local: LocalId, domain: &Domain) -> OrCannotSay<String> {
        match domain {
            Domain::Slots(bag) => {
                let bag = self.place(bag)?;
                Ok(format!("choose {}: {bag}", self.name(local)))
            }
            Domain::Range { .. } if numbers(domain).is_none() => {
                Err(CannotSay::new("a choice whose values depend on the state"))
            }
            Domain::Type(_) | Domain::Range { .. } => {
                let domain = self.domain(domain)?;
                Ok(format!("ruleset {}{domain}", self.name(local)))
            }
        }
    }

    /// Puts what bindings are bound to in the place of their names: while a guard is evaluated nothing changes.
    fn put_in_place(&mut self, rule: &'m Rule) -> OrCannotSay<()> {
        for binding in &rule.bindings {
            let text = match &binding.to {
                Argument::Place(place) => self.place(place)?,
                Argument::Value(value) => self.expr(value)?,
            };
            self.texts[binding.local.index()] = Some(text);
        }
        Ok(())
    }

    fn guard(&mut self, rule: &Rule, disable: bool) -> OrCannotSay<String> {
        let Some(guard) = &rule.guard else { return Ok("true".into()) };
        let asked = if disable { self.definedness(guard)? } else { None };
        let guard = self.expr(guard)?;
        Ok(match asked {
            Some(asked) => format!("({asked} & {guard})"),
            None => guard,
        })
    }
}

/// Whether a parameter has no value.
fn never_fires(rule: &Rule) -> bool {
    rule.params.iter().any(|param| is_empty(&param.domain))
}

/// The functions that a function calls.
fn called(function: &Function) -> BTreeSet<FunctionId> {
    let mut called = BTreeSet::new();
    walk_code(&function.code, &mut |node| match node {
        Node::Expr(Expr { kind: ExprKind::Call(function, _), .. })
        | Node::Stmt(Stmt { kind: StmtKind::Call(function, _), .. }) => _ = called.insert(*function),
        Node::Expr(_) | Node::Stmt(_) | Node::Place(_) => {}
    });
    called
}

fn declarations(declared: &[String], depth: usize) -> String {
    let lines = declared.iter().map(|line| format!("{}  {line}\n", pad(depth))).collect::<String>();
    if lines.is_empty() { lines } else { format!("{}var\n{lines}", pad(depth)) }
}
