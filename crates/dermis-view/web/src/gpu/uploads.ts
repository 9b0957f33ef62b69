// Counts all bytes uploaded to the GPU.

export interface Stats {
  uploadedBytes: number;
  draws: number;
  firstPictureMs: number | null;
}

export const stats: Stats = { uploadedBytes: 0, draws: 0, firstPictureMs: null };

export function countUploads(gl: WebGL2RenderingContext): void {
  const sent = (...given: unknown[]): number => {
    const data = given.find((value) => ArrayBuffer.isView(value) || value instanceof ArrayBuffer);
    return data ? (data as ArrayBufferView | ArrayBuffer).byteLength : 0;
  };
  const watched = gl as unknown as Record<string, (...given: unknown[]) => unknown>;
  for (const name of ["texImage2D", "texSubImage2D", "texImage3D", "texSubImage3D", "bufferData", "bufferSubData"]) {
    const original = watched[name]!.bind(gl);
    watched[name] = (...given) => {
      stats.uploadedBytes += sent(...given);
      return original(...given);
    };
  }
}
