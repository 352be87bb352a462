import { inTime } from '../../adapters/within-deadline.js';
import type { Log } from '../../core/chain/chain.js';
import { decodeDepositEvent, depositedTopic, withdrawnTopic } from '../../core/entry-point/deposit-event.js';
import { decodeSponsorEvent, sponsorTopics } from '../../core/paymaster/sponsor-event.js';
import { DomainError } from '../../core/errors.js';
import { addressTopic, toAddressKey, type AddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import type { AccountId } from '../../core/usage/reservation.js';
import { Scanner, type Shows, type Watched } from './scan.js';
import type { Source, WatchedContract } from './source.js';

/** What changed the balance of an account besides operations, or what an operation took from a balance inside a contract. */
export type BalanceEvent = {
  readonly account: AccountId;
  readonly kind: 'deposit' | 'withdrawal' | 'charge';
  /** Undefined: the event does not say it. */
  readonly amount: bigint | undefined;
  readonly blockNumber: number;
  readonly blockHash: Hex;
  readonly transactionHash: Hex;
};

export type Blocks = readonly [from: number, to: number];

/** `refused`: blocks that no node shows. */
export type EventsRead = { readonly events: readonly BalanceEvent[]; readonly refused: readonly number[] };
export const noEvents: EventsRead = { events: [], refused: [] };

/** After so long without any answer about these events a step goes on without them. */
const patienceMs = 15_000;

/**
 * The deposits and withdrawals of the watched contracts in some blocks, and of balances inside them. Only the EntryPoint of a contract
 * and the contract itself are asked: anybody may emit such events elsewhere. A node may refuse these questions alone, so they have their
 * own page and patience, apart from those for operations.
 */
export class BalanceEvents {
  readonly #scanner = new Scanner();
  readonly #patienceMs: number;

  constructor(patience = patienceMs) {
    this.#patienceMs = patience;
  }

  /** Throws the node's last refusal. */
  async read(
    { chain, seenContracts }: Pick<Source, 'chain' | 'seenContracts'>,
    { entryPoints, contracts }: Watched,
    [from, to]: Blocks,
  ): Promise<EventsRead> {
    if (from > to || contracts.length === 0) return noEvents;
    const refused: number[] = [];
    const keepers = contracts.filter(
      (contract) => seenContracts.get(contract)?.fundingBalanceCall !== undefined,
    );
    const shown = impatient(chain, this.#patienceMs);
    const read = (filter: Parameters<Scanner['logs']>[1]) =>
      this.#scanner.logs(shown, filter, [from, to], (block) => refused.push(block));
    const deposits = await read({
      address: entryPoints,
      topics: [[depositedTopic, withdrawnTopic], contracts.map(addressTopic)],
    });
    const balances = keepers.length === 0 ? [] : await read({ address: keepers, topics: [sponsorTopics] });
    const events = [
      ...deposits.flatMap((log) => ofDeposit(log, seenContracts)),
      ...balances.flatMap((log) => ofBalance(log)),
    ].toSorted((a, b) => a.blockNumber - b.blockNumber);
    return { events, refused };
  }
}

/** Gives up for good once nothing was answered for so long. */
function impatient(chain: Shows, ms: number): Shows {
  let answeredAt = performance.now();
  const late = () => new DomainError('UNAVAILABLE', `events of balances were not shown for ${ms} ms`);
  return {
    async logs(filter) {
      const left = answeredAt + ms - performance.now();
      if (left <= 0) throw late();
      const logs = await inTime(left, chain.logs(filter), late);
      answeredAt = performance.now();
      return logs;
    },
  };
}

/** A contract can have a deposit in another EntryPoint, too: that one pays for nothing. */
function ofDeposit(log: Log, contracts: ReadonlyMap<AddressKey, WatchedContract>): readonly BalanceEvent[] {
  const event = decodeDepositEvent(log);
  if (event === undefined) return [];
  const { account: contract, withdrawn } = event;
  if (toAddressKey(log.address) !== (contracts.get(contract)?.entryPoint ?? toAddressKey(log.address)))
    return [];
  const kind = withdrawn === undefined ? 'deposit' : 'withdrawal';
  return [{ account: { contract }, kind, amount: withdrawn, ...logPlace(log) }];
}

function ofBalance(log: Log): readonly BalanceEvent[] {
  const event = decodeSponsorEvent(log);
  if (event === undefined) return [];
  const { kind, wallet, amount } = event;
  const account = { contract: toAddressKey(log.address), fundingAddress: wallet };
  return [{ account, kind, amount, ...logPlace(log) }];
}

function logPlace({ blockNumber, blockHash, transactionHash }: Log) {
  return { blockNumber, blockHash, transactionHash };
}

/** Blocks of a step in which deposits are read from the balances before and after. */
const depositBlocksPerStep = 50;

/** The block that a step ends at, at most `last`: anybody can pay in something in every block. */
export function endOfDeposits(events: readonly BalanceEvent[], last: number): number {
  const blocks = [
    ...new Set(events.filter(({ amount }) => amount === undefined).map(({ blockNumber }) => blockNumber)),
  ];
  const over = blocks[depositBlocksPerStep];
  return over === undefined ? last : Math.min(last, over - 1);
}
