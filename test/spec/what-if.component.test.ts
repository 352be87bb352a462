import { beforeAll, expect, test } from '@jest/globals';
import { managePrefix } from '../../server/dashboard/endpoints.js';
import { minRecordId } from '../../core/ledger/record-id.js';
import type { Decision } from '../../core/ledger/record.js';
import type { EpochMs } from '../../core/units/time.js';
import { someNow } from '../build/configs.js';
import {
  acmeToken,
  chainId,
  recordOf,
  type DashboardHost,
  type DashboardOptions,
} from '../build/dashboard.js';
import {
  aDecision,
  address,
  alone,
  aRefusal,
  aSettlement,
  reservationOf,
} from '../conformance/ledger-records.js';
import { createMemoryLedger } from '../fakes/memory-ledger.js';
import { until } from '../support/until.js';
import { useDashboard } from '../support/use-dashboard.js';

// What proposed rules would have done to recorded decisions. A real thread judges.

const ledger = createMemoryLedger();
const host = useDashboard({ ledger, operator: true, programmedTimeoutMs: 60_000 });

const iso = (ms: number): string => new Date(ms).toISOString();
const range = { from: iso(someNow), to: iso(someNow + 3_600_000) };
const at = (minute: number) => (someNow + minute * 60_000) as EpochMs;

let name: string;
let of: Partial<Decision>;
beforeAll(async () => {
  const body = { name: 'shop', type: 'HYBRID', chainId, version: '1.1.0' };
  const { body: answer } = await host.call('POST', '/paymaster', { token: acmeToken, body });
  const paymasterId = String(recordOf(answer.data)['paymasterId']);
  const stored = await host.configs.getPaymaster(paymasterId);
  const { objectName, namespace } = stored!.config;
  name = objectName;
  of = { paymasterId, organisation: namespace, chainId, maxCostWei: 1_000_000_000n, callsLeftOut: 0 };
  const signed = [0, 1, 2, 3].map((n) =>
    aDecision(namespace, at(n), { ...of, nonce: BigInt(n), sender: address(n % 2) }),
  );
  await ledger.append([
    ...signed.flatMap((one) => reservationOf(one)),
    ...alone(
      aRefusal(namespace, at(4), { ...of, reason: 'LIMIT_REACHED', nonce: 9n }),
      aRefusal(namespace, at(5), { ...of, reason: 'LIMIT_REACHED', maxCostWei: undefined }),
      aRefusal(namespace, at(6), { ...of, reason: 'DEPOSIT_TOO_LOW' }),
    ),
  ]);
});

const limit = (threshold: string, change: object = {}) => ({
  apiVersion: 'paymasters.dev/v1alpha1',
  kind: 'PaymasterPolicy',
  metadata: { name: 'proposed', namespace: 'acme' },
  spec: {
    paymasterRef: { name },
    name: 'proposed',
    policyType: 'PAYMASTER_SA_LIMIT',
    spendingLimit: {
      scope: 'PAYMASTER',
      cycleDuration: { value: 1, unit: 'day' },
      threshold,
      thresholdType: 'COUNT',
      ...change,
    },
  },
});

async function ask(
  resources: unknown,
  more: object = {},
  at: Pick<DashboardHost, 'fetch'> = host,
  signal?: AbortSignal,
) {
  const response = await at.fetch(`${managePrefix}/what-if`, {
    ...(signal !== undefined && { signal }),
    method: 'POST',
    headers: { authToken: acmeToken, 'Content-Type': 'application/json' },
    body: JSON.stringify({ ...range, resources, ...more }),
  });
  const answer = recordOf(await response.json());
  return { status: response.status, data: recordOf(answer['data']), detail: answer['detail'] };
}

test('a limit refuses what is beyond it, and lets pass what was refused below it', async () => {
  const { status, data } = await ask([limit('3')]);
  expect({ status, data }).toMatchObject({
    status: 200,
    data: {
      judged: 7,
      stillSigned: 3,
      wouldBeRefused: { count: 1, byReasonAndDay: [{ reason: 'LIMIT_REACHED', count: 1 }] },
      wouldPass: { count: 0 },
      stillRefused: 2,
      unknown: { count: 1, byReasonAndDay: [{ reason: 'LIMIT_REACHED' }] },
    },
  });
  expect((await ask([limit('5')])).data).toMatchObject({
    stillSigned: 4,
    wouldBeRefused: { count: 0 },
    wouldPass: { count: 1, examples: [{ reason: 'LIMIT_REACHED' }] },
    stillRefused: 1,
  });
});

test('of each account its own limit counts', async () => {
  const { data } = await ask([limit('1', { scope: 'SMART_ACCOUNT' })]);
  expect(data).toMatchObject({ stillSigned: 2, wouldBeRefused: { count: 2 } });
});

test('a promise that ended unused is free again, and one that was mined keeps its cost', async () => {
  const { organisation = '' } = of;
  const own = { ...of, paymasterId: of.paymasterId! };
  const first = aDecision(organisation, at(20), { ...own, nonce: 20n });
  const second = aDecision(organisation, at(22), { ...own, nonce: 21n });
  await ledger.append([
    ...reservationOf(first, aSettlement(first, at(21), { actualGasCostWei: 1_000_000_000n })),
    ...reservationOf(second),
  ]);
  const later = { from: iso(at(20)), to: iso(at(30)) };
  const inCoins = { thresholdType: 'NATIVE_ASSET', startTime: iso(someNow) };
  // Four promises before the period count as well: they are of the same cycle.
  expect((await ask([limit('0.000000006', inCoins)], later)).data).toMatchObject({ stillSigned: 2 });
  expect((await ask([limit('0.000000005', inCoins)], later)).data).toMatchObject({
    stillSigned: 1,
    wouldBeRefused: { count: 1 },
  });
});

test('of an organisation there is one at a time, and a closed connection ends it', async () => {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const endless: typeof ledger = {
    ...ledger,
    async past(query) {
      const page = await ledger.past(query);
      if (query.to !== at(120)) return page;
      asked.resolve();
      await answer.promise;
      // There is always another page.
      return { ...page, last: minRecordId(at(0)) };
    },
  };
  const beside = await host.beside({ ledger: endless });
  const connection = new AbortController();
  const first = ask([limit('3')], { to: iso(at(120)) }, beside, connection.signal);
  const ended = first.catch((error: unknown) => error);
  await asked.promise;
  expect(await ask([limit('3')], {}, beside)).toMatchObject({ status: 429 });
  connection.abort();
  expect(await ended).toMatchObject({ name: 'AbortError' });
  answer.resolve();
  await until('the next one is judged', async () => (await ask([limit('3')], {}, beside)).status === 200);
  await beside.stop();
});

test('a policy that is being deleted says nothing, whatever keeps it', async () => {
  const named = (name: string, threshold: string) => {
    const { metadata, spec, ...rest } = limit(threshold);
    return { ...rest, metadata: { ...metadata, name }, spec: { ...spec, name } };
  };
  const { metadata: key, spec } = named('leaving', '1');
  await host.resources.apply({ manager: 'kubectl', kind: 'PaymasterPolicy', key, spec: spec as never });
  const proposal = named('wide', '1000');
  expect(await ask([proposal])).toMatchObject({ status: 200, data: { stillSigned: 1 } });
  const leaving = await host.beside({ ledger, resources: whereLeaves('leaving') });
  expect(await ask([proposal], {}, leaving)).toMatchObject({ data: { wouldBeRefused: { count: 0 } } });
  await leaving.stop();
  await host.resources.delete('PaymasterPolicy', key);
});

/** The store, where a finalizer keeps the object of that name. */
function whereLeaves(leaving: string): NonNullable<DashboardOptions['resources']> {
  const { resources } = host;
  return {
    get: (...of) => resources.get(...of),
    list: (...of) => resources.list(...of),
    apply: (request) => resources.apply(request),
    delete: (...of) => resources.delete(...of),
    async page(...of) {
      const page = await resources.page(...of);
      const items = page.items.map((object) =>
        object.metadata.name === leaving
          ? { ...object, metadata: { ...object.metadata, deletionTimestamp: iso(someNow) } }
          : object,
      );
      return { ...page, items };
    },
  };
}

test('what is proposed wrongly is said, and what is not judged', async () => {
  expect(await ask([{ ...limit('1'), kind: 'Organisation' }])).toMatchObject({ status: 400 });
  expect(await ask([limit('not a number')])).toMatchObject({ status: 400 });
  expect(await ask([])).toMatchObject({ status: 400 });
  expect((await ask([limit('1')])).data['notJudged']).toContainEqual({ rule: 'gasCaps', name: null });
});
