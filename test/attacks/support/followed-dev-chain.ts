import { parsePostgresUrl } from '../../../adapters/postgres/address.js';
import { createPostgresLedger, type StoredLedger } from '../../../adapters/store/ledger/postgres-ledger.js';
import { createSqliteLedger } from '../../../adapters/store/ledger/sqlite-ledger.js';
import { createSqliteUsageStore } from '../../../adapters/store/sqlite/usage.js';
import type { Chain } from '../../../core/chain/chain.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';
import { silentLogger } from '../../../core/log.js';
import { toDigest } from '../../../core/paymaster/digest.js';
import type { SponsorshipTerms, TokenTerms } from '../../../core/paymaster/layout.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import { maxLost } from '../../../core/paymaster/token-payment.js';
import { toAddressKey, type AddressKey } from '../../../core/units/address.js';
import { plusMs, type Clock, type EpochMs, type EpochSeconds } from '../../../core/units/time.js';
import { gweiCeil } from '../../../core/units/wei.js';
import { contractFence, exposureCounter } from '../../../core/usage/counter-names.js';
import { createMemoryEpochMirror } from '../../../core/usage/epoch.js';
import type { Mode, SignedPromise } from '../../../core/usage/reservation.js';
import type { ReserveRequest } from '../../../core/usage/reserve-request.js';
import { accountLosses, contractLosses } from '../../../core/usage/token-losses.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import { ChainFollower } from '../../../server/follower/chain-follower.js';
import type { FollowerLedger } from '../../../server/follower/round.js';
import { createRecordIds } from '../../../server/ledger/record-ids.js';
import { aDirectory } from '../../adapters/usage/sqlite-usage.js';
import { buildAccount, type TestAccount } from '../../chain/support/account.js';
import type { DevChain } from '../../chain/support/dev-chain.js';
import { payInTokens, tokenCodecOf, tokenContract, tokenTerms } from '../../chain/support/tokens.js';
import { buildTerms, buildUserOp, sponsorUserOp, type SignedUserOp } from '../../chain/support/user-op.js';
import { aChainConfig } from '../../server/follower/followed.js';
import type { SharedPostgres } from '../../support/postgres.js';
import { openReplicas, type OpenedStore } from './stores.js';

/** A promise as the service makes it: recorded first, then signed. */
export type Promised = { readonly request: ReserveRequest; readonly signed: SignedUserOp };

/** Of the limits, before and after now: a test may let the longest two months pass. */
const reachMs = 90 * 86_400_000;

/**
 * The follower of one profile over a real chain, with one limit of each kind. Without `postgres` it uses a new embedded store. With
 * it three replicas reserve in turn and the last one follows. Its node may lie: `lie` replaces its answers, those of other connections
 * only where it is told so. With `organisationOf` movements are recorded.
 */
export async function followDevChain(
  devChain: DevChain,
  version: string,
  postgres?: SharedPostgres,
  organisationOf?: FollowerLedger['organisationOf'],
) {
  const profile = devChain.profile(version);
  const directory = aDirectory();
  let ahead = 0;
  const clock = { now: () => (Date.now() + ahead) as EpochMs };
  const database = await postgres?.createDatabase('tables');
  const opened =
    database === undefined
      ? [openAlone(directory.path, clock)]
      : await openReplicas(database, { epochMirror: createMemoryEpochMirror(), clock });
  const stores = opened.map(({ usage }) => usage);
  /** The usage store of the replica that follows. */
  const usage = stores.at(-1)!;
  let asks = 0;
  const reserve: UsageStore['reserve'] = (asked) => stores[(asks += 1) % stores.length]!.reserve(asked);
  const { layout, entryPoint, sponsorship, token, entryPointVersion } = profile;
  const options = { priceMarkup: 1_000_000, unaccountedGas: profile.options.unaccountedGas ?? 50_000 };
  const profiles = [
    { version, layout, entryPoint, sponsorship, signerFile: 'dev', options, ...(token && { token }) },
  ];
  const config = aChainConfig({ chainId: devChain.chainId, confirmations: 0, profiles });
  let lies: Partial<Chain> = {};
  let isLieEverywhere = false;
  const chain: Chain = new Proxy(devChain.chain, {
    get: (honest, name) => Reflect.get({ ...honest, ...lies }, name) as unknown,
  });
  const defaultFunding = toAddressKey(devChain.deployments.defaultFunding);
  // Our contracts pay for token payments out of the treasury's balance inside them.
  const wallets = [
    defaultFunding,
    ...(layouts[layout].token?.tokenAccountCall === undefined
      ? []
      : [toAddressKey(devChain.deployments.treasury)]),
  ];
  const follower = new ChainFollower({
    usage,
    chainId: devChain.chainId,
    current: () => ({ config, chain, elsewhere: () => (isLieEverywhere ? chain : devChain.chain) }),
    platformAccounts: () =>
      wallets.map((fundingAddress) => ({ contract: toAddressKey(sponsorship), fundingAddress })),
    clock,
    log: silentLogger,
    ...(organisationOf && { ledger: { ids: createRecordIds(clock), organisationOf } }),
  });
  const window = { from: (Date.now() - reachMs) as EpochMs, until: (Date.now() + reachMs) as EpochMs };
  const contractOf = (mode: Mode): AddressKey =>
    toAddressKey(mode === 'ERC20' ? tokenContract(profile) : sponsorship);

  function request(
    op: FinalUserOperation,
    promise: SignedPromise,
    threshold: { readonly count: number; readonly spend: number },
    paymasterId = 'pm-1',
    unsecured = promise.prefundWei,
  ): ReserveRequest {
    const { mode, contract } = promise;
    const cost = gweiCeil(promise.prefundWei);
    const inside = promise.fundingAddress;
    const all = { window, enforce: true };
    return {
      key: {
        chainId: devChain.chainId,
        paymasterId,
        entryPoint: toAddressKey(entryPoint),
        sender: op.sender,
        nonce: op.nonce,
      },
      fences: [{ id: contractFence(contract), generation: 0 }],
      promise,
      bars: [],
      limits:
        mode === 'ERC20'
          ? []
          : [
              { ...all, counter: 'count', unit: 'COUNT', threshold: threshold.count, cost: 1 },
              { ...all, counter: 'spend', unit: 'NATIVE_ASSET', threshold: threshold.spend, cost },
            ],
      holds:
        mode === 'SPONSORED'
          ? []
          : [
              {
                counter: exposureCounter(contract, 'all'),
                unit: 'NATIVE_ASSET',
                cost: gweiCeil(unsecured),
                threshold: 1e12,
              },
            ],
      accounts: [
        { contract, need: cost },
        ...(inside === undefined ? [] : [{ contract, fundingAddress: inside, need: cost }]),
      ],
      depositMaxAgeMs: Number.MAX_SAFE_INTEGER,
    };
  }

  return {
    profile,
    clock,
    /** File of the embedded store, and what it takes of records. */
    path: `${directory.path}/usage.db`,
    records: opened.at(-1)!.records,
    lie: (about: Partial<Chain>, { everywhere = false } = {}) => {
      lies = about;
      isLieEverywhere = everywhere;
    },
    newAccount: (): Promise<TestAccount> => buildAccount(devChain, entryPointVersion),
    operation: (account: TestAccount, change: Partial<FinalUserOperation> = {}) =>
      buildUserOp(account, [], change),

    /** Reserves and signs a sponsorship; undefined when the store refuses. */
    async sponsor(
      account: TestAccount,
      op: FinalUserOperation,
      change: Partial<SponsorshipTerms> & {
        readonly count?: number;
        readonly spend?: number;
        readonly paymasterId?: string;
      } = {},
    ): Promise<Promised | undefined> {
      const { count = 1_000, spend = 1e12, paymasterId, ...overrides } = change;
      const terms = await buildTerms(devChain, profile, overrides);
      const { sponsorship: codec } = layouts[layout];
      const promise: SignedPromise = {
        digest: toDigest(codec.hash(op, terms)),
        mode: 'SPONSORED',
        contract: contractOf('SPONSORED'),
        ...(codec.fundingBalanceCall === undefined ? {} : { fundingAddress: terms.fundingAddress }),
        prefundWei: codec.need(op, terms.options).entryPoint,
        validUntil: terms.validUntil as EpochSeconds,
      };
      const asked = request(op, promise, { count, spend }, paymasterId);
      const { contract, fundingAddress } = promise;
      // As a server does for a wallet whose balance nobody has read yet.
      if (fundingAddress !== undefined) await follower.ensureAccount({ contract, fundingAddress });
      if ((await reserve(asked)).outcome !== 'reserved') return undefined;
      return { request: asked, signed: await sponsorUserOp(devChain, profile, account, op, terms) };
    },

    /** Reserves and signs a token payment of an account that will not pay; undefined when the store refuses. */
    async promiseTokens(
      account: TestAccount,
      op: FinalUserOperation,
      change: Partial<TokenTerms> & { readonly paymasterId?: string } = {},
    ): Promise<Promised | undefined> {
      const { paymasterId, ...overrides } = change;
      const terms = await tokenTerms(devChain, profile, overrides);
      const codec = tokenCodecOf(profile);
      const need = codec.need(op, terms.options);
      const promise: SignedPromise = {
        digest: toDigest(codec.hash(op, terms)),
        mode: 'ERC20',
        contract: contractOf('ERC20'),
        // The account of the tokens in our contracts.
        ...(codec.tokenAccountCall === undefined
          ? {}
          : { fundingAddress: toAddressKey(devChain.deployments.treasury) }),
        token: terms.token,
        prefundWei: need.entryPoint,
        validUntil: terms.validUntil as EpochSeconds,
      };
      const unsecured = maxLost(codec, op, terms, { need, payer: promise.fundingAddress });
      const asked = request(op, promise, { count: 0, spend: 0 }, paymasterId, unsecured);
      if ((await reserve(asked)).outcome !== 'reserved') return undefined;
      return { request: asked, signed: await payInTokens(devChain, profile, account, op, terms) };
    },

    round: () => follower.round(),

    /** What is recorded, as a server reads it. */
    openLedger: async (): Promise<StoredLedger> =>
      database === undefined
        ? createSqliteLedger({ path: `${directory.path}/usage.db` })
        : createPostgresLedger({ address: parsePostgresUrl('url', database), clock }),

    /** Runs rounds until nothing is left to do at once. Resolves with the number of things done, by kind. */
    async settle() {
      const did = { settled: 0, released: 0, forfeited: 0, unpaid: 0, unattributed: 0, restored: 0 };
      for (let isComplete = false; !isComplete;) {
        const round = await follower.round();
        isComplete = round.isComplete;
        for (const kind of Object.keys(did) as (keyof typeof did)[]) did[kind] += round[kind];
      }
      return did;
    },

    /** Operations and gwei of the limits, settled or promised. */
    async used(): Promise<readonly number[]> {
      const counters = await usage.counters(devChain.chainId, [
        { counter: 'count', unit: 'COUNT' },
        { counter: 'spend', unit: 'NATIVE_ASSET' },
      ]);
      return counters.map(({ used, reserved }) => used + reserved);
    },

    /** Gwei that the contract's token mode, and this account in it, have lost. */
    async losses(account: TestAccount): Promise<readonly number[]> {
      const of = { chainId: devChain.chainId, contract: contractOf('ERC20') };
      const now = usage.now();
      // The day may have turned since they were counted.
      const days = [plusMs(now, -86_400_000), now].map((at) => contractLosses(of, at));
      const asked = [...days, ...accountLosses(of, account.address, now)];
      const [before = 0, today = 0, ...ofAccount] = (await usage.counters(devChain.chainId, asked)).map(
        ({ used }) => used,
      );
      return [before + today, Math.max(...ofAccount)];
    },

    live: () => usage.liveCount(devChain.chainId),

    /** Gwei that the store knows of the token contract's deposit, and of the balance inside it that pays. */
    async funds(): Promise<readonly (number | undefined)[]> {
      const payer = toAddressKey(devChain.deployments.treasury);
      const known = (await usage.accounts(devChain.chainId)).filter(
        ({ contract }) => contract === contractOf('ERC20'),
      );
      const of = (fundingAddress: AddressKey | undefined) =>
        known.filter((one) => one.fundingAddress === fundingAddress).map(({ balance }) => balance);
      return [...of(undefined), ...of(payer)];
    },

    /** Time passes on the clock, with a round in each five seconds. Resolves with the number of things done, by kind. */
    async follow(seconds: number) {
      const did = { settled: 0, unpaid: 0, unattributed: 0, passedOver: 0 };
      for (let second = 0; second < seconds; second += 5) {
        ahead += 5_000;
        const round = await follower.round();
        for (const kind of Object.keys(did) as (keyof typeof did)[]) did[kind] += round[kind];
      }
      return did;
    },

    /** Time passes on the chain and on the clock, and a block is mined. */
    async pass(seconds: number, blocks = 1): Promise<void> {
      ahead += seconds * 1_000;
      await devChain.chain.request('evm_increaseTime', [seconds]);
      await devChain.chain.request('anvil_mine', [`0x${blocks.toString(16)}`]);
    },

    async stop(): Promise<void> {
      for (const each of opened) await each.stop();
      directory.remove();
    },
  };
}

export type FollowedDevChain = Awaited<ReturnType<typeof followDevChain>>;

function openAlone(path: string, clock: Clock): OpenedStore {
  const usage = createSqliteUsageStore({
    path: `${path}/usage.db`,
    clock,
    log: silentLogger,
    durability: 'process',
  });
  const { recovery, ledger: records, prices: priceReferences } = usage;
  return { usage, recovery, records, priceReferences, stop: () => usage.stop() };
}
