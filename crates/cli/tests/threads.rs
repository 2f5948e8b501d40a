//! Any number of threads on the command line: refinement, cover sets, certificates, malformed files.

use crate::common::Folder;

const SPEC: &str = "2 2\n0 0 -> 1 1\n1 1 -> 0 0\n1|1,1\n";
const GOOD: &str =
    "decl lock := F; void main() begin loop: lock := T constrain !lock; lock := F; goto loop; end";
const BAD: &str = "decl lock := F; void main() begin loop: assume(!lock); skip; lock := T; lock := F; lock := T; goto loop; end";

#[test]
fn refinement_has_exit_codes_and_a_path() {
    let folder =
        Folder::with(&[("spec.tts", SPEC), ("good.bp", GOOD), ("bad.bp", BAD), ("c.spec", "vars x\n")]);
    folder.shoal(&["refine", "good.bp", "spec.tts"]).expect(0).says("good.bp refines spec.tts");
    let bad = folder.shoal(&["refine", "bad.bp", "spec.tts"]).expect(1);
    bad.says("bad.bp does not refine spec.tts").says("replayed and confirmed").says("other threads");
    let alone = folder.shoal(&["refine", "bad.bp", "spec.tts", "--init", "0|0"]).expect(0);
    alone.says("bad.bp refines spec.tts");
    let event = folder.shoal(&["refine", "bad.bp", "spec.tts", "--json"]).expect(1).events().pop().unwrap();
    assert_eq!((&event["event"], &event["verdict"]), (&"finished".into(), &"violated".into()));
    assert_eq!((&event["exit_code"], event["steps"].as_array().unwrap().len() > 2), (&1.into(), true));
    let wrong = folder.shoal(&["refine", "good.bp", "c.spec"]).expect(2);
    assert!(wrong.err.contains("a file that ends in .tts is expected"), "{}", wrong.err);
}

#[test]
fn cover_sets_are_printed() {
    let folder = Folder::with(&[("spec.tts", SPEC)]);
    let text = folder.shoal(&["check", "spec.tts", "--cover-set", "--trace", "none"]).expect(0);
    text.says("cover set: 2 greatest elements")
        .says("  shared=0\n    ω × local=0\n")
        .says("  shared=1\n    ω × local=0, local=1\n");
    let events = folder.shoal(&["check", "spec.tts", "--cover-set", "--json"]).expect(0).events();
    let event = events.iter().find(|event| event["event"] == "cover_set").unwrap();
    assert_eq!(event["elements"][1]["tokens"][0]["count"], "w");
    folder.shoal(&["check", "spec.tts", "--cover-set", "--set", "Thread=2"]).expect(2);
}

#[test]
fn certificates_are_verified_and_the_system_is_audited() {
    let folder = Folder::with(&[("spec.tts", SPEC), ("other.tts", "2 2\n0 0 -> 1 1\n1 0 -> 1 1\n1|1,1\n")]);
    folder.shoal(&["check", "spec.tts", "--certificate", "c.json"]).expect(0);
    folder.shoal(&["verify", "c.json"]).expect(0).says("✓ accepted").says("the interpreter agrees in");
    folder.shoal(&["verify", "c.json", "--full"]).expect(0).says("situations");
    folder.shoal(&["verify", "c.json", "other.tts"]).expect(1).says("✗ rejected");
}

/// Where building the counter system leaves no violation, nothing is proved, and that is said.
#[test]
fn targets_that_are_removed_are_told() {
    let folder = Folder::with(&[("gone.tts", "3 2\n0 0 -> 1 1\n2|0\n")]);
    folder
        .shoal(&["check", "gone.tts", "--certificate", "c.json"])
        .expect(0)
        .says("there is nothing to prove");
    folder.shoal(&["verify", "c.json"]).expect(0).says("has removed every violation");
}

/// A counter without bound begins anywhere: a walk begins somewhere, and no search goes on for ever.
#[test]
fn nets_that_begin_anywhere_can_be_walked_through() {
    let net = "vars idle busy\nrules\n idle >= 1 -> idle' = idle - 1, busy' = busy + 1;\ninit idle >= 1, busy = 0\ntarget busy >= 3\n";
    let folder = Folder::with(&[("a.spec", net)]);
    folder.shoal(&["sim", "a.spec", "--steps", "3", "--seed", "1"]);
    folder.shoal(&["check", "a.spec", "--engine", "explicit", "--time", "1", "--memory", "200MB"]);
    folder.shoal(&["check", "a.spec"]).expect(1).says("3 tokens");
}

#[test]
fn malformed_files_of_each_format_are_errors_with_a_place() {
    let files = [
        ("a.tts", "2 2\n0 0 => 1 1\n0|0\n", "a.tts:2:5"),
        ("a.spec", "vars x\nrules\n x > 1 -> ;\ninit x = 0\ntarget x >= 1\n", "a.spec:3:4"),
        ("a.pnml", "<pnml><net><place/></net></pnml>", "a.pnml:1:12"),
        ("a.bp", "void main() begin goto nowhere; end", "a.bp:1:24"),
        ("a.nbp", "void main() begin 0: goto 7; end", "a.nbp:1:27"),
    ];
    for (name, text, place) in files {
        let ran = Folder::with(&[(name, text)]).shoal(&["check", name]).expect(2);
        assert!(ran.err.contains(place), "{name}: {}", ran.err);
    }
    // A target that cannot be read, and a beginning that cannot be.
    let folder = Folder::with(&[("spec.tts", SPEC)]);
    folder.shoal(&["check", "spec.tts", "--target", "x"]).expect(2);
    folder.shoal(&["check", "spec.tts", "--init", "0/9"]).expect(2);
}

/// What is exported, read again, has the verdict of what it was made of; what a language cannot say is refused.
#[test]
fn exported_systems_mean_the_same() {
    const RACE: &str = "decl done := F; void main() begin more: start_thread w(); goto more; end\n\
                        void w() begin assert(!done); done := T; end";
    const NET: &str = "vars a b c\nrules\n  a >= 1 -> a' = a - 1, b' = b + 1;\n  b >= 2 -> b' = b - 2, c' = c + 1;\n\
                       init\n  a >= 1, b = 0, c = 0\ntarget\n  c >= 3\n";
    const RESET: &str =
        "vars a b\nrules\n  a >= 1 -> a' = 0, b' = b + a;\ninit\n  a = 2, b = 0\ntarget\n  b >= 3\n";
    let models =
        [("spec.tts", SPEC, 0), ("race.bp", RACE, 1), ("net.spec", NET, 1), ("reset.spec", RESET, 0)];
    let folder = Folder::with(&models.map(|(name, text, _)| (name, text)));
    let mut written = 0;
    for (name, _, code) in models {
        folder.shoal(&["check", name, "--trace", "none"]).expect(code);
        for language in ["spec", "tts", "pnml"] {
            let out = format!("{name}.{language}");
            let exported = folder.shoal(&["export", name, "--to", language, "-o", &out]);
            if exported.code != Some(0) {
                exported.expect(2);
                continue;
            }
            let options =
                exported.err.lines().find_map(|line| line.split_once("shoal check ")).map(|it| it.1);
            let mut words = vec!["check", out.as_str(), "--trace", "none"];
            words.extend(options.unwrap_or_default().split_whitespace());
            folder.shoal(&words).expect(code);
            written += 1;
        }
    }
    assert!(written >= 8, "{written}");
    let transfers = folder.shoal(&["export", "reset.spec", "--to", "pnml"]).expect(2);
    assert!(transfers.err.contains("cannot say: transfers"), "{}", transfers.err);
}
