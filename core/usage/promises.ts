import { keptPromises, type FoldedPromises, type SignedPromise } from './usage-store.js';

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
  const oldest = others.length === keptPromises ? others.pop() : undefined;
  return {
    promises: [promise, ...others],
    folded: oldest === undefined ? folded : withFolded(folded, oldest),
  };
}

/** All promises of both, for one reservation that was known in two places. */
export function joined(a: Promises, b: Promises): Promises {
  let all = a;
  // Adds the oldest first, as if the promises had been made one after the other.
  for (const promise of b.promises.toReversed())
    if (!all.promises.some(({ digest }) => digest === promise.digest)) all = withPromise(all, promise);
  return { promises: all.promises, folded: b.folded.reduce(withFolded, all.folded) };
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
