//! Edits of the rest pose: all poses, clips and layers follow.

use dermis::edit::EditedScene;
use dermis::evaluate::motions;
use dermis::io::image::Grey;
use dermis::mesh::deformer::dual_quaternions::DualQuaternionLayer;
use dermis::mesh::deformer::multi_weights::{MultiWeights, MultiWeightsLayer, Precision};
use dermis::mesh::deformer::volume::VolumeOptions;
use dermis::mesh::glam::{DQuat, DVec3};
use dermis::mesh::{Deformer, Layout, Material};
use dermis::prelude::*;
use proptest::prelude::*;

/// A tube along y of `rings` rings of 12 points with texture coordinates and normals, cut open along its seam in UV only.
fn tube(rings: usize) -> TriMesh {
    const SIDES: usize = 12;
    let angle = |side: usize| std::f32::consts::TAU * side as f32 / SIDES as f32;
    let at = |ring: usize, side: usize| {
        Vec3::new(angle(side).cos(), 4.0 * ring as f32 / (rings - 1) as f32, -angle(side).sin())
    };
    let points: Vec<Vec3> = (0..rings).flat_map(|ring| (0..SIDES).map(move |side| at(ring, side))).collect();
    let vertex = |ring: usize, side: usize| (ring * (SIDES + 1) + side) as u32;
    let quads = (0..rings - 1).flat_map(|ring| (0..SIDES).map(move |side| (ring, side)));
    let triangles: Vec<[u32; 3]> = quads
        .flat_map(|(ring, side)| {
            let [a, b] = [vertex(ring, side), vertex(ring, side + 1)];
            let [c, d] = [vertex(ring + 1, side + 1), vertex(ring + 1, side)];
            [[a, b, c], [a, c, d]]
        })
        .collect();
    let vertices = (0..rings).flat_map(|ring| (0..=SIDES).map(move |side| (ring, side)));
    let vertex_points: Vec<u32> = vertices.clone().map(|(ring, side)| (ring * SIDES + side % SIDES) as u32).collect();
    let over_points = triangles.iter().map(|t| t.map(|v| vertex_points[v as usize])).collect();
    let layout = Layout {
        normals: Some(vertices.clone().map(|(_, side)| at(0, side % SIDES) * Vec3::new(1.0, 0.0, 1.0)).collect()),
        uvs: vec![
            vertices
                .map(|(ring, side)| Vec2::new(side as f32 / SIDES as f32, ring as f32 / (rings - 1) as f32))
                .collect(),
        ],
        materials: ["lower", "upper"].map(|name| Material { name: name.to_owned(), ..Material::default() }).to_vec(),
        triangle_materials: (0..triangles.len()).map(|t| u32::from(t >= triangles.len() / 2)).collect(),
        triangles,
        vertex_points,
        ..Layout::default()
    };
    TriMesh::new(points, over_points).unwrap().with_layout(layout).unwrap()
}

/// A tube that bends at its middle, with a blend shape, by `angles` in the frames of its two clips.
fn bending(rings: usize, angles: &[f64]) -> Object {
    let mesh = Arc::new(tube(rings));
    let bend = DAffine3::from_translation(DVec3::Y * 2.0);
    let joints = vec![Joint::at("lower", None, DAffine3::IDENTITY), Joint::at("upper", Some(0), bend)];
    let row = |point: &Vec3| {
        let upper = ((point.y - 1.0) / 2.0).clamp(0.0, 1.0);
        [(0, 1.0 - upper), (1, upper)].into_iter().filter(|(_, weight)| *weight > 0.0)
    };
    let weights = SkinWeights::from_rows(mesh.points().iter().map(row));
    let offsets = mesh.points().iter().map(|point| Vec3::X * (0.1 * point.y)).collect();
    let normal_offsets = Some(vec![Vec3::Y * 0.1; mesh.vertex_count()]);
    let shape = Shape { name: "lean".into(), offsets, normal_offsets };
    let rig = Rig::new(&mesh, joints, weights, vec![shape]).unwrap();
    let clip = |name: &str, sign: f64| {
        let turned = |angle: &f64| bend * DAffine3::from_quat(DQuat::from_rotation_x(sign * angle));
        let transforms = angles.iter().flat_map(|angle| [DAffine3::IDENTITY, turned(angle)]).collect();
        let shapes = angles.iter().map(|angle| *angle as f32).collect();
        Clip::new(&rig, name, 24.0, transforms, shapes).unwrap()
    };
    let clips = vec![clip("forwards", 1.0), clip("backwards", -1.0)];
    let mut object = Object::of_rig("tube", mesh, rig, clips);
    object.attributes.insert("height".into(), object.mesh.points().iter().map(|point| point.y).collect());
    object
}

fn frames(object: &Object) -> Vec<Vec<Vec3>> {
    let motions = motions(object).unwrap();
    let all = motions.iter().flat_map(|motion| {
        (0..motion.sequence.frame_count()).map(|frame| motion.sequence.frame(frame).unwrap().to_vec())
    });
    all.collect()
}

fn with_mesh(object: &Object, mesh: TriMesh) -> EditedScene {
    dermis::edit(object, &RestEdit::Mesh(Arc::new(mesh)), &EditOptions::default()).unwrap()
}

fn moved(object: &Object, change: impl Fn(Vec3) -> Vec3) -> TriMesh {
    let points = object.mesh.points().iter().map(|&point| change(point)).collect();
    TriMesh::new(points, object.mesh.triangles().to_vec()).unwrap()
}

/// Every triangle of the mesh split into four.
fn refined(mesh: &TriMesh) -> TriMesh {
    let mut points = mesh.points().to_vec();
    let mut middles = std::collections::BTreeMap::new();
    let mut triangles = Vec::new();
    for &[a, b, c] in mesh.triangles() {
        let [d, e, f] = [(a, b), (b, c), (c, a)].map(|(from, to)| {
            *middles.entry((from.min(to), from.max(to))).or_insert_with(|| {
                points.push(points[from as usize].midpoint(points[to as usize]));
                points.len() as u32 - 1
            })
        });
        triangles.extend([[a, d, f], [b, e, d], [c, f, e], [d, e, f]]);
    }
    TriMesh::new(points, triangles).unwrap()
}

#[test]
fn displacements_turn_with_the_skin_in_all_clips() {
    let object = bending(9, &[0.0, 0.7, 1.5]);
    let outwards = |point: Vec3| point + 0.2 * Vec3::new(point.x, 0.0, point.z);
    let edited = with_mesh(&object, moved(&object, outwards));
    let result = &edited.scene.objects[0];
    assert_eq!((result.clips.len(), &result.attributes), (2, &object.attributes));
    // The upper end moves with its joint alone: there a displacement is rotated and keeps its length.
    for (clip, (before, after)) in frames(&object).iter().zip(frames(result)).enumerate() {
        for point in object.mesh.point_count() - 12..object.mesh.point_count() {
            let length = after[point].distance(before[point]);
            assert!((length - 0.2).abs() < 1e-5, "frame {clip}: {length}");
        }
    }
    assert!(edited.objects[0].max_growth <= 1.0 + 1e-6, "{:?}", edited.objects);
    assert_eq!(edited.objects[0].displaced_points, object.mesh.point_count());
}

#[test]
fn normals_follow_the_edit_and_stay_untouched_elsewhere() {
    let object = bending(9, &[0.5]);
    // The lower end is flared; the upper half is unchanged.
    let flare = |point: Vec3| {
        let out = (1.0 - point.y).max(0.0);
        point + out * Vec3::new(point.x, 0.0, point.z)
    };
    let result = with_mesh(&object, moved(&object, flare)).scene.objects.remove(0);
    let (old, new) = (object.mesh.layout().unwrap(), result.mesh.layout().unwrap());
    let (before, after) = (old.normals.as_ref().unwrap(), new.normals.as_ref().unwrap());
    let offsets = |object: &Object| object.rig.as_ref().unwrap().shapes()[0].normal_offsets.clone().unwrap();
    let (old_offsets, new_offsets) = (offsets(&object), offsets(&result));
    for (vertex, &point) in old.vertex_points.iter().enumerate() {
        assert!((after[vertex].length() - 1.0).abs() < 1e-5);
        let height = object.mesh.points()[point as usize].y;
        if height > 2.0 {
            assert_eq!((after[vertex], new_offsets[vertex]), (before[vertex], old_offsets[vertex]));
        } else if height < 0.6 {
            // The flare is a cone of 45°, whose normals point equally upwards and outwards.
            assert!(after[vertex].y > 0.6, "{}", after[vertex]);
        }
    }
    assert_eq!((&new.uvs, &new.materials), (&old.uvs, &old.materials));
}

#[test]
fn a_refined_mesh_moves_like_the_surface_it_was_made_from() {
    let object = bending(9, &[0.0, 0.4, 0.8]);
    let edited = with_mesh(&object, refined(&object.mesh));
    let result = &edited.scene.objects[0];
    assert_eq!(edited.objects[0].displaced_points, 0);
    for (before, after) in frames(&object).iter().zip(frames(result)) {
        for (old, new) in before.iter().zip(&after) {
            assert!(old.distance(*new) < 1e-4, "{old} is not {new}");
        }
    }
    let layout = result.mesh.layout().unwrap();
    for (vertex, &point) in layout.vertex_points.iter().enumerate() {
        let at = result.mesh.points()[point as usize];
        let expected = (-at.z).atan2(at.x).rem_euclid(std::f32::consts::TAU) / std::f32::consts::TAU;
        let [u, v] = layout.uvs[0][vertex].to_array();
        assert!((v - at.y / 4.0).abs() < 1e-4, "{u} {v} at {at}");
        // The texture coordinate varies along the chord of a side, not along the arc; at the seam it is 0 or 1.
        let around = (u - expected).abs();
        assert!(around.min(1.0 - around) < 2e-3, "{u} instead of {expected}");
        assert!((result.attributes["height"][point as usize] - at.y).abs() < 1e-4);
    }
    // No triangle crosses the seam of the texture.
    for triangle in &layout.triangles {
        let us = triangle.map(|vertex| layout.uvs[0][vertex as usize].x);
        let width = us.iter().fold(0.0_f32, |most, u| most.max((u - us[0]).abs()));
        assert!(width < 0.2, "{us:?}");
    }
    for (triangle, &material) in result.mesh.triangles().iter().zip(&layout.triangle_materials) {
        let height: f32 = triangle.iter().map(|&p| result.mesh.points()[p as usize].y).sum::<f32>() / 3.0;
        assert_eq!(material, u32::from(height > 2.0));
    }
}

#[test]
fn geometry_is_cut_and_added() {
    let object = bending(9, &[0.0, 1.2]);
    let (points, triangles) = (object.mesh.points(), object.mesh.triangles());
    // The upper half, with a spike on it.
    let mut points = points.to_vec();
    let mut kept: Vec<[u32; 3]> =
        triangles.iter().copied().filter(|t| t.iter().all(|&p| points[p as usize].y >= 2.0)).collect();
    let [a, b, c] = kept.pop().unwrap();
    points.push((points[a as usize] + points[b as usize] + points[c as usize]) / 3.0 * Vec3::new(2.0, 1.0, 2.0));
    let tip = points.len() as u32 - 1;
    kept.extend([[a, b, tip], [b, c, tip], [c, a, tip]]);
    let mesh = TriMesh::new(points, kept).unwrap();
    let edited = with_mesh(&object, mesh);
    let result = &edited.scene.objects[0];
    assert_eq!(edited.objects[0].displaced_points, 1);
    for row in result.rig.as_ref().unwrap().weights().rows() {
        let row: Vec<(u32, f32)> = row.collect();
        assert!(row.iter().all(|(_, weight)| *weight >= 0.0));
        assert!((row.iter().map(|(_, weight)| weight).sum::<f32>() - 1.0).abs() < 1e-6, "{row:?}");
    }
    assert!(!edited.warnings.is_empty());
}

#[test]
fn layers_move_with_the_edit() {
    let mut object = bending(9, &[0.0, 0.9]);
    let rig = Arc::clone(object.rig.as_ref().unwrap());
    // The linear skin as multi-weights, half of each point in the frame of either bone.
    let mut weights = MultiWeights { parts: vec![0], offsets: vec![0], ..MultiWeights::default() };
    for (point, rest) in object.mesh.points().iter().enumerate() {
        for home in 0..2 {
            weights.home.push(home);
            weights.fractions.push(0.5);
            let mut row: Vec<(u32, f32)> = rig.weights().row(point).collect();
            row.sort_by_key(|(joint, _)| *joint);
            for (joint, weight) in row {
                weights.bones.push(joint);
                weights.weights.push([[rest.x * weight, rest.y * weight, rest.z * weight, weight]; 3]);
            }
            weights.offsets.push(weights.bones.len() as u32);
        }
        weights.parts.push(weights.home.len() as u32);
    }
    let plain = Object {
        clips: object
            .clips
            .iter()
            .map(|clip| {
                let transforms = clip.shared_transforms().to_vec();
                let count = clip.frame_count();
                Arc::new(Clip::new(&rig, clip.name(), 24.0, transforms, vec![0.0; count]).unwrap())
            })
            .collect(),
        ..object.clone()
    };
    let layered =
        Object { deformers: vec![MultiWeightsLayer::new(weights, Precision::Single).unwrap().into()], ..plain.clone() };
    let bulge = |point: Vec3| point * Vec3::new(1.3, 1.0, 1.3);
    let linear = with_mesh(&plain, moved(&object, bulge)).scene.objects.remove(0);
    let multi = with_mesh(&layered, moved(&object, bulge)).scene.objects.remove(0);
    let close = |a: &[Vec3], b: &[Vec3]| a.iter().zip(b).all(|(a, b)| a.distance(*b) < 1e-4);
    for (a, b) in frames(&linear).iter().zip(frames(&multi)) {
        assert!(close(a, &b));
    }
    // Points on the old surface are posed at the interpolated positions.
    let finer = with_mesh(&layered, refined(&object.mesh)).scene.objects.remove(0);
    for (old, new) in frames(&layered).iter().zip(frames(&finer)) {
        let posed = TriMesh::new(old.clone(), object.mesh.triangles().to_vec()).unwrap();
        assert!(close(refined(&posed).points(), &new));
    }
    let heights: Vec<f32> = object.mesh.points().iter().map(|point| point.y / 4.0).collect();
    object.deformers = vec![DualQuaternionLayer::new(heights).unwrap().into(), VolumeOptions::default().into()];
    let result = with_mesh(&object, refined(&object.mesh)).scene.objects.remove(0);
    let Deformer::DualQuaternions(layer) = &result.deformers[0] else { panic!("{:?}", result.deformers) };
    assert!(layer.fits(result.mesh.point_count()) && result.deformers[1] == object.deformers[1]);
}

#[test]
fn a_map_raises_the_skin_along_its_normals_without_opening_seams() {
    let object = bending(9, &[0.0, 0.9]);
    let image = Grey { width: 64, height: 64, values: vec![1.0; 64 * 64], colourfulness: 0.0 };
    let map = DisplacementMap { image, white_m: 25.0, mid_level: 0.5 };
    let scene = Scene {
        objects: vec![
            object.clone(),
            Object::of_mesh("ball", Arc::new(TriMesh::new(vec![Vec3::ZERO; 3], vec![[0, 1, 2]]).unwrap())),
        ],
        units: Units { metres_per_unit: Some(100.0), up_axis: None },
        ..default()
    };
    let edited = dermis::edit(&scene, &RestEdit::Map(map), &EditOptions::default()).unwrap();
    for (new, old) in edited.scene.objects[0].mesh.points().iter().zip(object.mesh.points()) {
        let radius = Vec2::new(new.x, new.z).length();
        assert!((radius - 1.25).abs() < 5e-3 && (new.y - old.y).abs() < 5e-3, "{new}");
    }
    assert_eq!(edited.scene.objects.len(), 2);
    assert!(edited.warnings.iter().any(|note| note.message.contains("texture coordinates")), "{:?}", edited.warnings);
}

#[test]
fn levels_of_detail_are_displaced_with_the_full_mesh() {
    let object = bending(17, &[0.0, 0.9]);
    let leveled = dermis::make_levels(&object, &LodOptions { ratios: vec![0.5], ..default() }).unwrap();
    let wider = |point: Vec3| point * Vec3::new(1.5, 1.0, 1.5);
    let edit = RestEdit::Mesh(Arc::new(moved(&object, wider)));
    let edited = dermis::edit(&leveled.scene, &edit, &EditOptions::default()).unwrap();
    let (before, after) = (&leveled.scene.objects[0].levels[0], &edited.scene.objects[0].levels[0]);
    for (old, new) in before.mesh.points().iter().zip(after.mesh.points()) {
        assert!(new.distance(wider(*old)) < 0.05, "{old} became {new}");
    }
}

#[test]
fn an_edit_of_the_stored_pose_is_moved_to_the_bind_pose() {
    let object = bending(9, &[0.6]);
    let rig = object.rig.as_ref().unwrap();
    let clip = &object.clips[0];
    let transforms = Arc::new(clip.transforms(0).to_vec());
    let pose = dermis::mesh::RigPose { transforms, shape_weights: clip.shape_weights(0).to_vec() };
    let posed = Rig::clone(rig).with_stored_pose(pose).unwrap();
    let object = Object { rig: Some(Arc::new(posed)), ..object };
    let points: Vec<Vec3> = object.rest_points().into_owned();
    for mesh in [
        TriMesh::new(points.clone(), object.mesh.triangles().to_vec()).unwrap(),
        refined(&TriMesh::new(points, object.mesh.triangles().to_vec()).unwrap()),
    ] {
        let edited = with_mesh(&object, mesh);
        assert!(edited.warnings.iter().any(|note| note.message.contains("stored pose")), "{:?}", edited.warnings);
        for (old, new) in object.mesh.points().iter().zip(edited.scene.objects[0].mesh.points()) {
            assert!(old.distance(*new) < 1e-5, "{old} is not {new}");
        }
    }
}

#[test]
fn negative_weights_and_unmoved_points_are_reported_and_bad_inputs_rejected() {
    let object = bending(9, &[0.5]);
    let rig = object.rig.as_ref().unwrap();
    let mut rows: Vec<Vec<(u32, f32)>> = rig.weights().rows().map(Iterator::collect).collect();
    rows[0] = vec![(0, 1.5), (1, -0.5)];
    rows[1] = vec![];
    let joints = rig.joints().to_vec();
    let bad = Rig::new(&object.mesh, joints, SkinWeights::from_rows(rows), rig.shapes().to_vec()).unwrap();
    let warned = with_mesh(&Object { rig: Some(Arc::new(bad)), ..object.clone() }, moved(&object, |point| point * 1.1));
    let has = |text: &str| warned.warnings.iter().any(|note| note.message.contains(text));
    assert!(has("negative weights") && has("2.00 times") && has("no joint"), "{:?}", warned.warnings);
    let unchanged = with_mesh(&object, moved(&object, |point| point));
    assert!(unchanged.warnings[0].message.contains("no effect"), "{:?}", unchanged.warnings);

    let fail = |object: &Object, mesh: TriMesh| {
        dermis::edit(object, &RestEdit::Mesh(Arc::new(mesh)), &EditOptions::default()).unwrap_err().to_string()
    };
    assert!(fail(&object, TriMesh::default()).contains("no triangles"));
    assert!(fail(&object, moved(&object, |point| point * 100.0)).contains("does not lie"));
    assert!(fail(&object, refined(&moved(&object, |point| point + Vec3::X * 50.0))).contains("does not lie"));
    let frames = dermis::read("sample:gallop").unwrap().objects.remove(0);
    assert!(fail(&frames, moved(&frames, |point| point * 1.1)).contains("no skin"));
    let unknown =
        dermis::mesh::StoredDeformer { settings: serde_json::from_str("{\"type\":\"melt\"}").unwrap(), ..default() };
    let melting = Object { deformers: vec![Deformer::Unknown(unknown)], ..object.clone() };
    assert!(fail(&melting, refined(&object.mesh)).contains("melt"));
    assert_eq!(with_mesh(&melting, moved(&object, |point| point * 1.1)).scene.objects[0].deformers, melting.deformers);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// With convex weights and rigid joints, a displacement is never longer in a pose than at rest.
    #[test]
    fn displacements_have_no_spikes(
        angle in -3.1..3.1_f64, seed in 0..1000_u32, refine in proptest::bool::ANY
    ) {
        let mut object = bending(5, &[angle]);
        let rig = Arc::clone(object.rig.as_ref().unwrap());
        let rigid = Clip::new(&rig, "still", 24.0, object.clips[0].transforms(0).to_vec(), vec![0.0]).unwrap();
        object.clips = vec![Arc::new(rigid)];
        let noise = |k: usize, axis: u32| ((k as u32 * 7919 + seed * 104_729 + axis * 31) % 1009) as f32 / 1009.0 - 0.5;
        let base = if refine { refined(&object.mesh) } else { object.mesh.without_layout() };
        let jitter = |(k, point): (usize, &Vec3)| *point + 0.6 * Vec3::new(noise(k, 0), noise(k, 1), noise(k, 2));
        let points: Vec<Vec3> = base.points().iter().enumerate().map(jitter).collect();
        let mesh = TriMesh::new(points, base.triangles().to_vec()).unwrap();
        let edited = with_mesh(&object, mesh);
        prop_assert!(edited.objects[0].max_growth <= 1.0 + 1e-5, "{:?}", edited.objects);
        let result = &edited.scene.objects[0];
        // All joints are rigid, so two points with the same weights keep their distance, and no point is farther from the
        // middle joint than the rest shape with its displacements is.
        let reach = result.mesh.points().iter().map(|p| p.distance(Vec3::Y * 2.0)).fold(0.0, f32::max);
        for point in &frames(result)[0] {
            prop_assert!(point.distance(Vec3::Y * 2.0) <= reach * (1.0 + 1e-5));
        }
    }
}
