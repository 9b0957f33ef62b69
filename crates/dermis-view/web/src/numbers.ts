// Round numbers for ranges, ticks and labels.

/** Mantissas of round numbers; each can be divided into four or five round steps. */
const MANTISSAS = [1, 1.2, 1.6, 2, 2.5, 3, 4, 5, 6, 8, 10];

/** Smallest round number that is not below `value`. */
export function roundUp(value: number): number {
  if (!(value > 0) || !Number.isFinite(value)) return 0;
  const power = 10 ** Math.floor(Math.log10(value));
  const mantissa = MANTISSAS.find((m) => m * power >= value * (1 - 1e-9)) ?? 10;
  return Number((mantissa * power).toPrecision(12));
}

/** Multiples of 1, 2 or 5 times a power of ten from `low` to `high`, about `count` of them. */
export function roundTicks(low: number, high: number, count = 5): number[] {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(count - 1, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((m) => m * power >= rough * (1 - 1e-9)) ?? 10);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, at) => Number(((first + at) * step).toPrecision(12)));
}

/** Range of round numbers around `low` and `high`. */
export function roundRange(low: number, high: number): [number, number] {
  if (low === 0) return [0, roundUp(high)];
  const ticks = roundTicks(low, high);
  const step = ticks.length > 1 ? ticks[1]! - ticks[0]! : high - low;
  const clean = (value: number): number => Number(value.toPrecision(12));
  return [clean(Math.floor(low / step + 1e-9) * step), clean(Math.ceil(high / step - 1e-9) * step)];
}

/** Formats a number with at most `digits` significant digits, without trailing zeros. */
export function compact(value: number, digits = 4): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e-4 && size < 1e6) return String(Number(value.toPrecision(digits)));
  const [mantissa, power] = value.toExponential(digits - 1).split("e");
  return `${Number(mantissa)}e${Number(power)}`;
}
