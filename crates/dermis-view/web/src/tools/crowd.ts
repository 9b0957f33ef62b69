// Crowd: many instances of skinned assets on the ground, each in its own phase, skinned by the GPU.
//
// For comparison the same crowd can be drawn without skinning on the GPU: every vertex of every instance is uploaded in
// every frame.

import * as THREE from "three";
import { framesOf, type View, type Viewer } from "../viewer";
import { CrowdBatch, type Instance } from "./crowd_batch";

export interface CrowdStats {
  instances: number;
  triangles: number;
  /** Number of instances by level of detail, finest first. */
  levels: number[];
}

export class Crowd {
  readonly group = new THREE.Group();
  uploads = false;

  private constructor(
    private readonly batches: CrowdBatch[],
    private readonly count: number,
  ) {
    this.group.add(...batches.map((batch) => batch.group));
  }

  static async create(viewer: Viewer, views: View[], count: number): Promise<Crowd> {
    const instances = arranged(views, count, viewer.stage.upVector());
    const batches = views.map((view, at) => CrowdBatch.create(viewer, view, instances[at]!));
    return new Crowd(await Promise.all(batches), count);
  }

  /** First view, which determines the ground and the unit of size. */
  get leader(): View {
    return this.batches[0]!.view;
  }

  get names(): string {
    return this.batches.map((batch) => batch.view.label).join(" and ");
  }

  /** Extent of the crowd, in diagonals of its first view. */
  get reach(): number {
    const largest = Math.max(...this.batches.map((batch) => batch.view.model.info.diagonal));
    return (largest / this.leader.model.info.diagonal) * (1 + 0.42 * Math.sqrt(this.count));
  }

  get stats(): CrowdStats {
    const all = this.batches.map((batch) => batch.stats(this.uploads));
    const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0);
    const deepest = Math.max(...all.map(({ levels }) => levels.length));
    return {
      instances: this.count,
      triangles: sum(all.map(({ triangles }) => triangles)),
      levels: Array.from({ length: deepest }, (_, at) => sum(all.map(({ levels }) => levels[at] ?? 0))),
    };
  }

  /** Prepares drawing of `frame`. */
  prepare(frame: number): void {
    for (const batch of this.batches) batch.prepare(frame, this.uploads);
  }

  dispose(): void {
    for (const batch of this.batches) batch.dispose();
  }
}

/** Arranges instances of alternating views in rows of nearly equal length, with random offsets and phases. */
function arranged(views: View[], count: number, up: THREE.Vector3): Instance[][] {
  const rotation = new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 1, 0), up);
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
