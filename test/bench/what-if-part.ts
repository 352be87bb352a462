import { tmpdir } from 'node:os';
import { derivePaymasterId } from '../../core/config/ids.js';
import type { EpochMs } from '../../core/units/time.js';
import { runWhatIf } from '../../server/what-if/run.js';
import {
  openPostgresLedger,
  openSqliteLedger,
  type WrittenLedger,
} from '../adapters/store/ledger/written.js';
import { anOrganisation, aPaymaster } from '../build/resources.js';
import { holdsOf } from '../support/loop-holds.js';
import { startPostgres } from '../support/postgres.js';
import type { Goal } from './goals.js';
import type { BenchOptions } from './options.js';
import { fillLedger, ledgerMonth } from './ledger-load.js';

const { organisation: tenant } = ledgerMonth;

/** What a what-if over a million decisions takes, and costs the thread that passes them on: with SQLite that which signs. */
export async function measureWhatIf({
  count,
}: Pick<BenchOptions, 'count'>): Promise<{ readonly goals: readonly Goal[] }> {
  const decisions = count(1_000_000);
  const sqlite = await openSqliteLedger();
  const goals: Goal[] = [];
  try {
    goals.push(...(await measure('SQLite', sqlite, decisions)));
  } finally {
    await sqlite.stop();
  }
  const server = await startPostgres({ folder: tmpdir() });
  try {
    const postgres = openPostgresLedger(await server.createDatabase());
    goals.push(...(await measure('PostgreSQL', postgres, decisions)));
    await postgres.stop();
  } finally {
    await server.stop();
  }
  return { goals };
}

async function measure(store: string, ledger: WrittenLedger, decisions: number): Promise<readonly Goal[]> {
  const paymasterId = derivePaymasterId(tenant, 'shop');
  await fillLedger(ledger, decisions, paymasterId);
  const limit = {
    apiVersion: 'paymasters.dev/v1alpha1',
    kind: 'PaymasterPolicy',
    metadata: { name: 'each', namespace: tenant },
    spec: {
      paymasterRef: { name: 'shop' },
      name: 'each',
      policyType: 'PAYMASTER_SA_LIMIT',
      spendingLimit: {
        scope: 'SMART_ACCOUNT',
        cycleDuration: { value: 1, unit: 'day' },
        threshold: '10',
        thresholdType: 'COUNT',
      },
    },
  };
  const deps = {
    ledger,
    resources: {
      get: async () => aPaymaster({ meta: { name: 'shop', namespace: tenant } }) as never,
      page: async () => ({ items: [], next: undefined }) as never,
    },
    configs: { getLatest: async () => undefined, getPaymaster: async () => undefined },
  };
  const begun = performance.now();
  let judged = 0;
  const { longestMs } = await holdsOf(async () => {
    const answer = await runWhatIf(deps, {
      organisation: anOrganisation({ meta: { name: tenant } }),
      tenant: tenant as never,
      namespace: tenant,
      now: Date.now() as EpochMs,
      from: ledgerMonth.from,
      to: ledgerMonth.to,
      quotas: {},
      webhookUrls: {},
      resources: JSON.stringify(limit),
      gone: new AbortController().signal,
    });
    ({ judged } = answer);
  });
  const seconds = (performance.now() - begun) / 1_000;
  return [
    {
      name: `what-if, ${store}: decisions judged`,
      value: judged,
      unit: 'count',
      required: { atLeast: decisions },
    },
    { name: `what-if, ${store}: seconds`, value: seconds, unit: 's', required: { atMost: 120 } },
    {
      name: `what-if, ${store}: longest hold of the event loop`,
      value: longestMs,
      unit: 'ms',
      required: { atMost: 20 },
    },
  ];
}
