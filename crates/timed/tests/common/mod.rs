//! Random small systems.

use shoal_model::Model;
use shoal_syntax::SourceMap;
use shoal_template::{Options, vpl};

/// Numbers from a seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    pub(crate) fn one_of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len() as u64) as usize]
    }
}

impl Random {
    /// A stream of its own for each seed.
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1)
    }
}

/// A family of automata with a lock, a flag, a clock each, and random moves; and how many modes they have. What is to be
/// verified is still to come.
pub(crate) fn automata(random: &mut Random, count: u64) -> (String, u64) {
    let modes = 2 + random.below(3);
    let mut text = format!(
        "automata A : i = 1..{count};\nclock x[1..total(A)];\nregister lock, flag;\nautomaton A[i] {{\n"
    );
    for mode in 0..modes {
        let invariant = random.one_of(&["True", "True", "x[i] <= 2", "x[i] < 1"]);
        text += &format!("  mode M{mode} {{ invariant {invariant};\n");
        for _ in 0..1 + random.below(2) {
            let target = random.below(modes);
            let mut guards = Vec::new();
            for _ in 0..random.below(3) {
                guards.push(random.one_of(&[
                    "lock = i",
                    "lock = 0",
                    "lock <> i",
                    "flag = 0",
                    "flag = 1",
                    "x[i] >= 1",
                    "x[i] > 2",
                    "x[i] < 2",
                    "x[i] = 1",
                ]));
            }
            let guard = if guards.is_empty() { "True".to_string() } else { guards.join(" and ") };
            let mut effects = String::new();
            for _ in 0..random.below(3) {
                effects += random.one_of(&[
                    "lock := i; ",
                    "lock := 0; ",
                    "flag := 1; ",
                    "flag := 0; ",
                    "x[i] := 0; ",
                    "x[i] := 0; ",
                ]);
            }
            text += &format!("    when {guard} may goto M{target}; {effects}\n");
        }
        text += "  }\n";
    }
    (text + "}\n", modes)
}

/// The model of a text.
pub(crate) fn load(text: &str) -> Model {
    let mut sources = SourceMap::new();
    let id = sources.add("random.vpl", text);
    let (loaded, diagnostics) = vpl::load(&sources, id, &Options::default());
    loaded.unwrap_or_else(|| panic!("{diagnostics:?}\n{text}")).0
}
