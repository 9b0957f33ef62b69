// Shadow of the key light: a depth map of one figure, drawn again only if its pose has changed.

import * as THREE from "three";
import type { Figure } from "./figure";
import { aimLight, depthTarget, renderDepth } from "./occlusion";
import { light } from "./studio";

/** Quality of the light: size of the shadow map, the blur of its edge in texels, and the lookups of a pixel. */
const QUALITIES = {
  high: { size: 2048, blur: 3.2, taps: 9 },
  medium: { size: 1024, blur: 1.8, taps: 5 },
  low: { size: 512, blur: 0.9, taps: 1 },
  none: { size: 1, blur: 0, taps: 0 },
} as const;
export type Quality = keyof typeof QUALITIES;

/** Defines of the shaders. */
export function lightDefines(quality: Quality): Record<string, string> {
  const { taps } = QUALITIES[quality];
  const sharp = quality === "high" || quality === "medium";
  return { ...(taps > 0 && { TAPS: String(taps) }), ...(sharp && { SHARP: "" }) };
}

export class Shadow {
  private target: THREE.WebGLRenderTarget | null = null;
  private empty: THREE.WebGLRenderTarget | null = null;
  private size = 0;
  private key = "";
  private readonly camera = new THREE.OrthographicCamera();

  /** Prepares the shadow of `figure`, whose motion stays in `sphere`; `null` draws none. */
  prepare(renderer: THREE.WebGLRenderer, figure: Figure | null, sphere: THREE.Sphere, quality: Quality): void {
    const { size, blur } = QUALITIES[quality];
    const caster = blur > 0 ? (figure?.caster ?? null) : null;
    light["shadowBlur"]!.value = blur;
    // Points cast no shadow.
    if (!this.empty) {
      this.empty = depthTarget(1);
      renderDepth(renderer, this.empty, new THREE.Group(), this.camera);
    }
    light["shadowMap"]!.value = this.empty.depthTexture;
    if (!figure || !caster) return;
    if (!this.target || this.size !== size) {
      this.target?.dispose();
      [this.target, this.size, this.key] = [depthTarget(size), size, ""];
    }
    const direction = light["keyDirection"]!.value as THREE.Vector3;
    const { center, radius } = sphere;
    const version = figure.model.surface.version;
    const key = `${figure.poser.id} ${figure.poser.poseKey} ${version} ${center.toArray()} ${radius} ${direction.toArray()}`;
    if (key !== this.key) {
      this.key = key;
      aimLight(this.camera, sphere, direction, light["shadowMatrix"]!.value as THREE.Matrix4);
      renderDepth(renderer, this.target, caster, this.camera);
    }
    light["shadowBias"]!.value = (radius * (3 + 1.5 * blur)) / size;
    light["shadowMap"]!.value = this.target.depthTexture;
  }
}
