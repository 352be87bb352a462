import { createSqliteUsageStore } from '../../core/adapters/store/sqlite/usage.js';
import type { ChainConfig } from '../../core/config/chain-config.js';
import { silentLogger } from '../../core/log.js';
import { layouts } from '../../core/paymaster/layouts.js';
import type { LayoutId } from '../../core/paymaster/layout.js';
import type { AccountId, ReserveRequest, UsageStore } from '../../core/policy/usage-store.js';
import { parseAddress, type AddressKey } from '../../core/units/address.js';
import type { Clock } from '../../core/units/time.js';
import { ChainFollower } from '../../server/follower/chain-follower.js';
import {
  aLimit,
  anAddress,
  aNeed,
  aRequest,
  chainId,
  contract,
  entryPoint,
  funding,
  seconds,
  sender,
} from '../conformance/usage-requests.js';
import { depositOf, FakeChain, walletOf, type FakeOperation } from '../fakes/chain.js';
import { aClock, aDirectory } from '../usage/sqlite-usage.js';

export const gweiInWei = 1_000_000_000n;
export const otherFunding = anAddress(0xf1);
export const chargeTopic = layouts['vendor-1.1.0'].chargeEvent!.topic0;

/** A chain config whose one profile has a contract with a balance per sponsor, unless `layout` says otherwise. */
export function aChainConfig(
  change: Partial<ChainConfig> = {},
  layout: LayoutId = 'vendor-1.1.0',
): ChainConfig {
  return {
    chainId,
    objectName: 'dev',
    configGeneration: 1,
    suspended: false,
    rpc: { urls: ['http://127.0.0.1:1'] },
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    confirmations: 2,
    delegates: [],
    gas: {},
    profiles: [
      {
        version: '1.1.0',
        layout,
        entryPoint: parseAddress(entryPoint),
        sponsorship: parseAddress(contract),
        signerFile: 'dev',
        options: { priceMarkup: 1_000_000, unaccountedGas: 0 },
      },
    ],
    feeTokens: [],
    ...change,
  };
}

/** A follower of a fake chain over a real store, by default the embedded one: one paymaster contract, one funding wallet, both with 1000 gwei. */
export async function aFollowed(config: ChainConfig = aChainConfig(), openUsage = openSqlite) {
  const directory = aDirectory();
  const clock = aClock();
  const chain = new FakeChain({ chainId, time: seconds(0) });
  const usage = await openUsage(clock, directory.path);
  let accounts: readonly AccountId[] = [{ contract, fundingAddress: funding }];
  let current = config;
  const create = (of: UsageStore = usage) =>
    new ChainFollower({
      usage: of,
      chainId,
      current: () => ({ config: current, chain }),
      fundingAccounts: () => accounts,
      clock,
      log: silentLogger,
    });
  chain.mine({
    transfers: [
      [depositOf(entryPoint, contract), 1000n * gweiInWei],
      [walletOf(contract, funding), 1000n * gweiInWei],
    ],
  });
  chain.mineEmpty(3);
  const follower = create();
  await follower.round();
  return {
    chain,
    clock,
    usage,
    follower,
    create,
    watch: (more: readonly AccountId[]) => {
      accounts = more;
    },
    reconfigure: (changed: ChainConfig) => {
      current = changed;
    },
    /** Empty blocks, and the time that they take on the chain and on the clock. */
    pass: (blocks: number) => {
      chain.mineEmpty(blocks);
      clock.advance(blocks * 12_000);
    },
    stop: async () => {
      await usage.stop();
      directory.remove();
    },
  };
}

async function openSqlite(clock: Clock, directory: string): Promise<UsageStore> {
  return createSqliteUsageStore({
    path: `${directory}/usage.db`,
    clock,
    log: silentLogger,
    durability: 'process',
  });
}

export type Followed = Awaited<ReturnType<typeof aFollowed>>;

/** Sponsorship of an operation: counted once, spends and needs up to `cost` gwei, expires 1000 s after the start. */
export function aPromise(
  cost: number,
  change: Partial<Omit<ReserveRequest, 'key'>> & { readonly key?: Partial<ReserveRequest['key']> } = {},
): ReserveRequest {
  const wallet: AddressKey = change.fundingAddress ?? funding;
  return aRequest({
    limits: [
      aLimit({ policyId: 'count', threshold: 1000, durationMs: 86_400_000 }),
      aLimit({ policyId: 'spend', unit: 'NATIVE_ASSET', threshold: 100_000, cost, durationMs: 86_400_000 }),
    ],
    accounts: [aNeed(cost), aNeed(cost, { fundingAddress: wallet })],
    fundingAddress: wallet,
    validUntil: seconds(1000),
    depositMaxAgeMs: Number.MAX_SAFE_INTEGER,
    ...change,
  });
}

/** The operation of {@link aPromise} as it is mined, at a cost in gwei. */
export function anOperation(cost: number, change: Partial<FakeOperation> = {}): FakeOperation {
  return {
    entryPoint,
    contract,
    sender,
    nonce: 0n,
    cost: BigInt(cost) * gweiInWei,
    payer: { wallet: funding },
    ...change,
  };
}

/** Operations and gwei that are used or promised by now. */
export async function usedOf({ usage }: Followed): Promise<readonly number[]> {
  const { limits } = await usage.peek(aPromise(1, { key: { nonce: 999_999n }, accounts: [] }));
  return limits.map(({ used }) => used);
}

/** Balance and promised gwei of the contract's deposit and of the funding wallet. */
export async function accountsOf({
  usage,
}: Followed): Promise<readonly (readonly [number | undefined, number])[]> {
  const accounts = await usage.accounts(chainId);
  return [undefined, funding].map((wallet) => {
    const account = accounts.find(({ fundingAddress }) => fundingAddress === wallet);
    return [account?.balance, account?.reserved ?? 0];
  });
}
