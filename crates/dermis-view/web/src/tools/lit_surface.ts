// Surface under precomputed light: it is drawn in the colours of the light that its points reflect, without other lights.

import * as THREE from "three";
import { raw } from "../gpu/figure";
import { HEAD } from "../gpu/shaders";
import type { Store } from "../gpu/store";
import type { View } from "../viewer";

const VERTEX = `${HEAD}
uniform mat4 modelViewMatrix, projectionMatrix;
uniform sampler2D positions, light;
out float reflected;
void main() {
  reflected = texelFetch(light, at(gl_VertexID), 0).x;
  gl_Position = projectionMatrix * modelViewMatrix * vec4(texelFetch(positions, at(gl_VertexID), 0).xyz, 1.0);
}`;

/** Slightly warm white surface; the result is encoded for the display. */
const FRAGMENT = `${HEAD}
in float reflected;
out vec4 color;
void main() { color = vec4(pow(vec3(0.93, 0.88, 0.82) * max(reflected, 0.0), vec3(1.0 / 2.2)), 1.0); }`;

export class LitSurface {
  private readonly mesh: THREE.Mesh<THREE.BufferGeometry, THREE.RawShaderMaterial>;

  constructor(
    private readonly view: View,
    light: Store,
  ) {
    const { poser, model } = view.figure;
    const uniforms = { positions: { value: poser.positions }, light: { value: light.texture } };
    const material = raw(VERTEX, FRAGMENT, uniforms);
    material.side = THREE.DoubleSide;
    this.mesh = new THREE.Mesh(new THREE.BufferGeometry().setIndex(model.index), material);
    this.mesh.frustumCulled = false;
  }

  /** Draws the surface instead of the one under the lights of the page. */
  show(): void {
    const { group } = this.view.figure;
    if (this.mesh.parent === group) return;
    for (const part of group.children) if (part instanceof THREE.Mesh) part.visible = false;
    group.add(this.mesh);
  }
}
