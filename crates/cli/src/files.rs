//! Files that Shoal writes: never through a link, never over a file that is not one of ours, and all at once.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Read, Write},
    path::{Path, PathBuf},
};

/// What a file holds; by that it is known again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
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

impl FileKind {
    /// Words that stand near the beginning of every file of this kind that we write, the first of them at its very beginning.
    fn marks(self) -> &'static [&'static str] {
        match self {
            FileKind::Trace => &["{", "\"#meta\""],
            FileKind::Tests => &["{", "\"shoal tests\""],
            FileKind::Run => &["{", "\"shoal run\""],
            FileKind::Certificate => &["{", "\"shoal certificate\""],
            FileKind::Junit => &["<?xml", "<testsuites name=\"shoal\""],
            FileKind::Sarif => &["{", "sarif"],
            FileKind::Dot => &["digraph "],
            FileKind::Aut => &["des ("],
            FileKind::Svg => &["<", "svg"],
            FileKind::Graphml => &["<?xml", "<graphml"],
            FileKind::Page => &["<!DOCTYPE html>", "<meta name=\"generator\" content=\"shoal\">"],
            FileKind::Text => &[],
        }
    }

    /// Nothing where files cannot be known again.
    fn name(self) -> Option<&'static str> {
        match self {
            FileKind::Trace => Some("trace"),
            FileKind::Tests => Some("file of tests"),
            FileKind::Run => Some("run that was written down"),
            FileKind::Certificate => Some("certificate"),
            FileKind::Junit => Some("JUnit report of Shoal"),
            FileKind::Sarif => Some("SARIF report"),
            FileKind::Dot => Some("graph in DOT"),
            FileKind::Aut => Some("graph in AUT"),
            FileKind::Svg => Some("picture in SVG"),
            FileKind::Graphml => Some("graph in GraphML"),
            FileKind::Page => Some("page of Shoal"),
            FileKind::Text => None,
        }
    }
}

/// How much of a file is looked at to know it again.
const HEAD: u64 = 4096;

/// Writes a file. One that is there is replaced if it is of the same kind or empty; devices and pipes are written to.
pub(crate) fn save(
    path: &Path,
    kind: FileKind,
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

/// Makes a folder for files, if it is not there. One that is a link is not followed.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok_and(|itself| itself.is_symlink()) {
        let why = "this is a symbolic link, and links are not followed";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
    }
    fs::create_dir_all(path)
}

enum Existing {
    /// Not a file: `/dev/stdout`, a pipe.
    Stream,
    /// Nothing, or a file of ours.
    Replaceable,
}

fn existing(path: &Path, kind: FileKind) -> io::Result<Existing> {
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

fn is_of(path: &Path, kind: FileKind) -> io::Result<bool> {
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

    fn put(path: &Path, kind: FileKind, text: &str) -> io::Result<()> {
        save(path, kind, |out| out.write_all(text.as_bytes()))
    }

    #[test]
    fn only_files_of_ours_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let trace = "{\n  \"#meta\": {}\n}";
        for _ in 0..2 {
            put(&path("t"), FileKind::Trace, trace).unwrap();
        }
        assert_eq!(fs::read_to_string(path("t")).unwrap(), trace);
        for (text, kind) in [("my notes", FileKind::Trace), (trace, FileKind::Dot), ("graph", FileKind::Text)]
        {
            fs::write(path("n"), text).unwrap();
            assert!(put(&path("n"), kind, "x").is_err());
            assert_eq!(fs::read_to_string(path("n")).unwrap(), text);
        }
        std::os::unix::fs::symlink(path("t"), path("l")).unwrap();
        std::os::unix::fs::symlink(path("nowhere"), path("d")).unwrap();
        assert!(
            put(&path("l"), FileKind::Trace, "x").is_err() && put(&path("d"), FileKind::Trace, "x").is_err()
        );
        assert!(!path("nowhere").exists());
        put(Path::new("/dev/null"), FileKind::Dot, "digraph g {}").unwrap();
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 4, "nothing half done is left");
        make_folder(&path("pages")).unwrap();
        make_folder(&path("pages")).unwrap();
        std::os::unix::fs::symlink(path("pages"), path("linked")).unwrap();
        assert!(make_folder(&path("linked")).is_err());
    }
}
