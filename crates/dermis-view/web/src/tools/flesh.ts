// A hand on simulated flesh: pulls it, pokes it with a ball, paints how thick it is.

import * as THREE from "three";
import type { View, Viewer } from "../viewer";
import { Ball } from "./ball";
import { BrushCursor } from "./cursor";
import type { Live } from "./live";
import { type Hit, hitTest } from "./pick";

export type FleshMode = "off" | "pull" | "poke" | "paint";

/** How deep a ball goes in, in radii. */
const DEPTH = 0.7;
/** Thickness that follows the bones all through, painted with Alt. */
const THINNEST = 0.5;
/** Among the colours, the thickness. */
export const THICKNESS = 1;

/** What a press took hold of. */
interface Hold {
  live: Live;
  view: View;
  /** Where flesh was when it began: what yields must not draw a ball in ever deeper. */
  positions: Float32Array;
  hit: Hit;
  /** Through the place of the press, facing the camera. */
  plane: THREE.Plane;
}

export class FleshTool {
  mode: FleshMode = "pull";
  /** Radii as shares of the shape's diagonal. */
  ballRadius = 0.035;
  brushRadius = 0.05;
  /** The thickness that is painted. */
  thickness = 1.6;
  /** Whether there is paint that was not saved. */
  unsaved = false;
  private hold: Hold | null = null;
  private readonly ball = new Ball();
  private readonly cursor = new BrushCursor();

  constructor(
    private readonly viewer: Viewer,
    private readonly lives: Live[],
  ) {}

  /** The simulation that feeds a view. */
  liveOf(view: View | null): Live | null {
    return this.lives.find((live) => live.kind === "tissue" && live.view !== null && live.view === view) ?? null;
  }

  /** Takes hold of what is under the mouse; gives whether there is something. */
  press(view: View | null, ray: THREE.Ray, inverse: boolean): boolean {
    const live = this.mode === "off" ? null : this.liveOf(view);
    if (!view || !live) return false;
    const positions = this.viewer.positions(view).slice();
    const hit = hitTest(view.model, positions, ray);
    if (!hit) return false;
    const facing = this.viewer.stage.camera.getWorldDirection(new THREE.Vector3());
    const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(facing, placeOf(hit, positions));
    this.hold = { live, view, positions, hit, plane };
    if (this.mode === "paint") live.set("heat", THICKNESS);
    this.act(ray, inverse);
    return true;
  }

  /** Moves what is held. */
  drag(ray: THREE.Ray, inverse: boolean): void {
    if (this.hold) this.act(ray, inverse);
  }

  /** Lets go. */
  release(): void {
    const { hold } = this;
    this.hold = null;
    hold?.live.tell(this.mode === "poke" ? { poke: null } : { pull: null });
    this.ball.hide();
    this.viewer.stage.invalidate();
  }

  /** Shows what a press would touch. */
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
      this.ball.show(view, placeOf(hit, positions).addScaledVector(ray.direction, -radius), radius, false);
    }
  }

  /** Takes away what was shown. */
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
      if (target) live.tell({ pull: { point: hit.point, target: target.toArray() } });
    } else if (this.mode === "poke") {
      const onFlesh = hitTest(view.model, positions, ray);
      const place = onFlesh ? placeOf(onFlesh, positions) : ray.intersectPlane(plane, new THREE.Vector3());
      if (!place) return;
      const radius = this.ballRadius * diagonal;
      const center = place.addScaledVector(ray.direction, -(1 - DEPTH) * radius);
      this.ball.show(view, center, radius, true);
      live.tell({ poke: { center: center.toArray(), radius } });
    } else if (this.mode === "paint") this.paint(ray, inverse ? THINNEST : this.thickness);
    this.viewer.stage.invalidate();
  }

  private paint(ray: THREE.Ray, value: number): void {
    const { live, view } = this.hold!;
    // Painted flesh stays under the brush also while it moves.
    const positions = this.viewer.positions(view);
    const hit = hitTest(view.model, positions, ray);
    if (!hit) return;
    const radius = this.brushRadius * view.model.info.diagonal;
    this.cursor.show(view, hit, positions, radius);
    live.tell({ paint: { point: hit.point, radius, value } });
    this.unsaved = true;
  }
}

function placeOf(hit: Hit, positions: Float32Array): THREE.Vector3 {
  const place = new THREE.Vector3();
  const corner = new THREE.Vector3();
  hit.corners.forEach((point, k) => place.addScaledVector(corner.fromArray(positions, 4 * point), hit.at[k]!));
  return place;
}
