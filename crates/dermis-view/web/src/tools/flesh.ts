// Tools for simulated flesh: pulling, poking with a ball, painting of the thickness.

import * as THREE from "three";
import type { View, Viewer } from "../viewer";
import { Ball } from "./ball";
import { BrushCursor } from "./cursor";
import type { Draft } from "./drafts";
import type { Editor, Edits } from "./edits";
import type { Dab, Live } from "./live";
import type { Model } from "../gpu/model";
import { type Hit, hitTest } from "./pick";

export type FleshMode = "off" | "pull" | "poke" | "paint";

/** Depth of the ball in the flesh, in radii. */
const DEPTH = 0.7;
/** Thickness of rigid flesh, painted with Alt. */
const RIGID_THICKNESS = 0.5;
/** Index of the thickness in the list of colours. */
export const THICKNESS = 1;

/** State of a drag. */
interface Hold {
  live: Live;
  view: View;
  /** Positions at its start; with the current ones, yielding flesh would let the ball sink in without end. */
  positions: Float32Array;
  hit: Hit;
  /** Plane through the start of the drag, facing the camera. */
  plane: THREE.Plane;
}

export class FleshTool implements Editor {
  mode: FleshMode = "pull";
  /** Radii as fractions of the diagonal. */
  ballRadius = 0.035;
  brushRadius = 0.05;
  /** Painted thickness. */
  thickness = 1.6;
  private hold: Hold | null = null;
  private readonly ball = new Ball();
  private readonly cursor = new BrushCursor();

  constructor(
    private readonly viewer: Viewer,
    private readonly lives: Live[],
    readonly edits: Edits,
  ) {
    edits.addEditor(this);
  }

  /** True if painted changes are not saved. */
  get unsaved(): boolean {
    return this.lives.some(
      (live) => live.kind === "tissue" && live.view !== null && !this.edits.isSaved(live.view.model),
    );
  }

  /** Simulation of a view. */
  liveOf(view: View | null): Live | null {
    return this.lives.find((live) => live.kind === "tissue" && live.view !== null && live.view === view) ?? null;
  }

  /** Starts a drag at the surface under the mouse. Returns false if there is none. */
  press(view: View | null, ray: THREE.Ray, inverse: boolean): boolean {
    const live = this.mode === "off" ? null : this.liveOf(view);
    if (!view || !live) return false;
    const positions = this.viewer.positions(view).slice();
    const hit = hitTest(view.model, positions, ray);
    if (!hit) return false;
    const facing = this.viewer.stage.camera.getWorldDirection(new THREE.Vector3());
    const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(facing, positionOf(hit, positions));
    this.hold = { live, view, positions, hit, plane };
    if (this.mode === "paint") {
      live.set("heat", THICKNESS);
      live.painted.push([]);
    }
    this.act(ray, inverse);
    return true;
  }

  /** Continues a drag. */
  drag(ray: THREE.Ray, inverse: boolean): void {
    if (this.hold) this.act(ray, inverse);
  }

  /** Ends a drag. */
  release(): void {
    const { hold } = this;
    this.hold = null;
    if (hold && this.mode === "paint") this.record(hold.live);
    else hold?.live.send(this.mode === "poke" ? { poke: null } : { pull: null });
    this.ball.hide();
    this.viewer.stage.invalidate();
  }

  fill(model: Model, draft: Draft): void {
    const live = this.lives.find((live) => live.kind === "tissue" && live.of === model);
    if (live) draft.strokes = structuredClone(live.painted);
  }

  restore(model: Model, { strokes }: Draft): boolean {
    const live = this.lives.find((live) => live.kind === "tissue" && live.of === model);
    if (!live || strokes.length === 0) return false;
    for (const stroke of strokes) {
      live.painted.push(stroke);
      this.record(live);
    }
    live.repaint();
    return true;
  }

  /** Adds the last stroke to the history. */
  private record(live: Live): void {
    const stroke: Dab[] = live.painted.at(-1) ?? [];
    if (stroke.length === 0) {
      live.painted.pop();
      return;
    }
    const undo = (): void => {
      live.painted = live.painted.filter((other) => other !== stroke);
      live.repaint();
    };
    const redo = (): void => {
      live.painted.push(stroke);
      live.repaint();
    };
    this.edits.record(live.of, `painting of the thickness of ${live.of.info.label}`, 24 * stroke.length, undo, redo);
  }

  /** Shows a preview of the tool. */
  hover(view: View | null, ray: THREE.Ray): void {
    const shows = (this.mode === "poke" || this.mode === "paint") && this.liveOf(view) !== null;
    const positions = view && shows ? this.viewer.positions(view) : null;
    const hit = view && positions ? hitTest(view.model, positions, ray) : null;
    this.leave();
    if (!view || !positions || !hit) return;
    const { diagonal } = view.model.info;
    if (this.mode === "paint") this.cursor.show(view, hit, positions, this.brushRadius * diagonal);
    else {
      const radius = this.ballRadius * diagonal;
      this.ball.show(view, positionOf(hit, positions).addScaledVector(ray.direction, -radius), radius, false);
    }
  }

  /** Hides the preview. */
  leave(): void {
    if (!this.hold) this.ball.hide();
    this.cursor.hide();
    this.viewer.stage.invalidate();
  }

  private act(ray: THREE.Ray, inverse: boolean): void {
    const { live, view, positions, hit, plane } = this.hold!;
    const { diagonal } = view.model.info;
    if (this.mode === "pull") {
      const target = ray.intersectPlane(plane, new THREE.Vector3());
      if (target) live.send({ pull: { point: hit.point, target: target.toArray() } });
    } else if (this.mode === "poke") {
      const onFlesh = hitTest(view.model, positions, ray);
      const position = onFlesh ? positionOf(onFlesh, positions) : ray.intersectPlane(plane, new THREE.Vector3());
      if (!position) return;
      const radius = this.ballRadius * diagonal;
      const center = position.addScaledVector(ray.direction, -(1 - DEPTH) * radius);
      this.ball.show(view, center, radius, true);
      live.send({ poke: { center: center.toArray(), radius } });
    } else if (this.mode === "paint") this.paint(ray, inverse ? RIGID_THICKNESS : this.thickness);
    this.viewer.stage.invalidate();
  }

  private paint(ray: THREE.Ray, value: number): void {
    const { live, view } = this.hold!;
    // The current positions are used, so that the brush acts on moving flesh.
    const positions = this.viewer.positions(view);
    const hit = hitTest(view.model, positions, ray);
    if (!hit) return;
    const radius = this.brushRadius * view.model.info.diagonal;
    this.cursor.show(view, hit, positions, radius);
    const dab = { point: hit.point, radius, value };
    if (live.send({ paint: dab })) live.painted.at(-1)!.push(dab);
  }
}

function positionOf(hit: Hit, positions: Float32Array): THREE.Vector3 {
  const position = new THREE.Vector3();
  const corner = new THREE.Vector3();
  hit.corners.forEach((point, k) => position.addScaledVector(corner.fromArray(positions, 4 * point), hit.at[k]!));
  return position;
}
