//! Where the nodes of a graph go: on levels by their distance from the start.
//!
//! In such levels an edge goes down one level, stays on its own or goes up, never down two: what is hard about drawings in
//! layers, edges that pass levels by, does not occur. What is left is the order on each level, by medians of neighbours, and the
//! places of a given order, which are those nearest to the means of neighbours (one pass that pools what would overlap). Both
//! take time that grows with the edges, and the same graph always gives the same picture.

/// A graph to be laid out.
#[derive(Clone, Copy, Debug)]
pub struct LayoutGraph<'a> {
    /// How wide and how high each node is.
    pub sizes: &'a [(f64, f64)],
    /// From and to.
    pub edges: &'a [(usize, usize)],
    /// Where it begins.
    pub starts: &'a [usize],
    /// The level of each node where it is known already: of a part of a graph, by distances in the whole. Empty if it is not.
    pub levels: &'a [usize],
    /// Where nodes were before: they stay there as far as that is possible. Empty if nothing was before.
    pub before: &'a [Option<f64>],
}

/// Where everything is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphLayout {
    /// The level of each node, from 0.
    pub level: Vec<usize>,
    /// The middle of each node, from the left.
    pub x: Vec<f64>,
    /// The middle of each node, from the top.
    pub y: Vec<f64>,
    /// How wide all of it is.
    pub width: f64,
    /// How high.
    pub height: f64,
}

/// Between nodes of a level, and between levels.
const GAP: f64 = 18.0;
const RISE: f64 = 46.0;
const MARGIN: f64 = 16.0;
const ORDERINGS: usize = 12;
const PLACINGS: usize = 8;
/// What a node that was somewhere weighs against one that was not.
const STEADY: f64 = 1_000.0;

/// Lays a graph out.
pub fn layout(graph: &LayoutGraph<'_>) -> GraphLayout {
    let (level, found) = match graph.levels.is_empty() {
        true => levels(graph),
        false => (graph.levels.to_vec(), (0..graph.levels.len()).collect()),
    };
    let mut work = Work::new(graph, &level, &found);
    work.order();
    work.place();
    work.finish(level)
}

/// The distance of each node from a start, and the nodes in the order they are found. What no start leads to begins by itself.
fn levels(graph: &LayoutGraph<'_>) -> (Vec<usize>, Vec<usize>) {
    let count = graph.sizes.len();
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (from, to) in graph.edges {
        next[*from].push(*to);
    }
    let mut level = vec![usize::MAX; count];
    let mut found = Vec::new();
    let rest = 0..count;
    for begin in std::iter::once(graph.starts.to_vec()).chain(rest.map(|node| vec![node])) {
        let is_new = |node: &usize| level.get(*node) == Some(&usize::MAX);
        let mut now: Vec<usize> = begin.into_iter().filter(is_new).collect();
        now.iter().for_each(|node| level[*node] = 0);
        let mut depth = 0;
        while !now.is_empty() {
            found.extend_from_slice(&now);
            depth += 1;
            let mut after = Vec::new();
            for to in now.iter().flat_map(|node| &next[*node]) {
                if level[*to] == usize::MAX {
                    level[*to] = depth;
                    after.push(*to);
                }
            }
            now = after;
        }
    }
    (level, found)
}

struct Work<'a> {
    graph: &'a LayoutGraph<'a>,
    /// The nodes of each level, from left to right.
    rows: Vec<Vec<usize>>,
    /// The neighbours of each node on the level above, and on the one below.
    above: Vec<Vec<usize>>,
    below: Vec<Vec<usize>>,
    x: Vec<f64>,
}

impl<'a> Work<'a> {
    fn new(graph: &'a LayoutGraph<'a>, level: &[usize], found: &[usize]) -> Work<'a> {
        let count = level.len();
        let mut rows: Vec<Vec<usize>> = vec![Vec::new(); level.iter().max().map_or(0, |deepest| deepest + 1)];
        for node in found {
            rows[level[*node]].push(*node);
        }
        let (mut above, mut below) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for (from, to) in graph.edges {
            if level[*to] == level[*from] + 1 {
                above[*to].push(*from);
                below[*from].push(*to);
            }
        }
        Work { graph, rows, above, below, x: vec![0.0; count] }
    }

    fn was(&self, node: usize) -> Option<f64> {
        self.graph.before.get(node).copied().flatten()
    }

    /// Orders each level by the medians of neighbours, downwards and upwards, and keeps the order with the fewest crossings.
    fn order(&mut self) {
        if !self.graph.before.is_empty() {
            // Where a node was is where it stays: its place among the others is known.
            self.rows = self.rows.iter().map(|row| self.woven(row)).collect();
            return;
        }
        let mut place = vec![0; self.x.len()];
        self.number(&mut place);
        let (mut best, mut fewest) = (self.rows.clone(), self.crossings(&place));
        for round in 0..ORDERINGS {
            let downwards = round % 2 == 0;
            let depths: Vec<usize> =
                if downwards { (0..self.rows.len()).collect() } else { (0..self.rows.len()).rev().collect() };
            for depth in depths {
                let mut row = std::mem::take(&mut self.rows[depth]);
                let neighbours = if downwards { &self.above } else { &self.below };
                let key = |node: &usize| median(&neighbours[*node], &place).unwrap_or(place[*node] as f64);
                let mut keyed: Vec<(f64, usize)> = row.iter().map(|node| (key(node), *node)).collect();
                keyed.sort_by(|one, other| one.0.total_cmp(&other.0));
                row = keyed.into_iter().map(|(_, node)| node).collect();
                for (at, node) in row.iter().enumerate() {
                    place[*node] = at;
                }
                self.rows[depth] = row;
            }
            let crossings = self.crossings(&place);
            if crossings < fewest {
                (best, fewest) = (self.rows.clone(), crossings);
            }
        }
        self.rows = best;
        self.number(&mut place);
    }

    /// A row in which those that were somewhere keep their order, and the new ones come where their neighbours are.
    fn woven(&self, row: &[usize]) -> Vec<usize> {
        let wanted = |node: usize| {
            let beside = self.above[node].iter().chain(&self.below[node]);
            let known: Vec<f64> = beside.filter_map(|other| self.was(*other)).collect();
            let mean = known.iter().sum::<f64>() / known.len() as f64;
            self.was(node).or((!known.is_empty()).then_some(mean)).unwrap_or(f64::MAX)
        };
        let mut keyed: Vec<(f64, usize)> = row.iter().map(|node| (wanted(*node), *node)).collect();
        keyed.sort_by(|one, other| one.0.total_cmp(&other.0));
        keyed.into_iter().map(|(_, node)| node).collect()
    }

    fn number(&self, place: &mut [usize]) {
        for row in &self.rows {
            for (at, node) in row.iter().enumerate() {
                place[*node] = at;
            }
        }
    }

    /// How many pairs of edges between neighbouring levels cross: inversions, counted by a tree of sums.
    fn crossings(&self, place: &[usize]) -> u64 {
        let mut crossings = 0;
        for (depth, row) in self.rows.iter().enumerate() {
            let width = self.rows.get(depth + 1).map_or(0, Vec::len);
            let mut sums = vec![0_u64; width + 1];
            let mut seen = 0;
            for node in row {
                let mut ends: Vec<usize> = self.below[*node].iter().map(|to| place[*to]).collect();
                ends.sort_unstable();
                for end in &ends {
                    let (mut at, mut before) = (end + 1, 0);
                    while at > 0 {
                        before += sums[at];
                        at -= at & at.wrapping_neg();
                    }
                    crossings += seen - before;
                }
                for end in &ends {
                    let mut at = end + 1;
                    while at <= width {
                        sums[at] += 1;
                        at += at & at.wrapping_neg();
                    }
                    seen += 1;
                }
            }
        }
        crossings
    }

    /// Gives each node of an ordered level the place nearest to where its neighbours are.
    fn place(&mut self) {
        for depth in 0..self.rows.len() {
            self.settle(depth, |work, node| work.mean(&work.above[node]));
        }
        for round in 0..PLACINGS {
            match round % 2 {
                0 => (0..self.rows.len())
                    .rev()
                    .for_each(|depth| self.settle(depth, |work, node| work.mean(&work.below[node]))),
                _ => (0..self.rows.len()).for_each(|depth| {
                    self.settle(depth, |work, node| {
                        let all: Vec<usize> =
                            work.above[node].iter().chain(&work.below[node]).copied().collect();
                        work.mean(&all)
                    });
                }),
            }
        }
    }

    fn mean(&self, nodes: &[usize]) -> Option<f64> {
        (!nodes.is_empty()).then(|| nodes.iter().map(|node| self.x[*node]).sum::<f64>() / nodes.len() as f64)
    }

    fn settle(&mut self, depth: usize, wanted: impl Fn(&Work<'_>, usize) -> Option<f64>) {
        let row = self.rows[depth].clone();
        let width = |node: usize| self.graph.sizes[node].0;
        let mut offset = 0.0;
        let (mut offsets, mut values) = (Vec::new(), Vec::new());
        for (at, node) in row.iter().enumerate() {
            if at > 0 {
                offset += (width(row[at - 1]) + width(*node)) / 2.0 + GAP;
            }
            offsets.push(offset);
            let (place, weight) = match self.was(*node) {
                Some(x) => (x, STEADY),
                None => (wanted(self, *node).unwrap_or(self.x[*node].max(offset)), 1.0),
            };
            values.push((place - offset, weight));
        }
        for ((node, offset), place) in row.iter().zip(offsets).zip(rising(&values)) {
            self.x[*node] = place + offset;
        }
    }

    fn finish(self, level: Vec<usize>) -> GraphLayout {
        let half = |node: usize| self.graph.sizes[node].0 / 2.0;
        let left = (0..self.x.len()).map(|node| self.x[node] - half(node)).fold(f64::MAX, f64::min);
        // What was somewhere is not moved by a new neighbour at the left.
        let shift = if self.graph.before.is_empty() { MARGIN - left } else { 0.0 };
        let x: Vec<f64> = self.x.iter().map(|x| x + shift).collect();
        let width = (0..x.len()).map(|node| x[node] + half(node)).fold(0.0, f64::max) + MARGIN;
        let mut top = MARGIN;
        let mut y = vec![0.0; x.len()];
        for row in &self.rows {
            let height = row.iter().map(|node| self.graph.sizes[*node].1).fold(0.0, f64::max);
            row.iter().for_each(|node| y[*node] = top + height / 2.0);
            top += height + RISE;
        }
        let height = if self.rows.is_empty() { 2.0 * MARGIN } else { top - RISE + MARGIN };
        GraphLayout { level, x, y, width, height }
    }
}

/// The middle of the places of some nodes.
fn median(nodes: &[usize], place: &[usize]) -> Option<f64> {
    let mut places: Vec<usize> = nodes.iter().map(|node| place[*node]).collect();
    places.sort_unstable();
    let middle = places.len() / 2;
    match places.len() {
        0 => None,
        count if count % 2 == 1 => Some(places[middle] as f64),
        _ => Some((places[middle - 1] + places[middle]) as f64 / 2.0),
    }
}

/// The numbers nearest to some numbers, by their weights, of which none is less than the one before: neighbours that would fall
/// are pooled.
fn rising(values: &[(f64, f64)]) -> Vec<f64> {
    let mut pools: Vec<(f64, f64, usize)> = Vec::new();
    for (value, weight) in values {
        let (mut sum, mut weight, mut count) = (value * weight, *weight, 1);
        while let Some((before, other, size)) = pools.last().copied() {
            if before / other <= sum / weight {
                break;
            }
            (sum, weight, count) = (sum + before, weight + other, count + size);
            pools.pop();
        }
        pools.push((sum, weight, count));
    }
    pools.iter().flat_map(|(sum, weight, count)| std::iter::repeat_n(sum / weight, *count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random and are the same everywhere.
    fn random_graph(nodes: usize, edges: usize, mut seed: u64) -> Vec<(usize, usize)> {
        let mut next = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % below
        };
        (0..edges).map(|_| (next(nodes), next(nodes))).collect()
    }

    fn lay(nodes: usize, edges: &[(usize, usize)], before: &[Option<f64>]) -> GraphLayout {
        let sizes: Vec<(f64, f64)> = (0..nodes).map(|node| (30.0 + (node % 5) as f64 * 8.0, 20.0)).collect();
        layout(&LayoutGraph { sizes: &sizes, edges, starts: &[0], levels: &[], before })
    }

    #[test]
    fn no_two_nodes_overlap_and_the_same_graph_gives_the_same_picture() {
        for seed in 0..60 {
            let nodes = 1 + (seed as usize * 7) % 80;
            let edges = random_graph(nodes, nodes * 2, seed);
            let drawn = lay(nodes, &edges, &[]);
            assert_eq!(drawn, lay(nodes, &edges, &[]));
            for one in 0..nodes {
                assert!(drawn.x[one] >= 0.0 && drawn.x[one] <= drawn.width && drawn.y[one] <= drawn.height);
                for other in 0..one {
                    let apart = (30 + 8 * (one % 5) + 30 + 8 * (other % 5)) as f64 / 2.0;
                    let free = (drawn.x[one] - drawn.x[other]).abs() >= apart - 0.001;
                    assert!(free || drawn.level[one] != drawn.level[other], "seed {seed}: {one} on {other}");
                }
            }
        }
    }

    /// A node is one level below the nearest of those that lead to it.
    #[test]
    fn levels_are_distances() {
        let edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 0), (4, 3)];
        let drawn = lay(5, &edges, &[]);
        assert_eq!(drawn.level, [0, 1, 1, 2, 0]);
        assert!(drawn.y[0] < drawn.y[1] && drawn.y[1] < drawn.y[3]);
        assert_eq!(lay(0, &[], &[]).level, []);
    }

    /// A tree has no crossings.
    #[test]
    fn a_tree_is_drawn_without_crossings() {
        let edges: Vec<(usize, usize)> = (1..63).map(|node| ((node - 1) / 2, node)).collect();
        let shuffled: Vec<(usize, usize)> = {
            let number = |node: usize| if node == 0 { 0 } else { 1 + (node * 37) % 62 };
            edges.iter().map(|(from, to)| (number(*from), number(*to))).collect()
        };
        let drawn = lay(63, &shuffled, &[]);
        for (a, b) in &shuffled {
            for (c, d) in &shuffled {
                let beside = drawn.level[*a] == drawn.level[*c];
                let crossed = (drawn.x[*a] - drawn.x[*c]) * (drawn.x[*b] - drawn.x[*d]) < -0.001;
                assert!(!(beside && crossed), "{a}->{b} crosses {c}->{d}");
            }
        }
    }

    /// What is there hardly moves when something new comes.
    #[test]
    fn what_is_there_stays() {
        for seed in 0..20 {
            let edges = random_graph(60, 90, seed);
            let known: Vec<(usize, usize)> =
                edges.iter().copied().filter(|(from, to)| *from < 50 && *to < 50).collect();
            let first = lay(50, &known, &[]);
            let mut more = known.clone();
            // New nodes hang on what was there: no level changes.
            more.extend((50..60).map(|node| (node * 7 % 50, node)));
            let before: Vec<Option<f64>> = (0..60).map(|node| first.x.get(node).copied()).collect();
            let second = lay(60, &more, &before);
            let mut moved: Vec<f64> = (0..50).map(|node| (first.x[node] - second.x[node]).abs()).collect();
            moved.sort_by(f64::total_cmp);
            assert!(moved[25] < 2.0 * GAP, "seed {seed}: {moved:?}");
        }
    }

    #[test]
    fn large_graphs_are_laid_out_in_time() {
        let edges = random_graph(20_000, 80_000, 1);
        let began = std::time::Instant::now();
        assert_eq!(lay(20_000, &edges, &[]).x.len(), 20_000);
        assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
    }
}
