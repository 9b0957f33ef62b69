//! What the server answers, whom it refuses, and that it stops.

mod common;

use std::time::{Duration, Instant};

use common::{Running, strip};
use dermis::prelude::*;
use dermis_view::ServeOptions;
use tungstenite::Message;

#[test]
fn refuses_foreign_hosts_and_origins() {
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
fn refuses_every_path_that_is_not_its_own() {
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
fn refuses_uploads_that_are_too_large() {
    let server = Running::start(ServeOptions { upload_limit: 1000, ..ServeOptions::default() });
    let drop = |bytes: &[u8]| server.send("POST", "/api/drop?name=new.obj", &[], bytes);
    assert_eq!(drop(&[b'#'; 1001]).0, 413);
    let (status, body) = drop(b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    assert_eq!((status, String::from_utf8(body).unwrap().as_str()), (200, r#"{"asset":2}"#));
    assert_eq!(server.json("/api/scene")["assets"][2]["label"], "new.obj");
}

#[test]
fn says_what_is_wrong_with_a_dropped_file() {
    let server = Running::start(ServeOptions::default());
    let (status, body) = server.send("POST", "/api/drop?name=broken.glb", &[], b"this is no glb");
    let said: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(status, 422);
    assert!(!said["error"].as_str().unwrap().is_empty());
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
        // The parser of JSON may be off in the last bit.
        let same = |name: &str, expected: f64| (found[name].as_f64().unwrap() / expected - 1.0).abs() < 1e-14;
        assert!(same("distortion_percent", expected.distortion_percent), "{found}");
        assert!(same("max_error_percent", expected.max_error_percent), "{found}");
        let text = dermis_view::text::measured(expected.distortion_percent);
        assert_eq!(found["text"]["distortion_percent"], text.as_str());
    }
    let errors = server.json("/api/assets/1/points/19?rank=1");
    assert!((errors[5].as_f64().unwrap() - 0.5).abs() < 1e-6, "{errors}");
    assert_eq!(server.get("/api/assets/0/measures?rank=0").0, 404);
}

#[test]
fn an_edited_rest_pose_and_a_painted_map_are_saved_where_the_user_said() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("edited.glb");
    let server = Running::start(ServeOptions { output: Some(target.clone()), ..ServeOptions::default() });
    let rest: Vec<u8> = (0..60).flat_map(|k| (k as f32).to_le_bytes()).collect();
    assert_eq!(server.send("POST", "/api/assets/1/rest", &[], &rest).0, 200);
    let read = || dermis::io::read(target.to_str().unwrap(), &ReadOptions::default()).unwrap().objects.remove(0);
    let edited = read();
    assert_eq!(edited.mesh.points()[1], Vec3::new(3.0, 4.0, 5.0));
    assert_eq!((edited.clips.len(), edited.rig.unwrap().shapes().len()), (1, 1));
    let paint: Vec<u8> = (0..20).flat_map(|k| (k as f32 / 20.0).to_le_bytes()).collect();
    assert_eq!(server.send("POST", "/api/assets/1/attributes/stiffness", &[], &paint).0, 200);
    let painted = read().attributes.into_iter().find(|(name, _)| name.eq_ignore_ascii_case("stiffness")).unwrap();
    assert_eq!(painted.1[10], 0.5);
    for (path, body) in [
        ("/api/assets/1/rest", &rest[4..]),
        ("/api/assets/1/attributes/stiffness", &rest[..]),
        ("/api/assets/1/attributes/..%2Fx", &paint[..]),
        ("/api/assets/1/rest", &[0xff; 240][..]),
    ] {
        assert_eq!(server.send("POST", path, &[], body).0, 422, "{path}");
    }
}

#[test]
fn without_an_output_an_edit_is_a_download() {
    let server = Running::start(ServeOptions::default());
    let (status, body) = server.send("POST", "/api/assets/1/rest", &[], &[0; 240]);
    assert_eq!((status, &body[..4]), (200, &b"glTF"[..]));
}

#[test]
fn an_output_that_exists_is_not_replaced_without_force() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("edited.glb");
    std::fs::write(&target, b"mine").unwrap();
    let server = Running::start(ServeOptions { output: Some(target.clone()), ..ServeOptions::default() });
    assert_eq!(server.send("POST", "/api/assets/1/rest", &[], &[0; 240]).0, 422);
    assert_eq!(std::fs::read(&target).unwrap(), b"mine");
}

#[test]
fn a_live_deformer_streams_what_was_asked_for() {
    let server = Running::start(ServeOptions::default());
    let url = format!("ws://127.0.0.1:{}/api/assets/1/live/pose", server.port);
    let (mut socket, _) = tungstenite::connect(url).unwrap();
    let hello: serde_json::Value = serde_json::from_str(socket.read().unwrap().to_text().unwrap()).unwrap();
    assert_eq!((hello["points"].as_u64(), hello["frames"].as_u64()), (Some(20), Some(6)));
    assert_eq!(hello["parameters"][0]["name"], "rank");
    let mut height_of_frame = |ask: &str| {
        socket.send(Message::text(ask)).unwrap();
        let bytes = socket.read().unwrap().into_data();
        assert_eq!(bytes.len(), 12 + 20 * 12 + 20 * 4);
        f32::from_le_bytes(bytes[20..24].try_into().unwrap())
    };
    // The only shape lifts everything by its coefficient, 0.2 per frame.
    assert_eq!(height_of_frame(r#"{"frame": 5}"#), 1.0);
    assert_eq!(height_of_frame(r#"{"set": "strength", "value": 2, "frame": 5}"#), 2.0);
    assert_eq!(height_of_frame(r#"{"set": "rank", "value": 0, "frame": 5}"#), 0.0);
    // A frame that does not exist ends the conversation.
    socket.send(Message::text(r#"{"frame": 6}"#)).unwrap();
    assert!(socket.read().map_or(true, |message| message.is_close()));
}

#[test]
fn stops_soon_although_a_page_is_connected() {
    let server = Running::start(ServeOptions::default());
    let url = format!("ws://127.0.0.1:{}/api/assets/0/live/recorded", server.port);
    let (_socket, _) = tungstenite::connect(url).unwrap();
    let began = Instant::now();
    drop(server);
    assert!(began.elapsed() < Duration::from_secs(10));
}
