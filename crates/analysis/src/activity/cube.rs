//! Conditions on the view of an element: disjunctions of cubes.

/// A conjunction: for each atom, the set of classes it may be in, one bit a class.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cube(pub(crate) Vec<u64>);

impl Cube {
    /// What satisfies both; nothing if nothing does.
    pub(crate) fn and(&self, other: &Cube) -> Option<Cube> {
        let masks: Vec<u64> = self.0.iter().zip(&other.0).map(|(a, b)| a & b).collect();
        (!masks.contains(&0)).then_some(Cube(masks))
    }

    /// The cube with another set of classes for one atom.
    pub(crate) fn with(&self, atom: usize, mask: u64) -> Cube {
        let mut masks = self.0.clone();
        masks[atom] = mask;
        Cube(masks)
    }

    /// Whether the two have a view in common.
    pub(crate) fn has(&self, other: &Cube) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a & b != 0)
    }

    /// The smallest cube around both.
    pub(crate) fn hull(&self, other: &Cube) -> Cube {
        Cube(self.0.iter().zip(&other.0).map(|(a, b)| a | b).collect())
    }

    fn within(&self, other: &Cube) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a & !b == 0)
    }

    /// The part outside another cube, as cubes that have nothing in common.
    fn minus(&self, other: &Cube) -> Vec<Cube> {
        if !self.has(other) {
            return vec![self.clone()];
        }
        let mut rest = Vec::new();
        let mut inside = self.clone();
        for (atom, mask) in other.0.iter().enumerate() {
            let outside = inside.0[atom] & !mask;
            if outside != 0 {
                rest.push(inside.with(atom, outside));
            }
            inside.0[atom] &= mask;
        }
        rest
    }

    /// The two as one, if no view is added by that.
    fn merged(&self, other: &Cube) -> Option<Cube> {
        let differ: Vec<usize> = (0..self.0.len()).filter(|at| self.0[*at] != other.0[*at]).collect();
        match differ.as_slice() {
            [atom] => Some(self.with(*atom, self.0[*atom] | other.0[*atom])),
            _ => None,
        }
    }
}

/// A disjunction of cubes, none of them inside another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CubeUnion(pub(crate) Vec<Cube>);

/// A condition with more cubes than this is replaced by the cube around them all: more views, so nothing is lost but
/// precision.
const MOST_CUBES: usize = 400;

impl CubeUnion {
    pub(crate) fn is_false(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a view, or one of those that a cube stands for, is in it.
    pub(crate) fn has(&self, view: &Cube) -> bool {
        self.0.iter().any(|cube| cube.has(view))
    }

    /// Adds a cube; says whether that adds a view.
    pub(crate) fn add(&mut self, cube: Cube) -> bool {
        if self.0.iter().any(|known| cube.within(known)) {
            return false;
        }
        // As few cubes as possible: one that differs from the new one in one atom only becomes one with it.
        let mut cube = cube;
        while let Some(merged) = self.0.iter().find_map(|known| known.merged(&cube)) {
            cube = merged;
            self.0.retain(|known| !known.within(&cube));
        }
        self.0.retain(|known| !known.within(&cube));
        self.0.push(cube);
        if self.0.len() > MOST_CUBES {
            let first = self.0[0].clone();
            self.0 = vec![self.0.iter().fold(first, |hull, cube| hull.hull(cube))];
        }
        true
    }

    /// The same with one more cube.
    pub(crate) fn with(mut self, cube: Cube) -> CubeUnion {
        self.add(cube);
        self
    }

    pub(crate) fn or(self, other: CubeUnion) -> CubeUnion {
        other.0.into_iter().fold(self, CubeUnion::with)
    }

    pub(crate) fn and_cube(&self, cube: &Cube) -> CubeUnion {
        self.0.iter().filter_map(|own| own.and(cube)).fold(CubeUnion::default(), CubeUnion::with)
    }

    pub(crate) fn and(&self, other: &CubeUnion) -> CubeUnion {
        other.0.iter().fold(CubeUnion::default(), |all, cube| all.or(self.and_cube(cube)))
    }

    /// The part of a cube that is outside.
    pub(crate) fn missing(&self, cube: &Cube) -> Vec<Cube> {
        let outside = |parts: Vec<Cube>, known: &Cube| parts.iter().flat_map(|it| it.minus(known)).collect();
        self.0.iter().fold(vec![cube.clone()], outside)
    }

    /// The same with as few cubes as merging in pairs gives: what a person wants to read.
    pub(crate) fn simplified(mut self) -> CubeUnion {
        loop {
            let pairs = (0..self.0.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
            let found = pairs.into_iter().find_map(|(a, b)| self.0[a].merged(&self.0[b]));
            match found {
                Some(cube) => {
                    self.add(cube);
                }
                None => break,
            }
        }
        self.0.sort();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cube(masks: &[u64]) -> Cube {
        Cube(masks.to_vec())
    }

    #[test]
    fn what_is_missing_is_outside_and_merging_adds_nothing() {
        let mut dnf = CubeUnion::default();
        assert!(dnf.add(cube(&[0b01, 0b11])));
        assert!(!dnf.add(cube(&[0b01, 0b01])));
        assert!(dnf.add(cube(&[0b10, 0b01])));
        assert_eq!(dnf.missing(&cube(&[0b11, 0b11])), [cube(&[0b10, 0b10])]);
        assert!(dnf.add(cube(&[0b10, 0b10])));
        assert_eq!(dnf.simplified().0, [cube(&[0b11, 0b11])]);
    }
}
