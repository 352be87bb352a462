import type { AccountShare, ReserveRefusal, ReserveRequest } from '../../core/policy/usage-store.js';
import { refuse, type Refusal } from '../../core/policy/verdict.js';
import type { AddressKey } from '../../core/units/address.js';
import { plusSeconds, toSeconds, type EpochMs } from '../../core/units/time.js';
import type { FinalUserOperation } from '../../core/userop/user-operation.js';
import { countable, depositMaxAgeMs, describeDeposit } from '../sponsorship/reservation.js';
import type { TokenCase } from './case.js';

/**
 * What an operation may cost the platform until its tokens arrive, if it is signed now: deposits only, since no spending
 * limit applies to what the user pays. `payer` is the balance in the contract that is charged, where there is one.
 */
export function tokenReservationOf(
  facts: TokenCase,
  op: FinalUserOperation,
  payer: AddressKey | undefined,
  now: EpochMs,
): ReserveRequest {
  const { paymaster, profile, mode } = facts;
  const need = mode.codec.need(op, mode.options);
  const contract = mode.contractKey;
  const accounts: AccountShare[] = [{ contract, need: countable(need.entryPoint) }];
  if (need.funding !== undefined && payer !== undefined)
    accounts.push({ contract, fundingAddress: payer, need: countable(need.funding) });
  return {
    key: {
      chainId: paymaster.chainId,
      paymasterId: paymaster.paymasterId,
      entryPoint: profile.entryPointKey,
      sender: op.sender,
      nonce: op.nonce,
    },
    configGeneration: paymaster.configGeneration,
    contract,
    mode: 'ERC20',
    fundingAddress: payer,
    limits: [],
    accounts,
    validUntil: plusSeconds(toSeconds(now), facts.expirySeconds),
    depositMaxAgeMs,
  };
}

/** Says in words which deposit is short. */
export function describeShortDeposit(request: ReserveRequest, refusal: ReserveRefusal): Refusal {
  if (refusal.outcome !== 'deposit') throw new Error(`a reservation without limits met ${refusal.outcome}`);
  const detail = describeDeposit(request, refusal);
  return refuse(refusal.balance === 0 ? 'NOT_FUNDED' : 'DEPOSIT_TOO_LOW', detail);
}
