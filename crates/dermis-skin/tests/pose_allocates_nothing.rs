//! Posing a frame allocates nothing once a first frame has been posed. Alone in its file: it counts for the process.
#![allow(unsafe_code, reason = "an allocator that counts cannot be written without")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use dermis_mesh::{Clip, Joint, Object, Rig, Shape, SkinWeights, TriMesh};
use dermis_skin::{Pose, Skin};
use glam::{DAffine3, Vec3};

const POINTS: usize = 20_000;
const BONES: usize = 300;

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn later_frames_allocate_nothing() {
    let skin = skin();
    let (mut positions, mut normals) = (vec![Vec3::ZERO; POINTS], vec![Vec3::ZERO; POINTS]);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let allocations = pool.install(|| {
        let mut pose = Pose::default();
        let mut play = |frame: usize| skin.pose_into(0, frame, &mut pose, &mut positions, Some(&mut normals));
        // Threads of the pool allocate when they first take part, which may be some frames later.
        (0..50).for_each(|frame| play(frame % 2));
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        (0..10).for_each(|frame| play(frame % 2));
        ALLOCATIONS.load(Ordering::Relaxed) - before
    });
    assert_eq!(allocations, 0);
}

fn skin() -> Skin {
    let mesh = TriMesh::new((0..POINTS).map(|k| Vec3::splat(k as f32)).collect(), vec![]).unwrap();
    let joints = (0..BONES).map(|_| Joint::at("bone", None, DAffine3::IDENTITY)).collect();
    let weights =
        SkinWeights::from_rows((0..POINTS).map(|k| (0..6).map(move |i| (((k + i) % BONES) as u32, 1.0 / 6.0))));
    let shape =
        Shape { offsets: vec![Vec3::X; POINTS], normal_offsets: Some(vec![Vec3::Y; POINTS]), ..Shape::default() };
    let rig = Rig::new(&mesh, joints, weights, vec![shape]).unwrap();
    let clip = Clip::new(&rig, "stand", 24.0, vec![DAffine3::IDENTITY; 2 * BONES], vec![0.5, 1.0]).unwrap();
    Skin::from_object(&Object::of_rig("points", mesh.into(), rig, vec![clip])).unwrap()
}
