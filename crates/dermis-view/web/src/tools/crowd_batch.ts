// Instances of one view in a crowd, drawn by level of detail or uploaded vertex by vertex.

import * as THREE from "three";
import { raw } from "../gpu/figure";
import { Model } from "../gpu/model";
import { poseUniforms, setPoseUniforms } from "../gpu/poser";
import { CROWD_FRAGMENT, CROWD_VERTEX, UPLOADED_VERTEX } from "../gpu/shaders";
import { framesOf, type View, type Viewer } from "../viewer";

/** Distance, in diagonals, after which instances use the next coarser level. */
const LEVEL_DISTANCE = 9;
/** Maximum rank; more corrections are not visible at a distance. */
const MAX_RANK = 4;

export interface Instance {
  offset: THREE.Vector3;
  phase: number;
  color: THREE.Color;
}

interface Level {
  model: Model;
  mesh: THREE.Mesh<THREE.InstancedBufferGeometry, THREE.RawShaderMaterial>;
}

export class CrowdBatch {
  readonly group = new THREE.Group();
  private levels: Level[] = [];
  private uploaded: THREE.Mesh<THREE.BufferGeometry, THREE.RawShaderMaterial>[] = [];
  private baked: { positions: Float32Array<ArrayBuffer>; normals: Float32Array<ArrayBuffer> }[] = [];
  private bakedFor = "";
  private assigned = "";

  private constructor(
    private readonly viewer: Viewer,
    readonly view: View,
    private readonly instances: Instance[],
  ) {}

  static async create(viewer: Viewer, view: View, instances: Instance[]): Promise<CrowdBatch> {
    const batch = new CrowdBatch(viewer, view, instances);
    const { info, clip } = view.model;
    const coarser = async (level: number): Promise<Model> => {
      const model = await Model.load(viewer.source, info, viewer.stage.maxRows, level);
      if (model.clip !== clip && clip >= 0) await model.useClip(clip);
      return model;
    };
    const lods = view.tag === "original" ? [] : info.lods;
    for (const model of [view.model, ...(await Promise.all(lods.map((_, at) => coarser(at + 1))))])
      batch.addLevel(model);
    return batch;
  }

  stats(uploads: boolean): { triangles: number; levels: number[] } {
    const levels = this.levels.map((level) => level.mesh.geometry.instanceCount);
    const triangles = this.levels.reduce((sum, level, at) => sum + levels[at]! * level.model.triangleCount, 0);
    return { triangles: uploads ? this.instances.length * this.view.model.triangleCount : triangles, levels };
  }

  /** Prepares drawing of `frame`. */
  prepare(frame: number, uploads: boolean): void {
    for (const level of this.levels) level.mesh.visible = !uploads;
    for (const mesh of this.uploaded) mesh.visible = uploads;
    if (uploads) this.upload(frame);
    else this.assign(frame);
  }

  dispose(): void {
    for (const { mesh } of this.levels) {
      mesh.geometry.dispose();
      mesh.material.dispose();
    }
    for (const mesh of this.uploaded) mesh.geometry.dispose();
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
    const frames = framesOf(this.view);
    const material = raw(CROWD_VERTEX, CROWD_FRAGMENT, {
      ...poseUniforms(),
      restNormals: { value: model.restNormalStore().texture },
      frame: { value: 0 },
      frameCount: { value: frames },
    });
    material.side = THREE.DoubleSide;
    const mesh = new THREE.Mesh(geometry, material);
    mesh.frustumCulled = false;
    this.group.add(mesh);
    this.levels.push({ model, mesh });
  }

  private assign(frame: number): void {
    const kind = this.view.figure.poser.kind;
    for (const { model, mesh } of this.levels) {
      setPoseUniforms(mesh.material.uniforms, model, kind, this.rank);
      mesh.material.uniforms["restNormals"]!.value = model.restNormalStore().texture;
      mesh.material.uniforms["frame"]!.value = frame;
    }
    const { camera } = this.viewer.stage;
    const diagonal = this.view.model.info.diagonal;
    const levelOf = ({ offset }: Instance): number => {
      const away = camera.position.distanceTo(offset) / diagonal;
      return Math.min(Math.floor(away / LEVEL_DISTANCE), this.levels.length - 1);
    };
    const levels = this.instances.map(levelOf);
    const key = levels.join();
    // Levels and instance buffers change only when the camera has moved far enough.
    if (key === this.assigned) return;
    this.assigned = key;
    this.levels.forEach((level, at) =>
      fill(
        level,
        this.instances.filter((_, i) => levels[i] === at),
      ),
    );
  }

  private upload(frame: number): void {
    this.bake();
    const frames = this.baked.length;
    this.instances.forEach((instance, at) => {
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
    const key = `${this.rank} ${model.restVersion}`;
    if (key === this.bakedFor) return;
    this.bakedFor = key;
    const { renderer } = this.viewer.stage;
    this.baked = Array.from({ length: framesOf(this.view) }, (_, frame) => {
      poser.pose(renderer, frame, this.rank);
      // Recorded points have no normals when drawn by level of detail either.
      const normals = poser.kind === "skin" ? poser.readNormals(renderer) : new Float32Array(4 * model.pointCount);
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

function fill({ mesh }: Level, instances: Instance[]): void {
  const [offsets, colors] = ["offset", "instanceColor"].map(
    (name) => mesh.geometry.getAttribute(name) as THREE.InstancedBufferAttribute,
  );
  instances.forEach(({ offset, phase, color }, at) => {
    offsets!.setXYZW(at, offset.x, offset.y, offset.z, phase);
    colors!.setXYZ(at, color.r, color.g, color.b);
  });
  offsets!.needsUpdate = colors!.needsUpdate = true;
  mesh.geometry.instanceCount = instances.length;
}
