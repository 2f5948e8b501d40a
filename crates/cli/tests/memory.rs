//! Memory that the system does not give.
#![cfg(target_os = "linux")]

use std::process::Command;

use crate::common::Folder;

/// One state of it takes 24 MB as cells.
const LARGE: &str = "
type big: 0..3000000;
var a: array [big] of 0..1000;
startstate begin for i: big do a[i] := 0; end; end;
rule \"count\" a[0] < 3 ==> begin a[0] := a[0] + 1; end;
";

/// With fewer and fewer addresses, a command ends by itself: never by a signal, and with nothing but what it knows.
#[test]
fn without_addresses_a_command_tells_what_it_knows() {
    let folder = Folder::with(&[("large.m", LARGE)]);
    let mut ended_early = 0;
    for kilobytes in [4_000_000, 1_000_000, 600_000, 400_000] {
        for command in ["check", "sim", "graph"] {
            let call = format!("ulimit -v {kilobytes}; exec \"$0\" {command} large.m --time 20");
            let mut shell = Command::new("sh");
            shell.args(["-c", &call, env!("CARGO_BIN_EXE_shoal")]).current_dir(folder.path());
            let output = shell.output().expect("a shell");
            let complained = String::from_utf8_lossy(&output.stderr);
            let code = output.status.code();
            assert!(matches!(code, Some(0..=3)), "{command}, {kilobytes}: {:?}\n{complained}", output.status);
            assert!(!complained.contains("memory allocation of"), "{command}, {kilobytes}: {complained}");
            ended_early += u32::from(code == Some(3));
        }
    }
    assert!(ended_early > 0, "dull: there was enough for all");
}
