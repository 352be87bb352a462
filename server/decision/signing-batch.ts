import type { Signer, Signing, SigningItem } from '../../core/paymaster/signer.js';
import type { Instruments } from '../ops/instruments.js';

/**
 * Signs everything of an event-loop turn together.
 *
 * - An item waits until everything that the turn has started is done. The usage store answers all requests of a turn
 *   at once, so their items arrive here together, are signed in one tight loop, and all answers are written after it.
 *   Peers wake up less often, and throughput is 1.4 times as high. The batch does not wait for another turn, which
 *   would only poll the sockets.
 * - At most `maxPerTurn` signatures are made before the loop may do other work; the rest follow in the next turn.
 * - Each item ends by itself. When a signer throws instead of answering, what this turn gave to it is `unknown`: nobody can
 *   say whether a signature has left it.
 */
export type SigningBatch = {
  sign(signer: Signer, item: SigningItem): Promise<Signing>;
};

/** 32 native signatures take about a millisecond and a half. */
const defaultMaxPerTurn = 32;

type Waiting = {
  readonly signer: Signer;
  readonly item: SigningItem;
  readonly resolve: (signed: Signing) => void;
};

export type SigningBatchDeps = {
  readonly instruments: Pick<Instruments, 'signQueue' | 'signBatch'>;
  readonly maxPerTurn?: number;
};

export function createSigningBatch(deps: SigningBatchDeps): SigningBatch {
  const { instruments, maxPerTurn = defaultMaxPerTurn } = deps;
  const depth = instruments.signQueue.with({});
  const size = instruments.signBatch.with({});
  let queue: Waiting[] = [];
  let scheduled = false;

  function flush(): void {
    const turn = queue.length <= maxPerTurn ? queue : queue.slice(0, maxPerTurn);
    queue = queue.length <= maxPerTurn ? [] : queue.slice(maxPerTurn);
    scheduled = queue.length > 0;
    if (scheduled) setImmediate(flush);
    depth.set(queue.length);
    size.observe(turn.length);
    for (const group of groupBySigner(turn)) signGroup(group);
  }

  return {
    sign(signer, item) {
      return new Promise((resolve) => {
        queue.push({ signer, item, resolve });
        if (scheduled) return;
        scheduled = true;
        process.nextTick(flush);
      });
    },
  };
}

/** Nearly always one group: a process serves few signers, mostly one. */
function groupBySigner(turn: readonly Waiting[]): readonly (readonly Waiting[])[] {
  const first = turn[0];
  if (first === undefined) return [];
  if (turn.every((waiting) => waiting.signer === first.signer)) return [turn];
  return [...Map.groupBy(turn, (waiting) => waiting.signer).values()];
}

function signGroup(group: readonly Waiting[]): void {
  const [first] = group;
  if (first === undefined) return;
  try {
    const signed = first.signer.sign(group.map((waiting) => waiting.item));
    if (signed instanceof Promise) {
      signed.then(
        (answers) => settle(group, answers),
        (error: unknown) => fail(group, error),
      );
    } else settle(group, signed);
  } catch (error) {
    fail(group, error);
  }
}

function settle(group: readonly Waiting[], answers: readonly Signing[]): void {
  // Answers that cannot be told apart belong to nobody.
  if (answers.length !== group.length)
    return fail(group, new Error('a signer must give one answer for each item'));
  group.forEach((waiting, index) => waiting.resolve(answers[index]!));
}

function fail(group: readonly Waiting[], error: unknown): void {
  for (const waiting of group) waiting.resolve({ outcome: 'unknown', error });
}
