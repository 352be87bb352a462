import type { Head } from '../../core/chain/heads.js';
import { coversOrdinary } from '../../core/policy/ordinary-operation.js';
import { fundsSubject, type FundsTrouble } from '../../core/reports/serving-reports.js';
import type { Clock, EpochMs } from '../../core/units/time.js';
import { accountName } from '../../core/usage/accounts.js';
import { exposureCounter, shareCounter } from '../../core/usage/counter-names.js';
import type { AccountId, CounterId } from '../../core/usage/reservation.js';
import type { AccountBalance } from '../../core/usage/reserve-request.js';
import { contractLosses } from '../../core/usage/token-losses.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { ReportBoard } from '../ops/report-board.js';
import type { ConfigView } from '../view/config-view.js';
import { takePercent } from '../../core/units/wei.js';
import { organisationPercent, servesByDefault, type ServedChain } from '../view/served-chain.js';
import { inUseMs } from './meter.js';

const lookEveryMs = 5_000;
/** Not longer: another replica may follow the chain next, and reports under its own name. */
const standsMs = 30_000;
const weiPerGwei = 1_000_000_000n;

type FundsWatchDeps = {
  readonly usage: Pick<UsageStore, 'now' | 'accounts' | 'counters'>;
  readonly board: Pick<ReportBoard, 'set' | 'clear' | 'has'>;
  readonly view: Pick<ConfigView, 'chain' | 'organisationsOn'>;
  readonly clock: Clock;
};

export type FundsWatch = ReturnType<typeof createFundsWatch>;

/** What live promises leave of an account or a budget, in gwei. */
type Left = { readonly subject: string; readonly trouble: FundsTrouble; readonly left: number };

/**
 * Tells the operator when live promises leave too little for an ordinary operation. The operator sees what accounts hold on chain,
 * and not what is promised of it. Anyone with a key can bring this about, so no decision depends on it.
 */
export function createFundsWatch({ usage, board, view, clock }: FundsWatchDeps) {
  const lookedAt = new Map<number, EpochMs>();

  async function checkFunds(chain: ServedChain, fee: bigint): Promise<void> {
    const accounts = await usage.accounts(chain.chainId);
    for (const { subject, trouble, left } of [
      ...accountsLeft(chain, accounts, usage.now()),
      ...(await countersLeft(chain, accounts)),
    ])
      if (coversOrdinary(BigInt(left) * weiPerGwei, fee, board.has(subject))) board.clear(subject);
      else board.set(subject, trouble, clock.now() + standsMs);
  }

  /** Shares of organisations, and budgets for token losses. */
  async function countersLeft(
    chain: ServedChain,
    accounts: readonly AccountBalance[],
  ): Promise<readonly Left[]> {
    const bounds = [
      ...sharesOn(chain, accounts, view.organisationsOn(chain.chainId)),
      ...budgetsOn(chain, usage.now()),
    ];
    if (bounds.length === 0) return [];
    const asked = bounds.flatMap(({ counter, losses = [] }) => [
      { counter, unit: 'NATIVE_ASSET' as const },
      ...losses,
    ]);
    const states = await usage.counters(chain.chainId, asked);
    const stateByCounter = new Map(asked.map(({ counter }, index) => [counter, states[index]]));
    return bounds.map(({ subject, trouble, counter, most, losses = [] }) => {
      const reserved = stateByCounter.get(counter)?.reserved ?? 0;
      const lost = losses.reduce((sum, of) => sum + (stateByCounter.get(of.counter)?.used ?? 0), 0);
      // While nothing is promised from a share, one operation passes, whatever it costs.
      const left = reserved === 0 && trouble === 'ShareFull' ? Infinity : most - reserved - lost;
      return { subject, trouble, left: bounded(left) };
    });
  }

  return {
    /** Called after each round of a chain that this replica follows. Throws UNAVAILABLE. */
    async followed(chainId: number, head: Pick<Head, 'baseFeePerGas' | 'priorityFeePerGas'> | undefined) {
      const chain = view.chain(chainId);
      const now = clock.now();
      if (chain === undefined || head === undefined || now - (lookedAt.get(chainId) ?? 0) < lookEveryMs)
        return;
      lookedAt.set(chainId, now);
      await checkFunds(chain, head.baseFeePerGas + head.priorityFeePerGas);
    },
  };
}

type Bound = {
  readonly subject: string;
  readonly trouble: FundsTrouble;
  readonly counter: string;
  /** Gwei. */
  readonly most: number;
  /** Counters of today's losses; a budget has them. */
  readonly losses?: readonly CounterId[];
};

/** Wallets that nobody uses are not read, so their balances are old. */
function accountsLeft(
  { chainId }: ServedChain,
  accounts: readonly AccountBalance[],
  now: EpochMs,
): readonly Left[] {
  return accounts.map((account) => {
    const { balance, reserved, readAt = 0 } = account;
    const left = balance === undefined || now - readAt > inUseMs ? Infinity : balance - reserved;
    return { subject: fundsSubject(chainId, account), trouble: 'Promised', left: bounded(left) };
  });
}

function sharesOn(
  { chainId, profiles }: ServedChain,
  accounts: readonly AccountBalance[],
  organisations: ReadonlyMap<string, ReadonlySet<string>>,
): readonly Bound[] {
  const balances = new Map(accounts.map((account) => [accountName(account), account.balance ?? 0]));
  return [...profiles.values()].flatMap((profile) => {
    const { keepsBalances, contractKey: contract, defaultFunding, version } = profile;
    if (keepsBalances && defaultFunding === undefined) return [];
    const account: AccountId =
      keepsBalances && defaultFunding !== undefined
        ? { contract, fundingAddress: defaultFunding.address }
        : { contract };
    const balance = balances.get(accountName(account)) ?? 0;
    const sharing = [...(organisations.get(version) ?? [])].filter(
      (organisation) => !keepsBalances || servesByDefault(profile, organisation),
    );
    return sharing.flatMap((organisation) => {
      const percent = organisationPercent(profile, organisation);
      // The account itself is watched, and a share of 100 % would only repeat it.
      if (percent === 100) return [];
      return [
        {
          subject: fundsSubject(chainId, account, { organisation }),
          trouble: 'ShareFull' as const,
          counter: shareCounter(account, organisation),
          most: takePercent(balance, percent),
        },
      ];
    });
  });
}

function budgetsOn({ chainId, profiles }: ServedChain, now: EpochMs): readonly Bound[] {
  const byContract = new Map<string, Bound>();
  for (const { token } of profiles.values()) {
    if (token === undefined || token.isSecured) continue;
    const { contractKey: contract, lossBudget } = token;
    const known = byContract.get(contract);
    // Versions that share a contract share its counters, but may have different budgets.
    byContract.set(contract, {
      subject: fundsSubject(chainId, { contract }, 'tokens'),
      trouble: 'TokenBudgetFull',
      counter: exposureCounter(contract, 'all'),
      most: Math.max(known?.most ?? 0, lossBudget),
      losses: [contractLosses({ chainId, contract }, now)],
    });
  }
  return [...byContract.values()];
}

/** Finite, so that it can be compared as an integer. */
function bounded(left: number): number {
  return Math.max(0, Math.min(left, Number.MAX_SAFE_INTEGER));
}
