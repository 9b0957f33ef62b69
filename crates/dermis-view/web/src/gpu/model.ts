// Asset on the GPU: shape, skin and motion in textures, uploaded once.

import * as THREE from "three";
import type { Bundle } from "../bundle";
import type { AssetInfo, MotionInfo, Source } from "../source";
import { boneColor } from "./colors";
import { ModelSurface } from "./model_surface";
import { Occlusion } from "./occlusion";
import { padded, rowsFor, Store, WIDTH } from "./store";

/** Approximate number of floats per request of recorded frames. */
const PART = 1_500_000;
/** Minimum weight of a bone at the points of its core. */
const CORE_WEIGHT = 0.7;

export class Model {
  readonly rest: Float32Array<ArrayBuffer>;
  readonly triangles: Uint32Array<ArrayBuffer>;
  readonly joints: Uint32Array;
  readonly weights: Float32Array;
  readonly attributes: Map<string, Float32Array>;
  readonly slots: number;
  readonly pointRows: number;
  readonly index: THREE.BufferAttribute;
  readonly surface: ModelSurface;
  readonly occlusion: Occlusion;
  /** Centre of each recorded frame that has been loaded. */
  readonly recordedCenters: THREE.Vector3[] = [];
  /** Number of changes of the rest pose. */
  restVersion = 0;
  /** Number of brush strokes that are not undone. */
  readonly strokes = { rest: 0, paint: 0 };
  /** True if an edit has been saved. */
  hasBeenSaved = false;
  /** Number of recorded frames that have been loaded. */
  recordedFrames = 0;
  clip = -1;

  readonly restStore: Store;
  readonly influenceStore: Store;
  readonly shapeStore: Store;
  readonly ringStarts: Store;
  readonly rings: Store;
  recordedStore: Store | null = null;
  paletteStore: Store = Store.packed(new Float32Array(4), 4, 4);
  coefficientStore: Store = Store.packed(new Float32Array(1), 1, 1);
  /** Bone matrices of the current clip, three rows of four floats each. */
  private palette: Float32Array | null = null;
  private tints: Store | null = null;
  private normals: Store | null = null;

  private constructor(
    readonly info: AssetInfo,
    readonly level: number,
    private readonly source: Source,
    /** Maximum number of rows of a texture. */
    private readonly maxRows: number,
    bundle: Bundle,
  ) {
    this.rest = bundle.floats("rest").slice();
    this.triangles = bundle.indices("triangles");
    this.joints = bundle.indices("joints");
    this.weights = bundle.floats("weights");
    const points = this.pointCount;
    this.slots = points > 0 ? this.weights.length / points : 0;
    this.pointRows = rowsFor(points);
    const values = bundle.floats("attributes");
    this.attributes = new Map(
      info.attributes.map((name, at) => [name, values.subarray(at * points, (at + 1) * points)]),
    );
    const order = this.triangles.length > 0 ? this.triangles : Uint32Array.from({ length: points }, (_, i) => i);
    this.index = new THREE.BufferAttribute(order, 1);
    this.restStore = Store.packed(this.rest, 3, 4);
    this.influenceStore = influences(this.joints, this.weights);
    this.shapeStore = shapeStore(this.skinFits ? bundle.floats("shapes") : new Float32Array(), points, this.pointRows);
    [this.ringStarts, this.rings] = rings(this.triangles, points);
    this.surface = new ModelSurface(this.triangles, points);
    this.occlusion = new Occlusion(this);
  }

  static async load(source: Source, info: AssetInfo, maxRows: number, level = 0): Promise<Model> {
    const compared = info.clips.findIndex(({ reference }) => typeof reference === "number");
    const clip = info.first_clip ?? Math.max(compared, 0);
    // Shape and motion are requested in parallel.
    const [mesh, motion] = await Promise.all([
      source.mesh(info.id, level),
      info.clips.length > 0 ? source.clip(info.id, level, clip) : null,
    ]);
    const model = new Model(info, level, source, maxRows, mesh);
    if (motion && model.skinFits) model.takeClip(clip, motion);
    return model;
  }

  /** Surface of a live deformer of a model, without skin, for `frames` frames. */
  static ofSurface(of: Model, bundle: Bundle, frames: number): Model {
    const motion = of.motion(false);
    const clips = [{ name: motion?.name ?? "", fps: motion?.fps ?? 24, frames }];
    const counts = { points: bundle.floats("rest").length / 3, triangles: bundle.indices("triangles").length / 3 };
    const bare = {
      bones: [],
      attributes: [],
      layers: [],
      tissue: false,
      light: false,
      lods: [],
      rank: 0,
      influences: 0,
      reference: null,
      recorded: null,
    };
    return new Model({ ...of.info, ...counts, ...bare, clips }, 0, of.source, of.maxRows, bundle);
  }

  get pointCount(): number {
    return this.rest.length / 3;
  }

  get triangleCount(): number {
    return this.triangles.length / 3;
  }

  /** True if the recorded motion fits into one texture. */
  get recordedFits(): boolean {
    return (this.info.recorded?.frames ?? 0) * this.pointRows <= this.maxRows;
  }

  /** True if corrections and bone matrices fit into one texture each. */
  get skinFits(): boolean {
    const maxFrames = Math.max(0, ...this.info.clips.map((clip) => clip.frames));
    const matrices = rowsFor(3 * this.info.bones.length * maxFrames);
    return this.info.rank * this.pointRows <= this.maxRows && matrices <= this.maxRows;
  }

  /** Motion of the original or of the current clip. */
  motion(recorded: boolean): MotionInfo | null {
    const { clips } = this.info;
    return recorded || clips.length === 0 ? this.info.recorded : (clips[Math.max(this.clip, 0)] ?? null);
  }

  /** Asset whose frames the current clip is compared with. */
  get reference(): number | null {
    return this.info.clips[Math.max(this.clip, 0)]?.reference ?? null;
  }

  async useClip(clip: number): Promise<void> {
    this.takeClip(clip, await this.source.clip(this.info.id, this.level, clip));
  }

  private takeClip(clip: number, bundle: Bundle): void {
    const palette = bundle.floats("palette");
    this.palette = palette;
    this.paletteStore.dispose();
    this.coefficientStore.dispose();
    this.paletteStore = Store.packed(palette.length > 0 ? palette : new Float32Array(4), 4, 4);
    const coefficients = bundle.floats("coefficients");
    this.coefficientStore = Store.packed(coefficients.length > 0 ? coefficients : new Float32Array(1), 1, 1);
    this.clip = clip;
  }

  /** Fetches the recorded frames: first a single one, which is shown immediately, then all others. */
  async loadRecorded(renderer: THREE.WebGLRenderer, arrived: () => void): Promise<void> {
    const frames = this.info.recorded?.frames ?? 0;
    const floats = 3 * this.pointCount;
    this.recordedStore = new Store(frames * this.pointRows * WIDTH, 4);
    let count = 1;
    while (this.recordedFrames < frames) {
      const first = this.recordedFrames;
      const values = (await this.source.frames(this.info.id, first, count)).floats("frames");
      const found = values.length / floats;
      if (found < 1) throw new Error(`frame ${first} of ${this.info.label} could not be loaded`);
      for (let at = 0; at < found; at++) {
        const frame = values.subarray(at * floats, (at + 1) * floats);
        this.recordedCenters[first + at] = centerOf(frame, 3);
        this.recordedStore.write(renderer, (first + at) * this.pointRows, padded(frame, 3, 4, this.pointRows));
      }
      this.recordedFrames += found;
      count = Math.max(1, Math.min(frames - this.recordedFrames, Math.floor(PART / floats)));
      arrived();
    }
  }

  /** Uploads the rows of the rest pose with the points from `first` to `last`. */
  restChanged(renderer: THREE.WebGLRenderer, first: number, last: number): void {
    const [top, bottom] = [Math.floor(first / WIDTH), Math.floor(last / WIDTH)];
    const part = this.rest.subarray(3 * top * WIDTH, 3 * (bottom + 1) * WIDTH);
    this.restStore.write(renderer, top, padded(part, 3, 4, bottom - top + 1));
    this.normals?.dispose();
    this.normals = null;
    this.restVersion++;
  }

  /** Normals of the rest pose. */
  restNormals(): Float32Array<ArrayBuffer> {
    const normals = new Float32Array(this.rest.length);
    const [p, t] = [this.rest, this.triangles];
    for (let i = 0; i < t.length; i += 3) {
      const [a, b, c] = [3 * t[i]!, 3 * t[i + 1]!, 3 * t[i + 2]!];
      const [ux, uy, uz] = [p[b]! - p[a]!, p[b + 1]! - p[a + 1]!, p[b + 2]! - p[a + 2]!];
      const [vx, vy, vz] = [p[c]! - p[a]!, p[c + 1]! - p[a + 1]!, p[c + 2]! - p[a + 2]!];
      const [x, y, z] = [uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx];
      for (const at of [a, b, c]) {
        normals[at]! += x;
        normals[at + 1]! += y;
        normals[at + 2]! += z;
      }
    }
    for (let i = 0; i < normals.length; i += 3) {
      const size = Math.hypot(normals[i]!, normals[i + 1]!, normals[i + 2]!) || 1;
      for (let c = 0; c < 3; c++) normals[i + c]! /= size;
    }
    return normals;
  }

  restNormalStore(): Store {
    return (this.normals ??= Store.packed(this.restNormals(), 3, 4));
  }

  /** Colours of the bones of each point, blended by weight, and the bone of its core, or −1. */
  boneTints(): Store {
    if (this.tints) return this.tints;
    const data = new Float32Array(4 * this.pointCount);
    const colors = this.info.bones.map((_, bone) => boneColor(bone));
    for (let point = 0; point < this.pointCount; point++) {
      let [core, largest] = [-1, 0];
      for (let k = 0; k < this.slots; k++) {
        const [bone, weight] = [this.joints[point * this.slots + k]!, this.weights[point * this.slots + k]!];
        const color = colors[bone];
        if (color) for (let c = 0; c < 3; c++) data[4 * point + c]! += weight * color[c]!;
        if (weight > largest) [core, largest] = [bone, weight];
      }
      data[4 * point + 3] = largest >= CORE_WEIGHT ? core : -1;
    }
    return (this.tints = Store.packed(data, 4, 4));
  }

  /** Weight of one bone at every point. */
  boneWeights(bone: number): Float32Array<ArrayBuffer> {
    const values = new Float32Array(this.pointCount);
    for (let at = 0; at < this.joints.length; at++) {
      if (this.joints[at] === bone) values[Math.floor(at / this.slots)]! += this.weights[at]!;
    }
    return values;
  }

  /** Location of a point of the rest pose that moves with `bone`, in a frame of the current clip. */
  poseWithBone(bone: number, frame: number, point: THREE.Vector3): THREE.Vector3 {
    const rows = this.palette;
    const first = 12 * (frame * this.info.bones.length + bone);
    if (!rows || first + 12 > rows.length) return point.clone();
    const row = (k: number): number =>
      rows[first + 4 * k]! * point.x +
      rows[first + 4 * k + 1]! * point.y +
      rows[first + 4 * k + 2]! * point.z +
      rows[first + 4 * k + 3]!;
    return new THREE.Vector3(row(0), row(1), row(2));
  }

  /** Centre of the joints in a frame of the current clip; `null` without bones. */
  boneCenter(frame: number): THREE.Vector3 | null {
    const { bones } = this.info;
    if (bones.length === 0 || !this.palette) return null;
    const sum = new THREE.Vector3();
    bones.forEach((bone, at) => sum.add(this.poseWithBone(at, frame, new THREE.Vector3(...bone.anchor))));
    return sum.divideScalar(bones.length);
  }

  /** Bones of a point in descending order of weight. */
  influencesOf(point: number): { bone: number; weight: number }[] {
    return Array.from({ length: this.slots }, (_, k) => ({
      bone: this.joints[point * this.slots + k]!,
      weight: this.weights[point * this.slots + k]!,
    })).filter((influence) => influence.weight !== 0);
  }
}

/** Mean of positions of `stride` floats each. */
export function centerOf(positions: Float32Array, stride: number): THREE.Vector3 {
  const sum = new THREE.Vector3();
  const count = positions.length / stride;
  for (let at = 0; at < positions.length; at += stride) {
    sum.x += positions[at]!;
    sum.y += positions[at + 1]!;
    sum.z += positions[at + 2]!;
  }
  return sum.divideScalar(Math.max(count, 1));
}

function influences(joints: Uint32Array, weights: Float32Array): Store {
  const pairs = new Float32Array(Math.max(2, 2 * joints.length));
  for (let i = 0; i < joints.length; i++) {
    pairs[2 * i] = joints[i]!;
    pairs[2 * i + 1] = weights[i]!;
  }
  return Store.packed(pairs, 2, 2);
}

/** Each shape starts in a new row. */
function shapeStore(shapes: Float32Array, points: number, rows: number): Store {
  const count = points > 0 ? shapes.length / (3 * points) : 0;
  if (count === 0) return Store.packed(new Float32Array(4), 4, 4);
  const data = new Float32Array(count * rows * WIDTH * 4);
  for (let shape = 0; shape < count; shape++) {
    const part = shapes.subarray(3 * points * shape, 3 * points * (shape + 1));
    data.set(padded(part, 3, 4, rows), shape * rows * WIDTH * 4);
  }
  return new Store(count * rows * WIDTH, 4, data);
}

/** For each point, the other two corners of each of its triangles. */
function rings(triangles: Uint32Array, points: number): [Store, Store] {
  const counts = new Uint32Array(points + 1);
  for (const point of triangles) counts[point + 1]!++;
  for (let i = 0; i < points; i++) counts[i + 1]! += counts[i]!;
  const starts = new Float32Array(2 * Math.max(points, 1));
  for (let i = 0; i < points; i++) starts.set([counts[i]!, counts[i + 1]!], 2 * i);
  const next = counts.slice();
  const others = new Float32Array(2 * Math.max(triangles.length, 1));
  for (let i = 0; i < triangles.length; i++) {
    const first = i - (i % 3);
    const at = 2 * next[triangles[i]!]!++;
    others[at] = triangles[first + ((i + 1) % 3)]!;
    others[at + 1] = triangles[first + ((i + 2) % 3)]!;
  }
  return [Store.packed(starts, 2, 2), Store.packed(others, 2, 2)];
}
