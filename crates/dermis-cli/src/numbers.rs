//! Formatting of numbers.

pub(crate) use dermis_view::formatting::{measured, short};

/// `12345678` as `12,345,678`.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 frame`, `1,200 frames`.
pub(crate) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// A size in decimal units.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if count < 1000 {
        return format!("{count} bytes");
    }
    let mut size = count as f64 / 1000.0;
    let mut unit = 0;
    while size >= 999.5 && unit + 1 < UNITS.len() {
        size /= 1000.0;
        unit += 1;
    }
    let digits = usize::from(size < 9.95);
    format!("{size:.digits$} {}", UNITS[unit])
}

/// A time in seconds: `0.04 s`, `3.2 s`, `2 min 10 s`.
pub(crate) fn seconds(time: f64) -> String {
    match time {
        _ if time < 1.0 => format!("{time:.2} s"),
        _ if time < 60.0 => format!("{time:.1} s"),
        _ => format!("{} min {} s", (time.round() as u64) / 60, (time.round() as u64) % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted() {
        assert_eq!([grouped(0), grouped(999), grouped(1000), grouped(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([counted(1, "frame", "frames"), counted(2000, "frame", "frames")], ["1 frame", "2,000 frames"]);
        assert_eq!(
            [bytes(12), bytes(1234), bytes(999_999), bytes(48_000_000)],
            ["12 bytes", "1.2 kB", "1.0 MB", "48 MB"]
        );
        assert_eq!([seconds(0.041), seconds(3.21), seconds(130.2)], ["0.04 s", "3.2 s", "2 min 10 s"]);
    }
}
