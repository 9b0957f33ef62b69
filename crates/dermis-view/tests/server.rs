//! Responses of the server, rejected requests, and shutdown.

mod common;

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{Running, layered_arm, strip};
use dermis::prelude::*;
use dermis_view::{AssetStore, ServeOptions};
use tungstenite::Message;

#[test]
fn rejects_foreign_hosts_and_origins() {
    let server = Running::start(ServeOptions::default());
    let own = format!("http://127.0.0.1:{}", server.port);
    let status = |headers: &[(&str, &str)]| server.send("GET", "/api/scene", headers, b"").0;
    assert_eq!(status(&[]), 200);
    assert_eq!(status(&[("Origin", &own)]), 200);
    assert_eq!(status(&[("Host", &format!("localhost:{}", server.port))]), 200);
    for host in ["evil.example", "127.0.0.1", "127.0.0.1:1", &format!("evil.example:{}", server.port), ""] {
        assert_eq!(status(&[("Host", host)]), 403, "{host}");
    }
    for origin in ["http://evil.example", "null", "https://127.0.0.1", &format!("{own}.evil.example"), ""] {
        assert_eq!(status(&[("Origin", origin)]), 403, "{origin}");
    }
    assert_eq!(status(&[("Origin", &own), ("Origin", "http://evil.example")]), 403);
    let (status, _) = server.send("POST", "/api/drop?name=a.obj", &[("Origin", "http://evil.example")], b"v 0 0 0\n");
    assert_eq!((status, server.json("/api/scene")["assets"].as_array().unwrap().len()), (403, 2));
}

#[test]
fn rejects_unknown_paths() {
    let server = Running::start(ServeOptions::default());
    let outside = [
        "/../Cargo.toml",
        "/..%2f..%2fCargo.toml",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/etc/passwd",
        "//etc/passwd",
        "/assets/../../src/lib.rs",
        "/strip.abc",
        "/api/assets/7/levels/0/mesh",
        "/api/assets/1/levels/3/mesh",
        "/api/assets/0/levels/0/clips/0",
        "/api/assets/1/points/20?rank=0",
        "/api/assets/../scene",
    ];
    for path in outside {
        let (status, body) = server.get(path);
        assert!((400..500).contains(&status), "{path}: {status} {}", String::from_utf8_lossy(&body));
    }
    assert_eq!(server.send("DELETE", "/api/scene", &[], b"").0, 405);
}

#[test]
fn reports_every_error_as_json() {
    let server = Running::start(ServeOptions { upload_limit: 1000, ..ServeOptions::default() });
    let rejected = [
        (400, server.get("/api/assets/x/levels/0/mesh")),
        (400, server.get("/api/assets/0/frames?first=0")),
        (403, server.send("GET", "/api/scene", &[("Host", "evil.example")], b"")),
        (404, server.get("/nowhere")),
        (405, server.send("DELETE", "/api/scene", &[], b"")),
        (413, server.send("POST", "/api/drop?name=new.obj", &[], &[b'#'; 1001])),
    ];
    for (expected, (status, body)) in rejected {
        let response: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert!(status == expected && !response["error"].as_str().unwrap().is_empty(), "{status}: {response}");
    }
}

#[test]
fn rejects_uploads_that_are_too_large() {
    let server = Running::start(ServeOptions { upload_limit: 1000, ..ServeOptions::default() });
    let drop = |bytes: &[u8]| server.send("POST", "/api/drop?name=new.obj", &[], bytes);
    assert_eq!(drop(&[b'#'; 1001]).0, 413);
    let (status, body) = drop(b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    assert_eq!((status, String::from_utf8(body).unwrap().as_str()), (200, r#"{"asset":2}"#));
    assert_eq!(server.json("/api/scene")["assets"][2]["label"], "new.obj");
}

#[test]
fn rejects_a_large_upload_by_its_length_and_bounds_all_of_them() {
    let file = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
    let server = Running::start(ServeOptions { upload_budget: 2 * file.len() as u64, ..ServeOptions::default() });
    let drop = |bytes: &[u8]| server.send("POST", "/api/drop?name=new.obj", &[], bytes);
    assert_eq!([drop(file).0, drop(file).0, drop(file).0], [200, 200, 422]);
    let response = String::from_utf8(drop(file).1).unwrap();
    assert!(response.contains("more than the limit of"), "{response}");
    // Only the header is sent: the response must not depend on the body.
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    let (port, length) = (server.port, 1u64 << 40);
    let head =
        format!("POST /api/drop?name=a.obj HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
}

#[test]
fn bounds_the_number_of_live_deformers() {
    let server = Running::start(ServeOptions::default());
    let url = format!("ws://127.0.0.1:{}/api/assets/0/live/recorded", server.port);
    let mut sockets: Vec<_> = (0..24).map(|_| tungstenite::connect(&url).unwrap()).collect();
    let Err(tungstenite::Error::Http(rejected)) = tungstenite::connect(&url) else { panic!("the ninth is accepted") };
    assert_eq!(rejected.status(), 503);
    sockets.pop();
    let again = || {
        (0..100).any(|_| {
            tungstenite::connect(&url).is_ok() || {
                std::thread::sleep(Duration::from_millis(50));
                false
            }
        })
    };
    assert!(again(), "a closed connection returns its permit");
}

#[test]
fn reports_errors_of_dropped_files() {
    let server = Running::start(ServeOptions::default());
    let (status, body) = server.send("POST", "/api/drop?name=broken.glb", &[], b"this is no glb");
    let response: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(status, 422);
    assert!(!response["error"].as_str().unwrap().is_empty());
    assert_eq!(server.send("POST", "/api/drop?name=a.exe", &[], b"").0, 422);
}

#[test]
fn measures_match_the_librarys_to_the_printed_digits() {
    let server = Running::start(ServeOptions::default());
    let (recorded, skin) = strip(6, 0.5);
    let skin = dermis::skin::Skin::from_object(&skin.objects[0]).unwrap();
    let sequence = recorded.objects[0].sequence.clone().unwrap();
    for rank in [0, 1] {
        let expected = dermis::skin::measure(&skin.with_rank(rank).unwrap(), std::slice::from_ref(&sequence)).unwrap();
        let found = server.json(&format!("/api/assets/1/measures?rank={rank}"));
        // JSON parsing can have an error in the last bit.
        let same = |name: &str, expected: f64| (found[name].as_f64().unwrap() / expected - 1.0).abs() < 1e-14;
        assert!(same("distortion_percent", expected.distortion_percent), "{found}");
        assert!(same("max_error_percent", expected.max_error_percent), "{found}");
        let text = dermis_view::formatting::measured(expected.distortion_percent);
        assert_eq!(found["text"]["distortion_percent"], text.as_str());
    }
    let errors = server.json("/api/assets/1/points/19?rank=1");
    assert!((errors[5].as_f64().unwrap() - 0.5).abs() < 1e-6, "{errors}");
    assert_eq!(server.get("/api/assets/0/measures?rank=0").0, 404);
}

#[test]
fn compares_a_clip_with_the_motion_it_reproduces() {
    let (recorded, skin) = strip(6, 0.5);
    let sequence = recorded.objects[0].sequence.clone().unwrap();
    let mesh = Arc::clone(&skin.objects[0].mesh);
    let positions: Vec<Vec3> = (0..6).rev().flat_map(|frame| sequence.frame(frame).unwrap().into_owned()).collect();
    let reversed = MeshSequence::new(Arc::clone(&mesh), positions, 24.0).unwrap();
    let assets = AssetStore::default();
    let add = |name: &str, object| assets.add_scene(name, Scene { objects: vec![object], ..Scene::default() }).unwrap();
    add("other.npz", Object::of_sequence("other", reversed.clone()));
    add("strip.abc", recorded.objects[0].clone());
    let fit = add("strip.glb", skin.objects[0].clone());
    assert_eq!(*assets.references(fit), [Some(1)]);

    // A second clip that reproduces the other motion, and a third that reproduces neither.
    let Object { rig, clips, .. } = skin.objects[0].clone();
    let rig = rig.unwrap();
    let frames = |order: &dyn Fn(usize) -> usize| {
        let transforms = (0..6).flat_map(|frame| clips[0].transforms(order(frame)).to_vec()).collect();
        let weights = (0..6).flat_map(|frame| clips[0].shape_weights(order(frame)).to_vec()).collect();
        Clip::new(&rig, "", 24.0, transforms, weights).unwrap()
    };
    let three = vec![frames(&|_| 0), frames(&|frame| 5 - frame), frames(&|frame| frame)];
    let both = add("both.glb", Object::of_rig("strip", mesh, (*rig).clone(), three));
    assert_eq!(*assets.references(both), [None, Some(0), Some(1)]);
    let error = |clip| assets.measures(both, clip, 1).unwrap().unwrap().max_error;
    assert!((error(1) - 0.5).abs() < 1e-3 && (error(2) - 0.5).abs() < 1e-3, "{} {}", error(1), error(2));
    assert!(assets.measures(both, 0, 1).unwrap().is_none());

    // A matching name takes precedence over the error.
    let named = add("bend.npz", Object::of_sequence("bend", reversed));
    assert_eq!(*assets.references(fit), [Some(named)]);
}

#[test]
fn saves_an_edited_rest_pose_and_a_painted_attribute_to_the_output() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("edited.glb");
    let server = Running::start(ServeOptions { output: Some(target.clone()), ..ServeOptions::default() });
    let rest: Vec<u8> = (0..60).flat_map(|k| (k as f32).to_le_bytes()).collect();
    assert_eq!(server.send("POST", "/api/assets/1/edit?rest=true", &[], &rest).0, 200);
    let read = || dermis::io::read(target.to_str().unwrap(), &ReadOptions::default()).unwrap().objects.remove(0);
    let edited = read();
    assert_eq!(edited.mesh.points()[1], Vec3::new(3.0, 4.0, 5.0));
    assert_eq!((edited.clips.len(), edited.rig.unwrap().shapes().len()), (1, 1));
    let paint: Vec<u8> = (0..20).flat_map(|k| (k as f32 / 20.0).to_le_bytes()).collect();
    let both = [rest.clone(), paint.clone()].concat();
    assert_eq!(server.send("POST", "/api/assets/1/edit?rest=true&attribute=stiffness", &[], &both).0, 200);
    let Object { mesh, attributes, .. } = read();
    let painted = attributes.into_iter().find(|(name, _)| name.eq_ignore_ascii_case("stiffness")).unwrap();
    assert_eq!((mesh.points()[1], painted.1[10]), (Vec3::new(3.0, 4.0, 5.0), 0.5), "one save keeps both edits");
    for (edit, body) in [
        ("rest=true", &rest[4..]),
        ("rest=true", &both[..]),
        ("attribute=stiffness", &rest[..]),
        ("attribute=..%2Fx", &paint[..]),
        ("rest=true", &[0xff; 240][..]),
        ("rest=false", &[][..]),
    ] {
        assert_eq!(server.send("POST", &format!("/api/assets/1/edit?{edit}"), &[], body).0, 422, "{edit}");
    }
    let other = server.send("POST", "/api/assets/0/edit?rest=true", &[], &rest);
    assert_eq!(other.0, 422, "another asset does not replace the saved one");
}

#[test]
fn without_an_output_an_edit_is_a_download() {
    let server = Running::start(ServeOptions::default());
    let (status, body) = server.send("POST", "/api/assets/1/edit?rest=true", &[], &[0; 240]);
    assert_eq!((status, &body[..4]), (200, &b"glTF"[..]));
}

#[test]
fn does_not_replace_an_existing_output_without_force() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("edited.glb");
    std::fs::write(&target, b"mine").unwrap();
    let server = Running::start(ServeOptions { output: Some(target.clone()), ..ServeOptions::default() });
    assert_eq!(server.send("POST", "/api/assets/1/edit?rest=true", &[], &[0; 240]).0, 422);
    assert_eq!(std::fs::read(&target).unwrap(), b"mine");
}

/// Opens a connection to a live deformer. Returns a function that sends a message and reads a response, and the
/// greeting.
fn converse(server: &Running, path: &str) -> (impl FnMut(&str) -> Option<Vec<u8>>, serde_json::Value) {
    let url = format!("ws://127.0.0.1:{}/api/assets/{path}", server.port);
    let (mut socket, _) = tungstenite::connect(url).unwrap();
    let greeting = serde_json::from_str(socket.read().unwrap().to_text().unwrap()).unwrap();
    let ask = move |text: &str| {
        socket.send(Message::text(text)).ok()?;
        loop {
            match socket.read().ok()? {
                Message::Binary(bytes) => return Some(bytes.to_vec()),
                Message::Close(_) => return None,
                _ => {}
            }
        }
    };
    (ask, greeting)
}

/// Numbers of the array `name` of a bundle.
fn array(bundle: &[u8], name: &str) -> Vec<f32> {
    let length = u32::from_le_bytes(bundle[8..12].try_into().unwrap()) as usize;
    let listed: serde_json::Value = serde_json::from_slice(&bundle[12..12 + length]).unwrap();
    let entry = listed.as_array().unwrap().iter().find(|entry| entry["name"] == name).unwrap();
    let [count, offset] = ["count", "offset"].map(|key| entry[key].as_u64().unwrap() as usize);
    let bytes = &bundle[12 + length + offset..][..4 * count];
    bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect()
}

#[test]
fn a_live_deformer_streams_requested_frames() {
    let server = Running::start(ServeOptions::default());
    let (mut ask, greeting) = converse(&server, "1/live/pose");
    assert_eq!((greeting["points"].as_u64(), greeting["frames"].as_u64()), (Some(20), Some(6)));
    assert_eq!(greeting["parameters"][0]["name"], "rank");
    let mut height_of_frame = |text: &str| {
        let bundle = ask(text).unwrap();
        assert_eq!((array(&bundle, "positions").len(), array(&bundle, "scalars").len()), (60, 20));
        array(&bundle, "positions")[2]
    };
    // The only shape lifts all points by its coefficient, 0.2 per frame.
    assert_eq!(height_of_frame(r#"{"frame": 5}"#), 1.0);
    assert_eq!(height_of_frame(r#"{"set": "strength", "value": 2, "frame": 5}"#), 2.0);
    assert_eq!(height_of_frame(r#"{"set": "rank", "value": 0, "frame": 5}"#), 0.0);
    // A frame that does not exist ends the connection.
    assert_eq!(ask(r#"{"frame": 6}"#), None);
}

#[test]
fn a_deformer_with_a_surface_of_its_own_sends_it_first() {
    let server = Running::start(ServeOptions::default());
    let (mut ask, greeting) = converse(&server, "0/live/wrinkle");
    assert_eq!(greeting["surface"], true);
    let points = greeting["points"].as_u64().unwrap() as usize;
    assert!(points > 20);
    // The first response is the surface, the second is the frame.
    let surface = ask(r#"{"frame": 5}"#).unwrap();
    assert_eq!(array(&surface, "rest").len(), 3 * points);
    let frame = ask(r#"{"frame": 5}"#).unwrap();
    assert_eq!(array(&frame, "positions").len(), 3 * points);
}

#[test]
fn a_layered_body_is_simulated_touched_and_saved() {
    let server = Running::start(ServeOptions::default());
    let (status, body) = server.send("POST", "/api/drop?name=arm.npz", &[], &layered_arm());
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
    assert_eq!(server.json("/api/scene")["assets"][2]["tissue"], true);
    let (mut ask, greeting) = converse(&server, "2/live/tissue");
    assert_eq!(
        (&greeting["continuous"], greeting["parameters"][0]["name"].as_str()),
        (&true.into(), Some("heat")),
        "{greeting}"
    );
    let points = greeting["points"].as_u64().unwrap() as usize;
    let at_rest = array(&ask(r#"{"frame": 0.5}"#).unwrap(), "positions");
    assert_eq!(at_rest.len(), 3 * points);
    let touch = r#"{"pull": {"point": 3, "target": [0, 9, 0]}, "poke": {"center": [0, 0, 0], "radius": 0.1},
        "paint": {"point": 3, "radius": 0.5, "value": 1.5}, "set": "gravity", "value": 2, "frame": 0}"#;
    let pulled = (0..60).map(|_| array(&ask(touch).unwrap(), "positions")).last().unwrap();
    assert!(pulled != at_rest && pulled.iter().all(|coordinate| coordinate.is_finite()));
    let let_go = ask(r#"{"pull": null, "poke": null, "reset": true, "frame": 0}"#).unwrap();
    assert!(array(&let_go, "segments").is_empty());
    let saved = dermis::layered_file::read_bytes(&ask(r#"{"save": true}"#).unwrap()).unwrap();
    assert_eq!(saved.body.flesh().thickness.len(), points);
    assert_eq!(ask(r#"{"pull": {"point": 3, "target": [0, 1e39, 0]}, "frame": 0}"#), None);
    let (mut other, _) = converse(&server, "1/live/pose");
    assert_eq!(other(r#"{"reset": true, "frame": 0}"#), None, "a skin cannot be touched");
    assert_eq!(server.get("/api/scene").0, 200);
}

#[test]
fn reports_the_error_of_a_live_deformer() {
    let server = Running::start(ServeOptions::default());
    let (_, greeting) = converse(&server, "0/live/volume");
    assert!(greeting["error"].as_str().unwrap().contains("volume"), "{greeting}");
    let (_, greeting) = converse(&server, "1/live/recorded");
    assert_eq!(greeting["error"], "the asset has no recorded frames");
    let (_, greeting) = converse(&server, "1/live/tissue");
    assert_eq!(greeting["error"], "the asset is not a layered body");
}

#[test]
fn stops_promptly_while_a_page_is_connected() {
    let server = Running::start(ServeOptions::default());
    let url = format!("ws://127.0.0.1:{}/api/assets/0/live/recorded", server.port);
    let (_socket, _) = tungstenite::connect(url).unwrap();
    let began = Instant::now();
    drop(server);
    assert!(began.elapsed() < Duration::from_secs(10));
}
