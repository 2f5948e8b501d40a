//! Channels: which ones there are, and which ones a variable can hold.
//!
//! A *site* is a declaration with `= [n] of {...}`; it makes one channel, or one for each element of an array and each
//! process. What a channel variable can hold is found by an analysis that does not look at the order of statements.
//! Sites of the same shape that one variable can hold are stored in one array of the state, a *class*, so that the
//! value of the variable is an index.

use std::collections::{BTreeSet, HashMap, HashSet};

use shoal_syntax::{Diagnostic, Span};

use super::{Lowerer, OrReported, Reported};
use crate::{
    ast::{Expr, ExprKind, Init, Pattern, Program, Receive, StmtKind, Type, VarRef, VariableId},
    codes,
    walk::{SyntaxNode, walk_block, walk_expr},
};

/// Which site.
pub(super) type SiteId = usize;

/// A declaration that makes channels.
#[derive(Clone, Debug)]
pub(super) struct ChannelSite {
    pub(super) variable: VariableId,
    /// The proctype whose processes make it.
    pub(super) owner: Option<usize>,
    pub(super) capacity: u32,
    /// The scalar parts of a message.
    pub(super) parts: Vec<Type>,
    pub(super) class: usize,
    /// Where its channels begin in the class.
    pub(super) offset: u32,
}

/// Channels that are stored together.
#[derive(Clone, Debug)]
pub(super) struct ChannelClass {
    pub(super) sites: Vec<SiteId>,
    pub(super) capacity: u32,
    pub(super) parts: Vec<Type>,
    /// The value of a variable that holds the first.
    pub(super) base: i64,
    pub(super) count: u32,
    /// Where they are stored; rendezvous has no store.
    pub(super) var: Option<shoal_model::VarId>,
}

/// Something that can hold channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ChannelHolder {
    Variable(VariableId),
    Field(usize, usize),
    Part(SiteId, usize),
}

/// What the analysis found.
#[derive(Clone, Debug, Default)]
pub(super) struct Channels {
    pub(super) sites: Vec<ChannelSite>,
    pub(super) classes: Vec<ChannelClass>,
    /// The site that a variable declares.
    site_of: HashMap<VariableId, SiteId>,
    holds: HashMap<ChannelHolder, BTreeSet<SiteId>>,
    /// What may hold no channel.
    may_be_none: HashSet<ChannelHolder>,
    /// Variables that are assigned after their declaration.
    assigned: BTreeSet<VariableId>,
}

impl Channels {
    /// The site of a variable that always holds the channels it declares.
    pub(super) fn fixed(&self, variable: VariableId) -> Option<SiteId> {
        self.site_of.get(&variable).copied().filter(|_| !self.assigned.contains(&variable))
    }

    /// Whether a variable is assigned after its declaration.
    pub(super) fn is_assigned(&self, variable: VariableId) -> bool {
        self.assigned.contains(&variable)
    }

    /// Whether some variable can hold a channel of the site.
    pub(super) fn is_held(&self, site: SiteId) -> bool {
        self.holds.values().any(|sites| sites.contains(&site))
    }

    /// The classes of the channels that something can hold.
    fn classes_of(&self, sites: &BTreeSet<SiteId>) -> Vec<usize> {
        let classes: BTreeSet<usize> = sites.iter().map(|site| self.sites[*site].class).collect();
        classes.into_iter().collect()
    }

    fn add(&mut self, holder: ChannelHolder, sites: &BTreeSet<SiteId>) -> bool {
        let known = self.holds.entry(holder).or_default();
        let before = known.len();
        known.extend(sites);
        known.len() > before
    }
}

/// The scalar parts that a type is made of in a message.
pub(super) fn flatten(program: &Program, ty: &Type, into: &mut Vec<Type>) {
    match ty {
        Type::Record(id) => {
            for field in &program.typedefs[*id].fields {
                for _ in 0..field.length.unwrap_or(1) {
                    flatten(program, &field.ty, into);
                }
            }
        }
        _ => into.push(ty.clone()),
    }
}

/// The scalar parts of a variable, as variables.
pub(super) fn flatten_ref(program: &Program, var: &VarRef, into: &mut Vec<VarRef>) {
    let Some((Type::Record(id), None)) = ref_type(program, var) else {
        into.push(var.clone());
        return;
    };
    for field in &program.typedefs[id].fields {
        for at in 0..field.length.unwrap_or(1) {
            let index = field.length.map(|_| Expr { kind: ExprKind::Int(i64::from(at)), span: var.span });
            let mut part = var.clone();
            part.fields.push((field.name.clone(), index));
            flatten_ref(program, &part, into);
        }
    }
}

/// The type of a variable or a part of it, with its length if it is a whole array. Nothing if there is no such field.
pub(super) fn ref_type(program: &Program, var: &VarRef) -> Option<(Type, Option<u32>)> {
    let variable = &program.variables[var.variable];
    let mut ty = variable.ty.clone();
    let mut length = variable.length.filter(|_| var.index.is_none());
    for (name, index) in &var.fields {
        let target = match &ty {
            Type::Pointer(target) => (**target).clone(),
            other => other.clone(),
        };
        let Type::Record(id) = target else { return None };
        let field = program.typedefs[id].fields.iter().find(|field| field.name.node == name.node)?;
        ty = field.ty.clone();
        length = field.length.filter(|_| index.is_none());
    }
    Some((ty, length))
}

impl Lowerer<'_> {
    /// Finds all sites and what can hold their channels.
    pub(super) fn find_channels(&mut self) {
        let program = self.program;
        for (id, variable) in program.variables.iter().enumerate() {
            let Some(Init::Channel { capacity, fields }) = &variable.init else { continue };
            let mut parts = Vec::new();
            fields.iter().for_each(|field| flatten(program, field, &mut parts));
            let owner = program.proctypes.iter().position(|proctype| proctype.variables.contains(&id));
            let site = ChannelSite { variable: id, owner, capacity: *capacity, parts, class: 0, offset: 0 };
            self.channels.site_of.insert(id, self.channels.sites.len());
            self.channels.sites.push(site);
        }
        self.begin_with_none();
        loop {
            let mut changed = false;
            let bodies = program.proctypes.iter().chain(&program.nevers).map(|proctype| &proctype.body);
            for body in bodies {
                walk_block(body, &mut |node| changed |= self.flow_of_channels(&node));
            }
            for (id, variable) in program.variables.iter().enumerate() {
                if let Some(Init::Value(value)) = &variable.init {
                    if variable.ty == Type::Chan {
                        let sites = self.sites_of_expr(value);
                        changed |= self.channels.add(ChannelHolder::Variable(id), &sites);
                        changed |= self.none_goes(value, ChannelHolder::Variable(id));
                    }
                    walk_expr(value, &mut |node| changed |= self.flow_of_channels(&node));
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// Notes which channels a statement moves where.
    fn flow_of_channels(&mut self, node: &SyntaxNode<'_>) -> bool {
        let program = self.program;
        let stmt = match node {
            SyntaxNode::Stmt(stmt) => stmt,
            SyntaxNode::Expr(Expr { kind: ExprKind::Run(name, arguments, _), .. }) => {
                let Some(proctype) = program.proctypes.iter().find(|it| it.name.node == name.node) else {
                    return false;
                };
                let mut changed = false;
                for (param, argument) in proctype.params.iter().zip(arguments) {
                    let sites = self.sites_of_expr(argument);
                    changed |=
                        !sites.is_empty() && self.channels.add(ChannelHolder::Variable(*param), &sites);
                    changed |= self.none_goes(argument, ChannelHolder::Variable(*param));
                }
                return changed;
            }
            SyntaxNode::Expr(_) => return false,
        };
        match &stmt.kind {
            StmtKind::Assign(Some(place), value) => {
                let sites = self.sites_of_expr(value);
                let changed = self.none_goes(value, self.holder(place));
                self.store(place, &sites) | changed
            }
            StmtKind::Send { channel, message, .. } => {
                let targets = self.sites_of(channel);
                let mut changed = false;
                let mut part = 0;
                for value in message {
                    for one in self.flatten_value(value) {
                        let sites = self.sites_of_expr(&one);
                        for target in &targets {
                            let holder = ChannelHolder::Part(*target, part);
                            changed |= !sites.is_empty() && self.channels.add(holder, &sites);
                            changed |= self.none_goes(&one, holder);
                        }
                        part += 1;
                    }
                }
                // Parts that are left out are 0.
                for target in targets {
                    for part in part..self.channels.sites[target].parts.len() {
                        changed |= self.channels.may_be_none.insert(ChannelHolder::Part(target, part));
                    }
                }
                changed
            }
            StmtKind::Receive(receive) => self.flow_of_receive(receive),
            _ => false,
        }
    }

    fn flow_of_receive(&mut self, receive: &Receive) -> bool {
        let mut changed = false;
        let mut part = 0;
        for pattern in &receive.parts {
            let Pattern::Store(place) = pattern else {
                part += 1;
                continue;
            };
            let mut places = Vec::new();
            flatten_ref(self.program, place, &mut places);
            for place in places {
                let mut sites = BTreeSet::new();
                for from in self.sites_of(&receive.channel) {
                    let sent = ChannelHolder::Part(from, part);
                    sites.extend(self.channels.holds.get(&sent).into_iter().flatten());
                    let holder = self.holder(&place);
                    changed |=
                        self.channels.may_be_none.contains(&sent) && self.channels.may_be_none.insert(holder);
                }
                changed |= self.store(&place, &sites);
                part += 1;
            }
        }
        changed
    }

    /// What holds no channel when it begins.
    fn begin_with_none(&mut self) {
        let program = self.program;
        let is_passed = |id: VariableId| {
            program.proctypes.iter().any(|proctype| proctype.params.contains(&id) && proctype.active == 0)
        };
        for (id, variable) in program.variables.iter().enumerate() {
            let begins = match &variable.init {
                None => !is_passed(id),
                Some(Init::List(_)) => true,
                Some(Init::Value(_) | Init::Channel { .. } | Init::New(_)) => false,
            };
            if begins {
                self.channels.may_be_none.insert(ChannelHolder::Variable(id));
            }
        }
        for (record, typedef) in program.typedefs.iter().enumerate() {
            let fields = (0..typedef.fields.len()).map(|field| ChannelHolder::Field(record, field));
            self.channels.may_be_none.extend(fields);
        }
    }

    /// Where a value may be no channel, what it is stored in may hold none.
    fn none_goes(&mut self, value: &Expr, holder: ChannelHolder) -> bool {
        self.may_be_no_channel(value) && self.channels.may_be_none.insert(holder)
    }

    fn may_be_no_channel(&self, value: &Expr) -> bool {
        match &value.kind {
            ExprKind::Var(var) if matches!(ref_type(self.program, var), Some((Type::Chan, _))) => {
                self.may_be_none(var)
            }
            ExprKind::Cond(_, a, b) => self.may_be_no_channel(a) || self.may_be_no_channel(b),
            _ => true,
        }
    }

    /// Whether a channel variable may hold no channel.
    pub(super) fn may_be_none(&self, var: &VarRef) -> bool {
        self.channels.may_be_none.contains(&self.holder(var))
    }

    /// A channel is stored in a variable.
    fn store(&mut self, place: &VarRef, sites: &BTreeSet<SiteId>) -> bool {
        let is_chan = ref_type(self.program, place).is_some_and(|(ty, _)| ty == Type::Chan);
        if !is_chan {
            return false;
        }
        let mut changed = false;
        if place.fields.is_empty() {
            changed |= self.channels.assigned.insert(place.variable);
        }
        changed | self.channels.add(self.holder(place), sites)
    }

    fn holder(&self, var: &VarRef) -> ChannelHolder {
        let program = self.program;
        let Some((last, before)) = var.fields.split_last() else {
            return ChannelHolder::Variable(var.variable);
        };
        let whole = VarRef { fields: before.to_vec(), ..var.clone() };
        let record = match ref_type(program, &whole) {
            Some((Type::Record(id), _)) => id,
            Some((Type::Pointer(target), _)) => match *target {
                Type::Record(id) => id,
                _ => return ChannelHolder::Variable(var.variable),
            },
            _ => return ChannelHolder::Variable(var.variable),
        };
        let fields = &program.typedefs[record].fields;
        let field = fields.iter().position(|field| field.name.node == last.0.node);
        // A field that the record does not have is reported where it is lowered.
        field.map_or(ChannelHolder::Variable(var.variable), |field| ChannelHolder::Field(record, field))
    }

    /// The sites whose channels a variable can hold.
    pub(super) fn sites_of(&self, var: &VarRef) -> BTreeSet<SiteId> {
        let mut sites: BTreeSet<SiteId> =
            self.channels.holds.get(&self.holder(var)).into_iter().flatten().copied().collect();
        if var.fields.is_empty() {
            sites.extend(self.channels.site_of.get(&var.variable));
        }
        sites
    }

    fn sites_of_expr(&self, expr: &Expr) -> BTreeSet<SiteId> {
        match &expr.kind {
            ExprKind::Var(var) => match ref_type(self.program, var) {
                Some((Type::Chan, _)) => self.sites_of(var),
                _ => BTreeSet::new(),
            },
            ExprKind::Cond(_, a, b) => self.sites_of_expr(a).union(&self.sites_of_expr(b)).copied().collect(),
            _ => BTreeSet::new(),
        }
    }

    /// A value of a message as its scalar parts.
    pub(super) fn flatten_value(&self, value: &Expr) -> Vec<Expr> {
        let ExprKind::Var(var) = &value.kind else { return vec![value.clone()] };
        let mut parts = Vec::new();
        flatten_ref(self.program, var, &mut parts);
        parts.into_iter().map(|part| Expr { kind: ExprKind::Var(part), span: value.span }).collect()
    }

    /// The classes of the channels that a variable can hold: none if it never holds one.
    pub(super) fn classes(&mut self, var: &VarRef) -> OrReported<Vec<usize>> {
        let variable = &self.program.variables[var.variable];
        if var.index.is_some() && variable.length.is_none() {
            let message = format!("`{}` is not an array", variable.name.node);
            return self.error(codes::BAD_TYPE, var.span, message);
        }
        match ref_type(self.program, var) {
            Some((Type::Chan, None)) => {}
            Some((Type::Chan, Some(_))) => {
                return self.error(
                    codes::BAD_TYPE,
                    var.span,
                    "this is an array of channels; one of them is needed",
                );
            }
            _ => return self.error(codes::BAD_TYPE, var.span, "this is not a channel"),
        }
        let classes = self.channels.classes_of(&self.sites_of(var));
        // What holds no channel is 0, and to use it is an error when it happens. A number may be that of any channel.
        if classes.is_empty() && !self.style.pure_channels {
            let diagnostic =
                Diagnostic::error(codes::BAD_TYPE, var.span, "no channel is ever stored in this variable");
            return self.report(diagnostic.help("declare it with `= [n] of { ... }`, or pass one"));
        }
        Ok(classes)
    }

    /// Groups sites into classes and gives every channel its number. The numbers of processes are known.
    pub(super) fn class_channels(&mut self) {
        let count = self.channels.sites.len();
        let mut group: Vec<usize> = (0..count).collect();
        let sets: Vec<BTreeSet<SiteId>> = self.channels.holds.values().cloned().collect();
        for set in sets {
            for a in &set {
                for b in &set {
                    let (x, y) = (&self.channels.sites[*a], &self.channels.sites[*b]);
                    if x.capacity == y.capacity && x.parts == y.parts {
                        let (from, to) = (group[*a].max(group[*b]), group[*a].min(group[*b]));
                        group.iter_mut().filter(|it| **it == from).for_each(|it| *it = to);
                    }
                }
            }
        }
        let mut base = 1;
        for head in 0..count {
            let sites: Vec<SiteId> = (0..count).filter(|site| group[*site] == head).collect();
            if sites.is_empty() {
                continue;
            }
            let class = self.channels.classes.len();
            let mut offset = 0;
            for site in &sites {
                let size = self.channels_of_site(*site);
                self.channels.sites[*site].class = class;
                self.channels.sites[*site].offset = offset;
                offset += size;
            }
            let first = &self.channels.sites[head];
            let (capacity, parts) = (first.capacity, first.parts.clone());
            self.channels.classes.push(ChannelClass {
                sites,
                capacity,
                parts,
                base,
                count: offset,
                var: None,
            });
            base += i64::from(offset);
        }
        self.channel_numbers = base;
    }

    /// How many channels a site makes.
    fn channels_of_site(&self, site: SiteId) -> u32 {
        let site = &self.channels.sites[site];
        let length = self.program.variables[site.variable].length.unwrap_or(1);
        length * site.owner.map_or(1, |owner| self.procs[owner].capacity)
    }

    /// A name for the variable that stores a class.
    pub(super) fn class_name(&self, class: usize) -> String {
        let name = |site: &SiteId| {
            let site = &self.channels.sites[*site];
            let name = &self.program.variables[site.variable].name.node;
            match site.owner {
                Some(owner) => format!("{}.{name}", self.program.proctypes[owner].name.node),
                None => name.to_string(),
            }
        };
        self.channels.classes[class].sites.iter().map(name).collect::<Vec<_>>().join("/")
    }

    /// Where a class is declared.
    pub(super) fn class_span(&self, class: usize) -> Span {
        let site = self.channels.classes[class].sites[0];
        self.program.variables[self.channels.sites[site].variable].name.span
    }

    /// A mistake was made where a channel has another shape than what is sent.
    pub(super) fn check_parts(&mut self, class: usize, given: usize, span: Span) -> OrReported<()> {
        let wanted = self.channels.classes[class].parts.len();
        // Parts that are left out are 0 when sent, and not looked at when received.
        if given <= wanted {
            return Ok(());
        }
        let message = format!("a message of this channel has {wanted} parts, not {given}");
        let diagnostic = Diagnostic::error(codes::WRONG_COUNT, span, message);
        let declared = self.class_span(class);
        self.report::<()>(diagnostic.also(declared, "the channel is declared here")).map_err(|_| Reported)
    }
}
