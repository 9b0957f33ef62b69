// Crowd: many instances of animated assets on the ground, each in its own phase, skinned by the GPU.
//
// The nearest instances are drawn as meshes, by level of detail, as long as a budget of triangles lasts; all others are
// drawn as pictures. The budget follows the measured time per frame. For comparison the same crowd can be drawn with
// all meshes in full detail, or without skinning on the GPU: every vertex is uploaded in every frame.

import * as THREE from "three";
import { framesOf, type View, type Viewer } from "../viewer";
import { CrowdBatch, type Instance, type Method } from "./crowd_batch";

/** First, smallest and largest budget of triangles. */
const [FIRST_BUDGET, MIN_BUDGET, MAX_BUDGET] = [250_000, 5_000, 30e6];
/** Times per frame above and below which the budget shrinks and grows, in milliseconds. */
const [SLOW_MS, FAST_MS] = [90, 28];

export interface CrowdStats {
  instances: number;
  triangles: number;
  /** Number of instances by level of detail, finest first. */
  levels: number[];
  /** Number of instances drawn as pictures. */
  pictures: number;
  /** Number of instances outside of the picture, or beyond the memory for uploads. */
  hidden: number;
}

export class Crowd {
  readonly group = new THREE.Group();
  method: Method = "levels";
  private budget = FIRST_BUDGET;
  private seenFrom = "";
  private levels: Int8Array[] = [];

  private constructor(
    private readonly viewer: Viewer,
    readonly batches: CrowdBatch[],
    private readonly count: number,
  ) {
    this.group.add(...batches.map((batch) => batch.group));
    for (const { view } of batches) viewer.pinned.add(view);
  }

  static async create(viewer: Viewer, views: View[], count: number): Promise<Crowd> {
    const rotation = new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 1, 0), viewer.stage.upVector());
    const instances = arranged(views, count, rotation);
    const batches = views.map((view, at) => CrowdBatch.create(viewer, view, instances[at]!, rotation));
    return new Crowd(viewer, await Promise.all(batches), count);
  }

  /** First view, which determines the ground and the unit of size. */
  get leader(): View {
    return this.batches[0]!.view;
  }

  get names(): string {
    return this.batches.map((batch) => batch.view.label).join(" and ");
  }

  /** True if a view is streamed, whose instances all have the same pose. */
  get hasOnePose(): boolean {
    return this.batches.some((batch) => batch.streamed);
  }

  /** Extent of the crowd, in diagonals of its first view. */
  get reach(): number {
    const largest = Math.max(...this.batches.map((batch) => batch.view.model.info.diagonal));
    return (largest / this.leader.model.info.diagonal) * (1 + 0.5 * Math.sqrt(this.count));
  }

  get stats(): CrowdStats {
    const all = this.batches.map((batch) => batch.stats(this.method));
    const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0);
    const deepest = Math.max(...all.map(({ levels }) => levels.length));
    return {
      instances: this.count,
      triangles: sum(all.map(({ triangles }) => triangles)),
      levels: Array.from({ length: deepest }, (_, at) => sum(all.map(({ levels }) => levels[at] ?? 0))),
      pictures: sum(all.map(({ pictures }) => pictures)),
      hidden: sum(all.map(({ hidden }) => hidden)),
    };
  }

  /** Adapts the budget to a measured time. */
  adapt(ms: number): void {
    if (this.method !== "levels") return;
    const budget = ms > SLOW_MS ? 0.7 * this.budget : ms < FAST_MS ? 1.3 * this.budget : this.budget;
    const within = Math.min(Math.max(budget, MIN_BUDGET), MAX_BUDGET);
    const used = this.stats.triangles;
    // A larger budget has no effect if it is not used up.
    if (within === this.budget || (within > this.budget && used < 0.6 * this.budget)) return;
    this.budget = within;
    this.seenFrom = "";
    this.viewer.stage.invalidate();
  }

  /** Prepares drawing of `frame`. */
  prepare(frame: number): void {
    const { camera, canvas } = this.viewer.stage;
    const seenFrom = [...camera.matrixWorld.elements, camera.fov, canvas.clientHeight].join();
    if (seenFrom !== this.seenFrom) {
      this.seenFrom = seenFrom;
      this.assign();
    }
    this.batches.forEach((batch, at) => batch.prepare(frame, this.method, this.levels[at]!));
  }

  dispose(): void {
    for (const batch of this.batches) batch.dispose();
    this.viewer.pinned.clear();
  }

  /** Distributes the budget over the visible instances of all views, nearest first. */
  private assign(): void {
    for (const batch of this.batches) batch.cull();
    this.levels = this.batches.map(({ visible }) => new Int8Array(visible.length));
    const order = this.batches.flatMap((batch, of) =>
      batch.visible.map(({ distance }, number) => ({ batch, of, number, distance })),
    );
    if (this.batches.length > 1) order.sort((a, b) => a.distance - b.distance);
    let left = this.budget;
    order.forEach(({ batch, of, number, distance }, rank) => {
      const level = batch.levelAt(distance);
      const counts = batch.triangleCounts;
      // The nearest instance is always a mesh; if the budget ends, a coarser level is tried before a picture.
      let chosen = level;
      while (chosen >= 0 && rank > 0 && counts[chosen]! > left) chosen = chosen + 1 < counts.length ? chosen + 1 : -1;
      this.levels[of]![number] = chosen;
      if (chosen >= 0) left -= counts[chosen]!;
    });
  }
}

/** Arranges instances of alternating views in rows of nearly equal length, with random offsets and phases. */
function arranged(views: View[], count: number, rotation: THREE.Quaternion): Instance[][] {
  const boxes = views.map((view) => groundBox(view, rotation));
  const size = boxes.reduce((largest, box) => largest.max(box.getSize(new THREE.Vector3())), new THREE.Vector3());
  const [wide, deep] = [1.15 * size.x, 1.15 * size.z];
  const rows = Math.ceil(count / Math.max(1, Math.round(Math.sqrt((count * deep) / wide))));
  const random = generator(7);
  const batches = views.map((): Instance[] => []);
  for (let at = 0; at < count; at++) {
    const row = Math.floor((at * rows) / count);
    const [first, next] = [Math.ceil((row * count) / rows), Math.ceil(((row + 1) * count) / rows)];
    const x = (at - (first + next - 1) / 2 + 0.16 * (random() - 0.5)) * wide;
    const z = (row - (rows - 1) / 2 + 0.16 * (random() - 0.5)) * deep;
    const which = at % views.length;
    const offset = new THREE.Vector3(x, 0, z).add(beside(boxes[0]!, boxes[which]!)).applyQuaternion(rotation);
    const color = new THREE.Color().setHSL(0.06 + 0.05 * random(), 0.25 + 0.3 * random(), 0.42 + 0.25 * random());
    batches[which]!.push({ offset, phase: Math.floor(random() * framesOf(views[which]!)), color });
  }
  return batches;
}

/** Bounding box of a view with y up. */
function groundBox(view: View, rotation: THREE.Quaternion): THREE.Box3 {
  const { low, high } = view.model.info;
  const back = rotation.clone().invert();
  return new THREE.Box3().setFromPoints([low, high].map((end) => new THREE.Vector3(...end).applyQuaternion(back)));
}

/** Translation of one box to the centre of another, on the same ground. */
function beside(leader: THREE.Box3, other: THREE.Box3): THREE.Vector3 {
  const shift = leader.getCenter(new THREE.Vector3()).sub(other.getCenter(new THREE.Vector3()));
  return shift.setY(leader.min.y - other.min.y);
}

/** Deterministic random number generator. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 0x100000000;
  };
}
