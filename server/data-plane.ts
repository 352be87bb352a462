import { createDataFees, type KeptDataFees } from '../adapters/data-fee/data-fees.js';
import { createAccountValidator } from '../adapters/estimator/account-validator.js';
import { createGasEstimator } from '../adapters/estimator/estimator.js';
import { createTokenPaymentChecker } from '../adapters/estimator/token-payment.js';
import { createPrices, type KeptPrices, type PricesDeps } from '../adapters/price/prices.js';
import type { Ambient } from '../core/ambient.js';
import type { Chains } from '../core/chain/chain.js';
import type { Heads } from '../core/chain/heads.js';
import type { ConfigStore } from '../core/config/config-store.js';
import type { Passes } from '../core/config/pass.js';
import type { LedgerWriter } from '../core/ledger/ledger.js';
import type { ObjectNames } from '../core/ledger/object-names.js';
import type { Signers } from '../core/paymaster/signer.js';
import type { TokenPaymentChecker } from '../core/paymaster/token-payment-checker.js';
import type { FollowerLease } from '../core/usage/follower-lease.js';
import type { PolicyHosts } from '../core/policy/policy-hosts.js';
import type { Reports } from '../core/reports/reports.js';
import type { PriceReferences } from '../core/pricing/price-jump.js';
import type { Refusal } from '../core/refusal.js';
import { given } from '../core/units/given.js';
import type { UsageRecovery } from '../core/usage/epoch.js';
import type { UsageStore } from '../core/usage/usage-store.js';
import type { AccountValidator } from '../core/userop/account-validation.js';
import type { GasEstimator } from '../core/userop/estimator.js';
import { decidingUsage } from './decision/deciding-usage.js';
import { createDecisionRecords } from './decision/decision-record.js';
import { createDelegates } from './decision/delegates.js';
import { peekDollars } from './decision/facts.js';
import type { ExplainedPayment } from './decision/request.js';
import { createExplain } from './decision/show/explain.js';
import { showSponsored } from './decision/show/show-sponsored.js';
import { showInTokens } from './decision/show/show-token.js';
import { createSponsor } from './decision/sign/sign.js';
import { createSignedHashes } from './decision/sign/signed-hashes.js';
import { createSigningBatch } from './decision/sign/signing-batch.js';
import { createStub } from './decision/sign/stub.js';
import { createTakeBack } from './decision/sign/take-back.js';
import { createCommit, createFinalize } from './decision/sign/two-phase.js';
import { withNewAccounts } from './decision/steps/new-accounts.js';
import { sponsoredMode } from './decision/steps/sponsored.js';
import { timeDependencies } from './decision/timing.js';
import { tokenMode } from './decision/token/in-tokens.js';
import { createQuote } from './decision/token/quote.js';
import { createTokenAccounts } from './decision/token/token-accounts.js';
import { createTokenList } from './decision/token/token-list.js';
import { createTokenRates } from './decision/token/token-rates.js';
import { followChains, noteServing, reportLosses } from './follow-chains.js';
import { createBodyAdmission } from './http/body-admission.js';
import { createRateLimiter } from './http/rate-limit.js';
import { createRequestIds } from './http/request-id.js';
import { createRecording } from './ledger/recording.js';
import type { LedgerRoom } from './ledger/room.js';
import { createServedNames } from './ledger/served-names.js';
import type { Instruments } from './ops/instruments.js';
import type { RecentRefusals } from './ops/recent-refusals.js';
import { createServedReport } from './ops/served-report.js';
import { createBundlers } from './rpc/bundlers.js';
import { createCallRunner } from './rpc/call-runner.js';
import { createMethods } from './rpc/methods.js';
import { createRpcRouter, type RequestBodies } from './rpc/router.js';
import { warmUp } from './rpc/warm-up.js';
import { createWebhookDelivery } from './rpc/webhook-delivery.js';
import { servingChecks, type Release } from './serving-checks.js';
import { createConfigView, type ConfigView } from './view/config-view.js';
import { createSeenGenerations } from './view/seen-generations.js';

export type DataPlaneDeps = Ambient & {
  readonly configs: Pick<ConfigStore, 'watch' | 'findByKey' | 'getPaymaster' | 'getChain'>;
  readonly usage: UsageStore;
  /** Decides which of the replicas that share the usage store follows a chain. Default: this one. */
  readonly lease?: FollowerLease;
  /** What the follower does when the usage store has lost its data. Default: nothing, since it has no way to recover. */
  readonly recovery?: UsageRecovery;
  /**
   * Where token modes that have stopped, full limits, failing webhooks and chains that are not followed are reported, for the operator.
   * Default: nowhere.
   */
  readonly reports?: Reports;
  readonly chains: Chains;
  readonly signers: Signers;
  readonly webhooks: PolicyHosts;
  /** Newest blocks and fees. Default: a follower of every served chain, which also settles reservations. */
  readonly heads?: Heads;
  /** Default: simulation on the chain's node, or its bundler where the node cannot simulate. */
  readonly estimator?: GasEstimator;
  /** Prices of fee tokens. Default: read from their sources, and kept warm. */
  readonly prices?: KeptPrices;
  /** The last accepted prices of all replicas. Default: those of this process. */
  readonly priceReferences?: PriceReferences;
  /** Prices of posted data. Default: read from the chains that have one. */
  readonly dataFees?: KeptDataFees;
  /** Directory of the header files that HTTP price sources name. */
  readonly priceHeadersDirectory?: string;
  /** Default: simulation on the chain's node. */
  readonly payments?: TokenPaymentChecker;
  /** Default: simulation on the chain's node. */
  readonly accounts?: AccountValidator;
  /** Proxies in front that each append to X-Forwarded-For, for rate limits per client. Default 0. */
  readonly trustedProxies?: number;
  /** Of dashboards that ask for explanations. Default: none are taken. */
  readonly passes?: Pick<Passes, 'admits'>;
  /** Remembers refused requests. Default: they are not remembered. */
  readonly recentRefusals?: Pick<RecentRefusals, 'note'>;
  /** Takes records of no promise; the usage store writes those of its turns itself. Default: nothing is recorded. */
  readonly ledger?: LedgerWriter;
  /** What other pods of the release have reached and mounted. Default: this process is alone. */
  readonly release?: Release;
  /** Keeps the names of served objects. Default: they are not kept. */
  readonly names?: Pick<ObjectNames, 'keep'>;
  /** What it has room for. Default: everything. */
  readonly ledgerRoom?: LedgerRoom;
  /** Refusals that it gets of a paymaster and reason. Default 20. */
  readonly refusalsPerSecond?: number;
  /** Nothing is signed on configs that the store has not confirmed for this long. Default 6 h. */
  readonly maxStalenessMs?: number;
  /** Pause between two polls of a chain. Default: 500 ms on a chain without confirmations, else 2,000 ms. */
  readonly pollMs?: number;
  readonly instruments: Instruments;
};

/** The rpc role: keeps the served configs current, and answers JSON-RPC. */
export function createDataPlane(deps: DataPlaneDeps) {
  const { chains, clock, log, instruments } = deps;
  const seen = createSeenGenerations({ usage: deps.usage, log });
  const names = deps.names && createServedNames({ names: deps.names, log });
  const view = createConfigView({
    ...deps,
    onSeen: (config) => {
      seen.note(config);
      served?.note();
    },
    ...given({ onServed: names?.note }),
  });
  const served =
    deps.reports && createServedReport({ ...deps, reports: deps.reports, reached: view.reached });
  const tokenAccounts = createTokenAccounts({ chains });
  const losses = reportLosses(deps, view);
  const recording =
    deps.ledger &&
    createRecording({
      ...deps,
      ledger: deps.ledger,
      usdPerNative: (chainId) => peekDollars(prices, view.chain(chainId)),
    });
  const records = recording && createDecisionRecords(recording);
  const recorded = records === undefined ? {} : { records };
  const notes = deps.reports && noteServing(deps, view, deps.reports);
  const prices = deps.prices ?? keepPrices(deps, view, notes?.priceRead);
  const follower =
    deps.heads === undefined
      ? followChains(deps, view, { tokenAccounts, losses, recording, notes })
      : undefined;
  const heads = deps.heads ?? follower?.heads ?? noHeads;
  const deciding = decidingUsage(deps.usage);
  const usage = follower === undefined ? deciding : withNewAccounts(deciding, follower, view);
  const simulation = {
    chains,
    endpoint: (chainId: number) => view.chain(chainId)?.config,
    clock,
  };
  const estimator = deps.estimator ?? createGasEstimator({ ...simulation, log });
  const payments = deps.payments ?? createTokenPaymentChecker(simulation);
  const accounts = deps.accounts ?? createAccountValidator(simulation);
  const dataFees = deps.dataFees ?? followDataFees(deps, view);
  const signing = createSigningBatch({ instruments });
  const waits = timeDependencies({ usage, estimator, hosts: deps.webhooks, payments, accounts }, instruments);
  const noted =
    notes === undefined
      ? waits
      : {
          ...waits,
          usage: { ...waits.usage, ...notes.ofUsage(waits.usage) },
          hosts: notes.ofWebhooks(waits.hosts),
        };
  const hashes = createSignedHashes();
  const takeBack = createTakeBack({ usage: deps.usage, recording, log });
  const shared = {
    view,
    heads,
    dataFees,
    clock,
    prices,
    tokenAccounts,
    delegates: createDelegates({ chains }),
    signing,
    hashes,
    takeBack,
    wouldRefuse: ({ reason }: Refusal) => instruments.wouldRefuse.with({ reason }).inc(),
    ...noted,
    ...recorded,
  };
  const sponsored = sponsoredMode(shared);
  const inTokens = tokenMode(shared);
  const methods = createMethods({
    view,
    clock,
    ...given({ passes: deps.passes }),
    sponsor: createSponsor(shared, sponsored),
    phases: {
      SPONSORED: {
        commit: createCommit(shared, sponsored),
        finalize: createFinalize(shared, sponsored, sponsored.finalize),
      },
      ERC20: {
        commit: createCommit(shared, inTokens),
        finalize: createFinalize(shared, inTokens, inTokens.finalize),
      },
    },
    sponsorStub: createStub(sponsored, { clock, isPayer: false, ...recorded }),
    explain: createExplain(view, sponsored, showSponsored),
    explainTokenPayment: createExplain(view, inTokens, (gathered, trace, { choice }: ExplainedPayment) =>
      showInTokens(shared, gathered, trace, choice),
    ),
    quoteFees: createQuote(shared),
    payInTokens: createSponsor(shared, inTokens),
    tokenStub: createStub(inTokens, { clock, isPayer: true, ...recorded }),
    supportedTokens: createTokenList(shared),
    tokenRates: createTokenRates(shared),
    judge: createStub(sponsored, { clock, isPayer: false }),
    heads: shared.heads,
    usage: deps.usage,
    bundlers: createBundlers({ chains, view }),
  });
  const bodies = createRequestBodies();
  const rateLimiter = createRateLimiter({ clock });
  const requestIds = createRequestIds();
  let isWarm = false;

  return {
    view,
    bodies,
    /** Test deliveries of webhooks; false when a request is for another path. */
    deliver: createWebhookDelivery({
      view,
      webhooks: deps.webhooks,
      bodies: bodies.ofKeys,
      rateLimiter,
      requestIds,
      clock,
      log,
    }),
    route: createRpcRouter({
      view,
      calls: createCallRunner({
        methods,
        instruments,
        log,
        clock,
        ...(deps.recentRefusals === undefined ? {} : { recentRefusals: deps.recentRefusals }),
      }),
      rateLimiter,
      requestIds,
      bodies,
      trustedProxies: deps.trustedProxies ?? 0,
    }),
    checks: servingChecks({ ...deps, view, follower, isWarm: () => isWarm }),

    /** Resolves when configs are synced and the sponsor path is warm. */
    async start(): Promise<void> {
      await view.start();
      follower?.start();
      prices.start();
      dataFees.start();
      notes?.start();
      served?.start();
      recording?.start();
      names?.start();
      await warmUp(view.chains(), { signing, clock });
      isWarm = true;
    },
    async stop(): Promise<void> {
      isWarm = false;
      view.stop();
      seen.stop();
      await Promise.all([follower?.stop(), prices.stop(), dataFees.stop()]);
      await losses?.stop();
      await notes?.stop();
      await served?.stop();
      await recording?.stop();
      await names?.stop();
    },
  };
}

/**
 * The limit for a body has room for several operations with the largest callData that a bundler takes, in hex. A stranger's body only
 * decides the form of the error, so its limit is the size of an ordinary operation.
 */
function createRequestBodies(): RequestBodies {
  return {
    ofKeys: createBodyAdmission({ totalBytes: 64 * 1_048_576, bodyBytes: 1_048_576, withinMs: 5_000 }),
    ofStrangers: createBodyAdmission({ totalBytes: 4 * 1_048_576, bodyBytes: 16_384, withinMs: 1_000 }),
  };
}

function keepPrices(deps: DataPlaneDeps, view: ConfigView, onJudged: PricesDeps['onJudged']): KeptPrices {
  const { chains, clock, log, metrics, priceHeadersDirectory, priceReferences } = deps;
  return createPrices({
    chains,
    chainConfigs: createConfigReader(view),
    clock,
    log,
    metrics,
    ...given({ headersDirectory: priceHeadersDirectory, references: priceReferences, onJudged }),
  });
}

function followDataFees({ chains, clock, log, metrics }: DataPlaneDeps, view: ConfigView): KeptDataFees {
  return createDataFees({ chains, chainConfigs: createConfigReader(view), clock, log, metrics });
}

function createConfigReader(view: ConfigView) {
  return () => Array.from(view.chains(), ({ config }) => config);
}

const noHeads: Heads = { get: () => undefined };
