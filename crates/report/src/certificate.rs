//! Certificates as JSON: why a property holds for any number of elements.
//!
//! A configuration is `[shared, [[place, count], ...]]`, a count is a number or `"w"` for omega. Views are, for each shared
//! state that occurs, the places that can be marked with the places that can be marked at the same time; a set of places is
//! a hexadecimal number, place 0 its lowest bit. What the numbers of shared states and places mean stands under `names`.

use serde_json::{Map, Value as Json, json};
use shoal_cover::{Config, OMEGA, Proof, System, Views, Weights};

use crate::{Origin, TraceError};

/// A certificate that was read.
#[derive(Clone, Debug)]
pub struct SavedCertificate {
    /// Where it comes from.
    pub origin: Origin,
    /// The property that holds.
    pub property: String,
    /// Why.
    pub proof: Proof,
}

/// More states than this are not named.
const NAMED: u32 = 4_096;

/// A certificate as JSON. `name` says what a shared state (true) or a place (false) is.
pub fn write_certificate(
    origin: &Origin,
    property: &str,
    system: &System,
    proof: &Proof,
    name: &dyn Fn(bool, u32) -> String,
) -> String {
    let set: Map<String, Json> =
        origin.set.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let options: Map<String, Json> =
        origin.options.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let mut document = Map::new();
    document.insert("format".into(), json!("shoal certificate"));
    document.insert("schema".into(), json!(1));
    document.insert("made_by".into(), json!(format!("Shoal {}", env!("CARGO_PKG_VERSION"))));
    document.insert("source".into(), json!(origin.file));
    document.insert("set".into(), Json::Object(set));
    document.insert("options".into(), Json::Object(options));
    document.insert("property".into(), json!(property));
    let counts =
        json!({"shared": system.shared, "places": system.places, "transitions": system.transitions.len()});
    document.insert("system".into(), counts);
    document.insert("proof".into(), encode(system, proof));
    let names = |shared: bool, count: u32| -> Json {
        (0..count.min(NAMED)).map(|at| json!(name(shared, at))).collect()
    };
    document.insert(
        "names".into(),
        json!({"shared": names(true, system.shared), "places": names(false, system.places)}),
    );
    format!("{}\n", Json::Object(document))
}

fn encode(system: &System, proof: &Proof) -> Json {
    let configs = |list: &[Config]| -> Json { list.iter().map(config).collect() };
    match proof {
        Proof::Covering(elements) => json!({"kind": "covering", "elements": configs(elements)}),
        Proof::Excluding { bad, views, weights } => json!({
            "kind": "excluding",
            "bad": configs(bad),
            "views": views.as_ref().map(|views| encode_views(system, views)),
            "weights": weights.iter().map(encode_weights).collect::<Json>(),
        }),
    }
}

fn config(config: &Config) -> Json {
    let count = |count: u32| if count == OMEGA { json!("w") } else { json!(count) };
    let tokens: Json = config.tokens.iter().map(|token| json!([token.0, count(token.1)])).collect();
    json!([config.shared, tokens])
}

fn encode_views(system: &System, views: &Views) -> Json {
    let occur = (0..system.shared).filter(|shared| views.occurs(*shared));
    let row = |shared: u32, place: u32| json!([place, hex(views.row(shared, place))]);
    let rows = |shared: u32| -> Json { views.places(shared).map(|place| row(shared, place)).collect() };
    occur.map(|shared| json!([shared, rows(shared)])).collect()
}

fn hex(bits: &[u64]) -> String {
    let digits: String = bits.iter().rev().map(|word| format!("{word:016x}")).collect();
    let short = digits.trim_start_matches('0');
    if short.is_empty() { "0".into() } else { short.into() }
}

fn encode_weights(weights: &Weights) -> Json {
    json!({"shared": weights.shared, "places": weights.places, "bound": weights.bound})
}

/// Reads a certificate.
pub fn read_certificate(text: &str) -> Result<SavedCertificate, TraceError> {
    let document: Json =
        serde_json::from_str(text).map_err(|error| TraceError(format!("no JSON: {error}")))?;
    if document["format"] != "shoal certificate" || document["schema"] != 1 {
        return Err(TraceError("this is no certificate of a kind that is known".into()));
    }
    decode(&document).ok_or_else(|| TraceError("the certificate is damaged".into()))
}

fn decode(document: &Json) -> Option<SavedCertificate> {
    let text = |json: &Json| json.as_str().map(String::from);
    let set = document["set"].as_object()?.iter().map(|(name, value)| Some((name.clone(), value.as_i64()?)));
    let options =
        document["options"].as_object()?.iter().map(|(name, value)| Some((name.clone(), text(value)?)));
    let origin = Origin {
        file: text(&document["source"])?,
        set: set.collect::<Option<_>>()?,
        options: options.collect::<Option<_>>()?,
    };
    let (shared, places) = (number(&document["system"]["shared"])?, number(&document["system"]["places"])?);
    let proof = &document["proof"];
    let configs = |json: &Json| {
        json.as_array()?.iter().map(|json| read_config(json, shared, places)).collect::<Option<Vec<_>>>()
    };
    let proof = match proof["kind"].as_str()? {
        "covering" => Proof::Covering(configs(&proof["elements"])?),
        "excluding" => Proof::Excluding {
            bad: configs(&proof["bad"])?,
            views: match &proof["views"] {
                Json::Null => None,
                views => Some(read_views(views, shared, places)?),
            },
            weights: proof["weights"].as_array()?.iter().map(read_weights).collect::<Option<_>>()?,
        },
        _ => return None,
    };
    Some(SavedCertificate { origin, property: text(&document["property"])?, proof })
}

fn number(json: &Json) -> Option<u32> {
    u32::try_from(json.as_u64()?).ok()
}

fn read_config(json: &Json, shared: u32, places: u32) -> Option<Config> {
    let at = number(json.get(0)?).filter(|at| *at < shared)?;
    let mut config = Config { shared: at, tokens: Default::default() };
    for token in json.get(1)?.as_array()? {
        let place = number(token.get(0)?).filter(|place| *place < places)?;
        let count = match token.get(1)? {
            Json::String(text) if text == "w" => OMEGA,
            count => number(count)?,
        };
        config.set(place, count);
    }
    Some(config)
}

fn read_views(json: &Json, shared: u32, places: u32) -> Option<Views> {
    // A damaged certificate must not ask for all the memory there is.
    if u64::from(shared) * u64::from(places) > 1 << 32 {
        return None;
    }
    let mut views = Views::empty(shared, places);
    for entry in json.as_array()? {
        let at = number(entry.get(0)?).filter(|at| *at < shared)?;
        views.put_shared(at);
        for row in entry.get(1)?.as_array()? {
            let place = number(row.get(0)?).filter(|place| *place < places)?;
            let digits = row.get(1)?.as_str()?;
            let mut partners = Vec::new();
            for (position, digit) in digits.chars().rev().enumerate() {
                let digit = digit.to_digit(16)?;
                let bits = (0..4).filter(|bit| digit >> bit & 1 == 1);
                partners.extend(bits.map(|bit| position as u32 * 4 + bit));
            }
            if partners.iter().any(|partner| *partner >= places) {
                return None;
            }
            views.put_row(at, place, partners);
        }
    }
    Some(views)
}

fn read_weights(json: &Json) -> Option<Weights> {
    let list = |json: &Json| json.as_array()?.iter().map(Json::as_i64).collect::<Option<Vec<i64>>>();
    Some(Weights {
        shared: list(&json["shared"])?,
        places: list(&json["places"])?,
        bound: json["bound"].as_i64()?,
    })
}
