// Arrays of floats as textures, which shaders fetch by index.

import * as THREE from "three";

/** Texels per row of every store; `at()` in the shaders relies on it. */
export const WIDTH = 2048;

export type Channels = 1 | 2 | 4;

const FORMATS = { 1: THREE.RedFormat, 2: THREE.RGFormat, 4: THREE.RGBAFormat } as const;

export function rowsFor(texels: number): number {
  return Math.max(1, Math.ceil(texels / WIDTH));
}

export class Store {
  readonly texture: THREE.DataTexture;
  readonly rows: number;

  /** Creates a store of `texels`. `data`, if given, has complete rows and is uploaded on first use. */
  constructor(
    texels: number,
    readonly channels: Channels,
    data?: Float32Array<ArrayBuffer>,
  ) {
    this.rows = rowsFor(texels);
    this.texture = floatTexture(data ?? null, this.rows, channels);
    if (data) this.texture.needsUpdate = true;
    else this.texture.source.dataReady = false;
  }

  /** Creates a store of `components` floats per texel, padded to the channels of the texture and to complete rows. */
  static packed(values: Float32Array, components: number, channels: Channels): Store {
    const texels = values.length / components;
    return new Store(texels, channels, padded(values, components, channels, rowsFor(texels)));
  }

  /** Replaces the rows starting at `first`; `data` has complete rows. */
  write(renderer: THREE.WebGLRenderer, first: number, data: Float32Array<ArrayBuffer>): void {
    if (this.texture.version === 0) this.texture.needsUpdate = true;
    renderer.initTexture(this.texture);
    const rows = data.length / (WIDTH * this.channels);
    const part = floatTexture(data, rows, this.channels);
    renderer.copyTextureToTexture(part, this.texture, null, new THREE.Vector2(0, first));
    part.dispose();
  }

  dispose(): void {
    this.texture.dispose();
  }
}

export function padded(
  values: Float32Array,
  components: number,
  channels: Channels,
  rows: number,
): Float32Array<ArrayBuffer> {
  const data = new Float32Array(rows * WIDTH * channels);
  if (components === channels) data.set(values);
  else {
    for (let from = 0, to = 0; from < values.length; from += components, to += channels) {
      for (let c = 0; c < components; c++) data[to + c] = values[from + c]!;
    }
  }
  return data;
}

function floatTexture(data: Float32Array<ArrayBuffer> | null, rows: number, channels: Channels): THREE.DataTexture {
  const texture = new THREE.DataTexture(data, WIDTH, rows, FORMATS[channels], THREE.FloatType);
  texture.minFilter = texture.magFilter = THREE.NearestFilter;
  texture.generateMipmaps = false;
  texture.unpackAlignment = 4;
  return texture;
}
