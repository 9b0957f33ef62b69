//! Time for a picture of 1600×1200 pixels of a surface with about 40,000 triangles, on one thread.

use std::sync::Arc;
use std::time::Instant;

use dermis_math::progress::NoProgress;
use dermis_render::{Backdrop, Framing, Paint, Panel, Shading, Sheet, Surface, Topology, View, draw};
use glam::Vec3;

/// A sphere with waves.
fn wavy_sphere(rings: u32, sectors: u32) -> Surface {
    let mut surface = Surface::default();
    for ring in 0..=rings {
        for sector in 0..=sectors {
            let (polar, azimuth) = (
                std::f32::consts::PI * ring as f32 / rings as f32,
                std::f32::consts::TAU * sector as f32 / sectors as f32,
            );
            let direction = Vec3::new(polar.sin() * azimuth.cos(), polar.cos(), polar.sin() * azimuth.sin());
            let radius = 1.0 + 0.12 * (8.0 * polar).sin() * (7.0 * azimuth).cos();
            surface.positions.push(direction * radius);
            surface.normals.push(direction);
        }
    }
    let corner = |ring: u32, sector: u32| ring * (sectors + 1) + sector;
    let triangles = (0..rings).flat_map(|ring| {
        (0..sectors).flat_map(move |sector| {
            let [a, b] = [corner(ring, sector), corner(ring, sector + 1)];
            let [c, d] = [corner(ring + 1, sector), corner(ring + 1, sector + 1)];
            [[a, b, c], [b, d, c]]
        })
    });
    surface.topology =
        Arc::new(Topology { triangles: triangles.collect(), paints: vec![Paint::default()], ..Topology::default() });
    surface
}

fn main() {
    let surface = wavy_sphere(100, 200);
    let triangles = surface.topology.triangles.len();
    let mut framing = Framing::new(View::default(), [1600, 1200]);
    framing.add(&surface.positions);
    let panel = Panel {
        camera: framing.camera(),
        floor: Some(-1.1),
        surfaces: vec![surface],
        overlay: Vec::new(),
        shading: Shading::Lit,
        label: String::new(),
    };
    let sheet =
        Sheet { width: 1600, height: 1200, columns: None, backdrop: Backdrop::Light, wireframe: false, legend: None };
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let best = (0..3)
            .map(|_| {
                let start = Instant::now();
                pool.install(|| draw(&sheet, std::slice::from_ref(&panel), &NoProgress).unwrap());
                start.elapsed().as_secs_f64()
            })
            .fold(f64::INFINITY, f64::min);
        println!("{triangles} triangles, 1600x1200, {threads} threads: {best:.2} s");
    }
}
