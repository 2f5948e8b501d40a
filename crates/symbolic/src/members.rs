//! The entries of an array over a counted sort.
//!
//! There is a machine for every way to take part in a rule, and in each of them the entries of most classes are what
//! they are in all others. So entries are shared, and what is new in one machine lies on top.

use std::{collections::BTreeMap, rc::Rc};

use crate::value::SymbolicValue;

/// Entries by the number of the member that they belong to.
#[derive(Clone, Debug, Default)]
pub struct Members {
    below: Rc<BTreeMap<u32, Rc<SymbolicValue>>>,
    /// In place of those below, or beside them.
    above: BTreeMap<u32, Rc<SymbolicValue>>,
}

impl Members {
    /// The entry of a member.
    pub fn get(&self, id: u32) -> Option<&Rc<SymbolicValue>> {
        self.above.get(&id).or_else(|| self.below.get(&id))
    }

    /// The entry of a member, to be changed here and nowhere else.
    pub fn get_mut(&mut self, id: u32) -> Option<&mut SymbolicValue> {
        if !self.above.contains_key(&id) {
            self.above.insert(id, Rc::clone(self.below.get(&id)?));
        }
        self.above.get_mut(&id).map(Rc::make_mut)
    }

    /// Adds an entry, or puts it in place of another.
    pub fn insert(&mut self, id: u32, entry: Rc<SymbolicValue>) {
        if !self.get(id).is_some_and(|known| Rc::ptr_eq(known, &entry)) {
            self.above.insert(id, entry);
        }
    }

    /// Removes an entry that was added after the last [`Members::settle`].
    pub fn remove(&mut self, id: u32) {
        self.above.remove(&id);
    }

    /// From here on these entries are shared.
    pub fn settle(&mut self) {
        let mut all = BTreeMap::clone(&self.below);
        all.append(&mut self.above);
        self.below = Rc::new(all);
    }

    /// All entries.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Rc<SymbolicValue>)> {
        let below = self.below.iter().filter(|(id, _)| !self.above.contains_key(id));
        below.chain(&self.above).map(|(id, entry)| (*id, entry))
    }

    /// The members whose entries are not the very same in both, as far as both have one.
    pub fn different(&self, other: &Members) -> Vec<u32> {
        let mut ids: Vec<u32> = self.above.keys().chain(other.above.keys()).copied().collect();
        if !Rc::ptr_eq(&self.below, &other.below) {
            ids.extend(self.below.keys());
        }
        ids.sort_unstable();
        ids.dedup();
        let differ = |id: &u32| match (self.get(*id), other.get(*id)) {
            (Some(a), Some(b)) => !Rc::ptr_eq(a, b),
            _ => false,
        };
        ids.into_iter().filter(differ).collect()
    }

    /// Whether a member has an entry here that it does not have there.
    pub fn has_more_than(&self, other: &Members) -> bool {
        match Rc::ptr_eq(&self.below, &other.below) {
            true => self.above.keys().any(|id| other.get(*id).is_none()),
            false => self.iter().any(|(id, _)| other.get(id).is_none()),
        }
    }
}
