// The brush: displaces the rest pose, seen in all frames while it moves, or paints a scalar.

import type { Model } from "../gpu/model";
import { padded, WIDTH } from "../gpu/store";
import type { View, Viewer } from "../viewer";
import { hitTest } from "./pick";

export type BrushMode = "off" | "sculpt" | "smooth" | "paint";

/** Strokes that can be taken back. */
const MOST_UNDOS = 24;

interface Stroke {
  model: Model;
  values: Float32Array<ArrayBuffer>;
  painted: boolean;
}

export class Brush {
  mode: BrushMode = "off";
  /** Radius as a share of the shape's diagonal. */
  radius = 0.06;
  strength = 0.5;
  edited = new Set<Model>();
  private readonly strokes: Stroke[] = [];
  private neighbours: { model: Model; lists: number[][] } | null = null;

  constructor(private readonly viewer: Viewer) {}

  /** Remembers how things are before a stroke. */
  begin(model: Model): void {
    const painted = this.mode === "paint";
    const values = painted ? this.paintOf(model).slice() : model.rest.slice();
    this.strokes.push({ model, values, painted });
    if (this.strokes.length > MOST_UNDOS) this.strokes.shift();
  }

  /** One dab under the mouse; gives whether it hit. */
  dab(view: View, ray: Parameters<typeof hitTest>[2], inverse: boolean): boolean {
    const { model } = view;
    const hit = hitTest(model, this.viewer.positions(view), ray);
    if (!hit) return false;
    // The brush is a ball in the rest pose, so a stroke does not spread to what merely touches in this frame.
    const center = [0, 1, 2].map((c) =>
      hit.corners.reduce((sum, corner, k) => sum + hit.at[k]! * model.rest[3 * corner + c]!, 0),
    ) as [number, number, number];
    const near = pointsNear(model, center, this.radius * model.info.diagonal);
    if (near.length === 0) return true;
    if (this.mode === "paint") this.paint(model, near, inverse);
    else if (this.mode === "smooth") this.smooth(model, near);
    else this.displace(model, near, inverse);
    return true;
  }

  undo(): void {
    const stroke = this.strokes.pop();
    if (!stroke) return;
    const { model, values, painted } = stroke;
    if (painted) {
      this.paintOf(model).set(values);
      this.sendPaint(model, 0, model.pointCount - 1);
    } else {
      model.rest.set(values);
      model.restChanged(this.viewer.stage.renderer, 0, model.pointCount - 1);
    }
    this.viewer.changed();
  }

  paintOf(model: Model): Float32Array<ArrayBuffer> {
    let values = this.viewer.paints.get(model);
    if (!values) {
      const known = model.attributes.get(this.viewer.scene.paint ?? "");
      this.viewer.paints.set(model, (values = known ? known.slice() : new Float32Array(model.pointCount)));
    }
    return values as Float32Array<ArrayBuffer>;
  }

  private displace(model: Model, near: Near[], inverse: boolean): void {
    const normals = model.restNormals();
    const step = (inverse ? -1 : 1) * 0.12 * this.strength * this.radius * model.info.diagonal;
    for (const { point, share } of near) {
      for (let c = 0; c < 3; c++) model.rest[3 * point + c]! += step * share * normals[3 * point + c]!;
    }
    this.sendRest(model, near);
  }

  private smooth(model: Model, near: Near[]): void {
    const lists = this.neighboursOf(model);
    const before = model.rest.slice();
    for (const { point, share } of near) {
      const around = lists[point]!;
      if (around.length === 0) continue;
      for (let c = 0; c < 3; c++) {
        const mean = around.reduce((sum, other) => sum + before[3 * other + c]!, 0) / around.length;
        const at = 3 * point + c;
        model.rest[at]! += this.strength * share * (mean - before[at]!);
      }
    }
    this.sendRest(model, near);
  }

  private paint(model: Model, near: Near[], inverse: boolean): void {
    const values = this.paintOf(model);
    for (const { point, share } of near) {
      const value = values[point]! + (inverse ? -1 : 1) * 0.25 * this.strength * share;
      values[point] = Math.min(Math.max(value, 0), 1);
    }
    const [first, last] = span(near);
    this.sendPaint(model, first, last);
    this.edited.add(model);
    this.viewer.changed();
  }

  private sendRest(model: Model, near: Near[]): void {
    const [first, last] = span(near);
    model.restChanged(this.viewer.stage.renderer, first, last);
    this.edited.add(model);
    this.viewer.changed();
  }

  private sendPaint(model: Model, first: number, last: number): void {
    const values = this.paintOf(model);
    const store = this.viewer.scalarStore(model, "paint", () => values);
    const [top, bottom] = [Math.floor(first / WIDTH), Math.floor(last / WIDTH)];
    const part = values.subarray(top * WIDTH, (bottom + 1) * WIDTH);
    store.write(this.viewer.stage.renderer, top, padded(part, 1, 1, bottom - top + 1));
  }

  private neighboursOf(model: Model): number[][] {
    if (this.neighbours?.model === model) return this.neighbours.lists;
    const sets = Array.from({ length: model.pointCount }, () => new Set<number>());
    const { triangles } = model;
    for (let i = 0; i < triangles.length; i++) {
      sets[triangles[i]!]!.add(triangles[i - (i % 3) + ((i + 1) % 3)]!).add(triangles[i - (i % 3) + ((i + 2) % 3)]!);
    }
    this.neighbours = { model, lists: sets.map((set) => [...set]) };
    return this.neighbours.lists;
  }
}

interface Near {
  point: number;
  share: number;
}

/** The points within `radius` of `center` in the rest pose, with a share that falls smoothly from 1 to 0. */
function pointsNear(model: Model, center: [number, number, number], radius: number): Near[] {
  const near: Near[] = [];
  const { rest } = model;
  for (let point = 0; point < model.pointCount; point++) {
    const [x, y, z] = [
      rest[3 * point]! - center[0],
      rest[3 * point + 1]! - center[1],
      rest[3 * point + 2]! - center[2],
    ];
    const square = (x * x + y * y + z * z) / (radius * radius);
    if (square < 1) near.push({ point, share: (1 - square) * (1 - square) });
  }
  return near;
}

function span(near: Near[]): [number, number] {
  return [near[0]!.point, near[near.length - 1]!.point];
}
