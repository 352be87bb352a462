import type { Hex } from '../units/hex.js';
import { keptPromises, type FoldedPromises, type SignedPromise } from './reservation.js';

/** What the paymaster has signed for a reservation. */
export type Promises = {
  /** The newest first, one per digest, at most {@link keptPromises}. */
  readonly promises: readonly SignedPromise[];
  /** One per mode and contract. */
  readonly folded: readonly FoldedPromises[];
};

/** Adds a promise as the newest one, and folds the oldest when there are too many. */
export function withPromise({ promises, folded }: Promises, promise: SignedPromise): Promises {
  const others = promises.filter(({ digest }) => digest !== promise.digest);
  const newest: SignedPromise =
    others.length === promises.length ? promise : { ...promise, isRepeated: true };
  const oldest = others.length === keptPromises ? others.pop() : undefined;
  return {
    promises: [newest, ...others],
    folded: oldest === undefined ? folded : withFolded(folded, oldest),
  };
}

/** All promises of both, for one reservation that was known in two places. */
export function joinPromises(a: Promises, b: Promises): Promises {
  let all = a;
  // Adds the oldest first, as if the promises had been made one after the other.
  for (const promise of b.promises.toReversed()) {
    const isRepeated = all.promises.some(({ digest }) => digest === promise.digest);
    all = isRepeated ? repeated(all, promise.digest) : withPromise(all, promise);
  }
  return { promises: all.promises, folded: b.folded.reduce(withFolded, all.folded) };
}

function repeated({ promises, folded }: Promises, digest: Hex): Promises {
  const marked = promises.map((one): SignedPromise =>
    one.digest === digest ? { ...one, isRepeated: true } : one,
  );
  return { promises: marked, folded };
}

/**
 * The promises without the one of this digest; undefined unless it was certainly made, and made once. Folded promises have no
 * digest, so it may be among those.
 */
export function withoutPromise(
  { promises, folded }: Promises,
  digest: Hex,
): Promises['promises'] | undefined {
  const others = promises.filter((one) => one.digest !== digest || one.isRepeated === true);
  return others.length < promises.length && folded.length === 0 ? others : undefined;
}

/** The entry keeps the highest prefund and the latest time of all promises folded into it. */
function withFolded(folded: readonly FoldedPromises[], one: FoldedPromises): readonly FoldedPromises[] {
  const { mode, contract, prefundWei, validUntil } = one;
  const index = folded.findIndex((other) => other.mode === mode && other.contract === contract);
  const known = folded[index];
  if (known === undefined) return [...folded, { mode, contract, prefundWei, validUntil }];
  return folded.with(index, {
    mode,
    contract,
    prefundWei: prefundWei > known.prefundWei ? prefundWei : known.prefundWei,
    validUntil: validUntil > known.validUntil ? validUntil : known.validUntil,
  });
}
