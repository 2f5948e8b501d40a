//! How the instructions of a unit without loops follow each other: which come on all ways to one, and on all ways from it.

use super::super::flow::Flow;

/// The order of instructions.
pub(super) struct Paths {
    /// Each before all that may follow.
    pub(super) order: Vec<usize>,
    position: Vec<usize>,
    /// By position: that of the last instruction on all ways to it.
    before: Vec<usize>,
    /// That of the first on all ways from it to an end; one more than there are is the end itself. Nothing if no way
    /// leads there.
    after: Vec<Option<usize>>,
}

impl Paths {
    /// Nothing if there is a loop, or too much.
    pub(super) fn new(flow: &Flow<'_>, root: usize, most: usize) -> Option<Paths> {
        let order = in_order(flow, root, most)?;
        let mut position = vec![usize::MAX; flow.nodes.len()];
        order.iter().enumerate().for_each(|(at, node)| position[*node] = at);
        let following = |at: usize| {
            let node = &flow.nodes[order[at]];
            node.next.into_iter().chain(node.jump).map(|next| position[next])
        };
        let mut before = vec![usize::MAX; order.len()];
        before[0] = 0;
        for at in 0..order.len() {
            for next in following(at) {
                before[next] =
                    if before[next] == usize::MAX { at } else { common(&before, before[next], at) };
            }
        }
        let mut after: Vec<Option<usize>> = vec![None; order.len()];
        for at in (0..order.len()).rev() {
            let mut first = None;
            let mut ends = true;
            for next in following(at) {
                ends = false;
                if after[next].is_some() {
                    first = Some(first.map_or(next, |first| meet(&after, first, next)));
                }
            }
            let stops = ends && flow.nodes[order[at]].ends();
            after[at] = if stops { Some(order.len()) } else { first };
        }
        Some(Paths { order, position, before, after })
    }

    /// The last instruction on all ways to one, and whether all ways from there lead to it, unless they end in a fault.
    pub(super) fn fork(&self, node: usize) -> (usize, bool) {
        let at = self.position[node];
        let fork = self.before[at];
        let mut way = fork;
        while way < at {
            match self.after[way] {
                Some(next) => way = next,
                None => return (self.order[fork], false),
            }
        }
        (self.order[fork], way == at)
    }
}

/// Where two ways back meet.
fn common(before: &[usize], mut left: usize, mut right: usize) -> usize {
    while left != right {
        if left > right {
            left = before[left];
        } else {
            right = before[right];
        }
    }
    left
}

/// Where two ways on meet: at the end, if not before.
fn meet(after: &[Option<usize>], mut left: usize, mut right: usize) -> usize {
    while left != right {
        let least = left.min(right);
        let next = after[least].unwrap_or(after.len());
        (left, right) = (left.max(right), next);
    }
    left
}

/// All instructions from one on, each before those that follow.
fn in_order(flow: &Flow<'_>, root: usize, most: usize) -> Option<Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum PathMark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![PathMark::New; flow.nodes.len()];
    let mut order = Vec::new();
    let mut stack = vec![(root, false)];
    while let Some((node, through)) = stack.pop() {
        if through {
            marks[node] = PathMark::Done;
            order.push(node);
            continue;
        }
        match marks[node] {
            PathMark::Done => continue,
            PathMark::Open => return None,
            PathMark::New => marks[node] = PathMark::Open,
        }
        stack.push((node, true));
        let links = flow.nodes.get(node)?;
        for next in links.next.into_iter().chain(links.jump) {
            match marks[next] {
                PathMark::New => stack.push((next, false)),
                PathMark::Open => return None,
                PathMark::Done => {}
            }
        }
        if order.len() > most {
            return None;
        }
    }
    order.reverse();
    Some(order)
}
