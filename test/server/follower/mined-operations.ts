import type { FoldedPromises, Reservation, SignedPromise } from '../../../core/usage/reservation.js';
import type { MinedOperation } from '../../../server/follower/mined.js';
import {
  aHash,
  aKey,
  anAddress,
  aNeed,
  aSignedPromise,
  contract,
  entryPoint,
  funding,
  seconds,
  sender,
} from '../../conformance/usage-requests.js';

export const otherFunding = anAddress(0xf1);

/** A mined operation of nonce 0 that cost 3 wei. */
export function aMined(change: Partial<MinedOperation> = {}): MinedOperation {
  return {
    entryPoint,
    sender,
    nonce: 0n,
    paymaster: contract,
    userOpHash: aHash(1),
    success: true,
    actualGasCost: 3n,
    actualGasUsed: 1n,
    blockNumber: 1,
    blockHash: aHash(1),
    transactionHash: aHash(9),
    logIndex: 1,
    ...change,
  };
}

/** A reservation of one promise, or of these, of at most 10 gwei each. */
export function aReservation(
  paymasterId: string,
  change: Partial<Omit<Reservation, 'promises' | 'folded'>> & {
    readonly nonce?: bigint;
    readonly promises?: readonly Partial<SignedPromise>[];
    readonly folded?: readonly Partial<FoldedPromises>[];
  } = {},
): Reservation {
  const { nonce = 0n, promises = [{}], folded = [], ...rest } = change;
  const promised = { prefundWei: 10_000_000_000n, validUntil: seconds(300) };
  return {
    key: aKey({ paymasterId, nonce }),
    promises: promises.map((one) => aSignedPromise({ ...promised, ...one })),
    folded: folded.map((one) => ({ mode: 'SPONSORED', contract, ...promised, ...one })),
    validUntil: seconds(300),
    limits: [],
    holds: [],
    accounts: [aNeed(5), aNeed(5, { fundingAddress: funding })],
    ...rest,
  };
}
