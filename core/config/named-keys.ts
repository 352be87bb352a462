import { given } from '../units/given.js';
import { parseInstant, type EpochMs } from '../units/time.js';
import type { NamedKeySpec } from '../resources/named-key.js';

/** What a key with a name may ask, beside what its paymaster allows. */
export type NamedKey = Pick<NamedKeySpec, 'name' | 'campaign' | 'cidrs' | 'rateLimit'>;

/**
 * Generations of the keys with names. One number for all names that are gone, and not one for each: so nobody can push a name out by
 * adding and removing others.
 */
export type NamedKeyMemory = {
  /** The highest generation of any name that was removed; absent: none was. */
  readonly retired?: number;
  /** Those of the names in the spec. */
  readonly present: readonly NamedKeyGeneration[];
};

export type NamedKeyGeneration = { readonly name: string; readonly generation: number };

/** The generations in force. A name that was removed and is added again has one that none of its keys had. */
export function generationsInForce(
  keys: readonly NamedKeySpec[],
  memory: NamedKeyMemory | undefined,
): readonly NamedKeyGeneration[] {
  const known = new Map(memory?.present.map(({ name, generation }) => [name, generation]));
  return keys.map(({ name, generation = 1 }) => ({
    name,
    generation: Math.max(generation, known.get(name) ?? (memory?.retired ?? 0) + 1),
  }));
}

/** The generation of a key that is added now, also where nobody has noticed yet that its name was removed. */
export function nextGeneration(name: string, memory: NamedKeyMemory | undefined): number {
  const known = memory?.present.find((each) => each.name === name)?.generation ?? 0;
  return Math.max(known, memory?.retired ?? 0) + 1;
}

/** The memory to store. */
export function rememberKeys(
  present: readonly NamedKeyGeneration[],
  memory: NamedKeyMemory | undefined,
): NamedKeyMemory | undefined {
  const names = new Set(present.map(({ name }) => name));
  const gone = (memory?.present ?? []).filter(({ name }) => !names.has(name));
  const retired = Math.max(memory?.retired ?? 0, ...gone.map(({ generation }) => generation));
  if (retired === 0 && present.length === 0) return undefined;
  return { ...(retired === 0 ? {} : { retired }), present };
}

/** The keys as they are served. `hashesOf`: of a key under each master key. */
export function compileNamedKeys(
  keys: readonly NamedKeySpec[],
  generations: readonly NamedKeyGeneration[],
  hashesOf: (key: NamedKeyGeneration) => readonly string[],
): readonly (NamedKey & { readonly sha256: string; readonly validUntil?: EpochMs })[] {
  return keys.flatMap(({ name, expiresAt, campaign, cidrs, rateLimit }, at) => {
    const key = generations[at];
    const validUntil = parseInstant(expiresAt ?? '');
    // A time that cannot be parsed counts as passed.
    if (key === undefined || (expiresAt !== undefined && validUntil === undefined)) return [];
    return hashesOf(key).map((sha256) => ({
      sha256,
      name,
      ...given({ validUntil, campaign, cidrs, rateLimit }),
    }));
  });
}
