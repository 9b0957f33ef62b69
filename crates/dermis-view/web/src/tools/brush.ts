// Brush: displaces or smooths the rest pose, with the effect visible in all frames, or paints a scalar.

import type { Model } from "../gpu/model";
import { padded, WIDTH } from "../gpu/store";
import type { Edit } from "../source";
import type { View, Viewer } from "../viewer";
import { BrushCursor } from "./cursor";
import type { Draft } from "./drafts";
import type { Editor, Edits } from "./edits";
import { type Hit, hitTest } from "./pick";

export type BrushMode = "off" | "sculpt" | "smooth" | "paint";

/** Stroke that is being drawn. */
interface Stroke {
  model: Model;
  /** Values before it. */
  values: Float32Array<ArrayBuffer>;
  painted: boolean;
}

export class Brush implements Editor {
  mode: BrushMode = "off";
  /** Radius as a fraction of the diagonal. */
  radius = 0.06;
  strength = 0.5;
  private readonly cursor = new BrushCursor();
  private stroke: Stroke | null = null;
  private last: Model | null = null;
  private neighbours: { model: Model; lists: number[][] } | null = null;

  constructor(
    private readonly viewer: Viewer,
    readonly edits: Edits,
  ) {
    edits.addEditor(this);
  }

  /** Edited models and those whose saved state has been undone, starting with the one edited last. */
  get edited(): Model[] {
    const edited = (model: Model): boolean => model.strokes.rest + model.strokes.paint > 0;
    const unsaved = this.edits.unsaved;
    const models = this.viewer.models.filter((model) => edited(model) || (unsaved.includes(model) && model.hasBeenSaved));
    return models.sort((a, b) => Number(b === this.last) - Number(a === this.last));
  }

  /** Edit of a model, for saving. */
  editOf(model: Model): Edit {
    const attribute = model.strokes.paint > 0 ? (this.viewer.scene.paint ?? "mask") : null;
    return {
      // After all strokes have been undone, the shape of the file replaces the saved one.
      rest: model.strokes.rest > 0 || attribute === null ? model.rest : null,
      attribute,
      values: attribute === null ? null : this.paintOf(model),
    };
  }

  /** Reason why the brush cannot edit a view, or `null`. */
  obstacle(view: View): string | null {
    if (!this.viewer.models.includes(view.model)) return "This surface cannot be edited: edit its source";
    if (this.mode === "paint" || view.tag !== "original") return null;
    return "Recorded frames have no rest pose to displace or smooth: select a fit, or paint";
  }

  /** Shows the brush cursor. Returns the hit under the mouse. */
  hover(view: View | null, ray: Parameters<typeof hitTest>[2]): Hit | null {
    const positions = view && this.mode !== "off" && !this.obstacle(view) ? this.viewer.positions(view) : null;
    const hit = view && positions ? hitTest(view.model, positions, ray) : null;
    if (view && positions && hit) this.cursor.show(view, hit, positions, this.radius * view.model.info.diagonal);
    else this.cursor.hide();
    this.viewer.stage.invalidate();
    return hit;
  }

  /** Hides the brush cursor. */
  leave(): void {
    this.cursor.hide();
    this.viewer.stage.invalidate();
  }

  /** Applies one dab under the mouse; `first` starts a stroke. Returns true if the surface was hit. */
  dab(view: View, ray: Parameters<typeof hitTest>[2], inverse: boolean, first: boolean): boolean {
    const { model } = view;
    const hit = this.hover(view, ray);
    if (!hit) return false;
    if (first) this.begin(model);
    // The brush is a sphere in the rest pose, so a stroke does not spread to parts that only touch in this frame.
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

  /** Ends a stroke, which can then be undone. */
  end(): void {
    const { stroke } = this;
    this.stroke = null;
    if (!stroke) return;
    const { model, values, painted } = stroke;
    const now = painted ? this.paintOf(model) : model.rest;
    if (!this.record(model, painted, values, now)) model.strokes[painted ? "paint" : "rest"]--;
    this.viewer.changed();
  }

  fill(model: Model, draft: Draft): void {
    if (model.strokes.rest > 0) draft.rest = model.rest.slice();
    if (model.strokes.paint > 0) draft.paint = this.paintOf(model).slice();
  }

  restore(model: Model, { rest, paint }: Draft): boolean {
    for (const [painted, values] of [
      [false, rest],
      [true, paint],
    ] as const) {
      const now = painted && paint ? this.paintOf(model) : model.rest;
      if (!values || values.length !== now.length) continue;
      const before = now.slice();
      this.write(model, painted, 0, values);
      model.strokes[painted ? "paint" : "rest"]++;
      this.record(model, painted, before, now);
    }
    return rest !== null || paint !== null;
  }

  /** Adds a change to the history. Returns false if nothing has changed. */
  private record(model: Model, painted: boolean, before: Float32Array, now: Float32Array): boolean {
    const size = painted ? 1 : 3;
    let [first, last] = [0, before.length - 1];
    while (first <= last && before[first] === now[first]) first++;
    while (last > first && before[last] === now[last]) last--;
    if (first > last) return false;
    const [from, to] = [Math.floor(first / size), Math.floor(last / size) + 1];
    const [old, changed] = [before.slice(size * from, size * to), now.slice(size * from, size * to)];
    const part = painted ? "paint" : "rest";
    this.last = model;
    this.edits.record(
      model,
      `${painted ? "painting" : "sculpting"} of ${model.info.label}`,
      8 * old.length,
      () => {
        model.strokes[part]--;
        this.write(model, painted, from, old);
      },
      () => {
        model.strokes[part]++;
        this.write(model, painted, from, changed);
      },
    );
    return true;
  }

  /** Replaces the values of points from `first` on. */
  private write(model: Model, painted: boolean, first: number, values: Float32Array): void {
    if (painted) {
      this.paintOf(model).set(values, first);
      this.sendPaint(model, first, first + values.length - 1);
    } else {
      model.rest.set(values, 3 * first);
      model.restChanged(this.viewer.stage.renderer, first, first + values.length / 3 - 1);
    }
  }

  paintOf(model: Model): Float32Array<ArrayBuffer> {
    let values = this.viewer.paints.get(model);
    if (!values) {
      const known = model.attributes.get(this.viewer.scene.paint ?? "");
      this.viewer.paints.set(model, (values = known ? known.slice() : new Float32Array(model.pointCount)));
    }
    return values as Float32Array<ArrayBuffer>;
  }

  /** Stores the state before a stroke. */
  private begin(model: Model): void {
    const painted = this.mode === "paint";
    const values = painted ? this.paintOf(model).slice() : model.rest.slice();
    this.stroke = { model, values, painted };
    this.last = model;
    model.strokes[painted ? "paint" : "rest"]++;
    if (painted) this.viewer.state.heat = "paint";
  }

  private displace(model: Model, near: Near[], inverse: boolean): void {
    const normals = model.restNormals();
    const step = (inverse ? -1 : 1) * 0.12 * this.strength * this.radius * model.info.diagonal;
    for (const { point, weight } of near) {
      for (let c = 0; c < 3; c++) model.rest[3 * point + c]! += step * weight * normals[3 * point + c]!;
    }
    this.sendRest(model, near);
  }

  private smooth(model: Model, near: Near[]): void {
    const lists = this.neighboursOf(model);
    const before = model.rest.slice();
    for (const { point, weight } of near) {
      const around = lists[point]!;
      if (around.length === 0) continue;
      for (let c = 0; c < 3; c++) {
        const mean = around.reduce((sum, other) => sum + before[3 * other + c]!, 0) / around.length;
        const at = 3 * point + c;
        model.rest[at]! += this.strength * weight * (mean - before[at]!);
      }
    }
    this.sendRest(model, near);
  }

  private paint(model: Model, near: Near[], inverse: boolean): void {
    const values = this.paintOf(model);
    for (const { point, weight } of near) {
      const value = values[point]! + (inverse ? -1 : 1) * 0.25 * this.strength * weight;
      values[point] = Math.min(Math.max(value, 0), 1);
    }
    const [first, last] = span(near);
    this.sendPaint(model, first, last);
    this.viewer.changed();
  }

  private sendRest(model: Model, near: Near[]): void {
    const [first, last] = span(near);
    model.restChanged(this.viewer.stage.renderer, first, last);
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
  weight: number;
}

/** Points within `radius` of `center` in the rest pose, with a weight that falls smoothly from 1 to 0. */
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
    if (square < 1) near.push({ point, weight: (1 - square) * (1 - square) });
  }
  return near;
}

function span(near: Near[]): [number, number] {
  return [near[0]!.point, near[near.length - 1]!.point];
}
