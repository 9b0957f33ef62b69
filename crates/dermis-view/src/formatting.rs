//! Formatting of numbers for the page, the report and the command line.

/// Formats a number with about six digits, without trailing zeros.
pub fn short(number: f64) -> String {
    let magnitude = number.abs();
    if number == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e9).contains(&magnitude) {
        let text = format!("{number:.3e}");
        let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", mantissa.trim_end_matches('0').trim_end_matches('.'));
    }
    let decimals = (5 - magnitude.log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{number:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Formats a measure with three digits, without trailing zeros.
pub fn measured(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return short(number);
    }
    let decimals = (2 - number.abs().log10().floor() as i32).clamp(0, 300);
    let power = 10f64.powi(decimals);
    short((number * power).round() / power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_measures_with_three_digits() {
        let shown = [measured(1.093_74), measured(0.0), measured(123.4), measured(0.018_26), measured(9.784e-5)];
        assert_eq!(shown, ["1.09", "0", "123", "0.0183", "9.78e-5"]);
    }

    #[test]
    fn formats_numbers_with_six_digits() {
        assert_eq!([short(24.0), short(29.97), short(0.0), short(-0.123_456_7)], ["24", "29.97", "0", "-0.123457"]);
        assert_eq!([short(1.5e-7), short(3e12)], ["1.5e-7", "3e12"]);
    }
}
