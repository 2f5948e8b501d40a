//! Representatives by automorphisms of a model that has no sorts.
//!
//! Elements of a family get keys from what their cells hold and from what names them, and stand in the order of their keys. Those
//! with the same key are twins, or every order of them is tried and the least state taken. Of the images of a state by what
//! else there is, the least representative is the one of all.

use shoal_automorphism::{Automorphisms, Image};

/// So many orders of elements that look alike are tried. Where there are more, an orbit may have several representatives.
const MOST_ORDERS: usize = 5040;

/// The elements that the values of a cell name.
struct Naming {
    /// For each code, the element and the way it is named in.
    elements: Vec<Option<(u32, u32)>>,
    /// For each element and way, the code.
    codes: Vec<Vec<i64>>,
}

impl Naming {
    fn element(&self, code: i64) -> Option<(u32, u32)> {
        usize::try_from(code).ok().and_then(|code| self.elements.get(code).copied().flatten())
    }
}

pub(crate) struct Mirrors {
    /// What was found; each thread has its own.
    of: Automorphisms,
    /// For each cell, what its values name.
    naming: Vec<Option<Naming>>,
    /// The cells that name elements and belong to none.
    free: Vec<u32>,
    /// Whether elements name each other.
    linked: bool,
    keys: Vec<u64>,
    sums: Vec<u64>,
    /// The elements of each family in the order of their keys.
    sorted: Vec<u32>,
    /// Where each element goes.
    order: Vec<u32>,
    source: Vec<i64>,
    image: Vec<i64>,
    best: Vec<i64>,
}

fn mix(parts: [u64; 4]) -> u64 {
    parts.iter().fold(0x243f_6a88_85a3_08d3, |hash: u64, part| {
        let word = (hash.rotate_left(23) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        word ^ (word >> 29)
    })
}

impl Mirrors {
    pub(crate) fn new(of: Automorphisms, cells: usize) -> Mirrors {
        let mut naming: Vec<Option<Naming>> = (0..cells).map(|_| None).collect();
        let elements = of.blocks.len();
        for names in &of.names {
            let most = names.named.iter().map(|(code, ..)| *code).max().unwrap_or(0);
            let ways = names.named.iter().map(|(.., way)| *way as usize + 1).max().unwrap_or(0);
            let mut made = Naming {
                elements: vec![None; usize::try_from(most).map_or(0, |most| most + 1)],
                codes: vec![vec![0; ways]; elements],
            };
            for (code, element, way) in &names.named {
                made.elements[*code as usize] = Some((*element, *way));
                made.codes[*element as usize][*way as usize] = *code;
            }
            naming[names.cell as usize] = Some(made);
        }
        let owned = |cell: &u32| of.blocks.iter().any(|block| block.contains(cell));
        let (inner, free): (Vec<u32>, Vec<u32>) = of.names.iter().map(|names| names.cell).partition(owned);
        Mirrors {
            naming,
            free,
            linked: !inner.is_empty(),
            keys: vec![0; elements],
            sums: vec![0; elements],
            sorted: (0..elements as u32).collect(),
            order: vec![0; elements],
            source: Vec::new(),
            image: vec![0; cells],
            best: Vec::new(),
            of,
        }
    }

    /// Whether steps of one rule may be the images of steps of another.
    pub(crate) fn same_rule(&self, left: usize, right: usize) -> bool {
        let class = |rule: usize| self.of.rules.get(rule);
        left == right || class(left).is_some() && class(left) == class(right)
    }

    /// Replaces a state by its representative. Says whether that is another state.
    pub(crate) fn canonicalise(&mut self, cells: &mut [i64]) -> bool {
        if !self.of.given.iter().all(|(cell, codes)| codes.contains(&cells[*cell as usize])) {
            return false;
        }
        let of = std::mem::take(&mut self.of);
        let mut source = std::mem::take(&mut self.source);
        source.clear();
        source.extend_from_slice(cells);
        self.order_elements(&of, &mut source);
        let mut best = std::mem::take(&mut self.best);
        best.clone_from(&source);
        for image in &of.images {
            source.copy_from_slice(cells);
            apply(image, cells, &mut source);
            self.order_elements(&of, &mut source);
            if source < best {
                best.copy_from_slice(&source);
            }
        }
        let moved = best != cells;
        cells.copy_from_slice(&best);
        (self.source, self.best, self.of) = (source, best, of);
        moved
    }

    /// Puts the elements of each family in the order that is that of its orbit.
    fn order_elements(&mut self, of: &Automorphisms, cells: &mut [i64]) {
        if of.blocks.is_empty() {
            return;
        }
        self.keys.fill(0);
        self.pass_on(of, cells, false);
        let mut distinct = self.sort(of);
        while distinct < of.blocks.len() && self.linked {
            self.pass_on(of, cells, true);
            let now = self.sort(of);
            if now == distinct {
                break;
            }
            distinct = now;
        }
        for family in &of.families {
            for (at, element) in self.sorted[family.clone()].iter().enumerate() {
                self.order[*element as usize] = (family.start + at) as u32;
            }
        }
        if distinct < of.blocks.len() {
            let ties = self.ties(of, cells);
            if !ties.is_empty() {
                return self.least_of(of, cells, &ties);
            }
        }
        self.put(of, cells);
    }

    /// Gives each element a key of what its cells hold and what names it, and of the keys of those.
    fn pass_on(&mut self, of: &Automorphisms, cells: &[i64], again: bool) {
        self.sums.fill(0);
        for (element, block) in of.blocks.iter().enumerate() {
            for (slot, cell) in block.iter().enumerate() {
                let (slot, code) = (slot as u64, cells[*cell as usize]);
                let named = self.naming[*cell as usize].as_ref().and_then(|naming| naming.element(code));
                let what = match named {
                    None => mix([1, slot, code as u64, 0]),
                    Some((other, way)) if other as usize == element => mix([2, slot, u64::from(way), 0]),
                    Some((other, way)) => {
                        let (other, way) = (other as usize, u64::from(way));
                        let (mine, theirs) = (self.keys[element], self.keys[other]);
                        self.sums[other] = self.sums[other].wrapping_add(mix([3, slot, way, mine]));
                        mix([4, slot, way, theirs])
                    }
                };
                self.sums[element] = self.sums[element].wrapping_add(what);
            }
        }
        for cell in &self.free {
            let naming = self.naming[*cell as usize].as_ref();
            if let Some((element, way)) = naming.and_then(|naming| naming.element(cells[*cell as usize])) {
                let sum = &mut self.sums[element as usize];
                *sum = sum.wrapping_add(mix([5, u64::from(*cell), u64::from(way), 0]));
            }
        }
        for (key, sum) in self.keys.iter_mut().zip(&self.sums) {
            *key = if again { mix([6, *key, *sum, 0]) } else { *sum };
        }
    }

    /// Sorts elements by their keys; gives how many keys of their family there are.
    fn sort(&mut self, of: &Automorphisms) -> usize {
        let keys = &self.keys;
        let mut distinct = 0;
        for family in &of.families {
            let sorted = &mut self.sorted[family.clone()];
            sorted.sort_unstable_by_key(|element| (keys[*element as usize], *element));
            distinct += sorted.chunk_by(|a, b| keys[*a as usize] == keys[*b as usize]).count();
        }
        distinct
    }

    /// The runs of elements that have the same key and are not twins: exchanging them makes another state.
    fn ties(&mut self, of: &Automorphisms, cells: &[i64]) -> Vec<Vec<u32>> {
        let runs: Vec<Vec<u32>> = of
            .families
            .iter()
            .flat_map(|family| {
                self.sorted[family.clone()]
                    .chunk_by(|a, b| self.keys[*a as usize] == self.keys[*b as usize])
                    .filter(|run| run.len() > 1)
                    .map(<[u32]>::to_vec)
                    .collect::<Vec<_>>()
            })
            .collect();
        runs.into_iter()
            .filter(|run| !run.windows(2).all(|pair| self.are_twins(of, cells, pair[0], pair[1])))
            .collect()
    }

    fn are_twins(&mut self, of: &Automorphisms, cells: &[i64], left: u32, right: u32) -> bool {
        let mut order: Vec<u32> = (0..self.order.len() as u32).collect();
        order.swap(left as usize, right as usize);
        self.make_image(of, cells, &order);
        self.image == cells
    }

    /// The least state of all orders of elements that look alike.
    fn least_of(&mut self, of: &Automorphisms, cells: &mut [i64], ties: &[Vec<u32>]) {
        let places: Vec<Vec<u32>> = ties
            .iter()
            .map(|run| run.iter().map(|element| self.order[*element as usize]).collect())
            .collect();
        let mut order = self.order.clone();
        let mut best: Option<Vec<i64>> = None;
        let mut left = MOST_ORDERS;
        let mut perms: Vec<Vec<usize>> = ties.iter().map(|run| (0..run.len()).collect()).collect();
        loop {
            for ((run, places), perm) in ties.iter().zip(&places).zip(&perms) {
                for (element, at) in run.iter().zip(perm) {
                    order[*element as usize] = places[*at];
                }
            }
            self.make_image(of, cells, &order);
            if best.as_ref().is_none_or(|best| self.image < *best) {
                best = Some(self.image.clone());
            }
            left -= 1;
            if left == 0 || !perms.iter_mut().any(|perm| next_permutation(perm)) {
                break;
            }
        }
        if let Some(best) = best {
            cells.copy_from_slice(&best);
        }
    }

    /// Puts the elements where their order says.
    fn put(&mut self, of: &Automorphisms, cells: &mut [i64]) {
        if self.order.iter().enumerate().all(|(element, to)| element as u32 == *to) {
            return;
        }
        let order = std::mem::take(&mut self.order);
        self.make_image(of, cells, &order);
        self.order = order;
        cells.copy_from_slice(&self.image);
    }

    fn make_image(&mut self, of: &Automorphisms, cells: &[i64], order: &[u32]) {
        self.image.copy_from_slice(cells);
        let Mirrors { naming, image, free, .. } = self;
        let renamed = |cell: u32, code: i64| match naming[cell as usize].as_ref() {
            Some(naming) => match naming.element(code) {
                Some((element, way)) => naming.codes[order[element as usize] as usize][way as usize],
                None => code,
            },
            None => code,
        };
        for (element, block) in of.blocks.iter().enumerate() {
            let to = &of.blocks[order[element] as usize];
            for (from, to) in block.iter().zip(to) {
                image[*to as usize] = renamed(*from, cells[*from as usize]);
            }
        }
        for cell in free.iter() {
            image[*cell as usize] = renamed(*cell, cells[*cell as usize]);
        }
    }
}

/// The next permutation in order; the first again, and no more, after the last.
fn next_permutation(perm: &mut [usize]) -> bool {
    let Some(at) = (1..perm.len()).rev().find(|at| perm[at - 1] < perm[*at]) else {
        perm.reverse();
        return false;
    };
    let Some(other) = (at..perm.len()).rev().find(|other| perm[*other] > perm[at - 1]) else { return false };
    perm.swap(at - 1, other);
    perm[at..].reverse();
    true
}

/// The image of a state: contents move, and values are renamed.
fn apply(image: &Image, cells: &[i64], into: &mut [i64]) {
    for (from, to) in &image.moves {
        into[*to as usize] = cells[*from as usize];
    }
    for (from, renames) in &image.renames {
        let code = cells[*from as usize];
        let to = image.moves.iter().find(|(it, _)| it == from).map_or(*from, |(_, to)| *to);
        if let Ok(at) = renames.binary_search_by_key(&code, |(code, _)| *code) {
            into[to as usize] = renames[at].1;
        }
    }
}
