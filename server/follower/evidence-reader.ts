import type { Chain, Log, Transaction } from '../../core/chain/chain.js';
import { userOperationEventTopic } from '../../core/entry-point/user-operation-event.js';
import { DomainError } from '../../core/errors.js';
import type { Reservation } from '../../core/usage/usage-store.js';
import { addressTopic, type AddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import {
  candidatesOf,
  nothingAsked,
  unreadable,
  type Bytes,
  type Candidate,
  type Evidence,
} from './attribution.js';
import { bytesOf, evidenceOfLogs, isPaidInAdvance, reportTopics } from './evidence.js';
import { byOperation, operationId, type MinedOperation } from './mined.js';
import type { Source } from './source.js';

/** Number of transactions that are read at once. */
const readsAtOnce = 16;

/**
 * What the chain says about mined operations besides their events. For most operations nothing is read: a sponsorship with a single
 * possible promise came from that promise. The bytes are read when several promises, or none, are possible. The contract's events
 * are read when a token payment is possible, or the bytes say nothing. `asProof`: the bytes of every operation are read, for cases
 * in which a single promise proves nothing. A transaction, and what a contract reported in a block, are read once. Throws UNAVAILABLE.
 */
export async function readEvidence(
  source: Source,
  mined: readonly MinedOperation[],
  reservations: readonly Reservation[],
  { ours, asProof = false }: { readonly ours: ReadonlySet<AddressKey>; readonly asProof?: boolean },
): Promise<(operation: MinedOperation) => Evidence> {
  const promised = byOperation(reservations);
  const found = new Map<MinedOperation, Evidence>();
  const readReports = reportReader(source);
  const isOurs = ({ paymaster }: MinedOperation): boolean => ours.has(paymaster);
  const bundles = [...Map.groupBy(mined.filter(isOurs), ({ transactionHash }) => transactionHash)];
  for (let at = 0; at < bundles.length; at += readsAtOnce)
    await Promise.all(
      bundles.slice(at, at + readsAtOnce).map(async ([transactionHash, operations]) => {
        let reading: Promise<Transaction | undefined> | undefined;
        const transaction = () => (reading ??= readTransaction(source, transactionHash));
        for (const operation of operations) {
          const candidates = candidatesOf(operation, promised.get(operationId(operation)) ?? []);
          const needsBytes = asProof || candidates.length !== 1;
          const readBytes = async () => bytesOf(source, operation, await transaction());
          const readLogs = () => readReports(operation);
          const reads = { readBytes, readLogs };
          found.set(operation, await readOne(source, operation, candidates, { needsBytes, ...reads }));
        }
      }),
    );
  return (operation) => found.get(operation) ?? nothingAsked;
}

async function readOne(
  source: Source,
  operation: MinedOperation,
  candidates: readonly Candidate[],
  {
    needsBytes,
    readBytes,
    readLogs,
  }: {
    readonly needsBytes: boolean;
    readonly readBytes: () => Promise<Bytes>;
    readonly readLogs: () => Promise<readonly Log[]>;
  },
): Promise<Evidence> {
  const bytes = needsBytes ? await readBytes() : unreadable;
  const isToken = candidates.some(({ mode }) => mode === 'ERC20');
  const isUnclear = candidates.length > 1 && bytes.outcome !== 'read';
  if (!isToken && !isUnclear) return { bytes };
  const events = evidenceOfLogs(source, operation, await readLogs());
  if (events.tokenPaid !== false) return { bytes, ...events };
  const tokenPaid = isPaidInAdvance(operation, candidates, needsBytes ? bytes : await readBytes());
  return { bytes, ...events, tokenPaid };
}

/** Reads the transaction on one connection or another. Undefined if no node shows it. */
async function readTransaction(source: Source, hash: Hex): Promise<Transaction | undefined> {
  return (await source.chain.transaction(hash)) ?? (await source.elsewhere(1).transaction(hash));
}

/**
 * Reads what contracts reported about operations, and the EntryPoint's events of operations that they paid for: by contract and block,
 * each once. Never a receipt: whoever mines an operation decides how large its transaction's receipt is, while these logs have a fixed
 * size, and there is one more of them only for another operation that we signed.
 */
function reportReader(source: Source): (operation: MinedOperation) => Promise<readonly Log[]> {
  const known = new Map<string, Promise<ReadonlyMap<string, readonly Log[]>>>();
  return async (operation) => {
    const { blockHash, entryPoint, paymaster, transactionHash } = operation;
    const name = `${blockHash}/${entryPoint}/${paymaster}`;
    const reading = known.get(name) ?? readReports(source, operation);
    known.set(name, reading);
    return (await reading).get(transactionHash) ?? [];
  };
}

/** By transaction, in the order of the chain. */
async function readReports(
  source: Source,
  operation: MinedOperation,
): Promise<ReadonlyMap<string, readonly Log[]>> {
  const { blockHash, entryPoint, paymaster, logIndex } = operation;
  const ask = async (chain: Chain) => {
    const [ends, reports] = await Promise.all([
      chain.logs({
        blockHash,
        address: entryPoint,
        topics: [userOperationEventTopic, null, null, addressTopic(paymaster)],
      }),
      chain.logs({ blockHash, address: paymaster, topics: [reportTopics] }),
    ]);
    // Some nodes answer no logs for a block that they do not have.
    return ends.some((log) => log.logIndex === logIndex) ? [...ends, ...reports] : undefined;
  };
  const logs = (await ask(source.chain)) ?? (await ask(source.elsewhere(1)));
  if (logs === undefined)
    throw new DomainError(
      'UNAVAILABLE',
      `chain ${source.chainId} shows an operation in block ${blockHash} and not the logs of this block`,
    );
  return Map.groupBy(
    logs.toSorted((a, b) => a.logIndex - b.logIndex),
    ({ transactionHash }) => transactionHash,
  );
}
