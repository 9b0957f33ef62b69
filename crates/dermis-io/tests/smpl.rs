//! Bodies in SMPL's layout, as Python writes them: every pickle protocol, with poses compared with the smplx package.
//!
//! The fixtures are made by `tests/clients/smplx_fixtures.py`.

mod common;

use std::path::{Path, PathBuf};

use dermis_body::{BodyModel, BodyPose, JointPlacement};
use dermis_io::ReadOptions;
use dermis_io::smpl::{self, BodyFile};
use glam::DVec3;

const PICKLES: [&str; 8] = [
    "protocol_0.pkl", "protocol_1.pkl", "protocol_2.pkl", "protocol_3.pkl", "protocol_4.pkl", "protocol_5.pkl",
    "python2_protocol_0.pkl", "python2_protocol_2.pkl",
];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/smpl").join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(fixture(name)).unwrap()
}

fn model(name: &str) -> BodyModel {
    smpl::read(&fixture(name)).unwrap().model
}

/// The numbers of an uncompressed array of f64 in `posed.npz`.
fn numbers(name: &str) -> Vec<f64> {
    let archive = bytes("posed.npz");
    let mut zip = zip::ZipArchive::new(std::io::Cursor::new(archive)).unwrap();
    let mut file = Vec::new();
    std::io::copy(&mut zip.by_name(&format!("{name}.npy")).unwrap(), &mut file).unwrap();
    let start = 10 + usize::from(u16::from_le_bytes([file[8], file[9]]));
    file[start..].as_chunks::<8>().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect()
}

fn vectors(name: &str) -> Vec<DVec3> {
    numbers(name).as_chunks::<3>().0.iter().map(|&vector| vector.into()).collect()
}

#[test]
fn poses_match_the_smplx_package() {
    let model = model("body.npz");
    let (points, joints, shapes) = (model.point_count(), model.joints().len(), model.shapes().len());
    let (betas, angles, translations) = (numbers("betas"), vectors("angles"), vectors("translations"));
    let (expected_points, expected_joints) = (vectors("points"), vectors("joints"));
    let mut farthest = 0f64;
    for (pose, translation) in translations.iter().enumerate() {
        let betas = &betas[pose * shapes..(pose + 1) * shapes];
        let angles = angles[pose * joints..(pose + 1) * joints].to_vec();
        let posed = model.pose(betas, &BodyPose { angles, translation: *translation }).unwrap();
        for (found, expected) in posed.points.iter().zip(&expected_points[pose * points..]) {
            farthest = farthest.max(found.as_dvec3().distance(*expected));
        }
        for (found, expected) in posed.joints.iter().zip(&expected_joints[pose * joints..]) {
            farthest = farthest.max(found.translation.distance(*expected));
        }
    }
    println!("farthest from smplx: {farthest:.1e} in a body of size 4");
    // Template, shapes and weights are kept as f32.
    assert!(farthest < 1e-5, "{farthest}");
}

#[test]
fn every_protocol_gives_the_same_body() {
    let expected = model("body.npz");
    for name in PICKLES {
        let found = model(name);
        assert_eq!(found.mesh(), expected.mesh(), "{name}");
        assert_eq!(found.weights(), expected.weights(), "{name}");
        assert_eq!(found.shapes(), expected.shapes(), "{name}");
        assert_eq!(found.pose_shapes(), expected.pose_shapes(), "{name}");
        assert_eq!(found.joints(), expected.joints(), "{name}");
        let rows = |model: &BodyModel| match model.placement() {
            JointPlacement::Regressed(rows) => {
                let mut rows = rows.clone();
                for row in &mut rows {
                    row.sort_by_key(|(point, _)| *point);
                }
                rows
            }
            JointPlacement::Given { .. } => panic!("{name} has no regressor"),
        };
        assert_eq!(rows(&found), rows(&expected), "{name}");
    }
}

#[test]
fn a_pickle_is_read_as_a_scene() {
    let path = fixture("protocol_2.pkl");
    let scene = dermis_io::read(path.to_str().unwrap(), &ReadOptions::default()).unwrap();
    let of_npz = dermis_io::read(fixture("body.npz").to_str().unwrap(), &ReadOptions::default()).unwrap();
    assert_eq!(scene.objects[0].name, "protocol_2");
    assert_eq!(scene.objects[0].mesh, of_npz.objects[0].mesh);
    assert_eq!(scene.objects[0].rig.as_ref().unwrap().shapes().len(), 3);
    assert!(scene.notes.iter().any(|note| note.location.as_deref() == Some("posedirs")));
}

#[test]
fn survives_damaged_pickles() {
    for name in PICKLES {
        common::assert_survives(&common::damage(&bytes(name)), |bytes| {
            let scene = dermis_io::read_bytes("pkl", bytes, &ReadOptions::default());
            drop(smpl::read_bytes(bytes));
            scene
        });
    }
}

#[test]
fn rejects_code_and_names_the_function() {
    // {"v_template": os.system("true"), …}: a call that Python would execute.
    let pickle = b"(dS'v_template'\ncos\nsystem\n(S'true'\ntRs.";
    let error = smpl::read_bytes(pickle).unwrap_err();
    assert!(error.to_string().contains("os.system"), "{error}");
    assert_eq!(error.location(), Some("v_template"));
    assert!(error.hint().unwrap().contains(".npz"));
}

#[test]
fn rejects_pickles_with_counts_beyond_their_size() {
    let claims: [&[u8]; 6] = [
        b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.",
        b"\x80\x02T\xff\xff\xff\x7f.",
        b"\x80\x04\x8b\xff\xff\xff\xff.",
        b"}.",
        b"]K\x01a.",
        b"\x80\x05\x97.",
    ];
    for claim in claims {
        assert!(smpl::read_bytes(claim).is_err(), "{claim:?}");
    }
    let endless = vec![b'N'; 3 << 20];
    assert!(smpl::read_bytes(&endless).unwrap_err().to_string().contains("values"));
}

#[test]
fn the_joints_of_a_body_without_regressor_follow_its_joint_shapes() {
    let Some(path) = common::shared_data("bodies/mpfb_game_engine_smpl_layout.npz") else { return };
    let BodyFile { model, notes, .. } = smpl::read(&path).unwrap();
    assert_eq!((model.point_count(), model.joints().len(), model.shapes().len()), (13380, 53, 10));
    assert!(notes.is_empty(), "{notes:?}");
    let moved = model.shaped(&[1.0]).unwrap();
    assert!(moved.joints().iter().zip(model.rest_joints()).any(|(a, b)| a.distance(*b) > 1e-3));
    let posed = model.pose(&[], &BodyPose::rest(53)).unwrap();
    let apart = posed.points.iter().zip(model.mesh().points()).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
    assert!(apart < 1e-5, "at rest the skin is {apart} away from the template");
}
