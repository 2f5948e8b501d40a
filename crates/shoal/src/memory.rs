//! How much memory a search may take if nobody says.

use std::fs;

/// Three quarters of the memory that is free on this machine and allowed to this process; nothing where the
/// system does not tell. The rest is for what an engine does not count and for everybody else.
pub fn default_memory_limit() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| available(&text));
    let group = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        .into_iter()
        .filter_map(|path| fs::read_to_string(path).ok()?.trim().parse().ok())
        .min();
    let least = match (machine, group) {
        (Some(machine), Some(group)) => Some(machine.min(group)),
        (one, other) => one.or(other),
    };
    let usable = least.map(|bytes: u64| bytes / 4 * 3);
    match (usable, memory_of_addresses()) {
        (Some(usable), Some(addresses)) => Some(usable.min(addresses)),
        (one, other) => one.or(other),
    }
}

/// What may be in memory where the addresses of this process are limited (`ulimit -v`); nothing where they are not. Past that limit an
/// allocation fails, which no program survives: half is left, for a table that doubles and for what is reserved and not used.
pub fn memory_of_addresses() -> Option<u64> {
    let most = addresses(&fs::read_to_string("/proc/self/limits").ok()?)?;
    let statm = fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = statm.split_ascii_whitespace().map_while(|word| word.parse::<u64>().ok());
    let (size, resident) = (pages.next()?, pages.next()?);
    let reserved = size.saturating_sub(resident).checked_mul(4096)?;
    Some(most.saturating_sub(reserved) / 2)
}

/// The bytes that `/proc/self/limits` allows addresses for.
fn addresses(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// What this process has in memory, in bytes; nothing where the system does not tell.
pub fn resident_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    // The size of a page is not told there; it is this on the systems that have the file, or larger.
    pages.checked_mul(4096)
}

/// The bytes that `/proc/meminfo` calls available.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_read_in_kilobytes() {
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:     2048 kB\n"), Some(2 << 20));
        assert_eq!(available("MemTotal: 9 kB\n"), None);
    }

    #[test]
    fn limits_of_addresses_are_read() {
        let limits = |space: &str| format!("Limit  Soft Limit\nMax address space         {space}   bytes\n");
        assert_eq!(addresses(&limits("819200000            819200000")), Some(819_200_000));
        assert_eq!(addresses(&limits("unlimited            unlimited")), None);
    }
}
