//! Random small models whose procedures have loops over scalarsets, as protocols have them: messages that a loop fills in
//! again, bags of nodes, loops that are left early, unions, `var` parameters and calls.

use std::fmt::Write;

use super::choices::Choices;

const HEAD: &str = "
type
  P: scalarset(3); Q: scalarset(2); Hub: enum { Home };
  U: union { P, Hub };
  Msg: record tag: 0..1; src: U; dst: U; end;
  Who: record p: P; h: Hub; end;
var
  net: array [U] of multiset [2] of Msg;
  bag: multiset [3] of U;
  flag: array [P] of boolean;
  n: 0..3;
  who: U;
  mark: Q;

procedure send(m: Msg);
begin
  if multisetcount(k: net[m.dst], true) < 2 then multisetadd(m, net[m.dst]); end;
end;
function has(u: U): boolean;
begin return multisetcount(k: bag, bag[k] = u) > 0; end;
procedure drop(u: U);
begin multisetremovepred(k: bag, bag[k] = u); end;
procedure note(var to: U; u: U);
begin to := u; end;
function who_p(o: P): Who;
var w: Who;
begin undefine w; w.p := o; return w; end;
function who_h(): Who;
var w: Who;
begin undefine w; w.h := Home; return w; end;
procedure post(w: Who);
begin
  if !isundefined(w.p) then flag[w.p] := !flag[w.p];
  elsif !isundefined(w.h) then if n < 3 then n := n + 1; end;
  else who := Home; end;
end;
procedure post_once(w: Who; o: P);
begin
  if isundefined(w.p) then return; end;
  if w.p = o then return; end;
  post(w);
end;
";

const START: &str = "
startstate begin
  for q: Q do mark := q; end;
  undefine net; undefine bag; n := 0; who := Home;
  for i: P do flag[i] := false; end;
end;
";

/// The model of a seed: a generator of its own, so that a failure names its seed and nothing else.
pub(crate) fn seeded(seed: u64) -> String {
    let mut word = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d;
    let bytes: Vec<u8> = (0..64)
        .map(|_| {
            word ^= word << 13;
            word ^= word >> 7;
            word ^= word << 17;
            (word >> 32) as u8
        })
        .collect();
    model(&bytes)
}

/// The model that a list of choices stands for.
fn model(bytes: &[u8]) -> String {
    let mut writer = Writer { choices: Choices::new(bytes) };
    let mut text = HEAD.replace("var to:", "var at:").replace("to := u", "at := u");
    for number in 0..2 {
        writer.procedure(&mut text, number);
    }
    writer.function(&mut text);
    text.push_str(START);
    for number in 0..=writer.choices.pick(3) {
        writer.rule(&mut text, number);
    }
    text.push_str("ruleset i: P do choose k: net[i] do rule \"take\" true ==> begin\n");
    text.push_str("  flag[i] := !flag[i]; multisetremove(k, net[i]);\nend; end; end;\n");
    if writer.choices.pick(2) == 1 {
        text.push_str("invariant \"asked\" forall i: P do ask(i) | !ask(i) end;\n");
    }
    if writer.choices.pick(3) == 1 {
        text.push_str("invariant \"few\" n < 3 | exists i: P do flag[i] end;\n");
    }
    text
}

struct Writer<'a> {
    choices: Choices<'a>,
}

impl Writer<'_> {
    /// `m` is a message of the caller, `r` an element, `s` a variable of the procedure.
    fn procedure(&mut self, text: &mut String, number: usize) {
        let _ = writeln!(
            text,
            "procedure act{number}(var m: Msg; r: P);\nvar s: U; c: 0..3; w: Who; x: Who;\nbegin"
        );
        text.push_str("  s := Home; c := 0; undefine w; x := who_p(r);\n");
        for _ in 0..=self.choices.pick(2) {
            self.one_loop(text);
        }
        match self.choices.pick(6) {
            1 => text.push_str("  who := s;\n"),
            2 => text.push_str("  who := m.dst;\n"),
            3 => text.push_str("  n := c;\n"),
            4 => text.push_str("  m.dst := Home; send(m);\n"),
            _ => {}
        }
        text.push_str("end;\n");
    }

    fn one_loop(&mut self, text: &mut String) {
        let union = self.choices.pick(2) == 1;
        let _ = writeln!(text, "  for i: {} do", if union { "U" } else { "P" });
        if union {
            let _ = writeln!(
                text,
                "  if ismember(i, P) & {} then",
                self.choices.one_of(&["i != r", "has(i)", "true"])
            );
        }
        for _ in 0..=self.choices.pick(3) {
            self.in_loop(text);
        }
        text.push_str(if union { "  end; end;\n" } else { "  end;\n" });
    }

    fn in_loop(&mut self, text: &mut String) {
        let condition = self.choices.one_of(&["true", "flag[i]", "has(i)", "i != r", "!has(i)", "who = i"]);
        let _ = writeln!(text, "    if {condition} then");
        text.push_str(self.choices.one_of(&[
            "      m.dst := i; send(m);\n",
            "      drop(i);\n",
            "      flag[i] := false;\n",
            "      if multisetcount(k: bag, true) < 3 & !has(i) then multisetadd(i, bag); end;\n",
            "      multisetremovepred(k: bag, bag[k] = i);\n",
            "      c := c + 1;\n",
            "      s := i; if flag[s] then flag[s] := false; end;\n",
            "      flag[i] := true;\n",
            "      note(s, i); send(m);\n",
            "      note(m.dst, i); m.tag := 1; send(m);\n",
            "      who := i;\n",
            "      if n < 3 then n := n + 1; end;\n",
            "      return;\n",
            "      if isundefined(m.src) | m.src != i then m.src := i; end;\n",
            "      m.tag := 1 - m.tag;\n",
            "      if has(s) then s := i; end;\n",
            "      w := who_p(i); post(w);\n",
            "      post_once(who_p(i), r);\n",
            "      undefine w; if flag[i] then w.h := Home; else w.p := i; end; post(w);\n",
            "      x := w; w := who_p(i); post(x);\n",
            "      w.p := i; if flag[i] then w := who_h(); end; post(w);\n",
            "      if multisetcount(k: net[i], true) > c then c := multisetcount(k: net[i], true); end;\n",
            "      if flag[i] & n > c then c := n; end;\n",
            "      if c < n then c := n; s := i; end;\n",
            "      post(x);\n",
        ]));
        text.push_str("    end;\n");
    }

    fn function(&mut self, text: &mut String) {
        let condition = self.choices.one_of(&["flag[j]", "j != i & flag[j]", "has(j)", "who = j"]);
        let result = self.choices.one_of(&["true", "j = i", "flag[i]"]);
        let _ = writeln!(
            text,
            "function ask(i: P): boolean;\nbegin\n  for j: P do if {condition} then return {result}; end; end;\n  return false;\nend;"
        );
    }

    fn rule(&mut self, text: &mut String, number: usize) {
        let guard = self.choices.one_of(&["true", "!flag[r]", "ask(r)", "!has(r)", "n < 3"]);
        let _ = writeln!(text, "ruleset r: P do rule \"act {number}\" {guard} ==>\nvar m: Msg;\nbegin");
        text.push_str("  undefine m; m.tag := 0; m.src := r; m.dst := Home;\n");
        let _ = writeln!(text, "  act{}(m, r);", self.choices.pick(2));
        text.push_str(self.choices.one_of(&[
            "",
            "  who := m.dst;\n",
            "  m.dst := r; send(m);\n",
            "  flag[r] := m.tag = 1;\n",
            "  if !has(r) & multisetcount(k: bag, true) < 3 then multisetadd(r, bag); end;\n",
            "  flag[r] := true;\n",
        ]));
        text.push_str("end; end;\n");
    }
}
