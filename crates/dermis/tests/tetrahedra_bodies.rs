//! Tetrahedra of real bodies in the folder `DERMIS_DATA`, if it exists.

mod common;

use common::shared_data;
use dermis_io::ReadOptions;
use dermis_math::progress::NoProgress;
use dermis_mesh::TriMesh;
use dermis_tet::tetrahedra::lattice::{LatticeOptions, lattice_body};
use dermis_tet::tetrahedra::{TetError, TetOptions, tetrahedralize};

/// Bodies with self-intersections: thighs, fingers, lips.
const BODIES: [&str; 4] = [
    "bodies/human_man.obj",
    "bodies/mpfb_game_engine_smpl_layout.npz",
    "sequences/cat-poses.npz",
    "sequences/three_Horse.npz",
];

fn body(name: &str) -> Option<TriMesh> {
    let scene = dermis_io::read(shared_data(name)?.to_str()?, &ReadOptions::default()).unwrap();
    Some(scene.objects[0].mesh.without_layout())
}

#[test]
fn real_bodies_keep_their_skin() {
    for name in BODIES {
        let Some(skin) = body(name) else { continue };
        let options = TetOptions { separate: 0.02 * f64::from(skin.diagonal()), ..TetOptions::default() };
        let body = tetrahedralize(&skin, &[], &options, &NoProgress).unwrap();
        println!(
            "{name}: {} nodes, {} tetrahedra, {:.3} % of faces, volume error {:.1e}, dihedral angles from {:.1}°",
            body.mesh.nodes().len(),
            body.mesh.tetrahedra().len(),
            100.0 * body.recovered_fraction(),
            body.volume_error,
            body.quality.smallest_dihedral_degrees
        );
        assert!(body.recovered_fraction() > 0.999, "{name}: {}", body.recovered_fraction());
        assert!(body.volume_error.abs() < 1e-3, "{name}: {}", body.volume_error);
        assert!(body.mesh.volumes().iter().all(|&volume| volume > 0.0), "{name}");
    }
}

#[test]
fn rejects_a_self_intersecting_body_that_the_lattice_accepts() {
    let Some(skin) = body(BODIES[0]) else { return };
    let error = tetrahedralize(&skin, &[], &TetOptions::default(), &NoProgress).unwrap_err();
    let TetError::SelfIntersecting { pairs, .. } = error else { panic!("{error}") };
    // Between the thighs.
    assert!(
        pairs.iter().all(|pair| pair.position.x.abs() < 0.05 && (0.5..1.0).contains(&pair.position.y)),
        "{pairs:?}"
    );
    let body = lattice_body(&skin, &[], &LatticeOptions::default(), &NoProgress).unwrap();
    for (embedding, point) in body.skin.iter().zip(skin.points()) {
        assert!(embedding.position(body.mesh.tetrahedra(), body.mesh.nodes()).distance(*point) < 1e-5);
    }
}
