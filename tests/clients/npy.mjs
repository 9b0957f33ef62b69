// Writer of arrays in the `.npy` format of numpy, version 1.0.

import { writeFileSync } from 'node:fs';

/** Writes `values` (a Float64Array) as an array of the given shape. */
export function writeNpy(path, values, shape) {
  const tuple = `(${shape.join(', ')}${shape.length === 1 ? ',' : ''})`;
  let header = `{'descr': '<f8', 'fortran_order': False, 'shape': ${tuple}, }`;
  const unpadded = 10 + header.length + 1;
  header += ' '.repeat((64 - (unpadded % 64)) % 64) + '\n';
  const prefix = Buffer.alloc(10);
  prefix.write('\x93NUMPY\x01\x00', 'latin1');
  prefix.writeUInt16LE(header.length, 8);
  const data = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
  writeFileSync(path, Buffer.concat([prefix, Buffer.from(header, 'latin1'), data]));
}
