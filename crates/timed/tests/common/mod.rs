//! Random small systems.

mod numbers;
mod threads;

pub(crate) use numbers::Random;
use shoal_model::Model;
use shoal_syntax::SourceMap;
use shoal_template::Options;
use shoal_vpl as vpl;
pub(crate) use threads::on_threads;

impl Random {
    pub(crate) fn one_of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len() as u64) as usize]
    }
}

/// A family of automata with a lock, a flag, a clock each, in one of three systems a clock of all, and random moves; and how
/// many modes they have. What is to be verified is still to come.
pub(crate) fn automata(random: &mut Random, count: u64) -> (String, u64) {
    let modes = 2 + random.below(3);
    let shared = random.below(3) == 0;
    let clocks = if shared { "x[1..total(A)], y" } else { "x[1..total(A)]" };
    let mut text =
        format!("automata A : i = 1..{count};\nclock {clocks};\nregister lock, flag;\nautomaton A[i] {{\n");
    // Some of what is said of a clock is said of that of all.
    let timed = |random: &mut Random, text: &str| match shared && random.below(2) == 0 {
        true => text.replace("x[i]", "y"),
        false => text.to_string(),
    };
    for mode in 0..modes {
        let invariant = random.one_of(&["True", "True", "x[i] <= 2", "x[i] < 1"]);
        let invariant = timed(random, invariant);
        text += &format!("  mode M{mode} {{ invariant {invariant};\n");
        for _ in 0..1 + random.below(2) {
            let target = random.below(modes);
            let mut guards = Vec::new();
            for _ in 0..random.below(3) {
                let guard = random.one_of(&[
                    "lock = i",
                    "lock = 0",
                    "lock <> i",
                    "flag = 0",
                    "flag = 1",
                    "x[i] >= 1",
                    "x[i] > 2",
                    "x[i] < 2",
                    "x[i] = 1",
                    "exists j : A { j <> i and mode(A[j]) = M0 }",
                    "forall j : A { j <> i implies not {mode(A[j]) = M1} }",
                ]);
                guards.push(timed(random, guard));
            }
            let guard = if guards.is_empty() { "True".to_string() } else { guards.join(" and ") };
            let mut effects = String::new();
            for _ in 0..random.below(3) {
                let effect = random.one_of(&[
                    "lock := i; ",
                    "lock := 0; ",
                    "flag := 1; ",
                    "flag := 0; ",
                    "x[i] := 0; ",
                    "x[i] := 0; ",
                ]);
                effects += &timed(random, effect);
            }
            text += &format!("    when {guard} may goto M{target}; {effects}\n");
        }
        text += "  }\n";
    }
    (text + "}\n", modes)
}

/// A random formula of some depth, which may name the first so many processes.
pub(crate) fn formula(random: &mut Random, modes: u64, depth: u64, names: u64) -> String {
    let atom = |random: &mut Random| {
        let mode = random.below(modes);
        let kind = random.below(8);
        let k = if names > 0 { 1 + random.below(names) } else { 0 };
        match if names > 0 { kind } else { [1, 2, 6, 7][kind as usize % 4] } {
            6 => format!("exists k : A {{ mode(A[k]) = M{mode} }}"),
            7 => format!("forall k : A {{ mode(A[k]) = M{mode} implies x[k] <= {} }}", random.below(3)),
            0 => format!("x[{k}] {} {}", random.one_of(&["<", "<=", ">", ">="]), random.below(3)),
            1 => "flag = 1".to_string(),
            2 => format!("lock = {}", if k > 0 { random.below(k + 1) } else { 0 }),
            _ => format!("mode(A[{k}]) = M{mode}"),
        }
    };
    if depth == 0 {
        return atom(random);
    }
    let bounds = match random.below(2) {
        0 => String::new(),
        _ => random.one_of(&["[<= 1]", "[< 2]", "[>= 1]", "[> 1]", "[1, 2]", "[0, 0]"]).to_string(),
    };
    let paths = random.one_of(&["all_paths", "exists_path"]);
    let inner = formula(random, modes, depth - 1, names);
    match random.below(5) {
        0 => format!("{paths} (henceforth{bounds} {{{inner}}})"),
        1 => format!("{paths} (eventually{bounds} {{{inner}}})"),
        2 => format!("{paths} ({{{}}} until{bounds} {{{inner}}})", atom(random)),
        3 => format!("{paths} ({{{inner}}} until{bounds} {{{}}})", atom(random)),
        _ => format!("{{{}}} implies {{{inner}}}", atom(random)),
    }
}

/// The model of a text.
pub(crate) fn load(text: &str) -> Model {
    let mut sources = SourceMap::new();
    let id = sources.add("random.vpl", text);
    let (loaded, diagnostics) = vpl::load(&sources, id, &Options::default());
    loaded.unwrap_or_else(|| panic!("{diagnostics:?}\n{text}")).0
}
