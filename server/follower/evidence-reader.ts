import type { Chain, Log, Transaction } from '../../core/chain/chain.js';
import { DomainError } from '../../core/errors.js';
import type { Reservation } from '../../core/usage/usage-store.js';
import type { AddressKey } from '../../core/units/address.js';
import { candidatesOf, nothingAsked, unreadable, type Candidate, type Evidence } from './attribution.js';
import { bytesOf, evidenceOfLogs, isPaidInAdvance } from './evidence.js';
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
  const readBytes = async () => bytesOf(source, operation, await readTransaction(source, operation));
  const bytes = needsBytes ? await readBytes() : unreadable;
  const isToken = candidates.some(({ mode }) => mode === 'ERC20');
  const isUnclear = candidates.length > 1 && bytes.outcome !== 'read';
  if (!isToken && !isUnclear) return { bytes };
  const events = evidenceOfLogs(source, operation, await readLogs(source, operation));
  if (events.tokenPaid !== false) return { bytes, ...events };
  const tokenPaid = isPaidInAdvance(operation, candidates, needsBytes ? bytes : await readBytes());
  return { bytes, ...events, tokenPaid };
}

/** Reads the transaction on one connection or another. Undefined if no node shows it. */
async function readTransaction(
  source: Source,
  { transactionHash }: MinedOperation,
): Promise<Transaction | undefined> {
  return (
    (await source.chain.transaction(transactionHash)) ??
    (await source.elsewhere(1).transaction(transactionHash))
  );
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
