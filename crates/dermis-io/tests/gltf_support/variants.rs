//! Files as other programs write them: quantized, sparse, compressed, with curves.

use draco_core::{DataType, EncoderBuffer, EncoderOptions, GeometryAttributeType, Mesh, MeshEncoder, PointAttribute};
use glam::{Vec3, Vec4};
use serde_json::{Value, json};

use super::{Raw, tube};

/// A node with mesh 0 in scene 0.
fn scene(mut rest: Value) -> Value {
    rest["scenes"] = json!([{ "nodes": [0] }]);
    rest["scene"] = json!(0);
    if rest["nodes"].is_null() {
        rest["nodes"] = json!([{ "mesh": 0 }]);
    }
    rest
}

fn u16_bytes(numbers: impl IntoIterator<Item = u16>) -> Vec<u8> {
    numbers.into_iter().flat_map(u16::to_le_bytes).collect()
}

/// The vertices of the tube, scaled into [0, 1].
pub(crate) fn unit_positions() -> Vec<Vec3> {
    let mesh = tube();
    let (low, high) = mesh.bounds();
    mesh.layout().unwrap().vertex_points.iter().map(|&p| (mesh.points()[p as usize] - low) / (high - low)).collect()
}

fn corners() -> Vec<u32> {
    tube().layout().unwrap().triangles.as_flattened().to_vec()
}

/// Positions as normalized u16 with a padded stride, normals as i8, and the node that scales them back.
pub(crate) fn quantized() -> Vec<u8> {
    let mut raw = Raw::default();
    let positions = unit_positions();
    let bytes = u16_bytes(positions.iter().flat_map(|p| [p.x, p.y, p.z, 0.0].map(|x| (x * 65535.0).round() as u16)));
    let position = raw.accessor(&bytes, 5123, "VEC3", positions.len());
    raw.views[0]["byteStride"] = json!(8);
    raw.accessors[position]["normalized"] = json!(true);
    let bytes: Vec<u8> = positions.iter().flat_map(|_| [0u8, 127, 0x81, 0]).collect();
    let normal = raw.accessor(&bytes, 5120, "VEC3", positions.len());
    raw.views[1]["byteStride"] = json!(4);
    raw.accessors[normal]["normalized"] = json!(true);
    let indices = u16_bytes(corners().into_iter().map(|corner| corner as u16));
    let count = indices.len() / 2;
    let indices = raw.accessor(&indices, 5123, "SCALAR", count);
    raw.finish(scene(json!({
        "extensionsUsed": ["KHR_mesh_quantization"],
        "extensionsRequired": ["KHR_mesh_quantization"],
        "nodes": [{ "mesh": 0, "scale": [2.0, 3.5, 2.0] }],
        "meshes": [{ "primitives": [{ "attributes": { "POSITION": position, "NORMAL": normal }, "indices": indices }] }],
    })))
}

/// A morph target that is a sparse accessor without a buffer view, with a cubic spline for its weight.
pub(crate) fn sparse_morph() -> Vec<u8> {
    let mut raw = Raw::default();
    let points = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0f32]];
    let position = raw.floats(points.as_flattened(), "VEC3", 3);
    let moved = raw.view(&[1, 3]);
    let by: Vec<u8> = [0.0, 0.0, 1.0, 0.0, 0.0, 2.0f32].iter().flat_map(|x| x.to_le_bytes()).collect();
    let by = raw.view(&by);
    raw.accessors.push(json!({ "componentType": 5126, "count": 4, "type": "VEC3", "sparse": {
        "count": 2, "indices": { "bufferView": moved, "componentType": 5121 }, "values": { "bufferView": by } } }));
    let target = raw.accessors.len() - 1;
    let strip = raw.accessor(&[0, 1, 2, 3], 5121, "SCALAR", 4);
    let times = raw.floats(&[0.5, 1.5], "SCALAR", 1);
    let weights = raw.floats(&[0.0, 0.0, 1.0, 1.0, 1.0, 0.0], "SCALAR", 1);
    raw.finish(scene(json!({
        "meshes": [{ "name": "flap", "weights": [0.5], "primitives": [{ "mode": 5,
            "attributes": { "POSITION": position }, "indices": strip, "targets": [{ "POSITION": target }] }] }],
        "animations": [{ "name": "flap",
            "samplers": [{ "input": times, "output": weights, "interpolation": "CUBICSPLINE" }],
            "channels": [{ "sampler": 0, "target": { "node": 0, "path": "weights" } }] }],
    })))
}

/// A mirrored child of a rotating parent with stepped keys: nodes that move without a skin.
pub(crate) fn moving_node() -> Vec<u8> {
    let mut raw = Raw::default();
    let position = raw.floats(&[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0], "VEC3", 3);
    let times = raw.floats(&[0.0, 0.5, 1.0], "SCALAR", 1);
    let half = std::f32::consts::FRAC_1_SQRT_2;
    let turn = raw.floats(&[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, half, half, 0.0, 0.0, 1.0, 0.0], "VEC4", 4);
    let lift = raw.floats(&[0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 2.0], "VEC3", 3);
    raw.finish(scene(json!({
        "nodes": [
            { "name": "turner", "children": [1] },
            { "name": "leaf", "mesh": 0, "scale": [-1.0, 1.0, 1.0], "translation": [0.0, 0.0, 5.0] },
        ],
        "meshes": [{ "primitives": [{ "attributes": { "POSITION": position } }] }],
        "animations": [{
            "samplers": [{ "input": times, "output": turn }, { "input": times, "output": lift, "interpolation": "STEP" }],
            "channels": [{ "sampler": 0, "target": { "node": 0, "path": "rotation" } },
                         { "sampler": 1, "target": { "node": 0, "path": "translation" } }] }],
    })))
}

/// All data compressed by meshoptimizer, with a fallback buffer without data.
pub(crate) fn meshopt_compressed() -> Vec<u8> {
    let mut raw = Raw::default();
    let positions = unit_positions();
    let floats: Vec<[f32; 3]> = positions.iter().map(Vec3::to_array).collect();
    let normals: Vec<[f32; 4]> = positions.iter().map(|_| [0.6, 0.0, 0.8, 1.0]).collect();
    let octahedral: Vec<[u8; 4]> = meshopt::encode_filter_oct(&normals, 8);
    let indices = corners();
    let streams = [
        (meshopt::encode_vertex_buffer(&floats).unwrap(), 12, floats.len(), "ATTRIBUTES", "NONE"),
        (meshopt::encode_vertex_buffer(&octahedral).unwrap(), 4, octahedral.len(), "ATTRIBUTES", "OCTAHEDRAL"),
        (meshopt::encode_index_buffer(&indices, floats.len()).unwrap(), 2, indices.len(), "TRIANGLES", "NONE"),
        (meshopt::encode_index_sequence(&indices, floats.len()).unwrap(), 4, indices.len(), "INDICES", "NONE"),
    ];
    let mut length = 0;
    for (bytes, stride, count, mode, filter) in streams {
        let view = raw.view(&bytes);
        let offset = raw.views[view]["byteOffset"].clone();
        raw.views[view] = json!({ "buffer": 1, "byteOffset": length, "byteLength": stride * count, "extensions": {
            "EXT_meshopt_compression": { "buffer": 0, "byteOffset": offset, "byteLength": bytes.len(),
                "byteStride": stride, "count": count, "mode": mode, "filter": filter } } });
        if mode == "ATTRIBUTES" {
            raw.views[view]["byteStride"] = json!(stride);
        }
        length += (stride * count).next_multiple_of(4);
    }
    let accessor = |view: usize, component: u32, shape: &str, count: usize| json!({ "bufferView": view, "componentType": component, "count": count, "type": shape, "normalized": component == 5120 });
    raw.accessors = vec![
        accessor(0, 5126, "VEC3", floats.len()),
        accessor(1, 5120, "VEC3", floats.len()),
        accessor(2, 5123, "SCALAR", indices.len()),
        accessor(3, 5125, "SCALAR", indices.len()),
    ];
    raw.finish(scene(json!({
        "extensionsUsed": ["EXT_meshopt_compression", "KHR_mesh_quantization"],
        "extensionsRequired": ["EXT_meshopt_compression"],
        "buffers": [{ "byteLength": length, "extensions": { "EXT_meshopt_compression": { "fallback": true } } }],
        "meshes": [{ "primitives": [
            { "attributes": { "POSITION": 0, "NORMAL": 1 }, "indices": 2 },
            { "attributes": { "POSITION": 0, "NORMAL": 1 }, "indices": 3 },
        ] }],
    })))
}

/// Positions and triangles in a Draco stream.
pub(crate) fn draco_compressed() -> Vec<u8> {
    let positions = unit_positions();
    let mut mesh = Mesh::new();
    let mut attribute = PointAttribute::new();
    attribute.init(GeometryAttributeType::Position, 3, DataType::Float32, false, positions.len());
    let bytes: Vec<u8> = positions.iter().flat_map(Vec3::to_array).flat_map(f32::to_le_bytes).collect();
    attribute.buffer_mut().write(0, &bytes);
    mesh.set_num_points(positions.len());
    let id = mesh.add_attribute(attribute);
    mesh.set_num_faces(corners().len() / 3);
    mesh.set_faces_from_flat_indices(&corners());
    let mut encoder = MeshEncoder::new();
    encoder.set_mesh(mesh);
    let mut stream = EncoderBuffer::new();
    encoder.encode(&EncoderOptions::new(), &mut stream).unwrap();
    let mut raw = Raw::default();
    let view = raw.view(stream.data());
    raw.accessors = vec![
        json!({ "componentType": 5126, "count": positions.len(), "type": "VEC3" }),
        json!({ "componentType": 5125, "count": corners().len(), "type": "SCALAR" }),
    ];
    raw.finish(scene(json!({
        "extensionsUsed": ["KHR_draco_mesh_compression"],
        "extensionsRequired": ["KHR_draco_mesh_compression"],
        "meshes": [{ "primitives": [{ "attributes": { "POSITION": 0 }, "indices": 1, "extensions": {
            "KHR_draco_mesh_compression": { "bufferView": view, "attributes": { "POSITION": id } } } }] }],
    })))
}

/// A skin without inverse bind matrices, u8 weights that do not sum to 1, and a joint below a plain node.
pub(crate) fn loose_skin() -> Vec<u8> {
    let mut raw = Raw::default();
    let position = raw.floats(&[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0], "VEC3", 3);
    let joints = raw.accessor(&[0, 1, 9, 9, 1, 0, 0, 0, 1, 0, 0, 0], 5121, "VEC4", 3);
    let weights = raw.accessor(&[60, 60, 0, 0, 255, 0, 0, 0, 0, 0, 0, 0], 5121, "VEC4", 3);
    raw.accessors[weights]["normalized"] = json!(true);
    let times = raw.floats(&[0.0, 1.0], "SCALAR", 1);
    let moves = raw.floats(&[0.0, 0.0, 0.0, 0.0, 4.0, 0.0], "VEC3", 3);
    raw.finish(scene(json!({
        "nodes": [
            { "children": [1, 4] },
            { "name": "root", "children": [2] },
            { "name": "between", "children": [3], "translation": [0.0, 1.0, 0.0] },
            { "name": "tip", "translation": [0.0, 1.0, 0.0] },
            { "name": "skinned", "mesh": 0, "skin": 0, "translation": [100.0, 0.0, 0.0] },
        ],
        "skins": [{ "joints": [1, 3] }],
        "meshes": [{ "primitives": [{ "attributes": { "POSITION": position, "JOINTS_0": joints, "WEIGHTS_0": weights } }] }],
        "animations": [{ "name": "rise", "samplers": [{ "input": times, "output": moves }],
            "channels": [{ "sampler": 0, "target": { "node": 2, "path": "translation" } }] }],
    })))
}

/// A flat colour per vertex in three components, and a texture in a `data:` URI.
pub(crate) fn embedded_text() -> Vec<u8> {
    let numbers: Vec<u8> =
        [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0f32].iter().flat_map(|x| x.to_le_bytes()).collect();
    let file = json!({
        "asset": { "version": "2.0" },
        "scenes": [{ "nodes": [0] }],
        "nodes": [{ "mesh": 0, "matrix": [1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0, 0, 7, 1] }],
        "meshes": [{ "primitives": [
            { "attributes": { "POSITION": 0, "COLOR_0": 0 }, "material": 0 },
            { "attributes": { "POSITION": 0, "COLOR_0": 0 }, "mode": 1 },
        ] }],
        "materials": [{ "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } }, "alphaMode": "MASK" }],
        "textures": [{ "source": 0 }],
        "images": [{ "uri": "data:image/png;base64,iVBORw0KGgo=" }],
        "accessors": [{ "bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3" }],
        "bufferViews": [{ "buffer": 0, "byteLength": 36 }],
        "buffers": [{ "byteLength": 36, "uri": format!("data:application/octet-stream;base64,{}", base64(&numbers)) }],
    });
    serde_json::to_vec_pretty(&file).unwrap()
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = char::from(ALPHABET[(bits >> (18 - 6 * place)) as usize & 63]);
            text.push(if place <= chunk.len() { letter } else { '=' });
        }
    }
    text
}

/// The colour of a position.
pub(crate) fn color(position: Vec3) -> Vec4 {
    position.extend(1.0)
}
