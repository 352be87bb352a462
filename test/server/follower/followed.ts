import { createSqliteUsageStore } from '../../../adapters/store/sqlite/usage.js';
import type { ChainConfig } from '../../../core/config/chain-config.js';
import { silentLogger, type Logger } from '../../../core/log.js';
import { toDigest } from '../../../core/paymaster/digest.js';
import type { LayoutId } from '../../../core/paymaster/layout.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import { parseAddress, type AddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import type { Clock, EpochMs } from '../../../core/units/time.js';
import { exposureCounter } from '../../../core/usage/counter-names.js';
import type { AccountId, Mode, SignedPromise } from '../../../core/usage/reservation.js';
import type { ReserveRequest } from '../../../core/usage/reserve-request.js';
import { accountLosses, contractLosses } from '../../../core/usage/token-losses.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import { ChainFollower } from '../../../server/follower/chain-follower.js';
import type { ChainFollowerDeps } from '../../../server/follower/round.js';
import { aClock } from '../../adapters/usage/clock.js';
import { aDirectory } from '../../adapters/usage/sqlite-usage.js';
import {
  aLimit,
  anAddress,
  aNeed,
  aRequest,
  aSpend,
  chainId,
  contract,
  entryPoint,
  funding,
  seconds,
  sender,
  startMs,
} from '../../conformance/usage-requests.js';
import { anExampleOperation, exampleTerms, exampleTokenTerms } from '../../core/paymaster/operations.js';
import { handleOpsInput } from '../../core/userop/bundles.js';
import { depositOf, FakeChain, walletOf, type FakeOperation } from '../../fakes/chain.js';

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

/**
 * A follower of a fake chain over a real store, by default the embedded one. There are one paymaster contract and one funding
 * wallet, both with 1000 gwei.
 */
export async function aFollowed(config: ChainConfig = aChainConfig(), openUsage = openSqlite) {
  const directory = aDirectory();
  const clock = aClock();
  const chain = new FakeChain({ chainId, time: seconds(0) });
  const elsewhere: FakeChain[] = [];
  const usage = await openUsage(clock, directory.path);
  const lines: LogLine[] = [];
  let accounts: readonly AccountId[] = [{ contract, fundingAddress: funding }];
  let current = config;
  const create = (of: UsageStore = usage, ledger?: ChainFollowerDeps['ledger'], patienceMs?: number) =>
    new ChainFollower({
      usage: of,
      ...(ledger === undefined ? {} : { ledger }),
      ...(patienceMs === undefined ? {} : { patienceMs }),
      chainId,
      current: () => ({
        config: current,
        chain,
        elsewhere: (attempt) => elsewhere[(attempt - 1) % Math.max(1, elsewhere.length)] ?? chain,
      }),
      platformAccounts: () => accounts,
      clock,
      log: recordingLogger(lines),
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
    /** Other connections to the same chain. */
    elsewhere,
    clock,
    usage,
    lines,
    follower,
    create,
    /** A follower that does not find the steps of others, as after a release that does not keep them. */
    createForgetful: () => create({ ...usage, takenSteps: async () => [] }),
    /** The platform's wallets, followed also while nothing is promised from them. */
    watch: (more: readonly AccountId[]) => {
      accounts = more;
    },
    reconfigure: (changed: ChainConfig) => {
      current = changed;
    },
    /** Mines empty blocks, and advances the chain's time and the clock. */
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

export async function openSqlite(clock: Clock, directory: string): Promise<UsageStore> {
  return createSqliteUsageStore({
    path: `${directory}/usage.db`,
    clock,
    log: silentLogger,
    durability: 'process',
  });
}

type LogLine = { readonly level: string; readonly message: string };

function recordingLogger(lines: LogLine[]): Logger {
  const at = (level: string) => (message: string) => void lines.push({ level, message });
  const log: Logger = {
    ...silentLogger,
    warn: at('warn'),
    error: at('error'),
    child: () => log,
  };
  return log;
}

/** A round in each two seconds, and a block in each twelve, for so many seconds. What the rounds did, by kind. */
export async function followFor(
  { clock, chain, follower }: Pick<Followed, 'clock' | 'chain' | 'follower'>,
  passing: number,
  of = follower,
) {
  const did = { settled: 0, released: 0, forfeited: 0, unpaid: 0, passedOver: 0 };
  for (let second = 0; second < passing; second += 2) {
    clock.advance(2_000);
    if (second % 12 === 0) chain.mine();
    const round = await of.round();
    for (const kind of Object.keys(did) as (keyof typeof did)[]) did[kind] += round[kind];
  }
  return did;
}

export type Followed = Awaited<ReturnType<typeof aFollowed>>;

/** A month after the clocks' start. */
const month = { from: startMs, until: (startMs + 30 * 86_400_000) as EpochMs };
const countLimit = aLimit({ counter: 'count', threshold: 1000, window: month });
const spendLimit = aSpend(0, { counter: 'spend', threshold: 100_000, window: month });

type PromiseChange = Partial<Omit<ReserveRequest, 'key' | 'promise'>> & {
  readonly key?: Partial<ReserveRequest['key']>;
  readonly promise?: Partial<SignedPromise>;
};

/** Sponsorship of an operation: counted once, spends and needs up to `cost` gwei, expires 1000 s after the start. */
export function aPromise(cost: number, { promise, ...change }: PromiseChange = {}): ReserveRequest {
  const wallet = promise?.fundingAddress ?? funding;
  return aRequest({
    limits: promise?.mode === 'ERC20' ? [] : [countLimit, { ...spendLimit, cost }],
    // What the whole budget is exposed to, as for a payment that is not secured.
    holds:
      promise?.mode === 'ERC20'
        ? [
            {
              counter: exposureCounter(promise.contract ?? contract, 'all'),
              unit: 'NATIVE_ASSET',
              cost,
              threshold: 1e12,
            },
          ]
        : [],
    accounts: [aNeed(cost), aNeed(cost, { fundingAddress: wallet })],
    depositMaxAgeMs: Number.MAX_SAFE_INTEGER,
    ...change,
    promise: {
      fundingAddress: wallet,
      prefundWei: BigInt(cost) * gweiInWei,
      validUntil: seconds(1000),
      ...promise,
    },
  });
}

/** The operation of {@link aPromise} as mined, at a cost in gwei. */
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

/** Operations and gwei that are used or promised. */
export async function usedOf({ usage }: Pick<Followed, 'usage'>): Promise<readonly number[]> {
  const counters = await usage.counters(chainId, [countLimit, spendLimit]);
  return counters.map(({ used, reserved }) => used + reserved);
}

/** Gwei that a contract, and one account of it, have lost in tokens. */
export async function lossesOf(
  { usage }: Pick<Followed, 'usage'>,
  account: AddressKey = sender,
): Promise<readonly number[]> {
  const of = { chainId, contract };
  const now = usage.now();
  const [barred] = accountLosses(of, account, now);
  const counters = await usage.counters(chainId, [contractLosses(of, now), barred!]);
  return counters.map(({ used }) => used);
}

/** How an operation was signed: its digest, and the call data of the transaction in which it is mined. */
export type SignedBytes = { readonly digest: Hex; readonly input: Hex };

/** A sponsorship, or a payment in tokens, of the layout of {@link aChainConfig}; each `variant` is another operation of the nonce. */
export function signedBytes(
  mode: Mode,
  variant: number,
  change: {
    readonly nonce?: bigint;
    readonly account?: AddressKey;
    readonly wallet?: AddressKey;
  } = {},
): SignedBytes {
  const { sponsorship, token } = layouts['vendor-1.1.0'];
  const { nonce = 0n, account = sender } = change;
  const op = { ...anExampleOperation, sender: account, nonce, callGasLimit: BigInt(variant) };
  const shared = { chainId, paymaster: parseAddress(contract), validUntil: 5, validAfter: 0 };
  const sponsored = { ...exampleTerms, ...shared, fundingAddress: change.wallet ?? funding };
  const paid = { ...exampleTokenTerms, ...shared };
  const signature = new Uint8Array(65).fill(1);
  if (mode === 'SPONSORED')
    return {
      digest: toDigest(sponsorship.hash(op, sponsored)),
      input: handleOpsInput('0.6', op, sponsorship.encode(op, sponsored, signature)),
    };
  return {
    digest: toDigest(token!.hash(op, paid)),
    input: handleOpsInput('0.6', op, token!.encode(op, paid, signature)),
  };
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
