//! Choices from a list of bytes, from which generators write models and formulas: a shorter list with smaller bytes gives
//! something simpler, so proptest shrinks what fails.

/// What is still to be chosen from.
pub(crate) struct Choices<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Choices<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Choices { bytes, position: 0 }
    }

    /// One of `count` alternatives, the first when the choices have run out.
    pub(crate) fn pick(&mut self, count: usize) -> usize {
        let byte = self.bytes.get(self.position).copied().unwrap_or(0);
        self.position += 1;
        usize::from(byte) % count
    }

    /// One of these.
    pub(crate) fn one_of<'t>(&mut self, items: &[&'t str]) -> &'t str {
        items[self.pick(items.len())]
    }
}
