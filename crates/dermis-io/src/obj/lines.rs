//! Polylines as the text of an OBJ file, for inspection.

use std::fmt::Write;

use glam::Vec3;

/// A point per `v`, a polyline per `l`.
pub fn lines(lines: &[Vec<Vec3>]) -> String {
    let mut text = String::new();
    let mut first = 1;
    for line in lines.iter().filter(|line| line.len() > 1) {
        for point in line {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "v {} {} {}", point.x, point.y, point.z);
        }
        let numbers: Vec<String> = (first..first + line.len()).map(|number| number.to_string()).collect();
        let _ = writeln!(text, "l {}", numbers.join(" "));
        first += line.len();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_refer_to_points_counted_from_one() {
        let text = lines(&[vec![Vec3::ZERO, Vec3::X], vec![Vec3::Y], vec![Vec3::Y, Vec3::Z, Vec3::X]]);
        assert_eq!(text.lines().filter(|line| line.starts_with('l')).collect::<Vec<_>>(), ["l 1 2", "l 3 4 5"]);
    }
}
