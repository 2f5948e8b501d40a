//! Random process templates with pointers, in Murphi.
//!
//! A model is written from a list of choices; when they run out, the simplest is taken.

use std::fmt::Write;

use crate::random::choices::Choices;

/// The model that a list of choices stands for.
pub(crate) fn model(bytes: &[u8]) -> String {
    Writer { choices: Choices::new(bytes) }.model()
}

struct Writer<'a> {
    choices: Choices<'a>,
}

/// What a process holds and what all share.
const DECLARATIONS: &str = "
type
  P: scalarset(N);
  U: union { P, enum { Nil } };
var
  mode: array [P] of 0..3;
  x: array [P] of U;
  y: array [P] of U;
  f: array [P] of boolean;
  L: U;
startstate
  for p: P do mode[p] := 0; x[p] := Nil; y[p] := Nil; f[p] := false; end;
  L := Nil;
end;
";

impl Writer<'_> {
    fn model(&mut self) -> String {
        let mut text = format!("const N: {};\n{DECLARATIONS}ruleset p: P do\n", 2 + self.choose(2));
        for rule in 0..3 + self.choose(5) {
            let _ = writeln!(text, "  rule \"{rule}\" {} ==>\n  begin\n{}  end;", self.guard(), self.body());
        }
        let _ = write!(text, "end;\n{}", self.property());
        text
    }

    fn choose(&mut self, count: usize) -> usize {
        self.choices.pick(count)
    }

    fn pick<'t>(&mut self, of: &[&'t str]) -> &'t str {
        self.choices.one_of(of)
    }

    fn guard(&mut self) -> String {
        let mut guard = format!("mode[p] = {}", self.choose(4));
        for _ in 0..self.choose(3) {
            let _ = write!(guard, " & {}", self.test());
        }
        guard
    }

    fn test(&mut self) -> String {
        let tests = [
            "f[p]",
            "!f[p]",
            "L = Nil",
            "L != Nil",
            "L = p",
            "L != p",
            "x[p] = Nil",
            "x[p] != Nil",
            "x[p] = p",
            "x[p] != p",
            "y[p] = Nil",
            "y[p] = x[p]",
            "y[p] != L",
            "(exists q: P do x[q] = p end)",
            "(isundefined(x[p]) | x[p] = L)",
        ];
        self.pick(&tests).into()
    }

    fn body(&mut self) -> String {
        let mut body = String::new();
        for _ in 0..1 + self.choose(3) {
            let statements = [
                "x[p] := Nil;",
                "x[p] := p;",
                "x[p] := L;",
                "L := p;",
                "L := Nil;",
                "L := x[p];",
                "y[p] := x[p];",
                "y[p] := L;",
                "f[p] := true;",
                "f[p] := !f[p];",
                "if L != Nil then x[L] := p; end;",
                "if L != Nil then f[L] := true; end;",
                "if L != Nil then L := x[L]; end;",
                "if x[p] != Nil then y[x[p]] := p; end;",
                "if x[p] != Nil then L := y[x[p]]; end;",
                "if f[p] then x[p] := Nil; else y[p] := p; end;",
                "for q: P do if x[q] = p then f[q] := false; end; end;",
                "undefine y[p];",
                "if f[p] then return; end;",
                "x[p] := y[p];",
            ];
            let _ = writeln!(body, "    {}", self.pick(&statements));
        }
        let _ = writeln!(body, "    mode[p] := {};", self.choose(4));
        body
    }

    fn property(&mut self) -> String {
        let conditions = [
            "L = Nil | L != Nil",
            "forall p: P do mode[p] < 3 end",
            "forall p: P do mode[p] != 2 | f[p] end",
            "forall p: P do mode[p] != 1 | x[p] != p end",
            "exists p: P do mode[p] = 0 end",
            "forall p: P do forall q: P do p = q | mode[p] != 3 | mode[q] != 3 end end",
            "forall p: P do L != p | mode[p] != 0 end",
        ];
        format!(
            "invariant \"one\" {};\ninvariant \"two\" {};\n",
            self.pick(&conditions),
            self.pick(&conditions)
        )
    }
}
