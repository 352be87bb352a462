import type { AddressKey } from '../../core/units/address.js';
import { toSeconds } from '../../core/units/time.js';
import { gwei } from '../../core/units/wei.js';
import { lossCharges } from '../../core/usage/token-losses.js';
import type { ReservationKey } from '../../core/usage/reservation.js';
import { someChainId } from './configs.js';
import type { RpcHost } from './rpc.js';

/**
 * Writes the follower's step for a mined operation of a reservation: the reservation is settled, and where no token was paid
 * (`loss` gwei above 0) the loss is charged. Balances are read again.
 */
export async function settle(
  { usage, clock }: Pick<RpcHost, 'usage' | 'clock'>,
  key: ReservationKey,
  { contract, loss }: { readonly contract: AddressKey; readonly loss: number },
): Promise<void> {
  const at = clock.now();
  const expected = await usage.cursor(someChainId);
  const blockNumber = (expected?.blockNumber ?? 0) + 1;
  const blockHash = `0x${blockNumber.toString(16).padStart(64, '0')}` as const;
  const of = { chainId: someChainId, contract };
  const accounts = await usage.accounts(someChainId);
  const { isTaken } = await usage.advance({
    chainId: someChainId,
    expected,
    next: { blockNumber, blockHash, timestamp: toSeconds(at) },
    settled: [{ key, actualCost: undefined }],
    released: [],
    forfeited: [],
    charges: loss === 0 ? [] : lossCharges(of, key.sender, { loss: gwei(loss), bars: true, at }),
    restored: [],
    balances: accounts.map((account) => ({ ...account, balance: account.balance ?? gwei(0), readAt: at })),
  });
  if (!isTaken) throw new Error('another step was written meanwhile');
}
