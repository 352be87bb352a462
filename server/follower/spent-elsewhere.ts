import type { Block } from '../../core/chain/chain.js';
import type { Reservation } from '../../core/usage/reservation.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { EpochSeconds } from '../../core/units/time.js';
import { operationId, type MinedOperation } from './mined.js';
import { sendersAtOnce, type Scanner } from './scan.js';
import { readNonces, type Source } from './source.js';

/** Most live reservations whose senders a step looks for: those that expire first. The others wait for their last moment. */
export const mostLookedFor = 2 * sendersAtOnce;
const anyTime = Number.MAX_SAFE_INTEGER as EpochSeconds;

/**
 * Operations of live reservations in `from`…`to`, regardless of who paid for them. When another paymaster or nobody paid for one, it
 * has used up the nonce, so its reservations can end at once. They are found by their senders, with at most two queries per step and
 * none while nothing is live. The EntryPoint must also confirm that the nonce is used. Throws UNAVAILABLE.
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
