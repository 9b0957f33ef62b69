// Positions of all triangle corners of the meshes of an FBX file at given times, as evaluated by three.js.
//
//   node three_fbx.mjs JOBS.json
//
// A job is { "file", "mesh", "clip" (a name or null), "times": [seconds], "out": "….npy" }. The response, one line of
// JSON on standard output, lists the clips and meshes found; `out` receives float64 [times, corners, 3] in the space of
// the file, without the rotation that the loader applies to the scene for Z up.

import { readFileSync } from 'node:fs';
import { AnimationMixer, LoopOnce, Vector3 } from 'three';
import { FBXLoader } from 'three/addons/loaders/FBXLoader.js';
import { writeNpy } from './npy.mjs';

// Images are loaded by browsers only; node cannot load them, and positions do not need them.
const element = { addEventListener() {}, removeEventListener() {}, style: {} };
globalThis.document = { createElementNS: () => element, createElement: () => element };
globalThis.window = globalThis;
globalThis.self = globalThis;

function load(file) {
  const bytes = readFileSync(file);
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  const scene = new FBXLoader().parse(buffer, '');
  scene.rotation.set(0, 0, 0);
  scene.updateMatrixWorld(true);
  return scene;
}

/** Poses the scene by `clip`, whose keys begin at `start`, at exactly `seconds`. */
function pose(scene, mixer, clip, start, seconds) {
  if (clip) {
    const action = mixer.clipAction(clip);
    action.reset().setLoop(LoopOnce).play();
    action.time = seconds - start;
    mixer.update(0);
  }
  scene.updateMatrixWorld(true);
}

function cornersOf(mesh, out, at) {
  const { index, attributes } = mesh.geometry;
  const corner = new Vector3();
  const count = index ? index.count : attributes.position.count;
  for (let k = 0; k < count; k++) {
    const vertex = index ? index.getX(k) : k;
    mesh.getVertexPosition(vertex, corner).applyMatrix4(mesh.matrixWorld).toArray(out, at + 3 * k);
  }
  return at + 3 * count;
}

function run({ file, mesh: wanted, clip: name, times, out }) {
  const scene = load(file);
  const clip = name === null ? undefined : scene.animations.find((clip) => clip.name === name);
  if (name !== null && !clip) throw new Error(`no clip ${name} among ${scene.animations.map((c) => c.name)}`);
  const meshes = [];
  scene.traverse((node) => node.isMesh && meshes.push(node));
  const mesh = meshes.find((mesh) => mesh.userData.originalName === wanted) ?? (meshes.length === 1 && meshes[0]);
  if (!mesh) throw new Error(`no mesh ${wanted} among ${meshes.map((m) => m.userData.originalName)}`);
  const corners = mesh.geometry.index?.count ?? mesh.geometry.attributes.position.count;
  const values = new Float64Array(3 * corners * times.length);
  const mixer = new AnimationMixer(scene);
  // The mixer has no time before 0, so keys are moved to begin there.
  const start = clip ? Math.min(...clip.tracks.map((track) => track.times[0])) : 0;
  clip?.tracks.forEach((track) => track.shift(-start));
  clip?.resetDuration();
  let at = 0;
  for (const seconds of times) {
    pose(scene, mixer, clip, start, seconds);
    at = cornersOf(mesh, values, at);
  }
  writeNpy(out, values, [times.length, corners, 3]);
  return { clips: scene.animations.map(({ name }) => name), meshes: meshes.map(({ name }) => name) };
}

// The loader prints warnings about unsupported features; standard output must contain only responses.
console.warn = console.log = (...words) => console.error(...words);
for (const job of JSON.parse(readFileSync(process.argv[2]))) {
  let answer;
  try {
    answer = run(job);
  } catch (error) {
    answer = { error: String(error?.stack ?? error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
