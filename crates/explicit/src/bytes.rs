//! Numbers as bytes, for saved searches: little-endian, lists with their length first.

use std::io::{self, Read, Write};

/// Numbers that are written in one go.
const PART: usize = 1 << 13;

pub(crate) fn put(out: &mut dyn Write, number: u64) -> io::Result<()> {
    out.write_all(&number.to_le_bytes())
}

pub(crate) fn get(input: &mut dyn Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    input.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Writes a list.
pub(crate) fn put_all(
    out: &mut dyn Write,
    count: usize,
    numbers: impl Iterator<Item = u64>,
) -> io::Result<()> {
    put(out, count as u64)?;
    let mut bytes = Vec::with_capacity(8 * PART);
    for number in numbers {
        bytes.extend(number.to_le_bytes());
        if bytes.len() == 8 * PART {
            out.write_all(&bytes)?;
            bytes.clear();
        }
    }
    out.write_all(&bytes)
}

/// Reads a list and hands its numbers on, some at a time.
pub(crate) fn get_all(
    input: &mut dyn Read,
    mut take: impl FnMut(&[u64]) -> io::Result<()>,
) -> io::Result<()> {
    let mut left = get(input)?;
    let mut bytes = vec![0; 8 * PART];
    let mut numbers = Vec::with_capacity(PART);
    while left > 0 {
        let count = left.min(PART as u64) as usize;
        input.read_exact(&mut bytes[..8 * count])?;
        numbers.clear();
        numbers.extend(bytes[..8 * count].as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)));
        take(&numbers)?;
        left -= count as u64;
    }
    Ok(())
}

/// Reads a list of which the length is known.
pub(crate) fn get_exactly<const N: usize>(input: &mut dyn Read) -> io::Result<[u32; N]> {
    let mut found = Vec::new();
    get_list(input, &mut found)?;
    let numbers: Result<Vec<u32>, _> = found.into_iter().map(u32::try_from).collect();
    numbers.ok().and_then(|numbers| numbers.try_into().ok()).ok_or_else(damaged)
}

/// Reads a list.
pub(crate) fn get_list(input: &mut dyn Read, list: &mut Vec<u64>) -> io::Result<()> {
    get_all(input, |numbers| {
        list.try_reserve(numbers.len()).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        list.extend(numbers);
        Ok(())
    })
}

/// What is read cannot have been written.
pub(crate) fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the saved search is damaged")
}
