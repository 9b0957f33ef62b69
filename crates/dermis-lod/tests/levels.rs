//! Levels of detail of generated characters.

use std::f64::consts::TAU;
use std::sync::Arc;

use dermis_lod::{LodError, LodOptions, posed_error, simplify};
use dermis_math::progress::NoProgress;
use dermis_mesh::adjacency::Edges;
use dermis_mesh::boundary::{boundary_edges, is_closed, non_manifold_edges};
use dermis_mesh::geometry::total_area;
use dermis_mesh::glam::{DAffine3, DVec3, Vec2, Vec3};
use dermis_mesh::{Clip, Deformer, Joint, Layout, Material, MeshSequence, Object, Rig, Shape, SkinWeights, TriMesh};

fn options(ratios: &[f64]) -> LodOptions {
    LodOptions { ratios: ratios.to_vec(), ..LodOptions::default() }
}

/// `object` with its levels.
fn with_levels(object: &Object, options: &LodOptions) -> Object {
    let levels = simplify(object, options, &NoProgress).unwrap().levels;
    Object { levels, ..object.clone() }
}

fn sample(name: &str) -> Object {
    dermis_samples::build(name).unwrap().objects.into_iter().find(|object| object.rig.is_some()).unwrap()
}

/// An open tube along x with a UV seam, two materials, three joints that bend it and a shape that swells it.
fn tube() -> Object {
    const RINGS: usize = 25;
    const SIDES: usize = 16;
    let (mut points, mut uvs, mut vertex_points) = (Vec::new(), Vec::new(), Vec::new());
    for ring in 0..RINGS {
        for side in 0..=SIDES {
            let (u, v) = (side as f64 / SIDES as f64, ring as f64 / (RINGS - 1) as f64);
            if side < SIDES {
                points.push(DVec3::new(4.0 * v, (TAU * u).cos(), (TAU * u).sin()).as_vec3());
            }
            vertex_points.push((ring * SIDES + side % SIDES) as u32);
            uvs.push(Vec2::new(u as f32, v as f32));
        }
    }
    let at = |ring: usize, side: usize| (ring * (SIDES + 1) + side) as u32;
    let (mut triangles, mut triangle_materials) = (Vec::new(), Vec::new());
    for ring in 0..RINGS - 1 {
        for side in 0..SIDES {
            triangles.push([at(ring, side), at(ring + 1, side), at(ring, side + 1)]);
            triangles.push([at(ring, side + 1), at(ring + 1, side), at(ring + 1, side + 1)]);
            triangle_materials.extend([u32::from(ring >= RINGS / 2); 2]);
        }
    }
    let over_points = triangles.iter().map(|t: &[u32; 3]| t.map(|vertex| vertex_points[vertex as usize])).collect();
    let materials = vec![Material { name: "low".into(), ..Material::default() }, Material::default()];
    let layout =
        Layout { vertex_points, triangles, uvs: vec![uvs], materials, triangle_materials, ..Layout::default() };
    let mesh = TriMesh::new(points.clone(), over_points).unwrap().with_layout(layout).unwrap();
    let joint = |k: u32| {
        let bind = DAffine3::from_translation(DVec3::new(1.5 * f64::from(k), 0.0, 0.0));
        Joint::at(format!("joint {k}"), k.checked_sub(1).map(|parent| parent as usize), bind)
    };
    let row = |point: &Vec3| {
        let along = (point.x / 1.5).clamp(0.0, 2.0);
        let first = along.floor().min(1.0);
        [(first as u32, 1.0 - (along - first)), (first as u32 + 1, along - first)]
    };
    let weights = SkinWeights::from_rows(points.iter().map(row));
    let offsets = points.iter().map(|point| Vec3::new(0.0, point.y, point.z) * 0.3).collect();
    let shape = Shape { name: "swell".into(), offsets, normal_offsets: None };
    let rig = Rig::new(&mesh, (0..3).map(joint).collect(), weights, vec![shape]).unwrap();
    let bend = |angle: f64| {
        let mut transforms = vec![rig.joints()[0].bind()];
        for k in 1..3 {
            let local = rig.joints()[k - 1].inverse_bind * rig.joints()[k].bind();
            transforms.push(transforms[k - 1] * local * DAffine3::from_rotation_z(angle));
        }
        transforms
    };
    let frames = 12;
    let transforms = (0..frames).flat_map(|k| bend(1.2 * f64::from(k) / 11.0)).collect();
    let weights = (0..frames).map(|k| k as f32 / 11.0).collect();
    let clip = Clip::new(&rig, "bend", 24.0, transforms, weights).unwrap();
    Object::of_rig("tube", Arc::new(mesh), rig, vec![clip])
}

#[test]
fn levels_of_samples_have_the_requested_triangles_and_convex_weights() {
    for name in ["arm", "hand"] {
        let full = sample(name);
        let ratios = [0.5, 0.25, 0.1];
        let object = with_levels(&full, &options(&ratios));
        let influences = full.rig.as_ref().unwrap().weights().max_influences();
        let mut last = 0.0;
        for (number, ratio) in ratios.into_iter().enumerate() {
            let level = object.at_level(number).unwrap();
            let asked = ratio * full.mesh.triangle_count() as f64;
            assert!((level.mesh.triangle_count() as f64 - asked).abs() <= 2.0, "{name}, level {number}");
            let weights = level.rig.as_ref().unwrap().weights();
            assert!(weights.max_influences() <= influences);
            for row in weights.rows() {
                let row: Vec<f32> = row.map(|(_, weight)| weight).collect();
                assert!(row.iter().all(|&weight| weight >= 0.0), "{name}: {row:?}");
                assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{name}: {row:?}");
            }
            let edges = Edges::new(level.mesh.point_count(), level.mesh.triangles());
            assert!(non_manifold_edges(&edges).is_empty());
            let error = posed_error(&full, &level, 12);
            assert!(error.rms_percent > last && error.rms_percent < 1.0, "{name}, level {number}: {error:?}");
            last = error.rms_percent;
        }
    }
}

#[test]
fn poses_lower_the_posed_error() {
    let full = sample("arm");
    let error = |max_poses: usize| {
        let object = with_levels(&full, &LodOptions { ratios: vec![0.1], max_poses });
        posed_error(&full, &object.at_level(0).unwrap(), 24).rms_percent
    };
    let (of_poses, of_rest) = (error(24), error(1));
    assert!(of_poses < of_rest, "{of_poses} with poses, {of_rest} without");
}

#[test]
fn seams_boundaries_materials_and_shapes_are_kept() {
    let full = tube();
    let object = with_levels(&full, &options(&[0.3]));
    let level = object.at_level(0).unwrap();
    let layout = level.mesh.layout().unwrap();
    // UVs match the location: v along x, u around, with both ends of the seam.
    for (vertex, &point) in layout.vertex_points.iter().enumerate() {
        let (p, uv) = (level.mesh.points()[point as usize], layout.uvs[0][vertex]);
        assert!((uv.y - p.x / 4.0).abs() < 0.03, "{p} has {uv}");
        let around = (f64::from(p.z).atan2(f64::from(p.y)) / TAU).rem_euclid(1.0);
        let off = (f64::from(uv.x) - around).abs();
        assert!(off.min(1.0 - off) < 0.05, "{p} has {uv}");
    }
    assert!(layout.vertex_count() > level.mesh.point_count(), "the seam is gone");
    assert_eq!(layout.materials.len(), 2);
    for (triangle, &material) in level.mesh.triangles().iter().zip(&layout.triangle_materials) {
        let x = triangle.iter().map(|&corner| level.mesh.points()[corner as usize].x).sum::<f32>() / 3.0;
        assert_eq!(material, u32::from(x > 2.0), "at {x}");
    }
    let edges = Edges::new(level.mesh.point_count(), level.mesh.triangles());
    for end in boundary_edges(&edges).as_flattened() {
        let x = level.mesh.points()[*end as usize].x;
        assert!(x.abs() < 0.02 || (x - 4.0).abs() < 0.02, "a boundary edge at {x}");
    }
    let shape = &level.rig.as_ref().unwrap().shapes()[0];
    for (offset, point) in shape.offsets.iter().zip(level.mesh.points()) {
        assert!(offset.distance(Vec3::new(0.0, point.y, point.z) * 0.3) < 0.05, "{offset} at {point}");
    }
    assert!(posed_error(&full, &level, 12).rms_percent < 1.0);
}

#[test]
fn a_flat_sheet_keeps_its_outline_and_a_closed_surface_stays_closed() {
    let at = |x: u32, y: u32| Vec3::new(x as f32, y as f32, 0.0);
    let points = (0..11).flat_map(|y| (0..11).map(move |x| at(x, y))).collect();
    let quads = (0..10).flat_map(|y| (0..10).map(move |x| y * 11 + x));
    let triangles = quads.flat_map(|a| [[a, a + 1, a + 11], [a + 1, a + 12, a + 11]]).collect();
    let sheet = Object::of_mesh("sheet", Arc::new(TriMesh::new(points, triangles).unwrap()));
    let level = with_levels(&sheet, &options(&[0.02])).at_level(0).unwrap();
    assert!(level.mesh.triangle_count() <= 8, "{}", level.mesh.triangle_count());
    let area = total_area(level.mesh.points(), level.mesh.triangles());
    // The spring, 1e-3 of the area, pulls against the planes of the boundary, which have 10 times the weight of an area.
    assert!((area - 100.0).abs() < 1e-4 * 100.0, "{area}");

    let body = sample("arm");
    let solid = |object: &Object| is_closed(&Edges::new(object.mesh.point_count(), object.mesh.triangles()));
    let level = with_levels(&body, &options(&[0.001])).at_level(0).unwrap();
    assert_eq!(solid(&level), solid(&body));
    assert!(level.mesh.triangle_count() >= 4);
}

#[test]
fn results_are_the_same_on_any_number_of_threads() {
    let full = tube();
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| with_levels(&full, &options(&[0.4, 0.2])).levels)
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn flat_shading_does_not_prevent_simplification() {
    let full = tube();
    let mesh = full.mesh.without_layout();
    // A vertex for each corner, with the normal of its triangle.
    let vertex_points: Vec<u32> = mesh.triangles().as_flattened().to_vec();
    let triangles = (0..mesh.triangle_count() as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
    let normals = dermis_mesh::geometry::triangle_normals(mesh.points(), mesh.triangles());
    let normals = Some(normals.into_iter().flat_map(|normal| [normal; 3]).collect());
    let layout = Layout { vertex_points, triangles, normals, ..Layout::default() };
    let flat = Object { mesh: Arc::new(mesh.with_layout(layout).unwrap()), ..full };
    let made = simplify(&flat, &options(&[0.3]), &NoProgress).unwrap();
    assert!(made.warnings[0].message.contains("normals"), "{:?}", made.warnings);
    assert!(made.levels[0].mesh.triangle_count() as f64 <= 0.31 * flat.mesh.triangle_count() as f64);
}

#[test]
fn rejects_objects_that_cannot_have_levels() {
    let tube = tube();
    let error = |object: &Object, ratios: &[f64]| simplify(object, &options(ratios), &NoProgress).unwrap_err();
    for ratio in [0.0, -1.0, 1.5, f64::NAN] {
        assert!(matches!(error(&tube, &[0.5, ratio]), LodError::Ratio(_)), "{ratio}");
    }
    assert_eq!(error(&tube, &[]), LodError::NoRatios);
    let points = Object::of_mesh("points", Arc::new(TriMesh::new(vec![Vec3::ZERO; 3], vec![]).unwrap()));
    assert_eq!(error(&points, &[0.5]), LodError::NoTriangles("points".into()));
    let frames = MeshSequence::new(Arc::clone(&tube.mesh), tube.mesh.points().to_vec(), 24.0).unwrap();
    assert_eq!(error(&Object::of_sequence("frames", frames), &[0.5]), LodError::NoSkin("frames".into()));
    let layered = Object { deformers: vec![Deformer::Unknown(dermis_mesh::StoredDeformer::default())], ..tube };
    assert!(matches!(error(&layered, &[0.5]), LodError::Layer { .. }));
}
