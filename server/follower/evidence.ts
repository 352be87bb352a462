import { entryPointVersion } from '../../core/entry-point/address.js';
import { findInHandleOps } from '../../core/entry-point/handle-ops.js';
import { userOperationEventTopic } from '../../core/entry-point/user-operation-event.js';
import type { Log, Transaction } from '../../core/chain/chain.js';
import type { TokenCharge } from '../../core/paymaster/layout.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { tokensOwedOf, tokensOwedTopic } from '../../core/paymaster/token-charge.js';
import { recognise, recogniseAny, type ContractModes } from '../../core/paymaster/recognise.js';
import { addressKeyAt, toAddressKey, type AddressKey } from '../../core/units/address.js';
import { given } from '../../core/units/given.js';
import type { Hex } from '../../core/units/hex.js';
import { unreadable, type Bytes, type Candidate, type Evidence } from './attribution.js';
import type { MinedOperation } from './mined.js';
import type { Source } from './source.js';

// What was read from the chain about a mined operation, turned into evidence. Nothing is read here.

/** What the operation's transaction says about the promise that it carries. Undefined transaction: no node shows it. */
export function bytesOf(
  source: Source,
  operation: MinedOperation,
  transaction: Transaction | undefined,
): Bytes {
  const { entryPoint, paymaster } = operation;
  if (transaction?.to === undefined || toAddressKey(transaction.to) !== entryPoint) return unreadable;
  const op = findInHandleOps(transaction.input, operation);
  if (op === undefined || op.paymasterAndData.length < 42) return unreadable;
  if (addressKeyAt(op.paymasterAndData, 0) !== paymaster) return unreadable;
  const modes = source.contracts.get(paymaster)?.modes ?? [];
  const isKnown = modes.length > 0;
  const readings = isKnown
    ? recognise(modes, op, source.chainId)
    : recogniseAny(allModes(entryPoint), op, source.chainId);
  if (readings === 'unsigned') return { outcome: 'unsigned' };
  if (readings.length === 0) return unreadable;
  if (isKnown) return { outcome: 'read', readings };
  const remembered = recognise(source.seenContracts.get(paymaster)?.modes ?? [], op, source.chainId);
  return { outcome: 'guessed', readings, remembered: remembered === 'unsigned' ? [] : remembered };
}

/** What the contract's own events among these logs say. `tokenPaid` is what they say alone: see {@link isPaidInAdvance}. */
export function evidenceOfLogs(
  source: Source,
  operation: MinedOperation,
  logs: readonly Log[],
): Omit<Evidence, 'bytes'> {
  const { payer, taken } = reportedBy(operation, logs);
  const charge = chargeOf(operation, logs);
  const mode = tokenCodecs.map((codec) => codec.modeOf(logs, operation)).find((one) => one !== undefined);
  const tokenPaid = knowsTokens(source, operation.paymaster) ? charge !== undefined : undefined;
  const owed = tokensOwedOf(logs, operation);
  return given({ payer, mode, tokenPaid, charge, owed, taken });
}

/** The modes of every layout for this EntryPoint, since no profile names the contract any longer. */
function allModes(entryPoint: AddressKey): readonly ContractModes[] {
  const version = entryPointVersion(entryPoint);
  return Object.values(layouts).filter(
    (layout) => version === undefined || layout.entryPointVersion === version,
  );
}

/** Whether we can see the contract's charges: not if a newer build has added its layout. */
function knowsTokens({ contracts }: Source, contract: AddressKey): boolean {
  const known = contracts.get(contract);
  return known === undefined || known.modes.length > 0;
}

const chargeEvents = Object.values(layouts).flatMap(({ chargeEvent }) => chargeEvent ?? []);
const tokenCodecs = Object.values(layouts).flatMap(({ token }) => token ?? []);

/** First topics of the events in which contracts report what an operation was charged. Such events have a fixed size. */
export const reportTopics: readonly Hex[] = [
  ...new Set([
    tokensOwedTopic,
    ...chargeEvents.map(({ topic0 }) => topic0),
    ...tokenCodecs.flatMap(({ chargeTopics }) => chargeTopics),
  ]),
];

/** The contract's charge, which lies between the previous operation's event in the transaction and this operation's event. */
function reportedBy(
  operation: MinedOperation,
  logs: readonly Log[],
): { readonly payer?: AddressKey; readonly taken?: bigint } {
  const { paymaster, entryPoint, logIndex } = operation;
  const before = logs.filter((log) => log.logIndex < logIndex);
  const previous = before.findLast(
    (log) => log.topics[0] === userOperationEventTopic && toAddressKey(log.address) === entryPoint,
  );
  const charge = before.findLast(
    (log) =>
      toAddressKey(log.address) === paymaster &&
      log.logIndex > (previous?.logIndex ?? -1) &&
      chargeEvents.some(({ topic0 }) => topic0 === log.topics[0]),
  );
  const event = chargeEvents.find(({ topic0 }) => topic0 === charge?.topics[0]);
  if (charge === undefined || event === undefined) return {};
  return { payer: event.fundingAddress(charge), taken: event.charge(charge) };
}

/** The tokens that were paid, by the events of any layout, so that it also works for a contract that no profile names any longer. */
function chargeOf(operation: MinedOperation, logs: readonly Log[]): TokenCharge | undefined {
  for (const codec of tokenCodecs) {
    const charge = codec.chargeOf(logs, operation);
    if (charge !== undefined) return charge;
  }
  return undefined;
}

/**
 * When its postOp fails a contract emits no charge, but keeps the tokens that it took in validation: a mined operation has paid those.
 * If the layout is only guessed, the digest has to prove that this is what we signed.
 */
export function isPaidInAdvance(
  { actualGasCost }: MinedOperation,
  candidates: readonly Candidate[],
  bytes: Bytes,
): boolean {
  if (bytes.outcome !== 'read' && bytes.outcome !== 'guessed') return false;
  return bytes.readings.some(
    ({ mode, digest, paidInAdvance = 0n }) =>
      mode === 'ERC20' &&
      paidInAdvance >= actualGasCost &&
      (bytes.outcome === 'read' || candidates.some((candidate) => candidate.digest === digest)),
  );
}
