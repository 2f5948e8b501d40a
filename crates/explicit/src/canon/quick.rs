//! What a small state says of elements, read from its packed form in one go.
//!
//! Where few cells have to do with elements, reading all of them takes less time than working out what a step has changed.

use shoal_code::{CellBits, Layout};

use super::{
    facts::{Facts, Said},
    structure::Structure,
};

/// More cells than this are not read for each successor.
const MOST_CELLS: usize = 64;
/// Of cells that may hold an element and have more codes than this it is not worked out what each says.
const MOST_CODES: u64 = 1 << 10;

/// A cell that one element indexes and that holds none.
pub(super) struct OwnBits {
    pub(super) at: CellBits,
    pub(super) element: u32,
    pub(super) salt: u64,
}

/// A cell that may hold an element, and what each of its codes says.
pub(super) struct LinkBits {
    pub(super) at: CellBits,
    pub(super) says: Box<[Said]>,
}

/// The cells that have to do with elements.
pub(super) struct Quick {
    pub(super) own: Vec<OwnBits>,
    /// In the order of [`Structure::links`].
    pub(super) links: Vec<LinkBits>,
}

impl Quick {
    /// Nothing if there are too many of them, or others than these, or if cells share their bits.
    pub(super) fn new(structure: &Structure, layout: &Layout) -> Option<Quick> {
        let cells = structure.own_cells().count() + structure.links.len();
        if cells > MOST_CELLS || !structure.wide.is_empty() || !structure.groups.is_empty() {
            return None;
        }
        let own = structure.own_cells().map(|(cell, element, salt)| {
            Some(OwnBits { at: layout.place_of(cell as usize)?, element, salt })
        });
        let links = structure.links.iter().zip(0..).map(|(link, source)| {
            let at = layout.place_of(link.at as usize).filter(|at| at.most() <= MOST_CODES)?;
            let says = (0..=at.most() as i64).map(|code| Facts::said_by_link(structure, source, code));
            Some(LinkBits { at, says: says.collect() })
        });
        Some(Quick { own: own.collect::<Option<_>>()?, links: links.collect::<Option<_>>()? })
    }
}
