import { given } from '../../core/units/given.js';
import type { Chain, Log } from '../../core/chain/chain.js';
import { DomainError } from '../../core/errors.js';
import { entryPointVersion } from '../../core/entry-point/address.js';
import { userOperationEventTopic } from '../../core/entry-point/user-operation-event.js';
import type { TokenCharge } from '../../core/paymaster/layout.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { recognise, recogniseAny, type ContractModes } from '../../core/paymaster/recognise.js';
import type { Reservation } from '../../core/usage/usage-store.js';
import { addressKeyAt, toAddressKey, type AddressKey } from '../../core/units/address.js';
import { findInHandleOps } from '../../core/entry-point/handle-ops.js';
import { candidatesOf, nothingAsked, type Bytes, type Candidate, type Evidence } from './attribution.js';
import { byOperation, operationId, type MinedOperation } from './mined.js';
import type { Source } from './source.js';

/** Number of operations whose transactions are read at once. */
const readsAtOnce = 16;

/**
 * What the chain says about mined operations besides their events. For most operations nothing is read: a sponsorship with a single
 * possible promise came from that promise. The bytes are read when several promises, or none, are possible. The contract's events
 * are read when a token payment is possible, or the bytes say nothing. `asProof`: the bytes of every operation are read, for cases
 * in which a single promise proves nothing. Throws UNAVAILABLE.
 */
export async function readEvidence(
  source: Source,
  mined: readonly MinedOperation[],
  reservations: readonly Reservation[],
  { ours, asProof = false }: { readonly ours: ReadonlySet<AddressKey>; readonly asProof?: boolean },
): Promise<(operation: MinedOperation) => Evidence> {
  const promised = byOperation(reservations);
  const found = new Map<MinedOperation, Evidence>();
  for (let at = 0; at < mined.length; at += readsAtOnce)
    await Promise.all(
      mined.slice(at, at + readsAtOnce).map(async (operation) => {
        if (!ours.has(operation.paymaster)) return;
        const of = promised.get(operationId(operation)) ?? [];
        const candidates = candidatesOf(operation, of);
        const needsBytes = asProof || candidates.length !== 1;
        found.set(operation, await readOne(source, operation, candidates, needsBytes));
      }),
    );
  return (operation) => found.get(operation) ?? nothingAsked;
}

async function readOne(
  source: Source,
  operation: MinedOperation,
  candidates: readonly Candidate[],
  needsBytes: boolean,
): Promise<Evidence> {
  const bytes = needsBytes ? await readBytes(source, operation) : nothingAsked.bytes;
  const isToken = candidates.some(({ mode }) => mode === 'ERC20');
  const isUnclear = candidates.length > 1 && bytes.outcome !== 'read';
  if (!isToken && !isUnclear) return { bytes };
  const logs = await readLogs(source, operation);
  const payer = payerOf(operation, logs);
  const charge = chargeOf(operation, logs);
  const isCharged = knowsTokens(source, operation.paymaster) ? charge !== undefined : undefined;
  const tokenPaid =
    isCharged === false
      ? isPaidInAdvance(operation, candidates, needsBytes ? bytes : await readBytes(source, operation))
      : isCharged;
  return { bytes, ...given({ payer, tokenPaid, charge }) };
}

/**
 * Reads the transaction on one connection or another. If no node shows it, the bytes are unreadable: the rules for that
 * err on the safe side.
 */
async function readBytes(source: Source, operation: MinedOperation): Promise<Bytes> {
  const { transactionHash, entryPoint, paymaster } = operation;
  const transaction =
    (await source.chain.transaction(transactionHash)) ??
    (await source.elsewhere(1).transaction(transactionHash));
  if (transaction?.to === undefined || toAddressKey(transaction.to) !== entryPoint)
    return { outcome: 'unreadable' };
  const op = findInHandleOps(transaction.input, operation);
  if (op === undefined || op.paymasterAndData.length < 42) return { outcome: 'unreadable' };
  if (addressKeyAt(op.paymasterAndData, 0) !== paymaster) return { outcome: 'unreadable' };
  const modes = source.contracts.get(paymaster)?.modes ?? [];
  const isKnown = modes.length > 0;
  const readings = isKnown
    ? recognise(modes, op, source.chainId)
    : recogniseAny(allModes(entryPoint), op, source.chainId);
  if (readings === 'unsigned') return { outcome: 'unsigned' };
  if (readings.length === 0) return { outcome: 'unreadable' };
  if (isKnown) return { outcome: 'read', readings };
  const remembered = recognise(source.seenContracts.get(paymaster)?.modes ?? [], op, source.chainId);
  return { outcome: 'guessed', readings, remembered: remembered === 'unsigned' ? [] : remembered };
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

/** All logs of the operation's transaction, which must be in the same block as the operation's event. */
async function readLogs(
  source: Source,
  { transactionHash, blockHash }: MinedOperation,
): Promise<readonly Log[]> {
  const ask = (chain: Chain) => chain.receipt(transactionHash);
  const receipt = (await ask(source.chain)) ?? (await ask(source.elsewhere(1)));
  if (receipt?.blockHash === blockHash) return receipt.logs;
  throw new DomainError(
    'UNAVAILABLE',
    `chain ${source.chainId} shows an operation in transaction ${transactionHash} and not its receipt`,
  );
}

const chargeEvents = Object.values(layouts).flatMap(({ chargeEvent }) => chargeEvent ?? []);
const tokenCodecs = Object.values(layouts).flatMap(({ token }) => token ?? []);

/** The payer in the contract's charge, which lies between the previous operation's event in the transaction and this operation's event. */
function payerOf(operation: MinedOperation, logs: readonly Log[]): AddressKey | undefined {
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
  if (charge === undefined) return undefined;
  return chargeEvents.find(({ topic0 }) => topic0 === charge.topics[0])?.fundingAddress(charge);
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
function isPaidInAdvance(
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
