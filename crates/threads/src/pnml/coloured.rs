//! Symmetric nets: declarations, markings, inscriptions and conditions as ISO 15909-2 writes them.

use std::collections::{BTreeSet, HashMap};

use roxmltree::Node;
use shoal_syntax::{SourceId, cursor::Parsed};

use super::xml::{NetXml, call, elements};
use crate::coloured::{
    Addend, ColourCondition, ColourKind, ColourOrder, ColourTerm, ColouredClass, ColouredNet, ColouredPlace,
    ColouredTransition,
};

/// Reads a symmetric net.
pub(super) fn read<'a>(id: SourceId, one: Node<'a, 'a>) -> Parsed<ColouredNet> {
    let xml = NetXml { id };
    let mut reader = ColouredReader {
        xml,
        net: ColouredNet::default(),
        sorts: HashMap::new(),
        constants: HashMap::new(),
        variables: HashMap::new(),
        places: HashMap::new(),
        transitions: HashMap::new(),
    };
    let (mut declarations, mut places, mut transitions, mut arcs) = Default::default();
    xml.parts(one, |of, child| {
        let these: &mut Vec<Node<'a, 'a>> = match child.tag_name().name() {
            "declaration" => &mut declarations,
            "place" => &mut places,
            "transition" => &mut transitions,
            "arc" => &mut arcs,
            _ => return xml.other(of, child),
        };
        these.push(child);
        Ok(())
    })?;
    // What is named may stand behind where it is used.
    declarations.into_iter().try_for_each(|it| reader.declarations(it))?;
    places.into_iter().try_for_each(|it| reader.place(it))?;
    transitions.into_iter().try_for_each(|it| reader.transition(it))?;
    arcs.into_iter().try_for_each(|it| reader.arc(it))?;
    match reader.net.places.is_empty() {
        true => xml.wrong(one, "the net has no places"),
        false => Ok(reader.net),
    }
}

struct ColouredReader<'a> {
    xml: NetXml,
    net: ColouredNet,
    /// The classes that the colours of a sort consist of: none for plain tokens, several for a product.
    sorts: HashMap<&'a str, Vec<usize>>,
    /// The class of a constant, and which of its colours it is.
    constants: HashMap<&'a str, (usize, u32)>,
    variables: HashMap<&'a str, usize>,
    places: HashMap<&'a str, usize>,
    transitions: HashMap<&'a str, usize>,
}

impl<'a> ColouredReader<'a> {
    fn declarations(&mut self, node: Node<'a, 'a>) -> Parsed<()> {
        let structure = self.structure(node)?;
        for list in elements(structure) {
            if list.tag_name().name() != "declarations" {
                self.xml.other(structure, list)?;
                continue;
            }
            let named = |name: &'static str| elements(list).filter(move |it| it.tag_name().name() == name);
            // A product may stand before the classes that it is made of.
            let (products, classes): (Vec<_>, Vec<_>) = named("namedsort")
                .partition(|it| elements(*it).any(|of| of.tag_name().name() == "productsort"));
            classes.into_iter().chain(products).try_for_each(|it| self.sort(it))?;
            named("variabledecl").try_for_each(|it| self.variable(it))?;
            let known = |name: &str| ["namedsort", "variabledecl"].contains(&name);
            if let Some(other) = elements(list).find(|it| !known(it.tag_name().name())) {
                self.xml.other(list, other)?;
            }
        }
        Ok(())
    }

    fn sort(&mut self, node: Node<'a, 'a>) -> Parsed<()> {
        self.xml.attributes(node, &["id"])?;
        let name = self.xml.identity(node)?;
        let of = self.only(node)?;
        let classes = match of.tag_name().name() {
            "dot" => Vec::new(),
            kind @ ("cyclicenumeration" | "finiteenumeration") => {
                let mut size = 0;
                for constant in elements(of) {
                    if constant.tag_name().name() != "feconstant" {
                        return self.xml.unsupported(constant, format_args!("this in `{kind}`"));
                    }
                    self.xml.attributes(constant, &["id"])?;
                    let (name, number) = (self.xml.identity(constant)?, (self.net.classes.len(), size));
                    if self.constants.insert(name, number).is_some() {
                        return self.xml.wrong(constant, format!("the colour {name:?} stands there twice"));
                    }
                    size += 1;
                }
                let is_circle = kind == "cyclicenumeration";
                let kind = if is_circle { ColourKind::Circle } else { ColourKind::Names };
                vec![self.class(node, kind, size)?]
            }
            "finiteintrange" => {
                let (first, last) = self.range(of)?;
                vec![self.class(node, ColourKind::Numbers(first), first.abs_diff(last) as u32 + 1)?]
            }
            "productsort" => {
                let parts = elements(of).map(|part| self.user_sort(part)).collect::<Parsed<Vec<_>>>()?;
                parts.concat()
            }
            kind => return self.xml.unsupported(of, format_args!("the sort `{kind}`")),
        };
        match self.sorts.insert(name, classes) {
            None => Ok(()),
            Some(_) => self.xml.wrong(node, format!("the sort {name:?} stands there twice")),
        }
    }

    fn class(&mut self, node: Node<'a, 'a>, kind: ColourKind, size: u32) -> Parsed<usize> {
        if size == 0 {
            return self.xml.wrong(node, "a class without colours");
        }
        let name = node.attribute("name").map_or_else(|| self.xml.identity(node), Ok)?.into();
        let span = self.xml.span(node);
        let class = ColouredClass { name, span, kind, size, is_ordered: false, has_named: false };
        self.net.classes.push(class);
        Ok(self.net.classes.len() - 1)
    }

    fn range(&self, node: Node<'a, 'a>) -> Parsed<(i64, i64)> {
        self.xml.attributes(node, &["start", "end"])?;
        let number = |name: &str| node.attribute(name).and_then(|text| text.trim().parse::<i64>().ok());
        match (number("start"), number("end")) {
            (Some(start), Some(end)) if start <= end && end.abs_diff(start) < 100_000 => Ok((start, end)),
            _ => self.xml.wrong(node, "a range of numbers, from `start` to `end`, is expected"),
        }
    }

    fn user_sort(&self, node: Node<'a, 'a>) -> Parsed<Vec<usize>> {
        match node.tag_name().name() {
            "dot" => return Ok(Vec::new()),
            "usersort" => self.xml.attributes(node, &["declaration"])?,
            other => return self.xml.unsupported(node, format_args!("the sort `{other}` here")),
        }
        let name = node.attribute("declaration").unwrap_or_default();
        match self.sorts.get(name) {
            Some(classes) => Ok(classes.clone()),
            None => self.xml.wrong(node, format!("there is no sort {name:?}")),
        }
    }

    fn variable(&mut self, node: Node<'a, 'a>) -> Parsed<()> {
        self.xml.attributes(node, &["id"])?;
        let id = self.xml.identity(node)?;
        let [class] = self.user_sort(self.only(node)?)?[..] else {
            return self.xml.unsupported(node, "a variable that is not of one class");
        };
        let name = node.attribute("name").unwrap_or(id).to_string();
        if self.variables.insert(id, self.net.variables.len()).is_some() {
            return self.xml.wrong(node, format!("the variable {id:?} stands there twice"));
        }
        self.net.variables.push((name, class));
        Ok(())
    }

    fn place(&mut self, node: Node<'a, 'a>) -> Parsed<()> {
        self.xml.attributes(node, &["id"])?;
        let name = self.xml.identity(node)?;
        let [sort, marking] = self.labels(node, ["type", "hlinitialMarking"])?;
        let Some(sort) = sort else { return self.xml.wrong(node, "a place without `type`") };
        let domain = self.user_sort(sort)?;
        let marking = marking.map_or(Ok(Vec::new()), |term| self.bag(term, &domain, None))?;
        if self.places.insert(name, self.net.places.len()).is_some() {
            return self.xml.wrong(node, format!("the place {name:?} stands there twice"));
        }
        call(&mut self.net.names.places, name, node, self.net.places.len());
        self.net.places.push(ColouredPlace { name: name.into(), span: self.xml.span(node), domain, marking });
        Ok(())
    }

    fn transition(&mut self, node: Node<'a, 'a>) -> Parsed<()> {
        self.xml.attributes(node, &["id"])?;
        let name = self.xml.identity(node)?;
        let mut transition = ColouredTransition {
            name: name.into(),
            span: self.xml.span(node),
            variables: BTreeSet::new(),
            condition: None,
            take: Vec::new(),
            give: Vec::new(),
        };
        if let [Some(term)] = self.labels(node, ["condition"])? {
            transition.condition = Some(self.condition(term, &mut transition.variables)?);
        }
        if self.transitions.insert(name, self.net.transitions.len()).is_some() {
            return self.xml.wrong(node, format!("the transition {name:?} stands there twice"));
        }
        call(&mut self.net.names.rules, name, node, self.net.transitions.len());
        self.net.transitions.push(transition);
        Ok(())
    }

    fn arc(&mut self, node: Node<'a, 'a>) -> Parsed<()> {
        self.xml.attributes(node, &["id", "source", "target"])?;
        let end = |name: &str| node.attribute(name).unwrap_or_default();
        let (source, target) = (end("source"), end("target"));
        let joined = |place: &str, transition: &str| {
            Some((*self.places.get(place)?, *self.transitions.get(transition)?))
        };
        let (place, transition, takes) = match (joined(source, target), joined(target, source)) {
            (Some((place, transition)), _) => (place, transition, true),
            (None, Some((place, transition))) => (place, transition, false),
            (None, None) => {
                return self.xml.wrong(node, "an arc leads from a place to a transition or back");
            }
        };
        let [inscription] = self.labels(node, ["hlinscription"])?;
        let domain = self.net.places[place].domain.clone();
        let mut used = std::mem::take(&mut self.net.transitions[transition].variables);
        let bag = match inscription {
            Some(term) => self.bag(term, &domain, Some(&mut used))?,
            None if domain.is_empty() => vec![Addend { coefficient: 1, tuple: Vec::new() }],
            None => return self.xml.wrong(node, "an arc without `hlinscription`, to a place with colours"),
        };
        let of = &mut self.net.transitions[transition];
        of.variables = used;
        let side = if takes { &mut of.take } else { &mut of.give };
        match side.iter_mut().find(|(known, _)| *known == place) {
            Some((_, known)) => known.extend(bag),
            None => side.push((place, bag)),
        }
        Ok(())
    }

    /// A bag of colours of a domain. Variables are allowed where it is noted which are used.
    fn bag(
        &mut self,
        node: Node<'a, 'a>,
        domain: &[usize],
        mut used: Option<&mut BTreeSet<usize>>,
    ) -> Parsed<Vec<Addend>> {
        let mut bag = Vec::new();
        let mut open = vec![(node, 1i64)];
        while let Some((node, coefficient)) = open.pop() {
            self.xml.attributes(node, &["refvariable", "declaration", "value"])?;
            match node.tag_name().name() {
                "numberof" | "scalarproduct" => {
                    let (number, term) = match self.subterms(node)?[..] {
                        [term] => (1, term),
                        [number, term] => (self.number(number)?, term),
                        _ => return self.xml.wrong(node, "a number and a term are expected"),
                    };
                    let Some(product) = coefficient.checked_mul(number).filter(|it| it.abs() <= LARGEST)
                    else {
                        return self.xml.wrong(node, "a number is too large");
                    };
                    open.push((term, product));
                }
                "add" => open.extend(self.subterms(node)?.into_iter().map(|term| (term, coefficient))),
                "subtract" => {
                    let signs = std::iter::once(coefficient).chain(std::iter::repeat(-coefficient));
                    open.extend(self.subterms(node)?.into_iter().zip(signs));
                }
                "empty" => {}
                "all" => {
                    let classes = self.user_sort(self.only(node)?)?;
                    if classes != domain {
                        return self.xml.wrong(node, "`all` of another sort than the place has");
                    }
                    bag.push(Addend { coefficient, tuple: vec![ColourTerm::All; domain.len()] });
                }
                _ => {
                    let tuple = self.tuple(node, domain, used.as_deref_mut())?;
                    bag.push(Addend { coefficient, tuple });
                }
            }
        }
        bag.retain(|addend| addend.coefficient != 0);
        Ok(bag)
    }

    fn number(&self, node: Node<'a, 'a>) -> Parsed<i64> {
        let number = node.attribute("value").and_then(|text| text.trim().parse::<i64>().ok());
        match number.filter(|number| (0..=LARGEST).contains(number)) {
            Some(number) if node.tag_name().name() == "numberconstant" => Ok(number),
            _ => self.xml.wrong(node, "a `numberconstant` is expected here"),
        }
    }

    fn tuple(
        &mut self,
        node: Node<'a, 'a>,
        domain: &[usize],
        mut used: Option<&mut BTreeSet<usize>>,
    ) -> Parsed<Vec<ColourTerm>> {
        let parts = match node.tag_name().name() {
            "dotconstant" => Vec::new(),
            "tuple" => self.subterms(node)?,
            _ => vec![node],
        };
        if parts.len() != domain.len() {
            return self.xml.wrong(node, format!("a colour of {} parts is expected", domain.len()));
        }
        let parts = parts.into_iter().zip(domain);
        parts.map(|(part, class)| self.term(part, *class, used.as_deref_mut())).collect()
    }

    /// A colour of a class, or all of them.
    fn term(
        &mut self,
        node: Node<'a, 'a>,
        class: usize,
        used: Option<&mut BTreeSet<usize>>,
    ) -> Parsed<ColourTerm> {
        let (mut node, mut shift, mut is_moved) = (node, 0i64, false);
        // Neighbours, as many as there are.
        while let by @ ("successor" | "predecessor") = node.tag_name().name() {
            shift += if by == "successor" { 1 } else { -1 };
            is_moved = true;
            let [of] = self.subterms(node)?[..] else {
                return self.xml.wrong(node, format!("`{by}` of one colour is expected"));
            };
            node = of;
        }
        self.xml.attributes(node, &["refvariable", "declaration", "value"])?;
        let (of, term) = match node.tag_name().name() {
            "variable" => {
                let name = node.attribute("refvariable").unwrap_or_default();
                let Some(variable) = self.variables.get(name).copied() else {
                    return self.xml.wrong(node, format!("there is no variable {name:?}"));
                };
                match used {
                    Some(used) => used.insert(variable),
                    None => return self.xml.wrong(node, "a variable in a marking"),
                };
                (self.net.variables[variable].1, ColourTerm::Variable(variable))
            }
            "useroperator" => {
                let name = node.attribute("declaration").unwrap_or_default();
                let Some((of, colour)) = self.constants.get(name).copied() else {
                    return self.xml.unsupported(node, format_args!("the operator {name:?}"));
                };
                self.net.classes[of].has_named = true;
                (of, ColourTerm::Constant(colour))
            }
            "finiteintrangeconstant" => {
                let ColouredClass { kind: ColourKind::Numbers(first), size, .. } = self.net.classes[class]
                else {
                    return self.xml.wrong(node, "a number where the class has none");
                };
                let last = first + i64::from(size) - 1;
                if let Some(range) = elements(node).next()
                    && (range.tag_name().name() != "finiteintrange" || self.range(range)? != (first, last))
                {
                    return self.xml.wrong(node, format!("a number of another range than {first} to {last}"));
                }
                let value = node.attribute("value").and_then(|text| text.trim().parse::<i64>().ok());
                let Some(value) = value.filter(|value| (first..=last).contains(value)) else {
                    return self.xml.wrong(node, format!("a number from {first} to {last} is expected"));
                };
                self.net.classes[class].has_named = true;
                (class, ColourTerm::Constant((value - first) as u32))
            }
            "all" if !is_moved => {
                let [of] = self.user_sort(self.only(node)?)?[..] else {
                    return self.xml.wrong(node, "`all` of one class is expected here");
                };
                (of, ColourTerm::All)
            }
            other => return self.xml.unsupported(node, format_args!("`{other}` as a colour")),
        };
        if of != class {
            let name = &self.net.classes[class].name;
            return self.xml.wrong(node, format!("a colour of the class {name:?} is expected"));
        }
        if !is_moved {
            return Ok(term);
        }
        if self.net.classes[class].kind != ColourKind::Circle {
            let name = &self.net.classes[class].name;
            return self
                .xml
                .unsupported(node, format_args!("successors in {name:?}, which is no `cyclicenumeration`"));
        }
        self.net.classes[class].is_ordered = true;
        Ok(ColourTerm::Shifted(Box::new(term), shift))
    }

    fn condition(&mut self, node: Node<'a, 'a>, used: &mut BTreeSet<usize>) -> Parsed<ColourCondition> {
        let parts = self.subterms(node)?;
        let compared = match node.tag_name().name() {
            "and" | "or" => {
                let parts = parts.into_iter().map(|part| self.condition(part, used));
                let parts = parts.collect::<Parsed<Vec<_>>>()?;
                let is_and = node.tag_name().name() == "and";
                return Ok(if is_and { ColourCondition::And(parts) } else { ColourCondition::Or(parts) });
            }
            "imply" => {
                let [left, right] = parts[..] else {
                    return self.xml.wrong(node, "two conditions are expected");
                };
                let left = ColourCondition::Not(Box::new(self.condition(left, used)?));
                return Ok(ColourCondition::Or(vec![left, self.condition(right, used)?]));
            }
            "not" => {
                let [of] = parts[..] else { return self.xml.wrong(node, "one condition is expected") };
                return Ok(ColourCondition::Not(Box::new(self.condition(of, used)?)));
            }
            "equality" => ColourOrder::Equal,
            "inequality" => ColourOrder::Unequal,
            "lessthan" => ColourOrder::Less,
            "lessthanorequal" => ColourOrder::AtMost,
            "greaterthan" => ColourOrder::Greater,
            "greaterthanorequal" => ColourOrder::AtLeast,
            other => return self.xml.unsupported(node, format_args!("`{other}` as a condition")),
        };
        let [left, right] = parts[..] else { return self.xml.wrong(node, "two colours are expected") };
        let class = match (self.class_of(left), self.class_of(right)) {
            (Some(class), _) | (None, Some(class)) => class,
            (None, None) => return self.xml.unsupported(node, "a comparison of colours of no known class"),
        };
        if !matches!(compared, ColourOrder::Equal | ColourOrder::Unequal) {
            self.net.classes[class].is_ordered = true;
        }
        let sides = [self.term(left, class, Some(used))?, self.term(right, class, Some(used))?];
        if sides.contains(&ColourTerm::All) {
            return self.xml.unsupported(node, "`all` in a comparison");
        }
        let [left, right] = sides;
        Ok(ColourCondition::Compare(compared, class, left, right))
    }

    /// The class of a colour, as far as its term says.
    fn class_of(&self, node: Node<'a, 'a>) -> Option<usize> {
        let node =
            node.descendants().find(|it| ["variable", "useroperator"].contains(&it.tag_name().name()))?;
        match node.attribute("refvariable") {
            Some(name) => self.variables.get(name).map(|variable| self.net.variables[*variable].1),
            None => self.constants.get(node.attribute("declaration")?).map(|(class, _)| *class),
        }
    }

    /// What labels of these names say, each at most once.
    fn labels<const N: usize>(
        &self,
        node: Node<'a, 'a>,
        names: [&str; N],
    ) -> Parsed<[Option<Node<'a, 'a>>; N]> {
        let mut found = [None; N];
        for child in elements(node) {
            let name = child.tag_name().name();
            let Some(at) = names.iter().position(|known| *known == name) else {
                self.xml.other(node, child)?;
                continue;
            };
            self.xml.attributes(child, &[])?;
            if found[at].replace(self.only(self.structure(child)?)?).is_some() {
                return self.xml.wrong(child, format!("a second `{name}`"));
            }
        }
        Ok(found)
    }

    /// The part of a label that programs read; the other is for people.
    fn structure(&self, node: Node<'a, 'a>) -> Parsed<Node<'a, 'a>> {
        let mut found = None;
        for child in elements(node) {
            match child.tag_name().name() {
                "structure" if found.is_none() => found = Some(child),
                "text" => {}
                _ => self.xml.other(node, child)?,
            }
        }
        match found {
            Some(found) => Ok(found),
            None => self.xml.wrong(node, format!("`{}` without `structure`", node.tag_name().name())),
        }
    }

    fn only(&self, node: Node<'a, 'a>) -> Parsed<Node<'a, 'a>> {
        let mut all = elements(node);
        match (all.next(), all.next()) {
            (Some(one), None) => Ok(one),
            _ => self.xml.wrong(node, format!("`{}` with not exactly one part", node.tag_name().name())),
        }
    }

    fn subterms(&self, node: Node<'a, 'a>) -> Parsed<Vec<Node<'a, 'a>>> {
        let one = |part: Node<'a, 'a>| match part.tag_name().name() {
            "subterm" => self.only(part),
            other => self.xml.unsupported(part, format_args!("`{other}` in `{}`", node.tag_name().name())),
        };
        elements(node).map(one).collect()
    }
}

/// The largest number of tokens that a term may name.
const LARGEST: i64 = u32::MAX as i64;

#[cfg(test)]
mod tests {
    use shoal_syntax::SourceMap;

    use crate::{Options, load_pnml};

    /// The error of a net with one class, one place and one arc, if it has one.
    fn refused(class: &str, place: &str, inscription: &str) -> Option<String> {
        let text = format!(
            "<pnml><net id='n' type='http://www.pnml.org/version-2009/grammar/symmetricnet'>\
             <declaration><structure><declarations><namedsort id='C' name='C'>{class}</namedsort>\
             <variabledecl id='x' name='x'><usersort declaration='C'/></variabledecl></declarations></structure></declaration>\
             <place id='p'>{place}</place><transition id='t'/><arc id='a' source='p' target='t'>\
             <hlinscription><structure>{inscription}</structure></hlinscription></arc></net></pnml>"
        );
        let mut sources = SourceMap::new();
        let id = sources.add("a.pnml", text);
        let options = Options { target: Some("p>=1".into()), ..Options::default() };
        let (model, diagnostics) = load_pnml(&sources, id, &[], &options);
        assert_eq!(model.is_none(), diagnostics.has_errors());
        diagnostics.iter().next().map(|found| found.message.clone())
    }

    const NAMES: &str =
        "<finiteenumeration><feconstant id='a' name='a'/><feconstant id='b' name='b'/></finiteenumeration>";
    const CIRCLE: &str = "<cyclicenumeration><feconstant id='a' name='a'/></cyclicenumeration>";
    const NUMBERS: &str = "<finiteintrange start='0' end='2'/>";
    const PLACE: &str = "<type><structure><usersort declaration='C'/></structure></type>";
    const X: &str = "<variable refvariable='x'/>";

    #[test]
    fn what_has_no_meaning_is_refused_by_its_name() {
        let successor = format!("<successor><subterm>{X}</subterm></successor>");
        let marking = "<hlinitialMarking><structure><all><usersort declaration='C'/></all></structure></hlinitialMarking>";
        let number =
            "<finiteintrangeconstant value='1'><finiteintrange start='0' end='2'/></finiteintrangeconstant>";
        let less = format!("<subtract>{}</subtract>", format!("<subterm>{X}</subterm>").repeat(3));
        for (class, inscription) in [(NAMES, X), (CIRCLE, &successor), (NUMBERS, number)] {
            assert_eq!(refused(class, &[PLACE, marking].concat(), inscription), None, "{inscription}");
        }
        let strange = [
            (NAMES.to_string(), PLACE.to_string(), successor.as_str(), "successors"),
            (NUMBERS.into(), PLACE.into(), &successor, "successors"),
            (NAMES.into(), PLACE.into(), number, "a number"),
            (NUMBERS.into(), PLACE.into(), &number.replace("'2'", "'5'"), "another range"),
            (NUMBERS.into(), PLACE.into(), &number.replace("value='1'", "value='3'"), "from 0 to 2"),
            (NAMES.into(), [PLACE, marking, marking].concat(), X, "a second `hlinitialMarking`"),
            (NAMES.into(), marking.into(), X, "without `type`"),
            (NAMES.replace("'b'", "'a'"), PLACE.into(), X, "twice"),
            (NAMES.into(), PLACE.into(), "<variable refvariable='x' odd='1'/>", "odd"),
            (NAMES.into(), PLACE.into(), "<variable refvariable='y'/>", "no variable"),
            (NAMES.into(), PLACE.into(), &less, "more than it has"),
            ("<integer/>".into(), PLACE.into(), X, "integer"),
        ];
        for (class, place, inscription, name) in strange {
            let error = refused(&class, &place, inscription).unwrap_or_else(|| panic!("read: {inscription}"));
            assert!(error.contains(name), "{error}: {inscription}");
        }
    }
}
