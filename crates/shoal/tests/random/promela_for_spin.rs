//! Promela programs for SPIN to judge: what is easily read in two ways stands in most of them. Jumps in inlines that are
//! expanded several times, channels that are passed on and outlive their process or not, processes that come and go,
//! `unless`, `else`, `timeout`, `d_step`, sorted sends, random receives, polls, deterministic proctypes, priorities, `enabled`,
//! `pc_value`, traces.

use std::fmt::Write;

use super::choices::Choices;

/// What the statements that are being written may use.
#[derive(Clone, Copy)]
struct Place {
    /// How many more statements may be nested.
    depth: usize,
    /// Whether a step may wait or be lost in the middle here.
    in_d_step: bool,
    in_atomic: bool,
    /// Inlines with smaller numbers may be called.
    inlines: usize,
    /// Whether there is a channel of its own.
    has_own: bool,
    /// Whether the process has local variables.
    in_inline: bool,
}

struct Writer<'a> {
    choices: Choices<'a>,
    labels: usize,
    /// Whether processes are made while others run.
    runs: bool,
    others: AwareOf,
}

/// What a program asks of what other processes can do or have done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AwareOf {
    Nothing,
    Messages,
    Priorities,
    Enabled,
    Locations,
}

/// A program.
pub(crate) fn program(bytes: &[u8]) -> String {
    let mut writer =
        Writer { choices: Choices::new(bytes), labels: 0, runs: false, others: AwareOf::Nothing };
    writer.runs = writer.pick(2) == 0;
    writer.others = match writer.pick(9) {
        4 => AwareOf::Locations,
        5 => AwareOf::Messages,
        6 => AwareOf::Enabled,
        7 => AwareOf::Priorities,
        _ => AwareOf::Nothing,
    };
    let mut text = String::from(
        "byte x, y; bit f; byte t[2]; typedef R { byte m; byte n[2] }; R v;\nmtype = { red, green }; mtype c;\n",
    );
    let (first, second) = (writer.pick(2) + 1, writer.pick(2) + 1);
    let _ = writeln!(text, "chan a = [{first}] of {{ byte }}; chan b = [{second}] of {{ byte, bit }};");
    text += if writer.meets() { "chan r = [0] of { byte }; " } else { "" };
    text += "chan h = [1] of { chan }; chan k;\n";
    if writer.others == AwareOf::Messages {
        text += &writer.trace();
    }
    for number in 0..2 {
        text += &writer.inline(number);
    }
    let place =
        Place { depth: 2, in_d_step: false, in_atomic: false, inlines: 2, has_own: false, in_inline: false };
    if writer.runs {
        let own = ["chan o = [1] of { byte };", "chan o = [0] of { byte };", "chan o[2] = [1] of { byte };"]
            [if writer.meets() { writer.pick(3) } else { 2 * writer.pick(2) }];
        let own = own.replace("o[2]", "oo[2]");
        let pass = if own.contains("oo") { "chan o; o = oo[1];" } else { "" };
        let body = writer.statements(Place { has_own: true, depth: 1, ..place }, 3);
        let sends = if writer.pick(3) > 0 { "h!o;" } else { "" };
        let _ = writeln!(text, "proctype W(byte p) {{ byte l, m; {own} {pass} {sends}\n{body}\n}}");
        let runs = match writer.pick(4) {
            0 => "run W(1)",
            1 => "run W(1); run W(2)",
            2 => "atomic { run W(0); run W(1) }",
            _ => "run W(1); (_nr_pr < 4); run W(2)",
        };
        let runs = match writer.others {
            AwareOf::Priorities => runs.replace("W(1)", &format!("W(1){}", writer.priority())),
            AwareOf::Nothing | AwareOf::Messages | AwareOf::Enabled | AwareOf::Locations => runs.into(),
        };
        let body = writer.statements(Place { depth: 0, ..place }, 3);
        let _ = writeln!(text, "init {{ byte l, m; {runs};\n{body}\n}}");
    }
    let kind = if writer.pick(6) == 1 { "D_proctype" } else { "proctype" };
    let both = if !writer.runs && writer.pick(4) == 1 { "active [2]" } else { "active" };
    let body = writer.body(place);
    let priority = writer.priority();
    let _ = writeln!(text, "{both} {kind} A(){priority} {{ byte l, m;\n{body}\n}}");
    if !writer.runs || writer.pick(2) == 1 {
        let body = writer.body(place);
        let provided = if writer.pick(10) == 1 { "provided (f == 0) " } else { "" };
        let priority = writer.priority();
        let _ = writeln!(text, "active proctype B(){priority} {provided}{{ byte l, m;\n{body}\n}}");
    }
    if writer.others == AwareOf::Enabled {
        // SPIN takes an `else` for impossible where who asks has another step: here it has none.
        let (first, second, third) = (writer.pick(4), writer.pick(4), writer.pick(4));
        let not = ["", "!"][writer.pick(2)];
        let _ = writeln!(
            text,
            "active proctype E() {{ {not}enabled({first}) -> x = 2; assert(!enabled({second}) || enabled({third})); y = enabled({first}) }}"
        );
    }
    if writer.others == AwareOf::Locations {
        // Of who has ended SPIN says where it was. What is kept depends on the numbers and not only on which are the same.
        let (first, second) = (writer.pick(3), writer.pick(3));
        let number = |of: usize| format!("(_nr_pr > {of} -> pc_value({of}) : 99)");
        let (first, second) = (number(first), number(second));
        let _ = writeln!(
            text,
            "active proctype E() {{ byte s; s = {first} % 7; s = (s * 5 + {second}) % 11; ({first} != s) -> s = pc_value(_pid) + {second} }}"
        );
    }
    text
}

impl Writer<'_> {
    fn pick(&mut self, count: usize) -> usize {
        self.choices.pick(count)
    }

    /// Whether there is rendezvous. SPIN does not take it beside what asks who can move.
    fn meets(&self) -> bool {
        matches!(self.others, AwareOf::Nothing | AwareOf::Messages | AwareOf::Locations)
    }

    fn trace(&mut self) -> String {
        let word = ["trace", "notrace"][self.pick(2)];
        let parts: Vec<String> = (0..self.pick(2) + 1)
            .map(|_| match self.pick(3) {
                0 => self.event(),
                1 => format!("if :: {} :: {} -> {} fi", self.event(), self.event(), self.event()),
                _ => format!("do :: {} :: {} -> break od", self.event(), self.event()),
            })
            .collect();
        let last = ["", "; end0: do :: a!_ :: a?_ od"][self.pick(2)];
        format!("{word} {{ {}{last} }}\n", parts.join("; "))
    }

    fn event(&mut self) -> String {
        let value = ["0", "1", "2", "_"][self.pick(4)];
        match self.pick(6) {
            0 => format!("b!{value}, _"),
            1 => format!("b?_, {}", self.pick(2)),
            2 | 3 => format!("a?{value}"),
            _ => format!("a!{value}"),
        }
    }

    /// What a process is given, where processes have priorities.
    fn priority(&mut self) -> String {
        match self.others {
            AwareOf::Priorities => format!(" priority {}", self.pick(3) + 1),
            AwareOf::Nothing | AwareOf::Messages | AwareOf::Enabled | AwareOf::Locations => String::new(),
        }
    }

    fn inline(&mut self, number: usize) -> String {
        let place = Place {
            depth: 1,
            in_d_step: false,
            in_atomic: false,
            inlines: number,
            has_own: false,
            in_inline: true,
        };
        let label = ["out", "end_it", "out"][self.pick(3)];
        let guard = self.condition(place);
        let body = self.statements(place, 3);
        let padding = "x = (x + 1) % 3;".repeat(self.pick(9));
        let jump = match self.pick(4) {
            0 => format!("if :: {guard} -> goto {label} :: else fi;"),
            1 => format!("atomic {{ if :: {guard} -> goto {label} :: else -> skip fi }};"),
            2 => format!("do :: {guard} -> goto {label} :: else -> break od;"),
            _ => format!("if :: {guard} -> y = 1; goto {label} :: else -> y = 0 fi;"),
        };
        format!("inline i{number}(q) {{ {jump} {padding}\n{body};\n{label}: q = (q + 1) % 3 }}\n")
    }

    fn body(&mut self, place: Place) -> String {
        let loops = self.pick(3) == 0;
        let statements = self.statements(place, 4);
        self.labels += 1;
        let label = format!("{}{}", ["again", "end", "progress"][self.pick(3)], self.labels);
        if loops { format!("{label}: x = x; {statements}; goto {label}") } else { statements }
    }

    fn statements(&mut self, place: Place, most: usize) -> String {
        let count = self.pick(most) + 1;
        (0..count).map(|_| self.statement(place)).collect::<Vec<_>>().join(";\n")
    }

    fn variable(&mut self, place: Place) -> String {
        let all = ["x", "y", "f", "l", "m", "t[0]", "v.m", "v.n[1]", "t[f]"];
        let count = if place.in_inline { 3 } else { all.len() };
        all[self.pick(count)].into()
    }

    fn value(&mut self, place: Place) -> String {
        match self.pick(8) {
            0 => "_pid".into(),
            1 => "_nr_pr".into(),
            2 => "len(a)".into(),
            3 => format!("({} -> 2 : {})", self.condition(place), self.pick(3)),
            4 => self.pick(4).to_string(),
            _ => self.variable(place),
        }
    }

    fn condition(&mut self, place: Place) -> String {
        match self.pick(14) {
            0 => "nempty(a)".into(),
            1 => "nfull(a)".into(),
            2 => format!("a?[{}]", self.pick(2)),
            3 => "b??[1, 1]".into(),
            4 => "_nr_pr > 2".into(),
            5 => "c == red".into(),
            6 if self.meets() && self.pick(6) == 0 => "r?[1]".into(),
            8 if self.others == AwareOf::Priorities => {
                [format!("_priority > {}", self.pick(3)), format!("get_priority({}) == 2", self.pick(3))]
                    [self.pick(2)]
                .clone()
            }
            7 if self.pick(6) == 0 => "t[x] == 1".into(),
            _ => {
                let operator = ["==", "!=", "<", ">="][self.pick(4)];
                format!("({} {operator} {})", self.variable(place), self.pick(3))
            }
        }
    }

    fn assignment(&mut self, place: Place) -> String {
        let (to, from) = (self.variable(place), self.value(place));
        match self.pick(6) {
            0 => format!("{to} = {from} % 3"),
            1 => "c = (c == red -> green : red)".into(),
            _ => format!("{to} = ({from} + {}) % 3", self.pick(3)),
        }
    }

    fn send(&mut self, place: Place) -> String {
        let value = self.variable(place);
        match self.pick(8) {
            0 => format!("a!!{value}"),
            1 => format!("b!{value}, {}", self.pick(2)),
            2 => format!("b!!{value}, f"),
            3 if !place.in_d_step && self.meets() => format!("r!{value}"),
            4 if place.has_own => "h!o".into(),
            5 if place.has_own && !place.in_d_step => format!("o!{value}"),
            6 if self.runs && !place.in_d_step && !place.in_inline => format!("k!{value}"),
            _ => format!("a!{value}"),
        }
    }

    fn receive(&mut self, place: Place) -> String {
        let to = self.variable(place);
        // Where a value does not fit, SPIN puts back what is left of it when it goes back over the step, and so changes the channel.
        let to = if to == "f" { "x".into() } else { to };
        match self.pick(12) {
            0 => format!("a??{}", self.pick(3)),
            // SPIN undoes a receive into `t[f], f` at the new `f`, and so makes states that no run has.
            1 if to != "t[f]" => format!("b?{to}, f"),
            2 => format!("b??{}, _", self.pick(2)),
            3 => format!("a?<{to}>"),
            4 => format!("a?eval({to})"),
            5 | 6 if !place.in_d_step && self.meets() => format!("r?{to}"),
            7 if self.runs => "h?k".into(),
            8 if place.has_own && !place.in_d_step => format!("o?{to}"),
            9 if self.runs && !place.in_d_step && !place.in_inline => "k?x".into(),
            _ => format!("a?{to}"),
        }
    }

    fn simple(&mut self, place: Place) -> String {
        match self.pick(10) {
            0 if self.others == AwareOf::Priorities => match self.pick(3) {
                0 => format!("_priority = {} % 3 + 1", self.variable(place)),
                // SPIN takes back what was not done where there is no such process: process 0 goes last.
                1 => format!("set_priority(0, {} % 3 + 1)", self.variable(place)),
                _ => format!("set_priority(_pid, {})", self.pick(4)),
            },
            0..=2 => self.assignment(place),
            3 => self.condition(place),
            4 | 5 => self.send(place),
            6 | 7 => self.receive(place),
            8 => format!("assert({} != {})", self.variable(place), self.pick(3)),
            _ => match self.pick(6) {
                0 if !place.in_d_step && !place.in_atomic => "timeout".into(),
                1 => "printf(\"x\")".into(),
                2 | 3 if !place.in_d_step => {
                    // The last two are counted up, step by step. (In an atomic sequence every way through is one step.)
                    let to = self.pick(2) + 1;
                    let range = [format!("0 .. {to}"), format!("(0) .. {to}"), format!("0\n .. {to}")];
                    format!("select(x : {})", range[if place.in_atomic { 0 } else { self.pick(3) }])
                }
                4 => ["skip", "true", "skip; skip", "{ skip }"][self.pick(4)].into(),
                _ => "x++; x = x % 3".into(),
            },
        }
    }

    fn statement(&mut self, place: Place) -> String {
        if place.depth == 0 {
            return self.simple(place);
        }
        let inner = Place { depth: place.depth - 1, ..place };
        match self.pick(18) {
            0 | 1 if place.inlines > 0 && !place.in_d_step => self.call(place),
            2 | 3 => {
                let (first, second) = (self.option(inner), self.option(inner));
                match self.pick(3) {
                    0 => format!("if :: {first} :: else -> {second} fi"),
                    1 => format!("if :: {first} :: {second} :: else fi"),
                    _ => format!("if :: {first} :: {second} fi"),
                }
            }
            4 if !place.in_d_step => {
                let (first, second) = (self.option(inner), self.simple(inner));
                // A loop that takes no time in SPIN is an error there.
                match place.in_atomic {
                    true => {
                        format!("do :: (f == 0) -> f = 1; {first} :: {second} -> break :: else -> break od")
                    }
                    false => format!("do :: {first} :: {second} -> break od"),
                }
            }
            5 | 6 if !place.in_d_step => {
                format!("atomic {{ {} }}", self.statements(Place { in_atomic: true, ..inner }, 3))
            }
            7 | 8 if !place.in_d_step => self.d_step(inner),
            9 if !place.in_d_step && !place.in_atomic => {
                let (main, escape) = (self.statements(inner, 2), self.escape(inner));
                // A rendezvous is half done when it is seen what escapes from it.
                let meets = if self.meets() { ["", "", "r?x; ", "r?1; "][self.pick(4)] } else { "" };
                format!("{{ {meets}{main} }} unless {{ {escape} }}")
            }
            10 if !place.in_inline => format!("for (l : 0 .. 1) {{ {} }}", self.simple(inner)),
            11 if !place.in_d_step && !place.in_inline => {
                self.labels += 1;
                let (label, guard, skipped) = (self.labels, self.condition(place), self.simple(inner));
                format!(
                    "if :: {guard} -> goto past{label} :: else fi; {skipped}; past{label}: y = (y + 1) % 3"
                )
            }
            _ => self.simple(place),
        }
    }

    /// What stands in an option: often it can be waited for, or can be escaped from.
    fn option(&mut self, place: Place) -> String {
        if self.pick(5) == 1 && !place.in_d_step && !place.in_atomic {
            let (main, escape) = (self.statements(place, 2), self.escape(place));
            return format!("{{ {main} }} unless {{ {escape} }}");
        }
        if self.pick(2) == 0 {
            return self.statements(place, 2);
        }
        format!("{} -> {}", self.condition(place), self.statements(place, 2))
    }

    fn escape(&mut self, place: Place) -> String {
        let place = Place { depth: 0, ..place };
        match self.pick(5) {
            0 => format!("if :: {} :: {} fi", self.simple(place), self.simple(place)),
            1 => format!("{}; {}", self.condition(place), self.simple(place)),
            2 if self.meets() => format!("r?{}; {}", ["y", "1", "_"][self.pick(3)], self.simple(place)),
            _ => self.simple(place),
        }
    }

    /// A `d_step` that blocks in the middle is an error, and that is found as well.
    fn d_step(&mut self, place: Place) -> String {
        let inner = Place { in_d_step: true, depth: 0, ..place };
        match self.pick(3) {
            0 => format!("d_step {{ {}; {} }}", self.assignment(inner), self.assignment(inner)),
            1 => format!("d_step {{ {}; {} }}", self.condition(inner), self.assignment(inner)),
            _ => {
                let (first, second) = (self.condition(inner), self.assignment(inner));
                format!("d_step {{ if :: {first} -> {second} :: else fi; {} }}", self.assignment(inner))
            }
        }
    }

    fn call(&mut self, place: Place) -> String {
        let number = self.pick(place.inlines);
        let argument = if place.in_inline { "y" } else { ["x", "l", "m"][self.pick(3)] };
        format!("i{number}({argument})")
    }
}
