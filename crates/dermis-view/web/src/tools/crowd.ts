// A crowd: many instances of skinned assets on the ground, each in its own phase, skinned by the GPU.
//
// For comparison the same crowd can be drawn as engines without skinning would: every vertex of every instance sent
// anew in every frame.

import * as THREE from "three";
import { framesOf, type View, type Viewer } from "../viewer";
import { Herd, type Instance } from "./herd";

export interface CrowdStats {
  instances: number;
  triangles: number;
  /** Instances by level of detail, the finest first. */
  levels: number[];
}

export class Crowd {
  readonly group = new THREE.Group();
  uploads = false;

  private constructor(
    private readonly herds: Herd[],
    private readonly count: number,
  ) {
    this.group.add(...herds.map((herd) => herd.group));
  }

  static async create(viewer: Viewer, views: View[], count: number): Promise<Crowd> {
    const places = placed(views, count, viewer.stage.upVector());
    return new Crowd(await Promise.all(views.map((view, at) => Herd.create(viewer, view, places[at]!))), count);
  }

  /** The view that the others stand beside. */
  get leader(): View {
    return this.herds[0]!.view;
  }

  get names(): string {
    return this.herds.map((herd) => herd.view.label).join(" and ");
  }

  /** How far the crowd reaches, in sizes of its leader. */
  get reach(): number {
    const largest = Math.max(...this.herds.map((herd) => herd.view.model.info.diagonal));
    return (largest / this.leader.model.info.diagonal) * (1 + 0.42 * Math.sqrt(this.count));
  }

  get stats(): CrowdStats {
    const all = this.herds.map((herd) => herd.stats(this.uploads));
    const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0);
    const deepest = Math.max(...all.map(({ levels }) => levels.length));
    return {
      instances: this.count,
      triangles: sum(all.map(({ triangles }) => triangles)),
      levels: Array.from({ length: deepest }, (_, at) => sum(all.map(({ levels }) => levels[at] ?? 0))),
    };
  }

  /** Gets ready to draw `frame`. */
  prepare(frame: number): void {
    for (const herd of this.herds) herd.prepare(frame, this.uploads);
  }

  dispose(): void {
    for (const herd of this.herds) herd.dispose();
  }
}

/** Rows of nearly equal length on the ground, a little out of step and out of line; the views take turns. */
function placed(views: View[], count: number, up: THREE.Vector3): Instance[][] {
  const turn = new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 1, 0), up);
  const boxes = views.map((view) => groundBox(view, turn));
  const size = boxes.reduce((most, box) => most.max(box.getSize(new THREE.Vector3())), new THREE.Vector3());
  const [wide, deep] = [1.15 * size.x, 1.15 * size.z];
  const rows = Math.ceil(count / Math.max(1, Math.round(Math.sqrt((count * deep) / wide))));
  const random = generator(7);
  const herds = views.map((): Instance[] => []);
  for (let at = 0; at < count; at++) {
    const row = Math.floor((at * rows) / count);
    const [first, next] = [Math.ceil((row * count) / rows), Math.ceil(((row + 1) * count) / rows)];
    const x = (at - (first + next - 1) / 2 + 0.16 * (random() - 0.5)) * wide;
    const z = (row - (rows - 1) / 2 + 0.16 * (random() - 0.5)) * deep;
    const which = at % views.length;
    const place = new THREE.Vector3(x, 0, z).add(beside(boxes[0]!, boxes[which]!)).applyQuaternion(turn);
    const color = new THREE.Color().setHSL(0.06 + 0.05 * random(), 0.25 + 0.3 * random(), 0.42 + 0.25 * random());
    herds[which]!.push({ place, phase: Math.floor(random() * framesOf(views[which]!)), color });
  }
  return herds;
}

/** The box of a view where y is up. */
function groundBox(view: View, turn: THREE.Quaternion): THREE.Box3 {
  const { low, high } = view.model.info;
  const back = turn.clone().invert();
  return new THREE.Box3().setFromPoints([low, high].map((end) => new THREE.Vector3(...end).applyQuaternion(back)));
}

/** What takes one box to the middle of another, both standing on the same ground. */
function beside(leader: THREE.Box3, other: THREE.Box3): THREE.Vector3 {
  const shift = leader.getCenter(new THREE.Vector3()).sub(other.getCenter(new THREE.Vector3()));
  return shift.setY(leader.min.y - other.min.y);
}

/** A small generator of the same numbers every time. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 0x100000000;
  };
}
