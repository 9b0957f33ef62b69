//! Poses, flesh and validation of a generated limb.

#[path = "../../dermis-tet/tests/shapes/mod.rs"]
mod shapes;

use std::sync::{Arc, OnceLock};

use dermis_body::{BodyJoint, BodyModel, BodyMotion, BodyParts, BodyPose, JointPlacement};
use dermis_math::progress::NoProgress;
use dermis_mesh::{Shape, SkinWeights, UpAxis};
use dermis_tet::tetrahedra::lattice::LatticeOptions;
use dermis_tissue::dynamics::{EARTH_GRAVITY, Force};
use dermis_tissue::fit::{
    CurveStep, Method, PoseOptions, RestShape, Scan, ScanOptions, SubjectError, SubjectKind, SubjectOptions,
    check_scans, fit_poses, fit_shape, fit_subject, generate_scans, unpose, validate_subject,
};
use dermis_tissue::layered::{
    BodySimulation, BodySimulationOptions, BuildOptions, Flesh, LayeredBody, Mesher, Thickness, build,
};
use glam::{DVec3, Vec3};

/// A limb of 1 m along y with a joint in its middle and a shape that makes it longer.
fn limb() -> BodyModel {
    let distance = |at: Vec3| at.distance(Vec3::new(0.0, at.y.clamp(0.0, 1.0), 0.0)) - 0.12;
    let mesh = shapes::implicit(Vec3::new(-0.2, -0.2, -0.2), Vec3::new(0.2, 1.2, 0.2), 0.06, distance);
    let weight = |at: &Vec3| ((at.y - 0.4) / 0.2).clamp(0.0, 1.0);
    let rows = mesh.points().iter().map(|at| [(0, 1.0 - weight(at)), (1, weight(at))]);
    let weights = SkinWeights::from_rows(rows.collect::<Vec<_>>());
    let longer = Shape {
        name: "longer".to_owned(),
        offsets: mesh.points().iter().map(|at| Vec3::Y * at.y * 0.1).collect(),
        normal_offsets: None,
    };
    let joint = |name: &str, parent| BodyJoint { name: name.to_owned(), parent };
    BodyModel::new(BodyParts {
        mesh: Arc::new(mesh),
        joints: vec![joint("upper", None), joint("lower", Some(0))],
        placement: JointPlacement::Given {
            rest: vec![DVec3::ZERO, DVec3::new(0.0, 0.5, 0.0)],
            offsets: vec![vec![DVec3::ZERO, DVec3::new(0.0, 0.05, 0.0)]],
        },
        weights,
        shapes: vec![longer],
        pose_shapes: Vec::new(),
    })
    .unwrap()
}

fn pose(frame: usize, speed: f64) -> BodyPose {
    let time = frame as f64 / 60.0;
    BodyPose {
        angles: vec![
            DVec3::new(0.0, 0.0, 0.3 * (speed * time).sin()),
            DVec3::new(0.4 * (speed * time).sin(), 0.0, 0.0),
        ],
        translation: DVec3::new(0.02, 0.03 * (speed * time).sin(), 0.0),
    }
}

fn motion(name: &str, speed: f64) -> BodyMotion {
    let poses = (0..40).map(|frame| pose(frame, speed)).collect();
    BodyMotion { name: name.to_owned(), frame_rate_hz: 60.0, poses, notes: Vec::new() }
}

/// The limb with soft flesh around its middle; both ends are rigid.
fn body(young_modulus_pa: f32) -> LayeredBody {
    static BODY: OnceLock<LayeredBody> = OnceLock::new();
    let built = || {
        let limb = limb();
        let depth = |at: &Vec3| if (0.1..0.9).contains(&at.y) { 1.6 } else { 1.0 };
        let options = BuildOptions {
            mesher: Mesher::Lattice(LatticeOptions { spacing: Some(0.06), ..LatticeOptions::default() }),
            thickness: Thickness::PerPoint(limb.mesh().points().iter().map(depth).collect()),
            pin_end_effectors: false,
            ..BuildOptions::default()
        };
        build(limb, Vec::new(), UpAxis::Y, &options, &NoProgress).unwrap().0
    };
    let mut body = BODY.get_or_init(built).clone();
    let flesh = body.flesh().clone();
    let moduli = vec![young_modulus_pa; flesh.thickness.len()];
    body.set_flesh(Flesh { young_modulus_pa: moduli, damping_rate_per_s: 4.0, ..flesh }).unwrap();
    body
}

/// Scans of the limb, simulated with another time step.
fn scans(young_modulus_pa: f32) -> Vec<Scan> {
    let gravity = [Force::gravity_down(UpAxis::Y, EARTH_GRAVITY)];
    let recorded = |motion: BodyMotion| {
        let mut simulation = BodySimulation::new(body(young_modulus_pa), BodySimulationOptions::default()).unwrap();
        simulation.start(&motion.poses[0], 1.0, &gravity).unwrap();
        simulation.launch(&motion.poses[1], 1.0 / 60.0).unwrap();
        let mut frames = vec![simulation.skin().to_vec()];
        for pose in &motion.poses[1..] {
            simulation.advance(pose, 1.0 / 60.0, 10, &gravity).unwrap();
            frames.push(simulation.skin().to_vec());
        }
        Scan { name: motion.name, frame_rate_hz: 60.0, frames }
    };
    vec![recorded(motion("slow", 9.0)), recorded(motion("fast", 16.0))]
}

#[test]
fn recovers_poses_and_shape_of_a_rigid_body() {
    let (model, betas) = (limb(), [0.7]);
    let frames: Vec<Vec<Vec3>> = (0..20).map(|frame| model.pose(&betas, &pose(frame, 9.0)).unwrap().points).collect();
    let weights = vec![1.0; model.point_count()];
    let found = fit_shape(&model, &[&frames[0], &frames[9]], &weights, &PoseOptions::default()).unwrap();
    assert!((found[0] - betas[0]).abs() < 0.02, "{found:?}");
    let poses = fit_poses(&model, &betas, &frames, &weights, &PoseOptions::default()).unwrap();
    for (frame, found) in poses.iter().enumerate() {
        let expected = pose(frame, 9.0);
        assert!(found.translation.distance(expected.translation) < 1e-4, "frame {frame}");
        assert!(found.angles[1].distance(expected.angles[1]) < 1e-3, "frame {frame}");
    }
}

#[test]
fn unposing_undoes_posing() {
    let model = limb();
    let shaped = model.shaped(&[0.3]).unwrap();
    let posed = shaped.pose(&pose(7, 9.0)).unwrap().points;
    let unposed = unpose(&shaped, &pose(7, 9.0), &posed).unwrap();
    for (found, expected) in unposed.iter().zip(shaped.points()) {
        assert!(found.distance(*expected) < 1e-5);
    }
}

#[test]
fn fit_lowers_the_loss_and_continues_from_a_stored_state_bitwise() {
    let scans = scans(9e3);
    let options = SubjectOptions {
        representative_points: 2,
        substeps: Some(3),
        max_iterations: Some(3),
        train: vec!["fast".to_owned()],
        ..SubjectOptions::default()
    };
    let start = body(5e3);
    let mut states = Vec::new();
    let fit = fit_subject(&start, &scans, &options, None, &mut |s| states.push(s.clone()), &NoProgress).unwrap();
    assert_eq!(fit.training, [1]);
    // Every iteration decreases the loss; only the start of the second stage, with a sharp boundary, can be higher.
    let increases = fit.losses.windows(2).filter(|pair| pair[1] >= pair[0]).count();
    assert!(increases <= 1 && fit.losses.len() > 2 && fit.losses[1] < fit.losses[0], "{:?}", fit.losses);
    let found = validate_subject(&fit.body, &scans, &NoProgress).unwrap();
    assert_eq!(found.iter().map(|sequence| sequence.name.as_str()).collect::<Vec<_>>(), ["slow", "fast"]);
    assert!(found.iter().all(|sequence| sequence.deviation_pose_model > 0.0 && sequence.deviation_fit.is_finite()));
    // A fit that is stopped and continued from its stored state gives the same bits.
    let continued = fit_subject(&start, &scans, &options, Some(&states[2]), &mut |_| (), &NoProgress).unwrap();
    assert_eq!(continued.body.flesh(), fit.body.flesh());
}

#[test]
fn rejects_mismatched_scans() {
    let body = body(5e3);
    let still = |name: &str| Scan {
        name: name.to_owned(),
        frame_rate_hz: 60.0,
        frames: vec![body.body().mesh().points().to_vec(); 12],
    };
    let with = |change: &dyn Fn(&mut Scan)| {
        let mut scans = vec![still("a"), still("b")];
        change(&mut scans[1]);
        check_scans(&body, &mut scans)
    };
    assert_eq!(with(&|_| ()), Ok(Vec::new()));
    assert!(matches!(with(&|s| s.frame_rate_hz = 30.0), Err(SubjectError::FrameRate { .. })));
    assert!(matches!(with(&|s| s.frames[3].truncate(5)), Err(SubjectError::Topology { frame: 3, .. })));
    assert!(matches!(with(&|s| s.frames.truncate(4)), Err(SubjectError::TooShort { frames: 4, .. })));
    let scaled = |s: &mut Scan| s.frames.iter_mut().flatten().for_each(|point| *point *= 2.0);
    assert!(matches!(with(&scaled), Err(SubjectError::Size { .. })));
    let all = |s: &mut Scan| s.frames.iter_mut().for_each(|frame| frame[0] = Vec3::NAN);
    assert!(matches!(with(&all), Err(SubjectError::InvalidFrames { invalid: 12, .. })));
    // One invalid frame among many is interpolated and reported.
    let mut long = Scan { frames: vec![body.body().mesh().points().to_vec(); 30], ..still("c") };
    long.frames[5][2] = Vec3::NAN;
    let mut scans = [long];
    let notes = check_scans(&body, &mut scans).unwrap();
    assert_eq!(notes, ["frame 5 of 'c' is invalid and interpolated"]);
    assert!(scans[0].frames[5][2].is_finite());
    let rejected = fit_subject(&body, &[still("a")], &SubjectOptions::default(), None, &mut |_| (), &NoProgress);
    assert!(matches!(rejected, Err(SubjectError::Still { .. })), "{:?}", rejected.err());
}

#[test]
fn method_of_the_paper_lowers_the_deviation_and_continues_bitwise() {
    let scans = scans(4e3);
    let options = SubjectOptions {
        method: Method::Paper,
        representative_points: 4,
        max_iterations: Some(1),
        train: vec!["fast".to_owned()],
        symmetric: true,
        ..SubjectOptions::default()
    };
    let start = body(5e3);
    let mut states = Vec::new();
    let fit = fit_subject(&start, &scans, &options, None, &mut |s| states.push(s.clone()), &NoProgress).unwrap();
    assert_eq!((fit.iterations, states.len()), (1, 3));
    let steps: Vec<CurveStep> = fit.curves.iter().map(|point| point.step).collect();
    assert_eq!(
        (steps[0], steps[1], steps[steps.len() - 1]),
        (CurveStep::Layers, CurveStep::Initialization, CurveStep::Search)
    );
    assert!(fit.curves.last().unwrap().deviation_m < fit.curves[0].deviation_m, "{:?}", fit.curves);
    assert!(fit.curves.iter().all(|point| point.fem_nodes > 0 && (100.0..=7e3).contains(&point.mean_modulus_pa)));
    // No scan begins at rest.
    assert_eq!(fit.rest, None);
    let continued = fit_subject(&start, &scans, &options, Some(&states[1]), &mut |_| (), &NoProgress).unwrap();
    assert_eq!(continued.body.flesh(), fit.body.flesh());
    assert_eq!(continued.body.body().mesh().points(), fit.body.body().mesh().points());
    assert_eq!(continued.curves, fit.curves);
    // A checkpoint of other options is rejected.
    let other = SubjectOptions { symmetric: false, ..options };
    let rejected = fit_subject(&start, &scans, &other, Some(&states[1]), &mut |_| (), &NoProgress);
    assert_eq!(rejected.err(), Some(SubjectError::OtherFit));
}

#[test]
fn rest_shape_sags_to_the_scan() {
    // The subject has a shape that the body model does not contain: a bulge of 8 mm.
    let mut bulged = scans(6e3);
    let bulge =
        |at: &Vec3| Vec3::new(at.x, 0.0, at.z).normalize_or_zero() * 8e-3 * (-((at.y - 0.5) / 0.15).powi(2)).exp();
    let offsets: Vec<Vec3> = body(6e3).body().mesh().points().iter().map(bulge).collect();
    for scan in &mut bulged {
        let standing = scan.frames[0].clone();
        scan.frames.splice(0..0, vec![standing; 3]);
        for frame in &mut scan.frames {
            frame.iter_mut().zip(&offsets).for_each(|(point, offset)| *point += *offset);
        }
    }
    let options = SubjectOptions {
        representative_points: 2,
        max_iterations: Some(0),
        max_frames: 12,
        train: vec!["fast".to_owned()],
        ..SubjectOptions::default()
    };
    let fit = fit_subject(&body(6e3), &bulged, &options, None, &mut |_| (), &NoProgress).unwrap();
    let rest = fit.rest.unwrap();
    assert_eq!(rest.method, RestShape::InverseStatic);
    assert!(rest.residual_m < 0.35 * rest.residual_before_m && rest.residual_m < 1e-3, "{rest:?}");
}

#[test]
fn generates_the_same_scans_for_a_seed_and_others_for_another() {
    let (limb, motions) = (limb(), [motion("slow", 9.0)]);
    let record = |seed: u64| {
        let options = ScanOptions { kind: SubjectKind::Slim, seed, spacing: 0.05, frames: 12 };
        generate_scans(&limb, &motions, UpAxis::Y, &options, &NoProgress).unwrap()
    };
    let ((scans, hidden), (others, _)) = (record(3), record(4));
    assert_eq!((&scans, &hidden), (&record(3).0, &record(3).1));
    assert!(scans != others);
    // A scan consists of a name, a rate and positions; the hidden properties are returned separately.
    let Scan { name, frame_rate_hz, frames } = &scans[0];
    assert_eq!((name.as_str(), *frame_rate_hz, frames.len(), frames[0].len()), ("slow", 60.0, 12, limb.point_count()));
    assert!(frames.iter().flatten().all(|point| point.is_finite()));
    assert_eq!(hidden.poses[0].1.len(), 12);
}

#[test]
fn generates_a_subject_whose_skin_touches_itself() {
    // The thighs of this subject intersect at rest, so that its own shape cannot be meshed.
    let (body, motions) = dermis_samples::body_model();
    let options = ScanOptions { kind: SubjectKind::Heavy, seed: 11, spacing: 0.03, frames: 2 };
    let (scans, hidden) = generate_scans(&body, &motions[..1], UpAxis::Y, &options, &NoProgress).unwrap();
    assert!(scans[0].frames.iter().flatten().all(|point| point.is_finite()));
    assert!(hidden.betas[0] > 0.7 && hidden.flesh.thickness.iter().any(|&depth| depth > 1.1));
}

#[test]
fn reports_the_floor_and_rejects_another_subject() {
    let body = body(5e3);
    let points = body.body().mesh().points();
    let mut falling = Scan { name: "falling".to_owned(), frame_rate_hz: 60.0, frames: vec![points.to_vec(); 20] };
    falling.frames[9].iter_mut().for_each(|point| point.y -= 0.2);
    let notes = check_scans(&body, std::slice::from_mut(&mut falling)).unwrap();
    assert_eq!(notes, ["'falling' goes 20 cm below the floor of its first frame; no floor is simulated"]);
    // A limb that is twice as thick has the size, but not the shape of the body.
    let thick: Vec<Vec3> = points.iter().map(|p| Vec3::new(2.0 * p.x, p.y, 0.4 * p.z)).collect();
    let mut scan = [Scan { name: "thick".to_owned(), frame_rate_hz: 60.0, frames: vec![thick; 12] }];
    check_scans(&body, &mut scan).unwrap();
    let rejected = fit_subject(&body, &scan, &SubjectOptions::default(), None, &mut |_| (), &NoProgress);
    assert!(matches!(rejected, Err(SubjectError::Shape { .. })), "{:?}", rejected.err());
}
