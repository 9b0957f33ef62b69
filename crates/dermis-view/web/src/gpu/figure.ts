// Drawables of one view of a model: surface, wireframe, normals and bones, which read the textures of the poser.

import * as THREE from "three";
import { boneGeometry } from "./bones";
import { DEFAULT_RAMP, type Ramp, rampTexture } from "./colors";
import { fileMaterial } from "./file_materials";
import { type Kind, Poser } from "./poser";
import type { Model } from "./model";
import { depthMaterial } from "./occlusion";
import { Onion } from "./onion";
import { line, raw } from "./raw";
import type { Quality } from "./shadow";
import * as shaders from "./shaders";
import type { Store } from "./store";
import { type SurfaceName } from "./surface";

export { raw } from "./raw";

export type Heat =
  | { kind: "none" }
  | { kind: "error"; low: number; high: number; ramp: Ramp }
  | { kind: "scalar"; low: number; high: number; ramp: Ramp; store: Store }
  | { kind: "bones" }
  | { kind: "core" };

export interface Look {
  wireframe: boolean;
  normals: boolean;
  bones: boolean;
  flat: boolean;
  /** Ghosts of other frames. */
  onion: boolean;
}

/** Ways to draw that are not switches. */
export interface Style {
  surface: SurfaceName;
  /** Frames between ghosts. */
  spacing: number;
  /** Number of frames of the motion. */
  frames: number;
  quality: Quality;
}

const PLAIN_STYLE: Style = { surface: "material", spacing: 4, frames: 1, quality: "none" };
const MODES = { none: 0, error: 1, scalar: 2, bones: 3, core: 4 } as const;
const CLAY = new THREE.Vector3(0.47, 0.41, 0.365);

export class Figure {
  readonly poser: Poser;
  readonly group = new THREE.Group();
  /** Draws the depth for shadows; `null` for points without triangles. */
  readonly caster: THREE.Mesh | null = null;
  private readonly uniforms: Record<string, THREE.IUniform>;
  private readonly shape: THREE.Mesh | THREE.Points;
  private materials: Record<string, THREE.Material[]> = {};
  /** Material of each group of triangles; `null` without a layout. */
  private groups: number[] | null = null;
  /** Version of the surface that the geometry was made from. */
  private built = -1;
  /** Bone that is drawn as selected, or −1. */
  selectedBone = -1;
  /** Bone under the mouse, or −1. */
  hoveredBone = -1;
  /** Called when a texture has been loaded. */
  arrived: () => void = () => {};
  private wire: THREE.LineSegments<THREE.BufferGeometry, THREE.RawShaderMaterial> | null = null;
  private normalLines: THREE.LineSegments | null = null;
  private bones: THREE.Mesh<THREE.BufferGeometry, THREE.RawShaderMaterial> | null = null;
  private segments: THREE.LineSegments | null = null;
  private marker: THREE.Points<THREE.BufferGeometry, THREE.RawShaderMaterial> | null = null;
  private onion: Onion | null = null;

  constructor(
    readonly model: Model,
    kind: Kind,
  ) {
    this.poser = new Poser(model, kind);
    this.uniforms = {
      ...this.poseTextures(),
      reference: { value: this.poser.positions },
      scalars: { value: model.restStore.texture },
      boneTints: { value: model.restStore.texture },
      ramp: { value: rampTexture(DEFAULT_RAMP) },
      mode: { value: 0 },
      low: { value: 0 },
      high: { value: 1 },
      flatShading: { value: 0 },
      clay: { value: CLAY },
    };
    const geometry = new THREE.BufferGeometry().setIndex(model.index);
    const material = this.material("clay", "none");
    this.shape = model.triangles.length > 0 ? new THREE.Mesh(geometry, material) : new THREE.Points(geometry, material);
    this.add(this.shape);
    if (model.triangles.length > 0) {
      const caster = new THREE.BufferGeometry().setIndex(model.index);
      this.caster = new THREE.Mesh(caster, depthMaterial(this.poser.positions));
      this.caster.frustumCulled = false;
    }
    this.group.userData["figure"] = this;
  }

  /** Prepares drawing of a frame; errors are relative to `reference`. */
  prepare(
    renderer: THREE.WebGLRenderer,
    frame: number,
    rank: number,
    heat: Heat,
    look: Look,
    reference: Poser | null,
    style: Style = PLAIN_STYLE,
  ): void {
    this.follow();
    this.poser.pose(renderer, frame, rank);
    const { uniforms, model } = this;
    uniforms["mode"]!.value = heat.kind === "error" && !reference ? MODES.none : MODES[heat.kind];
    uniforms["flatShading"]!.value = look.flat ? 1 : 0;
    const kind = style.surface === "material" && !model.surface.layout?.hasLook ? "clay" : style.surface;
    if (heat.kind === "error" || heat.kind === "scalar") {
      uniforms["low"]!.value = heat.low;
      uniforms["high"]!.value = heat.high;
      uniforms["ramp"]!.value = rampTexture(heat.ramp);
    }
    if (heat.kind === "error" && reference) uniforms["reference"]!.value = reference.positions;
    if (heat.kind === "scalar") uniforms["scalars"]!.value = heat.store.texture;
    if (heat.kind === "bones" || heat.kind === "core") uniforms["boneTints"]!.value = model.boneTints().texture;
    this.shape.material = this.material(uniforms["mode"]!.value === MODES.none ? kind : null, style.quality);
    this.showLines(look, frame);
    this.showGhosts(renderer, look, frame, rank, style);
  }

  /** Adopts the layout and the shown parts of the model. */
  private follow(): void {
    const { surface } = this.model;
    if (this.built === surface.version || !(this.shape instanceof THREE.Mesh)) return;
    this.built = surface.version;
    this.poser.useLayout();
    this.uniforms["normals"]!.value = this.poser.cornerNormals;
    const points = new THREE.BufferAttribute(surface.shownTriangles(), 1);
    this.caster?.geometry.setIndex(points);
    this.wire?.removeFromParent();
    this.wire = null;
    const { layout } = surface;
    const shown = surface.shownGroups();
    if (!layout || !shown) {
      this.shape.geometry.setIndex(points);
      return;
    }
    const geometry = new THREE.BufferGeometry().setIndex(new THREE.BufferAttribute(shown.index, 1));
    geometry.setAttribute("corner", new THREE.BufferAttribute(layout.corners, 2));
    geometry.setAttribute("uv", new THREE.BufferAttribute(layout.uvs, 4));
    if (layout.colors) geometry.setAttribute("vertexColor", new THREE.BufferAttribute(layout.colors, 4));
    shown.groups.forEach(({ first, count }, at) => geometry.addGroup(first, count, at));
    this.shape.geometry.dispose();
    this.shape.geometry = geometry;
    this.groups = shown.groups.map(({ material }) => material);
    for (const old of Object.values(this.materials).flat()) old.dispose();
    this.materials = {};
  }

  /** Materials of the groups, created on first use; `null` draws a heat map. */
  private material(kind: SurfaceName | null, quality: Quality): THREE.Material | THREE.Material[] {
    const { layout, textures } = this.model.surface;
    const { groups } = this;
    const colors = layout !== null && layout.colors !== null;
    const options = { kind, quality, split: groups !== null, colors, textures, arrived: () => this.arrived() };
    const made = (this.materials[`${kind} ${quality}`] ??= (groups ?? [-1]).map((material) =>
      fileMaterial(layout?.info.materials[material], this.uniforms, options),
    ));
    return groups ? made : made[0]!;
  }

  private showGhosts(
    renderer: THREE.WebGLRenderer,
    look: Look,
    frame: number,
    rank: number,
    { frames, spacing }: Style,
  ): void {
    // Frames of live deformers other than the current one are unknown.
    const possible = this.poser.kind === "skin" || this.poser.kind === "recorded";
    if (look.onion && possible && !this.onion) {
      this.onion = new Onion(this.model, this.poser.kind);
      this.group.add(this.onion.group);
    }
    if (!this.onion) return;
    this.onion.group.visible = look.onion;
    if (look.onion) this.onion.prepare(renderer, frame, frames, rank, spacing);
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
    this.onion?.dispose();
    this.group.traverse((part) => {
      if (!(part instanceof THREE.Mesh || part instanceof THREE.LineSegments)) return;
      part.geometry.dispose();
      for (const material of [part.material].flat() as THREE.Material[]) material.dispose();
    });
    for (const material of Object.values(this.materials).flat()) material.dispose();
  }

  private showLines(look: Look, frame: number): void {
    if (look.wireframe) this.wire ??= this.makeWire();
    if (look.normals) this.normalLines ??= this.makeNormals();
    if (look.bones && this.model.info.bones.length > 0) this.bones ??= this.makeBones();
    if (this.wire) {
      this.wire.visible = look.wireframe;
      // Lines are darker on the colours of a heat map, which has no shading of its own.
      const dark = this.uniforms["mode"]!.value === MODES.none ? 0.4 : 0.55;
      (this.wire.material.uniforms["lineColor"]!.value as THREE.Vector4).w = dark;
    }
    if (this.normalLines) this.normalLines.visible = look.normals;
    if (!this.bones) return;
    this.bones.visible = look.bones;
    const { uniforms } = this.bones.material;
    uniforms["frame"]!.value = frame;
    uniforms["selected"]!.value = this.selectedBone;
    uniforms["hovered"]!.value = this.hoveredBone;
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
    const material = line(shaders.SEGMENT_VERTEX, shaders.LINE_FRAGMENT, [1, 0.62, 0.18, 1], {});
    material.depthTest = false;
    const lines = this.addLines(new THREE.BufferGeometry(), material);
    lines.renderOrder = 2;
    return lines;
  }

  private makeWire(): THREE.LineSegments<THREE.BufferGeometry, THREE.RawShaderMaterial> {
    const triangles = this.model.surface.shownTriangles();
    const { rest } = this.model;
    const seen = new Set<number>();
    const edges: number[] = [];
    let total = 0;
    for (let i = 0; i < triangles.length; i++) {
      const [a, b] = [triangles[i]!, triangles[i - (i % 3) + ((i + 1) % 3)]!];
      const key = Math.min(a, b) * 0x4000000 + Math.max(a, b);
      if (seen.has(key)) continue;
      seen.add(key);
      edges.push(a, b);
      total += Math.hypot(...[0, 1, 2].map((c) => rest[3 * a + c]! - rest[3 * b + c]!));
    }
    const material = line(shaders.WIRE_VERTEX, shaders.WIRE_FRAGMENT, [0.03, 0.04, 0.05, 0.4], {
      ...this.poseTextures(),
      edgeLength: { value: (2 * total) / Math.max(edges.length, 1) },
      pixels: { value: 1 },
    });
    const lines = new THREE.LineSegments(
      new THREE.BufferGeometry().setIndex(new THREE.Uint32BufferAttribute(edges, 1)),
      material,
    );
    lines.onBeforeRender = (renderer) => {
      material.uniforms["pixels"]!.value = renderer.getCurrentViewport(new THREE.Vector4()).w;
      material.uniformsNeedUpdate = true;
    };
    this.add(lines);
    return lines;
  }

  private makeNormals(): THREE.LineSegments {
    const order = Uint32Array.from({ length: 2 * this.model.pointCount }, (_, i) => i);
    const size = { value: 0.012 * this.model.info.diagonal };
    const textures = { ...this.poseTextures(), size };
    const material = line(shaders.NORMAL_LINES_VERTEX, shaders.LINE_FRAGMENT, [0.35, 0.75, 1, 0.9], textures);
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
      hovered: { value: -1 },
    });
    // Bones are inside the surface and drawn over it, after all that is transparent; they hide each other.
    material.transparent = true;
    material.side = THREE.DoubleSide;
    const mesh = new THREE.Mesh(boneGeometry(bones, diagonal), material);
    mesh.renderOrder = 2;
    mesh.onBeforeRender = (renderer) => renderer.clearDepth();
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
