/** Bytes of request bodies that a process holds at once, and what one of them may be. */
export type BodyLimits = {
  /** Of all bodies together. One key, and one client address, has at most a tenth of it. */
  readonly totalBytes: number;
  readonly bodyBytes: number;
  /** From the first look at a request to the last byte of its body. */
  readonly withinMs: number;
};

/** A body that is being read or worked on. Each must be released once. */
export type AdmittedBody = {
  /** False when this chunk is more than may be held: then the body must be given up. */
  take(bytes: number): boolean;
  release(): void;
};

/**
 * Bounds the memory that callers can make a process hold: bytes count from their arrival to the answer, so that neither
 * unfinished bodies nor requests that wait for a webhook can grow without bound, and no caller can take it all.
 */
export type BodyAdmission = {
  readonly limits: BodyLimits;
  /** Bytes held now. */
  readonly heldBytes: number;
  admit(key: string, client: string): AdmittedBody;
};

/** What a chunk costs besides its bytes: a body of single bytes would else cost a hundred times what is counted. */
const chunkOverhead = 256;
const shares = 10;

export function createBodyAdmission(limits: BodyLimits): BodyAdmission {
  const byKey = new Map<string, number>();
  const byClient = new Map<string, number>();
  const share = limits.totalBytes / shares;
  let total = 0;

  return {
    limits,
    get heldBytes() {
      return total;
    },
    admit(key, client) {
      let held = 0;
      let isReleased = false;
      return {
        take(bytes) {
          if (isReleased) return false;
          const size = bytes + chunkOverhead;
          const ofKey = (byKey.get(key) ?? 0) + size;
          const ofClient = (byClient.get(client) ?? 0) + size;
          if (total + size > limits.totalBytes || ofKey > share || ofClient > share) return false;
          byKey.set(key, ofKey);
          byClient.set(client, ofClient);
          total += size;
          held += size;
          return true;
        },
        release() {
          isReleased = true;
          if (held === 0) return;
          total -= held;
          subtract(byKey, key, held);
          subtract(byClient, client, held);
          held = 0;
        },
      };
    },
  };
}

function subtract(held: Map<string, number>, name: string, bytes: number): void {
  const left = (held.get(name) ?? 0) - bytes;
  if (left > 0) held.set(name, left);
  else held.delete(name);
}
