// Range and colours of heat maps: 98 % of the values of a clip, all of them, or a range entered by the user.

import type { MapName, Ramp, SignedMapName } from "../gpu/colors";
import { roundRange, roundUp } from "../numbers";

export type RangeName = "most" | "all" | "fixed";

export interface Scale {
  range: RangeName;
  /** Upper end of the fixed range. */
  fixed: number;
  logarithmic: boolean;
  map: MapName;
  signedMap: SignedMapName;
}

export function defaultScale(): Scale {
  return { range: "most", fixed: 1, logarithmic: false, map: "fire", signedMap: "blue to red" };
}

/** Sizes of values: of 98 % of them, and of the largest. */
export interface Extent {
  most: number;
  all: number;
}

export interface Range {
  low: number;
  high: number;
  /** True if values exceed the range. */
  clips: boolean;
  ramp: Ramp;
}

/** Range of values from 0, or symmetric around 0 if they are signed. `fallback` is the range if all values are 0. */
export function rangeOf(scale: Scale, extent: Extent, signed: boolean, fallback: number): Range {
  const value = scale.range === "fixed" ? scale.fixed : roundUp(scale.range === "all" ? extent.all : extent.most);
  const high = value || roundUp(extent.all) || roundUp(fallback) || 1;
  return { low: signed ? -high : 0, high, clips: extent.all > high * (1 + 1e-6), ramp: rampOf(scale, signed) };
}

/** Range of values that need not start at 0, such as those of an attribute. */
export function rangeOfValues(scale: Scale, values: Float32Array): Range {
  const sorted = Float32Array.from(values).sort();
  const at = (fraction: number): number => sorted[Math.round(fraction * (sorted.length - 1))] ?? 0;
  const [low, high] = [at(0), at(1)];
  if (low < 0 && high > 0) {
    const sizes = sorted.map(Math.abs).sort();
    const most = sizes[Math.round(0.98 * (sizes.length - 1))] ?? 0;
    return rangeOf(scale, { most, all: Math.max(-low, high) }, true, 1);
  }
  const ramp = rampOf(scale, false);
  if (scale.range === "fixed") return { low: 0, high: scale.fixed, clips: high > scale.fixed || low < 0, ramp };
  const [from, to] = scale.range === "all" ? [low, high] : [at(0.01), at(0.99)];
  const [first, last] = to > from ? roundRange(from, to) : low < high ? roundRange(low, high) : [low, low + 1];
  return { low: first, high: last, clips: low < first || high > last, ramp };
}

export function rampOf(scale: Scale, signed: boolean): Ramp {
  return { map: signed ? scale.signedMap : scale.map, logarithmic: scale.logarithmic };
}
