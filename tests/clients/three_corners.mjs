// World positions of all triangle corners of a glTF file at given times, as evaluated by three.js.
//
//   node three_corners.mjs JOBS.json
//
// A job is { "file", "clip" (a name, a number or null), "times": [seconds], "out": "….npy" }. The response, one line of
// JSON on standard output, lists the clips and meshes found; `out` receives float64 [times, corners, 3], meshes in the
// order of the scene, corners in the order of the index buffer.

import { readFileSync } from 'node:fs';
import { AnimationMixer, LoopOnce, Vector3 } from 'three';
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';
import { MeshoptDecoder } from 'three/addons/libs/meshopt_decoder.module.js';
import { writeNpy } from './npy.mjs';

const JSON_CHUNK = 0x4e4f534a;

/** The file without its images and materials, which node cannot decode and positions do not need. */
function withoutPictures(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const jsonLength = view.getUint32(12, true);
  if (view.getUint32(16, true) !== JSON_CHUNK) throw new Error('the first chunk is not JSON');
  const document = JSON.parse(new TextDecoder().decode(bytes.subarray(20, 20 + jsonLength)));
  for (const key of ['images', 'textures', 'samplers', 'materials']) delete document[key];
  for (const mesh of document.meshes ?? []) {
    for (const primitive of mesh.primitives) delete primitive.material;
  }
  let text = JSON.stringify(document);
  let json = new TextEncoder().encode(text);
  while (json.length % 4) json = new TextEncoder().encode((text += ' '));
  const rest = bytes.subarray(20 + jsonLength);
  const out = new Uint8Array(20 + json.length + rest.length);
  out.set(bytes.subarray(0, 20));
  out.set(json, 20);
  out.set(rest, 20 + json.length);
  const header = new DataView(out.buffer);
  header.setUint32(8, out.length, true);
  header.setUint32(12, json.length, true);
  return out.buffer;
}

function load(file) {
  const loader = new GLTFLoader();
  loader.setMeshoptDecoder(MeshoptDecoder);
  return new Promise((resolve, reject) => loader.parse(withoutPictures(readFileSync(file)), '', resolve, reject));
}

function pickClip(clips, wanted) {
  if (wanted === null || wanted === undefined) return undefined;
  const clip = typeof wanted === 'number' ? clips[wanted] : clips.find((c) => c.name === wanted);
  if (!clip) throw new Error(`no clip ${wanted} among ${clips.map((c) => c.name)}`);
  return clip;
}

/** Poses the scene by `clip` at exactly `seconds`: no time passes, so the clip neither loops nor ends. */
function pose(scene, mixer, clip, seconds) {
  if (clip) {
    const action = mixer.clipAction(clip);
    action.reset().setLoop(LoopOnce).play();
    action.time = Math.min(seconds, clip.duration);
    mixer.update(0);
  }
  scene.updateMatrixWorld(true);
}

function cornersOf(mesh, out, at) {
  const { index, attributes } = mesh.geometry;
  const corner = new Vector3();
  const points = new Float64Array(3 * attributes.position.count);
  for (let vertex = 0; vertex < attributes.position.count; vertex++) {
    mesh.getVertexPosition(vertex, corner).applyMatrix4(mesh.matrixWorld).toArray(points, 3 * vertex);
  }
  const count = index ? index.count : attributes.position.count;
  for (let k = 0; k < count; k++) {
    const vertex = index ? index.getX(k) : k;
    out.set(points.subarray(3 * vertex, 3 * vertex + 3), at + 3 * k);
  }
  return at + 3 * count;
}

async function run({ file, clip: wanted, times, out }) {
  const { scene, animations } = await load(file);
  const clip = pickClip(animations, wanted);
  const meshes = [];
  scene.traverse((node) => node.isMesh && meshes.push(node));
  const sizes = meshes.map((mesh) => mesh.geometry.index?.count ?? mesh.geometry.attributes.position.count);
  const corners = sizes.reduce((sum, size) => sum + size, 0);
  const values = new Float64Array(3 * corners * times.length);
  const mixer = new AnimationMixer(scene);
  let at = 0;
  for (const seconds of times) {
    pose(scene, mixer, clip, seconds);
    for (const mesh of meshes) at = cornersOf(mesh, values, at);
  }
  writeNpy(out, values, [times.length, corners, 3]);
  return {
    clips: animations.map(({ name, duration }) => ({ name, duration })),
    meshes: meshes.map(({ name }, k) => ({ name, corners: sizes[k] })),
  };
}

// The loader prints warnings about unsupported features; standard output must contain only responses.
console.warn = console.log = (...words) => console.error(...words);
for (const job of JSON.parse(readFileSync(process.argv[2]))) {
  const answer = await run(job).catch((error) => ({ error: String(error?.stack ?? error) }));
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
