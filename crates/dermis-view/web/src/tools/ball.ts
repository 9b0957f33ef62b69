// Transparent ball of the poke tool.

import * as THREE from "three";
import { raw } from "../gpu/figure";
import { BALL_FRAGMENT, BALL_VERTEX } from "../gpu/shaders";
import type { View } from "../viewer";

const [READY, PRESSED] = [new THREE.Vector4(0.75, 0.85, 0.95, 0.55), new THREE.Vector4(1, 0.78, 0.2, 0.75)];

export class Ball {
  private readonly mesh: THREE.Mesh<THREE.SphereGeometry, THREE.RawShaderMaterial>;

  constructor() {
    const material = raw(BALL_VERTEX, BALL_FRAGMENT, { lineColor: { value: READY } });
    material.transparent = true;
    material.depthWrite = false;
    this.mesh = new THREE.Mesh(new THREE.SphereGeometry(1, 48, 24), material);
    this.mesh.renderOrder = 5;
    this.mesh.frustumCulled = false;
  }

  show(view: View, center: THREE.Vector3, radius: number, pressed: boolean): void {
    this.mesh.position.copy(center);
    this.mesh.scale.setScalar(radius);
    this.mesh.material.uniforms["lineColor"]!.value = pressed ? PRESSED : READY;
    view.figure.group.add(this.mesh);
  }

  hide(): void {
    this.mesh.removeFromParent();
  }
}
