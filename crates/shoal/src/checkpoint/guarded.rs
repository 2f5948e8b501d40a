//! Bytes that are read as they were written, or not at all.
//!
//! A stream is cut into blocks: the length of the block, its checksum, its bytes. The checksum of a block is made from that of the block
//! before it, so that none can be changed, left out, repeated or exchanged. A block of no bytes is the end, and nothing stands
//! behind it. A reader hands out no byte of a block before the whole block was found unharmed.

use std::io::{self, Read, Write};

/// Bytes of one block at most.
const BLOCK: usize = 1 << 16;

/// Mixes bytes into a checksum. Each step is a bijection of the checksum so far, so a change within one word always shows; others
/// go unnoticed once in 2^64.
fn mix(checksum: u64, bytes: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let step = |sum: u64, word: u64| (sum ^ word).wrapping_mul(ODD).rotate_left(29);
    let (words, rest) = bytes.as_chunks::<8>();
    let sum = words.iter().fold(checksum, |sum, word| step(sum, u64::from_le_bytes(*word)));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    // The length tells a short last word from one that ends in zeros.
    let sum = step(step(sum, u64::from_le_bytes(last)), bytes.len() as u64);
    sum ^ (sum >> 32)
}

/// Writes blocks.
pub(crate) struct GuardedWriter<W: Write> {
    out: W,
    block: Vec<u8>,
    checksum: u64,
}

impl<W: Write> GuardedWriter<W> {
    /// The blocks belong to a head that is written elsewhere.
    pub(crate) fn new(out: W, head: &[u8]) -> Self {
        GuardedWriter { out, block: Vec::with_capacity(BLOCK), checksum: mix(0, head) }
    }

    fn write_block(&mut self) -> io::Result<()> {
        self.checksum = mix(self.checksum, &self.block);
        self.out.write_all(&(self.block.len() as u64).to_le_bytes())?;
        self.out.write_all(&self.checksum.to_le_bytes())?;
        self.out.write_all(&self.block)?;
        self.block.clear();
        Ok(())
    }

    /// Writes what is left and the end.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        if !self.block.is_empty() {
            self.write_block()?;
        }
        self.write_block()?;
        self.out.flush()?;
        Ok(self.out)
    }
}

impl<W: Write> Write for GuardedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(BLOCK - self.block.len());
        self.block.extend_from_slice(&bytes[..taken]);
        if self.block.len() == BLOCK {
            self.write_block()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads blocks. At the end of the stream it gives nothing more, and only if that is the end that was written.
pub(crate) struct GuardedReader<R: Read> {
    input: R,
    block: Vec<u8>,
    /// How much of the block was handed out.
    taken: usize,
    checksum: u64,
    blocks: u64,
    ended: bool,
}

impl<R: Read> GuardedReader<R> {
    pub(crate) fn new(input: R, head: &[u8]) -> Self {
        GuardedReader { input, block: Vec::new(), taken: 0, checksum: mix(0, head), blocks: 0, ended: false }
    }

    fn number(&mut self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.input.read_exact(&mut bytes).map_err(cut_short)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn read_block(&mut self) -> io::Result<()> {
        let (length, checksum) = (self.number()?, self.number()?);
        if length > BLOCK as u64 {
            return Err(self.changed());
        }
        self.block.resize(length as usize, 0);
        self.taken = 0;
        self.input.read_exact(&mut self.block).map_err(cut_short)?;
        self.checksum = mix(self.checksum, &self.block);
        if self.checksum != checksum {
            return Err(self.changed());
        }
        self.blocks += 1;
        if length == 0 {
            self.ended = true;
            if self.input.read(&mut [0])? > 0 {
                return Err(harmed("something stands behind its end".into()));
            }
        }
        Ok(())
    }

    fn changed(&self) -> io::Error {
        harmed(format!("block {} is not as it was written", self.blocks + 1))
    }
}

impl<R: Read> Read for GuardedReader<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.block.len() && !self.ended {
            self.read_block()?;
        }
        let count = bytes.len().min(self.block.len() - self.taken);
        bytes[..count].copy_from_slice(&self.block[self.taken..self.taken + count]);
        self.taken += count;
        Ok(count)
    }
}

fn cut_short(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => harmed("it ends too early".into()),
        _ => error,
    }
}

fn harmed(how: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the saved search is damaged: {how}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(bytes: &[u8]) -> Vec<u8> {
        let mut writer = GuardedWriter::new(Vec::new(), b"head");
        writer.write_all(bytes).unwrap();
        writer.finish().unwrap()
    }

    fn read(stream: &[u8], head: &[u8]) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        GuardedReader::new(stream, head).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn pattern(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at * at / 7) as u8).collect()
    }

    #[test]
    fn what_was_written_is_read() {
        for length in [0, 1, 7, 8, 9, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5] {
            let bytes = pattern(length);
            assert_eq!(read(&written(&bytes), b"head").unwrap(), bytes);
        }
    }

    #[test]
    fn every_changed_bit_every_cut_and_every_addition_is_noticed() {
        let stream = written(&pattern(75));
        for bit in 0..8 * stream.len() {
            let mut changed = stream.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&changed, b"head").is_err(), "bit {bit}");
        }
        for length in 0..stream.len() {
            assert!(read(&stream[..length], b"head").is_err(), "{length} bytes");
        }
        assert!(read(&[&stream[..], &[0]].concat(), b"head").is_err());
        assert!(read(&[&stream[..], &stream[..]].concat(), b"head").is_err());
        assert!(read(&stream, b"tail").is_err());
    }

    #[test]
    fn blocks_keep_their_order() {
        let (first, second) = (vec![1; BLOCK], vec![2; BLOCK]);
        let stream = written(&[first, second].concat());
        let size = BLOCK + 16;
        let exchanged = [&stream[size..2 * size], &stream[..size], &stream[2 * size..]].concat();
        assert!(read(&exchanged, b"head").is_err());
        let left_out = [&stream[..size], &stream[2 * size..]].concat();
        assert!(read(&left_out, b"head").is_err());
    }
}
