import { quoted } from './quoted.js';
import type { DecidedCall, Decision } from './record.js';

/** First element of a packed decision. A reader leaves those with a higher number in the feed. */
export const packedForm = 3;

/** What is the same in very many decisions. */
export type DecisionContext = Pick<
  Decision,
  | 'organisation'
  | 'paymasterId'
  | 'chainId'
  | 'entryPoint'
  | 'contract'
  | 'fundingAddress'
  | 'mode'
  | 'method'
  | 'verdict'
  | 'policies'
  | 'calls'
>;

/**
 * A decision as JSON lists without the names of its members, two thirds as long as `formatRecord` makes it: one is
 * written with every signature, and what that costs depends on its length and on the number of its parts. Half of it is
 * its context, which stores keep once for many decisions.
 */
export function packDecision(decision: Decision): string {
  return wholeText({ context: packContext(decision), text: packOwn(decision) });
}

/** A record's text: whole, or without the context that `context` has. */
export function wholeText({ context, text }: { readonly context?: string; readonly text: string }): string {
  return context === undefined ? text : `[${packedForm},${context},${text}]`;
}

export function packContext(context: DecisionContext): string {
  const { organisation, paymasterId, chainId, entryPoint, contract, fundingAddress } = context;
  const { mode, method, verdict, policies, calls } = context;
  const effects = policies.flatMap(({ policyId, effect }) => [policyId, effect]);
  // JSON answers a text in one piece. Parts that were joined are joined again with every text that they are in.
  return JSON.stringify([
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
    isListed(calls)
      ? calls.flatMap(({ target, selector, contractId, name }) => [target, selector, contractId, name])
      : null,
  ]);
}

/**
 * A single call of a method that the config lists is part of the context: there are few of them. Callers choose all
 * other calls.
 */
export function isListed(calls: readonly DecidedCall[]): boolean {
  return calls.length === 1 && calls[0]?.name !== undefined;
}

/** What is not in the context. Addresses, hex, and ids of ours need no escape. */
export function packOwn(decision: Decision): string {
  const { id, requestId, callerRequestId, sender, nonce, calls, maxCostWei, validUntil } = decision;
  return (
    `["${id}",${quoted(requestId)},${text(callerRequestId)},"${sender}","${nonce}"` +
    `,${plain(decision.userOpHash)},${plain(decision.digest)},${isListed(calls) ? 'null' : `[${packCalls(calls)}]`}` +
    `,${text(decision.reason)},${text(decision.detail)},${plain(maxCostWei)},${validUntil ?? 'null'},${plain(decision.token)}]`
  );
}

/** Target, selector, contract and name of each call in turn. */
function packCalls(calls: readonly DecidedCall[]): string {
  let packed = '';
  for (const { target, selector, contractId, name } of calls) {
    if (packed !== '') packed += ',';
    packed += `"${target}","${selector}",${text(contractId)},${text(name)}`;
  }
  return packed;
}

function plain(value: string | bigint | undefined): string {
  return value === undefined ? 'null' : `"${value}"`;
}

function text(value: string | undefined): string {
  return value === undefined ? 'null' : quoted(value);
}
