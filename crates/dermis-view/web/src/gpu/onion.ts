// Onion skin: transparent ghosts of frames before (blue) and after (orange) the current one.

import * as THREE from "three";
import type { Model } from "./model";
import { type Kind, Poser } from "./poser";
import { raw } from "./raw";
import { GHOST_FRAGMENT, GHOST_VERTEX } from "./surface";

/** Distances of the ghosts in fractions of the spacing, with their opacity. */
const GHOSTS = [-2, -1, 1, 2];
const BEFORE = [0.3, 0.62, 1];
const AFTER = [1, 0.6, 0.25];

export class Onion {
  readonly group = new THREE.Group();
  private readonly ghosts: { offset: number; poser: Poser; mesh: THREE.Mesh }[] = [];

  constructor(model: Model, kind: Kind) {
    for (const offset of GHOSTS) {
      const poser = new Poser(model, kind);
      const [r, g, b] = offset < 0 ? BEFORE : AFTER;
      const material = raw(GHOST_VERTEX, GHOST_FRAGMENT, {
        positions: { value: poser.positions },
        normals: { value: poser.normals },
        ghostColor: { value: new THREE.Vector4(r, g, b, 0.5 / Math.abs(offset)) },
      });
      material.transparent = true;
      material.depthWrite = false;
      const mesh = new THREE.Mesh(new THREE.BufferGeometry().setIndex(model.index), material);
      mesh.frustumCulled = false;
      mesh.renderOrder = 1;
      this.group.add(mesh);
      this.ghosts.push({ offset, poser, mesh });
    }
  }

  /** Poses the ghosts around `frame` of `frames`; those outside of the motion are hidden. */
  prepare(renderer: THREE.WebGLRenderer, frame: number, frames: number, rank: number, spacing: number): void {
    for (const { offset, poser, mesh } of this.ghosts) {
      const at = frame + offset * spacing;
      mesh.visible = at >= 0 && at < frames;
      if (mesh.visible) poser.pose(renderer, at, rank);
    }
  }

  dispose(): void {
    for (const { poser, mesh } of this.ghosts) {
      poser.dispose();
      (mesh.material as THREE.Material).dispose();
    }
  }
}
