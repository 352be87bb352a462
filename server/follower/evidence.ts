import type { Log, Transaction, Chain } from '../../core/chain/chain.js';
import { entryPointVersion } from '../../core/entry-point/address.js';
import { findInHandleOps } from '../../core/entry-point/handle-ops.js';
import { userOperationEventTopic } from '../../core/entry-point/user-operation-event.js';
import { isDomainError } from '../../core/errors.js';
import type { TokenCharge } from '../../core/paymaster/layout.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { recognise, recogniseAny, type ContractModes } from '../../core/paymaster/recognise.js';
import { findTokensOwed, tokensOwedTopic } from '../../core/paymaster/token-charge.js';
import { addressKeyAt, toAddressKey, addressTopic, type AddressKey } from '../../core/units/address.js';
import { given } from '../../core/units/given.js';
import type { Hex } from '../../core/units/hex.js';
import type { Reservation } from '../../core/usage/reservation.js';
import {
  unreadable,
  listCandidates,
  nothingAsked,
  hashedAs,
  provenBy,
  type Bytes,
  type Candidate,
  type Evidence,
} from './attribution.js';
import { byOperation, operationId, type MinedOperation } from './mined.js';
import { connections, someAtOnce, type Source } from './source.js';

/** After so many failures nothing else is read at this time: each may have taken as long as a call may take. */
const maxFailures = 16;

type EvidenceRead = {
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
  const bundles = Map.groupBy(mined.filter(isOurs), ({ transactionHash }) => transactionHash);
  await someAtOnce([...bundles], async ([transactionHash, operations]) => {
    let reading: Promise<Transaction | undefined> | undefined;
    const transaction = (operation: MinedOperation) =>
      (reading ??= shown(operation, (chain) => chain.transaction(transactionHash)));
    for (const operation of operations) {
      const candidates = listCandidates(operation, promised.get(operationId(operation)) ?? []);
      const isHashed = hashedAs(operation, candidates).length > 0;
      const needsBytes = !isHashed && (asProof || candidates.length !== 1);
      const orIncomplete = <T>(read: T | undefined): T | undefined => {
        if (read === undefined && candidates.length > 0) incomplete.add(operation);
        return read;
      };
      const readBytes = async () =>
        readPromiseBytes(source, operation, orIncomplete(await transaction(operation)));
      const readLogs = async () => orIncomplete(await readReports(operation));
      const reads = { readBytes, readLogs };
      found.set(operation, await readOne(source, operation, candidates, { needsBytes, ...reads }));
    }
  });
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
    if (failures >= maxFailures) return undefined;
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

// From here on nothing is read: what the chain has shown about a mined operation becomes evidence.

/** What the operation's transaction says about the promise that it carries. Undefined transaction: no node shows it. */
function readPromiseBytes(
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
function evidenceOfLogs(
  source: Source,
  operation: MinedOperation,
  logs: readonly Log[],
): Omit<Evidence, 'bytes'> {
  const { payer, taken } = reportedBy(operation, logs);
  const charge = findCharge(operation, logs);
  const mode = tokenCodecs.map((codec) => codec.modeOf(logs, operation)).find((one) => one !== undefined);
  const tokenPaid = knowsTokens(source, operation.paymaster) ? charge !== undefined : undefined;
  const owed = findTokensOwed(logs, operation);
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
const reportTopics: readonly Hex[] = [
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
function findCharge(operation: MinedOperation, logs: readonly Log[]): TokenCharge | undefined {
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
