//! Certificates that are sets no step leads out of, in lines of JSON: the views of all reachable states of all instances, or
//! one state of each orbit of an instance.
//!
//! The first line says what it is: its `kind`, `views` or `states`, the model and a digest of it, and the properties that are
//! claimed to hold. Each further line is an object with one entry:
//!
//! - `shows` (of views): how many elements of each sort a view has (nothing for sorts of fixed size), how many more were looked at together,
//!   and of which model they are: whether stale values are reset in it, whether data is any number of values, whether loops that keep
//!   their last element keep any, and whether nothing is kept that nothing reads
//! - `predicate` (of views): the sort, whether it is satisfied where the body is false, the name of the element, the body
//! - `order` (of views): the same of a predicate whose elements are kept in the order in which they came to satisfy it
//! - `place` (of views): a variable and the way to a cell of it
//! - `view`: the cells, in the order of the places, and the bits of the predicates
//! - `symmetric` (of states): the sorts that orbits are made by
//! - `state`: the values of the variables, and which elements of sorts that grow there are
//! - `end`: how many lines came before
//!
//! A cell is `null` (undefined), a truth value, a number, `"nil"`, `"e3.1"` (a constant of type 3), `"@0.2"` (an element of sort 0) or
//! `"*0.1"` (an element of sort 0 that is not shown). A record, an array, a multiset or a sequence in a state is an object with one
//! entry, `r`, `a`, `m` or `s`.

use std::io::{self, BufRead, Cursor, Read, Write};

use serde_json::{Map, Value as Json, json};
use shoal_certificate::{OpenCell, OpenHop, OpenInvariant, OpenPlace, OpenPredicate, OpenView};
use shoal_model::{Model, SortId, State, TypeId, TypedId, Value, print_model};

use crate::{Origin, SavedCertificate, TraceError, certificate_lines::CertificateLines, read_certificate};

/// What a certificate claims, and of what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimOfInvariant {
    /// Where the model comes from.
    pub origin: Origin,
    /// A digest of the model: see [`digest`].
    pub model: String,
    /// The properties that hold.
    pub properties: Vec<String>,
}

/// The states of a finite search, one of each orbit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FiniteStates {
    /// The sorts that orbits are made by.
    pub symmetric: Vec<SortId>,
    /// The states.
    pub states: Vec<State>,
}

/// A certificate of some kind.
#[derive(Clone, Debug)]
pub enum AnyCertificate {
    /// Of a counter system.
    Counters(Box<SavedCertificate>),
    /// Of any number of elements, by views.
    Views(ClaimOfInvariant, OpenInvariant),
    /// Of one instance, by its states.
    States(ClaimOfInvariant, FiniteStates),
}

const FORMAT: &str = "shoal certificate";
const SCHEMA: u64 = 5;

/// A short text that another model hardly has: FNV-1a of its printed form.
pub fn digest(model: &Model) -> String {
    fnv(&print_model(model))
}

/// FNV-1a of a text, in hexadecimal digits: for texts that nobody forges.
pub fn fnv(text: &str) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
    format!("{hash:016x}")
}

impl CertificateLines<'_> {
    fn head(&mut self, kind: &str, claim: &ClaimOfInvariant) -> io::Result<()> {
        let set: Map<String, Json> =
            claim.origin.set.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        let options: Map<String, Json> =
            claim.origin.options.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        self.whole(&json!({
            "format": FORMAT,
            "schema": SCHEMA,
            "kind": kind,
            "made_by": format!("Shoal {}", env!("CARGO_PKG_VERSION")),
            "source": claim.origin.file,
            "set": set,
            "options": options,
            "model": claim.model,
            "properties": claim.properties,
        }))
    }
}

/// Writes the certificate of a proof by views.
pub fn write_views_certificate(
    out: &mut dyn Write,
    claim: &ClaimOfInvariant,
    invariant: &OpenInvariant,
) -> io::Result<()> {
    let mut lines = CertificateLines::new(out);
    lines.head("views", claim)?;
    let of = [invariant.refreshed, invariant.opened, invariant.loosened, invariant.unread];
    lines.put("shows", json!([invariant.elements, invariant.more, of[0], of[1], of[2], of[3]]))?;
    for predicate in &invariant.predicates {
        lines.put("predicate", question(predicate))?;
    }
    if let Some(order) = &invariant.order {
        lines.put("order", question(order))?;
    }
    for place in &invariant.places {
        let hops: Json = place.path.iter().map(hop).collect();
        lines.put("place", json!([place.var, hops]))?;
    }
    for view in &invariant.views {
        let cells: Json = view.cells.iter().map(|it| cell(*it)).collect();
        lines.put("view", json!([cells, view.bits]))?;
    }
    lines.end()
}

/// Writes the certificate of a finite search. States go to the file one by one.
pub fn write_states_certificate<'s>(
    out: &mut dyn Write,
    claim: &ClaimOfInvariant,
    symmetric: &[SortId],
    states: impl IntoIterator<Item = &'s State>,
) -> io::Result<()> {
    let mut lines = CertificateLines::new(out);
    lines.head("states", claim)?;
    let sorts: Json = symmetric.iter().map(|sort| json!(sort.index())).collect();
    lines.put("symmetric", sorts)?;
    for state in states {
        let Some(values) = state.values.iter().map(value).collect::<Option<Vec<Json>>>() else {
            return Err(io::Error::other("states with clocks have no certificate"));
        };
        lines.put("state", json!([values, state.live]))?;
    }
    lines.end()
}

fn question(OpenPredicate { sort, negated, element, body }: &OpenPredicate) -> Json {
    json!([sort, negated, element, body])
}

fn read_question(json: &Json) -> Option<OpenPredicate> {
    Some(OpenPredicate {
        sort: number(json.get(0)?)?,
        negated: json.get(1)?.as_bool()?,
        element: json.get(2)?.as_str()?.into(),
        body: json.get(3)?.as_str()?.into(),
    })
}

fn hop(hop: &OpenHop) -> Json {
    match hop {
        OpenHop::Field(at) => json!(["field", at]),
        OpenHop::Entry(at) => json!(["entry", at]),
        OpenHop::Known { sort, element } => json!(["known", sort, element]),
        OpenHop::Slot(at) => json!(["slot", at]),
        OpenHop::InUse(at) => json!(["in use", at]),
    }
}

fn cell(cell: OpenCell) -> Json {
    match cell {
        OpenCell::Undefined => Json::Null,
        OpenCell::Null => json!("nil"),
        OpenCell::Bool(value) => json!(value),
        OpenCell::Int(value) => json!(value),
        OpenCell::Enum { ty, at } => json!(format!("e{ty}.{at}")),
        OpenCell::Elem { sort, element } => json!(format!("@{sort}.{element}")),
        OpenCell::Star { sort, number } => json!(format!("*{sort}.{number}")),
    }
}

/// Nothing for clocks.
fn value(of: &Value) -> Option<Json> {
    let all = |values: &[Value]| values.iter().map(value).collect::<Option<Vec<Json>>>();
    Some(match of {
        Value::Undefined => cell(OpenCell::Undefined),
        Value::Null => cell(OpenCell::Null),
        Value::Bool(value) => cell(OpenCell::Bool(*value)),
        Value::Int(value) => cell(OpenCell::Int(*value)),
        Value::Enum(ty, at) => cell(OpenCell::Enum { ty: ty.index() as u32, at: *at }),
        Value::Elem(sort, element) => cell(OpenCell::Elem { sort: sort.index() as u32, element: *element }),
        Value::Clock(_) => return None,
        Value::Record(values) => json!({"r": all(values)?}),
        Value::Array(values) => json!({"a": all(values)?}),
        Value::Sequence(values) => json!({"s": all(values)?}),
        Value::Multiset(slots) => {
            let held: Vec<Value> = slots.iter().flatten().cloned().collect();
            json!({"m": all(&held)?})
        }
    })
}

/// Reads a certificate of any kind. The error names the line.
pub fn read_any_certificate(input: &mut dyn BufRead) -> Result<AnyCertificate, TraceError> {
    let mut first = String::new();
    input.read_line(&mut first).map_err(|error| TraceError(format!("line 1: {error}")))?;
    let wrong = |line: u64, why: &str| TraceError(format!("line {line}: {why}"));
    let head: Json =
        serde_json::from_str(&first).map_err(|error| TraceError(format!("line 1: no JSON: {error}")))?;
    if head["format"] == FORMAT && head["schema"] == 2 {
        let mut whole = Cursor::new(first).chain(input);
        return read_certificate(&mut whole).map(|read| AnyCertificate::Counters(Box::new(read)));
    }
    if head["format"] != FORMAT || head["schema"] != SCHEMA {
        return Err(wrong(1, "this is no certificate of a kind that is known"));
    }
    let claim = read_claim(&head).ok_or_else(|| wrong(1, "the certificate is damaged"))?;
    let mut reader = match head["kind"].as_str() {
        Some("views") => InvariantReader::Views(OpenInvariant {
            elements: Vec::new(),
            more: 0,
            predicates: Vec::new(),
            order: None,
            places: Vec::new(),
            views: Vec::new(),
            asked: Vec::new(),
            proved: Vec::new(),
            refreshed: false,
            opened: false,
            loosened: false,
            unread: false,
        }),
        Some("states") => InvariantReader::States(FiniteStates::default()),
        _ => return Err(wrong(1, "this is no certificate of a kind that is known")),
    };
    let (mut lines, mut ended, mut text) = (1_u64, false, String::new());
    loop {
        text.clear();
        let at = lines + 1;
        if input.read_line(&mut text).map_err(|error| TraceError(format!("line {at}: {error}")))? == 0 {
            break;
        }
        let line: Json = serde_json::from_str(&text)
            .map_err(|error| TraceError(format!("line {at}: no JSON: {error}")))?;
        let mut entries = line.as_object().map(Map::iter).into_iter().flatten();
        let (Some((kind, what)), None) = (entries.next(), entries.next()) else {
            return Err(wrong(at, "the certificate is damaged"));
        };
        if ended {
            return Err(wrong(at, "the certificate goes on after its end"));
        }
        let known = match kind.as_str() {
            "end" => {
                ended = what.as_u64() == Some(lines);
                ended.then_some(())
            }
            kind => reader.line(kind, what),
        };
        known.ok_or_else(|| wrong(at, "the certificate is damaged"))?;
        lines += 1;
    }
    if !ended {
        return Err(TraceError("the certificate has no end: a part of it is missing".into()));
    }
    Ok(match reader {
        InvariantReader::Views(invariant) => AnyCertificate::Views(claim, invariant),
        InvariantReader::States(states) => AnyCertificate::States(claim, states),
    })
}

fn read_claim(head: &Json) -> Option<ClaimOfInvariant> {
    let text = |json: &Json| json.as_str().map(String::from);
    let set = head["set"].as_object()?.iter().map(|(name, value)| Some((name.clone(), value.as_i64()?)));
    let options = head["options"].as_object()?.iter().map(|(name, value)| Some((name.clone(), text(value)?)));
    let origin = Origin {
        file: text(&head["source"])?,
        set: set.collect::<Option<_>>()?,
        options: options.collect::<Option<_>>()?,
    };
    let properties = head["properties"].as_array()?.iter().map(text).collect::<Option<_>>()?;
    Some(ClaimOfInvariant { origin, model: text(&head["model"])?, properties })
}

enum InvariantReader {
    Views(OpenInvariant),
    States(FiniteStates),
}

impl InvariantReader {
    /// Takes a line. Nothing if it is not as it should be.
    fn line(&mut self, kind: &str, what: &Json) -> Option<()> {
        match (self, kind) {
            (InvariantReader::Views(invariant), "shows") if invariant.elements.is_empty() => {
                let count = |json: &Json| match json {
                    Json::Null => Some(None),
                    json => number(json).map(Some),
                };
                invariant.elements = list(what.get(0)?)?.iter().map(count).collect::<Option<_>>()?;
                invariant.more = number(what.get(1)?)?;
                invariant.refreshed = what.get(2)?.as_bool()?;
                invariant.opened = what.get(3)?.as_bool()?;
                invariant.loosened = what.get(4)?.as_bool()?;
                // Older ones keep all that is written.
                invariant.unread = what.get(5).map_or(Some(false), Json::as_bool)?;
            }
            (InvariantReader::Views(invariant), "predicate") => {
                invariant.predicates.push(read_question(what)?)
            }
            (InvariantReader::Views(invariant), "order") if invariant.order.is_none() => {
                invariant.order = Some(read_question(what)?);
            }
            (InvariantReader::Views(invariant), "place") => {
                let path = list(what.get(1)?)?.iter().map(read_hop).collect::<Option<_>>()?;
                invariant.places.push(OpenPlace { var: number(what.get(0)?)?, path });
            }
            (InvariantReader::Views(invariant), "view") => {
                let cells = list(what.get(0)?)?.iter().map(read_cell).collect::<Option<_>>()?;
                invariant.views.push(OpenView { cells, bits: number(what.get(1)?)? });
            }
            (InvariantReader::States(states), "symmetric") if states.symmetric.is_empty() => {
                let sort = |json: &Json| Some(SortId::from_index(number(json)? as usize));
                states.symmetric = list(what)?.iter().map(sort).collect::<Option<_>>()?;
            }
            (InvariantReader::States(states), "state") => {
                let values = list(what.get(0)?)?.iter().map(read_value).collect::<Option<_>>()?;
                let row = |row: &Json| list(row)?.iter().map(Json::as_bool).collect::<Option<Vec<bool>>>();
                let live = list(what.get(1)?)?.iter().map(row).collect::<Option<_>>()?;
                states.states.push(State { values, live });
            }
            _ => return None,
        }
        Some(())
    }
}

fn list(json: &Json) -> Option<&Vec<Json>> {
    json.as_array()
}

fn number(json: &Json) -> Option<u32> {
    u32::try_from(json.as_u64()?).ok()
}

fn read_hop(json: &Json) -> Option<OpenHop> {
    let at = number(json.get(1)?)?;
    Some(match json.get(0)?.as_str()? {
        "field" => OpenHop::Field(at),
        "entry" => OpenHop::Entry(at),
        "known" => OpenHop::Known { sort: at, element: number(json.get(2)?)? },
        "slot" => OpenHop::Slot(at),
        "in use" => OpenHop::InUse(at),
        _ => return None,
    })
}

fn read_cell(json: &Json) -> Option<OpenCell> {
    Some(match json {
        Json::Null => OpenCell::Undefined,
        Json::Bool(value) => OpenCell::Bool(*value),
        Json::Number(value) => OpenCell::Int(value.as_i64()?),
        Json::String(text) if text == "nil" => OpenCell::Null,
        Json::String(text) => {
            let (kind, numbers) = text.split_at_checked(1)?;
            let (first, second) = numbers.split_once('.')?;
            let (first, second) = (first.parse().ok()?, second.parse().ok()?);
            match kind {
                "e" => OpenCell::Enum { ty: first, at: second },
                "@" => OpenCell::Elem { sort: first, element: second },
                "*" => OpenCell::Star { sort: first, number: second },
                _ => return None,
            }
        }
        Json::Array(_) | Json::Object(_) => return None,
    })
}

fn read_value(json: &Json) -> Option<Value> {
    let Json::Object(object) = json else {
        return Some(match read_cell(json)? {
            OpenCell::Undefined => Value::Undefined,
            OpenCell::Null => Value::Null,
            OpenCell::Bool(value) => Value::Bool(value),
            OpenCell::Int(value) => Value::Int(value),
            OpenCell::Enum { ty, at } => Value::Enum(TypeId::from_index(ty as usize), at),
            OpenCell::Elem { sort, element } => Value::Elem(SortId::from_index(sort as usize), element),
            OpenCell::Star { .. } => return None,
        });
    };
    let mut entries = object.iter();
    let (Some((kind, what)), None) = (entries.next(), entries.next()) else { return None };
    let values = list(what)?.iter().map(read_value).collect::<Option<Vec<Value>>>()?;
    Some(match kind.as_str() {
        "r" => Value::Record(values),
        "a" => Value::Array(values),
        "s" => Value::Sequence(values),
        "m" => Value::Multiset(values.into_iter().map(Some).collect()),
        _ => return None,
    })
}
