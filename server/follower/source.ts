import { CallReverted, type Block, type Chain } from '../../core/chain/chain.js';
import type { ChainConfig } from '../../core/config/chain-config.js';
import { DomainError } from '../../core/errors.js';
import { entryPoints } from '../../core/paymaster/entry-point.js';
import type { ChargeEvent, TokenCodec } from '../../core/paymaster/layout.js';
import { layouts } from '../../core/paymaster/layouts.js';
import type { AccountId } from '../../core/policy/usage-store.js';
import { toAddressKey, type AddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import { gwei, type Gwei } from '../../core/units/wei.js';
import { accountName, usable } from './balances.js';
import type { Watched } from './scan.js';
import type { MinedOperation, Payer, TokenPaid } from './settlement.js';

const wordPattern = /^0x[0-9a-f]{64}/;
const readsAtOnce = 16;

/** Where one round reads. */
export type Source = {
  readonly chain: Chain;
  readonly chainId: number;
  readonly confirmations: number;
  readonly contracts: ReadonlyMap<AddressKey, WatchedContract>;
};

/** Everything that a chain's profiles say about one contract. */
export type WatchedContract = {
  readonly contract: AddressKey;
  readonly entryPoint: AddressKey;
  readonly fundingBalanceCall: ((fundingAddress: AddressKey) => Hex) | undefined;
  readonly chargeEvent: ChargeEvent | undefined;
  /** Reads what operations were charged in tokens; undefined where the contract has no such mode. */
  readonly token: Pick<TokenCodec, 'chargeTopics' | 'chargeOf'> | undefined;
};

/**
 * Contracts of all profiles, by address. Two profiles may share one. Of a layout that a newer build has added the EntryPoint is
 * known and nothing else: what is mined with it is settled, and its deposit followed.
 */
export function watchedContracts(config: ChainConfig): ReadonlyMap<AddressKey, WatchedContract> {
  const contracts = new Map<AddressKey, WatchedContract>();
  for (const profile of config.profiles) {
    const layout = Object.hasOwn(layouts, profile.layout) ? layouts[profile.layout] : undefined;
    const entryPoint = toAddressKey(profile.entryPoint);
    const sponsorship = toAddressKey(profile.sponsorship);
    const fundingBalanceCall = layout?.sponsorship.fundingBalanceCall;
    contracts.set(sponsorship, {
      contract: sponsorship,
      entryPoint,
      fundingBalanceCall,
      chargeEvent: layout?.chargeEvent,
      token: layout?.token,
    });
    const token = profile.token === undefined ? sponsorship : toAddressKey(profile.token);
    // In token mode no sponsor's balance is drawn on, but some contracts keep one of their own for it.
    if (!contracts.has(token))
      contracts.set(token, {
        contract: token,
        entryPoint,
        fundingBalanceCall: layout?.token?.tokenAccountCall === undefined ? undefined : fundingBalanceCall,
        chargeEvent: undefined,
        token: layout?.token,
      });
  }
  return contracts;
}

/**
 * What to look for: the contracts of today's profiles, and those that were promised on before. A profile that is taken
 * away or moved to another contract takes back no signature: what is mined with it still counts. `formerEntryPoints` are
 * those that profiles are known to have named; the canonical ones are looked at anyway.
 */
export function watched(
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

export async function blockAt({ chain, chainId }: Source, tag: 'latest' | number): Promise<Block> {
  const block = await chain.block(tag);
  if (block === undefined) throw new DomainError('UNAVAILABLE', `chain ${chainId} has no block ${tag}`);
  return block;
}

/**
 * What may be promised of each account, by {@link accountName}. An account is missing when it cannot be read: its
 * contract keeps no such balance or does not answer as its layout says. Throws UNAVAILABLE when the node does not
 * answer.
 */
export async function readUsable(
  source: Source,
  accounts: readonly AccountId[],
  target: Block,
  head: Block,
  chargedSince: ReadonlyMap<string, bigint>,
  orphaned: ReadonlyMap<string, Gwei>,
): Promise<ReadonlyMap<string, Gwei>> {
  const balances = new Map<string, Gwei>();
  const read = async (account: AccountId): Promise<void> => {
    const name = accountName(account);
    const settled = await readBalance(source, account, target.number);
    const atHead = head.hash === target.hash ? settled : await readBalance(source, account, head.number);
    if (settled === undefined || atHead === undefined) return;
    const since = chargedSince.get(name) ?? 0n;
    balances.set(
      name,
      usable({ settled, head: atHead, chargedSince: since, orphaned: orphaned.get(name) ?? gwei(0) }),
    );
  };
  for (let i = 0; i < accounts.length; i += readsAtOnce)
    await Promise.all(accounts.slice(i, i + readsAtOnce).map(read));
  return balances;
}

/** Reads the contracts' own charge events of the given ones among the mined operations. */
export async function readPayers(
  { chain, contracts }: Source,
  mined: readonly MinedOperation[],
  wanted: readonly MinedOperation[],
): Promise<Payer> {
  const payers = new Map<MinedOperation, AddressKey>();
  for (const operation of wanted) {
    const { paymaster, blockNumber, transactionHash, logIndex } = operation;
    const event = contracts.get(paymaster)?.chargeEvent;
    if (event === undefined) continue;
    const place = { fromBlock: blockNumber, toBlock: blockNumber, address: paymaster };
    const logs = await chain.logs({ ...place, topics: [event.topic0] });
    // postOp charges right before the EntryPoint reports the operation; before that come the others of its bundle.
    const previous = mined
      .filter((other) => other.transactionHash === transactionHash && other.logIndex < logIndex)
      .map((other) => other.logIndex);
    const charge = logs.findLast(
      (log) =>
        log.transactionHash === transactionHash &&
        log.logIndex < logIndex &&
        previous.every((index) => index < log.logIndex),
    );
    if (charge !== undefined) payers.set(operation, event.fundingAddress(charge));
  }
  return (operation) => payers.get(operation);
}

/** Whether each of the given operations was charged in tokens, by the contracts' own events; of others it is not known. */
export async function readTokenPayments(
  { chain, contracts }: Source,
  wanted: readonly MinedOperation[],
): Promise<TokenPaid> {
  const paid = new Map<MinedOperation, boolean>();
  for (const operation of wanted) {
    const { paymaster, blockNumber, transactionHash, userOpHash } = operation;
    const codec = contracts.get(paymaster)?.token;
    if (codec === undefined) continue;
    const place = { fromBlock: blockNumber, toBlock: blockNumber, address: paymaster };
    const logs = await chain.logs({ ...place, topics: [codec.chargeTopics] });
    const own = logs.filter((log) => log.transactionHash === transactionHash);
    paid.set(operation, codec.chargeOf(own, { paymaster, userOpHash }) !== undefined);
  }
  return (operation) => paid.get(operation);
}

async function readBalance(
  { chain, contracts }: Source,
  { contract, fundingAddress }: AccountId,
  block: number,
): Promise<bigint | undefined> {
  const known = contracts.get(contract);
  if (known === undefined) return undefined;
  if (fundingAddress === undefined) return readWord(chain, known.entryPoint, balanceOfCall(contract), block);
  if (known.fundingBalanceCall === undefined) return undefined;
  return readWord(chain, contract, known.fundingBalanceCall(fundingAddress), block);
}

async function readWord(chain: Chain, to: string, data: Hex, block: number): Promise<bigint | undefined> {
  try {
    const answer = await chain.call({ to, data, block });
    const word = wordPattern.exec(answer);
    return word === null ? undefined : BigInt(word[0]);
  } catch (error) {
    if (error instanceof CallReverted) return undefined;
    throw error;
  }
}

/** The EntryPoint's `balanceOf(address)`: what a paymaster has deposited there. */
function balanceOfCall(account: AddressKey): Hex {
  return `0x70a08231${'0'.repeat(24)}${account.slice(2)}`;
}
