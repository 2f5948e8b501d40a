//! A trace with every kind of value goes out and comes back the same.

use shoal_model::{
    Code, During, Fault, FaultKind, Field, Local, LocalKind, Model, Parameter, Property, PropertyKind, Ratio,
    Reason, Rule, RuleId, Sort, SortSize, StartId, State, Step, Trace, Type, TypeDef, TypeId, TypedId, Value,
    Var, Violation,
};
use shoal_report::{Origin, read_trace, trace_steps, write_trace};
use shoal_syntax::{SourceMap, Span};

fn named(model: &mut Model, kind: Type) -> TypeId {
    model.types.push(TypeDef { name: None, kind })
}

fn rule(name: &str, parameter: Option<TypeId>) -> Rule {
    let mut code = Code::default();
    let mut params = Vec::new();
    if let Some(ty) = parameter {
        let local = Local { name: "i".into(), ty, kind: LocalKind::Bound, span: Span::default() };
        let local = code.locals.push(local);
        params.push(Parameter { local, domain: shoal_model::Domain::Type(ty) });
    }
    Rule {
        name: name.into(),
        params,
        bindings: Vec::new(),
        guard: None,
        code,
        priority: 0,
        urgent: false,
        span: Span::default(),
    }
}

fn model() -> Model {
    let mut model = Model { name: "all".into(), ..Model::default() };
    let sort = |name: &str, size, first| Sort { name: name.into(), size, first, span: Span::default() };
    let proc = model.sorts.push(sort("Proc", SortSize::Fixed(2), 1));
    let cell = model.sorts.push(sort(
        "Cell",
        SortSize::Growing { limit: Some(4), lost: shoal_model::Lost::Stays },
        0,
    ));
    let boolean = named(&mut model, Type::Bool);
    let small = named(&mut model, Type::Int { lo: -1, hi: 9 });
    let colour = named(&mut model, Type::Enum { variants: vec!["Red".into(), "Blue".into()] });
    let reference = named(&mut model, Type::Ref { sort: proc, nullable: true });
    let pointer = named(&mut model, Type::Ref { sort: cell, nullable: false });
    let union = named(&mut model, Type::Union { members: vec![colour, reference] });
    let fields = [("on", boolean), ("who", union)].map(|(name, ty)| Field { name: name.into(), ty });
    let record = named(&mut model, Type::Record { fields: fields.to_vec() });
    let array = named(&mut model, Type::Array { index: reference, element: record });
    let heap = named(&mut model, Type::Array { index: pointer, element: small });
    let bag = named(&mut model, Type::Multiset { capacity: 3, element: record });
    let list = named(&mut model, Type::Sequence { capacity: 3, element: small });
    let clock = named(&mut model, Type::Clock);
    for (name, ty) in [("a", array), ("heap", heap), ("net", bag), ("queue", list), ("t", clock)] {
        model.vars.push(Var { name: name.into(), ty, span: Span::default() });
    }
    model.starts.push(rule("begin", None));
    model.rules.push(rule("step", Some(union)));
    model.properties.push(Property {
        name: "no run-time errors".into(),
        kind: PropertyKind::NoFaults,
        span: Span::default(),
    });
    model
}

fn trace(model: &Model) -> Trace {
    let (proc, cell) = (model.sorts.ids().next().unwrap(), model.sorts.ids().nth(1).unwrap());
    let colour = model.types.enumerate().find(|(_, ty)| matches!(ty.kind, Type::Enum { .. })).unwrap().0;
    let record = |on: Value, who: Value| Value::Record(vec![on, who]);
    let blue = record(Value::Bool(true), Value::Enum(colour, 1));
    let first = State {
        values: vec![
            Value::Array(vec![
                record(Value::Undefined, Value::Null),
                record(Value::Bool(false), Value::Elem(proc, 1)),
                record(Value::Bool(false), Value::Undefined),
            ]),
            Value::Array(vec![Value::Int(-1)]),
            Value::Multiset(vec![Some(blue.clone()), Some(blue.clone())]),
            Value::Sequence(vec![Value::Int(3), Value::Int(9)]),
            Value::Clock(Ratio::new(3, 2).unwrap()),
        ],
        live: vec![vec![], vec![true]],
    };
    let mut second = first.clone();
    second.values[1] = Value::Array(vec![Value::Undefined, Value::Int(4)]);
    second.values[2] = Value::Multiset(vec![Some(blue)]);
    second.live[1] = vec![false, true];
    Trace {
        start: StartId::from_index(0),
        args: vec![],
        choices: vec![Value::Null, Value::Int(-7)],
        state: first,
        steps: vec![Step {
            delay: Ratio::new(1, 3).unwrap(),
            rule: RuleId::from_index(0),
            args: vec![Value::Elem(proc, 0)],
            choices: vec![Value::Bool(true), Value::Enum(colour, 0), Value::Elem(cell, 3)],
            state: second,
        }],
        loops_to: Some(1),
    }
}

#[test]
fn every_value_comes_back() {
    let (model, mut sources) = (model(), SourceMap::new());
    sources.add("all.m", "x");
    let trace = trace(&model);
    let origin = Origin {
        file: "all.m".into(),
        set: vec![("N".into(), -2)],
        options: vec![("dialect".into(), "rumur".into())],
    };
    let fault = Fault { kind: FaultKind::Full, span: Span::default() };
    let during = During::Body(RuleId::from_index(0), vec![Value::Null], vec![Value::Int(1)]);
    let violation = Violation { reason: Reason::Fault(during, fault), trace: Some(trace.clone()) };
    let text = write_trace(&model, &sources, &origin, &trace, Some(("no run-time errors", &violation)));
    let saved = read_trace(&text).unwrap();
    assert_eq!(saved.decode(&model).unwrap(), trace);
    assert_eq!(saved.origin(), origin);
    assert_eq!(saved.property(), Some("no run-time errors"));
    assert_eq!(saved.violation(&model).unwrap().unwrap().reason, violation.reason);
}

#[test]
fn changes_are_named_leaf_by_leaf() {
    let model = model();
    let steps = trace_steps(&model, None, &trace(&model));
    assert_eq!(steps[1].label, "after 1/3: step(i = Proc_1)");
    let changes: Vec<String> = steps[1].changes.iter().map(ToString::to_string).collect();
    let expected = [
        "heap[Cell#0]: -1 → undefined",
        "heap[Cell#1]: undefined → 4",
        "net: − {on: true, who: Blue}",
        "Cell: − Cell#0",
        "Cell: + Cell#1",
    ];
    assert_eq!(changes, expected);
}
