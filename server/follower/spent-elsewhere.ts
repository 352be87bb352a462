import type { Block } from '../../core/chain/chain.js';
import type { Reservation, UsageStore } from '../../core/usage/usage-store.js';
import type { EpochSeconds } from '../../core/units/time.js';
import { operationId, type MinedOperation } from './mined.js';
import { sendersAtOnce, type Scanner } from './scan.js';
import { readNonces, type Source } from './source.js';

/** Live reservations whose senders a step looks for: those that expire first. Further ones wait for their last moment. */
export const mostLookedFor = 2 * sendersAtOnce;
const anyTime = Number.MAX_SAFE_INTEGER as EpochSeconds;

/**
 * Operations of live reservations in `from`…`to`, whoever paid for them: one that another paymaster or nobody paid for has used up the
 * nonce, so its reservations can end at once. Found by their senders, by at most two queries of a step, and none while nothing is
 * live; the EntryPoint must say as well that the nonce is used. Throws UNAVAILABLE.
 */
export async function minedForSenders(
  source: Source,
  scanner: Scanner,
  usage: Pick<UsageStore, 'reservations'>,
  { from, to }: { readonly from: number; readonly to: Block },
): Promise<readonly MinedOperation[]> {
  if (from > to.number) return [];
  const query = { operations: [], expiredBefore: anyTime, limit: mostLookedFor };
  const live = await usage.reservations(source.chainId, query);
  const found = await scanner.ofSenders(source.chain, live.map(keyOf), from, to.number);
  if (found.length === 0) return [];
  const nonces = await readNonces(source, found, to);
  return found.filter((operation) => (nonces.get(operationId(operation)) ?? 0n) > operation.nonce);
}

function keyOf({ key }: Reservation): Reservation['key'] {
  return key;
}
