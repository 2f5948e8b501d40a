//! PNML: place/transition nets, and symmetric nets.
//!
//! Tools extend PNML each in its own way, and what an extension means cannot be guessed: an arc may test for zero, a place
//! may have a capacity, a transition may take time. So every element and every attribute is either known here or refused
//! by its name. What only says how a net is drawn is known, and skipped.

use std::collections::HashMap;

use roxmltree::{Document, Node};
use shoal_model::Model;
use shoal_syntax::{Diagnostic, Diagnostics, SourceId, SourceMap, Span, cursor::Parsed};

use self::xml::{NetKind, NetXml, call, elements};
use crate::{
    Options, codes,
    coloured::ColouredNet,
    mcc::{self, NetQuestion},
    net::{self, Net, NetNames, NetTransition, TokenBounds, TokenCount},
};

mod coloured;
mod xml;

/// Makes a model of a PNML file.
pub(crate) fn load(
    sources: &SourceMap,
    id: SourceId,
    asked: &[SourceId],
    options: &Options,
) -> (Option<Model>, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let text = sources.file(id).text();
    let whole = Span::new(id, 0, 0);
    let document = match Document::parse(text) {
        Ok(document) => document,
        Err(error) => {
            let position = error.pos();
            let lines = text.split_inclusive('\n').take(position.row.saturating_sub(1) as usize);
            let start = lines.map(str::len).sum::<usize>() + position.col.saturating_sub(1) as usize;
            let start = (0..=start.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            let message = format!("the file is no XML: {error}");
            diagnostics.push(Diagnostic::error(codes::UNEXPECTED, Span::new(id, start, start), message));
            return (None, diagnostics);
        }
    };
    let read = NetXml { id }.only_net(&document).and_then(|(one, kind)| match kind {
        NetKind::Plain => NetReader::read(id, one).map(ReadNet::Plain),
        NetKind::Coloured => coloured::read(id, one).map(ReadNet::Coloured),
    });
    let model = match read {
        Ok(ReadNet::Plain(mut net)) => {
            net.questions = questions(sources, asked, &net.names, &mut diagnostics);
            net::lower(net, whole, options, &mut diagnostics)
        }
        Ok(ReadNet::Coloured(mut net)) => {
            net.questions = questions(sources, asked, &net.names, &mut diagnostics);
            crate::coloured::lower(net, whole, options, &mut diagnostics)
        }
        Err(error) => {
            diagnostics.push(*error);
            None
        }
    };
    (model, diagnostics)
}

/// What files ask about a net.
fn questions(
    sources: &SourceMap,
    asked: &[SourceId],
    names: &NetNames,
    diagnostics: &mut Diagnostics,
) -> Vec<NetQuestion> {
    let mut all = Vec::new();
    for file in asked {
        match mcc::questions(sources, *file, names) {
            Ok(read) => all.extend(read),
            Err(message) => {
                let span = Span::new(*file, 0, 0);
                diagnostics.push(Diagnostic::error(codes::UNEXPECTED, span, message));
            }
        }
    }
    all
}

/// A net of either kind.
enum ReadNet {
    Plain(Net),
    Coloured(ColouredNet),
}

/// What is known so far of the net in a document.
struct NetReader<'a> {
    xml: NetXml,
    net: Net,
    places: HashMap<&'a str, usize>,
    /// For each transition how many tokens it takes from which places, how many it gives, and how many must not be there.
    arcs: HashMap<&'a str, [HashMap<usize, TokenCount>; 3]>,
    names: Vec<(&'a str, Span)>,
}

impl<'a> NetReader<'a> {
    fn read(id: SourceId, one: Node<'a, 'a>) -> Parsed<Net> {
        let mut reader = NetReader {
            xml: NetXml { id },
            net: Net::default(),
            places: HashMap::new(),
            arcs: HashMap::new(),
            names: Vec::new(),
        };
        reader.whole(one)?;
        Ok(reader.net)
    }

    fn whole(&mut self, one: Node<'a, 'a>) -> Parsed<()> {
        self.net.target_span = self.xml.span(one);
        // Arcs may stand before what they join.
        let mut arcs = Vec::new();
        self.xml.parts(one, |of, child| {
            match child.tag_name().name() {
                "place" => self.place(child)?,
                "transition" => self.transition(child)?,
                "arc" => arcs.push(child),
                _ => self.xml.other(of, child)?,
            }
            Ok(())
        })?;
        if self.net.places.is_empty() {
            return self.xml.wrong(one, "the net has no places");
        }
        for arc in arcs {
            self.arc(arc)?;
        }
        self.rules();
        Ok(())
    }

    fn place(&mut self, place: Node<'a, 'a>) -> Parsed<()> {
        let name = self.xml.identity(place)?;
        self.xml.attributes(place, &["id", "initialMarking", "invariant"])?;
        if let Some(invariant) = place.attribute("invariant")
            && invariant.split_whitespace().collect::<String>() != "<inf"
        {
            return self.xml.unsupported(place, format_args!("the invariant {invariant:?} of a place"));
        }
        if self.places.insert(name, self.net.places.len()).is_some() {
            return self.xml.wrong(place, format!("the place {name:?} stands there twice"));
        }
        let marking = self.number(place, "initialMarking", &[])?;
        call(&mut self.net.names.places, name, place, self.net.places.len());
        self.net.places.push((name.into(), self.xml.span(place)));
        self.net.init.push(TokenBounds::exactly(marking.unwrap_or(0)));
        Ok(())
    }

    fn transition(&mut self, transition: Node<'a, 'a>) -> Parsed<()> {
        let name = self.xml.identity(transition)?;
        self.xml.attributes(transition, &["id", "urgent", "player"])?;
        for (attribute, plain) in [("urgent", "false"), ("player", "0")] {
            if let Some(value) = transition.attribute(attribute)
                && value != plain
            {
                return self
                    .xml
                    .unsupported(transition, format_args!("{attribute}={value:?} of a transition"));
            }
        }
        for child in elements(transition) {
            self.xml.other(transition, child)?;
        }
        if self.arcs.insert(name, Default::default()).is_some() {
            return self.xml.wrong(transition, format!("the transition {name:?} stands there twice"));
        }
        call(&mut self.net.names.rules, name, transition, self.names.len());
        self.names.push((name, self.xml.span(transition)));
        Ok(())
    }

    fn arc(&mut self, arc: Node<'a, 'a>) -> Parsed<()> {
        self.xml.attributes(arc, &["id", "source", "target", "type", "weight", "inscription"])?;
        let end = |name: &str| match arc.attribute(name) {
            Some(end) => Ok(end),
            None => self.xml.wrong(arc, format!("an arc without {name:?}")),
        };
        let (source, target) = (end("source")?, end("target")?);
        let mut kinds: Vec<&str> = arc.attribute("type").into_iter().collect();
        for child in elements(arc).filter(|child| child.tag_name().name() == "type") {
            self.xml.attributes(child, &["value"])?;
            match (child.attribute("value"), elements(child).next()) {
                (Some(kind), None) => kinds.push(kind),
                _ => return self.xml.unsupported(child, "an arc whose type is not written as `value`"),
            }
        }
        if let Some(kind) = kinds.iter().find(|kind| !["normal", "inhibitor"].contains(*kind)) {
            return self.xml.unsupported(arc, format_args!("arcs of type {kind:?}"));
        }
        let inhibits = kinds.contains(&"inhibitor");
        if inhibits && kinds.contains(&"normal") {
            return self.xml.wrong(arc, "an arc of two types");
        }
        let weights = [self.number(arc, "inscription", &["type"])?, self.attribute_number(arc, "weight")?];
        let weight = match weights {
            [Some(_), Some(_)] => return self.xml.wrong(arc, "the arc has two weights"),
            [one, other] => one.or(other).unwrap_or(1),
        };
        let (transition, place, side) = match (self.places.get(source), self.places.get(target)) {
            (Some(place), None) if inhibits => (target, *place, 2),
            (None, Some(_)) if inhibits => {
                return self.xml.wrong(arc, "an inhibitor arc leads from a place to a transition");
            }
            (Some(place), None) => (target, *place, 0),
            (None, Some(place)) => (source, *place, 1),
            _ => return self.xml.wrong(arc, "an arc leads from a place to a transition or back"),
        };
        let span = self.xml.span(arc);
        let Some(sides) = self.arcs.get_mut(transition) else {
            return self.xml.wrong(arc, format!("there is no place or transition {transition:?}"));
        };
        if inhibits {
            if weight == 0 {
                return self.xml.wrong(arc, "an inhibitor arc of weight 0: its transition never fires");
            }
            let least = sides[side].entry(place).or_insert(weight);
            *least = weight.min(*least);
            return Ok(());
        }
        let all = sides[side].entry(place).or_default();
        *all = net::sum(*all, weight, span)?;
        Ok(())
    }

    fn rules(&mut self) {
        for (name, span) in std::mem::take(&mut self.names) {
            let [take, give, inhibits] = self.arcs.remove(name).unwrap_or_default();
            let mut guard: Vec<(usize, TokenBounds)> =
                take.iter().map(|(place, count)| (*place, TokenBounds::at_least(*count))).collect();
            // So many tokens, or more, forbid the transition.
            guard.extend(inhibits.iter().map(|(place, count)| (*place, TokenBounds::at_most(count - 1))));
            guard.sort_unstable_by_key(|part| part.0);
            let mut touched: Vec<usize> = take.keys().chain(give.keys()).copied().collect();
            touched.sort_unstable();
            touched.dedup();
            let count = |side: &HashMap<usize, TokenCount>, place: usize| {
                i64::from(side.get(&place).copied().unwrap_or(0))
            };
            let updates = touched
                .into_iter()
                .map(|place| (place, vec![place], count(&give, place) - count(&take, place)))
                .filter(|(_, _, effect)| *effect != 0);
            self.net.rules.push(NetTransition { name: name.into(), guard, updates: updates.collect(), span });
        }
    }

    /// The number in a part or in the attribute of the same name, if there is one. `besides` are parts that are read elsewhere.
    fn number(&self, node: Node<'_, '_>, part: &str, besides: &[&str]) -> Parsed<Option<TokenCount>> {
        let mut found = self.attribute_number(node, part)?;
        for child in elements(node) {
            let name = child.tag_name().name();
            if name != part {
                if !besides.contains(&name) {
                    self.xml.other(node, child)?;
                }
                continue;
            }
            self.xml.attributes(child, &[])?;
            let mut texts = Vec::new();
            for inner in elements(child) {
                match inner.tag_name().name() {
                    "text" => texts.push(inner),
                    _ => self.xml.other(child, inner)?,
                }
            }
            let [text] = texts[..] else {
                return self.xml.wrong(child, format!("`{part}` without exactly one `text`"));
            };
            if elements(text).next().is_some() || found.is_some() {
                return self.xml.wrong(child, format!("`{part}` with more than one number"));
            }
            found = Some(self.parse(child, text.text().unwrap_or_default())?);
        }
        Ok(found)
    }

    fn attribute_number(&self, node: Node<'_, '_>, name: &str) -> Parsed<Option<TokenCount>> {
        node.attribute(name).map(|text| self.parse(node, text)).transpose()
    }

    fn parse(&self, node: Node<'_, '_>, text: &str) -> Parsed<TokenCount> {
        let digits = text.trim();
        if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            let message = format!("a number is expected here, not {digits:?}");
            return Err(Box::new(Diagnostic::error(codes::NUMBER, self.xml.span(node), message)));
        }
        net::tokens(digits, self.xml.span(node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error of a net, if it has one. `%` stands for an ornament in each place where one may be.
    fn refused(net: &str) -> Option<String> {
        let text = match net.starts_with("<pnml") {
            true => net.to_string(),
            false => format!(
                "<pnml xmlns='http://www.pnml.org/version-2009/grammar/pnml'><net id='n' \
                 type='http://www.pnml.org/version-2009/grammar/ptnet'><page id='g'>{net}</page></net></pnml>"
            ),
        };
        let mut sources = SourceMap::new();
        let id = sources.add("a.pnml", text);
        let options = Options { target: Some("p>=1".into()), ..Options::default() };
        let (model, diagnostics) = load(&sources, id, &[], &options);
        assert_eq!(model.is_none(), diagnostics.has_errors());
        diagnostics
            .iter()
            .find(|found| model.is_none() && !found.message.is_empty())
            .map(|found| found.message.clone())
    }

    fn with(place: &str, transition: &str, arc: &str) -> String {
        format!(
            "<place id='p'{place}</place><transition id='t'{transition}</transition><arc id='a' source='p' target='t'{arc}</arc>"
        )
    }

    #[test]
    fn what_is_of_another_namespace_is_refused() {
        let other = "xmlns:x='urn:somebody-else'";
        let element =
            format!("<place id='p'/><transition id='t'/><x:arc {other} id='a' source='p' target='t'/>");
        let attribute = with(">", ">", &format!(" {other} x:type='inhibitor'>"));
        for (net, word) in [(element, "`arc`"), (attribute, "`type`")] {
            let why = refused(&net).unwrap_or_default();
            assert!(why.contains(word) && why.contains("another namespace"), "{net}: {why:?}");
        }
    }

    #[test]
    fn what_only_says_how_a_net_is_drawn_is_skipped() {
        let plain = [
            with(">", ">", ">"),
            with(
                "><name><text>P</text><graphics><offset x='1' y='2'/></graphics></name>",
                ">",
                "><graphics/>",
            ),
            with(
                " positionX='1' displayName='true' invariant='&lt; inf'>",
                " urgent='false' player='0'>",
                " type='normal'>",
            ),
            with(" initialMarking='2'>", ">", " weight='2'>"),
            with(
                "><toolspecific tool='nupn' version='1'><structure><unit id='u'/></structure></toolspecific>",
                ">",
                ">",
            ),
            with(">", ">", "><type value='normal'/><inscription><text>3</text></inscription>"),
            format!(
                "<pnml><net id='n' type='http://www.pnml.org/version-2009/grammar/pnmlcoremodel'><page id='g'>{}</page></net></pnml>",
                with("><initialMarking><text>1</text></initialMarking>", ">", ">")
            ),
        ];
        for net in plain {
            assert_eq!(refused(&net), None, "{net}");
        }
    }

    #[test]
    fn what_is_not_known_is_refused_by_its_name() {
        let strange = [
            (with(">", ">", " type='inhibitor' weight='0'>"), "inhibitor"),
            (with(">", ">", " type='inhibitor'><type value='normal'/>"), "two types"),
            (with(">", ">", "><type><text>reset</text></type>"), "type"),
            (with(">", ">", "><type value='normal'/><type value='reset'/>"), "reset"),
            (with(">", ">", " kind='reset'>"), "kind"),
            (with(">", ">", " inhibitor='true'>"), "inhibitor"),
            (with(">", ">", "><hlinscription><text>1'x</text></hlinscription>"), "hlinscription"),
            (with(">", ">", " inscription='[0,inf)'>"), "[0,inf)"),
            (with(">", ">", " weight='x'>"), "\"x\""),
            (with(">", ">", "><inscription><value>2</value></inscription>"), "value"),
            (with(">", ">", "><inscription>2</inscription>"), "text"),
            (with(">", ">", "><inscription><text>2</text></inscription><inscription><text>3</text></inscription>"), "inscription"),
            (with(">", ">", " weight='99999999999'>"), "99999999999"),
            (with("><hlinitialMarking><text>1'a</text></hlinitialMarking>", ">", ">"), "hlinitialMarking"),
            (with("><type><text>dot</text></type>", ">", ">"), "type"),
            (with("><capacity><text>1</text></capacity>", ">", ">"), "capacity"),
            (with(" invariant='&lt;= 5'>", ">", ">"), "<= 5"),
            (with(" capacity='3'>", ">", ">"), "capacity"),
            (with(">", "><condition><text>x = y</text></condition>", ">"), "condition"),
            (with(">", " urgent='true'>", ">"), "urgent"),
            (with(">", "><priority><value>1</value></priority>", ">"), "priority"),
            (with(">", "><toolspecific tool='Tina' version='1'><interval/></toolspecific>", ">"), "interval"),
            (with(">", ">", ">") + "<referencePlace id='r' ref='p'/>", "referencePlace"),
            (with(">", ">", ">") + "<declaration/>", "declaration"),
            (with(">", ">", ">") + "<transportArc/>", "transportArc"),
            ("<pnml><net id='n' type='http://www.pnml.org/version-2009/grammar/symmetricnet'><place id='p'><initialMarking/></place></net></pnml>".into(), "initialMarking"),
            ("<pnml><net id='n' type='http://www.pnml.org/version-2009/grammar/pt-hlpng'><place id='p'/></net></pnml>".into(), "pt-hlpng"),
            ("<pnml><feature isTimed='true'/><net id='n'><place id='p'/></net></pnml>".into(), "feature"),
            ("<pnml><net id='n' timed='true'><place id='p'/></net></pnml>".into(), "timed"),
        ];
        for (net, name) in strange {
            let error = refused(&net).unwrap_or_else(|| panic!("read: {net}"));
            assert!(error.contains(name), "{error}: {net}");
        }
    }
}
