import type { Ambient } from '../../core/ambient.js';
import { DomainError } from '../../core/errors.js';
import { formatTokenLossReport, type Reports, type TokenLossReport } from '../../core/reports/reports.js';
import { contractLosses } from '../../core/usage/token-losses.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { EpochMs } from '../../core/units/time.js';
import type { ServedChain } from '../view/served-chain.js';

type LossReporterDeps = Pick<Ambient, 'clock' | 'log'> & {
  readonly usage: Pick<UsageStore, 'now' | 'counters'>;
  readonly reports: Pick<Reports, 'merge'>;
  readonly chain: (chainId: number) => ServedChain | undefined;
};

export type LossReporter = ReturnType<typeof createLossReporter>;

/** A raised budget, and the end of a day, are noticed after this time. */
const lookEveryMs = 5_000;
/** The written report is read and compared after this time even when nothing changed: somebody may have deleted it. */
const repeatMs = 10 * 60_000;

type Told = {
  lookedAt: EpochMs;
  flight: Promise<void> | undefined;
  report: string | undefined;
  toldAt: EpochMs;
  hasFailed: boolean;
};

/**
 * Reports to the operator which token modes have stopped, by the same counters that refuse requests. Runs apart from the
 * follower's rounds: when the control plane is away, the follower must still settle.
 */
export function createLossReporter({ usage, reports, chain, clock, log }: LossReporterDeps) {
  const chains = new Map<number, Told>();
  let isStopped = false;

  function ensureTold(chainId: number): Told {
    const present = chains.get(chainId);
    if (present !== undefined) return present;
    const never = Number.NEGATIVE_INFINITY as EpochMs;
    const told: Told = {
      lookedAt: never,
      flight: undefined,
      report: undefined,
      toldAt: never,
      hasFailed: false,
    };
    chains.set(chainId, told);
    return told;
  }

  async function reportLosses(chainId: number, told: Told): Promise<void> {
    const served = chain(chainId);
    if (served === undefined) return;
    try {
      const report = await readLosses(usage, served);
      if (report === undefined) return;
      const text = formatTokenLossReport(report);
      const now = clock.now();
      if (text === told.report && now - told.toldAt < repeatMs) return;
      await reports.merge('losses', new Map([[String(chainId), report]]));
      if (text !== told.report && report.stopped.length > 0)
        log.error('token losses are high: operations that paid no token cost more than half of the budget', {
          chainId,
          versions: report.stopped.map(({ version }) => version),
        });
      Object.assign(told, { report: text, toldAt: now, hasFailed: false });
    } catch (error) {
      // Logged once; the next rounds try again.
      if (!told.hasFailed) log.warn('reporting token losses failed', { chainId, error });
      told.hasFailed = true;
    }
  }

  return {
    /** Called after each round of a chain that this replica follows. Checks losses from time to time, and at once after a loss; never throws. */
    followed(chainId: number, { unpaid }: { readonly unpaid: number }): void {
      const told = ensureTold(chainId);
      const now = clock.now();
      if (isStopped || told.flight !== undefined) return;
      if (unpaid === 0 && now - told.lookedAt < lookEveryMs) return;
      told.lookedAt = now;
      told.flight = reportLosses(chainId, told).finally(() => (told.flight = undefined));
    },
    /** Resolves when no report is in progress; nothing is reported afterwards. May be called twice. */
    async stop(): Promise<void> {
      isStopped = true;
      for (const { flight } of chains.values()) await flight;
    },
  };
}

/** The token modes that have stopped; undefined if the chain has no token mode. Throws UNAVAILABLE. */
async function readLosses(
  usage: Pick<UsageStore, 'now' | 'counters'>,
  { chainId, profiles }: ServedChain,
): Promise<TokenLossReport | undefined> {
  const modes = [...profiles.values()].flatMap(({ version, token }) =>
    token === undefined ? [] : [{ version, ...token }],
  );
  if (modes.length === 0) return undefined;
  // Versions that share a contract share its counter, but may have different budgets.
  const contracts = [...new Set(modes.map(({ contractKey }) => contractKey))];
  const losses = contracts.map((contract) => contractLosses({ chainId, contract }, usage.now()));
  const counters = await usage.counters(chainId, losses);
  const stopped = modes.flatMap(({ version, contractKey, lossBudget }) => {
    const index = contracts.indexOf(contractKey);
    const [used, until] = [counters[index]?.used, losses[index]?.window.until];
    if (used === undefined || until === undefined)
      throw new DomainError('INTERNAL', 'the usage store answered fewer counters than were asked');
    // Payments that are not mined yet hold the rest of the budget. A person should look when more than half of it is lost.
    return 2 * used > lossBudget ? [{ version, until }] : [];
  });
  return { stopped };
}
