import type { DepositNeed } from '../../../core/paymaster/layout.js';
import type { AddressKey } from '../../../core/units/address.js';
import { toSeconds, type EpochMs } from '../../../core/units/time.js';
import type { SignedPromise } from '../../../core/usage/reservation.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';
import type { RequestFacts } from '../facts.js';
import { chooseValidUntil } from './validity.js';
import { nothingSigned, type Promised } from '../reservation.js';

/** What the platform puts at stake for an operation. */
export type Stake = Pick<SignedPromise, 'mode' | 'contract'> & {
  /** The wallet, or the balance inside the contract, that is charged, if there is one. */
  readonly payer: AddressKey | undefined;
  readonly token?: AddressKey;
  readonly need: DepositNeed;
  /** Mode ERC20: what the platform loses if the account pays nothing after its call, in wei; 0 when nothing can be lost. */
  readonly unsecured: bigint;
};

/** `digest` is absent for a peek before the operation is final: the promise takes the same amounts, and nothing is signed. */
export function toPromised(
  facts: RequestFacts,
  op: FinalUserOperation,
  { mode, contract, payer, token, need, unsecured }: Stake,
  now: EpochMs,
  digest: SignedPromise['digest'] = nothingSigned,
): Promised {
  const { paymaster, chain, profile, usdPerNative } = facts;
  return {
    paymaster,
    chain,
    profile,
    op,
    need,
    usdPerNative,
    unsecured,
    promise: {
      digest,
      mode,
      contract,
      ...(payer === undefined ? {} : { fundingAddress: payer }),
      ...(token === undefined ? {} : { token }),
      prefundWei: need.entryPoint,
      validUntil: chooseValidUntil(facts, toSeconds(now)),
    },
  };
}
