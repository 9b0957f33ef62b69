use super::*;

/// A square sheet of `cells` × `cells` cells of size 1 in the plane z = 0.
fn sheet(cells: u32) -> TriMesh {
    let row = cells + 1;
    let points = (0..row * row).map(|k| Vec3::new((k % row) as f32, (k / row) as f32, 0.0)).collect();
    let corners = (0..cells * cells).map(|k| k % cells + row * (k / cells));
    let triangles = corners.flat_map(|a| [[a, a + 1, a + row + 1], [a, a + row + 1, a + row]]).collect();
    TriMesh::new(points, triangles).unwrap()
}

fn squeezed(mesh: &TriMesh, by: f32) -> Vec<Vec3> {
    mesh.points().iter().map(|point| Vec3::new(point.x * (1.0 - by), point.y, point.z)).collect()
}

fn prepared(mesh: &TriMesh) -> (WrinkleLayer, Refined) {
    let layer = WrinkleLayer::new(mesh, RestShape::Pose, &WrinkleOptions::default()).unwrap();
    let refined = layer.refine(mesh, &vec![true; mesh.triangle_count()], 2).unwrap();
    (layer, refined)
}

#[test]
fn recovers_most_of_the_area_of_a_compressed_sheet_without_spikes() {
    let mesh = sheet(30);
    let (layer, refined) = prepared(&mesh);
    let samples = layer.samples(refined.locations.clone());
    for by in [0.02, 0.05, 0.1, 0.2] {
        let positions = squeezed(&mesh, by);
        let mut curves = layer.advance(&mut layer.tracker(), &positions);
        let frame =
            layer.fit(&mut RecoveredArea::default(), &positions, &mut curves, &samples, refined.mesh.triangles());
        let before = layer.area_lost(&positions, mesh.triangles());
        let after = layer.area_lost(&frame.positions, refined.mesh.triangles());
        println!("squeezed by {by}: area lost {before:.4} before, {after:.4} after");
        assert!((0.0..=0.2 * before).contains(&after), "{by}: {before} → {after}");
        assert!(frame.heights.iter().all(|height| height.abs() <= layer.max_height()));
    }
}

#[test]
fn stretched_cloth_has_no_wrinkles() {
    let mesh = sheet(8);
    let (layer, refined) = prepared(&mesh);
    let curves = layer.advance(&mut layer.tracker(), &squeezed(&mesh, -0.2));
    assert!(curves.lines.is_empty());
    let frame = layer.apply(&squeezed(&mesh, -0.2), &curves, &layer.samples(refined.locations));
    assert!(frame.heights.iter().all(|height| *height == 0.0));
}

#[test]
fn wrinkles_grow_and_fade_without_popping() {
    let mesh = sheet(24);
    let (layer, refined) = prepared(&mesh);
    let samples = layer.samples(refined.locations.clone());
    let (mut tracker, mut recovered) = (layer.tracker(), RecoveredArea::default());
    let mut last: Option<Vec<f32>> = None;
    for frame in 0..48 {
        let by = 0.12 * (std::f32::consts::PI * frame as f32 / 47.0).sin();
        let positions = squeezed(&mesh, by);
        let mut curves = layer.advance(&mut tracker, &positions);
        let heights = layer.fit(&mut recovered, &positions, &mut curves, &samples, refined.mesh.triangles()).heights;
        if let Some(last) = last.replace(heights.clone()) {
            let change = last.iter().zip(&heights).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(change < 0.35 * layer.min_radius(), "{change} at frame {frame}");
        }
    }
}

#[test]
fn refining_a_part_leaves_no_gaps() {
    let mesh = sheet(6);
    let layer = WrinkleLayer::new(&mesh, RestShape::Pose, &WrinkleOptions::default()).unwrap();
    let marked: Vec<bool> = (0..mesh.triangle_count()).map(|triangle| triangle % 7 == 0).collect();
    let refined = layer.refine(&mesh, &marked, 3).unwrap();
    assert!((total_area(refined.mesh.points(), refined.mesh.triangles()) - 36.0).abs() < 1e-3);
    let edges = dermis_mesh::adjacency::Edges::new(refined.mesh.point_count(), refined.mesh.triangles());
    let border = dermis_mesh::boundary::boundary_edges(&edges);
    let outside = |point: u32| {
        let position = refined.mesh.points()[point as usize];
        [position.x, position.y, 6.0 - position.x, 6.0 - position.y].iter().any(|apart| apart.abs() < 1e-4)
    };
    assert!(border.iter().flatten().all(|&point| outside(point)));
}

/// A strip that winds upwards by more than one turn.
fn spiral() -> TriMesh {
    let position = |k: u32| {
        let angle = 0.2 * (k / 2) as f32;
        Vec3::new(angle.cos(), 0.02 * angle, angle.sin())
            * if k.is_multiple_of(2) { Vec3::ONE } else { Vec3::new(1.4, 1.0, 1.4) }
    };
    let points: Vec<Vec3> = (0..160).map(position).collect();
    let triangles = (0..79).flat_map(|k| [[2 * k, 2 * k + 1, 2 * k + 3], [2 * k, 2 * k + 3, 2 * k + 2]]).collect();
    TriMesh::new(points, triangles).unwrap()
}

#[test]
fn maps_of_an_atlas_cover_the_cloth_and_do_not_overlap() {
    for mesh in [sheet(6), spiral()] {
        let mesh = with_atlas(&mesh).unwrap();
        let uvs = uv_triangles(&mesh).unwrap();
        let map = MapLayout::new(&uvs, &vec![true; uvs.len()], 256);
        assert_eq!((map.overlapping, map.outside), (0, 0));
        let shown: std::collections::HashSet<u32> = map.locations.iter().map(|location| location.triangle).collect();
        assert_eq!(shown.len(), mesh.triangle_count());
    }
}

#[test]
fn builds_an_atlas_of_triangles_without_area() {
    let mut triangles = sheet(6).triangles().to_vec();
    triangles.extend([[0, 1, 2], [3, 3, 4], [5, 5, 5]]);
    let mesh = with_atlas(&TriMesh::new(sheet(6).points().to_vec(), triangles).unwrap()).unwrap();
    assert!(uv_triangles(&mesh).unwrap().as_flattened().iter().all(|uv| uv.is_finite()));
}

#[test]
fn samples_texels_more_densely_near_curves_and_fills_gutters() {
    let uvs = [[Vec2::new(0.25, 0.25), Vec2::new(0.75, 0.25), Vec2::new(0.25, 0.75)]];
    let [plain, fine] = [false, true].map(|near| MapLayout::new(&uvs, &[near], 64));
    assert_eq!(4 * plain.locations.len(), fine.locations.len());
    let image = fine.image(&vec![1.0; fine.locations.len()]);
    let at = |x: usize, y: usize| image[64 * y + x];
    // The island starts at texel 16, and exactly four texels around it repeat it.
    assert_eq!([at(20, 20), at(15, 20), at(12, 20), at(11, 20)], [1.0, 1.0, 1.0, 0.0]);
    assert!(image.iter().all(|value| *value == 0.0 || *value == 1.0));
}

#[test]
fn overlapping_uvs_are_counted_and_shared_edges_are_not() {
    let quad = [Vec2::new(0.1, 0.1), Vec2::new(0.9, 0.1), Vec2::new(0.9, 0.9), Vec2::new(0.1, 0.9)];
    let [a, b, c, d] = quad;
    assert_eq!(MapLayout::new(&[[a, b, c], [a, c, d]], &[false; 2], 64).overlapping, 0);
    assert!(MapLayout::new(&[[a, b, c], [a, b, c]], &[false; 2], 64).overlapping > 500);
    assert_eq!(MapLayout::new(&[[a, b, c + Vec2::Y]], &[false], 64).outside, 1);
}

#[test]
fn rejects_mismatched_rest_shapes() {
    let mesh = sheet(2);
    let layer = |rest| WrinkleLayer::new(&mesh, rest, &WrinkleOptions::default()).unwrap_err();
    assert_eq!(layer(RestShape::Points(&[])), WrinkleError::RestPoints { found: 0, expected: 9 });
    assert_eq!(layer(RestShape::Points(&[Vec3::ONE; 9])), WrinkleError::NoArea);
    assert_eq!(layer(RestShape::Uvs), WrinkleError::NoUvs);
    let options = WrinkleOptions { min_radius: Some(-1.0), ..WrinkleOptions::default() };
    assert_eq!(WrinkleLayer::new(&mesh, RestShape::Pose, &options).unwrap_err(), WrinkleError::Radius(-1.0));
}

#[test]
fn rounding_a_tube_keeps_its_area() {
    const SIDES: u32 = 14;
    let position = |k: u32| {
        let (ring, side) = (k / SIDES, k % SIDES);
        let angle = std::f32::consts::TAU * (side as f32 + 0.5 * (ring % 2) as f32) / SIDES as f32;
        Vec3::new(angle.cos(), 0.4 * ring as f32, angle.sin())
    };
    let points: Vec<Vec3> = (0..11 * SIDES).map(position).collect();
    let corner = |ring: u32, side: u32| ring * SIDES + side % SIDES;
    let quads = (0..10).flat_map(|ring| (0..SIDES).map(move |side| (ring, side)));
    let triangles: Vec<[u32; 3]> = quads
        .flat_map(|(ring, side)| {
            let [a, b] = [corner(ring, side), corner(ring, side + 1)];
            let [c, d] = [corner(ring + 1, side), corner(ring + 1, side + 1)];
            if ring % 2 == 0 { [[a, c, b], [b, c, d]] } else { [[a, c, d], [a, d, b]] }
        })
        .collect();
    let mesh = TriMesh::new(points, triangles).unwrap();
    let (layer, refined) = prepared(&mesh);
    let curves = layer.advance(&mut layer.tracker(), mesh.points());
    let rounded = layer.apply(mesh.points(), &curves, &layer.samples(refined.locations)).positions;
    let lost = layer.area_lost(&rounded, refined.mesh.triangles());
    assert!(lost.abs() < 2e-3, "{lost}");
}

/// The sheet, squeezed along x by each amount.
fn squeezed_motion(cells: u32, amounts: &[f32]) -> dermis_mesh::MeshSequence {
    let mesh = std::sync::Arc::new(sheet(cells));
    let frames = amounts.iter().flat_map(|&by| squeezed(&mesh, by)).collect();
    dermis_mesh::MeshSequence::new(mesh, frames, 24.0).unwrap()
}

#[test]
fn buckled_folds_restore_area_run_across_the_compression_and_do_not_flash() {
    let amounts: Vec<f32> = (0..40).map(|frame| 0.1 * (std::f32::consts::PI * frame as f32 / 39.0).sin()).collect();
    let motion = squeezed_motion(16, &amounts);
    let cloth =
        wrinkle(&motion, RestShape::Pose, &ClothOptions::default(), &dermis_math::progress::NoProgress).unwrap();
    let measures = &cloth.measures;
    let lost = measures.area_lost_before.iter().zip(&measures.area_lost_after);
    for (frame, (before, after)) in lost.enumerate().filter(|(_, (before, _))| **before > 0.02) {
        assert!((0.0..=0.5 * before).contains(after), "frame {frame}: {before} → {after}");
    }
    // A side of the refined triangles is a quarter.
    assert!(measures.flash < 0.1 && measures.intersections_after == 0, "{measures:?}");
    // Heights change along x, across the folds, far more than along y.
    let frame = cloth.sequence.frame(20).unwrap();
    let edges = dermis_mesh::adjacency::Edges::new(frame.len(), cloth.sequence.mesh().triangles());
    let rest = cloth.sequence.mesh().points();
    let slope = |axis: usize| {
        let along = |ends: &&[u32; 2]| {
            let way = (rest[ends[1] as usize] - rest[ends[0] as usize]).abs();
            way[axis] > 0.9 * way.length()
        };
        let steps =
            edges.ends().iter().filter(along).map(|ends| (frame[ends[1] as usize].z - frame[ends[0] as usize].z).abs());
        let (sum, count) = steps.fold((0.0, 0), |(sum, count), step| (sum + step, count + 1));
        sum / count as f32
    };
    assert!(slope(0) > 2.0 * slope(1), "{} {}", slope(0), slope(1));
}

#[test]
fn cloth_that_keeps_its_area_does_not_grow() {
    let motion = squeezed_motion(10, &[0.0, -0.05, 0.0]);
    let cloth =
        wrinkle(&motion, RestShape::Pose, &ClothOptions::default(), &dermis_math::progress::NoProgress).unwrap();
    assert_eq!(cloth.measures.area_lost_after, cloth.measures.area_lost_before);
    assert_eq!(cloth.sequence.mesh().triangle_count(), motion.mesh().triangle_count());
}
