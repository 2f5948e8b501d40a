//! Random models with any number of elements: elements that point to each other, loops, broadcasts, bags, unions,
//! quantifiers, undefined values; some with a second sort, some with data that may be compared or not, some with bounds
//! that move apart with the number of elements.

/// A plain generator of random numbers.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..8 {
            dice.roll(2);
        }
        dice
    }

    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % sides
    }

    fn of<'a>(&mut self, options: &[&'a str]) -> &'a str {
        options[self.roll(options.len())]
    }
}

/// What a model has besides its processes.
#[derive(Clone, Copy)]
struct Parts {
    nodes: bool,
    data: bool,
    bags: bool,
    boxes: bool,
    records: bool,
    /// Whether nothing compares data.
    opaque: bool,
    /// Ranges and multisets that grow with the number of processes.
    counts: bool,
}

/// A random model: its text, the names that may be any number, and whether each is one of data.
pub(crate) struct Made {
    pub(crate) text: String,
    pub(crate) any: Vec<(&'static str, bool)>,
}

impl Made {
    /// The same with questions that are asked through functions.
    pub(crate) fn through_functions(&self) -> Made {
        let (head, rest) = self.text.split_once("procedure mark").expect("there is such a procedure");
        let mut rest = rest.replace("do b[q] end", "do marks(q) end");
        for (whom, what) in ["p", "q"].into_iter().flat_map(|whom| ["X", "Y", "Z"].map(|what| (whom, what))) {
            rest = rest.replace(&format!("c[{whom}] = {what}"), &format!("same(c[{whom}], {what})"));
            rest = rest.replace(&format!("c[{whom}] != {what}"), &format!("!same(c[{whom}], {what})"));
        }
        let functions = "function same(x: colour; y: colour): boolean; begin return x = y; end;
function marks(p: P): boolean; begin return b[p]; end;";
        Made { text: format!("{head}{functions}\nprocedure mark{rest}"), any: self.any.clone() }
    }
}

const CONDITIONS: &[&str] = &[
    "c[p] = X",
    "c[p] = Y",
    "c[p] != Z",
    "b[p]",
    "!b[p]",
    "g",
    "!g",
    "h = 0",
    "h < 2",
    "isundefined(own)",
    "!isundefined(own) & own = p",
    "!isundefined(own) & own != p",
    "isundefined(n[p])",
    "!isundefined(n[p]) & n[p] = p",
    "!isundefined(n[p]) & c[n[p]] = X",
    "!isundefined(n[p]) & !isundefined(own) & n[p] = own",
    "!isundefined(n[p]) & !isundefined(n[n[p]]) & n[n[p]] = p",
    "!isundefined(own) & b[own]",
    "forall q: P do c[q] != Y end",
    "exists q: P do b[q] end",
    "exists q: P do c[q] = Z & b[q] end",
    "forall q: P do b[q] -> c[q] = X end",
    "forall q: P do q = p | !b[q] end",
    "exists q: P do q != p & c[q] = c[p] end",
    "exists q: P do !isundefined(n[q]) & n[q] = p end",
    "forall q: P do isundefined(n[q]) end",
    "exists q: P do c[q] = Y & g end",
    "!isundefined(u) & ismember(u, P)",
    "!isundefined(u) & u = Nobody",
    "marked(p)",
    "busy()",
    "forall q: P do forall r: P do q = r | c[q] != Z | c[r] != Z end end",
];
const BAG_CONDITIONS: &[&str] = &[
    "multisetcount(i: bag, bag[i].who = p) = 0",
    "multisetcount(i: bag, true) < 2",
    "multisetcount(i: bag, bag[i].what = Z) = 0",
];
const BOX_CONDITIONS: &[&str] = &[
    "multisetcount(i: box[p], true) < 2",
    "multisetcount(i: box[p], box[p][i].who = p) = 0",
    "!isundefined(own) & multisetcount(i: box[own], box[own][i].what = Z) = 0",
    "exists q: P do multisetcount(i: box[q], true) = 2 end",
    "!isundefined(own) & multisetcount(i: box[own], box[own][i].who = p) > 0",
];
const NODE_CONDITIONS: &[&str] = &[
    "isundefined(at[p])",
    "!isundefined(at[p]) & d[at[p]] = X",
    "exists m: Q do d[m] = Y end",
    "forall m: Q do d[m] = X end",
    "!isundefined(head) & d[head] != Z",
    "!isundefined(head) & !isundefined(at[p]) & at[p] = head",
    "!isundefined(head) & !isundefined(back[head]) & back[head] = p",
    "forall m: Q do isundefined(back[m]) end",
];
const DATA_CONDITIONS: &[&str] = &[
    "isundefined(v[p])",
    "!isundefined(v[p]) & !isundefined(w) & v[p] = w",
    "!isundefined(w) & exists q: P do !isundefined(v[q]) & v[q] != w end",
];
const OPAQUE_CONDITIONS: &[&str] =
    &["isundefined(v[p])", "!isundefined(w)", "exists q: P do !isundefined(v[q]) end"];
const COUNT_CONDITIONS: &[&str] = &[
    "t < 1",
    "t > -2",
    "t = 0",
    "multisetcount(i: pool, true) = 0",
    "multisetcount(i: pool, pool[i] = p) = 0",
    "multisetcount(i: pool, c[pool[i]] = Y) > 0",
];
const RECORD_CONDITIONS: &[&str] =
    &["k.s[p] = X", "k.s[p] != k.t", "k.t = Y", "exists q: P do k.s[q] = k.t end"];

const ACTIONS: &[&str] = &[
    "c[p] := X;",
    "c[p] := Y;",
    "c[p] := Z;",
    "b[p] := true;",
    "b[p] := false;",
    "g := !g;",
    "g := true;",
    "if h < 2 then h := h + 1; end;",
    "h := 0;",
    "own := p;",
    "undefine own;",
    "n[p] := own;",
    "n[p] := p;",
    "undefine n[p];",
    "if !isundefined(n[p]) then c[n[p]] := Y; end;",
    "if !isundefined(own) then n[p] := own; end;",
    "if !isundefined(own) then b[own] := true; end;",
    "if !isundefined(own) then c[own] := Z; end;",
    "if !isundefined(n[p]) then own := n[p]; end;",
    "if !isundefined(n[p]) & !isundefined(own) then n[own] := n[p]; end;",
    "for q: P do b[q] := false; end;",
    "for q: P do if c[q] = Y then c[q] := X; end; end;",
    "for q: P do if q != p then b[q] := g; end; end;",
    "for q: P do if b[q] then g := true; end; end;",
    "for q: P do if c[q] = Z then own := q; end; end;",
    "for q: P do n[q] := p; end;",
    "for q: P do paint(c[q], Y); end;",
    "for q: P do mark(q); end;",
    "for q: P do if !isundefined(n[q]) & n[q] = p then undefine n[q]; end; end;",
    "if exists q: P do c[q] = Z end then g := false; end;",
    "b[p] := !b[p]; if exists q: P do b[q] end then g := true; end;",
    "g := !g; if exists q: P do c[q] = Y & g end then c[p] := Z; end;",
    "u := p;",
    "u := Nobody;",
    "undefine u;",
    "mark(p);",
    "paint(c[p], Z);",
    "undefine b;",
    "clear b;",
    "old := b; b := old;",
    "if !isundefined(u) & ismember(u, P) then own := u; end;",
    "x := c[p]; c[p] := Y; g := x = Y;",
    "for q: P do x := c[q]; if x = Z then b[q] := true; end; end;",
    "alias z: c[p] do z := X; end;",
];
const BAG_ACTIONS: &[&str] = &[
    "if multisetcount(i: bag, true) < 2 then m.who := p; m.what := c[p]; multisetadd(m, bag); end;",
    "multisetremovepred(i: bag, bag[i].who = p);",
    "multisetremovepred(i: bag, c[bag[i].who] = Y);",
    "undefine bag;",
];
const BOX_ACTIONS: &[&str] = &[
    "if multisetcount(i: box[p], true) < 2 then m.who := p; m.what := c[p]; multisetadd(m, box[p]); end;",
    "if !isundefined(own) & multisetcount(i: box[own], true) < 2 then m.who := p; m.what := X; multisetadd(m, box[own]); end;",
    "if !isundefined(own) & multisetcount(i: box[p], true) < 2 then m.who := own; m.what := X; multisetadd(m, box[p]); end;",
    "multisetremovepred(i: box[p], box[p][i].who = p);",
    "if !isundefined(own) then multisetremovepred(i: box[own], c[box[own][i].who] = Y); end;",
    "for q: P do multisetremovepred(i: box[q], box[q][i].what = X); end;",
    "undefine box[p];",
    "undefine box;",
];
const NODE_ACTIONS: &[&str] = &[
    "at[p] := head;",
    "undefine at[p];",
    "undefine head;",
    "if !isundefined(head) then back[head] := p; end;",
    "if !isundefined(at[p]) then head := at[p]; end;",
    "if !isundefined(at[p]) then d[at[p]] := Y; end;",
    "if !isundefined(head) then d[head] := Z; end;",
    "for m: Q do d[m] := X; end;",
    "for m: Q do if d[m] = Y then g := true; end; end;",
    "for m: Q do undefine back[m]; end;",
];
const DATA_ACTIONS: &[&str] = &["v[p] := w;", "undefine v[p];", "if !isundefined(v[p]) then w := v[p]; end;"];
const COUNT_ACTIONS: &[&str] = &[
    "if t < 2 then t := t + 1; end;",
    "if t > -2 then t := t - 1; end;",
    "t := t + 1;",
    "t := -t;",
    "t := 0;",
    "if multisetcount(i: pool, pool[i] = p) = 0 then multisetadd(p, pool); end;",
    "if multisetcount(i: pool, true) < 2 then multisetadd(p, pool); end;",
    "multisetadd(p, pool);",
    "multisetremovepred(i: pool, pool[i] = p);",
    "undefine pool;",
];
const RECORD_ACTIONS: &[&str] =
    &["k.s[p] := Y;", "k.t := c[p];", "k.t := X;", "for q: P do k.s[q] := k.t; end;", "k.s[p] := k.t;"];

const CLAIMS: &[&str] = &[
    "forall p: P do forall q: P do p = q | c[p] != Z | c[q] != Z end end",
    "forall p: P do !(c[p] = Z & b[p]) end",
    "!isundefined(own) -> c[own] != Z",
    "forall p: P do isundefined(n[p]) | n[p] != p end",
    "g -> exists p: P do c[p] = Z end",
    "forall p: P do c[p] = Z -> g end",
    "forall p: P do !isundefined(n[p]) -> !isundefined(own) end",
    "isundefined(u)",
    "h < 2",
    "forall p: P do forall q: P do isundefined(n[p]) | isundefined(n[q]) | n[p] = n[q] end end",
    "exists p: P do c[p] != Z end",
    "forall p: P do forall q: P do forall r: P do p = q | q = r | p = r | !(b[p] & b[q] & b[r]) end end end",
    "!exists p: P do exists q: P do p != q & c[p] = Z & c[q] = Z end end",
    "!exists p: P do c[p] = Z & b[p] end",
    "!!forall p: P do !exists q: P do !isundefined(n[p]) & n[p] = q & c[q] = Z end end",
    "!(g & exists p: P do c[p] = X end) & !exists p: P do isundefined(n[p]) & c[p] = Z end",
];
const BAG_CLAIMS: &[&str] =
    &["forall p: P do multisetcount(i: bag, bag[i].who = p) < 2 end", "multisetcount(i: bag, true) < 2"];
const BOX_CLAIMS: &[&str] = &[
    "forall p: P do multisetcount(i: box[p], box[p][i].who = p) < 2 end",
    "forall p: P do multisetcount(i: box[p], box[p][i].what = Z) = 0 end",
    "forall p: P do multisetcount(i: box[p], true) < 2 end",
];
const NODE_CLAIMS: &[&str] = &[
    "forall m: Q do d[m] != Z end",
    "forall p: P do isundefined(at[p]) | !isundefined(head) end",
    "forall m: Q do forall l: Q do m = l | d[m] != Z | d[l] != Z end end",
    "exists m: Q do isundefined(back[m]) end",
    "!isundefined(head) -> d[head] = X | g",
];
const DATA_CLAIMS: &[&str] =
    &["forall p: P do isundefined(v[p]) | isundefined(w) | v[p] = w end", "isundefined(w)"];
const OPAQUE_CLAIMS: &[&str] = &["forall p: P do isundefined(v[p]) | !isundefined(w) end", "isundefined(w)"];
const COUNT_CLAIMS: &[&str] = &["t < 2", "t >= 0", "multisetcount(i: pool, true) < 2"];
const RECORD_CLAIMS: &[&str] = &["forall p: P do k.s[p] != Z end", "k.t != Z"];

/// Without rules that make things move, most random models have five states.
const BASE: &[&str] = &[
    "c[p] = X ==> c[p] := Y;",
    "c[p] = Y & !g ==> c[p] := Z; g := true;",
    "c[p] = Z ==> c[p] := X; g := false;",
    "isundefined(own) ==> own := p;",
    "!isundefined(own) & own = p ==> undefine own;",
    "!isundefined(own) & isundefined(n[p]) ==> n[p] := own;",
    "b[p] = false ==> b[p] := true;",
];
const NODE_BASE: &[&str] = &[
    "isundefined(at[p]) & !isundefined(head) ==> at[p] := head;",
    "!isundefined(at[p]) ==> undefine at[p];",
    "!isundefined(head) & isundefined(back[head]) ==> back[head] := p;",
];

impl Parts {
    fn some(
        self,
        always: &[&'static str],
        [bags, boxes, nodes, data, records, counts, opaque]: [&[&'static str]; 7],
    ) -> Vec<&'static str> {
        let mut all = always.to_vec();
        // What only some models have is tried more often there.
        for (has, more) in [
            (self.bags, bags),
            (self.boxes, boxes),
            (self.nodes, nodes),
            (self.data && !self.opaque, data),
            (self.data && self.opaque, opaque),
            (self.records, records),
            (self.counts, counts),
        ] {
            if has {
                all.extend(more);
                all.extend(more);
            }
        }
        all
    }
}

fn condition(dice: &mut Dice, parts: Parts) -> String {
    let some = [
        BAG_CONDITIONS,
        BOX_CONDITIONS,
        NODE_CONDITIONS,
        DATA_CONDITIONS,
        RECORD_CONDITIONS,
        COUNT_CONDITIONS,
        OPAQUE_CONDITIONS,
    ];
    let all = parts.some(CONDITIONS, some);
    let mut text = dice.of(&all).to_string();
    for _ in 0..dice.roll(3) {
        let word = dice.of(&["&", "&", "|"]);
        text = format!("({text}) {word} ({})", dice.of(&all));
    }
    text
}

fn action(dice: &mut Dice, parts: Parts) -> String {
    let some =
        [BAG_ACTIONS, BOX_ACTIONS, NODE_ACTIONS, DATA_ACTIONS, RECORD_ACTIONS, COUNT_ACTIONS, DATA_ACTIONS];
    let all = parts.some(ACTIONS, some);
    (0..=dice.roll(3)).map(|_| dice.of(&all)).collect::<Vec<_>>().join(" ")
}

/// The model of a seed.
pub(crate) fn model(seed: u64) -> Made {
    let mut dice = Dice::new(seed);
    let kind = dice.roll(9);
    let parts = Parts {
        nodes: kind == 1 || kind == 2,
        data: kind == 3,
        bags: kind == 4 || kind == 5,
        boxes: kind == 7,
        records: kind == 6,
        opaque: kind == 3 && seed.is_multiple_of(2),
        counts: kind == 8,
    };
    let when = |has: bool, text: &'static str| if has { text } else { "" };
    let mut text = format!(
        "const N: 3; M: 2;
type
  P: scalarset(N);
  {}{}colour: enum {{ X, Y, Z }};
  perhaps: union {{ P, enum {{ Nobody }} }};
  {}
var
  c: array [P] of colour;
  b: array [P] of boolean;
  n: array [P] of P;
  g: boolean;
  h: 0..2;
  own: P;
  u: perhaps;
  {}{}{}{}{}{}
function marked(p: P): boolean; begin return b[p] | c[p] = Z; end;
function busy(): boolean; begin return exists q: P do c[q] = Z end; end;
procedure mark(p: P); begin if c[p] = X then b[p] := true; end; end;
procedure paint(var z: colour; y: colour); begin if z != Z then z := y; end; end;
",
        when(parts.nodes, "Q: scalarset(N + 1);\n  "),
        when(parts.data, "D: scalarset(M);\n  "),
        when(parts.bags || parts.boxes, "message: record who: P; what: colour; end;"),
        when(parts.nodes, "d: array [Q] of colour; back: array [Q] of P; at: array [P] of Q; head: Q;\n  "),
        when(parts.data, "v: array [P] of D; w: D;\n  "),
        when(parts.bags, "bag: multiset [2] of message;\n  "),
        when(parts.boxes, "box: array [P] of multiset [2] of message;\n  "),
        when(parts.records, "k: record s: array [P] of colour; t: colour; end;\n  "),
        when(parts.counts, "t: -N..N; pool: multiset [N] of P;\n  "),
    );
    let mut start = "for p: P do c[p] := X; b[p] := false; end; g := false; h := 0;".to_string();
    start += when(parts.nodes, " for m: Q do d[m] := X; end;");
    start += when(parts.records, " for p: P do k.s[p] := X; end; k.t := X;");
    start += when(parts.counts, " t := 0;");
    match dice.roll(6) {
        0 => text += &format!("ruleset p: P do startstate \"start\" begin {start} own := p; end; end;\n"),
        1 if parts.nodes => {
            text += &format!("ruleset m: Q do startstate \"start\" begin {start} head := m; end; end;\n");
        }
        _ => text += &format!("startstate \"start\" begin {start} end;\n"),
    }
    if parts.nodes {
        text += "ruleset m: Q do rule \"take\" isundefined(head) ==> begin head := m; end; end;\n";
    }
    if parts.data {
        text += "ruleset e: D do rule \"send\" isundefined(w) ==> begin w := e; end; end;\n";
    }
    let base = parts.some(BASE, [&[], &[], NODE_BASE, &[], &[], &[], &[]]);
    for number in 0..2 + dice.roll(3) {
        let (guard, body) = dice.of(&base).split_once("==>").expect("a rule has a guard");
        text += &format!("ruleset p: P do rule \"base {number}\" {guard} ==> begin {body} end; end;\n");
    }
    let locals = format!(
        "var x: colour; old: array [P] of boolean; {}",
        when(parts.bags || parts.boxes, "m: message;")
    );
    for number in 0..1 + dice.roll(4) {
        let (guard, body) = (condition(&mut dice, parts), action(&mut dice, parts));
        // Now and then a rule of two processes.
        let (others, guard) = match dice.roll(6) {
            0 => ("; o: P", format!("o != p & c[o] = X & ({guard})")),
            1 => ("; o: P", format!("b[o] & ({guard})")),
            _ => ("", guard),
        };
        text += &format!(
            "ruleset p: P{others} do rule \"r{number}\" {guard} ==> {locals} begin {body} end; end;\n"
        );
    }
    if parts.bags {
        text += "choose i: bag do rule \"receive\" c[bag[i].who] != Z ==> begin own := bag[i].who; multisetremove(i, bag); end; end;\n";
    }
    if parts.boxes {
        text += "ruleset p: P do choose i: box[p] do rule \"fetch\" c[box[p][i].who] != Z ==> begin own := box[p][i].who; multisetremove(i, box[p]); end; end; end;\n";
    }
    let claims = parts.some(
        CLAIMS,
        [BAG_CLAIMS, BOX_CLAIMS, NODE_CLAIMS, DATA_CLAIMS, RECORD_CLAIMS, COUNT_CLAIMS, OPAQUE_CLAIMS],
    );
    for number in 0..3 {
        text += &format!("invariant \"i{number}\" {};\n", dice.of(&claims));
    }
    let mut any = vec![("N", false)];
    if parts.data {
        any.push(("M", true));
    }
    Made { text, any }
}
