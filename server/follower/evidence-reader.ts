import type { Chain, Log, Transaction } from '../../core/chain/chain.js';
import { userOperationEventTopic } from '../../core/entry-point/user-operation-event.js';
import { isDomainError } from '../../core/errors.js';
import type { Reservation } from '../../core/usage/reservation.js';
import { addressTopic, type AddressKey } from '../../core/units/address.js';
import {
  candidatesOf,
  nothingAsked,
  hashedAs,
  provenBy,
  unreadable,
  type Bytes,
  type Candidate,
  type Evidence,
} from './attribution.js';
import { bytesOf, evidenceOfLogs, isPaidInAdvance, reportTopics } from './evidence.js';
import { byOperation, operationId, type MinedOperation } from './mined.js';
import { connections, type Source } from './source.js';

/** Number of transactions that are read at once. */
const readsAtOnce = 16;
/** After so many failures nothing else is read at this time: each may have taken as long as a call may take. */
const mostFailures = 16;

export type EvidenceRead = {
  readonly evidenceOf: (operation: MinedOperation) => Evidence;
  /** Promised operations whose evidence lacks what no connection has shown. */
  readonly incomplete: ReadonlySet<MinedOperation>;
};

/**
 * What the chain says about mined operations besides their events. For most operations nothing is read: a sponsorship with a single
 * possible promise came from that promise. The bytes are read when several promises, or none, are possible. The contract's events
 * are read when a token payment is possible, or the bytes say nothing. `asProof`: the bytes of every operation are read, for cases
 * in which a single promise proves nothing. A transaction, and what a contract reported in a block, are read once. Where nothing shows
 * whether tokens were paid, the evidence says that none were. `attempt` selects the connections that are asked besides the usual one.
 */
export async function readEvidence(
  source: Source,
  mined: readonly MinedOperation[],
  reservations: readonly Reservation[],
  {
    ours,
    asProof = false,
    attempt,
  }: {
    readonly ours: ReadonlySet<AddressKey>;
    readonly asProof?: boolean;
    readonly attempt: (operation: MinedOperation) => number;
  },
): Promise<EvidenceRead> {
  const promised = byOperation(reservations);
  const found = new Map<MinedOperation, Evidence>();
  const incomplete = new Set<MinedOperation>();
  const shown = connectionReader(source, attempt);
  const readReports = reportReader(shown);
  const isOurs = ({ paymaster }: MinedOperation): boolean => ours.has(paymaster);
  const bundles = [...Map.groupBy(mined.filter(isOurs), ({ transactionHash }) => transactionHash)];
  for (let at = 0; at < bundles.length; at += readsAtOnce)
    await Promise.all(
      bundles.slice(at, at + readsAtOnce).map(async ([transactionHash, operations]) => {
        let reading: Promise<Transaction | undefined> | undefined;
        const transaction = (operation: MinedOperation) =>
          (reading ??= shown(operation, (chain) => chain.transaction(transactionHash)));
        for (const operation of operations) {
          const candidates = candidatesOf(operation, promised.get(operationId(operation)) ?? []);
          const isHashed = hashedAs(operation, candidates).length > 0;
          const needsBytes = !isHashed && (asProof || candidates.length !== 1);
          const orIncomplete = <T>(read: T | undefined): T | undefined => {
            if (read === undefined && candidates.length > 0) incomplete.add(operation);
            return read;
          };
          const readBytes = async () =>
            bytesOf(source, operation, orIncomplete(await transaction(operation)));
          const readLogs = async () => orIncomplete(await readReports(operation));
          const reads = { readBytes, readLogs };
          found.set(operation, await readOne(source, operation, candidates, { needsBytes, ...reads }));
        }
      }),
    );
  return { evidenceOf: (operation) => found.get(operation) ?? nothingAsked, incomplete };
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
    readonly readLogs: () => Promise<readonly Log[] | undefined>;
  },
): Promise<Evidence> {
  const bytes = needsBytes ? await readBytes() : unreadable;
  const isToken = candidates.some(({ mode }) => mode === 'ERC20');
  const isProven = [...hashedAs(operation, candidates), ...provenBy(candidates, bytes)].length > 0;
  const isUnclear = candidates.length > 1 && bytes.outcome !== 'read' && !isProven;
  if (!isToken && !isUnclear) return { bytes };
  const logs = await readLogs();
  const events = logs === undefined ? { tokenPaid: false } : evidenceOfLogs(source, operation, logs);
  if (events.tokenPaid !== false) return { bytes, ...events };
  const tokenPaid = isPaidInAdvance(operation, candidates, needsBytes ? bytes : await readBytes());
  return { bytes, ...events, tokenPaid };
}

type Shown = <T>(
  operation: MinedOperation,
  ask: (chain: Chain) => Promise<T | undefined>,
) => Promise<T | undefined>;

/** Asks one connection after the other, until one answers. Undefined if none does, or if too much has failed before. */
function connectionReader(source: Source, attempt: (operation: MinedOperation) => number): Shown {
  let failures = 0;
  return async (operation, ask) => {
    if (failures >= mostFailures) return undefined;
    for (const chain of connections(source, attempt(operation)))
      try {
        const answer = await ask(chain);
        if (answer !== undefined) return answer;
      } catch (error) {
        if (!isDomainError(error, 'UNAVAILABLE')) throw error;
      }
    failures += 1;
    return undefined;
  };
}

/**
 * Reads what contracts reported about operations, and the EntryPoint's events of operations that they paid for: by contract and block,
 * each once. Never a receipt: anyone may mine an operation, and decides how large the receipt is, while these logs have a fixed
 * size, and there is one more of them only for another operation that we signed. Undefined if no connection shows the block's logs.
 */
function reportReader(shown: Shown): (operation: MinedOperation) => Promise<readonly Log[] | undefined> {
  const known = new Map<string, Promise<ReadonlyMap<string, readonly Log[]> | undefined>>();
  return async (operation) => {
    const { blockHash, entryPoint, paymaster, transactionHash } = operation;
    const name = `${blockHash}/${entryPoint}/${paymaster}`;
    const reading = known.get(name) ?? shown(operation, (chain) => readReports(chain, operation));
    known.set(name, reading);
    const reports = await reading;
    return reports && (reports.get(transactionHash) ?? []);
  };
}

/** By transaction, in the order of the chain. Some nodes answer no logs for a block that they do not have: undefined. */
async function readReports(
  chain: Chain,
  { blockHash, entryPoint, paymaster, logIndex }: MinedOperation,
): Promise<ReadonlyMap<string, readonly Log[]> | undefined> {
  const topics = [userOperationEventTopic, null, null, addressTopic(paymaster)];
  const [ends, reports] = await Promise.all([
    chain.logs({ blockHash, address: entryPoint, topics }),
    chain.logs({ blockHash, address: paymaster, topics: [reportTopics] }),
  ]);
  if (!ends.some((log) => log.logIndex === logIndex)) return undefined;
  return Map.groupBy(
    [...ends, ...reports].toSorted((a, b) => a.logIndex - b.logIndex),
    ({ transactionHash }) => transactionHash,
  );
}
