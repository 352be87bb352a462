import { countedPolicies } from '../../core/policy/derived.js';
import type { DecidedCall, DecidedPolicy, Decision } from '../../core/ledger/record.js';
import { findContract, hasSelector, type AllowList } from '../../core/policy/rules/allow-list/compile.js';
import type { Refusal } from '../../core/refusal.js';
import type { Hex } from '../../core/units/hex.js';
import type { DecodedCalls } from '../../core/userop/call-data.js';
import type { RecordIds } from '../ledger/record-ids.js';
import type { RefusalRecords } from '../ledger/refusal-records.js';
import type { Promised } from './reservation.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import type { Case, Mode, Subject } from './step.js';

/** Makes one record of every verdict. */
export type DecisionRecords = ReturnType<typeof createDecisionRecords>;

// Callers choose the number of calls, and hosts the text of a refusal: a record stays below 8 kB.
const maxCalls = 32;
const maxCallCharacters = 4_000;
const maxDetailLength = 500;

export function createDecisionRecords(deps: { readonly ids: RecordIds; readonly refusals: RefusalRecords }) {
  const { ids, refusals } = deps;
  const counted = createCountedPolicies();

  return {
    /**
     * For the reservation, which adds it in the step that takes the amounts. `userOpHash`: where it does not depend on the
     * signature; elsewhere the settlement tells it.
     */
    promised(
      { paymaster, profile, request, shadow, usdPerNative }: Case,
      { mode, token, calls }: Subject,
      verdict: 'sponsored' | 'committed',
      { promise }: Promised,
      userOpHash?: Hex,
    ): Decision {
      const { id, at } = ids.next();
      const { op } = request;
      // Made for every signature: spreading parts into it takes ten times as long.
      return {
        kind: 'decision',
        id,
        at,
        organisation: paymaster.tenant,
        paymasterId: paymaster.paymasterId,
        chainId: paymaster.chainId,
        entryPoint: profile.entryPointKey,
        contract: promise.contract,
        fundingAddress: promise.fundingAddress,
        mode,
        method: request.method,
        requestId: request.requestId,
        callerRequestId: request.callerRequestId,
        sender: op.sender,
        nonce: op.nonce,
        userOpHash,
        digest: promise.digest,
        ...decidedCalls(calls, paymaster.allowList),
        factory: readFactory(op),
        usdPerNative,
        verdict,
        reason: undefined,
        detail: request.insteadOf,
        policies: withShadow(
          withCaller(mode === 'SPONSORED' ? counted(paymaster) : none, paymaster, request),
          shadow.judged,
        ),
        maxCostWei: promise.prefundWei,
        validUntil: promise.validUntil,
        token,
      };
    },

    /** Nothing waits for it. */
    refused<C extends Case>(
      mode: Pick<Mode<never, C>, 'subject'>,
      gathered: C,
      { reason, detail, policyId }: Refusal,
      promised?: Promised,
    ): void {
      const { tenant: organisation, paymasterId, chainId } = gathered.paymaster;
      const subject = mode.subject(gathered);
      refusals.add({ organisation, paymasterId, chainId }, reason, () => ({
        ...aboutRequest(gathered, subject),
        ...ids.next(),
        contract: subject.contract,
        fundingAddress: promised?.promise.fundingAddress,
        userOpHash: undefined,
        digest: undefined,
        verdict: 'refused',
        reason,
        detail: cleanDetail(detail),
        policies: withShadow(
          withCaller(
            policyId === undefined ? none : [{ policyId, effect: 'refused' }],
            gathered.paymaster,
            gathered.request,
          ),
          gathered.shadow.found,
        ),
        maxCostWei: promised?.promise.prefundWei,
        validUntil: undefined,
      }));
    },
  };
}

/** Policies that count an operation which is sponsored. The list is made once for each config. */
function createCountedPolicies(): (paymaster: ServedPaymaster) => readonly DecidedPolicy[] {
  const known = new WeakMap<ServedPaymaster, readonly DecidedPolicy[]>();
  return (paymaster) => {
    let counted = known.get(paymaster);
    if (counted === undefined) {
      counted = countedPolicies(paymaster, 'SPONSORED').map(({ policyId }) => ({
        policyId,
        effect: 'counted',
      }));
      known.set(paymaster, counted);
    }
    return counted;
  };
}

const none: readonly never[] = [];

/** After the policies that count, which the step that reserves names by their place. Only what the configuration knows. */
function withCaller(
  policies: readonly DecidedPolicy[],
  { campaigns, key }: ServedPaymaster,
  { campaign = '' }: Case['request'],
): readonly DecidedPolicy[] {
  const isKnown = campaigns?.active.has(campaign) === true;
  if (!isKnown && key === undefined) return policies;
  const named: readonly DecidedPolicy[] = isKnown ? [{ policyId: campaign, effect: 'campaign' }] : none;
  return key === undefined
    ? [...policies, ...named]
    : [...policies, ...named, { policyId: key.name, effect: 'key' }];
}

/** A limit that counts may be among them: by the cost of the operation alone. */
function withShadow(policies: readonly DecidedPolicy[], found: readonly Refusal[]): readonly DecidedPolicy[] {
  if (found.length === 0) return policies;
  const added = found.flatMap(({ policyId }): readonly DecidedPolicy[] =>
    policyId === undefined ? none : [{ policyId, effect: 'would_refuse' }],
  );
  return [...policies, ...added];
}

/** A contract chooses the text with which it reverts: no control characters, and no halves of characters. */
function cleanDetail(detail: string): string {
  return detail
    .slice(0, maxDetailLength)
    .toWellFormed()
    .replace(/\p{Cc}+/gu, ' ');
}

function aboutRequest({ paymaster, profile, request, usdPerNative }: Case, { mode, token, calls }: Subject) {
  const { method, requestId, callerRequestId, op } = request;
  return {
    kind: 'decision' as const,
    organisation: paymaster.tenant,
    paymasterId: paymaster.paymasterId,
    chainId: paymaster.chainId,
    entryPoint: profile.entryPointKey,
    mode,
    method,
    requestId,
    callerRequestId,
    sender: op.sender,
    nonce: op.nonce,
    ...decidedCalls(calls, paymaster.allowList),
    factory: readFactory(op),
    usdPerNative,
    token,
  };
}

/** Where it exists, what a rule about factories sees of it. */
function readFactory({ initCode }: { readonly initCode: Hex }): Hex | undefined {
  return initCode === '0x' ? undefined : `0x${initCode.slice(2, 42)}`;
}

function decidedCalls(decoded: DecodedCalls, allowList: AllowList): Pick<Decision, 'calls' | 'callsLeftOut'> {
  if (decoded.outcome === 'refused') return { calls: [], callsLeftOut: undefined };
  const decided: DecidedCall[] = [];
  let characters = 0;
  for (const { target, selector } of decoded.calls) {
    const contract = allowList.kind === 'registered' ? findContract(allowList.contracts, target) : undefined;
    characters += 100 + (contract?.name.length ?? 0);
    if (decided.length === maxCalls || characters > maxCallCharacters) break;
    // The compiled config knows methods by their selectors. One that it lists names itself; callers choose all others.
    if (contract === undefined) decided.push({ target, selector });
    else if (!hasSelector(contract, selector)) decided.push({ target, selector, contractId: contract.name });
    else decided.push({ target, selector, contractId: contract.name, name: selector });
  }
  return { calls: decided, callsLeftOut: decoded.calls.length - decided.length };
}
