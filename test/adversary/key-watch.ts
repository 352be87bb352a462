import type { Chain } from '../../core/chain/chain.js';
import type { ChainConfig, ProfileConfig } from '../../core/config/chain-config.js';
import type { CompiledChain } from '../../core/config/compile-chain.js';
import { layouts } from '../../core/paymaster/layouts.js';
import type { Signers } from '../../core/paymaster/signer.js';
import { toAddressKey, type AddressKey } from '../../core/units/address.js';
import type { Clock } from '../../core/units/time.js';
import type { ChainFacts } from '../../operator/facts/chain-facts.js';
import { profileKey, unknownProfile } from '../../operator/facts/facts.js';
import { createProbe } from '../../operator/facts/probe.js';
import { nothingKnown, lookAtSigning, type FactMemory } from '../../operator/facts/round.js';
import { withSeen } from '../../operator/reconcilers/seen-on-chain.js';
import { BrokenRule } from './broken-rule.js';
import { accepts, signingKeys } from './chain/signing-keys.js';

/** The part of the operator's facts that decides which key signs. */
export type KeyFacts = Pick<ChainFacts, 'profile' | 'usability'>;

const files = ['dev', 'next'] as const;
/** Preferred first: the new key is listed in front, as docs/key-rotation.md says. */
export const listedFiles = ['next', 'dev'] as const;

export function keyOf(file: string): number {
  return files.indexOf(file as (typeof files)[number]);
}

/** Every replica has both keys. The run signs itself: on the model nobody checks a signature. */
export const bothKeys: Signers = {
  get: (file) => {
    const address = signingKeys[keyOf(file)];
    return address && { address, implementation: 'test', sign: () => [] };
  },
  recover: () => undefined,
};

/** The operator's look at the contracts' signers, by its own code. */
export class KeyWatch {
  #known: FactMemory = nothingKnown();
  readonly #clock: Clock;
  readonly #wrap: (facts: KeyFacts) => KeyFacts;
  #facts: KeyFacts;

  constructor(clock: Clock, wrap: (facts: KeyFacts) => KeyFacts = (facts) => facts) {
    this.#clock = clock;
    this.#wrap = wrap;
    this.#facts = this.#begin();
  }

  /** Another operator leads: it knows the stored config alone. */
  restart(): void {
    this.#known = nothingKnown();
    this.#facts = this.#begin();
  }

  async look(chain: Chain, { chainId, profiles }: Pick<ChainConfig, 'chainId' | 'profiles'>): Promise<void> {
    const asked = new Map(profiles.map((profile) => [profileKey(profile), profile]));
    for (const key of this.#known.profiles.keys()) if (!asked.has(key)) this.#known.profiles.delete(key);
    for (const key of this.#known.standings.keys()) if (!asked.has(key)) this.#known.standings.delete(key);
    const probe = createProbe({ chain, config: { chainId }, layouts, signers: bothKeys, clock: this.#clock });
    await lookAtSigning(this.#known, asked, probe, () => this.#clock.now());
  }

  /** The profiles of this config, with the keys that sign. `before`: the stored ones. */
  seenIn(config: ChainConfig, before: readonly ProfileConfig[]): readonly ProfileConfig[] {
    const compiled = { config } as CompiledChain;
    return withSeen(this.#facts, compiled, { ...config, profiles: before }).config.profiles;
  }

  #begin(): KeyFacts {
    const known = this.#known;
    return this.#wrap({
      profile: (_, profile) => known.profiles.get(profileKey(profile)) ?? unknownProfile,
      usability: (_, profile) => known.standings.get(profileKey(profile))?.settled,
    });
  }
}

type Sight = {
  /** Mask of the keys that the contract accepted at the last look. */
  readonly accepted: bigint;
  /** Since when every look has found no key, Unix seconds. */
  readonly noneSince: number | undefined;
};

/** With what the last look may be late: signing stops and resumes at most once a minute. */
const longestSeconds = 60;

/**
 * The rule of keys, from what was on chain when the operator looked: no key signs that the contract refuses while it accepts another
 * one, and nothing is signed for a contract that has accepted none for a minute.
 */
export class KeyRule {
  readonly #seen = new Map<AddressKey, Sight>();
  #lookedAt = 0;

  /** The operator has looked at these contracts at this time. */
  looked(contracts: readonly AddressKey[], acceptedBy: (contract: AddressKey) => bigint, at: number): void {
    this.#lookedAt = at;
    for (const contract of contracts) {
      const accepted = acceptedBy(contract);
      const since = accepted === 0n ? (this.#seen.get(contract)?.noneSince ?? at) : undefined;
      this.#seen.set(contract, { accepted, noneSince: since });
    }
  }

  /** A profile was taken away or offered again: nobody has looked at its contract since. */
  forget(contract: AddressKey): void {
    this.#seen.delete(contract);
  }

  /** An operator that has just begun confirms what it sees anew. */
  restart(): void {
    for (const [contract, sight] of this.#seen) this.#seen.set(contract, { ...sight, noneSince: undefined });
  }

  /** Throws {@link BrokenRule} for a signature that the rule forbids. */
  checkSigned(contract: AddressKey, key: number): void {
    const seen = this.#seen.get(toAddressKey(contract));
    if (seen === undefined) return;
    if (seen.accepted !== 0n && !accepts(seen.accepted, key))
      throw new BrokenRule(15, `key ${key} signed for ${contract}, which was seen to refuse it`);
    if (seen.noneSince !== undefined && this.#lookedAt - seen.noneSince > longestSeconds)
      throw new BrokenRule(15, `key ${key} signed for ${contract}, which has accepted none for a minute`);
  }
}
