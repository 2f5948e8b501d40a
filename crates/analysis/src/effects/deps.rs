//! Sets of locals. Most are small and are united again and again with what they contain already.

use super::LocalRef;

/// A set of locals that something hangs on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deps {
    /// In order.
    locals: Vec<LocalRef>,
}

impl Deps {
    /// The empty set.
    pub fn new() -> Self {
        Deps::default()
    }

    /// Whether a local is in it.
    pub fn contains(&self, local: &LocalRef) -> bool {
        self.locals.binary_search(local).is_ok()
    }

    /// Adds a local.
    pub fn insert(&mut self, local: LocalRef) {
        if let Err(at) = self.locals.binary_search(&local) {
            self.locals.insert(at, local);
        }
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.locals.clear();
    }

    /// The locals, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, LocalRef> {
        self.locals.iter()
    }
}

impl Extend<LocalRef> for Deps {
    fn extend<T: IntoIterator<Item = LocalRef>>(&mut self, others: T) {
        let (others, known) = (others.into_iter(), self.locals.len());
        let most = others.size_hint().0;
        for local in others {
            if self.locals[..known].binary_search(&local).is_err() {
                if self.locals.len() == known {
                    self.locals.reserve(most.max(1));
                }
                self.locals.push(local);
            }
        }
        if self.locals.len() > known {
            // Mostly two rows that are in order each, which are merged.
            self.locals.sort();
            self.locals.dedup();
        }
    }
}

impl FromIterator<LocalRef> for Deps {
    fn from_iter<T: IntoIterator<Item = LocalRef>>(locals: T) -> Self {
        let mut deps = Deps::new();
        deps.extend(locals);
        deps
    }
}

impl IntoIterator for Deps {
    type Item = LocalRef;
    type IntoIter = std::vec::IntoIter<LocalRef>;

    fn into_iter(self) -> Self::IntoIter {
        self.locals.into_iter()
    }
}

impl<'d> IntoIterator for &'d Deps {
    type Item = &'d LocalRef;
    type IntoIter = std::slice::Iter<'d, LocalRef>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
