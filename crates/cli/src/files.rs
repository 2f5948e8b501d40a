//! Files that Shoal writes: never through a link, never over a file that is not one of ours, and all at once.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Read, Write},
    path::{Path, PathBuf},
};

/// What a file holds; by that it is known again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Trace,
    Tests,
    Run,
    Certificate,
    Junit,
    Sarif,
    Dot,
    Aut,
    Svg,
    Graphml,
    Page,
    Text,
}

impl Kind {
    /// Words that stand near the beginning of every file of this kind that we write, the first of them at its very beginning.
    fn marks(self) -> &'static [&'static str] {
        match self {
            Kind::Trace => &["{", "\"#meta\""],
            Kind::Tests => &["{", "\"shoal tests\""],
            Kind::Run => &["{", "\"shoal run\""],
            Kind::Certificate => &["{", "\"shoal certificate\""],
            Kind::Junit => &["<?xml", "<testsuites name=\"shoal\""],
            Kind::Sarif => &["{", "sarif"],
            Kind::Dot => &["digraph "],
            Kind::Aut => &["des ("],
            Kind::Svg => &["<", "svg"],
            Kind::Graphml => &["<?xml", "<graphml"],
            Kind::Page => &["<!DOCTYPE html>", "<meta name=\"generator\" content=\"shoal\">"],
            Kind::Text => &[],
        }
    }

    /// Nothing where files cannot be known again.
    fn name(self) -> Option<&'static str> {
        match self {
            Kind::Trace => Some("trace"),
            Kind::Tests => Some("file of tests"),
            Kind::Run => Some("run that was written down"),
            Kind::Certificate => Some("certificate"),
            Kind::Junit => Some("JUnit report of Shoal"),
            Kind::Sarif => Some("SARIF report"),
            Kind::Dot => Some("graph in DOT"),
            Kind::Aut => Some("graph in AUT"),
            Kind::Svg => Some("picture in SVG"),
            Kind::Graphml => Some("graph in GraphML"),
            Kind::Page => Some("page of Shoal"),
            Kind::Text => None,
        }
    }
}

/// How much of a file is looked at to know it again.
const HEAD: u64 = 4096;

/// Writes a file. One that is there is replaced if it is of the same kind or empty; devices and pipes are written to.
pub(crate) fn save(
    path: &Path,
    kind: Kind,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    match existing(path, kind)? {
        Existing::Stream => {
            let mut out = BufWriter::new(OpenOptions::new().write(true).open(path)?);
            write(&mut out)?;
            out.flush()
        }
        Existing::Replaceable => replace(path, write),
    }
}

enum Existing {
    /// Not a file: `/dev/stdout`, a pipe.
    Stream,
    /// Nothing, or a file of ours.
    Replaceable,
}

fn existing(path: &Path, kind: Kind) -> io::Result<Existing> {
    let refuse = |why: String| Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
    let Ok(itself) = fs::symlink_metadata(path) else { return Ok(Existing::Replaceable) };
    match fs::metadata(path) {
        Ok(target) if target.is_dir() => refuse("this is a folder".into()),
        Ok(target) if !target.is_file() => Ok(Existing::Stream),
        _ if itself.is_symlink() => refuse("this is a symbolic link, and links are not followed".into()),
        Ok(target) if target.len() == 0 || is_of(path, kind)? => Ok(Existing::Replaceable),
        Ok(_) => refuse(match kind.name() {
            Some(name) => format!("this file is no {name} and is not replaced"),
            None => "this file is there already and is not replaced".into(),
        }),
        Err(error) => Err(error),
    }
}

fn is_of(path: &Path, kind: Kind) -> io::Result<bool> {
    let mut head = Vec::new();
    File::open(path)?.take(HEAD).read_to_end(&mut head)?;
    let head = String::from_utf8_lossy(&head);
    let Some((first, others)) = kind.marks().split_first() else { return Ok(false) };
    Ok(head.starts_with(first) && others.iter().all(|mark| head.contains(mark)))
}

/// Writes beside the file and then takes its place: a reader sees all of it or what was there, and a link that came in the meantime
/// is replaced, not followed.
fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let beside = beside(path);
    let file = OpenOptions::new().write(true).create_new(true).open(&beside)?;
    let mut out = BufWriter::new(file);
    let written = write(&mut out).and_then(|()| out.flush());
    drop(out);
    let done = written.and_then(|()| fs::rename(&beside, path));
    if done.is_err() {
        let _ = fs::remove_file(&beside);
    }
    done
}

fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.new", std::process::id()));
    path.with_file_name(name)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn put(path: &Path, kind: Kind, text: &str) -> io::Result<()> {
        save(path, kind, |out| out.write_all(text.as_bytes()))
    }

    #[test]
    fn only_files_of_ours_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let trace = "{\n  \"#meta\": {}\n}";
        for _ in 0..2 {
            put(&path("t"), Kind::Trace, trace).unwrap();
        }
        assert_eq!(fs::read_to_string(path("t")).unwrap(), trace);
        for (text, kind) in [("my notes", Kind::Trace), (trace, Kind::Dot), ("graph", Kind::Text)] {
            fs::write(path("n"), text).unwrap();
            assert!(put(&path("n"), kind, "x").is_err());
            assert_eq!(fs::read_to_string(path("n")).unwrap(), text);
        }
        std::os::unix::fs::symlink(path("t"), path("l")).unwrap();
        std::os::unix::fs::symlink(path("nowhere"), path("d")).unwrap();
        assert!(put(&path("l"), Kind::Trace, "x").is_err() && put(&path("d"), Kind::Trace, "x").is_err());
        assert!(!path("nowhere").exists());
        put(Path::new("/dev/null"), Kind::Dot, "digraph g {}").unwrap();
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 4, "nothing half done is left");
    }
}
