//! Questions about nets as the Model Checking Contest writes them: sets of properties in XML, about the number of tokens in
//! places, about transitions that can fire, and about deadlocks.

use std::collections::HashMap;

use roxmltree::{Document, Node};
use shoal_syntax::{SourceId, SourceMap, Span};

use crate::net::NetNames;

/// A question, as far as it is understood.
#[derive(Clone, Debug)]
pub(crate) struct NetQuestion {
    pub(crate) name: String,
    pub(crate) span: Span,
    /// What is asked, or why that is not known.
    pub(crate) asked: Result<MarkingQuestion, String>,
}

#[derive(Clone, Debug)]
pub(crate) enum MarkingQuestion {
    /// In every marking that can be reached.
    Always(MarkingFormula),
    /// In some marking that can be reached.
    Possibly(MarkingFormula),
}

/// What may hold of a marking.
#[derive(Clone, Debug)]
pub(crate) enum MarkingFormula {
    Truth(bool),
    Not(Box<MarkingFormula>),
    All(Vec<MarkingFormula>),
    Any(Vec<MarkingFormula>),
    /// The first is not greater than the second.
    AtMost(TokenSum, TokenSum),
    /// One of these transitions can fire: numbers of rules.
    Fireable(Vec<usize>),
    /// No transition can fire.
    Deadlock,
}

/// A number: tokens of places that are added and taken off, and a constant.
#[derive(Clone, Debug, Default)]
pub(crate) struct TokenSum {
    pub(crate) plus: Vec<usize>,
    pub(crate) minus: Vec<usize>,
    pub(crate) constant: i64,
}

impl NetQuestion {
    /// The places whose tokens are counted.
    pub(crate) fn places(&self) -> Vec<usize> {
        let mut places = Vec::new();
        let mut open: Vec<&MarkingFormula> = match &self.asked {
            Ok(MarkingQuestion::Always(formula) | MarkingQuestion::Possibly(formula)) => vec![formula],
            Err(_) => Vec::new(),
        };
        while let Some(formula) = open.pop() {
            match formula {
                MarkingFormula::Not(of) => open.push(of),
                MarkingFormula::All(of) | MarkingFormula::Any(of) => open.extend(of),
                MarkingFormula::AtMost(left, right) => {
                    for sum in [left, right] {
                        places.extend(sum.plus.iter().chain(&sum.minus));
                    }
                }
                MarkingFormula::Truth(_) | MarkingFormula::Fireable(_) | MarkingFormula::Deadlock => {}
            }
        }
        places
    }
}

type Understood<T> = Result<T, String>;

/// The questions of a file. What is wrong with one of them is no harm to the others.
pub(crate) fn questions(
    sources: &SourceMap,
    id: SourceId,
    names: &NetNames,
) -> Result<Vec<NetQuestion>, String> {
    let file = sources.file(id);
    let document = Document::parse(file.text()).map_err(|error| format!("the file is no XML: {error}"))?;
    let root = document.root_element();
    if root.tag_name().name() != "property-set" {
        return Err("the file has no properties: its first element is not `property-set`".into());
    }
    Ok(children(root).map(|node| question(node, id, names)).collect())
}

fn question(node: Node<'_, '_>, id: SourceId, names: &NetNames) -> NetQuestion {
    let range = node.range();
    let span = Span::new(id, range.start, range.end.min(range.start + 80));
    let name = children(node).find(|part| part.tag_name().name() == "id").map(words);
    let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| "a property without `id`".into());
    NetQuestion { name, span, asked: asked(node, names) }
}

fn asked(node: Node<'_, '_>, names: &NetNames) -> Understood<MarkingQuestion> {
    if node.tag_name().name() != "property" {
        return Err(strange(node));
    }
    let formula = children(node).find(|part| part.tag_name().name() == "formula");
    of_runs(only(formula.ok_or("a property without `formula`")?)?, names)
}

/// A formula of runs: one quantifier over them, and what every marking, or some marking, of them satisfies.
fn of_runs(node: Node<'_, '_>, names: &NetNames) -> Understood<MarkingQuestion> {
    let inside = |which: &str| -> Understood<MarkingFormula> {
        let path = only(node)?;
        match path.tag_name().name() == which {
            true => formula(only(path)?, names),
            false => {
                Err(format!("not supported: `{}` in `{}`", path.tag_name().name(), node.tag_name().name()))
            }
        }
    };
    match node.tag_name().name() {
        "all-paths" => inside("globally").map(MarkingQuestion::Always),
        "exists-path" => inside("finally").map(MarkingQuestion::Possibly),
        "negation" => Ok(match of_runs(only(node)?, names)? {
            MarkingQuestion::Always(of) => MarkingQuestion::Possibly(MarkingFormula::Not(Box::new(of))),
            MarkingQuestion::Possibly(of) => MarkingQuestion::Always(MarkingFormula::Not(Box::new(of))),
        }),
        _ => Err(strange(node)),
    }
}

fn formula(node: Node<'_, '_>, names: &NetNames) -> Understood<MarkingFormula> {
    let parts = || children(node).map(|part| formula(part, names)).collect::<Understood<Vec<_>>>();
    let two = || {
        let parts = children(node).map(|part| tokens(part, names)).collect::<Understood<Vec<_>>>()?;
        let [left, right] = <[TokenSum; 2]>::try_from(parts).map_err(|_| strange(node))?;
        Ok::<_, String>((left, right))
    };
    let at_most = |left: TokenSum, right: TokenSum| MarkingFormula::AtMost(left, right);
    let not = |of: MarkingFormula| MarkingFormula::Not(Box::new(of));
    Ok(match node.tag_name().name() {
        "true" => MarkingFormula::Truth(true),
        "false" => MarkingFormula::Truth(false),
        "negation" => not(formula(only(node)?, names)?),
        "conjunction" => MarkingFormula::All(parts()?),
        "disjunction" => MarkingFormula::Any(parts()?),
        "implication" => match <[MarkingFormula; 2]>::try_from(parts()?) {
            Ok([left, right]) => MarkingFormula::Any(vec![not(left), right]),
            Err(_) => return Err(strange(node)),
        },
        "integer-le" => two().map(|(left, right)| at_most(left, right))?,
        "integer-ge" => two().map(|(left, right)| at_most(right, left))?,
        "integer-gt" => two().map(|(left, right)| not(at_most(left, right)))?,
        "integer-lt" => two().map(|(left, right)| not(at_most(right, left)))?,
        "integer-eq" => equal(two()?),
        "integer-ne" => not(equal(two()?)),
        "is-fireable" => MarkingFormula::Fireable(named(node, "transition", &names.rules)?),
        "deadlock" => MarkingFormula::Deadlock,
        _ => return Err(strange(node)),
    })
}

fn equal((left, right): (TokenSum, TokenSum)) -> MarkingFormula {
    MarkingFormula::All(vec![
        MarkingFormula::AtMost(left.clone(), right.clone()),
        MarkingFormula::AtMost(right, left),
    ])
}

fn tokens(node: Node<'_, '_>, names: &NetNames) -> Understood<TokenSum> {
    let parts = || children(node).map(|part| tokens(part, names)).collect::<Understood<Vec<_>>>();
    match node.tag_name().name() {
        "integer-constant" => {
            let constant = words(node);
            let number = constant.parse().map_err(|_| format!("{constant:?} is no number"))?;
            Ok(TokenSum { constant: number, ..TokenSum::default() })
        }
        "tokens-count" => {
            let plus = named(node, "place", &names.places)?;
            Ok(TokenSum { plus, ..TokenSum::default() })
        }
        "integer-sum" => parts()?.into_iter().try_fold(TokenSum::default(), |sum, part| sum.and(part)),
        "integer-difference" => {
            let mut parts = parts()?.into_iter();
            let first = parts.next().ok_or_else(|| strange(node))?;
            parts.try_fold(first, |sum, part| sum.and(part.negated()?))
        }
        _ => Err(strange(node)),
    }
}

impl TokenSum {
    fn and(mut self, other: TokenSum) -> Understood<TokenSum> {
        self.plus.extend(other.plus);
        self.minus.extend(other.minus);
        self.constant = self.constant.checked_add(other.constant).ok_or("a number is too large")?;
        Ok(self)
    }

    fn negated(self) -> Understood<TokenSum> {
        let constant = self.constant.checked_neg().ok_or("a number is too large")?;
        Ok(TokenSum { plus: self.minus, minus: self.plus, constant })
    }
}

/// The things that a node names, one an element.
fn named(node: Node<'_, '_>, tag: &str, known: &HashMap<String, usize>) -> Understood<Vec<usize>> {
    let one = |part: Node<'_, '_>| {
        if part.tag_name().name() != tag {
            return Err(strange(part));
        }
        let name = words(part);
        known.get(&name).copied().ok_or_else(|| format!("the net has no {tag} {name:?}"))
    };
    children(node).map(one).collect()
}

fn strange(node: Node<'_, '_>) -> String {
    format!("not supported: `{}` here", node.tag_name().name())
}

/// The one element inside of another.
fn only<'a, 'i>(node: Node<'a, 'i>) -> Understood<Node<'a, 'i>> {
    let mut all = children(node);
    match (all.next(), all.next()) {
        (Some(one), None) => Ok(one),
        _ => Err(format!("`{}` with not exactly one part", node.tag_name().name())),
    }
}

fn children<'a, 'i>(node: Node<'a, 'i>) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(Node::is_element)
}

fn words(node: Node<'_, '_>) -> String {
    node.text().unwrap_or_default().trim().to_string()
}
