//! Posing a frame does not allocate after the first frame. The test has its own file because it counts all allocations of
//! the process.
#![allow(unsafe_code, reason = "a counting allocator requires unsafe code")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use dermis_mesh::{Clip, Joint, Object, Rig, Shape, SkinWeights, TriMesh};
use dermis_skin::{Pose, Skin};
use glam::{DAffine3, Vec3};

const POINTS: usize = 20_000;
const BONES: usize = 300;

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all calls are forwarded to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of the allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of the allocator.
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
        // Threads of the pool allocate when they first participate, which may be some frames later.
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
