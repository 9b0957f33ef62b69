//! Layered bodies: construction, layers and motion.

#[path = "../../dermis-tet/tests/shapes/mod.rs"]
mod shapes;

use std::sync::{Arc, OnceLock};

use dermis_body::{BodyJoint, BodyModel, BodyMotion, BodyParts, BodyPose, JointPlacement, PoseShape};
use dermis_math::progress::NoProgress;
use dermis_mesh::{Shape, SkinWeights, TriMesh, UpAxis};
use dermis_tet::tetrahedra::lattice::LatticeOptions;
use dermis_tet::tetrahedra::{TetError, TetOptions};
use dermis_tissue::dynamics::{Force, Pull, TimedForce};
use dermis_tissue::layered::{
    BodySimulation, BodySimulationOptions, BuildOptions, LayeredBody, LayeredError, Mesher, SimulateOptions,
    SkinBinding, Thickness, build, simulate,
};
use dermis_tissue::layers::NodeRole;
use glam::{DVec3, Vec3};

const FRAME_S: f32 = 1.0 / 60.0;
const GRAVITY: Force = Force::Gravity { acceleration: [-9.81, 0.0, 0.0] };

/// A limb of 1 m along y with a joint in its middle, a shape that makes it fatter and a pose shape.
fn limb() -> BodyModel {
    let distance = |at: Vec3| {
        let on_bone = Vec3::new(0.0, at.y.clamp(0.0, 1.0), 0.0);
        at.distance(on_bone) - 0.12
    };
    let mesh = shapes::implicit(Vec3::new(-0.2, -0.2, -0.2), Vec3::new(0.2, 1.2, 0.2), 0.05, distance);
    let weight = |at: &Vec3| ((at.y - 0.4) / 0.2).clamp(0.0, 1.0);
    let rows = mesh.points().iter().map(|at| [(0, 1.0 - weight(at)), (1, weight(at))]);
    let weights = SkinWeights::from_rows(rows.collect::<Vec<_>>());
    let outwards = |at: &Vec3| Vec3::new(at.x, 0.0, at.z);
    let fatter = Shape {
        name: "fatter".to_owned(),
        offsets: mesh.points().iter().map(|at| outwards(at) * 0.3).collect(),
        normal_offsets: None,
    };
    let bulge = PoseShape { number: 1, offsets: mesh.points().iter().map(|at| outwards(at) * 0.1).collect() };
    let joint = |name: &str, parent| BodyJoint { name: name.to_owned(), parent };
    BodyModel::new(BodyParts {
        mesh: Arc::new(mesh),
        joints: vec![joint("upper", None), joint("lower", Some(0))],
        placement: JointPlacement::Given { rest: vec![DVec3::ZERO, DVec3::new(0.0, 0.5, 0.0)], offsets: Vec::new() },
        weights,
        shapes: vec![fatter],
        pose_shapes: vec![bulge],
    })
    .unwrap()
}

fn swing() -> BodyMotion {
    let pose = |frame: i32| BodyPose {
        angles: vec![DVec3::ZERO, DVec3::new(0.0, 0.0, 0.5 * (f64::from(frame) * 0.08).sin())],
        translation: DVec3::new(0.0, 0.02 * (f64::from(frame) * 0.2).sin(), 0.0),
    };
    BodyMotion { name: "swing".into(), frame_rate_hz: 60.0, poses: (0..90).map(pose).collect(), notes: Vec::new() }
}

fn options(mesher: Mesher) -> BuildOptions {
    let thickness = Thickness::Uniform(1.4);
    BuildOptions { mesher, thickness, young_modulus_pa: vec![8e3], ..BuildOptions::default() }
}

fn built(mesher: Mesher) -> LayeredBody {
    build(limb(), vec![swing()], UpAxis::Y, &options(mesher), &NoProgress).unwrap().0
}

fn delaunay_body() -> LayeredBody {
    static BODY: OnceLock<LayeredBody> = OnceLock::new();
    BODY.get_or_init(|| built(Mesher::Delaunay(TetOptions::default()))).clone()
}

fn lattice_body() -> LayeredBody {
    static BODY: OnceLock<LayeredBody> = OnceLock::new();
    let lattice = LatticeOptions { spacing: Some(0.04), ..LatticeOptions::default() };
    BODY.get_or_init(|| built(Mesher::Lattice(lattice))).clone()
}

fn simulated(body: LayeredBody) -> BodySimulation {
    BodySimulation::new(body, BodySimulationOptions::default()).unwrap()
}

fn farthest(a: &[Vec3], b: &[Vec3]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max)
}

/// Index of a skin point near the middle of the upper half.
fn side_point(body: &LayeredBody) -> usize {
    let points = body.body().mesh().points();
    let distance = |point: &usize| points[*point].distance(Vec3::new(0.12, 0.25, 0.0));
    (0..points.len()).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap()
}

#[test]
fn inside_keeps_weights_shapes_and_pose_shapes_of_the_skin() {
    let body = delaunay_body();
    let parts = body.parts();
    assert_eq!(parts.binding, SkinBinding::Nodes);
    let points = parts.body.point_count();
    assert_eq!(&parts.tets.nodes()[..points], parts.body.mesh().points());
    let (shape, own) = (&parts.volume.shapes()[0], &parts.body.shapes()[0]);
    assert!(farthest(&shape.offsets[..points], &own.offsets) < 1e-6);
    let (shape, own) = (&parts.volume.pose_shapes()[0], &parts.body.pose_shapes()[0]);
    assert_eq!(shape.number, own.number);
    assert!(farthest(&shape.offsets[..points], &own.offsets) < 1e-6);
    for &node in &parts.bone_nodes {
        assert!(shape.offsets[node as usize].length() < 1e-6, "pose shapes are 0 at the bones");
    }
    for row in parts.volume.weights().rows() {
        let weights: Vec<f32> = row.map(|(_, weight)| weight).collect();
        assert!(weights.iter().all(|weight| (0.0..=1.0).contains(weight)));
        assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-5);
    }
}

#[test]
fn layer_is_free_and_bones_follow_the_pose() {
    for body in [delaunay_body(), lattice_body()] {
        let layers = body.layers();
        let counts = [NodeRole::Free, NodeRole::Driven].map(|role| layers.count(role));
        assert!(counts[0] > 100 && counts[1] > 10, "{counts:?}");
        assert!((0.05..1.0).contains(&layers.element_fraction()), "{}", layers.element_fraction());
        for &node in &body.parts().bone_nodes {
            assert_ne!(layers.roles[node as usize], NodeRole::Free);
        }
    }
}

#[test]
fn body_without_forces_keeps_its_shape() {
    for body in [delaunay_body(), lattice_body()] {
        let rest = BodyPose::rest(2);
        let mut simulation = simulated(body);
        simulation.start(&rest, 0.1, &[]).unwrap();
        for _ in 0..20 {
            simulation.advance(&rest, FRAME_S, 4, &[]).unwrap();
        }
        assert!(farthest(simulation.skin(), simulation.rest_skin()) < 1e-5);
    }
}

#[test]
fn flesh_moves_with_the_body_and_comes_to_rest() {
    for body in [delaunay_body(), lattice_body()] {
        let poses = swing().poses;
        let mut simulation = simulated(body);
        simulation.start(&poses[0], 0.2, &[]).unwrap();
        let mut max = 0.0f32;
        for pose in &poses {
            simulation.advance(pose, FRAME_S, 4, &[]).unwrap();
            max = max.max(farthest(simulation.skin(), simulation.posed_skin()));
        }
        assert!((0.002..0.15).contains(&max), "{max}");
        let last = poses.last().unwrap();
        let mut before = Vec::new();
        for _ in 0..180 {
            before = simulation.skin().to_vec();
            simulation.advance(last, FRAME_S, 4, &[]).unwrap();
        }
        assert!(farthest(simulation.skin(), &before) < 1e-4, "it has come to rest");
        assert_eq!(simulation.simulation().inverted_elements(), 0);
    }
}

#[test]
fn body_in_uniform_motion_keeps_its_shape_from_the_first_frame() {
    let at =
        |frame: i32| BodyPose { translation: DVec3::new(5.0 / 60.0 * f64::from(frame), 0.0, 0.0), ..BodyPose::rest(2) };
    let mut simulation = simulated(delaunay_body());
    simulation.start(&at(0), 0.1, &[]).unwrap();
    simulation.launch(&at(1), FRAME_S).unwrap();
    for frame in 1..60 {
        simulation.advance(&at(frame), FRAME_S, 4, &[]).unwrap();
        let apart = farthest(simulation.skin(), simulation.posed_skin());
        assert!(apart < 1e-3, "{apart} in frame {frame}");
    }
}

#[test]
fn softer_flesh_sags_more_and_recovers_from_a_pull() {
    let sag = |body: LayeredBody| {
        let mut simulation = simulated(body);
        simulation.start(&BodyPose::rest(2), 1.0, &[GRAVITY]).unwrap();
        farthest(simulation.skin(), simulation.rest_skin())
    };
    let mut stiff = delaunay_body();
    let mut flesh = stiff.flesh().clone();
    flesh.young_modulus_pa.fill(8e4);
    stiff.set_flesh(flesh).unwrap();
    let (soft, stiff) = (sag(delaunay_body()), sag(stiff));
    assert!(soft > 4.0 * stiff && stiff > 1e-4, "{soft} and {stiff}");

    let body = delaunay_body();
    let (point, rest) = (side_point(&body), BodyPose::rest(2));
    let mut simulation = simulated(body);
    simulation.start(&rest, 0.0, &[]).unwrap();
    let center = simulation.rest_skin()[point];
    let target = (center + Vec3::new(0.2, 0.0, 0.0)).to_array();
    let pull = Pull { center: center.to_array(), radius: 0.08, target, path: Vec::new(), stiffness_n_per_m: 300.0 };
    for _ in 0..30 {
        simulation.advance(&rest, FRAME_S, 4, &[Force::Pull(pull.clone())]).unwrap();
    }
    assert!(simulation.skin()[point].distance(center) > 0.01);
    for _ in 0..180 {
        simulation.advance(&rest, FRAME_S, 4, &[]).unwrap();
    }
    assert!(simulation.skin()[point].distance(center) < 1e-3);
}

#[test]
fn painted_thickness_frees_and_fixes_flesh_during_simulation() {
    let body = delaunay_body();
    let (point, rest) = (side_point(&body), BodyPose::rest(2));
    let mut simulation = simulated(body);
    simulation.start(&rest, 0.5, &[GRAVITY]).unwrap();
    assert!(simulation.skin()[point].distance(simulation.rest_skin()[point]) > 1e-3);
    let mut flesh = simulation.layered().flesh().clone();
    let before = flesh.clone();
    flesh.thickness.fill(1.0);
    let points = simulation.rest_skin().to_vec();
    // Everything except the lower end follows the pose.
    flesh.thickness.iter_mut().zip(&points).filter(|(_, at)| at.y > 0.8).for_each(|(d, _)| *d = 1.6);
    simulation.set_flesh(flesh, &rest).unwrap();
    simulation.advance(&rest, FRAME_S, 4, &[GRAVITY]).unwrap();
    assert!(simulation.skin()[point].distance(points[point]) < 1e-5, "held");
    simulation.set_flesh(before, &rest).unwrap();
    for _ in 0..60 {
        simulation.advance(&rest, FRAME_S, 4, &[GRAVITY]).unwrap();
    }
    assert!(simulation.skin()[point].distance(points[point]) > 1e-3, "free again");
}

#[test]
fn shape_coefficients_change_the_simulated_body() {
    let options = BodySimulationOptions { betas: vec![1.0], ..BodySimulationOptions::default() };
    let mut simulation = BodySimulation::new(delaunay_body(), options).unwrap();
    let rest = BodyPose::rest(2);
    simulation.start(&rest, 0.2, &[]).unwrap();
    let widest = |points: &[Vec3]| points.iter().map(|at| at.x).fold(0.0, f32::max);
    assert!(widest(simulation.skin()) > 1.25 * widest(delaunay_body().body().mesh().points()));
    assert!(farthest(simulation.skin(), simulation.rest_skin()) < 1e-4);
}

#[test]
fn simulating_all_elements_includes_more_elements() {
    let options = BodySimulationOptions { all_elements: true, ..BodySimulationOptions::default() };
    let all = BodySimulation::new(delaunay_body(), options).unwrap();
    let layer = simulated(delaunay_body());
    assert!(all.simulation().element_count() > layer.simulation().element_count());
}

#[test]
fn rejects_invalid_flesh_and_keeps_the_old() {
    let mut body = delaunay_body();
    let good = body.flesh().clone();
    for spoil in [
        |flesh: &mut dermis_tissue::layered::Flesh| flesh.thickness[3] = f32::NAN,
        |flesh: &mut dermis_tissue::layered::Flesh| flesh.young_modulus_pa[5] = -1.0,
        |flesh: &mut dermis_tissue::layered::Flesh| flesh.poisson_ratio = 0.5,
        |flesh: &mut dermis_tissue::layered::Flesh| {
            flesh.thickness.pop();
        },
    ] {
        let mut bad = good.clone();
        spoil(&mut bad);
        assert!(body.set_flesh(bad).is_err());
        assert_eq!(body.flesh(), &good);
    }
}

#[test]
fn delaunay_mesher_rejects_an_open_skin_and_lattice_accepts_it() {
    let model = limb();
    let mesh = TriMesh::new(model.mesh().points().to_vec(), model.mesh().triangles()[4..].to_vec()).unwrap();
    let open = || {
        BodyModel::new(BodyParts {
            mesh: Arc::new(mesh.clone()),
            joints: model.joints().to_vec(),
            placement: model.placement().clone(),
            weights: model.weights().clone(),
            shapes: Vec::new(),
            pose_shapes: Vec::new(),
        })
        .unwrap()
    };
    let error = build(open(), Vec::new(), UpAxis::Y, &BuildOptions::default(), &NoProgress).unwrap_err();
    assert!(matches!(error, LayeredError::Tetrahedra(TetError::Open { .. })), "{error}");
    let lattice = LatticeOptions { spacing: Some(0.06), ..LatticeOptions::default() };
    assert!(build(open(), Vec::new(), UpAxis::Y, &options(Mesher::Lattice(lattice)), &NoProgress).is_ok());
}

#[test]
fn given_tetrahedra_can_have_any_node_order() {
    let body = delaunay_body();
    let tets = &body.parts().tets;
    let last = tets.nodes().len() as u32 - 1;
    let reversed = dermis_mesh::TetMesh::new(
        tets.nodes().iter().rev().copied().collect(),
        tets.tetrahedra().iter().map(|tet| tet.map(|node| last - node)).collect(),
    )
    .unwrap();
    let (again, report) = build(limb(), Vec::new(), UpAxis::Y, &options(Mesher::Given(reversed)), &NoProgress).unwrap();
    assert_eq!(report.mesh.recovered_faces, Some(report.mesh.skin_faces));
    assert_eq!(again.layers().elements.len(), body.layers().elements.len());
}

#[test]
fn result_does_not_depend_on_the_number_of_threads() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut simulation = simulated(built(Mesher::Delaunay(TetOptions::default())));
            simulation.start(&swing().poses[0], 0.1, &[]).unwrap();
            for pose in &swing().poses[..10] {
                simulation.advance(pose, FRAME_S, 4, &[GRAVITY]).unwrap();
            }
            simulation.skin().to_vec()
        })
    };
    let one = run(1);
    assert!([2, 3].into_iter().all(|threads| run(threads) == one));
}

#[test]
fn recordings_are_simulated_when_read_and_identical_when_read_again() {
    let recording = simulate(delaunay_body(), swing(), SimulateOptions::default()).unwrap();
    let sequence = &recording.sequence;
    assert_eq!(recording.measures().displacement_max, 0.0, "nothing is simulated before it is read");
    let frames: Vec<Vec<Vec3>> = (0..20).map(|frame| sequence.frame(frame).unwrap().into_owned()).collect();
    let measures = recording.measures();
    assert!(measures.displacement_max > 1e-5 && measures.real_time_factor > 0.0);
    assert_eq!(sequence.frame(3).unwrap().as_ref(), frames[3]);
    assert_eq!(sequence.frame(19).unwrap().as_ref(), frames[19]);
    assert_eq!(recording.measures().displacement_rms.to_bits(), measures.displacement_rms.to_bits());
}

#[test]
fn a_body_far_from_its_pose_is_an_error() {
    let pull = Pull {
        center: [0.12, 0.8, 0.0],
        radius: 0.3,
        target: [40.0, 0.8, 0.0],
        path: Vec::new(),
        stiffness_n_per_m: 1e6,
    };
    let forces = vec![TimedForce { force: Force::Pull(pull), from_s: 0.0, until_s: None }];
    let options = SimulateOptions { forces, ..SimulateOptions::default() };
    let recording = simulate(delaunay_body(), swing(), options).unwrap();
    let failed = (0..30).find_map(|frame| recording.sequence.frame(frame).err()).unwrap();
    let cause = std::error::Error::source(&failed).unwrap().downcast_ref::<LayeredError>().unwrap();
    assert!(matches!(cause, LayeredError::TooFar { .. }), "{cause}");
}

#[test]
fn rejects_invalid_forces_and_empty_motions() {
    let force = Force::Gravity { acceleration: [0.0; 3] };
    let forces = vec![TimedForce { force, from_s: 1.0, until_s: Some(0.5) }];
    let options = SimulateOptions { forces, ..SimulateOptions::default() };
    let error = simulate(delaunay_body(), swing(), options).unwrap_err();
    assert!(matches!(error, LayeredError::Force { index: 0, .. }), "{error}");
    let empty = BodyMotion { poses: Vec::new(), ..swing() };
    assert!(simulate(delaunay_body(), empty, SimulateOptions::default()).is_err());
}
