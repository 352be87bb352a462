import type { Decision } from '../../../core/ledger/record.js';
import { toAddressKey } from '../../../core/units/address.js';
import type { EpochMs } from '../../../core/units/time.js';
import { addressOf } from '../../build/configs.js';

/** A decision that shows only what matters to a test of how records travel. */
export function aDecision(change: Partial<Decision> = {}): Decision {
  return {
    kind: 'decision',
    id: '01a3f4c0-0000-7000-8000-000000000000',
    at: 1_800_000_000_000 as EpochMs,
    organisation: 'acme',
    paymasterId: 'shop',
    chainId: 1,
    entryPoint: toAddressKey(addressOf(1)),
    contract: toAddressKey(addressOf(2)),
    fundingAddress: undefined,
    mode: 'SPONSORED',
    method: 'pm_sponsorUserOperation',
    requestId: 'request-1',
    callerRequestId: undefined,
    sender: toAddressKey(addressOf(3)),
    nonce: 0n,
    userOpHash: undefined,
    digest: undefined,
    calls: [],
    verdict: 'sponsored',
    reason: undefined,
    detail: undefined,
    policies: [],
    maxCostWei: undefined,
    validUntil: undefined,
    token: undefined,
    factory: undefined,
    callsLeftOut: 0,
    usdPerNative: undefined,
    ...change,
  };
}
