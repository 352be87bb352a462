/** Limits on the bytes of request bodies that a process holds at once, and on a single body. */
export type BodyLimits = {
  /** For all bodies together. One key, or one client address, may hold a tenth of it. */
  readonly totalBytes: number;
  readonly bodyBytes: number;
  /** Longest time from the start of a request to the last byte of its body. */
  readonly withinMs: number;
};

/**
 * Bounds the memory that callers can make a process hold. Bytes count from their arrival to the answer, so neither
 * unfinished bodies nor requests that wait for a webhook can grow without bound, and a single caller cannot take it all.
 */
export type BodyAdmission = Readonly<ReturnType<typeof createBodyAdmission>>;
export type AdmittedBody = ReturnType<BodyAdmission['admit']>;

/** What a chunk costs besides its bytes: otherwise a body sent byte by byte would cost a hundred times the counted amount. */
const chunkOverhead = 256;
const shares = 10;

export function createBodyAdmission(limits: BodyLimits) {
  const byKey = new Map<string, number>();
  const byClient = new Map<string, number>();
  const share = limits.totalBytes / shares;
  const deadlines = createDeadlines(limits.withinMs);
  let total = 0;

  return {
    limits,
    /** Bytes held now. */
    get heldBytes() {
      return total;
    },
    /** A body that is being read or processed: it must be released once. */
    admit(key: string, client: string) {
      let held = 0;
      let isReleased = false;
      return {
        /** Calls `late` when the body takes too long, unless the returned function is called in time. */
        begin: deadlines.begin,
        /** False when this chunk exceeds a limit: then the caller must drop the body. */
        take(bytes: number): boolean {
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
        release(): void {
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

type Waiting = { readonly dueAt: number; readonly late: () => void };

/**
 * Deadlines of one length, which share a timer: a timer for each request costs more than reading a short body. Late ones are found at most
 * a tenth of `withinMs` after their time.
 */
export function createDeadlines(withinMs: number) {
  /** In the order in which they began, so the first one is due first. */
  const open = new Set<Waiting>();
  let timer: NodeJS.Timeout | undefined;

  function endOverdue(): void {
    const now = performance.now();
    for (const one of open) {
      if (one.dueAt > now) return;
      open.delete(one);
      // The sockets are read once more first: a process that was busy may not have seen yet what has arrived.
      setImmediate(one.late);
    }
    clearInterval(timer);
    timer = undefined;
  }

  return {
    /** Calls `late` unless the returned function is called in time. After `late` was scheduled it may still be called. */
    begin(late: () => void): () => void {
      const one = { dueAt: performance.now() + withinMs, late };
      open.add(one);
      timer ??= setInterval(endOverdue, withinMs / 10).unref();
      return () => void open.delete(one);
    },
  };
}
