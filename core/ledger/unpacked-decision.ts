import type { AddressKey } from '../units/address.js';
import type { Hex } from '../units/hex.js';
import type { EpochSeconds } from '../units/time.js';
import { packedForm, type DecisionContext } from './packed-decision.js';
import { isRecordId, recordTime } from './record-id.js';
import type { DecidedCall, DecidedPolicy, Decision } from './record.js';

/**
 * Reads a list of `packDecision`. Undefined for a form that is newer than this release. Throws SyntaxError or TypeError
 * for any other list.
 */
export function unpackDecision(packed: readonly unknown[]): Decision | undefined {
  const [form, context, own] = packed;
  if (form === packedForm) return unpackOwn(unpackContext(listOf(context)), listOf(own));
  // The former form: the id, then context and the rest in one list.
  if (form === 2) return unpackOwn(unpackContext(packed.slice(2, 12)), [packed[1], ...packed.slice(12)]);
  return undefined;
}

/** Reads a list of `packContext`. */
export function unpackContext(packed: readonly unknown[]): DecisionContext {
  const [
    organisation,
    paymasterId,
    chainId,
    entryPoint,
    contract,
    fundingAddress,
    mode,
    method,
    verdict,
    effects,
    calls,
  ] = packed as PackedContext;
  return {
    organisation,
    paymasterId,
    chainId,
    entryPoint,
    contract: contract ?? undefined,
    fundingAddress: fundingAddress ?? undefined,
    mode: mode ?? undefined,
    method,
    verdict,
    policies: unpackPolicies(effects),
    calls: unpackCalls(calls ?? []),
  };
}

/** Reads a list of `packOwn`. */
export function unpackOwn(context: DecisionContext, packed: readonly unknown[]): Decision {
  // By place: a list's iterator takes several times as long.
  const {
    0: id,
    1: requestId,
    2: callerRequestId,
    3: sender,
    4: nonce,
    5: userOpHash,
    6: digest,
    7: calls,
    8: reason,
    9: detail,
    10: maxCostWei,
    11: validUntil,
    12: token,
  } = packed as PackedOwn;
  if (!isRecordId(id)) throw new TypeError('a packed decision has no id');
  return {
    kind: 'decision',
    id,
    at: recordTime(id),
    organisation: context.organisation,
    paymasterId: context.paymasterId,
    chainId: context.chainId,
    entryPoint: context.entryPoint,
    contract: context.contract,
    fundingAddress: context.fundingAddress,
    mode: context.mode,
    method: context.method,
    requestId,
    callerRequestId: callerRequestId ?? undefined,
    sender,
    nonce: BigInt(nonce),
    userOpHash: userOpHash ?? undefined,
    digest: digest ?? undefined,
    calls: calls === null ? context.calls : unpackCalls(calls),
    verdict: context.verdict,
    reason: reason ?? undefined,
    detail: detail ?? undefined,
    policies: context.policies,
    maxCostWei: maxCostWei === null ? undefined : BigInt(maxCostWei),
    validUntil: validUntil ?? undefined,
    token: token ?? undefined,
  };
}

type PackedCall = string | null;
type PackedContext = readonly [
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
  calls?: readonly PackedCall[] | null,
];

type PackedOwn = readonly [
  id: string,
  requestId: string,
  callerRequestId: string | null,
  sender: AddressKey,
  nonce: string,
  userOpHash: Hex | null,
  digest: Hex | null,
  calls: readonly PackedCall[] | null,
  reason: string | null,
  detail: string | null,
  maxCostWei: string | null,
  validUntil: EpochSeconds | null,
  token: AddressKey | null,
];

function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new TypeError('a part of a packed decision must be a list');
  return value;
}

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
