//! Types and variables of the Model, and the state in which everything begins.

use std::collections::{HashMap, HashSet};

use shoal_model::{Code, Field, Place, Rule, Stmt, Type as ModelType, TypeDef, TypeId, Var};
use shoal_syntax::Span;

use super::{Lowerer, Me, VarStorage, priorities::ProcessPriority};
use crate::{
    ast::{ExprKind, Init, Pattern, StmtKind, Type, VariableId},
    flow::label_of,
    walk::{SyntaxNode, walk_block, walk_expr},
};

impl Lowerer<'_> {
    pub(super) fn add_type(&mut self, name: Option<String>, kind: ModelType) -> TypeId {
        self.model.types.push(TypeDef { name, kind })
    }

    /// The type of the integers of a range.
    pub(super) fn int_type(&mut self, lo: i64, hi: i64) -> TypeId {
        if let Some(known) = self.ranges.get(&(lo, hi)) {
            return *known;
        }
        let ty = self.add_type(None, ModelType::Int { lo, hi });
        self.ranges.insert((lo, hi), ty);
        ty
    }

    pub(super) fn array_of(&mut self, element: TypeId, length: u32) -> TypeId {
        let index = self.int_type(0, i64::from(length) - 1);
        self.add_type(None, ModelType::Array { index, element })
    }

    /// The type of the symbolic constants of a set. The first stands for none.
    pub(super) fn mtype(&mut self, set: usize) -> TypeId {
        if !self.style.named_constants {
            return self.int_type(0, 255);
        }
        if let Some(known) = self.mtypes.get(&set) {
            return *known;
        }
        let mtype = &self.program.mtypes[set];
        let mut variants = vec!["0".to_string()];
        variants.extend(mtype.constants.iter().map(|name| name.to_string()));
        let name = mtype.name.as_ref().map_or("mtype".to_string(), |name| name.to_string());
        let ty = self.add_type(Some(name), ModelType::Enum { variants });
        self.mtypes.insert(set, ty);
        ty
    }

    pub(super) fn scalar_type(&mut self, ty: &Type) -> TypeId {
        match ty {
            Type::Bit => self.int_type(0, 1),
            Type::Byte => self.int_type(0, 255),
            Type::Short => self.int_type(-(1 << 15), (1 << 15) - 1),
            Type::Int => self.int_type(i64::from(i32::MIN), i64::from(i32::MAX)),
            Type::Unsigned(bits) => self.int_type(0, (1i64 << bits) - 1),
            Type::Mtype(set) => self.mtype(*set),
            Type::Chan if self.style.pure_channels => self.int_type(0, self.channel_numbers - 1),
            Type::Chan => self.int_type(0, 255),
            Type::Record(id) => self.record(*id),
            Type::Pointer(target) => {
                self.heap_of(target).map_or(self.integer, |heap| self.heaps[heap].pointer)
            }
            Type::Function => self.int_type(0, self.program.functions.len() as i64),
        }
    }

    fn record(&mut self, id: usize) -> TypeId {
        if let Some(known) = self.records.get(&id) {
            return *known;
        }
        let typedef = &self.program.typedefs[id];
        let mut fields = Vec::new();
        for field in &typedef.fields {
            let ty = self.sized(&field.ty, field.length);
            fields.push(Field { name: field.name.node.to_string(), ty });
        }
        let ty = self.add_type(Some(typedef.name.node.to_string()), ModelType::Record { fields });
        self.records.insert(id, ty);
        ty
    }

    /// A type, or an array of it.
    pub(super) fn sized(&mut self, ty: &Type, length: Option<u32>) -> TypeId {
        let element = self.scalar_type(ty);
        match length {
            Some(length) => self.array_of(element, length),
            None => element,
        }
    }

    /// All variables of the state.
    pub(super) fn declare_all(&mut self, head: Span) {
        self.declare_heaps();
        let idle = self.never_read();
        for id in 0..self.program.variables.len() {
            let variable = &self.program.variables[id];
            if self.channels.fixed(id).is_some() {
                self.homes.insert(id, VarStorage::Channel);
            } else if variable.is_hidden && idle.contains(&id) {
                self.homes.insert(id, VarStorage::Nowhere);
            } else if variable.is_global {
                let ty = self.sized(&variable.ty, variable.length);
                let (name, span) = (variable.name.node.to_string(), variable.name.span);
                let var = self.model.vars.push(Var { name, ty, span });
                self.homes.insert(id, VarStorage::Global(var));
            }
        }
        self.declare_channels();
        self.declare_frame_fields();
        for proc in 0..self.procs.len() {
            self.declare_entries(proc);
            self.declare_process(proc);
        }
        let most: u32 = self.procs.iter().map(|proc| proc.capacity).sum();
        if self.procs.iter().any(|proc| proc.ends) || self.some_run() {
            let ty = self.int_type(0, i64::from(most));
            let var = self.model.vars.push(Var { name: "_nr_pr".into(), ty, span: head });
            self.processes = Some(var);
        }
        self.declare_trace();
        self.declare_moved(head);
        if self.asks_for_last() {
            let ty = self.int_type(0, i64::from(most));
            self.last = Some(self.model.vars.push(Var { name: "_last".into(), ty, span: head }));
        }
    }

    fn asks_for_last(&self) -> bool {
        let mut asks = false;
        self.walk_program(&mut |node| {
            asks |= matches!(node, SyntaxNode::Expr(expr) if matches!(expr.kind, ExprKind::Last));
        });
        asks
    }

    /// Visits all code, first values and formulas.
    pub(super) fn walk_program<'p>(&'p self, visit: &mut dyn FnMut(SyntaxNode<'p>)) {
        let program = self.program;
        for proctype in program.proctypes.iter().chain(&program.nevers) {
            walk_block(&proctype.body, visit);
            proctype.provided.iter().for_each(|provided| walk_expr(provided, visit));
        }
        program.formulas.iter().for_each(|formula| walk_expr(&formula.formula, visit));
        for variable in &program.variables {
            if let Some(Init::Value(value)) = &variable.init {
                walk_expr(value, visit);
            }
        }
    }

    pub(super) fn some_run(&self) -> bool {
        let mut some = false;
        self.walk_program(&mut |node| {
            some |= matches!(node, SyntaxNode::Expr(expr) if matches!(expr.kind, ExprKind::Run(..)));
        });
        some
    }

    /// Variables that are written and never read.
    fn never_read(&self) -> HashSet<VariableId> {
        let mut read: HashSet<VariableId> = HashSet::new();
        self.walk_program(&mut |node| match node {
            SyntaxNode::Expr(expr) => match &expr.kind {
                ExprKind::Var(var) | ExprKind::Query(_, var) => {
                    read.insert(var.variable);
                }
                ExprKind::Poll(receive) => {
                    read.insert(receive.channel.variable);
                    for part in &receive.parts {
                        if let Pattern::Store(place) = part {
                            read.insert(place.variable);
                        }
                    }
                }
                ExprKind::Remote(_, _, name, _) => {
                    read.extend(
                        (0..self.program.variables.len())
                            .filter(|id| self.program.variables[*id].name.node == name.node),
                    );
                }
                _ => {}
            },
            SyntaxNode::Stmt(stmt) => match &stmt.kind {
                StmtKind::Send { channel, .. } => {
                    read.insert(channel.variable);
                }
                StmtKind::Receive(receive) => {
                    read.insert(receive.channel.variable);
                }
                _ => {}
            },
        });
        (0..self.program.variables.len()).filter(|id| !read.contains(id)).collect()
    }

    /// A channel is how many messages it holds, and the messages; those that it does not hold are 0.
    fn declare_channels(&mut self) {
        for class in 0..self.channels.classes.len() {
            let (capacity, count) =
                (self.channels.classes[class].capacity, self.channels.classes[class].count);
            if capacity == 0 || count == 0 {
                continue;
            }
            let parts = self.channels.classes[class].parts.clone();
            let mut types: Vec<TypeId> = Vec::new();
            for part in &parts {
                types.push(self.scalar_type(part));
            }
            let message = match types.as_slice() {
                [one] => *one,
                _ => {
                    let fields = types.iter().enumerate();
                    let fields =
                        fields.map(|(at, ty)| Field { name: format!("{}", at + 1), ty: *ty }).collect();
                    self.add_type(None, ModelType::Record { fields })
                }
            };
            let length = self.int_type(0, i64::from(capacity));
            let messages = self.array_of(message, capacity);
            let fields = vec![
                Field { name: "len".into(), ty: length },
                Field { name: "messages".into(), ty: messages },
            ];
            let mut ty = self.add_type(None, ModelType::Record { fields });
            if self.is_array(class) {
                ty = self.array_of(ty, count);
            }
            let var = Var { name: self.class_name(class), ty, span: self.class_span(class) };
            self.channels.classes[class].var = Some(self.model.vars.push(var));
        }
    }

    fn declare_process(&mut self, proc: usize) {
        let proctype = &self.program.proctypes[proc];
        let name = proctype.name.node.to_string();
        let variants = self.location_names(proc);
        let location = self.add_type(Some(format!("{name} location")), ModelType::Enum { variants });
        let mut fields = vec![Field { name: "at".into(), ty: location }];
        if self.procs[proc].pids.is_none() {
            let pid = self.int_type(0, 255);
            fields.push(Field { name: "_pid".into(), ty: pid });
        }
        if let ProcessPriority::Stored(field) = &mut self.procs[proc].priority {
            *field = fields.len();
            let ty = self.int_type(0, 255);
            fields.push(Field { name: "_priority".into(), ty });
        }
        for id in &proctype.variables {
            let variable = &self.program.variables[*id];
            if self.homes.contains_key(id) {
                continue;
            }
            self.homes.insert(*id, VarStorage::Field(fields.len()));
            let ty = self.sized(&variable.ty, variable.length);
            let mut field = variable.name.node.to_string();
            let same = fields.iter().filter(|known| known.name.trim_end_matches('\'') == field).count();
            field.extend(std::iter::repeat_n('\'', same));
            fields.push(Field { name: field, ty });
        }
        if let Some(frames) = self.frames.filter(|_| !self.procs[proc].flow.calls().is_empty()) {
            self.procs[proc].frame = fields.len();
            fields.push(Field { name: "call".into(), ty: frames.pointer });
        }
        let record = self.add_type(Some(name.clone()), ModelType::Record { fields });
        let capacity = self.procs[proc].capacity;
        let ty = match self.procs[proc].entries {
            Some(index) => self.add_type(None, ModelType::Array { index, element: record }),
            None if capacity > 1 => self.array_of(record, capacity),
            None => record,
        };
        let var = self.model.vars.push(Var { name, ty, span: proctype.name.span });
        self.procs[proc].location_type = location;
        self.procs[proc].record = record;
        self.procs[proc].var = var;
    }

    /// Locations are named by their labels or lines; `-` is where nobody runs.
    fn location_names(&self, proc: usize) -> Vec<String> {
        let flow = &self.procs[proc].flow;
        let mut names = vec!["-".to_string()];
        let mut used: HashMap<String, usize> = HashMap::new();
        for location in &self.procs[proc].locations {
            let name = match label_of(flow, *location) {
                Some(label) => label.to_string(),
                None if *location == flow.end => "end".to_string(),
                None => format!("line {}", self.line(flow.elements[*location].span)),
            };
            let count = used.entry(name.clone()).or_insert(0);
            *count += 1;
            names.push(match *count {
                1 => name,
                count => format!("{name} ({count})"),
            });
        }
        names
    }

    /// The start: global variables have their first values, and active processes run.
    pub(super) fn start(&mut self, head: Span) {
        self.locals = shoal_model::IndexVec::new();
        let mut body = Vec::new();
        for var in self.model.vars.ids().collect::<Vec<_>>() {
            let frames = self.frames.map(|frames| frames.var());
            if !self.heaps.iter().any(|heap| heap.var() == var) && frames != Some(var) {
                let place = self.var_place(var, head);
                body.extend(self.zero(&place));
            }
        }
        let globals = (0..self.program.variables.len()).filter(|id| self.program.variables[*id].is_global);
        for id in globals.collect::<Vec<_>>() {
            if let Some(VarStorage::Global(var)) = self.homes.get(&id) {
                let place = self.var_place(*var, self.program.variables[id].name.span);
                body.extend(self.first_value(id, place, None));
            }
        }
        let mut pid = 0;
        for proc in 0..self.procs.len() {
            let active = self.program.proctypes[proc].active;
            if self.procs[proc].entries.is_some() && active > 0 {
                let local = self.entry_local(proc, "i", shoal_model::LocalKind::Bound, head);
                let me = Me { proc, entry: Some(self.read_local(local, head)) };
                let mut begin = self.begin_process(&me, None, head);
                begin.extend(self.first_priority(&me, self.program.proctypes[proc].priority, head));
                let domain = self.all_entries(proc, head);
                let kind = shoal_model::StmtKind::For { local, domain, body: begin };
                body.push(Stmt { kind, span: head });
                pid += i64::from(active);
                continue;
            }
            for entry in 0..active {
                let me = Me { proc, entry: self.numbered_entry(proc, entry, head) };
                body.extend(self.begin_process(&me, Some(pid), head));
                body.extend(self.first_priority(&me, self.program.proctypes[proc].priority, head));
                pid += 1;
            }
        }
        if let Some(processes) = self.processes {
            body.push(self.assign(self.var_place(processes, head), self.int(pid, head)));
        }
        body.extend(self.begin_trace());
        let code = Code { locals: std::mem::take(&mut self.locals), body };
        let rule = Rule {
            name: "start".into(),
            params: Vec::new(),
            bindings: Vec::new(),
            guard: None,
            code,
            priority: 0,
            urgent: false,
            span: head,
        };
        self.model.starts.push(rule);
    }

    /// Makes a process begin; its parameters are set after that. Everything in its entry is 0 before.
    pub(super) fn begin_process(&mut self, me: &Me, pid: Option<i64>, span: Span) -> Vec<Stmt> {
        let mut body = Vec::new();
        let entry = self.entry(me, span);
        if self.procs[me.proc].pids.is_none() {
            let pid = match (pid, self.processes) {
                (Some(pid), _) => self.int(pid, span),
                (None, Some(processes)) => self.read(self.var_place(processes, span)),
                (None, None) => self.int(0, span),
            };
            body.push(self.assign(self.field(entry.clone(), 1), pid));
        }
        self.born = Some(match pid {
            Some(pid) => self.int(pid + 1, span),
            None => self.binary(shoal_model::BinaryOp::Add, self.process_count(span), self.int(1, span)),
        });
        for id in self.program.proctypes[me.proc].variables.clone() {
            if let Some(VarStorage::Field(field)) = self.homes.get(&id) {
                let place = self.field(entry.clone(), *field);
                body.extend(self.first_value(id, place, Some(me)));
            }
        }
        self.born = None;
        // First values may read parameters, so the process is not there before it has them.
        body.push(self.assign(self.field(entry, 0), self.location(me.proc, 0, span)));
        body
    }

    /// Gives a variable its first value, if it is not 0.
    pub(super) fn first_value(&mut self, id: VariableId, place: Place, me: Option<&Me>) -> Vec<Stmt> {
        let variable = &self.program.variables[id];
        let mut body = Vec::new();
        let mut parts: Vec<(Place, crate::ast::Expr)> = Vec::new();
        match (&variable.init, variable.length) {
            // SPIN takes a value for a record and does nothing with it.
            (Some(Init::Value(_)), _) if matches!(variable.ty, Type::Record(_)) => {}
            (Some(Init::Value(value)), length) => {
                parts
                    .extend(self.elements(&place, length).into_iter().map(|(_, part)| (part, value.clone())));
            }
            (Some(Init::List(values)), length @ Some(_)) => {
                let pairs = self.elements(&place, length).into_iter().zip(values);
                parts.extend(pairs.map(|((_, part), value)| (part, value.clone())));
            }
            (Some(Init::New(ty)), None) => {
                let of = (place.clone(), variable.ty.clone());
                body.extend(
                    self.create_object(Some(of), (ty, 1), me, variable.name.span).unwrap_or_default(),
                );
            }
            (Some(Init::New(_)), Some(_)) => {
                let message = "not supported: an array that begins with objects";
                let _ = self.error::<()>(crate::codes::UNSUPPORTED, variable.name.span, message);
            }
            (Some(Init::Channel { .. }), length) => body.extend(self.first_channels(id, &place, length, me)),
            _ => {}
        }
        for (place, value) in parts {
            if let Ok(stmts) = self.store_value(place, &variable.ty, &value, me) {
                body.extend(stmts);
            }
        }
        if let Type::Record(record) = variable.ty {
            body.extend(self.first_fields(record, &place, variable.length, me));
        }
        body
    }

    /// The first values of the fields of records.
    pub(super) fn first_fields(
        &mut self,
        record: usize,
        place: &Place,
        length: Option<u32>,
        me: Option<&Me>,
    ) -> Vec<Stmt> {
        let all = self.elements(place, length).into_iter();
        all.flat_map(|(_, one)| self.first_fields_of(record, &one, me)).collect()
    }

    /// The elements of an array with their indices; what is no array is its only one.
    fn elements(&self, place: &Place, length: Option<u32>) -> Vec<(Option<shoal_model::Expr>, Place)> {
        let Some(length) = length else { return vec![(None, place.clone())] };
        let index = |at| self.int(i64::from(at), place.span);
        (0..length).map(|at| (Some(index(at)), self.index(place.clone(), index(at)))).collect()
    }

    /// The first values of the fields of one record.
    fn first_fields_of(&mut self, record: usize, one: &Place, me: Option<&Me>) -> Vec<Stmt> {
        let mut body = Vec::new();
        for (position, field) in self.program.typedefs[record].fields.iter().enumerate() {
            let part = self.field(one.clone(), position);
            if let Some(Init::Value(value)) = &field.init {
                for (_, part) in self.elements(&part, field.length) {
                    body.extend(self.store_value(part, &field.ty, value, me).unwrap_or_default());
                }
            }
            if let Type::Record(inner) = field.ty {
                body.extend(self.first_fields(inner, &part, field.length, me));
            }
        }
        body
    }

    /// A channel variable that is assigned later still begins with the channels it declares.
    fn first_channels(
        &mut self,
        id: VariableId,
        place: &Place,
        length: Option<u32>,
        me: Option<&Me>,
    ) -> Vec<Stmt> {
        let mut body = Vec::new();
        for (index, part) in self.elements(place, length) {
            if let Some(value) = self.channel_made(id, index, me, place.span) {
                body.push(self.assign(part, value));
            }
        }
        body
    }
}
