//! Processes: templates with values for their parameters.

use shoal_model::{Expr, LocalKind, Type, TypeId, Value, VarId};
use shoal_syntax::{Span, cursor::Parsed};
use shoal_template::codes;

use super::{
    Channel, ExprView, Lowerer, Meaning, NameScope, StateVariable, error, types::ValueKind, unsupported,
    written,
};
use crate::ast::{self, ExprKind as K, Nta};

/// A process, or a family of them that a scalar type tells apart.
pub(super) struct ProcessFamily<'n> {
    /// As it is shown: `Train(2)`.
    pub(super) name: String,
    /// Its name in the system line, and the numbers its parameters have.
    pub(super) line: String,
    pub(super) arguments: Vec<OpenArgument>,
    pub(super) template: &'n ast::Template,
    pub(super) scope: NameScope<'n>,
    /// The scalar types that tell the processes of the family apart.
    pub(super) family: Vec<TypeId>,
    pub(super) location: VarId,
    /// The location in which it begins.
    pub(super) first: usize,
    pub(super) location_type: TypeId,
}

/// What a parameter is that the system line leaves open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum OpenArgument {
    Number(i64),
    Member,
}

impl<'n> Lowerer<'n> {
    /// The process or processes that a name in the system line stands for: one for each value of the parameters that
    /// are left open.
    pub(super) fn instantiate(&mut self, nta: &'n Nta, name: &'n ast::Name, level: usize) -> Parsed<()> {
        let open = match find(nta, name)? {
            Instantiated::Instance(instance) => &instance.parameters,
            Instantiated::Template(template) => &template.parameters,
        };
        let globals = ExprView { scope: self.globals.clone(), ..ExprView::default() };
        let mut ways: Vec<(ExprView<'n>, Vec<OpenArgument>, Vec<TypeId>)> =
            vec![(globals, Vec::new(), Vec::new())];
        for parameter in open {
            let mut next = Vec::new();
            for (view, arguments, family) in ways {
                let ty = match self.shape(&parameter.shape, &parameter.name.node, &view)? {
                    ValueKind::Data(ty) if !parameter.reference => ty,
                    _ => return self.needs_argument(parameter),
                };
                match self.integers(ty, parameter.name.span) {
                    Ok(Some(values)) => {
                        for value in values {
                            let way = view.with(&parameter.name.node, self.single(ty, value));
                            let arguments = [arguments.as_slice(), &[OpenArgument::Number(value)]].concat();
                            next.push((way, arguments, family.clone()));
                        }
                    }
                    Ok(None) => {
                        let way = view.with(&parameter.name.node, Meaning::Member(family.len()));
                        let arguments = [arguments.as_slice(), &[OpenArgument::Member]].concat();
                        next.push((way, arguments, [family.as_slice(), &[ty]].concat()));
                    }
                    // A range that is too large says so itself.
                    Err(error) if matches!(self.b.model.kind(ty), Type::Int { .. }) => return Err(error),
                    Err(_) => return self.needs_argument(parameter),
                }
            }
            ways = next;
        }
        for (view, arguments, family) in ways {
            self.instance(nta, name, view, arguments, family)?;
        }
        self.priorities.processes.resize(self.processes.len(), level);
        Ok(())
    }

    fn needs_argument<T>(&self, parameter: &ast::Parameter) -> Parsed<T> {
        let message = format!(
            "the parameter `{}` needs an argument: only ranges of integers and scalar types may be left open",
            parameter.name.node
        );
        error(codes::NOT_CONSTANT, parameter.name.span, message)
    }

    /// One process: follows the instances to the template and gives it its arguments.
    fn instance(
        &mut self,
        nta: &'n Nta,
        name: &'n ast::Name,
        mut view: ExprView<'n>,
        arguments: Vec<OpenArgument>,
        family: Vec<TypeId>,
    ) -> Parsed<()> {
        let shown = shown(&name.node, &arguments);
        let mut found = find(nta, name)?;
        let mut steps = 0;
        let template = loop {
            let instance = match found {
                Instantiated::Template(template) => break template,
                Instantiated::Instance(instance) => instance,
            };
            steps += 1;
            if steps > nta.instances.len() {
                return error(codes::REDECLARED, name.span, "this instance is an instance of itself");
            }
            found = find(nta, &instance.template)?;
            let parameters = match found {
                Instantiated::Instance(inner) => &inner.parameters,
                Instantiated::Template(template) => &template.parameters,
            };
            if parameters.len() != instance.arguments.len() {
                let message = format!("`{}` needs {} arguments", instance.template.node, parameters.len());
                return error(codes::WRONG_KIND, instance.template.span, message);
            }
            let mut inner = ExprView { scope: self.globals.clone(), ..ExprView::default() };
            for (parameter, argument) in parameters.iter().zip(&instance.arguments) {
                let meaning = self.argument(parameter, argument, &view)?;
                inner.name(parameter.name.node.clone(), meaning);
            }
            view = inner;
        };
        let prefix = format!("{shown}.");
        view.home = Some(self.processes.len());
        view.members = self.blank_members(&family, name.span);
        self.copy_written_parameters(template, &prefix, &mut view)?;
        for declaration in &template.declarations {
            self.declare(&prefix, declaration, &mut view)?;
        }
        self.place_process(template, name, shown, arguments, family, view)
    }

    /// Members that only say how many there are and of which types: what is declared is an array over them.
    fn blank_members(&mut self, family: &[TypeId], span: Span) -> Vec<Expr> {
        let local = |lowerer: &mut Self, ty: &TypeId| {
            let local = lowerer.b.local("$member", *ty, LocalKind::Bound, span);
            lowerer.b.read_local(local, span)
        };
        family.iter().map(|ty| local(self, ty)).collect()
    }

    /// A parameter that is passed by value and then written is a variable of the process.
    fn copy_written_parameters(
        &mut self,
        template: &'n ast::Template,
        prefix: &str,
        view: &mut ExprView<'n>,
    ) -> Parsed<()> {
        let by_value = |parameter: &&ast::Parameter| !parameter.reference && !parameter.shape.base.constant;
        for parameter in template.parameters.iter().filter(by_value) {
            let name = &parameter.name.node;
            let Some(Meaning::Constant(constant)) = view.scope.get(name).cloned() else { continue };
            if !written::in_template(template, name) {
                continue;
            }
            let variable =
                self.declare_copy(&format!("{prefix}{name}"), &constant, view, parameter.name.span)?;
            view.name(name.clone(), Meaning::Variable(variable));
        }
        Ok(())
    }

    /// What an argument means to its parameter.
    fn argument(
        &mut self,
        parameter: &'n ast::Parameter,
        argument: &'n ast::Expr,
        view: &ExprView<'n>,
    ) -> Parsed<Meaning<'n>> {
        let kind = self.shape(&parameter.shape, &parameter.name.node, view)?;
        if let (ValueKind::Data(ty), false) = (&kind, parameter.reference) {
            if let K::Name(name) = &argument.kind
                && let Some(member @ Meaning::Member(_)) = view.scope.get(name)
            {
                return Ok(member.clone());
            }
            let start = ast::Start::Value(argument.clone());
            return Ok(Meaning::Constant(self.constant_of(*ty, &start, view)?));
        }
        match self.named(argument, view)? {
            Some(meaning) => Ok(meaning),
            None => unsupported("this argument: a variable or channel is needed", argument.span),
        }
    }

    /// The variable or channel that an expression with known indices names.
    pub(super) fn named(&mut self, expr: &'n ast::Expr, view: &ExprView<'n>) -> Parsed<Option<Meaning<'n>>> {
        match &expr.kind {
            K::Name(name) => match view.scope.get(name) {
                Some(meaning @ (Meaning::Variable(_) | Meaning::Channel(_) | Meaning::Constant(_))) => {
                    Ok(Some(meaning.clone()))
                }
                Some(_) => Ok(None),
                None => self.unknown(name, view, expr.span),
            },
            K::Index(of, index) => {
                let (Some(of), index) = (self.named(of, view)?, self.constant(index, view)?) else {
                    return Ok(None);
                };
                Ok(self.part_of(of, index, expr.span))
            }
            _ => Ok(None),
        }
    }

    fn part_of(&self, of: Meaning<'n>, index: i64, span: Span) -> Option<Meaning<'n>> {
        match of {
            Meaning::Variable(variable) => {
                let Type::Array { index: by, element } = *self.b.model.kind(variable.ty) else { return None };
                self.b.model.ordinal(by, &Value::Int(index))?;
                let mut path = variable.path;
                path.push(shoal_model::Projection::Index(self.b.constant(Value::Int(index), by, span)));
                Some(Meaning::Variable(StateVariable { path, ty: element, ..variable }))
            }
            Meaning::Channel(channel) => {
                let (by, indices) = channel.indices.split_first()?;
                self.b.model.ordinal(*by, &Value::Int(index))?;
                let given = [channel.given.as_slice(), &[self.b.int(index, span)]].concat();
                Some(Meaning::Channel(Channel { given, indices: indices.to_vec(), ..channel }))
            }
            Meaning::Constant(constant) => self.element(&constant, index).map(Meaning::Constant),
            _ => None,
        }
    }

    fn place_process(
        &mut self,
        template: &'n ast::Template,
        name: &'n ast::Name,
        shown: String,
        arguments: Vec<OpenArgument>,
        family: Vec<TypeId>,
        view: ExprView<'n>,
    ) -> Parsed<()> {
        if template.locations.is_empty() {
            return error(codes::MISSING, name.span, "a process needs at least one location");
        }
        let variants = template.locations.iter().map(|location| location.name.node.clone()).collect();
        let location_type = self.b.ty(Type::Enum { variants });
        let whole = family
            .iter()
            .rev()
            .fold(location_type, |element, index| self.b.ty(Type::Array { index: *index, element }));
        let location = self.b.var(&shown, whole, name.span);
        let first = template.start.as_ref().and_then(|start| position(template, start));
        let Some(first) = first else {
            return error(codes::MISSING, name.span, "a process needs a location in which it begins");
        };
        self.processes.push(ProcessFamily {
            name: shown,
            line: name.node.clone(),
            arguments,
            template,
            scope: view.scope,
            family: family.clone(),
            location,
            first,
            location_type,
        });
        let process = self.processes.len() - 1;
        let stmts = self.for_each_member(&family, name.span, |lowerer, members| {
            vec![lowerer.go_to(process, members, first, name.span)]
        });
        self.start.extend(stmts);
        Ok(())
    }
}

enum Instantiated<'n> {
    Instance(&'n ast::Instance),
    Template(&'n ast::Template),
}

fn find<'n>(nta: &'n Nta, name: &ast::Name) -> Parsed<Instantiated<'n>> {
    if let Some(instance) = nta.instances.iter().find(|instance| instance.name.node == name.node) {
        return Ok(Instantiated::Instance(instance));
    }
    let named = |template: &&ast::Template| template.name.as_ref().is_some_and(|own| own.node == name.node);
    match nta.templates.iter().find(named) {
        Some(template) => Ok(Instantiated::Template(template)),
        None => error(codes::UNKNOWN_NAME, name.span, format!("there is no template `{}`", name.node)),
    }
}

/// The name of a process: a number for each open parameter, but those that its family is told apart by.
fn shown(name: &str, arguments: &[OpenArgument]) -> String {
    let numbers: Vec<String> = arguments
        .iter()
        .filter_map(|argument| match argument {
            OpenArgument::Number(number) => Some(number.to_string()),
            OpenArgument::Member => None,
        })
        .collect();
    match numbers.is_empty() {
        true => name.to_string(),
        false => format!("{name}({})", numbers.join(",")),
    }
}

/// The number of a location.
pub(super) fn position(template: &ast::Template, id: &str) -> Option<usize> {
    template.locations.iter().position(|location| location.id == id)
}
