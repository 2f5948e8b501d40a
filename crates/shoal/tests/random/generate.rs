//! Random small Murphi models.
//!
//! A model is written from a list of choices; when they run out, the simplest is taken.

use std::fmt::Write;

use shoal_model::Model;
use shoal_murphi::Dialect;
use shoal_syntax::SourceMap;

use super::choices::Choices;

/// The model that a list of choices stands for.
pub(crate) fn model(bytes: &[u8]) -> String {
    Writer { choices: Choices::new(bytes), depth: 0, scope: Vec::new(), fresh: 0, functions: false }.model()
}

/// Reads a model that a generator has written.
pub(crate) fn load(text: &str, dialect: Dialect) -> Model {
    let mut sources = SourceMap::new();
    let id = sources.add("random.m", text);
    let options = shoal_murphi::Options { dialect, ..Default::default() };
    let (model, diagnostics) = shoal_murphi::load(&sources, id, &options);
    model.unwrap_or_else(|| panic!("the generator wrote a wrong model: {diagnostics:?}\n{text}"))
}

/// Constants, types and variables that every model has; a rule uses those it likes.
fn declarations(n: usize, m: usize) -> String {
    format!(
        "const N: {n}; M: {m};
type
  P: scalarset(N);
  Q: scalarset(M);
  R: 0..2;
  E: enum {{ A, B }};
  U: union {{ P, enum {{ Nil }} }};
  C: record n: R; p: P; end;
  T: record from: U; n: R; end;
"
    )
}

/// The variables of every model; those that no rule touches cost nothing.
const VARS: &[(&str, &str)] = &[
    ("b", "boolean"),
    ("x", "R"),
    ("p", "P"),
    ("ab", "array [P] of boolean"),
    ("ap", "array [P] of P"),
    ("u", "U"),
    ("e", "E"),
    ("ax", "array [P] of R"),
    ("q", "Q"),
    ("aq", "array [Q] of P"),
    ("m", "array [P] of array [P] of boolean"),
    ("c", "array [Q] of C"),
    ("s", "multiset [2] of P"),
    ("t", "multiset [2] of C"),
    ("as", "array [P] of multiset [1] of Q"),
    ("bu", "array [U] of boolean"),
    ("net", "array [U] of multiset [2] of T"),
    ("last", "array [P] of T"),
];

/// A name that can be used, and what it is.
#[derive(Clone, Copy, PartialEq)]
enum Bound {
    P,
    Q,
}

struct Writer<'a> {
    choices: Choices<'a>,
    depth: usize,
    scope: Vec<(String, Bound)>,
    fresh: usize,
    /// Whether `f` and `g` are declared.
    functions: bool,
}

impl Writer<'_> {
    fn pick(&mut self, count: usize) -> usize {
        self.choices.pick(count)
    }

    fn one_of<'t>(&mut self, items: &[&'t str]) -> &'t str {
        self.choices.one_of(items)
    }

    fn name(&mut self) -> String {
        self.fresh += 1;
        format!("i{}", self.fresh)
    }

    fn model(mut self) -> String {
        let n = 2 + self.pick(2);
        let m = 1 + self.pick(2);
        let mut text = declarations(n, m);
        text.push_str("var\n");
        for (name, ty) in VARS {
            let _ = writeln!(text, "  {name}: {ty};");
        }
        if self.pick(4) == 1 {
            text.push_str("function f(i: P): boolean;\nbegin\n  for j: P do if ab[j] & j != i then return true; end; end;\n  return false;\nend;\n");
            text.push_str("procedure g(var z: R; i: P);\nbegin\n  if !isundefined(z) & z < 2 then z := z + 1; else z := 0; end;\n  p := i;\nend;\n");
            text.push_str("procedure send(var z: T; to_: U; from_: U);\nbegin\n  z.from := from_; z.n := 0;\n  if multisetcount(k: net[to_], true) < 2 then multisetadd(z, net[to_]); end;\nend;\n");
            text.push_str("procedure receive(var into: T; at: U);\nbegin\n  for i: P do into.n := 1; end;\n  multisetremovepred(k: net[at], net[at][k].n = into.n & net[at][k].from = into.from);\nend;\n");
            self.functions = true;
        }
        self.start(&mut text);
        for _ in 0..=self.pick(4) {
            self.rule(&mut text);
        }
        for number in 0..self.pick(3) {
            let condition = self.truth();
            let _ = writeln!(text, "invariant \"inv {number}\" {condition};");
        }
        match self.pick(8) {
            1 => {
                let condition = self.truth();
                let _ = writeln!(text, "cover \"cover\" {condition};");
            }
            2 => {
                let condition = self.truth();
                let _ = writeln!(text, "liveness \"live\" {condition};");
            }
            3 => {
                let condition = self.truth();
                let _ = writeln!(text, "assume \"given\" {condition};");
            }
            _ => {}
        }
        text
    }

    /// Everything is defined at the start, but for a few variables here and there.
    fn start(&mut self, text: &mut String) {
        text.push_str("ruleset s0: P; s1: Q do startstate begin\n");
        text.push_str("  b := false; x := 0; e := A; u := Nil; p := s0; q := s1;\n");
        text.push_str("  for j: P do ab[j] := false; ax[j] := 0; ap[j] := j; end;\n");
        text.push_str("  for j: P do for k: P do m[j][k] := false; end; end;\n");
        text.push_str("  for j: Q do aq[j] := s0; c[j].n := 0; c[j].p := s0; end;\n");
        text.push_str("  for j: U do bu[j] := false; end;\n");
        text.push_str("  for j: P do last[j].from := Nil; last[j].n := 0; end;\n");
        for _ in 0..self.pick(3) {
            let target = self.one_of(&["p", "u", "x", "q", "c", "ap", "b"]);
            let _ = writeln!(text, "  undefine {target};");
        }
        let before = self.scope.len();
        self.scope.extend([("s0".to_string(), Bound::P), ("s1".to_string(), Bound::Q)]);
        for _ in 0..self.pick(2) {
            self.stmt(text);
        }
        self.scope.truncate(before);
        text.push_str("end; end;\n");
    }

    fn rule(&mut self, text: &mut String) {
        let before = self.scope.len();
        let params = self.pick(4);
        for param in 0..params.min(2) {
            let bound = if self.pick(3) == 2 { Bound::Q } else { Bound::P };
            let (name, ty) = (format!("r{param}"), if bound == Bound::P { "P" } else { "Q" });
            let _ = writeln!(text, "ruleset {name}: {ty} do");
            self.scope.push((name, bound));
        }
        let bag = if params == 3 { Some(self.one_of(&["s", "t", "net[Nil]"])) } else { None };
        if let Some(bag) = bag {
            let _ = writeln!(text, "choose z: {bag} do");
        }
        let priority = if self.pick(10) == 9 { "1 " } else { "" };
        let _ = writeln!(text, "rule {priority}\"rule\"");
        let guard = if self.pick(3) == 0 { "true".to_string() } else { self.truth() };
        let _ = writeln!(text, "  {guard}\n==>");
        match bag {
            Some(bag) if self.pick(2) == 0 => {
                let _ = writeln!(text, "  multisetremove(z, {bag});");
            }
            Some("s") => text.push_str("  p := s[z];\n"),
            Some("net[Nil]") => text.push_str("  u := net[Nil][z].from;\n"),
            Some(_) => text.push_str("  x := t[z].n; undefine t[z].n;\n"),
            None => {}
        }
        for _ in 0..=self.pick(3) {
            self.stmt(text);
        }
        text.push_str("end;\n");
        if bag.is_some() {
            text.push_str("end;\n");
        }
        for _ in 0..params.min(2) {
            text.push_str("end;\n");
        }
        self.scope.truncate(before);
    }

    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> T {
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn stmt(&mut self, text: &mut String) {
        let choices = if self.depth < 2 { 17 } else { 12 };
        match self.pick(choices) {
            0 => {
                let value = self.truth();
                let _ = writeln!(text, "  b := {value};");
            }
            1 => {
                let (index, value) = (self.element(), self.truth());
                let _ = writeln!(text, "  ab[{index}] := {value};");
            }
            2 => {
                let value = self.element();
                let _ = writeln!(text, "  p := {value};");
            }
            3 => {
                let (index, value) = (self.element(), self.element());
                let _ = writeln!(text, "  ap[{index}] := {value};");
            }
            4 => {
                let value = self.number();
                let _ = writeln!(text, "  x := {value};");
            }
            5 => {
                let (index, value) = (self.element(), self.number());
                let _ = writeln!(text, "  ax[{index}] := {value};");
            }
            6 => {
                let target = self.one_of(&["p", "x", "u", "q", "e", "b", "c", "s"]);
                let _ = writeln!(text, "  undefine {target};");
            }
            7 => {
                let value = if self.pick(3) == 0 { "Nil".to_string() } else { self.element() };
                let _ = writeln!(text, "  u := {value};");
            }
            8 => {
                let (index, other, value) = (self.element(), self.element(), self.truth());
                let _ = writeln!(text, "  m[{index}][{other}] := {value};");
            }
            9 => {
                let value = self.element();
                let _ = writeln!(
                    text,
                    "  p := {value}; if multisetcount(z: s, true) < 2 then multisetadd(p, s); end;"
                );
            }
            10 => {
                let index = self.second();
                let (value, number) = (self.element(), self.number());
                let _ = writeln!(text, "  c[{index}].p := {value}; c[{index}].n := {number};");
                let _ = writeln!(
                    text,
                    "  if multisetcount(z: t, true) < 2 then multisetadd(c[{index}], t); end;"
                );
            }
            11 => {
                let index = self.second();
                match self.pick(4) {
                    0 => {
                        let value = self.element();
                        let _ = writeln!(text, "  aq[{index}] := {value};");
                    }
                    1 => {
                        let _ = writeln!(text, "  q := {index};");
                    }
                    2 => {
                        let of = self.element();
                        let _ = writeln!(
                            text,
                            "  q := {index}; if multisetcount(z: as[{of}], true) < 1 then multisetadd(q, as[{of}]); end;"
                        );
                    }
                    _ => {
                        let _ = writeln!(text, "  bu[Nil] := true; multisetremovepred(z: s, s[z] = p);");
                    }
                }
            }
            12 => {
                let condition = self.truth();
                let _ = writeln!(text, "  if {condition} then");
                self.deeper(|writer| writer.stmt(text));
                if self.pick(2) == 1 {
                    text.push_str("  else\n");
                    self.deeper(|writer| writer.stmt(text));
                }
                text.push_str("  end;\n");
            }
            13 | 14 => {
                let name = self.name();
                let over_p = self.pick(3) != 2;
                let _ = writeln!(text, "  for {name}: {} do", if over_p { "P" } else { "Q" });
                self.scope.push((name, if over_p { Bound::P } else { Bound::Q }));
                self.deeper(|writer| writer.stmt(text));
                self.scope.pop();
                text.push_str("  end;\n");
            }
            15 => {
                let condition = self.truth();
                let word = self.one_of(&["assert", "assume", "cover"]);
                let _ = writeln!(text, "  {word} {condition} \"check\";");
            }
            _ => {
                let (index, place) = (self.element(), self.name());
                let _ = writeln!(text, "  alias {place}: ax[{index}] do");
                let _ = writeln!(text, "    {place} := ({place} + 1) % 3;");
                self.deeper(|writer| writer.stmt(text));
                text.push_str("  end;\n");
                if self.functions {
                    let (place, by) = (self.element(), self.element());
                    let _ = match self.pick(5) {
                        0 => writeln!(text, "  send(last[{place}], Nil, {by});"),
                        1 => writeln!(text, "  send(last[{place}], {by}, u);"),
                        2 => writeln!(text, "  last[{place}] := last[{by}]; receive(last[{by}], {place});"),
                        _ => writeln!(text, "  g(ax[{place}], {by});"),
                    };
                }
            }
        }
    }

    fn bound(&mut self, kind: Bound) -> Option<String> {
        let names: Vec<String> =
            self.scope.iter().filter(|(_, of)| *of == kind).map(|(name, _)| name.clone()).collect();
        if names.is_empty() { None } else { Some(names[self.pick(names.len())].clone()) }
    }

    /// An element of P.
    fn element(&mut self) -> String {
        match self.pick(6) {
            0..=2 => self.bound(Bound::P).unwrap_or_else(|| "p".into()),
            3 => "p".into(),
            4 if self.depth < 3 => {
                let index = self.deeper(Self::element);
                format!("ap[{index}]")
            }
            5 => {
                let index = self.second();
                if self.pick(2) == 0 { format!("aq[{index}]") } else { format!("c[{index}].p") }
            }
            _ => "p".into(),
        }
    }

    /// An element of Q.
    fn second(&mut self) -> String {
        self.bound(Bound::Q).unwrap_or_else(|| "q".into())
    }

    fn number(&mut self) -> String {
        match self.pick(6) {
            0 => "1".into(),
            1 => "x".into(),
            2 => {
                let index = self.element();
                format!("ax[{index}]")
            }
            3 => "(x + 1) % 3".into(),
            4 => "multisetcount(z: s, s[z] = p)".into(),
            _ => {
                let condition = self.deeper(Self::truth);
                format!("({condition} ? 0 : x + 1)")
            }
        }
    }

    fn truth(&mut self) -> String {
        let choices = if self.depth < 3 { 16 } else { 9 };
        match self.pick(choices) {
            0 => "!b".into(),
            1 => "b".into(),
            2 => {
                let index = self.element();
                format!("ab[{index}]")
            }
            3 => {
                let (left, right) = (self.element(), self.element());
                format!("{left} = {right}")
            }
            4 => {
                let (left, right) = (self.number_simple(), self.number_simple());
                let op = self.one_of(&["=", "<", ">=", "!="]);
                format!("{left} {op} {right}")
            }
            5 => {
                let place = self.one_of(&["p", "q", "u", "x", "e"]);
                format!("isundefined({place})")
            }
            6 => {
                let (index, other) = (self.element(), self.element());
                format!("m[{index}][{other}]")
            }
            7 => {
                let other = if self.pick(2) == 0 { "Nil".to_string() } else { self.element() };
                format!("u = {other}")
            }
            8 => {
                let index = self.element();
                self.one_of(&["true", "e = A", "ismember(u, P)", "bu[Nil]"]).to_string()
                    + &format!(" | {index} != p")
            }
            9 | 10 => {
                let word = self.one_of(&["forall", "exists"]);
                let name = self.name();
                let over_p = self.pick(3) != 2;
                self.scope.push((name.clone(), if over_p { Bound::P } else { Bound::Q }));
                let body = self.deeper(Self::truth);
                self.scope.pop();
                format!("{word} {name}: {} do {body} end", if over_p { "P" } else { "Q" })
            }
            11 => {
                let body = self.deeper(Self::truth);
                format!("!({body})")
            }
            12 | 13 => {
                let (left, right) = (self.deeper(Self::truth), self.deeper(Self::truth));
                let op = self.one_of(&["&", "|", "->"]);
                format!("(({left}) {op} ({right}))")
            }
            14 => "multisetcount(z: t, t[z].p = p) = 0".into(),
            _ if self.functions => {
                let index = self.element();
                format!("f({index})")
            }
            _ => "b".into(),
        }
    }

    fn number_simple(&mut self) -> String {
        match self.pick(3) {
            0 => "x".into(),
            1 => "1".into(),
            _ => {
                let index = self.element();
                format!("ax[{index}]")
            }
        }
    }
}
