//! Certificates: why a property holds for any number of elements, in lines of JSON.
//!
//! A certificate is written and read line by line, so it may have any size, and it is whole: it has the counter system, what
//! must not be covered, and the proof, so that any program can check it. The first line says what it is; each further line
//! is an object with one entry:
//!
//! - `system`: how many shared states and places there are; `shared` and `place`: what some of them are called
//! - `initial`: where the system begins, at most and at least; `transition`: from, to, what it takes and gives, and the
//!   transfers, each a place and its targets
//! - `target`: what must not be covered
//! - `proof`: the kind of the proof; then its parts: `element`, or `bad`, `view` and `weights`
//! - `end`: how many lines came before
//!
//! A configuration is `[shared, [[place, count], ...]]`, a count is a number or `"w"` for omega. A view is a shared state that
//! occurs and the places that can be marked there, each with the places that can be marked at the same time; a set of places
//! is a hexadecimal number, place 0 its lowest bit.

use std::io::{self, BufRead, Write};

use serde_json::{Map, Value as Json, json};
use shoal_certificate::{Config, OMEGA, PlaceTokens, Proof, System, Transfer, Transition, Views, Weights};

use crate::{Origin, TraceError, certificate_lines::CertificateLines};

/// What is written.
pub struct Certificate<'a> {
    /// Where the model comes from.
    pub origin: &'a Origin,
    /// The property that holds.
    pub property: &'a str,
    /// The system that the proof speaks of.
    pub system: &'a System,
    /// What must not be covered.
    pub targets: &'a [Config],
    /// Why it cannot.
    pub proof: &'a Proof,
    /// What a shared state (true) or a place (false) is.
    pub name: &'a dyn Fn(bool, u32) -> String,
}

/// A certificate that was read.
#[derive(Clone, Debug)]
pub struct SavedCertificate {
    /// Where it comes from.
    pub origin: Origin,
    /// The property that holds.
    pub property: String,
    /// The system that the proof speaks of.
    pub system: System,
    /// What must not be covered.
    pub targets: Vec<Config>,
    /// Why.
    pub proof: Proof,
}

/// More states than this are not named.
const NAMED: u32 = 4_096;

/// Certificates of systems with more shared states or places than this are not read: something must be wrong with them.
const MOST_STATES: u32 = 1 << 24;

/// Views of more bytes than this are not read.
const MOST_BYTES: u64 = 8 << 30;

/// Writes a certificate.
pub fn write_certificate(out: &mut dyn Write, certificate: &Certificate<'_>) -> io::Result<()> {
    let Certificate { origin, property, system, targets, proof, name } = certificate;
    let mut lines = CertificateLines::new(out);
    let set: Map<String, Json> =
        origin.set.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let options: Map<String, Json> =
        origin.options.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    lines.whole(&json!({
        "format": "shoal certificate",
        "schema": 2,
        "made_by": format!("Shoal {}", env!("CARGO_PKG_VERSION")),
        "source": origin.file,
        "set": set,
        "options": options,
        "property": property,
    }))?;
    lines.put("system", json!({"shared": system.shared, "places": system.places}))?;
    for at in 0..system.shared.min(NAMED) {
        lines.put("shared", json!([at, name(true, at)]))?;
    }
    for at in 0..system.places.min(NAMED) {
        lines.put("place", json!([at, name(false, at)]))?;
    }
    for (most, least) in system.initial.iter().zip(&system.least) {
        lines.put("initial", json!([config(most), config(least)]))?;
    }
    for Transition { from, to, take, give, transfers } in &system.transitions {
        let moves: Json = transfers.iter().map(|one| json!([one.place, one.targets.to_vec()])).collect();
        lines.put("transition", json!([from, to, tokens(take), tokens(give), moves]))?;
    }
    for target in *targets {
        lines.put("target", config(target))?;
    }
    lines.proof(system, proof)?;
    lines.end()
}

impl CertificateLines<'_> {
    fn proof(&mut self, system: &System, proof: &Proof) -> io::Result<()> {
        match proof {
            Proof::Covering(elements) => {
                self.put("proof", json!("covering"))?;
                elements.iter().try_for_each(|element| self.put("element", config(element)))
            }
            Proof::Excluding { bad, views, weights } => {
                self.put("proof", json!(if views.is_some() { "excluding with views" } else { "excluding" }))?;
                bad.iter().try_for_each(|element| self.put("bad", config(element)))?;
                for weights in weights {
                    let line =
                        json!({"shared": weights.shared, "places": weights.places, "bound": weights.bound});
                    self.put("weights", line)?;
                }
                let Some(views) = views else { return Ok(()) };
                for shared in (0..system.shared).filter(|shared| views.occurs(*shared)) {
                    let row = |place: u32| json!([place, hex(views.row(shared, place))]);
                    let rows: Json = views.places(shared).map(row).collect();
                    self.put("view", json!([shared, rows]))?;
                }
                Ok(())
            }
        }
    }
}

fn tokens(tokens: &[PlaceTokens]) -> Json {
    let count = |count: u32| if count == OMEGA { json!("w") } else { json!(count) };
    tokens.iter().map(|token| json!([token.0, count(token.1)])).collect()
}

fn config(config: &Config) -> Json {
    json!([config.shared, tokens(&config.tokens)])
}

fn hex(bits: &[u64]) -> String {
    let digits: String = bits.iter().rev().map(|word| format!("{word:016x}")).collect();
    let short = digits.trim_start_matches('0');
    if short.is_empty() { "0".into() } else { short.into() }
}

/// Reads a certificate. The error names the line.
pub fn read_certificate(input: &mut dyn BufRead) -> Result<SavedCertificate, TraceError> {
    let mut reader = CertificateReader::default();
    let mut text = String::new();
    loop {
        text.clear();
        let at = reader.lines + 1;
        let read = input.read_line(&mut text).map_err(|error| TraceError(format!("line {at}: {error}")))?;
        if read == 0 {
            break;
        }
        let wrong = |why: String| TraceError(format!("line {at}: {why}"));
        let line: Json = serde_json::from_str(&text).map_err(|error| wrong(format!("no JSON: {error}")))?;
        let known = reader.line(&line).map_err(wrong)?;
        known.ok_or_else(|| wrong("the certificate is damaged".into()))?;
        reader.lines += 1;
    }
    reader.finish().map_err(TraceError)
}

/// What was read so far.
#[derive(Default)]
struct CertificateReader {
    lines: u64,
    head: Option<(Origin, String)>,
    sized: bool,
    system: System,
    targets: Vec<Config>,
    proof: Option<Proof>,
    ended: bool,
}

impl CertificateReader {
    /// Takes a line. Nothing if it is not as it should be; the error says more.
    fn line(&mut self, line: &Json) -> Result<Option<()>, String> {
        if self.ended {
            return Err("the certificate goes on after its end".into());
        }
        if self.head.is_none() {
            if line["format"] != "shoal certificate" || line["schema"] != 2 {
                return Err("this is no certificate of a kind that is known".into());
            }
            self.head = head(line);
            return Ok(self.head.as_ref().map(drop));
        }
        let mut entries = line.as_object().map(Map::iter).into_iter().flatten();
        let (Some((kind, what)), None) = (entries.next(), entries.next()) else { return Ok(None) };
        if kind != "system" && !self.sized {
            return Err(format!("`{kind}` comes before `system`"));
        }
        Ok(match kind.as_str() {
            "system" => self.sizes(what)?,
            // Names are for those who read.
            "shared" | "place" => Some(()),
            "initial" => self.initial(what),
            "transition" => self.transition(what).map(|transition| self.system.transitions.push(transition)),
            "target" => self.config(what).map(|target| self.targets.push(target)),
            "proof" if self.proof.is_some() => return Err("there are two proofs".into()),
            "proof" => self.kind(what).map(|proof| self.proof = Some(proof)),
            "element" | "bad" | "weights" | "view" => self.part(kind, what),
            "end" => {
                self.ended = what.as_u64() == Some(self.lines);
                if !self.ended {
                    return Err(format!(
                        "the end says that {what} lines come before, and there are {}",
                        self.lines
                    ));
                }
                Some(())
            }
            other => return Err(format!("`{other}` is not known")),
        })
    }

    fn sizes(&mut self, what: &Json) -> Result<Option<()>, String> {
        if self.sized {
            return Err("there are two systems".into());
        }
        let (Some(shared), Some(places)) = (number(&what["shared"]), number(&what["places"])) else {
            return Ok(None);
        };
        if shared.max(places) > MOST_STATES {
            return Err(format!("{shared} shared states and {places} places are too many"));
        }
        (self.system.shared, self.system.places, self.sized) = (shared, places, true);
        Ok(Some(()))
    }

    fn initial(&mut self, what: &Json) -> Option<()> {
        let (most, least) = (self.config(what.get(0)?)?, self.config(what.get(1)?)?);
        self.system.initial.push(most);
        self.system.least.push(least);
        Some(())
    }

    fn place(&self, json: &Json) -> Option<u32> {
        number(json).filter(|place| *place < self.system.places)
    }

    fn shared(&self, json: &Json) -> Option<u32> {
        number(json).filter(|shared| *shared < self.system.shared)
    }

    /// Tokens in the order of their places, each place once; with omegas or without.
    fn tokens(&self, json: &Json, omegas: bool) -> Option<Vec<PlaceTokens>> {
        let mut all: Vec<PlaceTokens> = Vec::new();
        for token in json.as_array()? {
            let place = self.place(token.get(0)?)?;
            let count = match token.get(1)? {
                Json::String(text) if text == "w" && omegas => OMEGA,
                count => number(count).filter(|count| *count > 0 && *count != OMEGA)?,
            };
            if all.last().is_some_and(|last| last.0 >= place) {
                return None;
            }
            all.push((place, count));
        }
        Some(all)
    }

    fn config(&self, json: &Json) -> Option<Config> {
        let tokens = self.tokens(json.get(1)?, true)?.into_iter().collect();
        Some(Config { shared: self.shared(json.get(0)?)?, tokens })
    }

    fn transition(&self, json: &Json) -> Option<Transition> {
        let mut transfers: Vec<Transfer> = Vec::new();
        for transfer in json.get(4)?.as_array()? {
            let place = self.place(transfer.get(0)?)?;
            let targets =
                transfer.get(1)?.as_array()?.iter().map(|to| self.place(to)).collect::<Option<_>>()?;
            if transfers.last().is_some_and(|last| last.place >= place) {
                return None;
            }
            transfers.push(Transfer { place, targets });
        }
        Some(Transition {
            from: self.shared(json.get(0)?)?,
            to: self.shared(json.get(1)?)?,
            take: self.tokens(json.get(2)?, false)?.into_iter().collect(),
            give: self.tokens(json.get(3)?, false)?.into_iter().collect(),
            transfers,
        })
    }

    fn kind(&self, what: &Json) -> Option<Proof> {
        let (shared, places) = (self.system.shared, self.system.places);
        match what.as_str()? {
            "covering" => Some(Proof::Covering(Vec::new())),
            "excluding" => Some(Proof::Excluding { bad: Vec::new(), views: None, weights: Vec::new() }),
            "excluding with views" => {
                let words = u64::from(places).div_ceil(64).max(1);
                (u64::from(shared) * words * 8 <= MOST_BYTES).then(|| Proof::Excluding {
                    bad: Vec::new(),
                    views: Some(Views::empty(shared, places)),
                    weights: Vec::new(),
                })
            }
            _ => None,
        }
    }

    fn part(&mut self, kind: &str, what: &Json) -> Option<()> {
        let config = self.config(what);
        let row = (kind == "view").then(|| self.view(what));
        match (self.proof.as_mut()?, kind) {
            (Proof::Covering(elements), "element") => elements.push(config?),
            (Proof::Excluding { bad, .. }, "bad") => bad.push(config?),
            (Proof::Excluding { weights, .. }, "weights") => weights.push(read_weights(what)?),
            (Proof::Excluding { views: Some(views), .. }, "view") => {
                let (shared, rows) = row??;
                if views.occurs(shared) {
                    return None;
                }
                views.put_shared(shared);
                rows.into_iter().for_each(|(place, partners)| views.put_row(shared, place, partners));
            }
            _ => return None,
        }
        Some(())
    }

    /// A shared state, and its places with their partners.
    #[allow(clippy::type_complexity)]
    fn view(&self, json: &Json) -> Option<(u32, Vec<(u32, Vec<u32>)>)> {
        let shared = self.shared(json.get(0)?)?;
        let bytes = u64::from(self.system.places) * u64::from(self.system.places).div_ceil(64).max(1) * 8;
        if bytes > MOST_BYTES {
            return None;
        }
        let mut rows = Vec::new();
        for row in json.get(1)?.as_array()? {
            let place = self.place(row.get(0)?)?;
            let mut partners = Vec::new();
            for (position, digit) in row.get(1)?.as_str()?.chars().rev().enumerate() {
                let digit = digit.to_digit(16)?;
                let bits = (0..4).filter(|bit| digit >> bit & 1 == 1);
                partners.extend(bits.map(|bit| position as u32 * 4 + bit));
            }
            if partners.iter().any(|partner| *partner >= self.system.places) {
                return None;
            }
            rows.push((place, partners));
        }
        Some((shared, rows))
    }

    fn finish(self) -> Result<SavedCertificate, String> {
        let (Some((origin, property)), true) = (self.head, self.ended) else {
            return Err("the certificate has no end: a part of it is missing".into());
        };
        let Some(proof) = self.proof else { return Err("the certificate has no proof".into()) };
        Ok(SavedCertificate { origin, property, system: self.system, targets: self.targets, proof })
    }
}

fn head(line: &Json) -> Option<(Origin, String)> {
    let text = |json: &Json| json.as_str().map(String::from);
    let set = line["set"].as_object()?.iter().map(|(name, value)| Some((name.clone(), value.as_i64()?)));
    let options = line["options"].as_object()?.iter().map(|(name, value)| Some((name.clone(), text(value)?)));
    let origin = Origin {
        file: text(&line["source"])?,
        set: set.collect::<Option<_>>()?,
        options: options.collect::<Option<_>>()?,
    };
    Some((origin, text(&line["property"])?))
}

fn number(json: &Json) -> Option<u32> {
    u32::try_from(json.as_u64()?).ok()
}

fn read_weights(json: &Json) -> Option<Weights> {
    let list = |json: &Json| json.as_array()?.iter().map(Json::as_i64).collect::<Option<Vec<i64>>>();
    Some(Weights {
        shared: list(&json["shared"])?,
        places: list(&json["places"])?,
        bound: json["bound"].as_i64()?,
    })
}
