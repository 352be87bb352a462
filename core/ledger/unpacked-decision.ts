import type { AddressKey } from '../units/address.js';
import type { Hex } from '../units/hex.js';
import type { EpochSeconds } from '../units/time.js';
import type { packedForm } from './packed-decision.js';
import { isRecordId, recordTime } from './record-id.js';
import type { DecidedCall, DecidedPolicy, Decision } from './record.js';

/** Reads a text of `packDecision`. Throws SyntaxError or TypeError for any other text. */
export function unpackDecision(packed: readonly unknown[]): Decision {
  // By place: a list's iterator takes several times as long.
  const {
    1: id,
    2: organisation,
    3: paymasterId,
    4: chainId,
    5: entryPoint,
    6: contract,
    7: fundingAddress,
    8: mode,
    9: method,
    10: verdict,
    11: policies,
    12: requestId,
    13: callerRequestId,
    14: sender,
    15: nonce,
    16: userOpHash,
    17: digest,
    18: calls,
    19: reason,
    20: detail,
    21: maxCostWei,
    22: validUntil,
    23: token,
  } = packed as PackedDecision;
  if (!isRecordId(id)) throw new TypeError('a packed decision has no id');
  return {
    kind: 'decision',
    id,
    at: recordTime(id),
    organisation,
    paymasterId,
    chainId,
    entryPoint,
    contract: contract ?? undefined,
    fundingAddress: fundingAddress ?? undefined,
    mode: mode ?? undefined,
    method,
    requestId,
    callerRequestId: callerRequestId ?? undefined,
    sender,
    nonce: BigInt(nonce),
    userOpHash: userOpHash ?? undefined,
    digest: digest ?? undefined,
    calls: unpackCalls(calls),
    verdict,
    reason: reason ?? undefined,
    detail: detail ?? undefined,
    policies: unpackPolicies(policies),
    maxCostWei: maxCostWei === null ? undefined : BigInt(maxCostWei),
    validUntil: validUntil ?? undefined,
    token: token ?? undefined,
  };
}

type PackedCall = string | null;
type PackedDecision = readonly [
  form: typeof packedForm,
  id: string,
  organisation: string,
  paymasterId: string,
  chainId: number,
  entryPoint: AddressKey,
  contract: AddressKey | null,
  fundingAddress: AddressKey | null,
  mode: NonNullable<Decision['mode']> | null,
  method: string,
  verdict: Decision['verdict'],
  policies: readonly string[],
  requestId: string,
  callerRequestId: string | null,
  sender: AddressKey,
  nonce: string,
  userOpHash: Hex | null,
  digest: Hex | null,
  calls: readonly PackedCall[],
  reason: string | null,
  detail: string | null,
  maxCostWei: string | null,
  validUntil: EpochSeconds | null,
  token: AddressKey | null,
];

/** Target, selector, contract and name of each call in turn. */
function unpackCalls(packed: readonly PackedCall[]): readonly DecidedCall[] {
  const calls: DecidedCall[] = [];
  for (let i = 0; i < packed.length; i += 4) {
    const { [i]: target, [i + 1]: selector, [i + 2]: contractId, [i + 3]: name } = packed;
    calls.push({
      target: target as AddressKey,
      selector: selector as Hex,
      ...(typeof contractId === 'string' && { contractId }),
      ...(typeof name === 'string' && { name }),
    });
  }
  return calls;
}

/** Id and effect of each policy in turn. */
function unpackPolicies(packed: readonly string[]): readonly DecidedPolicy[] {
  const policies: DecidedPolicy[] = [];
  for (let i = 0; i + 1 < packed.length; i += 2)
    policies.push({ policyId: packed[i] ?? '', effect: packed[i + 1] as DecidedPolicy['effect'] });
  return policies;
}
