//! Parts that take no part: of a hundred clients two matter, and the others are told as a number.
//!
//! Only elements of a sort that is proved to be symmetric are put together: of others nobody knows that one is as good as another.

use shoal_model::{Model, SortId, State};

use crate::{Lanes, Story, ending::place};

/// Lanes of one family that stand at the same place and that nothing happens to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bystanders {
    /// The lanes, in order.
    pub lanes: Vec<usize>,
    /// Where they stand; empty if they have no place.
    pub place: String,
}

impl Bystanders {
    /// The number of them, who they are and where they stand: `8 × Invalid (client_3 to client_10)`.
    pub fn text(&self, story: &Story) -> String {
        let name = |lane: Option<&usize>| lane.map_or("", |lane| story.lanes[*lane].name.as_str());
        let (first, last) = (name(self.lanes.first()), name(self.lanes.last()));
        let in_a_row = self.lanes.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        let who = match (self.lanes.len(), in_a_row) {
            (1, _) => first.to_string(),
            (2, _) => format!("{first}, {last}"),
            (_, true) => format!("{first} to {last}"),
            (_, false) => format!("{first} … {last}"),
        };
        match self.place.is_empty() {
            true => who,
            false => format!("{} × {} ({who})", self.lanes.len(), self.place),
        }
    }
}

/// The lanes that nothing happens to, by where they stand at the end, which is where they stood all the time.
pub(crate) fn of(
    model: &Model,
    lanes: &Lanes,
    end: &State,
    story: &Story,
    symmetric: &[SortId],
) -> Vec<Bystanders> {
    let mut found: Vec<Bystanders> = Vec::new();
    for (at, busy) in story.busy().into_iter().enumerate() {
        let lane = &story.lanes[at];
        if busy || !lane.sort.is_some_and(|sort| symmetric.contains(&sort)) {
            continue;
        }
        let place = place(model, lanes, end, at);
        let alike = |group: &&mut Bystanders| {
            group.place == place && story.lanes[group.lanes[0]].family == lane.family
        };
        match found.iter_mut().find(alike) {
            Some(group) => group.lanes.push(at),
            None => found.push(Bystanders { lanes: vec![at], place }),
        }
    }
    found
}
