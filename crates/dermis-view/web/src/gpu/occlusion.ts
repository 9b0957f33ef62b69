// Ambient occlusion of the rest pose: the fraction of directions from which a point is visible, weighted by cosine.
//
// For each direction the depth of the surface is drawn, and one pass adds the visibility of all points to a texture.
// The result is stored per point and therefore costs one lookup per vertex in every pose.

import * as THREE from "three";
import type { Model } from "./model";
import { draw, pass } from "./poser";
import { raw } from "./raw";
import { WIDTH } from "./store";
import { DEPTH_FRAGMENT, DEPTH_VERTEX, OCCLUSION_PASS } from "./surface";

const DIRECTIONS = 40;
/** Directions per picture. */
const STEP = 10;
const SIZE = 256;

/** Directions that are uniform over the sphere (Fibonacci lattice). */
function toward(at: number): THREE.Vector3 {
  const y = 1 - (2 * at + 1) / DIRECTIONS;
  const angle = at * Math.PI * (3 - Math.sqrt(5));
  const radius = Math.sqrt(1 - y * y);
  return new THREE.Vector3(radius * Math.cos(angle), y, radius * Math.sin(angle));
}

export class Occlusion {
  private readonly target: THREE.WebGLRenderTarget;
  /** Number of directions that have been added. */
  done = 0;
  private version = -1;

  constructor(private readonly model: Model) {
    this.target = new THREE.WebGLRenderTarget(WIDTH, model.pointRows, {
      type: THREE.HalfFloatType,
      format: THREE.RGBAFormat,
      minFilter: THREE.NearestFilter,
      magFilter: THREE.NearestFilter,
      depthBuffer: false,
    });
  }

  get texture(): THREE.Texture {
    return this.target.texture;
  }

  /** Adds some directions. Returns false if all are done. */
  refine(renderer: THREE.WebGLRenderer): boolean {
    const { model } = this;
    if (model.triangles.length === 0) return false;
    if (this.version < 0) {
      this.version = model.restVersion;
      const before = renderer.getRenderTarget();
      const color = renderer.getClearColor(new THREE.Color());
      renderer.setRenderTarget(this.target);
      renderer.setClearColor(0x000000, 0);
      renderer.clear();
      renderer.setClearColor(color, 1);
      renderer.setRenderTarget(before);
    }
    if (this.done >= DIRECTIONS) return false;
    const probe = new Probe(model);
    for (let at = 0; at < STEP && this.done < DIRECTIONS; at++, this.done++) {
      // Neighbouring steps use directions that are far apart, so that partial results are balanced.
      probe.add(renderer, toward((this.done * 7) % DIRECTIONS), this.target);
    }
    probe.dispose();
    return true;
  }

  dispose(): void {
    this.target.dispose();
  }
}

/** Depth map of the rest pose and the pass that reads it. */
class Probe {
  private readonly depths = depthTarget(SIZE);
  private readonly mesh: THREE.Mesh;
  private readonly camera = new THREE.OrthographicCamera();
  private readonly sphere: THREE.Sphere;
  private readonly accumulate: THREE.RawShaderMaterial;

  constructor(model: Model) {
    const material = depthMaterial(model.restStore.texture);
    this.mesh = new THREE.Mesh(new THREE.BufferGeometry().setIndex(model.index), material);
    this.mesh.frustumCulled = false;
    const box = new THREE.Box3().setFromArray(model.rest);
    this.sphere = box.getBoundingSphere(new THREE.Sphere());
    this.accumulate = pass(OCCLUSION_PASS, {
      rest: { value: model.restStore.texture },
      restNormals: { value: model.restNormalStore().texture },
      depths: { value: this.depths.depthTexture },
      toDepths: { value: new THREE.Matrix4() },
      toward: { value: new THREE.Vector3() },
      bias: { value: (4 * this.sphere.radius) / SIZE },
      pointCount: { value: model.pointCount },
    });
    this.accumulate.blending = THREE.CustomBlending;
    this.accumulate.blendSrc = this.accumulate.blendDst = THREE.OneFactor;
    this.accumulate.blendEquation = THREE.AddEquation;
  }

  add(renderer: THREE.WebGLRenderer, direction: THREE.Vector3, to: THREE.WebGLRenderTarget): void {
    const { accumulate } = this;
    aimLight(this.camera, this.sphere, direction, accumulate.uniforms["toDepths"]!.value as THREE.Matrix4);
    (accumulate.uniforms["toward"]!.value as THREE.Vector3).copy(direction);
    renderDepth(renderer, this.depths, this.mesh, this.camera);
    draw(renderer, accumulate, to);
  }

  dispose(): void {
    this.depths.dispose();
    (this.mesh.material as THREE.Material).dispose();
    this.accumulate.dispose();
  }
}

export function depthMaterial(positions: THREE.Texture): THREE.RawShaderMaterial {
  const material = raw(DEPTH_VERTEX, DEPTH_FRAGMENT, { positions: { value: positions } });
  material.side = THREE.DoubleSide;
  material.colorWrite = false;
  return material;
}

/** Target whose depth is compared by lookups. */
export function depthTarget(size: number): THREE.WebGLRenderTarget {
  const depthTexture = new THREE.DepthTexture(size, size, THREE.UnsignedIntType);
  depthTexture.compareFunction = THREE.LessEqualCompare;
  depthTexture.minFilter = depthTexture.magFilter = THREE.LinearFilter;
  return new THREE.WebGLRenderTarget(size, size, { depthTexture, generateMipmaps: false });
}

/** Aims a parallel camera at a sphere from `direction`, and sets the map from the world to its depth texture. */
export function aimLight(
  camera: THREE.OrthographicCamera,
  { center, radius }: THREE.Sphere,
  direction: THREE.Vector3,
  map: THREE.Matrix4,
): void {
  const reach = Math.max(radius, 1e-9);
  Object.assign(camera, { left: -reach, right: reach, top: reach, bottom: -reach, near: 0, far: 4 * reach });
  camera.up.set(Math.abs(direction.y) > 0.9 ? 1 : 0, Math.abs(direction.y) > 0.9 ? 0 : 1, 0);
  camera.position.copy(center).addScaledVector(direction, 2 * reach);
  camera.lookAt(center);
  camera.updateMatrixWorld();
  camera.updateProjectionMatrix();
  map.makeTranslation(0.5, 0.5, 0.5).scale(new THREE.Vector3(0.5, 0.5, 0.5));
  map.multiply(camera.projectionMatrix).multiply(camera.matrixWorldInverse);
}

/** Draws the depth of `mesh`. */
export function renderDepth(
  renderer: THREE.WebGLRenderer,
  target: THREE.WebGLRenderTarget,
  mesh: THREE.Object3D,
  camera: THREE.Camera,
): void {
  const before = renderer.getRenderTarget();
  renderer.setRenderTarget(target);
  renderer.clear(false, true, false);
  renderer.render(mesh, camera);
  renderer.setRenderTarget(before);
}
