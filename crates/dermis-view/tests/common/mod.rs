//! Server with a small skin and its recorded motion, and plain requests to it.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use dermis::body::from_object;
use dermis::prelude::*;
use dermis::tet::tetrahedra::lattice::LatticeOptions;
use dermis::tissue::layered::{BuildOptions, Mesher, Thickness, build};
use dermis_view::{AssetStore, ServeError, ServeOptions, Server};

/// A strip of quads that a second joint bends, and the recorded motion with an error of `off` in the last frame.
pub(crate) fn strip(frames: usize, off: f32) -> (Scene, Scene) {
    let points: Vec<Vec3> = (0..10).flat_map(|k| [0.0, 1.0].map(|y| Vec3::new(k as f32, y, 0.0))).collect();
    let triangles = (0..9).flat_map(|k| [[2 * k, 2 * k + 2, 2 * k + 3], [2 * k, 2 * k + 3, 2 * k + 1]]).collect();
    let mesh = Arc::new(TriMesh::new(points, triangles).unwrap());
    let middle = DAffine3::from_translation(dermis::mesh::glam::DVec3::X * 4.5);
    let joints = vec![Joint::at("root", None, DAffine3::IDENTITY), Joint::at("tip", Some(0), middle)];
    let weight = |k: usize| (k / 2) as f32 / 9.0;
    let weights = SkinWeights::from_rows((0..20).map(|k| [(0, 1.0 - weight(k)), (1, weight(k))]));
    let shape = Shape { name: "up".into(), offsets: vec![Vec3::Z; 20], normal_offsets: None };
    let rig = Rig::new(&mesh, joints, weights, vec![shape]).unwrap();
    let bent = |s: usize| middle * DAffine3::from_axis_angle(dermis::mesh::glam::DVec3::Z, 0.1 * s as f64);
    let transforms = (0..frames).flat_map(|s| [DAffine3::IDENTITY, bent(s)]).collect();
    let coefficients = (0..frames).map(|s| 0.2 * s as f32).collect();
    let clip = Clip::new(&rig, "bend", 24.0, transforms, coefficients).unwrap();
    let recorded = dermis::mesh::pose::bake(&mesh, &rig, &clip).unwrap();
    let mut positions = recorded.positions().unwrap().to_vec();
    positions.last_mut().unwrap().z += off;
    let recorded = MeshSequence::new(Arc::clone(&mesh), positions, 24.0).unwrap();
    let scene = |object| Scene { objects: vec![object], ..Scene::default() };
    (scene(Object::of_sequence("strip", recorded)), scene(Object::of_rig("strip", mesh, rig, vec![clip])))
}

/// File of an arm with flesh on the side of larger x.
pub(crate) fn layered_arm() -> Vec<u8> {
    let object = dermis::samples::build("arm").unwrap().objects.remove(0);
    let (low, high) = object.mesh.bounds();
    let thickness = |point: &Vec3| if point.x > low.midpoint(high).x { 1.6 } else { 0.5 };
    let spacing = Some(0.1 * f64::from(object.mesh.diagonal()));
    let options = BuildOptions {
        mesher: Mesher::Lattice(LatticeOptions { spacing, ..LatticeOptions::default() }),
        thickness: Thickness::PerPoint(object.mesh.points().iter().map(thickness).collect()),
        pin_end_effectors: false,
        ..BuildOptions::default()
    };
    let (body, motions) = from_object(&object).unwrap();
    let (body, _) = build(body, motions, UpAxis::Y, &options, &NoProgress).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("arm.npz");
    dermis::layered_file::write(&file, &body, &WriteOptions::default()).unwrap();
    std::fs::read(file).unwrap()
}

/// Running server, which stops when dropped.
pub(crate) struct Running {
    pub(crate) port: u16,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

impl Running {
    /// Serves the recorded strip as asset 0 and its skin as asset 1.
    pub(crate) fn start(options: ServeOptions) -> Self {
        let assets = Arc::new(AssetStore::default());
        let (recorded, skin) = strip(6, 0.5);
        assets.add_scene("strip.abc", recorded).unwrap();
        assets.add_scene("strip.glb", skin).unwrap();
        let server = Server::bind(assets, options).unwrap();
        let port = server.url().trim_end_matches('/').rsplit(':').next().unwrap().parse().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&stop);
        let thread = std::thread::spawn(move || server.run(move || stopping.load(Ordering::SeqCst)));
        Self { port, stop, thread: Some(thread) }
    }

    /// Sends a request. Returns the status and the body of the response.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> (u16, Vec<u8>) {
        let host = format!("127.0.0.1:{}", self.port);
        let own = ("Host", host.as_str());
        let own = (!headers.iter().any(|(name, _)| *name == "Host")).then_some(&own);
        let line = |(name, value): &(&str, &str)| format!("{name}: {value}\r\n");
        let lines: String = headers.iter().chain(own).map(line).collect();
        let size = body.len();
        let head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n{lines}Content-Length: {size}\r\n\r\n");
        let mut stream = TcpStream::connect(&host).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        // A server that rejects a body may close the connection before all of it is sent.
        let _ = stream.write_all(body);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("the response has a header");
        let status = std::str::from_utf8(&answer[9..12]).unwrap().parse().unwrap();
        (status, answer[end + 4..].to_vec())
    }

    pub(crate) fn get(&self, path: &str) -> (u16, Vec<u8>) {
        self.send("GET", path, &[], b"")
    }

    pub(crate) fn json(&self, path: &str) -> serde_json::Value {
        let (status, body) = self.get(path);
        assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(&body));
        serde_json::from_slice(&body).unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap().unwrap();
        }
    }
}
