//! Alembic: broken, hostile and invalid files result in an error or a valid scene, in bounded time and memory.

mod common;
mod ogawa;

use std::sync::Arc;

use dermis_io::{ReadOptions, read_bytes};
use dermis_mesh::Object;
use ogawa::shapes::{prism, read_back, scene_of, wobbling, written};
use ogawa::{
    ACYCLIC, Builder, F32, I32, U32, archive, array, compound, floats, integers, mesh, tetrahedron, transform,
};

const TRANSLATE: u8 = 0x10;
const SCALE: u8 = 0x00;
const MATRIX: u8 = 0x30;

/// An archive with everything that other writers use: moving transforms, instances, attributes, face sets.
fn foreign() -> Vec<u8> {
    let set = ogawa::Object {
        name: "skin".into(),
        schema: "AbcGeom_FaceSet_v1".into(),
        properties: vec![compound(".faceset", vec![array(".faces", I32, 1, vec![integers(&[0, 2])])])],
        children: vec![],
    };
    let uvs = array("uv", F32, 2, vec![floats(&[0.5; 24])]).with_metadata("isGeomParam=true;geoScope=fvr");
    let normals = array("N", F32, 3, vec![floats(&[0.6; 12])]).with_metadata("isGeomParam=true;geoScope=vtx");
    let values = array(".vals", F32, 3, vec![floats(&[0.5; 6])]);
    let indices = array(".indices", U32, 1, vec![integers(&[0, 1, 1, 0])]);
    let tint = compound("tint", vec![values, indices]);
    let tint = tint.with_metadata("isGeomParam=true;interpretation=rgb;podExtent=3;geoScope=vtx");
    let mut body = tetrahedron("body", &[0., 1., 2.])
        .with(uvs)
        .with(normals)
        .with(compound(".arbGeomParams", vec![tint, array("heat", F32, 1, vec![floats(&[1.; 4])])]));
    body.children.push(set);
    let moving: &[&[f64]] = &[&[1., 0., 0., 0., 0., 1., 20.], &[2., 0., 0., 0., 0., 1., 40.]];
    let source = transform("source", &[TRANSLATE, 0x20], moving, vec![body]);
    let place = transform("place", &[TRANSLATE], &[&[0., 5., 0.]], vec![ogawa::Object::instance("copy", "/source")]);
    archive(vec![source, place], &[(0.04, vec![0.4]), (ACYCLIC, vec![0.0, 0.1, 0.3])])
}

#[test]
fn survives_damage() {
    let still = written(&scene_of(vec![Object::of_mesh("body", Arc::new(prism().into_tri_mesh().unwrap()))]));
    let moving = written(&scene_of(vec![
        Object::of_sequence("/a/one", wobbling(5, 24.0, 0.0).select(1, 5, 1).unwrap()),
        Object::of_sequence("/a/two", wobbling(3, 25.0, 1.0)),
    ]));
    for valid in [still, moving, foreign()] {
        assert!(!read_back(&valid).objects.is_empty());
        common::assert_survives(&common::damage(&valid), |bytes| read_bytes("abc", bytes, &ReadOptions::default()));
    }
}

#[test]
fn survives_changes_to_every_byte_of_a_foreign_archive() {
    let valid = foreign();
    let broken: Vec<_> = (0..valid.len())
        .flat_map(|at| [0x00, 0x01, 0x7f, 0xff].map(|value| (at, value)))
        .map(|(at, value)| {
            let mut bytes = valid.clone();
            bytes[at] = value;
            (format!("byte {at} is {value}"), bytes)
        })
        .collect();
    common::assert_survives(&broken, |bytes| read_bytes("abc", bytes, &ReadOptions::default()));
}

#[test]
fn survives_invalid_values() {
    let body = || tetrahedron("body", &[0., 1.]);
    let replaced = |property: ogawa::Property| archive(vec![body().with(property)], &[(0.04, vec![0.0])]);
    let points = |samples: Vec<Vec<u8>>| array("P", F32, 3, samples).sampled(1);
    let claiming = |samples: u32, first: u32, last: u32| ogawa::Property {
        claim: Some((samples, first, last)),
        ..points(vec![floats(&[0.; 12]), floats(&[1.; 12])])
    };
    let above = |operations: &[u8], values: &[f64]| {
        archive(vec![transform("x", operations, &[values], vec![body()])], &[(0.04, vec![0.0])])
    };
    let timed = |sampling: (f64, Vec<f64>)| archive(vec![body()], &[sampling]);
    let must_fail = vec![
        ("NaN in the rest pose", replaced(points(vec![floats(&[f32::NAN; 12])]))),
        (
            "an index out of range",
            replaced(array(".faceIndices", I32, 1, vec![integers(&[0, 1, 4, 0, 3, 1, 0, 2, 3, 1, 3, 2])])),
        ),
        (
            "a negative index",
            replaced(array(".faceIndices", I32, 1, vec![integers(&[0, 1, -1, 0, 3, 1, 0, 2, 3, 1, 3, 2])])),
        ),
        ("too few corners", replaced(array(".faceIndices", I32, 1, vec![integers(&[0, 1, 2])]))),
        ("negative face sizes", replaced(array(".faceCounts", I32, 1, vec![integers(&[-3, 3, 3, 3])]))),
        ("enormous face sizes", replaced(array(".faceCounts", I32, 1, vec![integers(&[i32::MAX; 4])]))),
        ("points of two numbers", replaced(array("P", F32, 2, vec![floats(&[0.; 8])]))),
        ("points of integers", replaced(array("P", I32, 3, vec![integers(&[0; 12])]))),
        ("four billion frames", replaced(claiming(u32::MAX, 1, 1))),
        ("changes after the last sample", replaced(claiming(2, 1, 5))),
        ("changes that end before they begin", replaced(claiming(9, 5, 1))),
        ("more changes than blocks", replaced(claiming(1000, 1, 999))),
        ("a sampling that does not exist", replaced(points(vec![floats(&[0.; 12]); 2]).sampled(9))),
        ("no times", timed((0.04, vec![]))),
        ("a period of zero", timed((0.0, vec![0.0]))),
        ("a period that is NaN", timed((f64::NAN, vec![0.0]))),
        ("times that are NaN", timed((ACYCLIC, vec![f64::NAN, 1.0]))),
        ("too few times", timed((ACYCLIC, vec![0.0]))),
        ("an unknown operation", above(&[0xf0], &[1.0])),
        ("an operation without numbers", above(&[MATRIX], &[1.0])),
        ("a transform that is NaN", above(&[TRANSLATE], &[f64::NAN; 3])),
        ("an instance without a source", archive(vec![ogawa::Object::instance("copy", "/nowhere")], &[])),
    ];
    for (name, bytes) in &must_fail {
        assert!(read_bytes("abc", bytes, &ReadOptions::default()).is_err(), "{name} was accepted");
    }
    let mut fine = vec![
        ("a transform of zero scale", above(&[SCALE], &[0.0; 3])),
        ("a rotation about a zero axis", above(&[0x20], &[0.0; 4])),
        ("a tiny period", timed((f64::MIN_POSITIVE, vec![0.0]))),
        ("a huge start", timed((0.04, vec![1e300]))),
        ("NaN in a later frame", replaced(points(vec![floats(&[0.; 12]), floats(&[f32::NAN; 12])]))),
        ("no points", replaced(points(vec![vec![]]))),
        ("no samples", replaced(points(vec![]))),
    ];
    fine.extend(must_fail);
    let inputs: Vec<_> = fine.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect();
    common::assert_survives(&inputs, |bytes| read_bytes("abc", bytes, &ReadOptions::default()));
}

#[test]
fn survives_cycles_and_bombs() {
    let copies = |count: usize, path: &str| -> Vec<ogawa::Object> {
        (0..count).map(|k| ogawa::Object::instance(&format!("copy{k}"), path)).collect()
    };
    let nest = |children| transform("nest", &[TRANSLATE], &[&[0.; 3]], children);
    let within_itself = archive(vec![nest(copies(1, "/nest"))], &[(1.0, vec![0.0])]);
    let doubling = archive(vec![nest(copies(2, "/nest"))], &[(1.0, vec![0.0])]);
    let of_themselves = archive(copies(1, "/copy0"), &[]);
    let mut deep = tetrahedron("body", &[0.]);
    for _ in 0..1000 {
        deep = nest(vec![deep]);
    }
    let inputs = [
        ("an instance inside its source", within_itself),
        ("two instances inside their source", doubling),
        ("a thousand levels", archive(vec![deep], &[(1.0, vec![0.0])])),
        ("a group inside itself", object_in_itself()),
        ("every child the same", shared_children(2)),
        ("many children with the same headers", shared_children(2000)),
        ("one block for many meshes", shared_points()),
    ];
    for (name, bytes) in &inputs {
        assert!(read_bytes("abc", bytes, &ReadOptions::default()).is_err(), "{name} was accepted");
    }
    let inputs = inputs.into_iter().chain([("an instance of itself", of_themselves)]);
    let inputs: Vec<_> = inputs.map(|(name, bytes)| (name.to_owned(), bytes)).collect();
    common::assert_survives(&inputs, |bytes| read_bytes("abc", bytes, &ReadOptions::default()));
}

/// An object that is its own child.
fn object_in_itself() -> Vec<u8> {
    let mut builder = Builder::new();
    let properties = builder.compound(&[]);
    let headers = builder.block(&ogawa::object_headers(&[ogawa::Object { name: "a".into(), ..Default::default() }]));
    let own = builder.bytes.len() as u64;
    let top = builder.group(&[properties, own, headers]);
    builder.finish(top, &[])
}

/// Forty levels, in each of which all `width` children are the same group.
fn shared_children(width: usize) -> Vec<u8> {
    let names: Vec<_> = (0..width).map(|k| ogawa::Object { name: format!("{k}"), ..Default::default() }).collect();
    let mut builder = Builder::new();
    let properties = builder.compound(&[]);
    let headers = builder.block(&ogawa::object_headers(&names));
    let no_headers = builder.block(&ogawa::object_headers(&[]));
    let mut below = builder.group(&[properties, no_headers]);
    for _ in 0..40 {
        let mut entries = vec![properties];
        entries.extend(vec![below; width]);
        entries.push(headers);
        below = builder.group(&entries);
    }
    builder.finish(below, &[])
}

/// Ten thousand meshes that share the megabyte of their faces.
fn shared_points() -> Vec<u8> {
    let body = mesh(
        "body",
        vec![
            array("P", F32, 3, vec![floats(&[0.; 12])]),
            array(".faceIndices", I32, 1, vec![integers(&vec![0; 300_000])]),
            array(".faceCounts", I32, 1, vec![integers(&vec![3; 100_000])]),
        ],
    );
    let mut builder = Builder::new();
    let properties = builder.compound(&body.properties);
    let no_headers = builder.block(&ogawa::object_headers(&[]));
    let named = |name: String| ogawa::Object { name, schema: body.schema.clone(), ..Default::default() };
    let bodies: Vec<_> = (0..10_000).map(|k| named(format!("{k}"))).collect();
    let mut entries = vec![builder.compound(&[])];
    entries.extend((0..bodies.len()).map(|_| builder.group(&[properties, no_headers])));
    entries.push(builder.block(&ogawa::object_headers(&bodies)));
    let top = builder.group(&entries);
    builder.finish(top, &[])
}
