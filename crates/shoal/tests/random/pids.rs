//! Small random Promela models of processes that know their numbers.

/// Bytes as a source of choices.
struct Bytes<'b>(&'b [u8], usize);

impl Bytes<'_> {
    fn pick(&mut self, of: usize) -> usize {
        self.1 += 1;
        self.0.get(self.1 - 1).map_or(0, |byte| *byte as usize % of)
    }

    fn one<'s>(&mut self, of: &[&'s str]) -> &'s str {
        of[self.pick(of.len())]
    }
}

/// A model of two to three processes that know their numbers, with statements that treat them alike or, sometimes, do not.
pub(crate) fn model(bytes: &[u8]) -> String {
    let mut bytes = Bytes(bytes, 0);
    let count = 2 + bytes.pick(2);
    let me = if bytes.pick(2) == 0 { "_pid - 1" } else { "me" };
    let mut options = String::new();
    for _ in 0..1 + bytes.pick(4) {
        let guard = match bytes.pick(10) {
            0 => format!("a[{me}] == 0"),
            1 => format!("a[{me}] > 0"),
            2 => format!("g == {me}"),
            3 => format!("g != {me} && x == {}", bytes.pick(2)),
            4 => format!("nempty(c[{me}])"),
            5 => format!("a[{}] == 1", bytes.pick(count)),
            6 => (0..count).map(|at| format!("a[{at}] != 2")).collect::<Vec<_>>().join(" && "),
            7 => "x < 2".into(),
            8 => "q != 0".into(),
            _ => format!("p == {me} && a[p] < 2"),
        };
        let mut body = Vec::new();
        for _ in 0..1 + bytes.pick(3) {
            body.push(match bytes.pick(12) {
                0 => format!("a[{me}] = {}", bytes.pick(3)),
                1 => format!("g = {me}"),
                2 => "x = 1 - x".into(),
                3 => format!("if :: nfull(c[{me}]) -> c[{me}] ! {me} :: full(c[{me}]) fi"),
                4 => format!("if :: nempty(c[{me}]) -> c[{me}] ? p :: empty(c[{me}]) -> p = {me} fi"),
                5 => format!("g = {}", bytes.pick(count + 1)),
                6 => {
                    let arms: Vec<String> = (0..count).map(|at| format!(":: p = {at}")).collect();
                    format!("if {} fi", arms.join(" "))
                }
                7 => "if :: nfull(c[p]) -> c[p] ! g :: else fi".into(),
                8 => format!("assert({})", bytes.one(&["x < 2", "p <= 3", "g < 9"])),
                9 => "q = c[p]".into(),
                10 => "if :: q != 0 -> if :: nempty(q) -> q ? g :: empty(q) fi :: q == 0 fi".into(),
                _ => format!("a[p] = (a[p] + 1) % {}", 2 + bytes.pick(2)),
            });
        }
        options += &format!("  :: atomic {{ {guard} -> {} }}\n", body.join("; "));
    }
    let runs: Vec<String> = (0..count).map(|at| format!("run P({at})")).collect();
    format!(
        "byte a[{count}]; byte g = {}; bit x; chan c[{count}] = [1] of {{ byte }};
proctype P(byte me) {{ byte p; chan q = c[0];\n  do\n{options}  od\n}}
init {{ atomic {{ {} }} }}",
        bytes.pick(count + 1),
        runs.join("; ")
    )
}
