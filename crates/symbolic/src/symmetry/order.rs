//! Which of two elements comes first.

use shoal_model::{OrInternal, SortId};

use super::permute::{PermuteGround, indices, refers};
use crate::{
    dd::{Bdd, DdResult, DdVar},
    layout::{LayoutCell, now},
};

/// Where a permutation is to be applied.
pub(crate) enum PermuteOrder {
    /// In these states.
    Where(Bdd),
    /// Where the first number is greater than the second, by their digits in pairs, most significant first.
    Greater(Vec<(Bdd, Bdd)>),
}

impl PermuteOrder {
    /// The states of a set where it is. The comparison goes digit by digit through the states of the set that are left: as
    /// a diagram over all states it would be huge.
    pub(crate) fn wrong(&self, set: &Bdd, no: Bdd) -> DdResult<Bdd> {
        let digits = match self {
            PermuteOrder::Where(states) => return set.and(states),
            PermuteOrder::Greater(digits) => digits,
        };
        let (mut wrong, mut same) = (no, set.clone());
        for (a, b) in digits {
            if same.is_false() {
                break;
            }
            wrong = wrong.or(&same.and(a)?.minus(b)?)?;
            same = same.and(&a.equiv(b)?)?;
        }
        Ok(wrong)
    }
}

impl PermuteGround<'_> {
    /// The bits of a state before and after a permutation, one of the two being the smaller number.
    pub(crate) fn before_and_after(&self, after: &[(DdVar, Bdd)]) -> DdResult<PermuteOrder> {
        let pairs = after.iter().map(|(var, after)| Ok((self.dd.var(*var)?, after.clone())));
        Ok(PermuteOrder::Greater(pairs.collect::<DdResult<_>>()?))
    }

    /// What is compared of an element: whether plain variables point to it, then its data, then what kind of thing it
    /// points to. None of it says which number an element has, so a permutation only moves these keys.
    fn key(&self, sort: SortId, element: u32) -> DdResult<Vec<Bdd>> {
        let mut key = Vec::new();
        for cell in self.plain(sort) {
            key.push(self.points_to(cell, sort, element)?);
        }
        key.extend(self.data(sort, element)?);
        for cell in self.own(sort, element).filter(|cell| refers(self.model, cell, sort)) {
            key.push(self.points_to(cell, sort, element)?);
            let size = self.model.sorts[sort].fixed_size().or_internal("a sort in diagrams has a size");
            let to =
                (0..size).map(|other| self.points_to(cell, sort, other)).collect::<DdResult<Vec<_>>>()?;
            let mut anybody = self.dd.any(to.clone())?;
            key.push(anybody.clone());
            // The data of the one it points to.
            let others: Vec<Vec<Bdd>> =
                (0..size).map(|other| self.data(sort, other)).collect::<DdResult<_>>()?;
            for digit in 0..others.first().map_or(0, Vec::len) {
                anybody = self.dd.no();
                for (to, data) in to.iter().zip(&others) {
                    anybody = anybody.or(&to.and(&data[digit])?)?;
                }
                key.push(anybody.clone());
            }
        }
        Ok(key)
    }

    /// The bits of an element's variables that do not refer to its sort.
    fn data(&self, sort: SortId, element: u32) -> DdResult<Vec<Bdd>> {
        let cells = self.own(sort, element).filter(|cell| !refers(self.model, cell, sort));
        cells.flat_map(|cell| cell.bits.iter().rev()).map(|bit| self.dd.var(now(*bit))).collect()
    }

    /// The cells that belong to one element alone.
    fn own(&self, sort: SortId, element: u32) -> impl Iterator<Item = &LayoutCell> {
        self.layout.cells.iter().filter(move |cell| match indices(self.model, cell, sort).as_slice() {
            [(_, _, of)] => *of == element,
            _ => false,
        })
    }

    /// The cells that belong to no element and may point to one.
    fn plain(&self, sort: SortId) -> impl Iterator<Item = &LayoutCell> {
        let plain = move |cell: &&LayoutCell| {
            indices(self.model, cell, sort).is_empty() && refers(self.model, cell, sort)
        };
        self.layout.cells.iter().filter(plain)
    }

    /// Two elements are to be exchanged where the later one has the smaller key; where keys are the same, where that makes
    /// the state smaller.
    pub(crate) fn by_keys(
        &self,
        sort: SortId,
        (i, j): (u32, u32),
        after: &[(DdVar, Bdd)],
    ) -> DdResult<PermuteOrder> {
        let keys = self.key(sort, i)?.into_iter().zip(self.key(sort, j)?);
        let bits = after.iter().map(|(var, after)| Ok((self.dd.var(*var)?, after.clone())));
        Ok(PermuteOrder::Greater(keys.map(Ok).chain(bits).collect::<DdResult<_>>()?))
    }

    /// The same by data alone: several states of an orbit stay.
    pub(crate) fn by_data(&self, sort: SortId, (i, j): (u32, u32)) -> DdResult<PermuteOrder> {
        Ok(PermuteOrder::Greater(self.data(sort, i)?.into_iter().zip(self.data(sort, j)?).collect()))
    }

    /// The `reverse(i, j)` of Red: the first plain pointer that points to one of the two decides, and the one it points
    /// to comes first; then the first pointer of one of them to the other, and the one it points from comes first.
    pub(crate) fn reversed(&self, sort: SortId, (i, j): (u32, u32)) -> DdResult<PermuteOrder> {
        let mut reversed = self.dd.no();
        let own: Vec<(&LayoutCell, &LayoutCell)> = self.own(sort, i).zip(self.own(sort, j)).collect();
        let refer = own.into_iter().filter(|(cell, _)| refers(self.model, cell, sort));
        for (of_i, of_j) in refer.collect::<Vec<_>>().into_iter().rev() {
            let stays = self.points_to(of_i, sort, j)?;
            let turns = self.points_to(of_j, sort, i)?;
            reversed = turns.or(&reversed)?.minus(&stays)?;
        }
        for cell in self.plain(sort).collect::<Vec<_>>().into_iter().rev() {
            let stays = self.points_to(cell, sort, i)?;
            let turns = self.points_to(cell, sort, j)?;
            reversed = turns.or(&reversed)?.minus(&stays)?;
        }
        Ok(PermuteOrder::Where(reversed))
    }
}
