// Brush cursor: a ring on the surface with the radius of the brush.

import * as THREE from "three";
import type { View } from "../viewer";
import type { Hit } from "./pick";

const CORNERS = 48;

export class BrushCursor {
  private readonly ring: THREE.LineLoop;

  constructor() {
    const corner = (_: unknown, at: number): THREE.Vector3 => {
      const angle = (2 * Math.PI * at) / CORNERS;
      return new THREE.Vector3(Math.cos(angle), Math.sin(angle), 0);
    };
    const geometry = new THREE.BufferGeometry().setFromPoints(Array.from({ length: CORNERS }, corner));
    const color = new THREE.Color().setHex(0xffc833, THREE.LinearSRGBColorSpace);
    this.ring = new THREE.LineLoop(geometry, new THREE.LineBasicMaterial({ color, depthTest: false }));
    this.ring.renderOrder = 4;
    this.ring.frustumCulled = false;
  }

  /** Aligns the ring with the triangle that was hit. */
  show(view: View, hit: Hit, positions: Float32Array, radius: number): void {
    const [a, b, c] = hit.corners.map((corner) => new THREE.Vector3().fromArray(positions, 4 * corner)) as [
      THREE.Vector3,
      THREE.Vector3,
      THREE.Vector3,
    ];
    const normal = new THREE.Triangle(a, b, c).getNormal(new THREE.Vector3());
    const { ring } = this;
    ring.position.set(0, 0, 0);
    [a, b, c].forEach((corner, at) => ring.position.addScaledVector(corner, hit.at[at]!));
    ring.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), normal);
    ring.scale.setScalar(radius);
    view.figure.group.add(ring);
  }

  hide(): void {
    this.ring.removeFromParent();
  }
}
