//! Steps of one part that follow each other, told by what they leave behind.

use shoal_story::{Change, ChangeKind, Row};

/// The changes of some steps as one: of each variable from what it was before the first to what it is after the last, where it
/// is first changed. What is in the end as it was is left out.
pub(crate) fn net_changes(rows: &[&Row]) -> Vec<Vec<Change>> {
    let mut net: Vec<Vec<Change>> = Vec::new();
    for row in rows {
        net.push(Vec::new());
        row.changes.iter().for_each(|change| add(&mut net, change));
    }
    net.iter_mut()
        .for_each(|changes| changes.retain(|change| change.old.is_none() || change.old != change.new));
    net
}

/// Adds a change to those before it.
fn add(net: &mut [Vec<Change>], change: &Change) {
    let same = |known: &&mut Change| known.lane == change.lane && known.path == change.path;
    let is_value = |kind: ChangeKind| matches!(kind, ChangeKind::Set | ChangeKind::Moved);
    let before = net.iter_mut().flatten().filter(|known| is_value(known.kind)).find(same);
    match before.filter(|_| is_value(change.kind)) {
        Some(known) => known.new = change.new.clone(),
        None => net.iter_mut().last().into_iter().for_each(|last| last.push(change.clone())),
    }
    // What is in a record that is written as a whole is told with it.
    net.iter_mut().for_each(|changes| changes.retain(|known| !is_part(known, change)));
}

/// Whether a change is of a part of what another changes.
fn is_part(part: &Change, whole: &Change) -> bool {
    let inside = part.path.strip_prefix(whole.path.as_str()).is_some_and(|rest| rest.starts_with(['.', '[']));
    part.lane == whole.lane && !whole.path.is_empty() && inside
}
