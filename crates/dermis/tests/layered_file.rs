//! Files of layered bodies: round trips and malformed files.

use std::sync::OnceLock;

use dermis::layered_file::{read, read_bytes, read_if_layered, write};
use dermis_io::{ReadOptions, WriteOptions};
use dermis_math::progress::NoProgress;
use dermis_mesh::UpAxis;
use dermis_samples::body_model;
use dermis_tet::tetrahedra::lattice::LatticeOptions;
use dermis_tissue::layered::{BuildOptions, LayeredBody, Mesher, SkinBinding, build};

fn body() -> &'static LayeredBody {
    static BODY: OnceLock<LayeredBody> = OnceLock::new();
    BODY.get_or_init(|| {
        let (model, motions) = body_model();
        let lattice = LatticeOptions { spacing: Some(0.06), ..LatticeOptions::default() };
        let options = BuildOptions { mesher: Mesher::Lattice(lattice), ..BuildOptions::default() };
        build(model, motions[..2].to_vec(), UpAxis::Y, &options, &NoProgress).unwrap().0
    })
}

fn bytes() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.npz");
        write(&path, body(), &WriteOptions::default()).unwrap();
        assert!(read_if_layered(&path).unwrap().is_some());
        assert!(read(&path).is_ok());
        std::fs::read(path).unwrap()
    })
}

#[test]
fn a_layered_body_survives_a_round_trip() {
    let (before, after) = (body().parts(), read_bytes(bytes()).unwrap().body);
    let after = after.parts();
    assert!(matches!(after.binding, SkinBinding::Embedded(_)));
    assert_eq!(before.tets, after.tets);
    assert_eq!(before.binding, after.binding);
    assert_eq!(before.bone_nodes, after.bone_nodes);
    assert_eq!(before.flesh, after.flesh);
    assert_eq!(before.motions.len(), after.motions.len());
    for (before, after) in before.motions.iter().zip(&after.motions) {
        assert_eq!(
            (&before.name, before.frame_rate_hz, &before.poses),
            (&after.name, after.frame_rate_hz, &after.poses)
        );
    }
    let pose = &before.motions[1].poses[7];
    for (mine, theirs) in [(&before.body, &after.body), (&before.volume, &after.volume)] {
        let (mine, theirs) = (mine.pose(&[1.0], pose).unwrap(), theirs.pose(&[1.0], pose).unwrap());
        let apart = mine.points.iter().zip(&theirs.points).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
        assert!(apart < 1e-5, "{apart}");
    }
    assert_eq!(body().layers().elements, read_bytes(bytes()).unwrap().body.layers().elements);
}

#[test]
fn as_a_scene_it_is_a_rigged_body_with_clips_and_painted_values() {
    let object = dermis_io::read_bytes("npz", bytes(), &ReadOptions::default()).unwrap().objects.remove(0);
    assert_eq!(object.clips.len(), 2);
    assert_eq!(object.rig.unwrap().joints().len(), 24);
    let names: Vec<&str> = object.attributes.keys().map(String::as_str).collect();
    assert_eq!(names, ["tissue_thickness", "tissue_young_modulus"]);
}

#[test]
fn rejects_damaged_files_without_a_panic() {
    let whole = bytes();
    for end in (0..whole.len()).step_by(whole.len() / 40) {
        assert!(read_bytes(&whole[..end]).is_err());
    }
    for at in (0..whole.len()).step_by(whole.len() / 60) {
        let mut damaged = whole.to_vec();
        damaged[at..].iter_mut().take(16).for_each(|byte| *byte = !*byte);
        // Some damaged numbers are valid values.
        let _ = read_bytes(&damaged);
    }
}
