//! What is typed after an option: settings, times and sizes.

use std::time::Duration;

/// What a name is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArgSetting {
    Number(i64),
    Any,
}

pub(super) fn parse_setting(text: &str) -> Result<(String, ArgSetting), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() {
        return Err("write NAME=VALUE".into());
    }
    if value == "any" {
        return Ok((name.to_string(), ArgSetting::Any));
    }
    let number = value.parse().map_err(|_| format!("`{value}` is not an integer of 64 bits"))?;
    Ok((name.to_string(), ArgSetting::Number(number)))
}

/// `NAME=NUMBER`, or `NAME` alone, which is 1, as compilers have it.
pub(super) fn parse_macro(text: &str) -> Result<(String, i64), String> {
    let (name, value) = text.split_once('=').unwrap_or((text, "1"));
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() {
        return Err("write NAME or NAME=NUMBER".into());
    }
    let number =
        value.parse().map_err(|_| format!("not supported: a macro that is no number (`{value}`)"))?;
    Ok((name.to_string(), number))
}

pub(super) fn parse_seconds(text: &str) -> Result<Duration, String> {
    let number: f64 =
        text.trim_end_matches('s').parse().map_err(|_| "not a number of seconds".to_string())?;
    Duration::try_from_secs_f64(number).map_err(|error| error.to_string())
}

pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1_000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "t" | "tb" => 1_000_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        other => return Err(format!("unknown unit `{other}`: write for example 200MB or 2GiB")),
    };
    let number: f64 = number.parse().map_err(|_| "write for example 200MB or 2GiB".to_string())?;
    let bytes = number * factor as f64;
    if bytes.is_finite() && bytes < u64::MAX as f64 { Ok(bytes as u64) } else { Err("too large".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_decimal_and_binary_units() {
        assert_eq!(parse_size("200MB"), Ok(200_000_000));
        assert_eq!(parse_size("2GiB"), Ok(2 << 30));
        assert_eq!(parse_size("1.5k"), Ok(1500));
        assert_eq!(parse_size("77"), Ok(77));
        assert!(parse_size("3 parsecs").is_err() && parse_size("").is_err() && parse_size("1e999").is_err());
    }

    #[test]
    fn settings_are_names_and_integers() {
        assert_eq!(parse_setting("N=-3"), Ok(("N".into(), ArgSetting::Number(-3))));
        assert_eq!(parse_setting("N=any"), Ok(("N".into(), ArgSetting::Any)));
        assert!(parse_setting("N").is_err() && parse_setting("=1").is_err() && parse_setting("N=x").is_err());
    }
}
