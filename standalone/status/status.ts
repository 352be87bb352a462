import type { ConfigStore } from '../../core/config/config-store.js';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { isDomainError } from '../../core/errors.js';
import { tenantOfOrganisation } from '../../core/config/tenant.js';
import type { Ledger } from '../../core/ledger/ledger.js';
import type { UsageRow } from '../../core/ledger/query.js';
import type { ResourceStore } from '../../core/resources/resource-store.js';
import { formatInstant, type Clock, type EpochMs } from '../../core/units/time.js';
import { given } from '../../core/units/given.js';
import { formatDecimal, formatCoins } from '../../core/units/wei.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import { readRules } from '../../server/decision/show/read-rules.js';
import type { Rule } from '../../server/decision/show/rules.js';
import type { RecentRefusals } from '../../server/ops/recent-refusals.js';
import { readStates } from '../readiness.js';

/** The state of a running instance, for its owner. Amounts are text for people; times are RFC 3339. */
export type Status = Awaited<ReturnType<typeof readStatus>>;

export type RuleStatus = Rule & {
  /** `namespace/name` of the Paymaster. */
  readonly paymaster: string;
};

export type DepositStatus = {
  readonly chainId: number;
  readonly contract: string;
  readonly fundingAddress?: string;
  /** In coins; absent until it was read. */
  readonly balance?: string;
  readonly promised: string;
  readonly symbol: string;
};

export type SpentStatus = Status['spent'][number];

export type DecisionStatus = Status['decisions'][number];

type StatusDeps = {
  readonly ledger: Pick<Ledger, 'usage' | 'decisions'> | undefined;
  readonly resources: Pick<ResourceStore, 'list'>;
  readonly configs: Pick<ConfigStore, 'listPaymasters' | 'listChains' | 'getChain' | 'getList'>;
  readonly usage: Pick<UsageStore, 'counters' | 'accounts'>;
  readonly refusals: RecentRefusals;
  readonly clock: Clock;
};

/** Most paymasters whose rules are read, since each costs a read of the usage store. */
const maxPaymasters = 200;

export async function readStatus(deps: StatusDeps) {
  const missing: string[] = [];
  const configs = (await deps.configs.listPaymasters()).map(({ config }) => config);
  if (configs.length > maxPaymasters)
    missing.push(`rules of ${configs.length - maxPaymasters} more paymasters are left out`);
  const rules: RuleStatus[] = [];
  for (const config of configs.slice(0, maxPaymasters))
    rules.push(
      ...((await orMissing(missing, `rules of ${formatName(config)}`, () => readStatusRules(deps, config))) ??
        []),
    );
  const names = new Map(configs.map((config) => [config.paymasterId, formatName(config)]));
  const { spent, decisions } = await fromLedger(deps, names, missing);
  return {
    /** Of the last 24 hours, by organisation; empty without a ledger. */
    spent,
    /** Of all organisations, newest first; empty without a ledger. */
    decisions,
    time: formatInstant(deps.clock.now()),
    resources: await readStates(deps.resources),
    /** Every rule of each paymaster, with what it says now. */
    rules,
    deposits: await readDeposits(deps, missing),
    /** Newest first. */
    refusals: deps.refusals.list().map(({ at, paymasterId, method, reason, detail }) => ({
      at: formatInstant(at),
      paymaster: names.get(paymasterId) ?? paymasterId,
      method,
      reason,
      ...(detail === undefined ? {} : { detail }),
    })),
    /** What could not be read, and why. */
    missing,
  };
}

/** Organisations that the status asks the ledger about; a standalone server has few. */
const maxOrganisations = 20;
const shownDecisions = 10;
const dayMs = 86_400_000;

async function fromLedger(
  { ledger, resources, clock }: StatusDeps,
  names: ReadonlyMap<string, string>,
  missing: string[],
) {
  if (ledger === undefined) return { spent: [], decisions: [] };
  const tenants = (await resources.list('Organisation')).map(tenantOfOrganisation);
  if (tenants.length > maxOrganisations)
    missing.push(`spend of ${tenants.length - maxOrganisations} more organisations is left out`);
  const minute = 60_000;
  const to = (Math.ceil((clock.now() + 1) / minute) * minute) as EpochMs;
  const range = { from: (to - dayMs) as EpochMs, to };
  const found = await orMissing(missing, 'spend and decisions', () =>
    Promise.all(
      tenants.slice(0, maxOrganisations).map(async (organisation) => ({
        organisation,
        rows: await ledger.usage({
          organisation,
          ...range,
          paymasterId: undefined,
          groupBy: undefined,
          step: 'month',
          limit: 10,
        }),
        decisions: (await ledger.decisions({ organisation, ...range, limit: shownDecisions })).decisions,
      })),
    ),
  );
  const sum = (rows: readonly UsageRow[], name: 'sponsored' | 'refused' | 'mined'): number =>
    rows.reduce((total, row) => total + row[name], 0);
  return {
    spent: (found ?? []).map(({ organisation, rows }) => ({
      organisation,
      sponsored: sum(rows, 'sponsored'),
      refused: sum(rows, 'refused'),
      mined: sum(rows, 'mined'),
      /** In coins: the exact cost of mined operations. */
      spent: formatDecimal(
        rows.reduce((total, { spentWei }) => total + spentWei, 0n),
        18,
      ),
    })),
    decisions: (found ?? [])
      .flatMap(({ decisions }) => decisions)
      .toSorted((a, b) => (a.decision.id < b.decision.id ? 1 : -1))
      .slice(0, shownDecisions)
      .map(({ decision, settlement }) => ({
        at: formatInstant(decision.at),
        id: decision.id,
        paymaster: names.get(decision.paymasterId) ?? decision.paymasterId,
        sender: decision.sender,
        verdict: settlement?.outcome ?? decision.verdict,
        ...given({ reason: decision.reason }),
        // In coins; absent until it was mined.
        ...(settlement?.mined && { cost: formatDecimal(settlement.mined.actualGasCostWei, 18) }),
      })),
  };
}

async function readStatusRules(deps: StatusDeps, config: PaymasterConfig): Promise<readonly RuleStatus[]> {
  const rules = await readRules(deps, config, deps.clock.now());
  return rules.map((rule) => ({ paymaster: formatName(config), ...rule }));
}

async function readDeposits(
  { configs, usage }: StatusDeps,
  missing: string[],
): Promise<readonly DepositStatus[]> {
  const deposits: DepositStatus[] = [];
  for (const { config } of await configs.listChains()) {
    const { chainId, nativeCurrency } = config;
    const accounts = await orMissing(missing, `deposits on chain ${chainId}`, () => usage.accounts(chainId));
    for (const { contract, fundingAddress, balance, reserved } of accounts ?? [])
      deposits.push({
        chainId,
        contract,
        ...(fundingAddress === undefined ? {} : { fundingAddress }),
        ...(balance === undefined ? {} : { balance: formatCoins(balance) }),
        promised: formatCoins(reserved),
        symbol: nativeCurrency.symbol,
      });
  }
  return deposits;
}

/** A usage store that is down or lost must not hide everything else. */
async function orMissing<T>(missing: string[], what: string, read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!isDomainError(error, 'UNAVAILABLE')) throw error;
    missing.push(`${what}: ${error.message}`);
    return undefined;
  }
}

function formatName({ namespace, objectName }: PaymasterConfig): string {
  return `${namespace}/${objectName}`;
}
