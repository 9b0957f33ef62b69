// Reader of bundles of named arrays; `bundle.rs` describes the format.

interface Entry {
  name: string;
  type: "f32" | "u32" | "u16";
  count: number;
  offset: number;
  low?: [number, number, number];
  step?: [number, number, number];
}

const MAGIC = 0x424d5244;

export class Bundle {
  private readonly entries = new Map<string, Entry>();
  private readonly base: number;

  constructor(private readonly buffer: ArrayBuffer) {
    const view = new DataView(buffer);
    if (buffer.byteLength < 12 || view.getUint32(0, true) !== MAGIC || view.getUint32(4, true) !== 1) {
      throw new Error("unknown format of the geometry: reload the page");
    }
    const length = view.getUint32(8, true);
    const listed = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 12, length))) as Entry[];
    for (const entry of listed) this.entries.set(entry.name, entry);
    this.base = 12 + length;
  }

  floats(name: string): Float32Array<ArrayBuffer> {
    const entry = this.entries.get(name);
    if (!entry) return new Float32Array();
    if (entry.type === "u16") return this.dequantized(entry);
    return new Float32Array(this.buffer, this.base + entry.offset, entry.count);
  }

  indices(name: string): Uint32Array<ArrayBuffer> {
    const entry = this.entries.get(name);
    return entry ? new Uint32Array(this.buffer, this.base + entry.offset, entry.count) : new Uint32Array();
  }

  private dequantized(entry: Entry): Float32Array<ArrayBuffer> {
    const numbers = new Uint16Array(this.buffer, this.base + entry.offset, entry.count);
    const low = entry.low ?? [0, 0, 0];
    const step = entry.step ?? [1, 1, 1];
    const floats = new Float32Array(entry.count);
    for (let i = 0; i < floats.length; i++) floats[i] = low[i % 3]! + step[i % 3]! * numbers[i]!;
    return floats;
  }
}
