//! The model itself, and what can be said of its types and values.

use shoal_syntax::Span;

use crate::{
    Agents, Condition, Expr, ExprKind, Function, FunctionId, GuardFaults, IndexVec, Node, OrInternal,
    Property, PropertyId, PropertyKind, Rule, RuleId, Sort, SortId, SortSize, StartId, State, Stmt, StmtKind,
    TableId, Type, TypeDef, TypeId, Value, VarId, verify, verify::verify_property, walk_block,
    walk_condition, walk_expr,
};

/// A value with more parts than this is refused.
pub const MOST_PARTS: u64 = 1 << 25;

/// A model: what a front end makes and every engine takes. Read only once it is made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// Its name: the file's name without ending.
    pub name: String,
    /// The families of interchangeable elements.
    pub sorts: IndexVec<SortId, Sort>,
    /// The types.
    pub types: IndexVec<TypeId, TypeDef>,
    /// The state variables. A variable of each element of a sort is an array over references to that sort.
    pub vars: IndexVec<VarId, Var>,
    /// Functions and procedures.
    pub functions: IndexVec<FunctionId, Function>,
    /// The starts. Before one runs, all variables are undefined (multisets and sequences empty).
    pub starts: IndexVec<StartId, Rule>,
    /// The rules.
    pub rules: IndexVec<RuleId, Rule>,
    /// The properties.
    pub properties: IndexVec<PropertyId, Property>,
    /// The question about deadlocks that the language asks of every model, if it asks one. Every other question was written, and
    /// no option leaves it out: a front end that says nothing here has asked what its user wrote.
    pub implied_deadlock: Option<PropertyId>,
    /// The tables of constants.
    pub tables: IndexVec<TableId, Table>,
    /// The rules that stand for many lines of the source, and where each line is.
    pub lines: Vec<Lines>,
    /// What a fault in a guard means.
    pub guard_faults: GuardFaults,
    /// Holds whenever time passes; `None` if the model has no clocks.
    pub while_time_passes: Option<Condition>,
    /// Which runs temporal properties of dense time speak of.
    pub runs: Runs,
    /// Each holds again and again on the paths that temporal properties speak of.
    pub fairness: Vec<Condition>,
    /// Parts that move by themselves, as far as the front end knows of any.
    pub agents: Vec<Agents>,
    /// Where sorts have any number of elements: the ranges of integers that become wider with that number and the multisets
    /// that have more places, and the number whose bounds they have here. Nothing ranges over them, and nothing is set to the
    /// least value of a range whose lower bound falls.
    pub open_bounds: Vec<(TypeId, u32)>,
    /// The sorts that the source has as ranges of integers: both mean the same only as long as nothing faults.
    pub range_sorts: Vec<SortId>,
}

/// Which runs formulas of dense time speak of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Runs {
    /// Those on which time diverges.
    #[default]
    Divergent,
    /// Those that cannot be made longer: with infinitely many steps, even in bounded time; those that wait for ever; and those
    /// that end where no step can be taken any more and time passes as long as it may.
    Maximal,
}

/// A table of constants: what would otherwise be thousands of rules (the edges of a transition system) is one rule that
/// looks them up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// The entries, from position 0.
    pub entries: Vec<i64>,
}

/// Where the lines of the source stand that a rule looks up in tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    /// The rule.
    pub rule: RuleId,
    /// Which of its parameters is the number of a line, from 0.
    pub parameter: usize,
    /// Where each line stood.
    pub spans: Vec<Span>,
}

/// A state variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Var {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: TypeId,
    /// Where it was declared.
    pub span: Span,
}

impl Model {
    /// Whether time plays a part in it.
    pub fn has_clocks(&self) -> bool {
        self.vars.iter().any(|var| self.type_contains(var.ty, &|part| *part == Type::Clock))
    }

    /// The kind of a type.
    pub fn kind(&self, ty: TypeId) -> &Type {
        &self.types[ty].kind
    }

    /// How many values a scalar type has, undefined not counted; nothing if that is not fixed or does not fit.
    pub fn cardinality(&self, ty: TypeId) -> Option<u64> {
        match self.kind(ty) {
            Type::Bool => Some(2),
            Type::Int { lo, hi } => u64::try_from(i128::from(*hi) - i128::from(*lo) + 1).ok(),
            Type::Enum { variants } => Some(variants.len() as u64),
            Type::Ref { sort, nullable } => {
                self.sorts[*sort].room().map(|size| u64::from(size) + u64::from(*nullable))
            }
            Type::Union { members } => {
                members.iter().try_fold(0_u64, |sum, member| sum.checked_add(self.cardinality(*member)?))
            }
            _ => None,
        }
    }

    /// The position of a value among those of a scalar type, least first; nothing if it does not belong to it.
    pub fn ordinal(&self, ty: TypeId, value: &Value) -> Option<u64> {
        match (self.kind(ty), value) {
            (Type::Bool, Value::Bool(value)) => Some(u64::from(*value)),
            (Type::Int { lo, hi }, Value::Int(value)) if lo <= value && value <= hi => {
                Some(value.abs_diff(*lo))
            }
            (Type::Enum { variants }, Value::Enum(of, position)) if *of == ty => {
                ((*position as usize) < variants.len()).then_some(u64::from(*position))
            }
            (Type::Ref { nullable: true, .. }, Value::Null) => Some(0),
            (Type::Ref { sort, nullable }, Value::Elem(of, element)) if sort == of => {
                let inside = self.sorts[*sort].fixed_size().is_none_or(|size| *element < size);
                inside.then(|| u64::from(*element) + u64::from(*nullable))
            }
            (Type::Union { members }, value) => {
                let mut before = 0;
                for member in members {
                    if let Some(ordinal) = self.ordinal(*member, value) {
                        return Some(before + ordinal);
                    }
                    before += self.cardinality(*member)?;
                }
                None
            }
            _ => None,
        }
    }

    /// The value at a position among those of a scalar type: the inverse of [`Model::ordinal`].
    pub fn value_at(&self, ty: TypeId, ordinal: u64) -> Option<Value> {
        if ordinal >= self.cardinality(ty)? {
            return None;
        }
        match self.kind(ty) {
            Type::Bool => Some(Value::Bool(ordinal == 1)),
            Type::Int { lo, .. } => Some(Value::Int(lo.wrapping_add_unsigned(ordinal))),
            Type::Enum { .. } => Some(Value::Enum(ty, ordinal as u32)),
            Type::Ref { nullable: true, .. } if ordinal == 0 => Some(Value::Null),
            Type::Ref { sort, nullable } => Some(Value::Elem(*sort, (ordinal - u64::from(*nullable)) as u32)),
            Type::Union { members } => {
                let mut rest = ordinal;
                for member in members {
                    let count = self.cardinality(*member)?;
                    if rest < count {
                        return self.value_at(*member, rest);
                    }
                    rest -= count;
                }
                None
            }
            _ => None,
        }
    }

    /// All values of a finite scalar type, least first. Empty for a type that is not finite.
    pub fn values(&self, ty: TypeId) -> impl Iterator<Item = Value> + '_ {
        (0..self.cardinality(ty).unwrap_or(0)).filter_map(move |ordinal| self.value_at(ty, ordinal))
    }

    /// Whether two types have the same values, so that a place of the one may stand for a place of the other.
    pub fn same_values(&self, a: TypeId, b: TypeId) -> bool {
        if a == b {
            return true;
        }
        match (self.kind(a), self.kind(b)) {
            (Type::Enum { .. }, _) | (_, Type::Enum { .. }) => false,
            (Type::Union { members: a }, Type::Union { members: b }) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.same_values(*a, *b))
            }
            (Type::Record { fields: a }, Type::Record { fields: b }) => {
                a.len() == b.len()
                    && a.iter().zip(b).all(|(a, b)| a.name == b.name && self.same_values(a.ty, b.ty))
            }
            (Type::Array { index: i, element: e }, Type::Array { index: j, element: f }) => {
                self.same_values(*i, *j) && self.same_values(*e, *f)
            }
            (Type::Multiset { capacity: m, element: e }, Type::Multiset { capacity: n, element: f })
            | (Type::Sequence { capacity: m, element: e }, Type::Sequence { capacity: n, element: f }) => {
                m == n && self.same_values(*e, *f)
            }
            (a, b) => a == b,
        }
    }

    /// Whether two types can have a value in common, so that a value of the one may be one of the other.
    pub fn may_meet(&self, a: TypeId, b: TypeId) -> bool {
        match (self.kind(a), self.kind(b)) {
            (Type::Int { .. }, Type::Int { .. }) => true,
            (Type::Ref { sort: a, .. }, Type::Ref { sort: b, .. }) => a == b,
            (Type::Union { members }, _) => members.iter().any(|member| self.may_meet(*member, b)),
            (_, Type::Union { members }) => members.iter().any(|member| self.may_meet(a, *member)),
            _ => self.same_values(a, b),
        }
    }

    /// Whether the values of a type have more parts than any engine takes. Front ends ask before they use a type that is made of
    /// others: records of records of records have exponentially many parts, which nothing may walk through.
    pub fn is_too_large(&self, ty: TypeId) -> bool {
        self.parts_within(ty, MOST_PARTS).is_none()
    }

    /// How many parts a value has, itself included; nothing if there are more than `most`. What has no parts counts too, so that the walk ends.
    fn parts_within(&self, ty: TypeId, most: u64) -> Option<u64> {
        let each = |parts: u64, times: u64| parts.checked_mul(times).and_then(|all| all.checked_add(1));
        let parts = match self.kind(ty) {
            Type::Bool
            | Type::Int { .. }
            | Type::Enum { .. }
            | Type::Ref { .. }
            | Type::Union { .. }
            | Type::Clock => Some(1),
            Type::Record { fields } => fields
                .iter()
                .try_fold(1, |sum, field| Some(sum + self.parts_within(field.ty, most.checked_sub(sum)?)?)),
            Type::Array { index, element } => {
                each(self.parts_within(*element, most)?, self.cardinality(*index).unwrap_or(1))
            }
            Type::Multiset { capacity, element } => {
                each(self.parts_within(*element, most)?, u64::from(*capacity))
            }
            Type::Sequence { element, .. } => each(self.parts_within(*element, most)?, 1),
        };
        parts.filter(|parts| *parts <= most)
    }

    /// Whether the values of a type have a part whose type satisfies the predicate. The type itself is a part; the
    /// index of an array is not.
    pub fn type_contains(&self, ty: TypeId, predicate: &dyn Fn(&Type) -> bool) -> bool {
        let kind = self.kind(ty);
        predicate(kind)
            || match kind {
                Type::Union { members } => {
                    members.iter().any(|member| self.type_contains(*member, predicate))
                }
                Type::Record { fields } => fields.iter().any(|field| self.type_contains(field.ty, predicate)),
                Type::Array { element, .. }
                | Type::Multiset { element, .. }
                | Type::Sequence { element, .. } => self.type_contains(*element, predicate),
                _ => false,
            }
    }

    /// The sorts whose elements are values of a scalar type.
    pub fn sorts_of(&self, ty: TypeId) -> Vec<SortId> {
        match self.kind(ty) {
            Type::Ref { sort, .. } => vec![*sort],
            Type::Union { members } => members.iter().flat_map(|member| self.sorts_of(*member)).collect(),
            _ => Vec::new(),
        }
    }

    /// The value of a type with every scalar part undefined, multisets and sequences empty and clocks at 0.
    /// An array over a sort that does not have a fixed size has no entries yet.
    pub fn undefined(&self, ty: TypeId) -> Value {
        match self.kind(ty) {
            Type::Record { fields } => {
                Value::Record(fields.iter().map(|field| self.undefined(field.ty)).collect())
            }
            Type::Array { index, element } => {
                Value::Array(vec![self.undefined(*element); self.first_length(*index)])
            }
            Type::Multiset { .. } => Value::Multiset(Vec::new()),
            Type::Sequence { .. } => Value::Sequence(Vec::new()),
            Type::Clock => Value::Clock(crate::Ratio::ZERO),
            _ => Value::Undefined,
        }
    }

    /// The value of a type with every scalar part at its least value, multisets and sequences empty.
    pub fn least(&self, ty: TypeId) -> Value {
        match self.kind(ty) {
            Type::Record { fields } => {
                Value::Record(fields.iter().map(|field| self.least(field.ty)).collect())
            }
            Type::Array { index, element } => {
                Value::Array(vec![self.least(*element); self.first_length(*index)])
            }
            Type::Multiset { .. } | Type::Sequence { .. } | Type::Clock => self.undefined(ty),
            Type::Ref { nullable: true, .. } => Value::Null,
            _ => self.value_at(ty, 0).unwrap_or(Value::Undefined),
        }
    }

    /// How many entries an array has before anything happens: over a sort that grows, none.
    fn first_length(&self, index: TypeId) -> usize {
        let fixed = self.sorts_of(index).iter().all(|sort| self.sorts[*sort].fixed_size().is_some());
        if fixed { self.cardinality(index).or_internal("an array has a finite index") as usize } else { 0 }
    }

    /// The state before a start runs.
    pub fn blank_state(&self) -> State {
        State {
            values: self.vars.iter().map(|var| self.undefined(var.ty)).collect(),
            live: vec![Vec::new(); self.sorts.len()],
        }
    }

    /// Where the step that an instance of a rule takes stood in the source: the line it looks up, or the rule.
    pub fn place_of(&self, rule: RuleId, args: &[Value]) -> Span {
        let lines = self.lines.iter().find(|lines| lines.rule == rule);
        let line = lines.and_then(|lines| {
            let number = args.get(lines.parameter).and_then(Value::as_int)?;
            lines.spans.get(usize::try_from(number).ok()?)
        });
        line.copied().unwrap_or(self.rules[rule].span)
    }

    /// The same model with so many elements in each sort that has any number of them in the state: what a run of that
    /// state is a run of.
    pub fn sized_as(&self, state: &State) -> Model {
        let mut sizes = Vec::new();
        for (var, value) in self.vars.iter().zip(&state.values) {
            if let (Type::Array { index, .. }, Value::Array(entries)) = (self.kind(var.ty), value)
                && let Type::Ref { sort, nullable: false } = self.kind(*index)
                && self.sorts[*sort].size == SortSize::Any
            {
                sizes.push((*sort, entries.len() as u32));
            }
        }
        // Where nothing is kept of each element, those that the state refers to are enough, or one.
        let is_open = |sort: &SortId| self.sorts[*sort].size == SortSize::Any;
        for sort in self.sorts.ids().filter(is_open) {
            if !sizes.iter().any(|(known, _)| *known == sort) {
                let greatest = state.values.iter().filter_map(|value| value.greatest_element(sort)).max();
                sizes.push((sort, greatest.map_or(1, |element| element + 1)));
            }
        }
        self.with_sizes(&sizes).made_by("fixing the sizes of its sorts")
    }

    /// The instance with so many elements of a sort of any size. There is none if the model itself names an element beyond.
    pub fn instance(&self, sort: SortId, size: u32) -> Option<Model> {
        Some(self.with_sizes(&[(sort, size)])).filter(|model| verify(model).is_ok())
    }

    /// What is asked of elements that are not there is not clear in so small an instance; the other questions stay.
    fn with_sizes(&self, sizes: &[(SortId, u32)]) -> Model {
        let mut model = self.clone();
        for (sort, size) in sizes {
            model.sorts[*sort].size = SortSize::Fixed(*size);
        }
        let is_sized = |sort: SortId| sizes.iter().any(|(known, _)| *known == sort);
        // Constraints on elements are written out for one number of them: of other runs they do not say which are fair.
        if self.fairness.iter().any(|condition| names_element(condition, &is_sized)) {
            model.fairness.clear();
            for property in model.properties.iter_mut() {
                if matches!(property.kind, PropertyKind::Temporal(..)) {
                    let why = "it depends on fairness to each element, which is known for one number of them";
                    property.kind = PropertyKind::Unclear(why.into());
                }
            }
        }
        let is_given = |id: PropertyId| matches!(self.properties[id].kind, PropertyKind::Assume(_));
        let asked = self.properties.ids().filter(|id| !is_given(*id));
        let pure = self.pure_functions();
        for id in asked.filter(|id| verify_property(&model, &pure, *id).is_err()).collect::<Vec<_>>() {
            let why = "it names an element that is not there with so few of them";
            model.properties[id].kind = PropertyKind::Unclear(why.into());
        }
        model
    }

    /// Whether the value of an expression may depend on clocks, also through functions that it calls.
    pub fn reads_clocks(&self, expr: &Expr) -> bool {
        let (mut found, mut called) = (false, Vec::new());
        walk_expr(expr, &mut |node| self.note_clocks(node, &mut found, &mut called));
        let mut next = 0;
        while let Some(function) = called.get(next).copied() {
            let body = &self.functions[function].code.body;
            walk_block(body, &mut |node| self.note_clocks(node, &mut found, &mut called));
            next += 1;
        }
        found
    }

    /// Notes whether a clock is read, and functions that are called, each once.
    fn note_clocks(&self, node: Node<'_>, found: &mut bool, called: &mut Vec<FunctionId>) {
        let function = match node {
            Node::Place(place) => {
                *found |= self.type_contains(place.ty, &|part| *part == Type::Clock);
                None
            }
            Node::Expr(Expr { kind: ExprKind::Call(function, _), .. })
            | Node::Stmt(Stmt { kind: StmtKind::Call(function, _), .. }) => Some(*function),
            Node::Expr(_) | Node::Stmt(_) => None,
        };
        called.extend(function.filter(|function| !called.contains(function)));
    }

    /// Whether any sort is not of a fixed size.
    pub fn has_unfixed_sorts(&self) -> bool {
        self.sorts.iter().any(|sort| !matches!(sort.size, SortSize::Fixed(_)))
    }
}

/// Whether a condition names an element of such a sort.
fn names_element(condition: &Condition, is_such: &dyn Fn(SortId) -> bool) -> bool {
    let mut found = false;
    walk_condition(condition, &mut |node| {
        if let Node::Expr(expr) = node
            && let ExprKind::Const(Value::Elem(sort, _)) = &expr.kind
        {
            found |= is_such(*sort);
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sort;

    fn model() -> (Model, TypeId, TypeId) {
        let mut model = Model::default();
        let sort = model.sorts.push(Sort {
            name: "P".into(),
            size: SortSize::Fixed(3),
            first: 1,
            span: Span::default(),
        });
        let reference = model.types.push(TypeDef { name: None, kind: Type::Ref { sort, nullable: true } });
        let colour = model
            .types
            .push(TypeDef { name: None, kind: Type::Enum { variants: vec!["Red".into(), "Blue".into()] } });
        let union =
            model.types.push(TypeDef { name: None, kind: Type::Union { members: vec![colour, reference] } });
        let range = model.types.push(TypeDef { name: None, kind: Type::Int { lo: -2, hi: 1 } });
        (model, union, range)
    }

    #[test]
    fn ordinals_and_values_are_inverse() {
        let (model, union, range) = model();
        for (ty, count) in [(union, 6), (range, 4)] {
            let values: Vec<Value> = model.values(ty).collect();
            assert_eq!(values.len(), count);
            for (ordinal, value) in values.iter().enumerate() {
                assert_eq!(model.ordinal(ty, value), Some(ordinal as u64));
            }
        }
        assert_eq!(model.ordinal(range, &Value::Int(2)), None);
        assert_eq!(model.cardinality(range), Some(4));
        assert_eq!(model.least(range), Value::Int(-2));
    }
}
