//! States on disk: sorted runs, which are only read from their beginning to their end.
//!
//! A file has segments: how many states there are, and the states in ascending order, each as the difference from the one before
//! it. What is known of a shard is some runs of one segment, each at least [`GEOMETRIC`] times as long as the next; a level is some files
//! with a segment for each shard, as they were found. Whether states are new is found out for many at a time (delayed duplicate
//! detection): they are sorted, and each run is read once beside them.

use std::io::{self, Read, Write};

use crate::{
    bytes::{damaged, get, put},
    shards::SHARDS,
};

/// Where files are kept. What they hold is guarded: a file is read as it was written, or not at all.
pub trait StateFiles {
    /// A new file, in place of an old one.
    fn create(&mut self, name: &str) -> io::Result<Box<dyn Writing>>;
    /// A file from its beginning.
    fn open(&mut self, name: &str) -> io::Result<Box<dyn Read>>;
    /// Removes a file.
    fn remove(&mut self, name: &str) -> io::Result<()>;
}

/// Files of searches that are saved, and can be gone on with.
pub trait LevelFiles: StateFiles {
    /// Whether the search is to be saved at the end of this level.
    fn due(&mut self) -> bool;
    /// The names of all files that are whole.
    fn names(&mut self) -> io::Result<Vec<String>>;
    /// The search was saved, or could not be: the search goes on.
    fn saved(&mut self, how: io::Result<()>);
}

/// A file that is being written.
pub trait Writing: Write {
    /// All of it was written.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// A run is merged with the next one if it is not so many times as long.
const GEOMETRIC: u64 = 4;
/// Bytes that are read or written together.
const BUFFER: usize = 1 << 16;
/// The longest a state of so many words can be in a file.
const fn longest(words: usize) -> usize {
    1 + 10 * words
}

/// A file and how many states it has.
#[derive(Clone, Debug)]
struct RunFile {
    name: String,
    states: u64,
}

/// The states of a process that are on disk.
pub(crate) struct DiskRuns<'f> {
    folder: &'f mut dyn StateFiles,
    words: usize,
    known: Vec<Vec<RunFile>>,
    levels: Vec<Vec<RunFile>>,
    /// What was still to be read of a level when states went to the disk.
    rest: Vec<RunFile>,
    /// How many files there were.
    files: u64,
}

impl<'f> DiskRuns<'f> {
    pub(crate) fn new(folder: &'f mut dyn StateFiles, words: usize) -> DiskRuns<'f> {
        DiskRuns {
            folder,
            words,
            known: vec![Vec::new(); SHARDS],
            levels: Vec::new(),
            rest: Vec::new(),
            files: 0,
        }
    }

    /// How many states there are, and how many in a level.
    pub(crate) fn states(&self) -> u64 {
        (0..self.levels.len()).map(|level| self.states_of(level)).sum()
    }

    pub(crate) fn states_of(&self, level: usize) -> u64 {
        self.levels.get(level).map_or(0, |files| files.iter().map(|file| file.states).sum())
    }

    fn name(&mut self, what: &str) -> String {
        self.files += 1;
        format!("{what}-{}", self.files)
    }

    /// Adds states that are known to be new to a level: for each shard, in any order. They are sorted.
    pub(crate) fn add_to_level(&mut self, level: usize, shards: &mut [Vec<u64>]) -> io::Result<()> {
        let states: usize = shards.iter().map(|states| states.len() / self.words).sum();
        if states == 0 {
            return Ok(());
        }
        let name = self.name("level");
        let mut out = SegmentWriter::new(self.folder.create(&name)?, self.words);
        for states in shards.iter_mut().filter(|states| !states.is_empty()) {
            sort(states, self.words);
            out.segment(states)?;
        }
        out.finish()?;
        if self.levels.len() <= level {
            self.levels.resize(level + 1, Vec::new());
        }
        self.levels[level].push(RunFile { name, states: states as u64 });
        Ok(())
    }

    /// Keeps states of a level that are still to be read, shard by shard.
    pub(crate) fn rest(&mut self, shards: impl Iterator<Item = Vec<u64>>) -> io::Result<LevelReader> {
        let name = self.name("rest");
        let mut out = SegmentWriter::new(self.folder.create(&name)?, self.words);
        let mut count = 0;
        for mut states in shards.filter(|states| !states.is_empty()) {
            sort(&mut states, self.words);
            out.segment(&states)?;
            count += states.len() / self.words;
        }
        out.finish()?;
        let file = RunFile { name, states: count as u64 };
        self.rest.push(file.clone());
        Ok(LevelReader { files: vec![file], reader: None, words: self.words })
    }

    /// Adds sorted states to what is known of a shard.
    pub(crate) fn add_known(&mut self, shard: usize, states: &[u64]) -> io::Result<()> {
        if states.is_empty() {
            return Ok(());
        }
        let name = self.name("known");
        let mut out = SegmentWriter::new(self.folder.create(&name)?, self.words);
        out.segment(states)?;
        out.finish()?;
        self.known[shard].push(RunFile { name, states: (states.len() / self.words) as u64 });
        while let [.., longer, shorter] = &self.known[shard][..]
            && longer.states < GEOMETRIC * shorter.states
        {
            self.merge_last(shard)?;
        }
        Ok(())
    }

    /// Makes one run of the last two.
    fn merge_last(&mut self, shard: usize) -> io::Result<()> {
        let name = self.name("known");
        let (Some(shorter), Some(longer)) = (self.known[shard].pop(), self.known[shard].pop()) else {
            return Ok(());
        };
        let states = shorter.states + longer.states;
        let mut out = SegmentWriter::new(self.folder.create(&name)?, self.words);
        out.begin(states)?;
        let mut left = SegmentReader::new(self.folder.open(&longer.name)?, self.words);
        let mut right = SegmentReader::new(self.folder.open(&shorter.name)?, self.words);
        let (mut more_left, mut more_right) = (left.next()?, right.next()?);
        while more_left || more_right {
            if more_left && (!more_right || left.state() < right.state()) {
                out.put(left.state())?;
                more_left = left.next()?;
            } else {
                out.put(right.state())?;
                more_right = right.next()?;
            }
        }
        out.finish()?;
        self.folder.remove(&longer.name)?;
        self.folder.remove(&shorter.name)?;
        self.known[shard].push(RunFile { name, states });
        Ok(())
    }

    /// Removes the states that are known in a shard from sorted ones. `go_on` is asked now and then.
    pub(crate) fn retain_new(
        &mut self,
        shard: usize,
        states: &mut Vec<u64>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> io::Result<()> {
        let words = self.words;
        for run in &self.known[shard] {
            if states.is_empty() {
                return Ok(());
            }
            let mut known = SegmentReader::new(self.folder.open(&run.name)?, words);
            // Those before `kept` are new as far as this run is concerned; from `at` on they are to be looked at.
            let (mut kept, mut at, mut count) = (0, 0, 0);
            while at < states.len() && known.next()? {
                while at < states.len() && states[at..at + words] < *known.state() {
                    states.copy_within(at..at + words, kept);
                    (kept, at) = (kept + words, at + words);
                }
                if states.get(at..at + words) == Some(known.state()) {
                    at += words;
                }
                count += 1;
                if count % (1u64 << 20) == 0 && !go_on() {
                    return Err(io::ErrorKind::Interrupted.into());
                }
            }
            let rest = states.len() - at;
            states.copy_within(at.., kept);
            states.truncate(kept + rest);
        }
        Ok(())
    }

    /// Reads the states of a level.
    pub(crate) fn level(&mut self, level: usize) -> LevelReader {
        let mut files: Vec<RunFile> = self.levels.get(level).cloned().unwrap_or_default();
        files.reverse();
        LevelReader { files, reader: None, words: self.words }
    }

    /// Adds some more states of a level to others; none if there are no more.
    pub(crate) fn more(
        &mut self,
        level: &mut LevelReader,
        most: usize,
        states: &mut Vec<u64>,
    ) -> io::Result<()> {
        let mut count = 0;
        while count < most {
            if level.reader.is_none() {
                let Some(file) = level.files.pop() else { return Ok(()) };
                level.reader = Some(SegmentReader::new(self.folder.open(&file.name)?, level.words));
            }
            if let Some(reader) = &mut level.reader {
                if reader.next()? {
                    states.extend_from_slice(reader.state());
                    count += 1;
                } else {
                    level.reader = None;
                }
            }
        }
        Ok(())
    }

    /// Removes all files.
    pub(crate) fn clear(&mut self) {
        let files = self
            .known
            .iter_mut()
            .chain(&mut self.levels)
            .chain([&mut self.rest])
            .flat_map(|files| files.drain(..));
        for file in files.collect::<Vec<_>>() {
            // What cannot be removed stays; nothing reads it again.
            let _ = self.folder.remove(&file.name);
        }
    }
}

/// A level that is being read.
pub(crate) struct LevelReader {
    /// The files that are still to be read, the next one last.
    files: Vec<RunFile>,
    reader: Option<SegmentReader>,
    words: usize,
}

/// Sorts packed states.
pub(crate) fn sort(states: &mut Vec<u64>, words: usize) {
    match words {
        1 => states.sort_unstable(),
        2 => states.as_chunks_mut::<2>().0.sort_unstable(),
        3 => states.as_chunks_mut::<3>().0.sort_unstable(),
        4 => states.as_chunks_mut::<4>().0.sort_unstable(),
        _ => {
            let mut order: Vec<&[u64]> = states.chunks_exact(words).collect();
            order.sort_unstable();
            *states = order.concat();
        }
    }
}

/// Writes segments.
pub(crate) struct SegmentWriter {
    out: Box<dyn Writing>,
    words: usize,
    before: Vec<u64>,
    bytes: Vec<u8>,
}

impl SegmentWriter {
    pub(crate) fn new(out: Box<dyn Writing>, words: usize) -> SegmentWriter {
        SegmentWriter { out, words, before: vec![0; words], bytes: Vec::with_capacity(BUFFER) }
    }

    /// Writes sorted states.
    pub(crate) fn segment(&mut self, states: &[u64]) -> io::Result<()> {
        self.begin((states.len() / self.words) as u64)?;
        states.chunks_exact(self.words).try_for_each(|state| self.put(state))
    }

    /// Begins a segment of so many states.
    fn begin(&mut self, states: u64) -> io::Result<()> {
        self.flush()?;
        self.before.fill(0);
        put(&mut self.out, states)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }

    /// Writes the first word in which a state differs from the one before, by how much, and the words behind it.
    fn put(&mut self, state: &[u64]) -> io::Result<()> {
        if self.bytes.len() + longest(self.words) > BUFFER {
            self.flush()?;
        }
        let last = self.words - 1;
        let first = state.iter().zip(&self.before).position(|(word, before)| word != before).unwrap_or(last);
        if self.words > 1 {
            self.bytes.push(first.min(255) as u8);
        }
        let first = first.min(255);
        number(state[first].wrapping_sub(self.before[first]), &mut self.bytes);
        state[first + 1..].iter().for_each(|word| number(*word, &mut self.bytes));
        self.before.copy_from_slice(state);
        Ok(())
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        self.out.finish()
    }
}

/// Writes a number: seven bits a byte, the lowest first.
fn number(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 128 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads segments, one after another.
pub(crate) struct SegmentReader {
    input: Box<dyn Read>,
    words: usize,
    /// How many states of the segment are left.
    left: u64,
    state: Vec<u64>,
    bytes: Vec<u8>,
    at: usize,
    end: usize,
}

impl SegmentReader {
    pub(crate) fn new(input: Box<dyn Read>, words: usize) -> SegmentReader {
        let bytes = vec![0; BUFFER + longest(words)];
        SegmentReader { input, words, left: 0, state: vec![0; words], bytes, at: 0, end: 0 }
    }

    /// The present state.
    pub(crate) fn state(&self) -> &[u64] {
        &self.state
    }

    /// Goes to the next state; false at the end.
    pub(crate) fn next(&mut self) -> io::Result<bool> {
        while self.left == 0 {
            self.fill(8)?;
            if self.at == self.end {
                return Ok(false);
            }
            let Some(mut count) = self.bytes[self.at..self.end].get(..8) else { return Err(damaged()) };
            self.left = get(&mut count)?;
            self.at += 8;
            self.state.fill(0);
        }
        self.fill(longest(self.words))?;
        self.left -= 1;
        let first = if self.words > 1 { usize::from(self.byte()?) } else { 0 };
        if first >= self.words {
            return Err(damaged());
        }
        self.state[first] = self.state[first].wrapping_add(self.number()?);
        for at in first + 1..self.words {
            self.state[at] = self.number()?;
        }
        Ok(true)
    }

    /// Sees to it that so many bytes are there, unless the file ends before.
    #[inline]
    fn fill(&mut self, bytes: usize) -> io::Result<()> {
        if self.end - self.at < bytes { self.fill_more() } else { Ok(()) }
    }

    #[cold]
    fn fill_more(&mut self) -> io::Result<()> {
        self.bytes.copy_within(self.at..self.end, 0);
        (self.at, self.end) = (0, self.end - self.at);
        while self.end < self.bytes.len() {
            match self.input.read(&mut self.bytes[self.end..])? {
                0 => return Ok(()),
                read => self.end += read,
            }
        }
        Ok(())
    }

    #[inline]
    fn byte(&mut self) -> io::Result<u8> {
        let byte = self.bytes[..self.end].get(self.at).ok_or_else(damaged)?;
        self.at += 1;
        Ok(*byte)
    }

    #[inline]
    fn number(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Ok(number);
            }
        }
        Err(damaged())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::{cell::RefCell, collections::HashMap, rc::Rc};

    use super::*;

    /// Files in memory.
    #[derive(Default)]
    pub(crate) struct Shelf {
        files: Rc<RefCell<HashMap<String, Vec<u8>>>>,
    }

    struct OnShelf {
        files: Rc<RefCell<HashMap<String, Vec<u8>>>>,
        name: String,
        bytes: Vec<u8>,
    }

    impl StateFiles for Shelf {
        fn create(&mut self, name: &str) -> io::Result<Box<dyn Writing>> {
            Ok(Box::new(OnShelf { files: self.files.clone(), name: name.into(), bytes: Vec::new() }))
        }
        fn open(&mut self, name: &str) -> io::Result<Box<dyn Read>> {
            let bytes = self.files.borrow().get(name).cloned().ok_or(io::ErrorKind::NotFound)?;
            Ok(Box::new(io::Cursor::new(bytes)))
        }
        fn remove(&mut self, name: &str) -> io::Result<()> {
            self.files.borrow_mut().remove(name).map(drop).ok_or(io::ErrorKind::NotFound.into())
        }
    }

    impl Write for OnShelf {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.bytes.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Writing for OnShelf {
        fn finish(self: Box<Self>) -> io::Result<()> {
            self.files.borrow_mut().insert(self.name, self.bytes);
            Ok(())
        }
    }

    /// Numbers without a visible order.
    fn random(seed: &mut u64) -> u64 {
        *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        crate::store::fold(*seed, 0xe703_7ed1_a0b4_28db)
    }

    #[test]
    fn what_is_known_is_found_and_nothing_else() {
        for words in [1, 2, 3, 5, 300] {
            let mut shelf = Shelf::default();
            let mut runs = DiskRuns::new(&mut shelf, words);
            let mut all = std::collections::BTreeSet::new();
            let mut seed = words as u64;
            for round in 0..20 {
                // Neighbours and the greatest numbers are among them.
                let state = |_: u64| -> Vec<u64> {
                    let bits = random(&mut seed) % 64;
                    (0..words).map(|_| random(&mut seed) >> bits).collect()
                };
                let mut some: Vec<Vec<u64>> =
                    (0..50 + round).map(state).chain([vec![u64::MAX; words]]).collect();
                some.sort();
                some.dedup();
                let mut states = some.concat();
                runs.retain_new(3, &mut states, &mut || true).unwrap();
                let new: Vec<Vec<u64>> = some.into_iter().filter(|state| !all.contains(state)).collect();
                assert_eq!(states, new.concat());
                runs.add_known(3, &states).unwrap();
                runs.add_to_level(round as usize, &mut [states.clone()]).unwrap();
                let (mut reader, mut read) = (runs.level(round as usize), Vec::new());
                runs.more(&mut reader, usize::MAX, &mut read).unwrap();
                assert_eq!(read, states);
                all.extend(new);
            }
            assert_eq!(runs.states(), all.len() as u64);
            assert!(runs.known[3].len() < 6);
            runs.clear();
            assert!(shelf.files.borrow().is_empty());
        }
    }
}
