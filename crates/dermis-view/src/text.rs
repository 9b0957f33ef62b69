//! Numbers as the page, the report and the command line print them.

/// Digits that a measure is printed with.
const DIGITS: i32 = 4;

/// `value` with four significant digits, in plain notation where that stays short.
pub fn significant(value: f64) -> String {
    let magnitude = value.abs();
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    if !(1e-4..1e7).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    let decimals = (DIGITS - 1 - magnitude.log10().floor() as i32).max(0) as usize;
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_count() {
        let shown: Vec<String> = [1.234_56, 12.0, 0.001_234_5, 123_456.7, 0.0, 1.5e-7].map(significant).into();
        assert_eq!(shown, ["1.235", "12.00", "0.001234", "123457", "0", "1.500e-7"]);
    }
}
