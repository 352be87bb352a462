import { deriveApiKey, hashCredential } from '../../core/config/api-key.js';
import { currentKeyGeneration, knownCycles, lastingCycle, remember } from '../../core/config/memory.js';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { buryPaymaster } from '../../core/config/tombstone.js';
import type { LimitConfig } from '../../core/policy/spending-limit/schema.js';
import { noPolicies, type PolicyParts } from '../../core/policy/derived.js';
import { parseInstant, type EpochMs } from '../../core/units/time.js';

/** Derives every key of a run. */
const master = new Uint8Array(32).fill(7);

/** Derived once each: that takes longer than most steps. */
const hashes = new Map<string, string>();

export function apiKeyHash(paymasterId: string, keyGeneration: number): string {
  const name = `${paymasterId}/${keyGeneration}`;
  const hash = hashes.get(name) ?? derived(paymasterId, keyGeneration);
  hashes.set(name, hash);
  return hash;
}

function derived(paymasterId: string, keyGeneration: number): string {
  const [namespace, name] = paymasterId.split('/') as [string, string];
  return hashCredential(deriveApiKey(master, { namespace, name, keyGeneration }));
}

/**
 * The state that a paymaster's name keeps while its object is changed, deleted and recreated, by the code that compiles configs.
 * `forgets` turns that off.
 */
export class NameMemory {
  #last: (PolicyParts & Pick<PaymasterConfig, 'memory'>) | undefined;
  #keyGeneration = 1;
  readonly #forgets: boolean;

  constructor(forgets: boolean) {
    this.#forgets = forgets;
  }

  get keyGeneration(): number {
    return this.#keyGeneration;
  }

  /** The owner rotates the key. */
  rotate(): void {
    this.#keyGeneration += 1;
  }

  /** The memory of the config while these limits are served and those are paused. */
  remember(
    served: readonly LimitConfig[],
    paused: readonly LimitConfig[],
    now: EpochMs,
  ): PaymasterConfig['memory'] {
    const memory = remember({
      keyGeneration: this.#keyGeneration,
      unserved: [...knownCycles({ ...noPolicies, limits: paused }).values()],
      servedIds: new Set(served.map(({ policyId }) => policyId)),
      policyKeys: [],
      previous: this.#last,
      now,
    });
    this.#last = { ...noPolicies, limits: served, ...(memory === undefined ? {} : { memory }) };
    return memory;
  }

  /** Deletes the object, and recreates it from its first YAML. Answers when each limit's cycle begins. */
  makeAgain(config: PaymasterConfig, policyIds: readonly string[], now: EpochMs): readonly EpochMs[] {
    const tombstone = buryPaymaster(config, now);
    const { memory } = this.#forgets ? { memory: undefined } : tombstone;
    this.#keyGeneration = currentKeyGeneration({}, memory);
    const known = knownCycles(this.#forgets ? undefined : tombstone);
    this.#last = { ...noPolicies, limits: [], ...(memory === undefined ? {} : { memory }) };
    return policyIds.map((policyId) => {
      const cycle = lastingCycle(known, policyId, { now, isChanged: false });
      return (cycle === undefined ? undefined : parseInstant(cycle.startTime)) ?? now;
    });
  }
}
