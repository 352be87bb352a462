import { unreachable } from '../../core/errors.js';
import {
  refuseForLoss,
  tokenLossShares,
  tokenPromiseShare,
  tokenReservationOwner,
} from '../../core/policy/token-loss.js';
import type { AccountShare, ReserveRefusal, ReserveRequest } from '../../core/policy/usage-store.js';
import { refuse, type Refusal } from '../../core/policy/verdict.js';
import type { AddressKey } from '../../core/units/address.js';
import { plusSeconds, toSeconds, type EpochMs } from '../../core/units/time.js';
import type { FinalUserOperation } from '../../core/userop/user-operation.js';
import { countable, depositMaxAgeMs, describeDeposit } from '../sponsorship/reservation.js';
import type { TokenCase } from './case.js';

/**
 * What an operation may cost the platform until its tokens arrive, if it is signed now: deposits, and nothing of a spending
 * limit, since the user pays. Its limits are the losses that former operations have caused, and what the account has under
 * way. `payer` is the balance in the contract that is charged, where there is one.
 */
export function tokenReservationOf(
  facts: TokenCase,
  op: FinalUserOperation,
  payer: AddressKey | undefined,
  now: EpochMs,
): ReserveRequest {
  const { paymaster, profile, mode } = facts;
  const need = mode.codec.need(op, mode.options);
  const { contractKey: contract, lossBudget: budget } = mode;
  const of = { chainId: paymaster.chainId, contract };
  const cost = countable(need.entryPoint);
  const accounts: AccountShare[] = [{ contract, need: cost }];
  if (need.funding !== undefined && payer !== undefined)
    accounts.push({ contract, fundingAddress: payer, need: countable(need.funding) });
  return {
    key: {
      chainId: paymaster.chainId,
      paymasterId: tokenReservationOwner(paymaster.paymasterId),
      entryPoint: profile.entryPointKey,
      sender: op.sender,
      nonce: op.nonce,
    },
    configGeneration: paymaster.configGeneration,
    contract,
    mode: 'ERC20',
    fundingAddress: payer,
    limits: [
      ...tokenLossShares(of, op.sender, { budget, now }),
      tokenPromiseShare(of, op.sender, { budget, cost }),
    ],
    accounts,
    validUntil: plusSeconds(toSeconds(now), facts.expirySeconds),
    depositMaxAgeMs,
  };
}

/** Says in words why nothing was reserved. Throws PAYMASTER_NOT_READY when token mode of the contract has stopped. */
export function describeTokenRefusal(request: ReserveRequest, refusal: ReserveRefusal): Refusal {
  switch (refusal.outcome) {
    case 'deposit': {
      const detail = describeDeposit(request, refusal);
      return refuse(refusal.balance === 0 ? 'NOT_FUNDED' : 'DEPOSIT_TOO_LOW', detail);
    }
    case 'limit': {
      const share = request.limits[refusal.index];
      if (share === undefined) throw new RangeError(`a reservation has no limit ${refusal.index}`);
      return refuseForLoss(share, request.contract, refusal.resetsAt);
    }
    case 'usage-lost':
      throw new Error('counters of losses start over when their store is lost, and never refuse for it');
    default:
      return unreachable(refusal);
  }
}
