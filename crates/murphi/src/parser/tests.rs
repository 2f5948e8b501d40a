//! Trees and messages of small texts.

mod messages;
mod robust;

use shoal_syntax::SourceId;

use super::parse;
use crate::ast::*;

/// The tree of a text that has no error.
fn program(text: &str) -> Program {
    let (program, diagnostics) = parse(SourceId(0), text);
    assert!(diagnostics.is_empty(), "{text}\n{diagnostics:#?}");
    program
}

fn items(text: &str) -> Vec<Item> {
    program(text).items
}

fn rule(text: &str) -> RuleKind {
    match items(text).pop() {
        Some(Item::Rule(rule)) => rule.kind,
        other => panic!("not a rule: {other:?}"),
    }
}

fn stmts(text: &str) -> Vec<StmtKind> {
    match rule(&format!("rule begin {text} end")) {
        RuleKind::Simple(rule) => rule.body.stmts.into_iter().map(|stmt| stmt.kind).collect(),
        other => panic!("not a simple rule: {other:?}"),
    }
}

fn stmt(text: &str) -> StmtKind {
    let mut stmts = stmts(text);
    assert_eq!(stmts.len(), 1, "{stmts:?}");
    stmts.remove(0)
}

/// An expression with all its parentheses.
fn expr(text: &str) -> String {
    match items(&format!("const C: {text};")).pop() {
        Some(Item::Decl(Decl::Const(decl))) => show(&decl.value),
        other => panic!("not a constant: {other:?}"),
    }
}

fn show(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Int(value) => value.to_string(),
        ExprKind::Real(text) => text.clone(),
        ExprKind::Bool(value) => value.to_string(),
        ExprKind::Undefined => "undefined".to_string(),
        ExprKind::Designator(designator) => show_designator(designator),
        ExprKind::Call(call) => format!("{}({})", call.name.node, show_list(&call.args)),
        ExprKind::Unary { op, operand } => format!("({}{})", op.node.symbol(), show(operand)),
        ExprKind::Binary { op, left, right } => {
            format!("({} {} {})", show(left), op.node.symbol(), show(right))
        }
        ExprKind::Chain { first, links } => links.iter().fold(show(first), |left, link| {
            format!("({left} {} {})", link.op.node.symbol(), show(&link.operand))
        }),
        ExprKind::Conditional { condition, then, otherwise } => {
            format!("({} ? {} : {})", show(condition), show(then), show(otherwise))
        }
        ExprKind::Quantified { kind, quantifiers, body } => {
            let names: Vec<_> = quantifiers.iter().map(|q| q.name.node.as_str()).collect();
            format!("{kind:?}[{}]({})", names.join(" "), show(body))
        }
        ExprKind::IsUndefined(designator) => format!("isundefined({})", show_designator(designator)),
        ExprKind::IsMember { value, ty } => {
            format!("ismember({}, {})", show_designator(value), show_type(ty))
        }
        ExprKind::MultisetCount(filter) => format!("count({})", show_filter(filter)),
        ExprKind::Error => "<error>".to_string(),
    }
}

fn show_list(exprs: &[Expr]) -> String {
    exprs.iter().map(show).collect::<Vec<_>>().join(", ")
}

fn show_designator(designator: &Designator) -> String {
    designator.path.iter().fold(designator.base.node.clone(), |base, selector| match selector {
        Selector::Field(name) => format!("{base}.{}", name.node),
        Selector::Index(index, _) => format!("{base}[{}]", show(index)),
    })
}

fn show_filter(filter: &MultisetFilter) -> String {
    let multiset = show_designator(&filter.multiset);
    format!("{}: {multiset}, {}", filter.index.node, show(&filter.condition))
}

fn show_type(ty: &TypeExpr) -> String {
    match &ty.kind {
        TypeKind::Boolean => "boolean".to_string(),
        TypeKind::Named(name) => name.node.clone(),
        TypeKind::Range { low, high } => format!("{}..{}", show(low), show(high)),
        TypeKind::Enum(members) => format!("enum{:?}", members.iter().map(|m| &m.node).collect::<Vec<_>>()),
        TypeKind::Record(fields) => {
            let fields =
                fields.iter().map(|field| format!("{}:{}", show_names(&field.names), show_type(&field.ty)));
            format!("record({})", fields.collect::<Vec<_>>().join("; "))
        }
        TypeKind::Array { index, element } => {
            format!("array[{}] of {}", show_type(index), show_type(element))
        }
        TypeKind::Scalarset(size) => format!("scalarset({})", show(size)),
        TypeKind::Union(members) => {
            format!("union({})", members.iter().map(show_type).collect::<Vec<_>>().join(", "))
        }
        TypeKind::Multiset { capacity, element } => {
            format!("multiset[{}] of {}", show(capacity), show_type(element))
        }
        TypeKind::Real { mantissa, exponent } => format!("real({}, {})", show(mantissa), show(exponent)),
        TypeKind::Error => "<error>".to_string(),
    }
}

fn show_names(names: &[Name]) -> String {
    names.iter().map(|name| name.node.as_str()).collect::<Vec<_>>().join(",")
}

fn ty(text: &str) -> String {
    match items(&format!("type T: {text};")).pop() {
        Some(Item::Decl(Decl::Type(decl))) => show_type(&decl.ty),
        other => panic!("not a type: {other:?}"),
    }
}

/// Each line was compared with what `murphi2xml` of Rumur 2022.08.20 makes of it, where that accepts it.
#[test]
fn operators_bind_as_in_rumur() {
    for (text, expected) in [
        ("a & b || c", "((a & b) || c)"),
        ("a && b | c", "(a && (b | c))"),
        ("a || b && c", "(a || (b && c))"),
        ("a & b && c", "((a & b) && c)"),
        ("a | b & c", "(a | (b & c))"),
        ("x & 1 = 1", "(x & (1 = 1))"),
        ("x | y ^ z", "(x | (y ^ z))"),
        ("x ^ y & z", "(x ^ (y & z))"),
        ("x & y << 1", "(x & (y << 1))"),
        ("x << 1 + 1 = 2", "((x << (1 + 1)) = 2)"),
        ("x + 1 << 1 = 2", "(((x + 1) << 1) = 2)"),
        ("x << y >> z", "((x << y) >> z)"),
        ("!a = b", "(!(a = b))"),
        ("!a & b", "((!a) & b)"),
        ("a & !b = c", "(a & (!(b = c)))"),
        ("!!a", "(!(!a))"),
        ("!a -> b", "((!a) -> b)"),
        ("x = !a", "(x = (!a))"),
        ("~x * y", "((~x) * y)"),
        ("-~x % y - -z", "(((-(~x)) % y) - (-z))"),
        ("+x", "(+x)"),
        ("x - y + z", "((x - y) + z)"),
        ("x / y * z % w", "(((x / y) * z) % w)"),
        ("a || b -> c", "((a || b) -> c)"),
        ("a -> b ? c : d", "((a -> b) ? c : d)"),
        ("a ? b : c -> d", "(a ? b : (c -> d))"),
        ("a ? b ? x : y : z", "(a ? (b ? x : y) : z)"),
        ("a & forall i: T do b end & c", "((a & Forall[i](b)) & c)"),
        ("(a -> b) -> c", "((a -> b) -> c)"),
        ("x == y", "(x = y)"),
        ("a ∧ b ∨ ¬c → x ≤ y", "(((a && b) || (!c)) -> (x <= y))"),
    ] {
        assert_eq!(expr(text), expected, "{text}");
    }
}

#[test]
fn primaries() {
    for (text, expected) in [
        ("0x1F + 007", "(31 + 7)"),
        ("TRUE = False", "(true = false)"),
        ("a[i][j].f[b[0]]", "a[i][j].f[b[0]]"),
        ("f() + g(1, x,)", "(f() + g(1, x))"),
        ("undefined", "undefined"),
        ("undefined[1]", "undefined[1]"),
        ("isundefined(a[1].b)", "isundefined(a[1].b)"),
        ("IsMember(m.src, union {A, B})", "ismember(m.src, union(A, B))"),
        ("MultiSetCount(i: net[p], net[p][i] = x) = 0", "(count(i: net[p], (net[p][i] = x)) = 0)"),
        ("forall i: T; j := 0 to N - 1 by 2 do true endforall", "Forall[i j](true)"),
        ("exists i: 0..1 : i = 1 end", "Exists[i]((i = 1))"),
        ("∃ i := 0 to 1 do x endexists", "Exists[i](x)"),
        ("log10(1.5)", "log10(1.5)"),
    ] {
        assert_eq!(expr(text), expected, "{text}");
    }
}

#[test]
fn types() {
    for (text, expected) in [
        ("Boolean", "boolean"),
        ("N - 1 .. -(2)", "(N - 1)..(-2)"),
        ("enum { A, B, }", "enum[\"A\", \"B\"]"),
        ("enum {}", "enum[]"),
        ("record a, b: T; c: 0..1; endrecord", "record(a,b:T; c:0..1)"),
        ("record a: record end b: T end", "record(a:record(); b:T)"),
        ("array [0..1] of array [boolean] of T", "array[0..1] of array[boolean] of T"),
        ("scalarset(N + 1)", "scalarset((N + 1))"),
        ("union { Node, enum { Home } }", "union(Node, enum[\"Home\"])"),
        ("MultiSet [N] of record x: T; end", "multiset[N] of record(x:T)"),
        ("real(4, 10)", "real(4, 10)"),
        ("union", "union"),
        ("real..multiset", "real..multiset"),
    ] {
        assert_eq!(ty(text), expected, "{text}");
    }
}

#[test]
fn sections_come_in_any_order_and_semicolons_are_optional() {
    let text =
        "var x: 0..1 y, z,: boolean;; CONST N: 2; M: 3\n rule x = 0 ==> x := 1 end\n type T: 0..N; var t: T;
        invariant x = 1 startstate begin end procedure p(); begin end; const";
    let kinds: Vec<&str> = items(text)
        .iter()
        .map(|item| match item {
            Item::Decl(Decl::Const(_)) => "const",
            Item::Decl(Decl::Type(_)) => "type",
            Item::Decl(Decl::Var(_)) => "var",
            Item::Procedure(_) => "procedure",
            Item::Extern(_) => "extern",
            Item::Rule(_) => "rule",
        })
        .collect();
    assert_eq!(kinds, ["var", "var", "const", "const", "rule", "type", "var", "rule", "rule", "procedure"]);
}

fn procedure(text: &str) -> Procedure {
    match items(text).pop() {
        Some(Item::Procedure(procedure)) => procedure,
        other => panic!("not a procedure: {other:?}"),
    }
}

#[test]
fn procedures() {
    let p = procedure("procedure p(var a, b: T; c: 0..1;); var x: T; begin x := a; endprocedure;");
    assert_eq!(p.params.len(), 2);
    assert!(p.params[0].by_reference.is_some() && p.params[1].by_reference.is_none());
    assert_eq!((p.body.decls.len(), p.body.stmts.len()), (1, 1));
    assert!(p.result.is_none());
    let f = procedure("function f(): boolean; return true; end");
    assert_eq!(f.result.as_ref().map(show_type).as_deref(), Some("boolean"));
    assert_eq!(f.body.stmts.len(), 1);
    let no_begin = procedure("function f(a: T, b: T,): T var x: T; y: T; z := 1; end");
    assert_eq!((no_begin.params.len(), no_begin.body.decls.len(), no_begin.body.stmts.len()), (2, 2, 1));
}

#[test]
fn externals() {
    let Some(Item::Extern(external)) = items("externfun f(x: T): T \"f.h\";").pop() else { panic!() };
    assert_eq!(external.header.map(|text| text.node).as_deref(), Some("f.h"));
    let Some(Item::Extern(external)) = items("externproc p(x: T);").pop() else { panic!() };
    assert!(external.result.is_none() && external.header.is_none());
}

fn simple(text: &str) -> SimpleRule {
    match rule(text) {
        RuleKind::Simple(rule) => rule,
        other => panic!("not a simple rule: {other:?}"),
    }
}

#[test]
fn simple_rules() {
    let full = simple("rule 20 \"a \\\" b\" x = 0 & y ==> var z: T; begin z := 1; endrule");
    assert_eq!(full.priority.map(|p| p.node), Some(20));
    assert_eq!(full.name.map(|n| n.node).as_deref(), Some("a \\\" b"));
    assert_eq!(full.guard.as_ref().map(show).as_deref(), Some("((x = 0) & y)"));
    assert_eq!((full.body.decls.len(), full.body.stmts.len()), (1, 1));
    let guarded = simple("rule 1 = x ==> end");
    assert!(guarded.priority.is_none() && guarded.guard.is_some());
    let plain = simple("rule 3 (x) ==> ; y := 1; ; end");
    assert!(plain.priority.is_some() && plain.guard.is_some());
    assert_eq!(plain.body.stmts.len(), 1);
    assert!(simple("rule begin end").guard.is_none());
    assert!(simple("rule if x then y := 1 end end").guard.is_none());
}

#[test]
fn groups_of_rules() {
    let text = "ruleset i: T; j := 0 to 1 do alias a: x[i]; b: 1 do choose k: net[i] do
        rule \"r\" a = b ==> end; startstate \"s\" x := 1 end invariant \"i\" a; endchoose end assume a \"n\" endruleset";
    let RuleKind::Ruleset { quantifiers, rules } = rule(text) else { panic!() };
    assert_eq!((quantifiers.len(), rules.len()), (2, 2));
    let RuleKind::Alias { aliases, rules } = &rules[0].kind else { panic!() };
    assert_eq!((aliases.len(), rules.len()), (2, 1));
    let RuleKind::Choose { index, multiset, rules } = &rules[0].kind else { panic!() };
    assert_eq!((index.node.as_str(), show_designator(multiset).as_str(), rules.len()), ("k", "net[i]", 3));
    assert!(matches!(&rules[1].kind, RuleKind::StartState(start) if start.body.stmts.len() == 1));
    let RuleKind::Ruleset { rules, .. } = rule("ruleset i: T : rule begin end; end;") else { panic!() };
    assert_eq!(rules.len(), 1);
}

#[test]
fn properties() {
    for (text, kind) in [
        ("invariant \"n\" x", PropertyKind::Invariant),
        ("invariant x \"n\";", PropertyKind::Invariant),
        ("Assume \"n\" (x)", PropertyKind::Assume),
        ("cover \"n\" x", PropertyKind::Cover),
        ("liveness x \"n\"", PropertyKind::Liveness),
        ("assert \"n\" x", PropertyKind::Assert),
    ] {
        let RuleKind::Property(top) = rule(text) else { panic!("{text}") };
        let StmtKind::Property(inner) = stmt(text) else { panic!("{text}") };
        assert_eq!((top.kind, inner.kind), (kind, kind));
        assert_eq!(top.name.map(|name| name.node).as_deref(), Some("n"));
        assert_eq!((show(&top.condition).as_str(), show(&inner.condition).as_str()), ("x", "x"));
    }
}

#[test]
fn simple_statements() {
    assert!(
        matches!(stmt("a[i].b := undefined;"), StmtKind::Assign { value, .. } if value.kind == ExprKind::Undefined)
    );
    assert!(matches!(stmt("clear a[1]"), StmtKind::Clear(_)));
    assert!(matches!(stmt("undefine a"), StmtKind::Undefine(_)));
    assert!(matches!(stmt("put \"x\""), StmtKind::PutText(_)));
    assert!(matches!(stmt("put x + 1"), StmtKind::PutExpr(_)));
    assert!(matches!(stmt("error \"x\""), StmtKind::Error(_)));
    assert!(matches!(stmt("return"), StmtKind::Return(None)));
    assert!(matches!(stmt("return -1;"), StmtKind::Return(Some(_))));
    assert!(matches!(stmt("p(1, x)"), StmtKind::Call(call) if call.args.len() == 2));
    assert!(matches!(stmt("MultisetAdd(m, net)"), StmtKind::MultisetAdd { .. }));
    assert!(matches!(stmt("multisetremove(i, net[0])"), StmtKind::MultisetRemove { .. }));
    assert!(matches!(stmt("multisetremovepred(i: net, net[i] = 0)"), StmtKind::MultisetRemovePred(_)));
    assert_eq!(stmts(";;x := 1;;y := 2;").len(), 2);
    assert_eq!(stmts("").len(), 0);
}

#[test]
fn compound_statements() {
    let text = "if a then x := 1 elsif b then elsif c then y := 1; else if d then end; end";
    let StmtKind::If { arms, otherwise } = stmt(text) else { panic!() };
    assert_eq!((arms.len(), otherwise.map(|stmts| stmts.len())), (3, Some(1)));
    let StmtKind::Switch { cases, otherwise, .. } =
        stmt("switch x case 1, 2: y := 1; case A: else y := 2 endswitch")
    else {
        panic!()
    };
    assert_eq!((cases.len(), cases[0].labels.len(), otherwise.is_some()), (2, 2, true));
    let StmtKind::For { quantifiers, body } = stmt("for i: T; j := 3 to 0 by -1 do x := 1; endfor") else {
        panic!()
    };
    assert_eq!((quantifiers.len(), body.len()), (2, 1));
    assert!(matches!(stmt("for i: 0..1 : x := i end"), StmtKind::For { .. }));
    assert!(matches!(stmt("while x ? y : z : p() endwhile"), StmtKind::While { .. }));
    let StmtKind::Alias { aliases, body } = stmt("alias a: x[1]; b: a.c; do b := 1 endalias") else {
        panic!()
    };
    assert_eq!((aliases.len(), body.len()), (2, 1));
}

#[test]
fn soft_words_are_names_where_they_are_declared() {
    program(
        "type real: 0..1; union: boolean; var assume, cover: real; undefined: union; choose: real;
         procedure multisetadd(log: real; in: real); begin end;
         procedure liveness(x: real); begin end;
         startstate begin assume := 1; cover := assume; undefined := true; choose := 0; multisetadd(assume, 1); end;
         rule undefined = (cover = choose) ==> liveness(1); end;",
    );
    let text = "procedure multisetadd(a: T); begin end; rule begin multisetadd(1) end";
    assert!(matches!(simple(text).body.stmts[0].kind, StmtKind::Call(_)));
    let text = "var undefined: T; rule begin x := undefined end";
    let StmtKind::Assign { value, .. } = &simple(text).body.stmts[0].kind else { panic!() };
    assert!(matches!(value.kind, ExprKind::Designator(_)));
}

#[test]
fn names_keep_their_case_and_keywords_lose_it() {
    let Some(Item::Decl(Decl::Var(decl))) = items("VAR aB: BOOLEAN;").pop() else { panic!() };
    assert_eq!(decl.names[0].node, "aB");
    assert_eq!(decl.ty.kind, TypeKind::Boolean);
}

#[test]
fn spans_cover_their_nodes() {
    let text = "rule \"r\" (a -> b) ==> begin x[1] := (y + 2) * 3; end; -- c";
    let Some(Item::Rule(rule)) = items(text).pop() else { panic!() };
    let slice = |span: shoal_syntax::Span| &text[span.start as usize..span.end as usize];
    assert_eq!(slice(rule.span), &text[..text.len() - 6]);
    let RuleKind::Simple(simple) = &rule.kind else { panic!() };
    assert_eq!(slice(simple.guard.as_ref().unwrap().span), "(a -> b)");
    assert_eq!(slice(simple.body.span), "begin x[1] := (y + 2) * 3;");
    let StmtKind::Assign { target, value } = &simple.body.stmts[0].kind else { panic!() };
    assert_eq!((slice(target.span), slice(value.span)), ("x[1]", "(y + 2) * 3"));
    assert_eq!(slice(simple.body.stmts[0].span), "x[1] := (y + 2) * 3");
    let ExprKind::Chain { first, .. } = &value.kind else { panic!() };
    assert_eq!(slice(first.span), "(y + 2)");
}
