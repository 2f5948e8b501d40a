//! Random small Murphi models of processes that go through a few locations, each with variables of its own and some that all
//! share: where orders of steps often make no difference, and sometimes do.
//!
//! As in `generate.rs`, a model is written from a list of choices.

use std::fmt::Write;

use super::choices::Choices;

/// The model that a list of choices stands for.
pub(crate) fn model(bytes: &[u8]) -> String {
    Writer { choices: Choices::new(bytes) }.model()
}

struct Writer<'a> {
    choices: Choices<'a>,
}

const TESTS: &[&str] = &[
    "pc[p] = A",
    "pc[p] = B",
    "pc[p] != C",
    "g = 0",
    "g = 1",
    "g != 2",
    "!h",
    "h",
    "v[p] = 0",
    "v[p] < 2",
    "k[p] = p",
    "forall j: P do v[j] != 1 end",
    "exists j: P do pc[j] = B end",
    "z = 1",
    "isundefined(z)",
    "w[p] != 0",
    "multisetcount(i: s, true) = 0",
];

const STEPS: &[&str] = &[
    "pc[p] := B;",
    "pc[p] := A;",
    "pc[p] := C;",
    "v[p] := 1;",
    "v[p] := v[p] + 1;",
    "v[p] := 0;",
    "g := 1;",
    "g := 0;",
    "g := v[p];",
    "g := g + 1;",
    "h := true;",
    "h := false;",
    "h := !h;",
    "z := 1;",
    "undefine z;",
    "w[p] := 1;",
    "w[p] := z;",
    "k[p] := p;",
    "for j: P do v[j] := 0; end;",
    "if g = 1 then v[p] := 2; end;",
    "assert v[p] != 2;",
    "assert !h | g = 0 \"held\";",
    "multisetadd(v[p], s);",
    "multisetremovepred(i: s, s[i] = 1);",
];

impl Writer<'_> {
    fn model(mut self) -> String {
        let n = 2 + self.choices.pick(2);
        let index = self.choices.one_of(&["scalarset(N)", "1..N"]);
        let mut text = format!(
            "const N: {n};
type
  P: {index};
  R: 0..2;
  L: enum {{ A, B, C }};
var
  pc: array [P] of L;
  v: array [P] of R;
  w: array [P] of R;
  k: array [P] of P;
  g: R;
  h: boolean;
  z: R;
  s: multiset [3] of R;
startstate
begin
  for j: P do pc[j] := A; v[j] := 0; k[j] := j; end;
  g := 0;
  h := false;
"
        );
        if self.choices.pick(2) == 1 {
            text.push_str("  z := 0;\n  for j: P do w[j] := 0; end;\n");
        }
        text.push_str("end;\n");
        for _ in 0..2 + self.choices.pick(4) {
            self.rule(&mut text);
        }
        for number in 0..self.choices.pick(3) {
            let (first, second) = (self.choices.one_of(TESTS), self.choices.one_of(TESTS));
            let _ = writeln!(text, "invariant \"inv {number}\" forall p: P do ({first}) | !({second}) end;");
        }
        if self.choices.pick(4) == 1 {
            let test = self.choices.one_of(TESTS);
            let _ = writeln!(text, "cover \"seen\" exists p: P do {test} end;");
        }
        text
    }

    fn rule(&mut self, text: &mut String) {
        // A rule of one process, of all together, or with another process that it looks at.
        match self.choices.pick(6) {
            0..=3 => text.push_str("ruleset p: P do\n"),
            4 => text.push_str("ruleset p: P; q: P do alias r: v[q] do\n"),
            _ => text.push_str("ruleset p: P do choose i: s do\n"),
        }
        let nested = text.ends_with("alias r: v[q] do\n") || text.ends_with("choose i: s do\n");
        text.push_str("rule\n  ");
        let location = self.choices.one_of(&["pc[p] = A", "pc[p] = B", "pc[p] = C"]);
        let mut tests = vec![location];
        for _ in 0..self.choices.pick(3) {
            tests.push(self.choices.one_of(TESTS));
        }
        if self.choices.pick(4) == 1 {
            tests.reverse();
        }
        let _ = writeln!(text, "{}\n==>\nbegin", tests.join(" & "));
        let to = self.choices.one_of(&["pc[p] := B;", "pc[p] := C;", "pc[p] := A;", ""]);
        let _ = writeln!(text, "  {to}");
        for _ in 0..self.choices.pick(3) {
            let step = self.choices.one_of(STEPS);
            let _ = writeln!(text, "  {step}");
        }
        text.push_str(if nested { "end; end; end;\n" } else { "end; end;\n" });
    }
}
