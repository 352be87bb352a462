import type { Block, Chain, Confirmations, WordCall } from '../../core/chain/chain.js';
import type { ChainConfig } from '../../core/config/chain-config.js';
import { entryPoints } from '../../core/entry-point/address.js';
import { DomainError } from '../../core/errors.js';
import { layouts } from '../../core/paymaster/layouts.js';
import type { ContractModes } from '../../core/paymaster/recognise.js';
import { addressWord, toAddressKey, type AddressKey } from '../../core/units/address.js';
import { hexWord, type Hex } from '../../core/units/hex.js';
import { toMs, type EpochSeconds, type EpochMs } from '../../core/units/time.js';
import type { Gwei } from '../../core/units/wei.js';
import { accountName } from '../../core/usage/accounts.js';
import type { Cursor } from '../../core/usage/follower-step.js';
import type { AccountId, OperationId, Reservation } from '../../core/usage/reservation.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import { usable } from './balances.js';
import { operationId, type MinedOperation } from './mined.js';
import type { Watched } from './scan.js';

/** What one round reads from. */
export type Source = {
  readonly chain: Chain;
  /** Another connection to the same chain, if the config has one; `attempt` selects one of several. */
  readonly elsewhere: (attempt: number) => Chain;
  readonly chainId: number;
  readonly confirmations: Confirmations;
  readonly contracts: ReadonlyMap<AddressKey, WatchedContract>;
  /** `contracts`, and the contracts of profiles that were removed since this process started. */
  readonly seenContracts: ReadonlyMap<AddressKey, WatchedContract>;
  /** What accounts held in wei when they were read last, by {@link accountName}: for records, since limits count in gwei. */
  readonly held: Map<string, bigint>;
};

/** The usual connection, and two others: with each attempt other ones, so that eight attempts ask sixteen URLs. */
export function connections(
  { chain, elsewhere }: Pick<Source, 'chain' | 'elsewhere'>,
  attempt: number,
): readonly Chain[] {
  return [...new Set([chain, elsewhere(2 * attempt + 1), elsewhere(2 * attempt + 2)])];
}

/** Everything that a chain's profiles say about one contract. */
export type WatchedContract = {
  readonly contract: AddressKey;
  readonly entryPoint: AddressKey;
  readonly fundingBalanceCall: ((fundingAddress: AddressKey) => Hex) | undefined;
  /** How its data are read; empty if a newer build has added its layout. */
  readonly modes: readonly ContractModes[];
};

/**
 * Contracts of all profiles, by address. Two profiles may share a contract. If a newer build has added the layout, only the
 * EntryPoint is known: operations that the contract pays for are settled, and its deposit is followed.
 */
export function watchedContracts(config: ChainConfig): ReadonlyMap<AddressKey, WatchedContract> {
  const contracts = new Map<AddressKey, WatchedContract>();
  const add = (gatherWatched: Omit<WatchedContract, 'modes'>, modes: ContractModes | undefined): void => {
    const known = contracts.get(gatherWatched.contract);
    contracts.set(gatherWatched.contract, {
      ...gatherWatched,
      fundingBalanceCall: known?.fundingBalanceCall ?? gatherWatched.fundingBalanceCall,
      modes: [...(known?.modes ?? []), ...(modes === undefined ? [] : [modes])],
    });
  };
  for (const profile of config.profiles) {
    const layout = Object.hasOwn(layouts, profile.layout) ? layouts[profile.layout] : undefined;
    const entryPoint = toAddressKey(profile.entryPoint);
    const contract = toAddressKey(profile.sponsorship);
    const fundingBalanceCall = layout?.sponsorship.fundingBalanceCall;
    const tokenContract = profile.token === undefined ? contract : toAddressKey(profile.token);
    const isShared = tokenContract === contract;
    const tokenModes = { token: layout?.token, acceptsUnsigned: profile.acceptsUnsigned };
    add(
      { contract, entryPoint, fundingBalanceCall },
      layout && { sponsorship: layout.sponsorship, ...(isShared ? tokenModes : {}) },
    );
    // Token mode does not draw on a sponsor's balance, but some contracts keep their own balance for it.
    const keepsOne = layout?.token?.tokenAccountCall !== undefined;
    if (!isShared)
      add(
        {
          contract: tokenContract,
          entryPoint,
          fundingBalanceCall: keepsOne ? fundingBalanceCall : undefined,
        },
        layout && tokenModes,
      );
  }
  return contracts;
}

/**
 * What to look for: the contracts of the current profiles, and contracts with earlier promises. Removing a profile, or
 * moving it to another contract, does not take back signatures: operations mined with them still count.
 * `formerEntryPoints`: EntryPoints that earlier profiles named; the canonical ones are always included.
 */
export function gatherWatched(
  contracts: ReadonlyMap<AddressKey, WatchedContract>,
  known: readonly AccountId[],
  formerEntryPoints: Iterable<AddressKey>,
): Watched {
  const former = known.filter(({ contract }) => !contracts.has(contract));
  const places = new Set(Array.from(contracts.values(), ({ entryPoint }) => entryPoint));
  if (former.length > 0)
    for (const entryPoint of [...canonical, ...formerEntryPoints]) places.add(entryPoint);
  return {
    entryPoints: [...places],
    contracts: [...contracts.keys(), ...new Set(former.map(({ contract }) => contract))],
  };
}

const canonical = Object.values(entryPoints).map(toAddressKey);

export async function blockAt(
  { chain, chainId }: Pick<Source, 'chain' | 'chainId'>,
  tag: 'latest' | number,
): Promise<Block> {
  const block = await chain.block(tag);
  if (block === undefined) throw new DomainError('UNAVAILABLE', `chain ${chainId} has no block ${tag}`);
  return block;
}

/** The newest block that the node shows, and the newest one whose operations settle. */
export type Ends = {
  readonly head: Block;
  /** Undefined: the node does not say which block is final. It may lie above a head that another node has shown. */
  readonly confirmed: number | undefined;
  /** The block at `confirmed`, where the node named it as final. */
  readonly final?: Block;
};

/** Throws UNAVAILABLE when the node does not show its head. */
export async function readEnds(source: Source): Promise<Ends> {
  if (source.confirmations !== 'finalized') {
    const head = await blockAt(source, 'latest');
    return { head, confirmed: Math.max(0, head.number - source.confirmations) };
  }
  // Before the head, so that of one node it never lies above. A node that answers nothing fails with the head.
  const final = await source.chain.block('finalized').catch(() => undefined);
  const head = await blockAt(source, 'latest');
  return { head, confirmed: final?.number, ...(final === undefined ? {} : { final }) };
}

export function finalityUnknown(chainId: number): DomainError {
  return new DomainError('UNAVAILABLE', `the node of chain ${chainId} does not say which block is final`, {
    reason: 'FINALITY_UNKNOWN',
  });
}

export function toCursor({ number, hash, timestamp }: Block): Cursor {
  return { blockNumber: number, blockHash: hash, timestamp: timestamp as EpochSeconds };
}

/**
 * How much may be promised from each account, by {@link accountName}. An account is missing when it cannot be read: its
 * contract keeps no such balance, or does not answer as its layout says. Throws UNAVAILABLE when the node does not
 * answer.
 */
export async function readUsable(
  source: Source,
  accounts: readonly AccountId[],
  target: Block,
  head: Block,
  chargedSince: ReadonlyMap<string, bigint>,
): Promise<ReadonlyMap<string, Gwei>> {
  const asked = accounts.flatMap((account) => {
    const call = balanceCall(source, account);
    return call === undefined ? [] : [{ account, call }];
  });
  const calls = asked.map(({ call }) => call);
  const atTarget = await source.chain.words(calls, { hash: target.hash });
  const atHead = head.hash === target.hash ? atTarget : await source.chain.words(calls, { hash: head.hash });
  return new Map(
    asked.flatMap(({ account }, index) => {
      const name = accountName(account);
      const [settled, now] = [atTarget[index], atHead[index]];
      if (settled === undefined || now === undefined) return [];
      source.held.set(name, now);
      return [[name, usable({ settled, head: now, chargedSince: chargedSince.get(name) ?? 0n })] as const];
    }),
  );
}

/** The EntryPoint's `getNonce` for each operation's sender and key at a block, by {@link operationId}. */
export async function readNonces(
  { chain }: Pick<Source, 'chain'>,
  operations: readonly OperationId[],
  block: Block,
): Promise<ReadonlyMap<string, bigint>> {
  const calls = operations.map(({ entryPoint, sender, nonce }) => ({
    to: entryPoint,
    data: getNonceCall(sender, nonce >> 64n),
  }));
  const words = await chain.words(calls, { hash: block.hash });
  return new Map(
    operations.flatMap((operation, index) => {
      const next = words[index];
      return next === undefined ? [] : [[operationId(operation), next] as const];
    }),
  );
}

/** Undefined when it is not known how the account's balance is read. */
export function balanceCall(
  { seenContracts }: Pick<Source, 'seenContracts'>,
  { contract, fundingAddress }: AccountId,
): WordCall | undefined {
  const known = seenContracts.get(contract);
  if (known === undefined) return undefined;
  if (fundingAddress === undefined) return { to: known.entryPoint, data: balanceOfCall(contract) };
  const data = known.fundingBalanceCall?.(fundingAddress);
  return data === undefined ? undefined : { to: contract, data };
}

/** The EntryPoint's `balanceOf(address)`: the deposit of a paymaster there. */
function balanceOfCall(account: AddressKey): Hex {
  return `0x70a08231${addressWord(account)}`;
}

/** `getNonce(address sender, uint192 key)`, the same in every EntryPoint. */
function getNonceCall(sender: AddressKey, key: bigint): Hex {
  return `0x35567e1a${addressWord(sender)}${hexWord(key)}`;
}

const readsAtOnce = 16;

/** The blocks that mined these operations; `known` is not read again. Throws UNAVAILABLE. */
export async function readBlocks(
  source: Source,
  mined: readonly Pick<MinedOperation, 'blockNumber' | 'blockHash'>[],
  known: Block,
): Promise<(blockNumber: number) => Block> {
  const blocks = new Map([[known.number, known]]);
  const hashes = new Map(mined.map(({ blockNumber, blockHash }) => [blockNumber, blockHash]));
  await someAtOnce(
    [...hashes.keys()].filter((number) => !blocks.has(number)),
    async (number) => {
      const block = await blockAt(source, number);
      if (block.hash !== hashes.get(number))
        throw new DomainError('UNAVAILABLE', `chain ${source.chainId} changed while it was read`);
      blocks.set(number, block);
    },
  );
  return (number) => {
    const block = blocks.get(number);
    if (block === undefined) throw new RangeError(`block ${number} was not read`);
    return block;
  };
}

/** When a block was made. */
export function blockTime({ timestamp }: Pick<Block, 'timestamp'>): EpochMs {
  return toMs(timestamp as EpochSeconds);
}

/** Runs `work` for each item, for a few of them at a time. */
export async function someAtOnce<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < items.length; at += readsAtOnce)
    await Promise.all(items.slice(at, at + readsAtOnce).map(work));
}

/** The live reservations for these operations. Throws UNAVAILABLE. */
export function promisesFor(
  usage: Pick<UsageStore, 'reservations'>,
  { chainId }: Pick<Source, 'chainId'>,
  operations: readonly OperationId[],
): Promise<readonly Reservation[]> {
  return usage.reservations(chainId, { operations, expiredBefore: 0 as EpochSeconds, limit: 0 });
}
