import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { DomainError } from '../../core/errors.js';
import type { ChangeLog } from '../../core/ledger/change.js';
import { derivePaymasterId } from '../../core/config/ids.js';
import type { ResourceEvent } from '../../core/resources/kubernetes-events.js';
import type { EpochMs } from '../../core/units/time.js';
import { aDecision, reservationOf } from '../conformance/ledger-records.js';
import { managePrefix } from '../../server/dashboard/endpoints.js';
import { openSqliteLedger, type WrittenLedger } from '../adapters/store/ledger/written.js';
import {
  acmeToken,
  chainId,
  otherToken,
  recordOf,
  startDashboard,
  type DashboardHost,
} from '../build/dashboard.js';

// Writes of REST are recorded, and an organisation reads its own.

let ledger: WrittenLedger;
let host: DashboardHost;
let isAway = false;
const events: ResourceEvent[] = [];
beforeAll(async () => {
  ledger = await openSqliteLedger();
  const stored = ledger.changes!;
  const changes: ChangeLog = {
    ...stored,
    record: async (write) => {
      if (isAway) throw new DomainError('UNAVAILABLE', 'the database is away');
      return stored.record(write);
    },
  };
  host = await startDashboard({
    ledger: { ...ledger, changes },
    events: { record: (event) => void events.push(event) },
  });
});
afterAll(async () => {
  await host.stop();
  await ledger.stop();
});

type Item = Readonly<Record<string, unknown>> & {
  readonly fields: readonly Readonly<Record<string, unknown>>[];
};

async function changes(query = '', token = acmeToken): Promise<readonly Item[]> {
  const response = await host.fetch(`${managePrefix}/changes${query}`, { headers: { authToken: token } });
  expect(response.status).toBe(200);
  const { items } = recordOf(recordOf(await response.json())['data']);
  return items as readonly Item[];
}

async function made(name: string): Promise<{ readonly key: string; readonly requestId: string | null }> {
  const answer = await host.call('POST', '/paymaster', {
    token: acmeToken,
    body: { name, type: 'HYBRID', chainId, version: '1.0.0' },
  });
  expect(answer.status).toBeLessThan(300);
  return { key: String(recordOf(answer.body.data)['apiKey']), requestId: answer.headers.get('x-request-id') };
}

async function addLimit(key: string, name: string): Promise<string> {
  const answer = await host.call('POST', '/paymaster-policy', {
    token: acmeToken,
    key,
    body: {
      name,
      policyType: 'PAYMASTER_SA_LIMIT',
      policyData: {
        type: 'SMART_ACCOUNT',
        cycleDuration: { value: 1, unit: 'day' },
        threshold: 10,
        thresholdType: 'COUNT',
      },
    },
  });
  expect(answer.status).toBeLessThan(300);
  return String(recordOf(answer.body.data)['_id']);
}

const pause = (key: string, id: string, token = acmeToken) =>
  host.call('PATCH', `/paymaster-policy/deactivate/${id}`, { token, key });

describe('GET /manage/v1/changes', () => {
  test('says who made and changed what, by which request', async () => {
    const { key, requestId } = await made('who');
    const id = await addLimit(key, 'a day');
    const paused = await pause(key, id);
    const [change, policy, paymaster] = await changes();
    expect(paymaster).toMatchObject({ action: 'created', kind: 'Paymaster', requestId });
    expect(policy).toMatchObject({ action: 'created', kind: 'PaymasterPolicy' });
    expect(change).toMatchObject({
      action: 'changed',
      requestId: paused.headers.get('x-request-id'),
      fields: [{ field: 'spec.active', before: null, after: 'false' }],
    });
    expect(await changes(`?actor=${encodeURIComponent(String(change!['actor']))}&limit=1`)).toEqual([change]);
  });

  test('a write is an event of its object, which names the token and the fields and not their values', async () => {
    const { key } = await made('told');
    const id = await addLimit(key, 'a day');
    events.length = 0;
    const paused = await pause(key, id);
    const requestId = paused.headers.get('x-request-id');
    const [change] = await changes();
    expect(events.map(({ object: { kind }, ...rest }) => ({ kind, ...rest }))).toEqual([
      {
        kind: 'PaymasterPolicy',
        type: 'Normal',
        reason: 'Changed',
        note: `By token ${String(change!['actor'])}, request ${requestId}: spec.active`,
      },
    ]);
  });

  test('a write that changes nothing names nobody', async () => {
    const { key } = await made('nothing');
    const id = await addLimit(key, 'a day');
    const before = await changes();
    const activate = await host.call('PATCH', `/paymaster-policy/activate/${id}`, { token: acmeToken, key });
    expect(activate.status).toBeLessThan(300);
    expect(await changes()).toEqual(before);
  });

  test('another organisation sees nothing of it, whatever it asks for', async () => {
    await made('hidden');
    expect(await changes('', otherToken)).toEqual([]);
    expect(await changes('?kind=Paymaster&name=hidden', otherToken)).toEqual([]);
    const page = await host.fetch(`${managePrefix}/changes?limit=1`, { headers: { authToken: acmeToken } });
    const cursor = String(recordOf(recordOf(await page.json())['data'])['nextCursor']);
    const stolen = await host.fetch(`${managePrefix}/changes?limit=1&cursor=${cursor}`, {
      headers: { authToken: otherToken },
    });
    expect(stolen.status).toBe(400);
  });

  test('a pause works while the record cannot be kept', async () => {
    const { key } = await made('away');
    const id = await addLimit(key, 'a day');
    isAway = true;
    try {
      expect((await pause(key, id)).status).toBe(200);
    } finally {
      isAway = false;
    }
  });

  test('a name that a spreadsheet would run is text in CSV, in a row for each field', async () => {
    const name = '=HYPERLINK("https://evil","x")';
    const { key } = await made('csv');
    await addLimit(key, name);
    const csv = await (
      await host.fetch(`${managePrefix}/changes?kind=PaymasterPolicy&limit=1`, {
        headers: { authToken: acmeToken, accept: 'text/csv' },
      })
    ).text();
    const row = csv.split('\r\n').find((line) => line.includes('HYPERLINK'));
    expect(row).toContain('spec.name');
    for (const cell of row!.split(',')) expect(cell).not.toMatch(/^"?[=+\-@]/);
  });
});

describe('usage with names', () => {
  const at = Date.parse('2026-01-31T12:00:00Z') as EpochMs;
  const used = async (name: string, nonce: bigint): Promise<void> => {
    const decision = aDecision('acme', at, {
      nonce,
      paymasterId: derivePaymasterId('acme', name),
      maxCostWei: 5n,
    });
    await ledger.append(reservationOf(decision));
  };
  const usage = async (query: string): Promise<readonly Readonly<Record<string, unknown>>[]> => {
    const range = 'from=2026-01-31T00:00:00Z&to=2026-02-01T00:00:00Z';
    const answer = await host.fetch(`${managePrefix}/usage?${range}&${query}`, {
      headers: { authToken: acmeToken },
    });
    const { data, detail } = recordOf(await answer.json());
    return data === undefined
      ? [{ detail }]
      : (recordOf(data)['items'] as readonly Readonly<Record<string, unknown>>[]);
  };
  const make = (name: string, shown: string, labels: Readonly<Record<string, string>>) =>
    host.fetch(`${managePrefix}/paymasters`, {
      method: 'POST',
      headers: { authToken: acmeToken, 'content-type': 'application/json' },
      body: JSON.stringify({
        name,
        labels,
        spec: { name: shown, chainId, type: 'HYBRID', version: '1.0.0' },
      }),
    });

  beforeAll(async () => {
    for (const [name, shown, team] of [
      ['one', 'First shop', 'red'],
      ['two', 'Second shop', 'red'],
      ['gone', 'Closed shop', 'blue'],
    ] as const)
      expect((await make(name, shown, { team })).status).toBe(201);
    await used('one', 1n);
    await used('two', 2n);
    await used('gone', 3n);
    const ended = await host.fetch(`${managePrefix}/paymasters/gone`, {
      method: 'DELETE',
      headers: { authToken: acmeToken },
    });
    expect(ended.status).toBeLessThan(300);
  });

  test('a paymaster has its name and labels beside its id, and one that was deleted the name that it had', async () => {
    const rows = await usage('groupBy=paymaster');
    expect(rows.map(({ name, labels }) => ({ name, labels }))).toEqual(
      expect.arrayContaining([
        { name: 'First shop', labels: { team: 'red' } },
        { name: 'Closed shop', labels: {} },
      ]),
    );
  });

  test('paymasters add up by a label, and to the same sum', async () => {
    const rows = await usage('groupBy=label&label=team');
    expect(
      rows.map(({ group, sponsored, promisedWei, senders }) => ({ group, sponsored, promisedWei, senders })),
    ).toEqual(
      expect.arrayContaining([
        { group: 'red', sponsored: 2, promisedWei: '10' },
        { group: '(none)', sponsored: 1, promisedWei: '5' },
      ]),
    );
    expect((await usage('groupBy=label'))[0]).toMatchObject({
      detail: expect.stringContaining('label must be given'),
    });
    expect(await usage('groupBy=label&label=__proto__')).toEqual([
      expect.objectContaining({ group: '(none)', sponsored: 3 }),
    ]);
  });
});
