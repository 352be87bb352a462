import { unreachable } from '../../../errors.js';
import type { AddressKey } from '../../../units/address.js';
import type { Hex } from '../../../units/hex.js';
import type { Call } from '../../../userop/call.js';
import type { DecodedCalls } from '../../../userop/call-data.js';
import { pass, refuse, type Verdict } from '../../../refusal.js';
import { findContract, hasSelector, type AllowList } from './compile.js';

/** The part of an operation that this policy reads. */
export type AllowListOperation = { readonly initCode: Hex };

/**
 * Whether every call matches a registered contract and a whitelisted method. The refusal names the first call that
 * does not. An operation that only deploys its account calls nothing and passes here: the wallet deployment rule
 * decides it.
 */
export function decideCalls(allowList: AllowList, decoded: DecodedCalls, op: AllowListOperation): Verdict {
  if (allowList.kind === 'open') return pass;
  if (isDeployOnly(decoded, op)) return pass;
  if (allowList.kind === 'closed')
    return refuse('OPEN_SPONSORSHIP_DENIED', 'no contract is registered for this paymaster');
  if (decoded.outcome === 'refused') return refuseDecoded(decoded);
  if (decoded.calls.length === 0)
    return refuse('CONTRACT_NOT_REGISTERED', 'the operation makes no call and deploys no account', 'NO_CALL');
  let passed: Call | undefined;
  for (const [index, call] of decoded.calls.entries()) {
    // Most batches repeat one method; comparing is cheaper than another look-up.
    if (call.target === passed?.target && call.selector === passed.selector) continue;
    const verdict = decideCall(allowList, call, index);
    if (!verdict.pass) return verdict;
    passed = call;
  }
  return pass;
}

function refuseDecoded({ reason, detail, call }: Extract<DecodedCalls, { outcome: 'refused' }>): Verdict {
  return call === undefined ? refuse(reason, detail) : { ...refuse(reason, detail), call };
}

/** An operation that deploys its account and calls nothing. */
export function isDeployOnly(decoded: DecodedCalls, op: AllowListOperation): boolean {
  return op.initCode !== '0x' && decoded.outcome === 'calls' && decoded.calls.length === 0;
}

/** One line of the trace that `pm_explainSponsorship` shows. */
type CallTrace = {
  readonly target: AddressKey;
  /** Wei, decimal text. */
  readonly value: string;
  readonly selector: Hex;
  /** Name of the registered contract, if the target is one. */
  readonly contract?: string;
  readonly verdict: Verdict;
};

/** The verdict on each call separately; empty when callData does not decode. */
export function traceCalls(allowList: AllowList, decoded: DecodedCalls): readonly CallTrace[] {
  if (decoded.outcome === 'refused') return [];
  return decoded.calls.map((call, index) => {
    const contract =
      allowList.kind === 'registered' ? findContract(allowList.contracts, call.target)?.name : undefined;
    return {
      target: call.target,
      value: call.value.toString(),
      selector: call.selector,
      ...(contract === undefined ? {} : { contract }),
      verdict: decideAlone(allowList, call, index),
    };
  });
}

function decideAlone(allowList: AllowList, call: Call, index: number): Verdict {
  switch (allowList.kind) {
    case 'open':
      return pass;
    case 'closed':
      return refuse('OPEN_SPONSORSHIP_DENIED', 'no contract is registered for this paymaster');
    case 'registered':
      return decideCall(allowList, call, index);
    default:
      return unreachable(allowList);
  }
}

type Registered = Extract<AllowList, { kind: 'registered' }>;

function decideCall({ contracts, paused }: Registered, call: Call, index: number): Verdict {
  const contract = findContract(contracts, call.target);
  if (contract !== undefined && hasSelector(contract, call.selector)) return pass;
  const { target, selector } = call;
  const named = { index, target, selector };
  const what = `call ${index} to ${target}`;
  if (selector === '0x') return { ...refuse('VALUE_TRANSFER', `${what} carries no data`), call: named };
  const reason =
    contract !== undefined
      ? 'METHOD_NOT_WHITELISTED'
      : paused?.has(target) === true
        ? 'CONTRACT_PAUSED'
        : 'CONTRACT_NOT_REGISTERED';
  return { ...refuse(reason, `${what} with selector ${selector}`), call: named };
}
