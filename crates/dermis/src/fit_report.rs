//! Report of a validation as one HTML file, and heat maps of values on a body as images (Kim et al. 2017, Figures
//! 8–12).

use std::fmt::Write as _;

use data_encoding::BASE64;
use dermis_io::Error as IoError;
use dermis_io::image::png_rgb;
use dermis_mesh::glam::{DVec3, Vec3};
use dermis_mesh::{TriMesh, UpAxis};
use dermis_tissue::fit::{CurvePoint, CurveStep, SequenceValidation};

use crate::error::Result;

/// Height of a heat map in pixels.
const HEIGHT: usize = 420;
/// Colours of a heat map, from 0 to the largest value.
const RAMP: [[f64; 3]; 5] =
    [[68.0, 90.0, 190.0], [80.0, 175.0, 225.0], [190.0, 215.0, 120.0], [250.0, 170.0, 60.0], [205.0, 40.0, 45.0]];
/// Quantile of the values at which a scale ends.
const SCALE_QUANTILE: f64 = 0.98;

/// Contents of a report.
#[derive(Debug, Clone)]
pub struct FitReport<'a> {
    /// Title.
    pub title: &'a str,
    /// Rest shape of the skin.
    pub mesh: &'a TriMesh,
    /// Direction that points up.
    pub up: UpAxis,
    /// Validated sequences.
    pub sequences: &'a [SequenceValidation],
    /// Names of the training sequences.
    pub training: &'a [&'a str],
    /// Loss after each iteration in mm², if the report follows a fit.
    pub losses_mm2: &'a [f64],
    /// Curves of the method of the paper.
    pub curves: &'a [CurvePoint],
    /// Relative depth d of each point of the skin.
    pub thickness: &'a [f32],
    /// Young's modulus under each point of the skin, in pascals.
    pub young_modulus_pa: &'a [f32],
}

/// Front and back view of `mesh`, coloured by `values` from `range[0]` to `range[1]`, as a PNG.
pub fn heat_map(mesh: &TriMesh, up: UpAxis, values: &[f64], range: [f64; 2]) -> Result<Vec<u8>> {
    let (width, pixels) = draw(mesh, up, values, range);
    png_rgb(width, &pixels).map_err(|error| IoError::malformed(format!("the image cannot be written: {error}")).into())
}

/// Draws both views side by side; returns the width and the pixels.
fn draw(mesh: &TriMesh, up: UpAxis, values: &[f64], [low, high]: [f64; 2]) -> (usize, Vec<[u8; 3]>) {
    let upright = |point: &Vec3| {
        let p = point.as_dvec3();
        match up {
            UpAxis::X => DVec3::new(p.y, p.x, -p.z),
            UpAxis::Y => p,
            UpAxis::Z => DVec3::new(p.x, p.z, -p.y),
        }
    };
    let points: Vec<DVec3> = mesh.points().iter().map(upright).collect();
    let (least, largest) =
        points.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(a, b), p| (a.min(*p), b.max(*p)));
    let size = largest - least;
    // Wide and flat shapes are drawn smaller, which bounds the width.
    let scale = (HEIGHT - 20) as f64 / size.y.max(0.5 * size.x).max(1e-9);
    let half = (size.x * scale).ceil() as usize + 20;
    let width = 2 * half;
    let mut pixels = vec![[255u8; 3]; width * HEIGHT];
    let mut depths = vec![f64::NEG_INFINITY; width * HEIGHT];
    let color = |value: f64| {
        let t = ((value - low) / (high - low).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0) * (RAMP.len() - 1) as f64;
        let k = (t as usize).min(RAMP.len() - 2);
        let mix = |c: usize| RAMP[k][c] + (RAMP[k + 1][c] - RAMP[k][c]) * (t - k as f64);
        [mix(0), mix(1), mix(2)]
    };
    for (view, side) in [1.0, -1.0].into_iter().enumerate() {
        let place = |p: &DVec3| {
            let x = if side > 0.0 { p.x - least.x } else { largest.x - p.x };
            DVec3::new(10.0 + (view * half) as f64 + x * scale, 10.0 + (largest.y - p.y) * scale, side * p.z)
        };
        for triangle in mesh.triangles() {
            let [a, b, c] = triangle.map(|point| place(&points[point as usize]));
            let tones = triangle.map(|point| color(values.get(point as usize).copied().unwrap_or(0.0)));
            let [p, q, r] = triangle.map(|point| points[point as usize]);
            let shade = 0.45 + 0.55 * ((q - p).cross(r - p).normalize_or_zero().z * side).max(0.0);
            let area = (b - a).truncate().perp_dot((c - a).truncate());
            if area == 0.0 {
                continue;
            }
            let (x0, x1) = (a.x.min(b.x).min(c.x).floor().max(0.0) as usize, a.x.max(b.x).max(c.x).ceil() as usize);
            let (y0, y1) = (a.y.min(b.y).min(c.y).floor().max(0.0) as usize, a.y.max(b.y).max(c.y).ceil() as usize);
            for y in y0..=y1.min(HEIGHT - 1) {
                for x in x0..=x1.min(width - 1) {
                    let at = DVec3::new(x as f64, y as f64, 0.0);
                    let edge = |from: DVec3, to: DVec3| (to - from).truncate().perp_dot((at - from).truncate()) / area;
                    let weights = [edge(b, c), edge(c, a), edge(a, b)];
                    if weights.iter().any(|weight| *weight < -1e-9) {
                        continue;
                    }
                    let depth = weights[0] * a.z + weights[1] * b.z + weights[2] * c.z;
                    let index = y * width + x;
                    if depth > depths[index] {
                        depths[index] = depth;
                        let mix = |k: usize| (0..3).map(|n| weights[n] * tones[n][k]).sum::<f64>() * shade;
                        pixels[index] = [mix(0), mix(1), mix(2)].map(|tone| tone.clamp(0.0, 255.0) as u8);
                    }
                }
            }
        }
    }
    (width, pixels)
}

/// Upper end of a colour scale for `values`.
pub fn scale_of<'a>(values: impl Iterator<Item = &'a f64>) -> f64 {
    let mut sorted: Vec<f64> = values.copied().collect();
    sorted.sort_by(f64::total_cmp);
    let at = (SCALE_QUANTILE * sorted.len().saturating_sub(1) as f64) as usize;
    sorted.get(at).copied().unwrap_or(1.0).max(1e-6)
}

/// The report as one HTML file.
pub fn fit_report(report: &FitReport<'_>) -> Result<String> {
    let mut html = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{0}</title><style>body{{font:15px/1.5 sans-serif;\
         margin:2em auto;max-width:70em;color:#222}}table{{border-collapse:collapse}}td,th{{padding:.2em .8em;text-align:\
         right;border-bottom:1px solid #ddd}}td:first-child,th:first-child{{text-align:left}}figure{{display:inline-block;\
         margin:1em 1em 1em 0}}figcaption{{color:#555}}</style><h1>{0}</h1>",
        escaped(report.title)
    );
    html += "<h2>Mean amplitude deviation</h2><table><tr><th>sequence<th><th>pose model<th>fit<th>ratio<th>rigid parts</tr>";
    for sequence in report.sequences {
        let kind = if report.training.contains(&sequence.name.as_str()) { "training" } else { "held out" };
        let (pose, fit) = (sequence.deviation_pose_model, sequence.deviation_fit);
        let _ = write!(
            html,
            "<tr><td>{}<td>{kind}<td>{pose:.2} m<td>{fit:.2} m<td>{:.0} %<td>{:.2} mm</tr>",
            escaped(&sequence.name),
            100.0 * fit / pose.max(f64::MIN_POSITIVE),
            1e3 * sequence.rigid_rms_m
        );
    }
    html += "</table>";
    html += &bars(report.sequences);
    if !report.losses_mm2.is_empty() {
        html += &figure(&curve_svg(&[("loss", report.losses_mm2)], "iteration", "mm²"), "Loss of the minimization");
    }
    html += &paper_curves(report.curves);
    html += "<h2>Flesh</h2>";
    let numbers = |values: &[f32]| -> Vec<f64> { values.iter().map(|&value| f64::from(value)).collect() };
    html += &picture(report, &numbers(report.thickness), [1.0, 2.0], "Relative depth d, from 1 to 2")?;
    let moduli: Vec<f64> = numbers(report.young_modulus_pa).iter().map(|pascal| pascal / 1e3).collect();
    let end = scale_of(moduli.iter());
    html += &picture(report, &moduli, [0.0, end], &format!("Young's modulus, from 0 to {end:.1} kPa"))?;
    for sequence in report.sequences {
        let _ = write!(html, "<h2>{}</h2>", escaped(&sequence.name));
        let end = scale_of(sequence.of_scan.iter());
        let range = format!("from 0 to {:.1} mm", 1e3 * end);
        html += &picture(report, &sequence.of_scan, [0.0, end], &format!("Deviation of the pose model, {range}"))?;
        html += &picture(report, &sequence.of_points, [0.0, end], &format!("Deviation of the fit, {range}"))?;
        let of = |k: usize| -> Vec<f64> { sequence.distances_m.iter().map(|pair| 1e3 * pair[k]).collect() };
        let (pose, fit) = (of(0), of(1));
        let svg = curve_svg(&[("pose model", &pose[..]), ("fit", &fit[..])], "frame", "mm");
        html += &figure(&svg, "Mean distance from the scan");
    }
    html += "</html>\n";
    Ok(html)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn figure(content: &str, caption: &str) -> String {
    format!("<figure>{content}<figcaption>{}</figcaption></figure>", escaped(caption))
}

fn picture(report: &FitReport<'_>, values: &[f64], range: [f64; 2], caption: &str) -> Result<String> {
    let png = heat_map(report.mesh, report.up, values, range)?;
    let image = format!("<img alt=\"{}\" src=\"data:image/png;base64,{}\">", escaped(caption), BASE64.encode(&png));
    Ok(figure(&image, caption))
}

/// Deviations of the pose model and of the fit per sequence (Figure 12).
fn bars(sequences: &[SequenceValidation]) -> String {
    let largest = sequences.iter().map(|s| s.deviation_pose_model.max(s.deviation_fit)).fold(1e-9, f64::max);
    let mut svg = format!("<svg width=\"640\" height=\"{}\" font-size=\"13\">", 30 * sequences.len() + 10);
    for (k, sequence) in sequences.iter().enumerate() {
        let y = 30 * k + 5;
        let _ = write!(svg, "<text x=\"0\" y=\"{}\">{}</text>", y + 16, escaped(&sequence.name));
        for (row, (value, color)) in
            [(sequence.deviation_pose_model, "#4472c4"), (sequence.deviation_fit, "#ed7d31")].into_iter().enumerate()
        {
            let width = 460.0 * value / largest;
            let _ = write!(
                svg,
                "<rect x=\"150\" y=\"{}\" width=\"{width:.1}\" height=\"10\" fill=\"{color}\"/>",
                y + 11 * row
            );
        }
    }
    svg += "</svg>";
    figure(&svg, "Mean amplitude deviation of the pose model (blue) and of the fit (orange)")
}

/// Curves of Algorithm 1: deviation after each step (Figure 9), mean modulus and nodes of the layer (Figure 8).
fn paper_curves(curves: &[CurvePoint]) -> String {
    if curves.is_empty() {
        return String::new();
    }
    let deviations: Vec<f64> = curves.iter().map(|point| point.deviation_m).collect();
    let ends: Vec<&CurvePoint> = curves.iter().filter(|point| point.step == CurveStep::Search).collect();
    let moduli: Vec<f64> = ends.iter().map(|point| point.mean_modulus_pa / 1e3).collect();
    let nodes: Vec<f64> = ends.iter().map(|point| point.fem_nodes as f64).collect();
    [
        figure(&curve_svg(&[("deviation", &deviations[..])], "step", "m"), "Deviation after each step (Figure 9)"),
        figure(&curve_svg(&[("modulus", &moduli[..])], "iteration", "kPa"), "Mean modulus (Figure 8)"),
        figure(&curve_svg(&[("nodes", &nodes[..])], "iteration", ""), "Free nodes (Figure 8)"),
    ]
    .concat()
}

/// Curves over their index, from 0 to the largest value.
pub fn curve_svg(curves: &[(&str, &[f64])], x_label: &str, y_label: &str) -> String {
    let colors = ["#4472c4", "#ed7d31", "#70ad47", "#a64ca6"];
    let largest = curves.iter().flat_map(|(_, values)| values.iter().copied()).fold(1e-12, f64::max);
    let count = curves.iter().map(|(_, values)| values.len()).max().unwrap_or(1);
    let (width, height) = (400.0, 180.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"480\" height=\"230\" font-size=\"12\" font-family=\"sans-serif\">\
         <path d=\"M50 10V190H{}\" fill=\"none\" stroke=\"#999\"/><text x=\"4\" y=\"18\">{largest:.3}</text>\
         <text x=\"4\" y=\"34\">{y_label}</text><text x=\"36\" y=\"194\">0</text>\
         <text x=\"430\" y=\"208\" text-anchor=\"end\">{} {x_label}</text>",
        50.0 + width,
        count.saturating_sub(1)
    );
    for (k, (name, values)) in curves.iter().enumerate() {
        let at = |(index, value): (usize, &f64)| {
            let x = 50.0 + width * index as f64 / (count.saturating_sub(1)).max(1) as f64;
            format!("{x:.1},{:.1}", 190.0 - height * value / largest)
        };
        let path: Vec<String> = values.iter().enumerate().map(at).collect();
        let color = colors[k % colors.len()];
        let _ = write!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.5\"/>\
             <text x=\"{}\" y=\"225\" fill=\"{color}\">{}</text>",
            path.join(" "),
            60 + 130 * k,
            escaped(name)
        );
    }
    svg + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heat_maps_show_the_values_from_both_sides() {
        let points = vec![Vec3::ZERO, Vec3::X, Vec3::Y];
        let mesh = TriMesh::new(points, vec![[0, 1, 2]]).unwrap();
        let (width, pixels) = draw(&mesh, UpAxis::Y, &[0.0, 0.0, 1.0], [0.0, 1.0]);
        assert_eq!(pixels.len(), width * HEIGHT);
        let drawn = |half: usize| {
            let x = half * width / 2..(half + 1) * width / 2;
            pixels.iter().enumerate().filter(|(k, p)| x.contains(&(k % width)) && **p != [255; 3]).count()
        };
        assert!(drawn(0) > 1000 && drawn(0).abs_diff(drawn(1)) < drawn(0) / 20);
        // The top is red, the bottom blue.
        let top = pixels.iter().find(|pixel| **pixel != [255; 3]).unwrap();
        let bottom = pixels.iter().rev().find(|pixel| **pixel != [255; 3]).unwrap();
        assert!(top[0] > top[2] && bottom[2] > bottom[0], "{top:?} {bottom:?}");
        assert!(heat_map(&mesh, UpAxis::Z, &[0.0; 3], [0.0, 1.0]).unwrap().starts_with(b"\x89PNG"));
    }

    #[test]
    fn curves_end_at_their_largest_value() {
        let svg = curve_svg(&[("a", &[0.0, 2.0][..])], "frame", "mm");
        assert!(svg.contains("450.0,10.0") && svg.contains("2.000"), "{svg}");
    }
}
