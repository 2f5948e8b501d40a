//! Small Promela models from a list of choices.

use std::fmt::Write;

use super::choices::Choices;

struct Writer<'a> {
    choices: Choices<'a>,
    /// Whether the proctype has parameters for channels.
    has_ends: bool,
}

/// A model of two or three processes with variables and channels, and formulas about them.
pub(crate) fn model(bytes: &[u8]) -> String {
    let mut writer = Writer { choices: Choices::new(bytes), has_ends: false };
    let mut text = String::from("byte x, y; bit f;\n");
    let capacities = [writer.pick(2) + 1, writer.pick(2) + 1];
    let _ = writeln!(
        text,
        "chan a = [{}] of {{ byte }}; chan b = [{}] of {{ byte }};",
        capacities[0], capacities[1]
    );
    text += "chan r = [0] of { byte };\n";
    let ends = writer.pick(3) == 0;
    if ends {
        writer.has_ends = true;
        let body = writer.body();
        let _ = writeln!(text, "proctype E(chan in, out) {{ byte l, m;\n{body}}}");
        writer.has_ends = false;
        let runs = match writer.pick(3) {
            0 => "atomic { run E(a, b); run E(b, a) }",
            1 => "run E(a, b); run E(b, a)",
            _ => "atomic { run E(a, b); run E(a, b) }",
        };
        let _ = writeln!(text, "init {{ {runs} }}");
    } else {
        let both = if writer.pick(3) == 0 { "active [2]" } else { "active" };
        let body = writer.body();
        let _ = writeln!(text, "{both} proctype A() {{ byte l, m;\n{body}}}");
    }
    let body = writer.body();
    let provided = if writer.pick(8) == 1 { "provided (f == 0) " } else { "" };
    let _ = writeln!(text, "active proctype B() {provided}{{ byte l, m;\n{body}}}");
    for name in ["p", "q"] {
        let formula = writer.formula(2);
        let _ = writeln!(text, "ltl {name} {{ {formula} }}");
    }
    text
}

const ATOMS: &[&str] = &["(x == 1)", "(y != 0)", "(f == 1)", "(x == y)", "(len(a) == 0)", "(B:l == 1)"];

impl Writer<'_> {
    fn pick(&mut self, count: usize) -> usize {
        self.choices.pick(count)
    }

    fn formula(&mut self, depth: usize) -> String {
        let choices = if depth == 0 { 1 } else { 7 };
        match self.pick(choices) {
            0 => self.choices.one_of(ATOMS).into(),
            1 => format!("[] {}", self.formula(depth - 1)),
            2 => format!("<> {}", self.formula(depth - 1)),
            3 => format!("({} U {})", self.formula(depth - 1), self.formula(depth - 1)),
            4 => format!("(! {})", self.formula(depth - 1)),
            5 => format!("({} -> {})", self.formula(depth - 1), self.formula(depth - 1)),
            _ => format!("([] <> {})", self.formula(depth - 1)),
        }
    }

    fn body(&mut self) -> String {
        let loops = self.pick(3) > 0;
        let statements = self.statements(2, 5);
        if loops { format!("again: {statements}; goto again\n") } else { format!("{statements}\n") }
    }

    fn statements(&mut self, depth: usize, most: usize) -> String {
        let count = self.pick(most) + 1;
        (0..count).map(|_| self.statement(depth)).collect::<Vec<_>>().join(";\n")
    }

    fn channel(&mut self) -> &'static str {
        match (self.has_ends, self.pick(5)) {
            (true, 0 | 1) => "in",
            (true, 2 | 3) => "out",
            (_, 0) => "r",
            (_, 1 | 2) => "a",
            _ => "b",
        }
    }

    fn variable(&mut self) -> &'static str {
        ["l", "l", "m", "x", "y", "f"][self.pick(6)]
    }

    fn assignment(&mut self) -> String {
        let (to, from, more) = (self.variable(), self.variable(), self.pick(3));
        format!("{to} = ({from} + {more}) % {}", if to == "f" { 2 } else { 3 })
    }

    fn statement(&mut self, depth: usize) -> String {
        let choices = if depth == 0 { 9 } else { 15 };
        match self.pick(choices) {
            0 | 1 => self.assignment(),
            2 => format!("({} == {})", self.variable(), self.pick(3)),
            3 | 4 => match self.pick(6) {
                0 => format!("{}!!{}", ["a", "b"][self.pick(2)], self.variable()),
                _ => format!("{}!{}", self.channel(), self.variable()),
            },
            5 | 6 => match self.pick(6) {
                0 => format!("{}?{}", self.channel(), self.pick(3)),
                1 => format!("{}??{}", ["a", "b"][self.pick(2)], self.pick(3)),
                2 => format!("{}?<l>", ["a", "b"][self.pick(2)]),
                _ => format!("{}?{}", self.channel(), self.variable()),
            },
            7 => format!("assert({} != {})", self.variable(), self.pick(3)),
            8 => match self.pick(5) {
                0 => format!("(len({}) < 1)", ["a", "b"][self.pick(2)]),
                1 => format!("nempty({})", ["a", "b"][self.pick(2)]),
                2 => "timeout".into(),
                3 => format!("({} > 0 || _nr_pr > 1)", self.variable()),
                _ => "skip".into(),
            },
            9 => {
                let other = if self.pick(2) == 0 { ":: else -> " } else { ":: " };
                let (first, second) = (self.statements(depth - 1, 2), self.statements(depth - 1, 2));
                format!("if :: {first} {other}{second} fi")
            }
            10 => {
                let (first, second) = (self.statements(depth - 1, 2), self.statement(depth - 1));
                format!("do :: {first} :: {second} -> break od")
            }
            // No loops in there: each way through one is an outcome of the step.
            11 => format!("atomic {{ {} }}", self.statements(0, 3)),
            12 => {
                let [first, second, third] = [0; 3].map(|depth| self.statement(depth));
                format!("atomic {{ {first}; if :: {second} :: {third} fi }}")
            }
            13 => format!("d_step {{ {}; {} }}", self.assignment(), self.assignment()),
            _ => {
                let (main, escape) = (self.statements(depth - 1, 2), self.statement(0));
                format!("{{ {main} }} unless {{ {escape} }}")
            }
        }
    }
}
