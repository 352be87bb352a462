import {
  type RecoverAddress,
  type Signing,
  type SigningItem,
  signingItem,
} from '../../core/paymaster/signer.js';
import type { Address } from '../../core/units/address.js';
import { FairSlots, SlotsBusy } from '../fair-slots.js';
import { pause } from '../timers.js';
import { withinDeadline } from '../within-deadline.js';
import { callFailedBy, CallFailed } from './call-failed.js';
import { checkedSignature } from './checked-signature.js';
import type { OpenSigner, RemoteLimits } from './kind.js';
import { createPace, type Pace } from './pace.js';
import type { CallResult, SignerMeter } from './signer-instruments.js';

/**
 * Asks for a signature: answers r‖s, 64 bytes. Throws {@link CallFailed}. The signal ends it.
 */
export type SignRemotely = (item: SigningItem, signal: AbortSignal) => Promise<Uint8Array>;

export const remoteLimits: RemoteLimits = { deadlineMs: 2_000, calls: 100 };

/** Failures in a row after which another key signs, where the profile lists one that the contract accepts. */
const failuresUntilTrouble = 5;

/**
 * A signer whose key is elsewhere: a call for each signature.
 *
 * - Whatever is answered leaves only as 65 bytes with low s that the pinned address has signed.
 * - Calls are repeated until the deadline, with growing pauses, unless the signer refuses. That is safe: the digest is the same, so
 *   is the promise. One that was perhaps made once stays `unknown`, however the later calls end.
 * - Calls and waiting are bounded, and shared out by paymaster: a caller who asks for more than the signer can do holds up his own
 *   paymaster alone.
 * - A signer that is asked too often sets the pace of all calls ({@link createPace}): what it cannot take waits here.
 * - Nothing is held while it waits: no lock, no row, no turn of the event loop.
 */
export function createRemoteSigner(deps: {
  readonly address: Address;
  readonly implementation: string;
  readonly recover: RecoverAddress;
  readonly ask: SignRemotely;
  readonly meter: SignerMeter;
  readonly limits?: RemoteLimits;
  readonly random?: () => number;
  /** Default: learned from what is throttled. */
  readonly pace?: Pace;
}): OpenSigner {
  const {
    address,
    implementation,
    recover,
    meter,
    limits = remoteLimits,
    random = Math.random,
    pace = createPace(),
  } = deps;
  const maxWaitMs = limits.deadlineMs / 2;
  const perKey = Math.ceil(limits.calls / 5);
  const slots = new FairSlots({
    slots: limits.calls,
    perKey,
    waitingPerKey: 4 * perKey,
    maxWaitMs,
  });
  // What has a slot waits for the pace, each paymaster in its turn.
  const paced = new FairSlots({
    slots: Number.POSITIVE_INFINITY,
    perKey: Number.POSITIVE_INFINITY,
    waitingPerKey: Number.POSITIVE_INFINITY,
    maxWaitMs,
    gate: pace,
  });
  const running = new Set<AbortController>();
  let isStopped = false;
  let trouble: string | undefined;
  let failures = 0;
  let waiting = 0;

  return {
    address,
    implementation,
    trouble: () => trouble,
    sign: (items) => items.map((item) => sign(item)),
    async check() {
      // A signature over random bytes is worth nothing, and asks for no right but to sign.
      const probe = signingItem(crypto.getRandomValues(new Uint8Array(32)));
      const ended = await sign(probe);
      if (ended.outcome !== 'signed') trouble = callFailedBy(ended.error).message;
    },
    stop() {
      isStopped = true;
      for (const each of running) each.abort(tooLate);
    },
  };

  async function sign(item: SigningItem): Promise<Signing> {
    if (item.digest.length !== 32) return { outcome: 'unsigned', error: new Error('a digest has 32 bytes') };
    const endsAt = performance.now() + limits.deadlineMs;
    // Not `AbortSignal.timeout`: it cannot be stopped, and fires for each signature that was made long ago.
    const ending = new AbortController();
    const deadline = setTimeout(() => ending.abort(tooLate), limits.deadlineMs);
    running.add(ending);
    if (isStopped) ending.abort(tooLate);
    try {
      return await inTurn(slots, item, maxWaitMs, () => repeat(item, endsAt, ending.signal));
    } catch (error) {
      if (error !== tooMany) throw error;
      return { outcome: 'unsigned', error };
    } finally {
      clearTimeout(deadline);
      running.delete(ending);
    }
  }

  async function repeat(item: SigningItem, endsAt: number, signal: AbortSignal): Promise<Signing> {
    let outcome: 'unsigned' | 'unknown' = 'unsigned';
    let failed: CallFailed | undefined;
    for (let pauseMs = 20; !signal.aborted; pauseMs = Math.min(2 * pauseMs, 320)) {
      try {
        const waitMs = (endsAt - performance.now()) / 2;
        const signature = await inTurn(paced, item, waitMs, () => call(item, signal));
        trouble = undefined;
        failures = 0;
        return { outcome: 'signed', signature };
      } catch (error) {
        const latest = callFailedBy(error);
        if (latest.failure === 'unclear') outcome = 'unknown';
        // What was answered before says more than that the time is over.
        failed = latest === tooLate || latest === tooMany ? (failed ?? latest) : latest;
        if (latest === tooMany || latest.failure === 'refused') break;
        // A throttled call waits for the pace.
        if (latest.failure !== 'throttled') await pause(pauseMs * (0.5 + random()), signal);
      }
    }
    const error = failed ?? tooMany;
    note(error);
    return { outcome, error };
  }

  /** Throws {@link tooMany} when its turn does not come in time. */
  async function inTurn<T>(
    of: FairSlots,
    item: SigningItem,
    waitMs: number,
    task: () => Promise<T>,
  ): Promise<T> {
    const begin = () => {
      wait(-1);
      return task();
    };
    wait(1);
    return of.run(item.share ?? '', begin, waitMs).catch((error: unknown) => {
      if (!(error instanceof SlotsBusy)) throw error;
      wait(-1);
      meter.busy();
      throw tooMany;
    });
  }

  function wait(change: 1 | -1): void {
    waiting += change;
    meter.waiting(waiting);
  }

  async function call(item: SigningItem, signal: AbortSignal): Promise<Uint8Array> {
    // Its turn has come only because the signer is stopped.
    if (signal.aborted) throw tooMany;
    const startedAt = performance.now();
    let result: CallResult = 'signed';
    try {
      const answer = await withinDeadline(signal, deps.ask(item, signal));
      return checkedSignature(answer, { digest: item.digest, address, recover });
    } catch (error) {
      const failed = signal.aborted ? tooLate : callFailedBy(error);
      result = failed.failure;
      if (result === 'throttled') pace.throttled();
      throw failed;
    } finally {
      meter.called(result, (performance.now() - startedAt) / 1_000);
    }
  }

  function note({ failure, message }: CallFailed): void {
    // A throttled signer works.
    if (failure === 'throttled') return;
    failures += 1;
    if (failure === 'refused' || failures >= failuresUntilTrouble) trouble = message;
  }
}

const tooLate = new CallFailed('unclear', 'it did not answer in time');
const tooMany = new CallFailed('throttled', 'too many signatures wait for it');
