//! What parameters stand for.
//!
//! Passed without `var`, a variable is copied by Rumur and seen through by CMurphi. Both are the same where nothing that the
//! function does changes the variable.

use std::collections::BTreeSet;

use shoal_model::{
    Argument, Binding, Code, Expr, ExprKind, FunctionId, LocalId, LocalKind, Model, Node, Place, Root, Stmt,
    StmtKind, TypedId, VarId, walk_code,
};

use super::survey::copied;

/// What a place is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum AliasBase {
    Var(VarId),
    /// A variable of a piece of code with a number.
    Local(usize, LocalId),
}

/// How a parameter that is not written through is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passing {
    /// As a value.
    Value,
    /// As `var`.
    Var,
    /// Neither means the same to all.
    Unclear,
}

/// What is known of parameters.
pub(crate) struct ParameterAliases<'m> {
    model: &'m Model,
    codes: Vec<(&'m Code, &'m [Binding])>,
    /// What each reference among the parameters of a function may be a part of.
    params: Vec<Vec<BTreeSet<AliasBase>>>,
    written: Vec<BTreeSet<AliasBase>>,
    /// Whether each argument for it may be passed as `var`.
    lendable: Vec<Vec<bool>>,
}

impl<'m> ParameterAliases<'m> {
    pub(crate) fn new(model: &'m Model) -> ParameterAliases<'m> {
        let functions = model.functions.iter().map(|function| (&function.code, &[][..]));
        let rules =
            model.starts.iter().chain(model.rules.iter()).map(|rule| (&rule.code, &rule.bindings[..]));
        let params: Vec<_> =
            model.functions.iter().map(|it| vec![BTreeSet::new(); it.params.len()]).collect();
        let lendable = model.functions.iter().map(|it| vec![true; it.params.len()]).collect();
        let written = vec![BTreeSet::new(); model.functions.len()];
        let mut aliasing =
            ParameterAliases { model, codes: functions.chain(rules).collect(), params, written, lendable };
        loop {
            let before = (aliasing.params.clone(), aliasing.written.clone());
            (0..aliasing.codes.len()).for_each(|number| aliasing.follow(number));
            if before == (aliasing.params.clone(), aliasing.written.clone()) {
                return aliasing;
            }
        }
    }

    /// How a parameter is passed.
    pub(crate) fn passing(&self, function: FunctionId, position: usize) -> Passing {
        let function_params = &self.params[function.index()];
        let seen_to_change =
            function_params[position].iter().any(|base| self.written[function.index()].contains(base));
        let declared = &self.model.functions[function];
        match declared.code.locals[declared.params[position]].kind {
            LocalKind::Reference { writable: true } => Passing::Var,
            _ if !seen_to_change => Passing::Value,
            LocalKind::Reference { writable: false } if self.lendable[function.index()][position] => {
                Passing::Var
            }
            LocalKind::Reference { writable: false } | LocalKind::Variable | LocalKind::Bound => {
                Passing::Unclear
            }
        }
    }

    fn follow(&mut self, number: usize) {
        let (code, _) = self.codes[number];
        walk_code(code, &mut |node| match node {
            Node::Stmt(stmt) => {
                if let (Some(place), true) = (stmt.kind.written(), number < self.written.len()) {
                    let bases = self.bases(number, place.root);
                    self.written[number].extend(bases);
                }
                if let Stmt { kind: StmtKind::Call(function, arguments), .. } = stmt {
                    self.call(number, *function, arguments);
                }
            }
            Node::Expr(Expr { kind: ExprKind::Call(function, arguments), .. }) => {
                self.call(number, *function, arguments);
            }
            Node::Expr(_) | Node::Place(_) => {}
        });
    }

    fn call(&mut self, number: usize, function: FunctionId, arguments: &[Argument]) {
        for (position, argument) in arguments.iter().enumerate() {
            let (place, lendable) = match argument {
                Argument::Place(place) => (Some(place), self.is_lendable(number, place)),
                Argument::Value(value) => (copied(value), false),
            };
            if let Some(place) = place {
                let bases = self.bases(number, place.root);
                self.params[function.index()][position].extend(bases);
            }
            self.lendable[function.index()][position] &= lendable;
        }
        if number < self.written.len() {
            let written = self.written[function.index()].clone();
            self.written[number].extend(written);
        }
    }

    /// Whether a place may be passed as `var`.
    fn is_lendable(&self, number: usize, place: &Place) -> bool {
        match place.root {
            Root::Var(_) => true,
            Root::Local(local) => match self.codes[number].0.locals[local].kind {
                LocalKind::Variable | LocalKind::Reference { writable: true } => true,
                LocalKind::Bound | LocalKind::Reference { writable: false } => false,
            },
        }
    }

    /// What a root may be a part of.
    fn bases(&self, number: usize, root: Root) -> BTreeSet<AliasBase> {
        let mut bases = BTreeSet::new();
        self.collect(number, root, &mut BTreeSet::new(), &mut bases);
        bases
    }

    fn collect(
        &self,
        number: usize,
        root: Root,
        seen: &mut BTreeSet<LocalId>,
        bases: &mut BTreeSet<AliasBase>,
    ) {
        let (code, bindings) = self.codes[number];
        let local = match root {
            Root::Var(var) => {
                bases.insert(AliasBase::Var(var));
                return;
            }
            Root::Local(local) => local,
        };
        let LocalKind::Reference { .. } = code.locals[local].kind else {
            bases.insert(AliasBase::Local(number, local));
            return;
        };
        if !seen.insert(local) {
            return;
        }
        if let Some(function) = self.model.functions.as_slice().get(number)
            && let Some(position) = function.params.iter().position(|param| *param == local)
        {
            bases.extend(&self.params[number][position]);
        }
        let mut note = |binding: &Binding| {
            if let (true, Argument::Place(place)) = (binding.local == local, &binding.to) {
                self.collect(number, place.root, seen, bases);
            }
        };
        bindings.iter().for_each(&mut note);
        walk_code(code, &mut |node| {
            if let Node::Stmt(Stmt { kind: StmtKind::Bind(bound), .. }) = node {
                bound.iter().for_each(&mut note);
            }
        });
    }
}
