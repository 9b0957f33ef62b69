// Archive of files that are already compressed: ZIP without compression (PKWARE APPNOTE, sections 4.3.7 to 4.3.16).

export interface Entry {
  name: string;
  bytes: Uint8Array<ArrayBuffer>;
}

/** 1980-01-01, the earliest date, so that archives of equal files are equal. */
const DATE = 33;

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value >>> 0;
});

function checksum(bytes: Uint8Array): number {
  let value = 0xffffffff;
  for (const byte of bytes) value = TABLE[(value ^ byte) & 255]! ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}

/** Little-endian numbers of two or four bytes. */
function numbers(...fields: [size: 2 | 4, value: number][]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(fields.reduce((sum, [size]) => sum + size, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const [size, value] of fields) {
    if (size === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += size;
  }
  return bytes;
}

export function zipped(entries: Entry[]): Blob {
  const [parts, directory]: [Uint8Array<ArrayBuffer>[], Uint8Array<ArrayBuffer>[]] = [[], []];
  const length = (list: Uint8Array[]): number => list.reduce((sum, part) => sum + part.length, 0);
  for (const { name, bytes } of entries) {
    const encoded = new TextEncoder().encode(name) as Uint8Array<ArrayBuffer>;
    const common: [2 | 4, number][] = [
      [2, 20],
      [2, 0x800],
      [2, 0],
      [2, 0],
      [2, DATE],
      [4, checksum(bytes)],
      [4, bytes.length],
      [4, bytes.length],
      [2, encoded.length],
      [2, 0],
    ];
    const offset = length(parts);
    parts.push(numbers([4, 0x04034b50], ...common), encoded, bytes);
    directory.push(numbers([4, 0x02014b50], [2, 20], ...common, [2, 0], [2, 0], [2, 0], [4, 0], [4, offset]), encoded);
  }
  const end: [2 | 4, number][] = [
    [4, 0x06054b50],
    [2, 0],
    [2, 0],
    [2, entries.length],
    [2, entries.length],
    [4, length(directory)],
    [4, length(parts)],
    [2, 0],
  ];
  return new Blob([...parts, ...directory, numbers(...end)], { type: "application/zip" });
}
