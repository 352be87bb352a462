import type { Block } from '../../core/chain/chain.js';
import { isDomainError } from '../../core/errors.js';
import type { CoveredBlocks, Movement } from '../../core/ledger/movement.js';
import type { Movements } from '../../core/ledger/record.js';
import { startOf } from '../../core/ledger/steps.js';
import type { Hex } from '../../core/units/hex.js';
import { toMs, type EpochMs } from '../../core/units/time.js';
import { accountName } from '../../core/usage/accounts.js';
import type { AddedRecord, Cursor } from '../../core/usage/follower-step.js';
import type { AccountId } from '../../core/usage/reservation.js';
import { noEvents, type BalanceEvent, type Blocks } from './balance-events.js';
import type { MinedOperation } from './mined.js';
import { operationId } from './mined.js';
import {
  mapKeepers,
  toMovement,
  negatedParts,
  operationParts,
  partOfEvent,
  solved,
  sumParts,
  unpromisedParts,
  unreportedCharges,
  type Part,
  type Sum,
} from './movements.js';
import type { ChainFollowerDeps, FollowerLedger } from './round.js';
import type { Watched } from './scan.js';
import type { Settled, Loss } from './settlement.js';
import { someAtOnce, blockTime, balanceCall, blockAt, connections, type Source } from './source.js';
import { listHoles, Uncovered, type StepEvents } from './uncovered.js';

/** What a step knows when its movements are recorded. */
export type MovementStep = {
  readonly source: Source;
  readonly wanted: Watched;
  readonly ledger: FollowerLedger;
  /** The blocks that the step settles; `refused`: those of them whose operations no node shows. */
  readonly from: number;
  readonly target: Block;
  readonly refused: readonly number[];
  /** The block before, where a step ended; undefined: some of the blocks were settled before, by steps that nobody remembers. */
  readonly previous: Cursor | undefined;
  readonly isCaughtUp: boolean;
  readonly platformAccounts: readonly AccountId[];
  readonly mined: readonly MinedOperation[];
  readonly settled: readonly Settled[];
  readonly losses: readonly Loss[];
  readonly paid: StepEvents;
  /** Operations of blocks that were settled before, which the step decides, or sees for the first time. */
  readonly late: ReadonlySet<MinedOperation>;
  /** What was recorded of such an operation before; undefined: that nobody promised it. */
  readonly before: (operation: MinedOperation) => readonly Part[] | undefined;
  readonly blockOf: (blockNumber: number) => Block;
};

/** Balances that one step works out from the state of its blocks. */
const maxSolved = 100;

/** Records what changed the balances of the watched accounts, and the balances themselves. */
export class MovementRecorder {
  readonly #uncovered: Uncovered;
  readonly #isRecording: boolean;
  #seen = new Set<string>();
  /** What becomes of the holes when the step is taken that was recorded last. */
  #afterwards: (now: EpochMs) => void = () => {};

  constructor({ log, ledger, patienceMs }: Pick<ChainFollowerDeps, 'log' | 'ledger' | 'patienceMs'>) {
    this.#uncovered = new Uncovered(log, patienceMs);
    this.#isRecording = ledger !== undefined;
  }

  /** Events of a step's blocks. A node that refuses them stops no step. */
  async read(source: Source, wanted: Watched, blocks: Blocks, now: EpochMs): Promise<StepEvents> {
    return this.#isRecording ? this.#uncovered.read(source, wanted, blocks, now) : noEvents;
  }

  /** Reads what the events do not say. No record where there is nothing to say. Throws UNAVAILABLE. */
  async record(step: MovementStep): Promise<readonly AddedRecord[]> {
    const { source, wanted, ledger, from, target, previous, paid } = step;
    const accounts = listAccounts(step);
    const names = new Set(accounts.map(accountName));
    const isOurs = ({ account }: BalanceEvent): boolean => names.has(accountName(account));
    const keepers = mapKeepers(step.settled, ledger.organisationOf);
    const listParts = operationParts(step.settled, step.losses, ledger.organisationOf);
    const operations = ofWatched(step);
    const within = operations.filter(({ blockNumber }) => blockNumber >= from);
    const events = paid.events.filter((event) => isOurs(event) && event.blockNumber <= target.number);
    const unread = new Set(paid.refused.filter((block) => block <= target.number));
    const kept = within.flatMap((operation) => {
      const keeper = keepers.get(operationId(operation));
      return keeper === undefined ? [] : [{ operation, keeper }];
    });
    const shown = kept.filter(({ operation }) => !unread.has(operation.blockNumber));
    const sums = sumParts(
      [...within.flatMap(listParts), ...events.map(partOfEvent), ...unreportedCharges(shown, events)],
      -1,
    );
    // Events of blocks that earlier steps have settled without them.
    const late = paid.late?.events.filter(isOurs) ?? [];
    const lateSums = sumParts(
      [...late.map(partOfEvent), ...unreportedCharges(paid.late?.kept ?? [], late)],
      -2,
    );
    // Recorded otherwise before, in blocks that were settled then.
    const corrections = operations
      .filter((operation) => operation.blockNumber < from && step.late.has(operation))
      .flatMap((operation) => {
        const before = step.before(operation) ?? unpromisedParts(operation);
        return sumParts([...negatedParts(before), ...listParts(operation)], operation.logIndex);
      })
      .filter(({ amountWei }) => amountWei !== 0n);
    const all = [
      ...(await solveAll(step, sums)),
      ...(await solveAll(step, lateSums, [...(paid.late?.hole.sums ?? []), ...corrections])),
      ...corrections,
    ];
    const record: Movements = {
      kind: 'movements',
      ...ledger.ids.next(),
      chainId: source.chainId,
      ...(previous === undefined ? { after: from - 1 } : {}),
      movements: [
        ...all.map((sum) => toMovement(sum, blockTime(step.blockOf(sum.blockNumber)))),
        ...(await edges(step, accounts)),
        ...(await this.#firstSeen(step, accounts)),
      ],
      covered: wanted.contracts.flatMap((contract) =>
        [
          ...(paid.late === undefined
            ? []
            : splitRanges(paid.late.hole.from, paid.late.to, paid.late.refused)),
          ...splitRanges(from, target.number, [...step.refused, ...unread]),
        ].map((range) => ({ contract, ...range })),
      ),
    };
    const hidden = new Set(step.refused);
    const refused = [...unread].filter((block) => !hidden.has(block));
    this.#afterwards = (now) => {
      if (previous === undefined) this.#uncovered.rollBack(from - 1);
      this.#uncovered.taken(paid, listHoles(refused, sums, kept, now), corrections, now);
    };
    const isEmpty = record.after === undefined && record.movements.length + record.covered.length === 0;
    return isEmpty ? [] : [{ reservation: undefined, record }];
  }

  /** The step was taken. */
  taken(now: EpochMs): void {
    this.#afterwards(now);
    this.#afterwards = () => {};
  }

  /** Balances are recorded again; the blocks above this one were removed. */
  rollBack(block: number): void {
    this.#seen.clear();
    this.#uncovered.rollBack(block);
  }

  /** Balances of accounts that this process has not recorded yet. */
  async #firstSeen({ source, target, isCaughtUp }: MovementStep, accounts: readonly AccountId[]) {
    const unseen = isCaughtUp ? accounts.filter((account) => !this.#seen.has(accountName(account))) : [];
    const balances = await readBalances(source, unseen, target);
    if (balances === undefined) return [];
    for (const account of unseen) this.#seen.add(accountName(account));
    return balanceMovements(unseen, balances, 'seen', target.number, blockTime(target));
  }
}

/** Removes what was recorded of blocks that have left the chain. */
export function movementsTakenBack({ ids }: FollowerLedger, chainId: number, after: number): AddedRecord {
  const record: Movements = { kind: 'movements', ...ids.next(), chainId, after, movements: [], covered: [] };
  return { reservation: undefined, record };
}

/** Deposits of the watched contracts, and the balances inside them that may pay. */
function listAccounts({ source, ledger, platformAccounts }: MovementStep): readonly AccountId[] {
  const accounts = new Map<string, AccountId>();
  for (const contract of source.contracts.keys()) accounts.set(accountName({ contract }), { contract });
  for (const account of [...platformAccounts, ...(ledger.wallets?.(source.chainId) ?? [])])
    if (source.contracts.get(account.contract)?.fundingBalanceCall !== undefined)
      accounts.set(accountName(account), account);
  return [...accounts.values()];
}

/** Each once: those of the step's blocks, and those of earlier blocks that it settles. */
function ofWatched({ source, wanted, mined, settled }: MovementStep): readonly MinedOperation[] {
  const ours = new Set(wanted.contracts);
  const found = new Map<string, MinedOperation>();
  for (const operation of [...mined, ...settled.map((one) => one.operation)]) {
    const { paymaster, entryPoint } = operation;
    const own = source.seenContracts.get(paymaster)?.entryPoint ?? entryPoint;
    if (ours.has(paymaster) && own === entryPoint) found.set(operationId(operation), operation);
  }
  return [...found.values()];
}

/** The blocks from `from` to `to` without the refused ones. */
function splitRanges(from: number, to: number, refused: readonly number[]) {
  const ranges: Pick<CoveredBlocks, 'fromBlock' | 'toBlock'>[] = [];
  let next = from;
  for (const hole of [...new Set(refused), to + 1].toSorted((a, b) => a - b)) {
    if (hole > to + 1 || hole < next) continue;
    if (hole > next) ranges.push({ fromBlock: next, toBlock: hole - 1 });
    next = hole + 1;
  }
  return ranges;
}

/** The sums of which an event does not say the amount, from the balances before and after their blocks. */
async function solveAll(
  { source, blockOf }: Pick<MovementStep, 'source' | 'blockOf'>,
  sums: readonly Sum[],
  known: readonly Sum[] = [],
): Promise<readonly Sum[]> {
  const open = sums.filter(({ isWhole }) => !isWhole).slice(0, maxSolved);
  const asked = new Map<Hex, AccountId[]>();
  for (const { account, blockNumber, blockHash } of open)
    for (const hash of [blockOf(blockNumber).parentHash, blockHash])
      asked.set(hash, [...(asked.get(hash) ?? []), account]);
  const balances = new Map<string, bigint | undefined>();
  await someAtOnce([...asked], async ([hash, accounts]) => {
    const words = await readBalances(source, accounts, { hash });
    accounts.forEach((account, index) => balances.set(`${hash} ${accountName(account)}`, words?.[index]));
  });
  const findChange = ({ account, blockNumber, blockHash }: Sum): bigint | undefined => {
    const [was, is] = [blockOf(blockNumber).parentHash, blockHash].map((hash) =>
      balances.get(`${hash} ${accountName(account)}`),
    );
    return was === undefined || is === undefined ? undefined : is - was;
  };
  return sums.map((sum) => {
    const change = sum.isWhole ? undefined : findChange(sum);
    return change === undefined ? sum : solved(sum, [...known, ...sums], change);
  });
}

/** Balances after the last block before each month (UTC) that begins in the step's blocks. */
async function edges(
  { source, from, target, previous }: MovementStep,
  accounts: readonly AccountId[],
): Promise<readonly Movement[]> {
  const month = startOf(blockTime(target), 'month');
  if (from > target.number || from === 0) return [];
  if (previous !== undefined && toMs(previous.timestamp) >= month) return [];
  let before = await blockAt(source, from - 1);
  if (blockTime(before) >= month) return [];
  // The last block before the month, between one that is and one that is not.
  let after = target;
  while (after.number - before.number > 1) {
    const middle = await blockAt(source, Math.floor((before.number + after.number) / 2));
    if (blockTime(middle) < month) before = middle;
    else after = middle;
  }
  const balances = await readBalances(source, accounts, before);
  return balances === undefined ? [] : balanceMovements(accounts, balances, 'edge', before.number, month);
}

function balanceMovements(
  accounts: readonly AccountId[],
  balances: readonly (bigint | undefined)[],
  kind: 'edge' | 'seen',
  blockNumber: number,
  at: EpochMs,
): readonly Movement[] {
  return accounts.flatMap(({ contract, fundingAddress }, i): Movement[] => {
    const amountWei = balances[i];
    if (amountWei === undefined) return [];
    const nobody = { organisation: '', paymasterId: '', count: 0, logIndex: -1, transactionHash: undefined };
    return [{ contract, fundingAddress, kind, blockNumber, at, amountWei, ...nobody }];
  });
}

/** In the order of the accounts; undefined: no connection has the state of the block, which nothing waits for. */
async function readBalances(
  source: Source,
  accounts: readonly AccountId[],
  { hash }: Pick<Block, 'hash'>,
): Promise<readonly (bigint | undefined)[] | undefined> {
  if (accounts.length === 0) return [];
  const calls = accounts.map((account) => balanceCall(source, account));
  const asked = calls.filter((call) => call !== undefined);
  for (const chain of connections(source, 0))
    try {
      const words = [...(await chain.words(asked, { hash }))];
      return calls.map((call) => (call === undefined ? undefined : words.shift()));
    } catch (error) {
      if (!isDomainError(error, 'UNAVAILABLE')) throw error;
    }
  return undefined;
}
