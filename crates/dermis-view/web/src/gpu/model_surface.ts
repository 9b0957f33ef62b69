// Surface of a model: its layout, parts and textures, which are loaded after the shape.

import { grouped, type Group, Layout, type SurfaceData, type SurfaceInfo, Textures } from "./layout";

export class ModelSurface {
  layout: Layout | null = null;
  textures: Textures | null = null;
  parts: SurfaceInfo["parts"] = [];
  /** Indices of hidden parts. */
  readonly hidden = new Set<number>();
  /** Number of changes of layout or hidden parts. */
  version = 0;
  private shown: { version: number; triangles: Uint32Array<ArrayBuffer> } | null = null;

  constructor(
    private readonly triangles: Uint32Array<ArrayBuffer>,
    private readonly points: number,
  ) {}

  take({ info, vertices, image }: SurfaceData): void {
    const counted = info.parts.reduce((sum, part) => sum + part.triangles, 0);
    if (counted === this.triangles.length / 3) this.parts = info.parts;
    if (vertices) this.layout = new Layout(info, vertices, this.points);
    this.textures = new Textures(image);
    this.version++;
  }

  /** Shows or hides a part. */
  setHidden(part: number, hidden: boolean): void {
    if (hidden) this.hidden.add(part);
    else this.hidden.delete(part);
    this.version++;
  }

  /** Hides all parts but one; if only that one is shown, shows all. */
  isolate(part: number): void {
    const alone = this.parts.every((_, at) => this.hidden.has(at) === (at !== part));
    this.hidden.clear();
    if (!alone) for (let at = 0; at < this.parts.length; at++) if (at !== part) this.hidden.add(at);
    this.version++;
  }

  /** Part of a triangle. */
  partOf(triangle: number): number {
    let first = 0;
    for (const [part, { triangles }] of this.parts.entries()) {
      first += triangles;
      if (triangle < first) return part;
    }
    return -1;
  }

  /** Shown triangles over points. */
  shownTriangles(): Uint32Array<ArrayBuffer> {
    if (this.hidden.size === 0) return this.triangles;
    if (this.shown?.version !== this.version) {
      const { index } = grouped(this.triangles, new Uint32Array(), this.parts, (part) => this.hidden.has(part));
      this.shown = { version: this.version, triangles: index };
    }
    return this.shown.triangles;
  }

  /** Shown triangles over vertices by material; `null` without a layout. */
  shownGroups(): { index: Uint32Array<ArrayBuffer>; groups: Group[] } | null {
    const { layout } = this;
    if (!layout) return null;
    return grouped(layout.triangles, layout.materialOf, this.parts, (part) => this.hidden.has(part));
  }
}
