// Sizes of the values of a streamed motion: a histogram for each frame, so that the range of a clip grows and shrinks
// with the values of its frames.

import type { Extent } from "./scale";

/** Bins per power of two, and the powers of two of the first and the last bin. */
const [PER_OCTAVE, FIRST, LAST] = [8, -40, 30];
const BINS = (LAST - FIRST) * PER_OCTAVE;
/** Maximum number of values per frame that are counted. */
const MAX_SAMPLES = 8192;

interface Frame {
  counts: Uint32Array;
  largest: number;
}

export class ClipStatistics {
  private readonly frames = new Map<number, Frame>();
  private readonly sum = new Float64Array(BINS);
  private known: Extent | null = null;

  /** Replaces the values of a frame. */
  set(frame: number, values: Float32Array): void {
    this.known = null;
    const before = this.frames.get(frame);
    if (before) this.count(before.counts, -1);
    const counts = new Uint32Array(BINS);
    const step = Math.max(1, Math.floor(values.length / MAX_SAMPLES));
    for (let i = 0; i < values.length; i += step) counts[binOf(Math.abs(values[i]!))]!++;
    let largest = 0;
    for (const value of values) largest = Math.max(largest, Math.abs(value));
    this.frames.set(frame, { counts, largest });
    this.count(counts, 1);
  }

  clear(): void {
    this.known = null;
    this.frames.clear();
    this.sum.fill(0);
  }

  /** Sizes of the values of all frames. */
  get extent(): Extent {
    if (this.known) return this.known;
    const all = Math.max(0, ...[...this.frames.values()].map((frame) => frame.largest));
    const total = this.sum.reduce((a, b) => a + b, 0);
    let [bin, passed] = [0, 0];
    while (bin < BINS - 1 && (passed += this.sum[bin]!) < 0.98 * total) bin++;
    const most = bin === 0 ? 0 : 2 ** (FIRST + (bin + 1) / PER_OCTAVE);
    return (this.known = { most: Math.min(most, all), all });
  }

  private count(counts: Uint32Array, sign: number): void {
    for (let bin = 0; bin < BINS; bin++) this.sum[bin]! += sign * counts[bin]!;
  }
}

function binOf(size: number): number {
  if (!(size > 0)) return 0;
  return Math.min(Math.max(Math.floor((Math.log2(size) - FIRST) * PER_OCTAVE), 0), BINS - 1);
}
