//! Levels of detail, edits, collision, lighting and packing of unusual assets: open meshes, more than 256 joints, points
//! that no joint moves, and meshes without a skin.

use dermis::mesh::glam::{DQuat, DVec3};
use dermis::mesh::{MeshError, Note};
use dermis::prelude::*;

const JOINTS: usize = 300;

/// An open strip along x of two rows of points, of length 1.
fn strip(columns: usize) -> Result<TriMesh, MeshError> {
    let at = |column: usize, row: f32| Vec3::new(column as f32 / (columns - 1) as f32, 0.0, 0.02 * row);
    let points = (0..columns).flat_map(|column| [at(column, 0.0), at(column, 1.0)]).collect();
    let quad = |column: usize| {
        let first = 2 * column as u32;
        [[first, first + 1, first + 3], [first, first + 3, first + 2]]
    };
    TriMesh::new(points, (0..columns - 1).flat_map(quad).collect())
}

/// A strip that a chain of 300 joints rolls up; no joint moves its last point.
fn chain() -> Object {
    let mesh = Arc::new(strip(400).unwrap());
    let at = |joint: usize| DVec3::X * (joint as f64 / (JOINTS - 1) as f64);
    let joint = |joint: usize| {
        let parent = joint.checked_sub(1);
        Joint::at(format!("link_{joint}"), parent, DAffine3::from_translation(at(joint)))
    };
    let rows = mesh.points().iter().enumerate().map(|(point, position)| {
        let joint = (position.x * (JOINTS - 1) as f32).floor().min((JOINTS - 1) as f32);
        let is_free = point + 1 == mesh.point_count();
        (!is_free).then_some((joint as u32, 1.0)).into_iter()
    });
    let rig = Rig::new(&mesh, (0..JOINTS).map(joint).collect(), SkinWeights::from_rows(rows), Vec::new()).unwrap();
    let pose = |frame: usize| {
        let bend = DQuat::from_rotation_z(0.01 * frame as f64);
        let mut transform = DAffine3::IDENTITY;
        (0..JOINTS)
            .map(|joint| {
                let step = if joint == 0 { DVec3::ZERO } else { at(1) };
                transform *= DAffine3::from_rotation_translation(bend, step);
                transform
            })
            .collect::<Vec<_>>()
    };
    let clip = Clip::new(&rig, "roll", 24.0, (0..4).flat_map(pose).collect(), Vec::new()).unwrap();
    Object::of_rig("chain", mesh, rig, vec![clip])
}

fn mentions(notes: &[Note], text: &str) -> bool {
    notes.iter().any(|note| note.message.contains(text))
}

#[test]
fn more_than_256_joints_get_levels_and_keep_the_outline() {
    let chain = chain();
    let made = dermis::make_levels(&chain, &LodOptions { ratios: vec![0.5], ..default() }).unwrap();
    let level = made.scene.objects[0].at_level(0).unwrap();
    assert!(level.mesh.triangle_count() <= chain.mesh.triangle_count() / 2);
    assert_eq!(level.rig.as_ref().unwrap().joints().len(), JOINTS);
    let error = dermis::lod::posed_error(&chain, &level, 4);
    assert!(error.rms_percent < 1.0, "{error:?}");
}

#[test]
fn more_than_256_joints_are_packed_in_16_bits() {
    let chain = chain();
    let packed = dermis::pack(&chain, &PackOptions { budget: PackBudget::Error(0.5), ..default() }).unwrap();
    assert!(packed.measures.distortion_percent <= 0.5, "{:?}", packed.measures);
    let read = dermis::io::read_bytes("glb", &packed.glb, &ReadOptions::default()).unwrap();
    let rig = read.objects[0].rig.as_ref().unwrap();
    assert_eq!(rig.joints().len(), JOINTS);
    let last = rig.weights().rows().flatten().map(|(joint, _)| joint).max();
    assert!(last > Some(256), "{last:?}");
}

#[test]
fn edits_report_points_that_no_joint_moves() {
    let chain = chain();
    let raised = chain.mesh.points().iter().map(|point| *point + 0.01 * Vec3::Y).collect();
    let edit = RestEdit::Mesh(Arc::new(chain.mesh.with_points(raised).unwrap()));
    let edited = dermis::edit(&chain, &edit, &EditOptions::default()).unwrap();
    assert!(mentions(&edited.warnings, "no joint"), "{:?}", edited.warnings);
    assert!(edited.objects[0].max_growth <= 1.0 + 1e-4, "{:?}", edited.objects);
}

#[test]
fn open_surfaces_with_many_joints_collide_and_are_lit() {
    let chain = chain();
    let through = CollideOptions { offset: DVec3::new(0.0, 0.0, 0.01), ..default() };
    let wall = dermis::mesh::Object::of_mesh(
        "wall",
        Arc::new(
            TriMesh::new(
                vec![Vec3::new(0.5, -1.0, -1.0), Vec3::new(0.5, 1.0, -1.0), Vec3::new(0.5, 0.0, 1.0)],
                vec![[0, 1, 2]],
            )
            .unwrap(),
        ),
    );
    let found = dermis::collide(&chain, &wall, &through).unwrap();
    assert_eq!(found.frame_count, 4);
    assert_eq!(found.frames[0].frame, 0);
    assert!((found.frames[0].deepest.point[0] - 0.5).abs() < 1e-3, "{:?}", found.frames[0]);
    let away = CollideOptions { offset: DVec3::new(0.0, 5.0, 0.0), ..default() };
    assert!(dermis::collide(&chain, &wall, &away).unwrap().frames.is_empty());

    let lit = dermis::bake_light(&chain, &BakeLightOptions { rays: 32, rank: 2, ..default() }).unwrap();
    assert!((0.0..=1.0).contains(&lit.measures.mean_ambient), "{:?}", lit.measures);
    let colors = &lit.scene.objects[0].mesh.layout().unwrap().colors;
    assert!(colors[0].iter().all(|color| color.min_element() >= 0.0 && color.max_element() <= 1.0));
}

#[test]
fn meshes_without_a_skin_are_simplified_at_rest_and_packed() {
    let still = Object::of_mesh("strip", Arc::new(strip(100).unwrap()));
    let made = dermis::make_levels(&still, &LodOptions { ratios: vec![0.5], ..default() }).unwrap();
    assert!(mentions(&made.warnings, "no skin"), "{:?}", made.warnings);
    let packed = dermis::pack(&still, &PackOptions::default()).unwrap();
    assert!(packed.measures.distortion_percent <= 0.5, "{:?}", packed.measures);
}
