//! What the author of a model says of how its runs are to be told, in comments:
//!
//! ```text
//! -- shoal: lane home = serving, requester     these variables are a part by itself
//! -- shoal: message request: client -> home    what is written there is a message
//! -- shoal: hide latest                        nobody wants to see this one change
//! ```

use shoal_model::{Model, VarId};
use shoal_syntax::{SourceMap, remarks};

/// What comments ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directions {
    pub(crate) lanes: Vec<(String, Vec<String>)>,
    pub(crate) messages: Vec<Post>,
    pub(crate) hidden: Vec<String>,
    /// What is not understood, and the line it stands in.
    strange: Vec<String>,
}

/// A variable that carries messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Post {
    pub(crate) variable: String,
    /// Who takes them, if it is said.
    pub(crate) to: Option<String>,
}

impl Directions {
    /// The directions in the comments of a model's sources.
    pub fn of(sources: &SourceMap) -> Directions {
        let mut found = Directions::default();
        for file in sources.files() {
            for (line, text) in remarks(file.text()) {
                if is_direction(text) && !found.read(text) {
                    found.strange.push(format!("{}:{line}: not understood: {text}", file.name()));
                }
            }
        }
        found
    }

    /// Reads one; false if it is not understood.
    fn read(&mut self, text: &str) -> bool {
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let names = |list: &str| -> Option<Vec<String>> {
            let names: Vec<String> = list.split(',').map(|name| name.trim().to_string()).collect();
            names.iter().all(|name| !name.is_empty()).then_some(names)
        };
        match word {
            "lane" => {
                let Some((name, list)) = rest.split_once('=') else { return false };
                let Some(list) = names(list).filter(|_| !name.trim().is_empty()) else { return false };
                self.add_lane(name.trim(), list);
            }
            "message" => {
                let (list, way) = match rest.split_once(':') {
                    Some((list, way)) => (list, Some(way)),
                    None => (rest, None),
                };
                let to = match way.map(|way| way.split_once("->")) {
                    None => None,
                    Some(Some((_, to))) => Some(to.trim().to_string()),
                    Some(None) => return false,
                };
                let Some(list) = names(list) else { return false };
                self.messages.extend(list.into_iter().map(|variable| Post { variable, to: to.clone() }));
            }
            "hide" => match names(rest) {
                Some(list) => self.hidden.extend(list),
                None => return false,
            },
            _ => return false,
        }
        true
    }

    /// What is said later of a variable counts; what is said of one lane in several lines is said together.
    fn add_lane(&mut self, name: &str, variables: Vec<String>) {
        for (_, own) in &mut self.lanes {
            own.retain(|variable| !variables.contains(variable));
        }
        match self.lanes.iter_mut().find(|(known, _)| known == name) {
            Some((_, own)) => own.extend(variables),
            None => self.lanes.push((name.into(), variables)),
        }
        self.lanes.retain(|(_, own)| !own.is_empty());
    }

    /// What cannot be followed: lines that are not understood, variables that the model does not have.
    pub(crate) fn strange(&self, model: &Model) -> Vec<String> {
        let listed = self.lanes.iter().flat_map(|(_, list)| list);
        let named = listed.chain(self.messages.iter().map(|post| &post.variable)).chain(&self.hidden);
        let unknown = named.filter(|name| variable(model, name).is_none());
        let unknown = unknown.map(|name| format!("`{name}` in a comment for Shoal is no variable"));
        self.strange.iter().cloned().chain(unknown).collect()
    }
}

/// Whether a comment for Shoal is about how runs are told, not about what is expected.
pub fn is_direction(text: &str) -> bool {
    matches!(text.split_whitespace().next(), Some("lane" | "message" | "hide"))
}

/// The variable with a name.
pub(crate) fn variable(model: &Model, name: &str) -> Option<VarId> {
    model.vars.enumerate().find(|(_, var)| var.name == name).map(|(id, _)| id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_are_read_and_what_is_not_understood_is_said() {
        let mut sources = SourceMap::new();
        sources.add(
            "m.m",
            "-- shoal: verdict=holds\n-- shoal: lane home = a, b\n  -- shoal: message c, d: x -> home\n\
             // shoal: hide e\n-- shoal: lane home\n-- shoal: message f: home\n-- shoal: lane bus = b\n-- shoal: lane home = g\n",
        );
        let found = Directions::of(&sources);
        let lane = |name: &str, own: [&str; 2]| {
            (name.to_string(), own.iter().filter(|it| !it.is_empty()).map(ToString::to_string).collect())
        };
        assert_eq!(found.lanes, [lane("home", ["a", "g"]), lane("bus", ["b", ""])]);
        let posts: Vec<(&str, Option<&str>)> =
            found.messages.iter().map(|post| (post.variable.as_str(), post.to.as_deref())).collect();
        assert_eq!(posts, [("c", Some("home")), ("d", Some("home"))]);
        assert_eq!(found.hidden, ["e"]);
        assert_eq!(found.strange.len(), 2, "{:?}", found.strange);
        assert!(found.strange[0].starts_with("m.m:5: "), "{:?}", found.strange);
    }
}
