import { createSqliteUsageStore } from '../../../adapters/store/sqlite/usage.js';
import type { ChainConfig } from '../../../core/config/chain-config.js';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import { isDomainError } from '../../../core/errors.js';
import type { DecisionInputs } from '../../../core/ledger/record.js';
import { silentLogger } from '../../../core/log.js';
import { noMetrics } from '../../../core/metrics.js';
import { priced } from '../../../core/pricing/price-source.js';
import { pass, refuse } from '../../../core/refusal.js';
import { toAddressKey } from '../../../core/units/address.js';
import { toSeconds, type EpochSeconds } from '../../../core/units/time.js';
import { gwei, type Gwei } from '../../../core/units/wei.js';
import type { Cursor, FollowerStep } from '../../../core/usage/follower-step.js';
import type { AccountId, Reservation } from '../../../core/usage/reservation.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import { parseUserOperation } from '../../../core/userop/parse.js';
import { createDecisionRecords } from '../../../server/decision/decision-record.js';
import { tokenMode } from '../../../server/decision/token/in-tokens.js';
import { formatInputs } from '../../../server/decision/inputs-text.js';
import type { Sponsorship } from '../../../server/decision/request.js';
import { createSponsor } from '../../../server/decision/sign/sign.js';
import { createSigningBatch } from '../../../server/decision/sign/signing-batch.js';
import { payerOf } from '../../../server/decision/steps/sponsored-case.js';
import { sponsoredMode } from '../../../server/decision/steps/sponsored.js';
import { createCommit, createFinalize } from '../../../server/decision/sign/two-phase.js';
import {
  createInputsRecords,
  type Ending as EndingHow,
  type InputsRecords,
} from '../../../server/ledger/inputs-records.js';
import type { Recording } from '../../../server/ledger/recording.js';
import { withOrder } from '../../../server/ledger/recording.js';
import { createRecordIds } from '../../../server/ledger/record-ids.js';
import { createInstruments } from '../../../server/ops/instruments.js';
import type { ReplayConfig } from '../../../server/replay/replayer.js';
import { serveChain } from '../../../server/view/served-chain.js';
import { servePaymaster } from '../../../server/view/served-paymaster.js';
import { createSharing } from '../../../server/view/sharing.js';
import { aClock } from '../../adapters/usage/clock.js';
import { addressOf, aChainConfig, someNow } from '../../build/configs.js';
import { aPrice, aTokenProfile, someTokenAccount, usdx } from '../../build/fee-tokens.js';
import { anOperation, anOperationWithoutLimits, execute } from '../../build/operations.js';
import { signsBy } from '../../build/signing.js';

/** What is asked of the world, with what chain and hosts would answer. Accounts with an odd number hold tokens. */
export type Asked = {
  readonly paymaster: number;
  readonly mode: 'SPONSORED' | 'ERC20';
  readonly phases: boolean;
  readonly sender: number;
  readonly nonce: number;
  readonly target: number;
  readonly maxFeePerGas: number;
  readonly givesLimits: boolean;
  readonly estimate: number;
  readonly reverts: boolean;
  readonly webhook: 'verified' | 'refused' | 'failed';
  readonly pays: boolean;
  readonly campaign?: string;
};

export type Ending = {
  /** Which of the live reservations, as a share of 1. */
  readonly which: number;
  readonly how: EndingHow['how'];
  readonly actualCost: number;
};

export type Round = {
  readonly asked: readonly Asked[];
  readonly endings: readonly Ending[];
  /** Milliseconds until the next round: 0, or more than a second, after which a follower frees commits. */
  readonly passes: number;
};

/** Recorded inputs, and the configuration under which they were recorded. */
export type Recorded = ReplayConfig & { readonly records: readonly DecisionInputs[] };

export type RecordingWorld = {
  /** Default: tokens and three profiles. */
  readonly chain?: ChainConfig;
  /** An empty store over this clock, which belongs to the caller. Default: the embedded one, in memory. */
  readonly store?: { readonly usage: UsageStore; readonly clock: ReturnType<typeof aClock> };
  /** Gets every record too; it belongs to the caller. */
  readonly recording?: Pick<Recording, 'ids' | 'inputs' | 'refusals'>;
};

const someChain = aChainConfig({
  feeTokens: [usdx],
  profiles: ['1.1.0', 'singleton-0.7', 'hybrid-0.9'].map((version) => ({
    ...aTokenProfile(version),
    tokenSecured: true,
  })),
});
const manyTokens = 10n ** 30n;
const tokenAccount = toAddressKey(someTokenAccount);

/**
 * Runs real decisions over a usage store, with their inputs recorded as a server records them. The requests of a round run
 * at the same time, and while they run a follower ends reservations.
 */
export async function recordRounds(
  paymasters: readonly PaymasterConfig[],
  rounds: readonly Round[],
  { chain: chainConfig = someChain, store, recording }: RecordingWorld = {},
): Promise<Recorded> {
  const clock = store?.clock ?? aClock(someNow);
  const usage =
    store?.usage ??
    createSqliteUsageStore({ path: ':memory:', durability: 'process', clock, log: silentLogger });
  const { chainId } = chainConfig;
  const signer = {
    address: addressOf(1),
    implementation: 'test',
    sign: signsBy(() => new Uint8Array(65).fill(27)),
  };
  const chain = serveChain(chainConfig, { get: () => signer, recover: () => undefined }, silentLogger);
  const sharing = createSharing();
  const served = paymasters.map((config) => servePaymaster(config, sharing));
  const records: DecisionInputs[] = [];
  const ids = recording?.ids ?? createRecordIds(clock);
  const kept = createInputsRecords({
    offers: {
      add: (record) => {
        if (record.kind === 'inputs') records.push(record);
        return true;
      },
    },
    dropped: () => {},
  });
  const inputs: InputsRecords = {
    add: (...given) => {
      kept.add(...given);
      recording?.inputs?.add(...given);
    },
  };
  /** By the signature of their operation, which is its number. */
  const asked: Asked[] = [];
  const factsOf = ({ signature }: { readonly signature: string }): Asked => asked[Number(signature)]!;
  const shared = {
    view: {
      chain: () => chain,
      isStale: () => false,
      addressList: () => undefined,
      isCurrent: () => true,
      refresh: async (id: string) => served.find(({ paymasterId }) => paymasterId === id),
    },
    clock,
    heads: {
      get: () => ({
        number: 1,
        timestamp: toSeconds(clock.now()),
        baseFeePerGas: 1_000_000_000n,
        priorityFeePerGas: 1_000_000_000n,
        observedAt: clock.now(),
      }),
    },
    dataFees: { get: () => undefined },
    estimator: {
      estimate: async ({ op }: { readonly op: { readonly signature: string } }) => {
        const { estimate, reverts } = factsOf(op);
        return {
          callGasLimit: BigInt(estimate),
          verificationGasLimit: 150_000n,
          preVerificationGas: 50_000n,
          ...(reverts ? { reverted: 'out of stock' } : {}),
        };
      },
    },
    hosts: {
      call: async ({
        policies,
        requestId,
      }: {
        readonly policies: readonly object[];
        readonly requestId: string;
      }) => {
        const { webhook } = asked[Number(requestId)]!;
        return policies.map(() => ({ verdict: webhook as 'failed', detail: 'as asked' }));
      },
    },
    prices: {
      peek: () => priced(aPrice()),
      get: async () => priced(aPrice()),
      usdPerNative: () => undefined,
    },
    tokenAccounts: { payer: () => tokenAccount, known: () => [] },
    payments: {
      ground: async () => ({ block: 0, receivers: [] }),
      holdings: async ({ account }: { readonly account: string }) => {
        const held = BigInt(account) % 2n === 0n ? 0n : manyTokens;
        return { balance: held, allowance: held };
      },
      check: async ({ op }: { readonly op: { readonly signature: string } }) =>
        factsOf(op).pays ? pass : refuse('TOKEN_PAYMENT_FAILS', 'as asked'),
    },
    accounts: { validate: async () => pass },
    signing: createSigningBatch({ instruments: createInstruments(noMetrics) }),
    usage: withOrder({
      now: () => usage.now(),
      capacity: () => usage.capacity(),
      reserve: (request) => usage.reserve(request),
      peek: (request) => usage.peek(request),
    } satisfies Pick<UsageStore, 'now' | 'capacity' | 'reserve' | 'peek'>),
    records: createDecisionRecords({
      ids,
      inputs,
      refusals: recording?.refusals ?? { add: (_of, _reason, make) => make() },
    }),
  };
  const ways = { SPONSORED: waysOf(sponsoredMode(shared)), ERC20: waysOf(tokenMode(shared)) };

  function waysOf(mode: ReturnType<typeof sponsoredMode> | ReturnType<typeof tokenMode>) {
    // Both modes take the request below, which has the members of either.
    const any = mode as ReturnType<typeof tokenMode>;
    return {
      once: createSponsor(shared, any),
      commit: createCommit(shared, any),
      finalize: createFinalize(shared, any, any.finalize),
    };
  }

  async function ask(one: Asked): Promise<void> {
    const number = asked.push(one) - 1;
    const paymaster = served[one.paymaster % served.length]!;
    const { entryPointVersion, readsTail } = chain.profiles.get(paymaster.version)!;
    const call = {
      ...(one.givesLimits ? anOperation() : anOperationWithoutLimits()),
      sender: addressOf(0x5e00 + one.sender),
      nonce: one.nonce,
      callData: execute(addressOf(one.target)),
      maxFeePerGas: one.maxFeePerGas,
      signature: `0x${number.toString(16).padStart(8, '0')}`,
    };
    const request = {
      op: parseUserOperation(call, entryPointVersion),
      calculateGasLimits: undefined,
      expirySeconds: undefined,
      webhookData: { secret: 'of the caller' },
      requestId: String(number),
      ...(one.campaign === undefined ? {} : { campaign: one.campaign }),
      method: 'pm_sponsorUserOperation',
      feeToken: toAddressKey(usdx.address as `0x${string}`),
    };
    const { once, commit, finalize } = ways[one.mode];
    if (!one.phases || !readsTail) return void (await unlessRefusedByError(once(paymaster, request)));
    const committed = await unlessRefusedByError(commit(paymaster, { ...request, phase: 'commit' }));
    if (committed?.outcome !== 'sponsored') return;
    const { op, paymasterAndData } = committed;
    await unlessRefusedByError(
      finalize(paymaster, {
        ...request,
        op,
        calculateGasLimits: false,
        phase: 'finalize',
        committed: paymasterAndData,
      }),
    );
  }

  let cursor: Cursor | undefined;
  const ended: { readonly reservation: Reservation; readonly spent: number | undefined }[] = [];

  async function step(part: Partial<FollowerStep>) {
    const next = {
      blockNumber: (cursor?.blockNumber ?? 0) + 1,
      blockHash: '0x' as const,
      timestamp: 0 as EpochSeconds,
    };
    const nothing = { settled: [], released: [], forfeited: [], charges: [], restored: [], balances: [] };
    const result = await usage.advance({
      ...nothing,
      ...part,
      chainId,
      expected: cursor,
      next,
      ordered: true,
    });
    if (!result.isTaken) throw new Error('a step of the only follower was not taken');
    cursor = next;
    return result;
  }

  async function end(live: Reservation[], { which, how, actualCost }: Ending): Promise<void> {
    const known = how === 'restored' ? ended.pop() : undefined;
    if (how === 'restored' && known === undefined) return;
    const [chosen] = known === undefined ? live.splice(Math.floor(which * live.length), 1) : [];
    const reservation = known?.reservation ?? chosen;
    if (reservation === undefined) return;
    const { key } = reservation;
    const cost: Gwei | undefined = reservation.promises.some(({ mode }) => mode === 'ERC20')
      ? undefined
      : gwei(actualCost);
    const { orders, ended: gone } = await step({
      ...(how === 'settled' ? { settled: [{ key, actualCost: cost }] } : {}),
      ...(how === 'released' ? { released: [{ key }] } : {}),
      ...(how === 'forfeited' ? { forfeited: [{ key }] } : {}),
      ...(known === undefined ? {} : { restored: [known.reservation], charges: undoOf(known) }),
    });
    const spent = {
      settled: cost,
      forfeited: Number.POSITIVE_INFINITY,
      released: undefined,
      restored: undefined,
    }[how];
    for (const one of gone) ended.push({ reservation: one, spent });
    const order = how === 'restored' ? orders?.restored : orders?.ended[0];
    if (order === undefined) return;
    const { paymasterId, entryPoint, sender, nonce } = key;
    const organisation = served.find((paymaster) => paymaster.paymasterId === paymasterId)!.tenant;
    const body = formatInputs({
      kind: 'ending',
      how,
      entryPoint,
      sender,
      nonce,
      ...(how === 'settled' && cost !== undefined ? { actualCost: cost } : {}),
    });
    inputs.add({ ...ids.next(), organisation, paymasterId, chainId }, order, body);
  }

  const accounts = new Map<string, AccountId>();
  for (const paymaster of served) {
    const profile = chain.profiles.get(paymaster.version)!;
    for (const [contract, fundingAddress] of [
      [profile.contractKey, undefined],
      [profile.contractKey, payerOf(profile, paymaster)],
      [profile.token?.contractKey, undefined],
      [profile.token?.contractKey, tokenAccount],
    ] as const)
      if (contract !== undefined)
        accounts.set(
          `${contract} ${fundingAddress}`,
          fundingAddress === undefined ? { contract } : { contract, fundingAddress },
        );
  }
  const readBalances = () =>
    step({
      balances: [...accounts.values()].map((id) => ({ ...id, balance: gwei(1e15), readAt: clock.now() })),
    });

  try {
    await readBalances();
    for (const round of rounds) {
      const running = round.asked.map(ask);
      const live = round.endings.length === 0 ? [] : [...(await usage.reservations(chainId))];
      const promised = live.filter(({ promises }) => promises.length > 0);
      for (const ending of round.endings) await end(promised, ending);
      await Promise.all(running);
      if (round.passes === 0) continue;
      clock.advance(round.passes);
      await usage.dropCommits(chainId);
      await readBalances();
    }
  } finally {
    if (store === undefined) await usage.stop();
  }
  return {
    paymasters,
    chains: [chainConfig],
    records: records.toSorted((a, b) => a.sequence - b.sequence || (a.id < b.id ? -1 : 1)),
  };
}

/** What is refused with an error is not recorded. */
async function unlessRefusedByError(asking: Promise<Sponsorship>): Promise<Sponsorship | undefined> {
  try {
    return await asking;
  } catch (error) {
    if (!isDomainError(error) || error.code === 'INTERNAL' || error.code === 'UNAVAILABLE') throw error;
    return undefined;
  }
}

function undoOf({
  reservation,
  spent,
}: {
  readonly reservation: Reservation;
  readonly spent: number | undefined;
}): FollowerStep['charges'] {
  if (spent === undefined) return [];
  return reservation.limits.map(({ counter, unit, until, cost }) => ({
    counter,
    unit,
    until,
    amount: -(unit === 'COUNT' ? cost : Math.min(spent, cost)),
  }));
}
