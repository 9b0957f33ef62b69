// Instances of one view in a crowd, drawn by level of detail and as pictures, or uploaded vertex by vertex.

import * as THREE from "three";
import { CROWD_FRAGMENT, CROWD_VERTEX, UPLOADED_VERTEX } from "../gpu/crowd_shaders";
import { raw } from "../gpu/figure";
import { Model } from "../gpu/model";
import { poseUniforms, setPoseUniforms } from "../gpu/poser";
import { framesOf, type View, type Viewer } from "../viewer";
import { type Direction, Impostors } from "./impostors";

/** Distance, in diagonals, after which instances use the next coarser level. */
const LEVEL_DISTANCE = 9;
/** Radius of an instance on the screen, in pixels, below which it is drawn as a picture. */
const PICTURE_PIXELS = 22;
/** Maximum rank; more corrections are not visible at a distance. */
const MAX_RANK = 4;
/** Maximum memory of uploaded vertices. */
const MAX_UPLOAD_BYTES = 256e6;

export interface Instance {
  offset: THREE.Vector3;
  phase: number;
  color: THREE.Color;
}

/** Method of drawing: levels of detail and pictures, the full mesh of every instance, or uploaded vertices. */
export type Method = "levels" | "full" | "uploads";

interface Level {
  model: Model;
  mesh: THREE.Mesh<THREE.InstancedBufferGeometry, THREE.RawShaderMaterial>;
}

export interface BatchStats {
  triangles: number;
  /** Instances by level of detail, finest first. */
  levels: number[];
  /** Instances drawn as pictures. */
  pictures: number;
  /** Instances that are not drawn because they are outside of the picture or do not fit into memory. */
  hidden: number;
}

export class CrowdBatch {
  readonly group = new THREE.Group();
  /** Distance and index of the instances within the picture, nearest first. */
  visible: { distance: number; at: number }[] = [];
  private levels: Level[] = [];
  private impostors: Impostors | null = null;
  private uploaded: THREE.Mesh<THREE.BufferGeometry, THREE.RawShaderMaterial>[] = [];
  private baked: { positions: Float32Array<ArrayBuffer>; normals: Float32Array<ArrayBuffer> }[] = [];
  private bakedFor = "";
  private assigned = "";
  /** Levels and pictures of the instance buffers; `null` if they are incomplete. */
  private filled: { levels: Int8Array; version: string; method: Method } | null = null;
  private readonly sphere: THREE.Sphere;

  private constructor(
    private readonly viewer: Viewer,
    readonly view: View,
    private readonly instances: Instance[],
    private readonly rotation: THREE.Quaternion,
  ) {
    const { low, high } = view.model.info;
    const box = new THREE.Box3(new THREE.Vector3(...low), new THREE.Vector3(...high));
    this.sphere = box.getBoundingSphere(new THREE.Sphere());
  }

  static async create(
    viewer: Viewer,
    view: View,
    instances: Instance[],
    rotation: THREE.Quaternion,
  ): Promise<CrowdBatch> {
    const batch = new CrowdBatch(viewer, view, instances, rotation);
    const { info, clip } = view.model;
    const coarser = async (level: number): Promise<Model> => {
      const model = await Model.load(viewer.source, info, viewer.stage.maxRows, level);
      if (model.clip !== clip && clip >= 0) await model.useClip(clip);
      return model;
    };
    // Levels of detail have no recorded or streamed motion.
    const lods = view.tag === "original" || batch.streamed ? [] : info.lods;
    for (const model of [view.model, ...(await Promise.all(lods.map((_, at) => coarser(at + 1))))])
      batch.addLevel(model);
    batch.addImpostors();
    return batch;
  }

  /** True if the server streams the view: all instances have its current pose. */
  get streamed(): boolean {
    return this.view.figure.poser.kind === "live";
  }

  get triangleCounts(): number[] {
    return this.levels.map((level) => level.model.triangleCount);
  }

  /** Number of instances that are uploaded: as many as fit into memory. */
  private get uploadCount(): number {
    const bytes = 24 * Math.max(this.view.model.pointCount, 1);
    return Math.min(this.instances.length, Math.max(1, Math.floor(MAX_UPLOAD_BYTES / bytes)));
  }

  stats(method: Method): BatchStats {
    const count = this.instances.length;
    if (method === "uploads") {
      const triangles = this.uploadCount * this.view.model.triangleCount;
      return { triangles, levels: [this.uploadCount], pictures: 0, hidden: count - this.uploadCount };
    }
    const levels = this.levels.map((level) => level.mesh.geometry.instanceCount);
    const pictures = this.impostors?.mesh.geometry.instanceCount ?? 0;
    const drawn = levels.reduce((sum, number) => sum + number, pictures);
    const triangles = levels.reduce((sum, number, at) => sum + number * this.triangleCounts[at]!, 2 * pictures);
    return { triangles, levels, pictures, hidden: count - drawn };
  }

  /** Finds the instances within the picture. */
  cull(): void {
    const { camera } = this.viewer.stage;
    camera.updateMatrixWorld();
    const frustum = new THREE.Frustum().setFromProjectionMatrix(
      new THREE.Matrix4().multiplyMatrices(camera.projectionMatrix, camera.matrixWorldInverse),
    );
    const sphere = this.sphere.clone();
    this.visible = [];
    this.instances.forEach(({ offset }, at) => {
      sphere.center.addVectors(this.sphere.center, offset);
      if (frustum.intersectsSphere(sphere))
        this.visible.push({ distance: camera.position.distanceTo(sphere.center), at });
    });
    this.visible.sort((a, b) => a.distance - b.distance);
  }

  /** Level of an instance by its distance; −1 for a picture. */
  levelAt(distance: number): number {
    const { camera, canvas } = this.viewer.stage;
    const half = Math.tan(THREE.MathUtils.degToRad(camera.fov / 2));
    const pixels = (0.5 * canvas.clientHeight * this.sphere.radius) / (distance * half);
    if (pixels < PICTURE_PIXELS) return -1;
    const level = Math.floor(distance / this.view.model.info.diagonal / LEVEL_DISTANCE);
    return Math.min(level, this.levels.length - 1);
  }

  /** Prepares drawing of `frame`. With levels of detail, `levels` are those of the visible instances. */
  prepare(frame: number, method: Method, levels: Int8Array): void {
    const uploads = method === "uploads";
    for (const level of this.levels) level.mesh.visible = !uploads;
    if (this.impostors) this.impostors.mesh.visible = !uploads;
    for (const mesh of this.uploaded) mesh.visible = uploads;
    if (uploads) this.upload(frame);
    else this.assign(frame, method, levels);
  }

  dispose(): void {
    for (const { mesh } of this.levels) {
      mesh.geometry.dispose();
      mesh.material.dispose();
    }
    this.impostors?.dispose();
    for (const mesh of this.uploaded) {
      mesh.geometry.dispose();
      mesh.material.dispose();
    }
  }

  private get rank(): number {
    return Math.min(this.viewer.rankOf(this.view), MAX_RANK);
  }

  private addLevel(model: Model): void {
    const geometry = new THREE.InstancedBufferGeometry().setIndex(model.index) as THREE.InstancedBufferGeometry;
    const attribute = (size: number): THREE.InstancedBufferAttribute =>
      new THREE.InstancedBufferAttribute(new Float32Array(size * this.instances.length), size);
    geometry.setAttribute("offset", attribute(4));
    geometry.setAttribute("instanceColor", attribute(3));
    geometry.instanceCount = 0;
    const material = raw(CROWD_VERTEX, CROWD_FRAGMENT, {
      ...this.uniforms(),
      frame: { value: 0 },
      frameCount: { value: this.streamed ? 1 : framesOf(this.view) },
    });
    material.side = THREE.DoubleSide;
    const mesh = new THREE.Mesh(geometry, material);
    mesh.frustumCulled = false;
    this.group.add(mesh);
    this.levels.push({ model, mesh });
    this.setUniforms(material.uniforms, model);
  }

  private addImpostors(): void {
    const { model } = this.levels.at(-1)!;
    if (model.triangleCount === 0) return;
    const uniforms = this.uniforms();
    this.setUniforms(uniforms, model);
    const posed = { index: model.index, uniforms, frames: framesOf(this.view), streamed: this.streamed };
    this.impostors = new Impostors(posed, this.instances.length, this.sphere, this.rotation);
    this.group.add(this.impostors.mesh);
  }

  private uniforms(): Record<string, THREE.IUniform> {
    return { ...poseUniforms(), restNormals: { value: null }, liveNormals: { value: null }, streamed: { value: 0 } };
  }

  private setUniforms(uniforms: Record<string, THREE.IUniform>, model: Model): void {
    const { poser } = this.view.figure;
    setPoseUniforms(uniforms, model, this.streamed ? "recorded" : poser.kind, this.rank);
    uniforms["restNormals"]!.value = model.restNormalStore().texture;
    uniforms["liveNormals"]!.value = poser.normals;
    uniforms["streamed"]!.value = this.streamed ? 1 : 0;
    if (this.streamed) uniforms["recorded"]!.value = poser.positions;
  }

  private assign(frame: number, method: Method, levels: Int8Array): void {
    const { renderer, camera } = this.viewer.stage;
    const { poser } = this.view.figure;
    if (this.streamed) poser.pose(renderer, 0, this.rank);
    for (const { model, mesh } of this.levels) {
      this.setUniforms(mesh.material.uniforms, model);
      mesh.material.uniforms["frame"]!.value = this.streamed ? 0 : frame;
    }
    if (!this.impostors) return this.place(method, levels, null);
    const { impostors } = this;
    impostors.mesh.material.uniforms["frame"]!.value = this.streamed ? 0 : frame;
    if (method === "full") {
      this.filled = null;
      return this.place(method, levels, null);
    }
    const version = this.streamed ? poser.version : `${this.rank} ${this.view.model.restVersion}`;
    const { filled } = this;
    if (filled?.levels === levels && filled.version === version && filled.method === method) return;
    const back = this.rotation.clone().invert();
    const towards = new THREE.Vector3();
    const seen = this.visible.map(({ at }, number): Direction | null => {
      if (levels[number] !== -1) return null;
      towards.copy(camera.position).sub(this.sphere.center).sub(this.instances[at]!.offset).applyQuaternion(back);
      return Impostors.direction(towards);
    });
    const wanted = new Map(seen.flatMap((direction) => (direction ? [[direction.key, direction] as const] : [])));
    const complete = impostors.draw(renderer, wanted, version);
    if (!complete) this.viewer.stage.invalidate();
    this.place(method, levels, seen);
    this.filled = complete ? { levels, version, method } : null;
  }

  /** Fills the instance buffers, unless they are up to date. */
  private place(method: Method, levels: Int8Array, seen: (Direction | null)[] | null): void {
    const rows = seen?.map((direction) => (direction ? (this.impostors?.rowOf(direction) ?? null) : null)) ?? [];
    const numbers = this.visible.map(({ at }, number) => `${at} ${levels[number]} ${rows[number]?.row ?? ""}`);
    const key = method === "full" ? "full" : numbers.join();
    if (key === this.assigned) return;
    this.assigned = key;
    const all = this.instances;
    if (method === "full") {
      this.levels.forEach((level, at) => fill(level.mesh.geometry, at === 0 ? all : []));
      if (this.impostors) fill(this.impostors.mesh.geometry, []);
      return;
    }
    const chosen = (level: number): number[] => this.visible.flatMap((_, number) => (levels[number] === level ? [number] : []));
    this.levels.forEach((level, at) =>
      fill(
        level.mesh.geometry,
        chosen(at).map((number) => all[this.visible[number]!.at]!),
      ),
    );
    if (!this.impostors) return;
    const pictures = chosen(-1).filter((number) => rows[number]);
    const { geometry } = this.impostors.mesh;
    fill(
      geometry,
      pictures.map((number) => all[this.visible[number]!.at]!),
    );
    const attribute = geometry.getAttribute("seen") as THREE.InstancedBufferAttribute;
    pictures.forEach((number, at) => {
      const { row, direction } = rows[number]!;
      attribute.setXYZ(at, direction.azimuth, direction.elevation, row);
    });
    attribute.needsUpdate = true;
  }

  private upload(frame: number): void {
    this.bake();
    const frames = this.baked.length;
    this.instances.slice(0, this.uploadCount).forEach((instance, at) => {
      const mesh = (this.uploaded[at] ??= this.makeUploaded(instance));
      const { positions, normals } = this.baked[(frame + instance.phase) % frames]!;
      for (const [name, values] of Object.entries({ position: positions, normal: normals })) {
        const attribute = mesh.geometry.getAttribute(name) as THREE.BufferAttribute;
        (attribute.array as Float32Array).set(values);
        attribute.needsUpdate = true;
      }
    });
  }

  private makeUploaded(instance: Instance): THREE.Mesh<THREE.BufferGeometry, THREE.RawShaderMaterial> {
    const { model } = this.view;
    const geometry = new THREE.BufferGeometry().setIndex(model.index);
    for (const name of ["position", "normal"]) {
      const values = new THREE.BufferAttribute(new Float32Array(3 * model.pointCount), 3);
      geometry.setAttribute(name, values.setUsage(THREE.StreamDrawUsage));
    }
    const uniforms = { offset: { value: instance.offset }, instanceColor: { value: instance.color } };
    const material = raw(UPLOADED_VERTEX, CROWD_FRAGMENT, uniforms);
    material.side = THREE.DoubleSide;
    const mesh = new THREE.Mesh(geometry, material);
    mesh.frustumCulled = false;
    this.group.add(mesh);
    return mesh;
  }

  /** Reads the points and normals of all frames, as a vertex cache player would store them. */
  private bake(): void {
    const { poser, model } = this.view.figure;
    const key = `${this.rank} ${model.restVersion} ${this.streamed ? poser.version : ""}`;
    if (key === this.bakedFor) return;
    this.bakedFor = key;
    const { renderer } = this.viewer.stage;
    this.baked = Array.from({ length: this.streamed ? 1 : framesOf(this.view) }, (_, frame) => {
      poser.pose(renderer, frame, this.rank);
      // Recorded points have no normals when drawn by level of detail either.
      const smooth = poser.kind === "skin" || this.streamed;
      const normals = smooth ? poser.readNormals(renderer) : new Float32Array(4 * model.pointCount);
      return { positions: this.packed(poser.read(renderer)), normals: this.packed(normals) };
    });
  }

  /** First three of the four floats of each point. */
  private packed(read: Float32Array): Float32Array<ArrayBuffer> {
    const points = this.view.model.pointCount;
    const packed = new Float32Array(3 * points);
    for (let i = 0; i < points; i++) packed.set(read.subarray(4 * i, 4 * i + 3), 3 * i);
    return packed;
  }
}

function fill(geometry: THREE.InstancedBufferGeometry, instances: Instance[]): void {
  const [offsets, colors] = ["offset", "instanceColor"].map(
    (name) => geometry.getAttribute(name) as THREE.InstancedBufferAttribute,
  );
  instances.forEach(({ offset, phase, color }, at) => {
    offsets!.setXYZW(at, offset.x, offset.y, offset.z, phase);
    colors!.setXYZ(at, color.r, color.g, color.b);
  });
  offsets!.needsUpdate = colors!.needsUpdate = true;
  geometry.instanceCount = instances.length;
}
