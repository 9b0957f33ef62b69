// Colour ramps of heat maps, and distinct colours of bones.

import * as THREE from "three";

export type RampName = "heat" | "signed";

/** sRGB stops at uniform distances: dark blue, green, yellow; and blue, white, red. */
const STOPS: Record<RampName, [number, number, number][]> = {
  heat: [
    [56, 62, 138],
    [46, 104, 170],
    [35, 150, 150],
    [90, 190, 90],
    [225, 210, 60],
    [240, 120, 40],
    [190, 30, 40],
  ],
  signed: [
    [33, 80, 180],
    [120, 165, 225],
    [225, 228, 232],
    [235, 150, 110],
    [190, 40, 45],
  ],
};

export function rampColor(name: RampName, fraction: number): [number, number, number] {
  const stops = STOPS[name];
  const at = Math.min(Math.max(fraction, 0), 1) * (stops.length - 1);
  const [a, b] = [stops[Math.floor(at)]!, stops[Math.min(Math.floor(at) + 1, stops.length - 1)]!];
  const t = at - Math.floor(at);
  return [0, 1, 2].map((c) => a[c]! + (b[c]! - a[c]!) * t) as [number, number, number];
}

export function rampTexture(name: RampName): THREE.DataTexture {
  const data = new Uint8Array(256 * 4);
  for (let i = 0; i < 256; i++) data.set([...rampColor(name, i / 255).map(Math.round), 255], 4 * i);
  const texture = new THREE.DataTexture(data, 256, 1);
  texture.minFilter = texture.magFilter = THREE.LinearFilter;
  texture.needsUpdate = true;
  return texture;
}

/** Linear colour of each bone: hues at golden-angle distances differ for any number of bones. */
export function boneColor(bone: number): [number, number, number] {
  const color = new THREE.Color().setHSL((bone * 0.618034) % 1, bone % 2 ? 0.85 : 0.62, bone % 3 === 1 ? 0.42 : 0.55);
  return [color.r, color.g, color.b];
}
