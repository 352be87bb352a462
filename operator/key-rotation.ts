import { isDeepStrictEqual } from 'node:util';
import type { Timers } from '../adapters/timers.js';
import type { Ambient } from '../core/ambient.js';
import { DomainError, isDomainError } from '../core/errors.js';
import {
  decideKeys,
  isSameAnnouncement,
  leaderKeys,
  type KeyAnnouncement,
  type KeyAnnouncements,
  type MountedKeys,
} from '../core/master-keys.js';
import { finding, type Finding } from '../core/meta/conditions.js';
import type { MasterKeys } from '../core/secrets.js';
import type { EpochMs } from '../core/units/time.js';
import { createRepetition } from './runtime/repeat.js';

/** Master keys that may change while the operator runs. */
export type KeySource = {
  /** The keys that are mounted now. Throws INVALID_INPUT naming a file that holds no key. */
  readonly read: () => Promise<MountedKeys>;
  readonly announcements: KeyAnnouncements;
  /** Where the files come from, e.g. `Secret paymaster-system/paymaster-master-keys`. */
  readonly place: string;
  /** How long every pod gets to load a Secret that has changed. Default two minutes: kubelets take up to one and a half. */
  readonly settleMs?: number;
};

const maxPauseMs = 10_000;
const defaultSettleMs = 120_000;

/**
 * Puts a changed Secret into force, all of it or nothing. The leader compiles every paymaster with both keys, waits
 * until each pod has had time to load the Secret, and then announces the new key. See docs/key-rotation.md.
 *
 * Reasons of the condition `MasterKeys`, and what `decideKeys` says about the keys that are mounted. An outage changes nothing.
 *
 *     Unknown, Refused, Switching ── in-force ────────────────────────────► InForce
 *     Unknown, Refused, InForce   ── prepare ─────────────────────────────► Switching
 *     Switching                   ── prepare once compiled and settled ──► InForce
 *     Unknown, Switching, InForce ── refuse, a file without a key ────────► Refused
 *
 * `announce` is written, and decided again. `Switching` begins anew with each other key that is mounted.
 */
export function createKeyRotation(
  deps: Ambient & {
    readonly source: KeySource;
    readonly timers: Timers;
    /** Compiles every paymaster with the present keys; resolves when each has been stored. */
    readonly compileAll: () => Promise<void>;
    /** Called when the condition has changed. */
    readonly onChange: () => void;
  },
) {
  const { source, clock, timers, log } = deps;
  const settleMs = source.settleMs ?? defaultSettleMs;
  // Where pods load a Secret within seconds, waiting longer than that for the next look would be most of the rotation.
  const everyMs = Math.min(maxPauseMs, Math.max(1_000, settleMs));
  const waitingSeconds = deps.metrics
    .gauge({
      name: 'paymaster_operator_master_keys_waiting_seconds',
      help: 'How long the mounted master keys have not been those in force; 0 while they are',
      labels: [],
    })
    .with({});
  let keys: MasterKeys | undefined;
  let state: Finding = finding('MasterKeys', 'Unknown');
  let candidate: { readonly next: KeyAnnouncement; readonly since: EpochMs; isCompiled: boolean } | undefined;
  let waitingSince: EpochMs | undefined;
  let failure: string | undefined;
  let hasStarted = false;
  let first: Promise<void> | undefined;
  const repetition = createRepetition(timers, async () => {
    await checkRotation();
    return everyMs;
  });

  function show(next: Finding): void {
    if (next.reason === state.reason && next.message === state.message) return;
    if (next.reason === 'Refused') log.error('changed master keys are refused', { why: next.message });
    state = next;
    deps.onChange();
  }

  async function checkRotation(): Promise<void> {
    try {
      await decide();
      failure = undefined;
    } catch (error) {
      const text = String(error);
      if (text !== failure) log.warn('checking the master keys failed', { error });
      failure = text;
      // Files or an announcement with a wrong content. An outage says nothing about them.
      if (isDomainError(error, 'INVALID_INPUT')) refuse(`${source.place}: ${error.message}.`);
    }
    const now = clock.now();
    waitingSince = state.reason === 'InForce' ? undefined : (waitingSince ?? now);
    waitingSeconds.set(waitingSince === undefined ? 0 : (now - waitingSince) / 1000);
  }

  async function decide(): Promise<void> {
    const mounted = await source.read();
    const announced = await source.announcements.read();
    const decision = decideKeys(announced, mounted);
    switch (decision.kind) {
      case 'refuse':
        candidate = undefined;
        return refuse(
          `${source.place} no longer has a key that is in force: add it as ${decision.lacking.join(' and ')}, or undo the change.`,
        );
      case 'announce':
        candidate = undefined;
        return (await announce(decision.next)) ? decide() : undefined;
      case 'in-force':
        candidate = undefined;
        if (announced !== undefined) use(announced, mounted);
        show(finding('MasterKeys', 'InForce'));
        return;
      case 'prepare':
        if (announced !== undefined) await prepare(announced, decision.next, mounted);
    }
  }

  function refuse(why: string): void {
    const meanwhile =
      keys === undefined
        ? 'Nothing is compiled until then; what was compiled before is served.'
        : 'The keys of before stay in force.';
    show(finding('MasterKeys', 'Refused', `${why} ${meanwhile}`));
  }

  async function prepare(
    announced: KeyAnnouncement,
    next: KeyAnnouncement,
    mounted: MountedKeys,
  ): Promise<void> {
    const now = clock.now();
    if (candidate === undefined || !isSameAnnouncement(candidate.next, next)) {
      const fresh = { next, since: now, isCompiled: false };
      candidate = fresh;
      log.info('master keys have changed: paymasters are compiled with both', next);
      keys = leaderKeys(announced, mounted);
      show(finding('MasterKeys', 'Switching'));
      void deps.compileAll().then(() => {
        fresh.isCompiled = true;
      });
      return;
    }
    if (!candidate.isCompiled || now - candidate.since < settleMs) return;
    if (!(await announce(next))) return;
    candidate = undefined;
    use(next, mounted);
    show(finding('MasterKeys', 'InForce'));
  }

  /** False when another operator has written meanwhile; the next read sees it. */
  async function announce(next: KeyAnnouncement): Promise<boolean> {
    const isWritten = await source.announcements.write(next);
    if (isWritten) log.info('master keys announced', next);
    return isWritten;
  }

  function use(announced: KeyAnnouncement, mounted: MountedKeys): void {
    const before = keys;
    keys = leaderKeys(announced, mounted);
    // At the start everything is compiled anyway.
    if (hasStarted && !isDeepStrictEqual(before, keys)) void deps.compileAll();
  }

  function inForce(): MasterKeys {
    if (keys !== undefined) return keys;
    throw new DomainError('UNAVAILABLE', `the master keys in force are not known: ${state.message}`, {
      reason: 'MASTER_KEYS_MISSING',
    });
  }

  return {
    /** Each read throws UNAVAILABLE while the keys in force are not mounted here and never were. */
    keys: {
      get current() {
        return inForce().current;
      },
      get previous() {
        return inForce().previous;
      },
      get webhook() {
        return inForce().webhook;
      },
    },
    /** While false, nothing can be compiled. */
    isUsable: (): boolean => keys !== undefined,
    /** The condition MasterKeys of every Chain. */
    finding: (): Finding => state,
    /** Begins to read; resolves after the first read, whatever its result. */
    async start(): Promise<void> {
      first = checkRotation();
      await first;
      hasStarted = true;
      repetition.start(everyMs);
    },
    async stop(): Promise<void> {
      await repetition.stop();
      await first;
    },
  };
}
