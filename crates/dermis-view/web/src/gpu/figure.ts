// Drawables of one view of a model: surface, wireframe, normals and bones, which read the textures of the poser.

import * as THREE from "three";
import { boneGeometry } from "./bones";
import { rampTexture, type RampName } from "./colors";
import { type Kind, Poser } from "./poser";
import type { Model } from "./model";
import * as shaders from "./shaders";
import type { Store } from "./store";

export type Heat =
  | { kind: "none" }
  | { kind: "error"; low: number; high: number }
  | { kind: "scalar"; low: number; high: number; ramp: RampName; store: Store }
  | { kind: "bones" }
  | { kind: "core" };

export interface Look {
  wireframe: boolean;
  normals: boolean;
  bones: boolean;
  flat: boolean;
}

const MODES = { none: 0, error: 1, scalar: 2, bones: 3, core: 4 } as const;
const ramps: Record<RampName, THREE.DataTexture> = { heat: rampTexture("heat"), signed: rampTexture("signed") };
const CLAY = new THREE.Vector3(0.52, 0.47, 0.43);

export class Figure {
  readonly poser: Poser;
  readonly group = new THREE.Group();
  private readonly surface: THREE.RawShaderMaterial;
  /** Bone that is drawn as selected, or −1. */
  selectedBone = -1;
  private wire: THREE.LineSegments | null = null;
  private normalLines: THREE.LineSegments | null = null;
  private bones: THREE.Mesh<THREE.BufferGeometry, THREE.RawShaderMaterial> | null = null;
  private segments: THREE.LineSegments | null = null;
  private marker: THREE.Points<THREE.BufferGeometry, THREE.RawShaderMaterial> | null = null;

  constructor(
    readonly model: Model,
    kind: Kind,
  ) {
    this.poser = new Poser(model, kind);
    this.surface = raw(shaders.SURFACE_VERTEX, shaders.SURFACE_FRAGMENT, {
      ...this.poseTextures(),
      reference: { value: this.poser.positions },
      scalars: { value: model.restStore.texture },
      boneTints: { value: model.restStore.texture },
      ramp: { value: ramps.heat },
      mode: { value: 0 },
      low: { value: 0 },
      high: { value: 1 },
      flatShading: { value: 0 },
      base: { value: CLAY },
    });
    this.surface.side = THREE.DoubleSide;
    const geometry = new THREE.BufferGeometry().setIndex(model.index);
    const shape =
      model.triangles.length > 0 ? new THREE.Mesh(geometry, this.surface) : new THREE.Points(geometry, this.surface);
    this.add(shape);
  }

  /** Prepares drawing of a frame; errors are relative to `reference`. */
  prepare(
    renderer: THREE.WebGLRenderer,
    frame: number,
    rank: number,
    heat: Heat,
    look: Look,
    reference: Poser | null,
  ): void {
    this.poser.pose(renderer, frame, rank);
    const { uniforms } = this.surface;
    uniforms["mode"]!.value = heat.kind === "error" && !reference ? MODES.none : MODES[heat.kind];
    uniforms["flatShading"]!.value = look.flat ? 1 : 0;
    if (heat.kind === "error" || heat.kind === "scalar") {
      uniforms["low"]!.value = heat.low;
      uniforms["high"]!.value = heat.high;
    }
    uniforms["ramp"]!.value = ramps[heat.kind === "scalar" ? heat.ramp : "heat"];
    if (heat.kind === "error" && reference) uniforms["reference"]!.value = reference.positions;
    if (heat.kind === "scalar") uniforms["scalars"]!.value = heat.store.texture;
    if (heat.kind === "bones" || heat.kind === "core") uniforms["boneTints"]!.value = this.model.boneTints().texture;
    this.showLines(look, frame);
  }

  /** Sets the lines over the surface, six floats each. */
  showSegments(ends: Float32Array): void {
    if (ends.length > 0) this.segments ??= this.makeSegments();
    if (!this.segments) return;
    this.segments.visible = ends.length > 0;
    this.segments.geometry.dispose();
    this.segments.geometry = new THREE.BufferGeometry();
    this.segments.geometry.setAttribute("position", new THREE.BufferAttribute(ends, 3));
  }

  /** Marks a point; `null` removes the mark. */
  mark(point: number | null): void {
    if (point !== null) this.marker ??= this.makeMarker();
    if (!this.marker) return;
    this.marker.visible = point !== null;
    this.marker.material.uniforms["point"]!.value = point ?? 0;
  }

  dispose(): void {
    this.poser.dispose();
    this.group.traverse((part) => {
      if (part instanceof THREE.Mesh || part instanceof THREE.LineSegments) part.geometry.dispose();
    });
  }

  private showLines(look: Look, frame: number): void {
    if (look.wireframe) this.wire ??= this.makeWire();
    if (look.normals) this.normalLines ??= this.makeNormals();
    if (look.bones && this.model.info.bones.length > 0) this.bones ??= this.makeBones();
    if (this.wire) this.wire.visible = look.wireframe;
    if (this.normalLines) this.normalLines.visible = look.normals;
    if (!this.bones) return;
    this.bones.visible = look.bones;
    const { uniforms } = this.bones.material;
    uniforms["frame"]!.value = frame;
    uniforms["selected"]!.value = this.selectedBone;
    uniforms["palette"]!.value = this.model.paletteStore.texture;
    uniforms["posed"]!.value = this.model.clip >= 0 && this.poser.kind !== "rest" ? 1 : 0;
  }

  private makeMarker(): THREE.Points<THREE.BufferGeometry, THREE.RawShaderMaterial> {
    const uniforms = {
      ...this.poseTextures(),
      point: { value: 0 },
      lineColor: { value: new THREE.Vector4(1, 0.78, 0.2, 1) },
    };
    const material = raw(shaders.MARKER_VERTEX, shaders.MARKER_FRAGMENT, uniforms);
    material.depthTest = false;
    const marker = new THREE.Points(new THREE.BufferGeometry().setIndex([0]), material);
    marker.renderOrder = 3;
    this.add(marker);
    return marker;
  }

  private makeSegments(): THREE.LineSegments {
    const material = line(shaders.SEGMENT_VERTEX, [1, 0.62, 0.18, 1], {});
    material.depthTest = false;
    const lines = this.addLines(new THREE.BufferGeometry(), material);
    lines.renderOrder = 2;
    return lines;
  }

  private makeWire(): THREE.LineSegments {
    const { triangles } = this.model;
    const seen = new Set<number>();
    const edges: number[] = [];
    for (let i = 0; i < triangles.length; i++) {
      const [a, b] = [triangles[i]!, triangles[i - (i % 3) + ((i + 1) % 3)]!];
      const key = Math.min(a, b) * 0x4000000 + Math.max(a, b);
      if (seen.has(key)) continue;
      seen.add(key);
      edges.push(a, b);
    }
    const material = line(shaders.WIRE_VERTEX, [0.03, 0.04, 0.05, 0.55], this.poseTextures());
    return this.addLines(new THREE.BufferGeometry().setIndex(new THREE.Uint32BufferAttribute(edges, 1)), material);
  }

  private makeNormals(): THREE.LineSegments {
    const order = Uint32Array.from({ length: 2 * this.model.pointCount }, (_, i) => i);
    const size = { value: 0.012 * this.model.info.diagonal };
    const material = line(shaders.NORMAL_LINES_VERTEX, [0.35, 0.75, 1, 0.9], { ...this.poseTextures(), size });
    return this.addLines(new THREE.BufferGeometry().setIndex(new THREE.BufferAttribute(order, 1)), material);
  }

  private makeBones(): THREE.Mesh<THREE.BufferGeometry, THREE.RawShaderMaterial> {
    const { bones, diagonal } = this.model.info;
    const material = raw(shaders.BONE_VERTEX, shaders.BONE_FRAGMENT, {
      palette: { value: null },
      bones: { value: bones.length },
      frame: { value: 0 },
      posed: { value: 0 },
      selected: { value: -1 },
    });
    // Bones are inside the surface and drawn over it.
    material.depthTest = false;
    material.transparent = true;
    const mesh = new THREE.Mesh(boneGeometry(bones, diagonal), material);
    mesh.renderOrder = 2;
    this.add(mesh);
    return mesh;
  }

  private addLines(geometry: THREE.BufferGeometry, material: THREE.Material): THREE.LineSegments {
    const lines = new THREE.LineSegments(geometry, material);
    this.add(lines);
    return lines;
  }

  private add(part: THREE.Object3D): void {
    part.frustumCulled = false;
    this.group.add(part);
  }

  private poseTextures(): Record<string, THREE.IUniform> {
    return { positions: { value: this.poser.positions }, normals: { value: this.poser.normals } };
  }
}

export function raw(
  vertexShader: string,
  fragmentShader: string,
  uniforms: Record<string, THREE.IUniform>,
): THREE.RawShaderMaterial {
  return new THREE.RawShaderMaterial({ glslVersion: THREE.GLSL3, vertexShader, fragmentShader, uniforms });
}

function line(
  vertexShader: string,
  color: number[],
  uniforms: Record<string, THREE.IUniform>,
): THREE.RawShaderMaterial {
  const lineColor = { value: new THREE.Vector4(...color) };
  const material = raw(vertexShader, shaders.LINE_FRAGMENT, { ...uniforms, lineColor });
  material.transparent = true;
  material.depthWrite = false;
  return material;
}
