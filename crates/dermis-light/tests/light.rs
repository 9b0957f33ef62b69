//! Transfer vectors against known integrals, reductions against their definitions.

use dermis_light::harmonics::{basis, light_from};
use dermis_light::{LightError, LightOptions, Transfer, factorize, reduce, transfer};
use dermis_math::progress::NoProgress;
use glam::{DVec3, Vec3};
use proptest::prelude::*;

/// Sphere of latitude and longitude around `centre`, facing outwards.
fn sphere(centre: Vec3, rings: u32, sides: u32) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let (mut points, mut triangles) = (vec![centre + Vec3::Y], Vec::new());
    for ring in 1..rings {
        let polar = std::f32::consts::PI * ring as f32 / rings as f32;
        for side in 0..sides {
            let around = std::f32::consts::TAU * side as f32 / sides as f32;
            points.push(centre + Vec3::new(polar.sin() * around.cos(), polar.cos(), -polar.sin() * around.sin()));
        }
    }
    points.push(centre - Vec3::Y);
    let last = points.len() as u32 - 1;
    let at = |ring: u32, side: u32| 1 + (ring - 1) * sides + side % sides;
    for side in 0..sides {
        triangles.push([0, at(1, side), at(1, side + 1)]);
        triangles.push([last, at(rings - 1, side + 1), at(rings - 1, side)]);
        for ring in 1..rings - 1 {
            let [a, b] = [at(ring, side), at(ring, side + 1)];
            let [c, d] = [at(ring + 1, side + 1), at(ring + 1, side)];
            triangles.extend([[a, d, c], [a, c, b]]);
        }
    }
    (points, triangles)
}

fn of(points: Vec<Vec3>, triangles: &[[u32; 3]], options: &LightOptions) -> Transfer {
    transfer(&[points], triangles, options, &NoProgress).unwrap()
}

#[test]
fn a_convex_shape_has_the_harmonics_of_the_cosine() {
    let (points, triangles) = sphere(Vec3::ZERO, 24, 48);
    let options = LightOptions { rays: 2048, order: 4, ..LightOptions::default() };
    let found = of(points.clone(), &triangles, &options);
    // Bands of the clamped cosine over π (Ramamoorthi & Hanrahan 2001).
    let bands = [1.0, 2.0 / 3.0, 0.25, 0.0];
    for (point, position) in points.iter().enumerate() {
        let expected = basis(position.as_dvec3());
        for (k, (&value, expected)) in found.vector(0, point).iter().zip(expected).enumerate() {
            // The tolerance covers the facets and the finite number of rays.
            let error = f64::from(value) - bands[k.isqrt()] * expected;
            assert!(error.abs() < 0.02, "{k} at {position}: {value}");
        }
        assert!(found.ambient[point] > 0.99, "{}", found.ambient[point]);
    }
}

#[test]
fn the_ground_blocks_light_from_below_and_a_ball_casts_a_shadow() {
    let (points, triangles) = sphere(Vec3::Y, 24, 48);
    let options = LightOptions { rays: 1024, ground: Some(0.0), ..LightOptions::default() };
    let found = of(points, &triangles, &options);
    let ambient = |point: usize| f64::from(found.ambient[point]);
    let (top, bottom) = (0, found.point_count - 1);
    assert!(ambient(top) > 0.99 && ambient(bottom) == 0.0);
    // A vertical surface sees half of the sky, weighted by the cosine.
    let side = 1 + 11 * 48;
    assert!((ambient(side) - 0.5).abs() < 0.02, "{}", ambient(side));

    // A patch under the ball is darker than one far away.
    let (mut points, mut triangles) = sphere(Vec3::Y * 2.0, 16, 32);
    let patch = |x: f32, points: &mut Vec<Vec3>, triangles: &mut Vec<[u32; 3]>| {
        let first = points.len() as u32;
        points.extend([Vec3::new(x, 0.0, 0.0), Vec3::new(x, 0.0, 0.1), Vec3::new(x + 0.1, 0.0, 0.0)]);
        triangles.push([first, first + 1, first + 2]);
        first as usize
    };
    let under = patch(0.0, &mut points, &mut triangles);
    let beside = patch(50.0, &mut points, &mut triangles);
    let found = of(points, &triangles, &LightOptions { ground: None, rays: 1024, ..LightOptions::default() });
    // A ball of radius 1 at the distance 2 covers a quarter of the hemisphere, weighted by the cosine.
    assert!((found.ambient[under] - 0.75).abs() < 0.03, "{}", found.ambient[under]);
    assert!(found.ambient[beside] > 0.99);
    let light = light_from(DVec3::Y, 8);
    let lit = found.lit(&light);
    assert!(lit[under] < 0.6 * lit[beside] && lit[beside] > 0.8, "{} {}", lit[under], lit[beside]);
}

/// Frames of two balls that pass each other.
fn passing(frames: usize) -> (Vec<Vec<Vec3>>, Vec<[u32; 3]>) {
    let (one, triangles) = sphere(Vec3::ZERO, 8, 12);
    let count = one.len() as u32;
    let both = [&triangles[..], &triangles.iter().map(|t| t.map(|p| p + count)).collect::<Vec<_>>()].concat();
    let at = |frame: usize| Vec3::new(4.0 * (frame as f32 / frames as f32 - 0.5), 2.2, 0.0);
    let frame = |frame: usize| one.iter().copied().chain(one.iter().map(|&p| p + at(frame))).collect();
    ((0..frames).map(frame).collect(), both)
}

#[test]
fn the_reduction_converges_and_states_its_error() {
    let (frames, triangles) = passing(12);
    let options = LightOptions { rays: 64, ..LightOptions::default() };
    let found = transfer(&frames, &triangles, &options, &NoProgress).unwrap();
    let reduced = reduce(&found, 12).unwrap();
    assert!(reduced.errors.windows(2).all(|pair| pair[1] <= pair[0]), "{:?}", reduced.errors);
    for rank in [1, 4, 12] {
        let reduced = reduce(&found, rank).unwrap();
        let (mut error, mut total) = (0.0, 0.0);
        for frame in 0..found.frame_count {
            for point in 0..found.point_count {
                for (k, &value) in found.vector(frame, point).iter().enumerate() {
                    error += (f64::from(value) - reduced.coefficient(&found, frame, point, k)).powi(2);
                    total += f64::from(value).powi(2);
                }
            }
        }
        let (measured, stated) = ((error / total).sqrt(), reduced.errors[rank - 1]);
        assert!((measured - stated).abs() < 1e-5, "rank {rank}: {measured} instead of {stated}");
    }
    let complete = reduce(&found, 12 * 16).unwrap();
    assert!(complete.errors[complete.rank - 1] < 1e-5, "{:?}", complete.errors.last());
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let (frames, triangles) = passing(5);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let found =
                transfer(&frames, &triangles, &LightOptions { rays: 32, ..LightOptions::default() }, &NoProgress);
            let found = found.unwrap();
            let colors = found.lit(&light_from(DVec3::Y, 2));
            (reduce(&found, 3).unwrap(), factorize(&colors, 5, 3, 20).unwrap(), found)
        })
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn rejects_orders_rays_and_ranks_out_of_range() {
    let (points, triangles) = sphere(Vec3::ZERO, 4, 4);
    let fail = |options: LightOptions, triangles: &[[u32; 3]]| {
        transfer(std::slice::from_ref(&points), triangles, &options, &NoProgress).unwrap_err()
    };
    let default = LightOptions::default();
    assert!(matches!(fail(LightOptions { order: 6, ..default }, &triangles), LightError::Order(6)));
    assert!(matches!(fail(LightOptions { rays: 0, ..default }, &triangles), LightError::Rays(0)));
    assert!(matches!(fail(default, &[]), LightError::NoTriangles));
    assert!(matches!(factorize(&[1.0, -1.0], 2, 1, 5), Err(LightError::Negative(1))));
    assert!(matches!(factorize(&[1.0], 1, 0, 5), Err(LightError::Rank)));
}

proptest! {
    #[test]
    fn factors_are_non_negative_and_their_error_never_increases(
        colors in proptest::collection::vec(0.0..1.0_f32, 60), rank in 1..6_usize
    ) {
        let factors = factorize(&colors, 6, rank, 60).unwrap();
        prop_assert!(factors.weights.iter().chain(&factors.values).all(|value| *value >= 0.0 && value.is_finite()));
        for pair in factors.errors.windows(2) {
            prop_assert!(pair[1] <= pair[0] * (1.0 + 1e-9) + 1e-12, "{} after {}", pair[1], pair[0]);
        }
    }
}
