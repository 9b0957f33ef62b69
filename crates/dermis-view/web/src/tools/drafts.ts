// Unsaved edits, kept in the browser until they are saved, so that a reload loses nothing.

import type { Model } from "../gpu/model";
import type { Dab } from "./live";

export interface Draft {
  /** Edited rest pose. */
  rest: Float32Array | null;
  /** Painted attribute. */
  paint: Float32Array | null;
  /** Strokes on the flesh. */
  strokes: Dab[][];
  /** Time of the last change. */
  when: number;
}

const STORE = "drafts";

/** Key of the drafts of a model: its name, its size and a checksum of its shape. */
export function draftKey(model: Model, rest: Float32Array): string {
  const words = new Uint32Array(rest.buffer, rest.byteOffset, rest.length);
  let sum = 0x811c9dc5;
  for (const word of words) sum = Math.imul(sum ^ word, 0x01000193) >>> 0;
  return `${model.info.label} ${model.pointCount} ${model.triangleCount} ${sum.toString(16)}`;
}

export class Drafts {
  private database: Promise<IDBDatabase> | null = null;

  async read(key: string): Promise<Draft | null> {
    const found = await this.request("readonly", (store) => store.get(key));
    return (found as Draft | undefined) ?? null;
  }

  async write(key: string, draft: Draft): Promise<void> {
    await this.request("readwrite", (store) => store.put(draft, key));
  }

  async remove(key: string): Promise<void> {
    await this.request("readwrite", (store) => store.delete(key));
  }

  private open(): Promise<IDBDatabase> {
    return (this.database ??= new Promise((resolve, reject) => {
      const request = indexedDB.open("dermis", 1);
      request.onupgradeneeded = () => request.result.createObjectStore(STORE);
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    }));
  }

  private async request<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
    const store = (await this.open()).transaction(STORE, mode).objectStore(STORE);
    return new Promise((resolve, reject) => {
      const request = act(store);
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  }
}
