import { isDeepStrictEqual } from 'node:util';
import type { ProfileConfig } from '../../core/config/chain-config.js';
import type { EpochMs } from '../../core/units/time.js';
import { mergeProfile, unknownProfile } from './facts.js';
import type { Probe } from './probe.js';
import { noteWrongChain, type FactMemory, type Look } from './round.js';
import { note, soonestRecheckMs, usabilityOf } from './usability.js';

/**
 * Between two rounds: asks only what stops or resumes signing, or changes the key. Three requests of a node, however many
 * profiles the chain has, as long as all is well: chain id, newest block, and one call at that block. Without an answer
 * nothing changes; a round reports that the chain cannot be reached.
 */
export async function lookAtSigning(
  known: FactMemory,
  profiles: ReadonlyMap<string, ProfileConfig>,
  probe: Pick<Probe, 'reachability' | 'head' | 'acceptances'>,
  now: () => EpochMs,
): Promise<Look> {
  const changed = new Set<string>();
  let isChainChanged = false;
  const reachability = await probe.reachability();
  if (reachability === 'WrongChain') {
    isChainChanged = known.reachability !== reachability;
    known.reachability = reachability;
    if (noteWrongChain(known, profiles, now())) isChainChanged = true;
  }
  const head = reachability === 'Reachable' ? await probe.head() : undefined;
  if (head !== undefined) {
    const acceptances = await probe.acceptances([...profiles.values()], { hash: head.hash });
    for (const [index, key] of [...profiles.keys()].entries()) {
      const facts = { ...unknownProfile, ...acceptances[index] };
      const before = known.profiles.get(key);
      const after = mergeProfile(before, facts);
      // Only a round compares hashes.
      const usability = usabilityOf({ ...facts, hash: after.hash });
      if (note(known.standings, key, usability, now())) isChainChanged = true;
      if (!isDeepStrictEqual(before, after)) changed.add(key);
      known.profiles.set(key, after);
    }
  }
  isChainChanged ||= changed.size > 0;
  return { changed, isChainChanged, recheckMs: soonestRecheckMs(known.standings, now()) };
}
