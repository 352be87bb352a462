import { beforeAll, describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { hashCredential } from '../../core/config/api-key.js';
import { derivePaymasterId } from '../../core/config/ids.js';
import { parseAddressKey } from '../../core/units/address.js';
import { formatInstant, type EpochMs } from '../../core/units/time.js';
import { manageEndpoints, managePrefix } from '../../server/dashboard/endpoints.js';
import { acmeToken, applyOrganisation, chainId, otherToken, prefix, recordOf } from '../build/dashboard.js';
import {
  aDecision,
  address,
  alone,
  anUnusedEnd,
  aRefusal,
  aSample,
  aSettlement,
  at,
  hex,
  reservationOf,
} from '../conformance/ledger-records.js';
import { createMemoryLedger } from '../fakes/memory-ledger.js';
import { useDashboard } from '../support/use-dashboard.js';

// Questions about the ledger: their answers, whose they are, and what is said to a wrong one.

const ledger = createMemoryLedger();
/** While it is not resolved, searches of acme are not answered. */
let gate = Promise.resolve();
const asked = {
  ...ledger,
  decisions: async (query: Parameters<typeof ledger.decisions>[0]) => {
    if (query.organisation === 'acme') await gate;
    return ledger.decisions(query);
  },
};
const host = useDashboard({ ledger: asked, operator: true, programmedTimeoutMs: 60_000 });
const noon = at('2026-01-31T12:00:00Z');
const range = 'from=2026-01-31T00:00:00Z&to=2026-02-01T00:00:00Z';
const unknown = derivePaymasterId('acme', 'nobody');

const mined = aDecision('acme', noon, { nonce: 1n, paymasterId: unknown, maxCostWei: 10n ** 18n });
const expired = aDecision('acme', at('2026-01-31T12:00:01Z'), { nonce: 2n });
const refused = aRefusal('acme', at('2026-01-31T12:00:02Z'), {
  reason: 'CONTRACT_NOT_REGISTERED',
  sender: address(5),
  callerRequestId: 'again',
  requestId: 'ours-1',
  detail: '=HYPERLINK("a"), "b"',
});
const repeated = aRefusal('acme', at('2026-01-31T12:00:03Z'), {
  reason: 'CONTRACT_NOT_REGISTERED',
  callerRequestId: 'again',
  requestId: 'ours-1',
});
const foreign = aDecision('other', noon, { callerRequestId: 'again' });

type Answered = {
  readonly status: number;
  readonly headers: Headers;
  readonly data: Readonly<Record<string, unknown>>;
  readonly message: string;
};

async function ask(path: string, token: string | undefined = acmeToken): Promise<Answered> {
  const headers = token === undefined ? {} : { authToken: token };
  const response = await host.fetch(`${managePrefix}${path}`, { headers });
  const body = recordOf(await response.json());
  return {
    status: response.status,
    headers: response.headers,
    data: body['data'] === undefined ? {} : recordOf(body['data']),
    message: textOf(body['detail']),
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const listOf = (value: unknown): readonly Readonly<Record<string, unknown>>[] =>
  value as readonly Readonly<Record<string, unknown>>[];
const ids = (answer: Answered): readonly unknown[] => listOf(answer.data['items']).map(({ id }) => id);

/** With a limit of 0.5 coins a day for each account. */
async function madePaymaster(name: string, token: string): Promise<string> {
  const made = await host.call('POST', '/paymaster', {
    token,
    body: { name, type: 'HYBRID', chainId, version: '1.0.0' },
  });
  await host.call('POST', '/paymaster-policy', {
    token,
    key: String(recordOf(made.body.data)['apiKey']),
    body: {
      name: 'coins',
      policyType: 'PAYMASTER_SA_LIMIT',
      policyData: {
        type: 'SMART_ACCOUNT',
        cycleDuration: { value: 1, unit: 'day' },
        threshold: 0.5,
        thresholdType: 'NATIVE_ASSET',
      },
    },
  });
  return String(recordOf(made.body.data)['paymasterId']);
}

let shop: string;
beforeAll(async () => {
  await ledger.append([
    ...reservationOf(mined),
    { record: aSettlement(mined, at('2026-01-31T12:00:10Z'), { success: false }), reservation: mined.id },
    ...reservationOf(expired),
    { record: anUnusedEnd(expired, at('2026-01-31T12:10:00Z')), reservation: expired.id },
    ...alone(refused),
    ...alone(repeated),
    ...reservationOf(foreign),
  ]);
  shop = await madePaymaster('shop', acmeToken);
});

describe('decisions', () => {
  test('are answered newest first, with how they ended', async () => {
    const { status, data } = await ask(`/decisions?${range}`);
    expect(status).toBe(200);
    const decisions = listOf(data['items']);
    expect(decisions.map(({ id }) => id)).toEqual([repeated.id, refused.id, expired.id, mined.id]);
    expect(decisions[2]).toMatchObject({
      verdict: 'sponsored',
      settlement: { outcome: 'expired', transactionHash: null, actualGasCostWei: '0' },
    });
    expect(decisions[3]).toMatchObject({
      at: '2026-01-31T12:00:00.000Z',
      nonce: '0x1',
      maxCostWei: '1000000000000000000',
      maxCost: '1',
      settlement: { outcome: 'mined', success: false, actualGasCostWei: '600', actualGasUsed: '60' },
    });
    expect(data['nextCursor']).toBeNull();
  });

  test('name the paymaster, and say null of one that nobody remembers', async () => {
    const { data } = await ask(`/decisions?${range}&paymasterId=${unknown}`);
    expect(listOf(data['items'])[0]).toMatchObject({ paymasterId: unknown, paymaster: null });
    const named = aRefusal('acme', at('2026-01-30T12:00:00Z'), { paymasterId: shop });
    await ledger.append(alone(named));
    expect((await ask(`/decisions/${named.id}`)).data).toMatchObject({
      paymasterId: shop,
      paymaster: 'shop',
    });
    const day = 'from=2026-01-30T00:00:00Z&to=2026-01-31T00:00:00Z';
    expect(listOf((await ask(`/decisions?${day}`)).data['items'])[0]).toMatchObject({
      paymaster: 'shop',
    });
    expect((await ask(`/decisions?${day}`, otherToken)).data['items']).toEqual([]);
  });

  test('come in pages that lose and repeat none while others are added', async () => {
    const seen: unknown[] = [];
    let cursor: unknown;
    do {
      const page = await ask(
        `/decisions?${range}&limit=1${cursor === undefined ? '' : `&cursor=${textOf(cursor)}`}`,
      );
      expect(page.status).toBe(200);
      seen.push(...ids(page));
      cursor = page.data['nextCursor'] ?? undefined;
      await ledger.append([...alone(aRefusal('late', noon))]);
    } while (cursor !== undefined);
    expect(seen).toEqual([repeated.id, refused.id, expired.id, mined.id]);
  });

  test.each([
    { query: () => `sender=${address(5)}`, found: [refused] },
    { query: () => 'verdict=refused', found: [repeated, refused] },
    { query: () => 'reason=CONTRACT_NOT_REGISTERED', found: [repeated, refused] },
    { query: () => `paymasterId=${unknown}`, found: [mined] },
    { query: () => 'requestId=ours-1', found: [repeated, refused] },
    { query: () => 'requestId=again', found: [repeated, refused] },
    { query: () => 'selector=0x42966C68&verdict=refused', found: [repeated, refused] },
    { query: () => 'selector=0x00000001', found: [] },
    { query: () => 'minCost=1.000000000000000000', found: [mined] },
    { query: () => 'minCost=1.000000000000000001', found: [] },
  ])('are found by $query', async ({ query, found }) => {
    expect(ids(await ask(`/decisions?${range}&${query()}`))).toEqual(found.map(({ id }) => id));
  });

  test('are found by the hash of the operation that was mined', async () => {
    const all = await ask(`/decisions?${range}`);
    const hash = listOf(all.data['items'])[3]?.['userOpHash'];
    expect(hash).toMatch(/^0x[0-9a-f]{64}$/);
    expect(ids(await ask(`/decisions?${range}&userOpHash=${String(hash)}`))).toEqual([mined.id]);
  });

  test('one decision comes with what led to it, and what would make it pass', async () => {
    const { status, data } = await ask(`/decisions/${refused.id}`);
    expect(status).toBe(200);
    const trace = listOf(data['trace']);
    expect(trace.map(({ step, verdict }) => `${String(step)} ${String(verdict)}`)).toEqual([
      'suspended pass',
      'sender pass',
      'accountSignature pass',
      'funding pass',
      'policies pass',
      'campaign pass',
      'calls refuse',
      ...[
        'deployment',
        'window',
        'senders',
        'factory',
        'delegate',
        'authorization',
        'fees',
        'tip',
        'gas',
        'costPerOperation',
        'expressions',
        'webhooks',
        'limitsAndDeposit',
      ].map((step) => `${step} undecided`),
      'decision refused',
    ]);
    const step = trace[6];
    expect(step).toMatchObject({
      reason: 'CONTRACT_NOT_REGISTERED',
      detail: refused.detail,
    });
    expect(step?.['remedy']).toEqual(expect.stringMatching(/\w/));
  });

  test('are a table in CSV, whose texts no spreadsheet runs', async () => {
    const response = await host.fetch(`${managePrefix}/decisions?${range}&limit=1`, {
      headers: { authToken: acmeToken, Accept: 'text/csv' },
    });
    const lines = (await response.text()).split('\r\n');
    expect(response.headers.get('content-type')).toMatch(/^text\/csv/);
    // All of the range, whatever the size of a page.
    expect(lines).toHaveLength(1 + 4 + 1);
    expect(lines[0]?.startsWith('id,at,verdict,reason,')).toBe(true);
    expect(lines[2]).toContain(`"'=HYPERLINK(""a""), ""b"""`);
  });
});

describe('usage', () => {
  test('counts what was sponsored, refused and mined, and what it cost', async () => {
    const { status, data } = await ask(`/usage?${range}&groupBy=reason`);
    expect(status).toBe(200);
    expect(data).toMatchObject({ step: 'day', groupBy: 'reason', additive: true });
    expect(data['items']).toEqual([
      expect.objectContaining({
        group: '(none)',
        sponsored: 2,
        mined: 1,
        reverted: 1,
        expired: 1,
        spentWei: '600',
      }),
      expect.objectContaining({ group: 'CONTRACT_NOT_REGISTERED', refused: 2, spentWei: '0', spent: '0' }),
    ]);
  });

  test('has dollars: each hour at its price or the nearest one of six hours before, and what has none apart', async () => {
    const paid = (hour: string, nonce: bigint) => {
      const time = at(`2026-03-05T${hour}:30:00Z`);
      const decision = aDecision('acme', time, { nonce, paymasterId: unknown });
      return reservationOf(decision, aSettlement(decision, time, { actualGasCostWei: 10n ** 16n }));
    };
    const sampled = at('2026-03-05T10:05:00Z');
    await ledger.append([
      ...paid('10', 101n),
      ...paid('13', 102n),
      ...paid('20', 103n),
      ...alone(aSample(address(8), sampled, { chainId: 31337, usdPerNative: 2_000n * 10n ** 18n })),
    ]);
    const of = async (query: string) =>
      listOf((await ask(`/usage?from=2026-03-05T00:00:00Z&to=2026-03-06T00:00:00Z&${query}`)).data['items']);
    for (const query of [
      '',
      'groupBy=paymaster',
      'groupBy=chain',
      'groupBy=method',
      'groupBy=label&label=team',
    ])
      expect(await of(query)).toMatchObject([
        {
          spentWei: '30000000000000000',
          spentUsd: '40',
          unpricedWei: '10000000000000000',
          oldestPriceSeconds: 10_500,
        },
      ]);
    expect((await of('step=hour')).map(({ spentUsd }) => spentUsd)).toEqual(['20', '20', null]);
    expect(await of('groupBy=sender')).toMatchObject([{ spentUsd: null, unpricedWei: null }]);
  });

  test('widens its range to whole minutes, or to hours where minutes are no longer kept, and may end in the future', async () => {
    const future = await ask('/usage?from=2026-01-31T00:00:00Z&to=2034-01-01T00:00:00Z&step=month');
    expect(future).toMatchObject({ status: 200, data: { to: '2034-01-01T00:00:00.000Z' } });
    const { data } = await ask('/usage?from=2026-01-31T12:00:00.500Z&to=2026-01-31T12:00:01Z');
    expect(data).toMatchObject({ from: '2026-01-31T12:00:00.000Z', to: '2026-01-31T13:00:00.000Z' });
  });

  test('is the same until something happens, and says so to those who ask', async () => {
    const first = await ask(`/usage?${range}`);
    const again = await host.fetch(`${managePrefix}/usage?${range}`, {
      headers: { authToken: acmeToken, 'If-None-Match': String(first.headers.get('etag')) },
    });
    expect(again.status).toBe(304);
    expect(first.headers.get('cache-control')).toBe('private, no-cache');
  });
});

describe('limits and funds', () => {
  test('a limit per account shows the use of the account that is named', async () => {
    const everybody = await ask(`/limits?paymasterId=${shop}`);
    expect(everybody.data['items']).toEqual([
      expect.objectContaining({
        name: 'coins',
        scope: 'SMART_ACCOUNT',
        threshold: '500000000000000000',
        used: null,
      }),
    ]);
    const one = await ask(`/limits?paymasterId=${shop}&sender=${address(5)}`);
    expect(one.data['items']).toEqual([
      expect.objectContaining({
        unit: 'NATIVE_ASSET',
        used: '0',
        reserved: '0',
        remaining: '500000000000000000',
        rendered: { threshold: '0.5', used: '0', reserved: '0', remaining: '0.5' },
      }),
    ]);
  });

  test('without a paymasterId they answer for all paymasters of the organisation, and no others', async () => {
    const second = await madePaymaster('second shop', acmeToken);
    const foreign = await madePaymaster('shop of others', otherToken);
    const asked = await ask('/limits');
    expect(asked).toMatchObject({ status: 200, message: '' });
    const rows = listOf(asked.data['items']).map(({ paymasterId, name }) => ({ paymasterId, name }));
    expect(rows).toEqual(
      expect.arrayContaining([
        { paymasterId: shop, name: 'coins' },
        { paymasterId: second, name: 'coins' },
      ]),
    );
    expect(rows).toHaveLength(2);
    expect(listOf((await ask('/limits', otherToken)).data['items'])).toEqual([
      expect.objectContaining({ paymasterId: foreign }),
    ]);
    const funds = await ask('/funds');
    expect(funds).toMatchObject({ status: 200, message: '' });
    const both = [...(await accountsOf(shop)), ...(await accountsOf(second))];
    // An account that pays for both is named once.
    expect(new Set(namesOf(funds))).toEqual(new Set(both));
    expect(namesOf(funds)).toHaveLength(new Set(both).size);
  });

  test('of an organisation without paymasters they are empty', async () => {
    await applyOrganisation(host.resources, 'empty', {
      namespace: 'empty',
      tokens: [{ name: 'only', sha256: hashCredential('empty-token') }],
    });
    expect((await ask('/limits', 'empty-token')).data).toEqual({ items: [], nextCursor: null });
    expect((await ask('/funds', 'empty-token')).data).toEqual({ items: [], nextCursor: null });
  });

  const namesOf = ({ data }: Answered): readonly string[] =>
    listOf(data['items']).map(({ chainId: of, contract, account }) =>
      JSON.stringify([of, contract, account]),
    );
  const accountsOf = async (id: string) => namesOf(await ask(`/funds?paymasterId=${id}`));

  test('funds name each account that pays, with what burns', async () => {
    const { status, data } = await ask(`/funds?paymasterId=${shop}`);
    expect(status).toBe(200);
    expect(listOf(data['items'])[0]).toMatchObject({
      kind: 'deposit',
      burnWeiPerHour: '0',
      hoursLeft: null,
    });
  });

  test('funds say dollars at the newest price of the last five minutes, and none without one', async () => {
    const first = async () => listOf((await ask(`/funds?paymasterId=${shop}`)).data['items'])[0];
    const unpriced = { promisedUsd: null, burnUsdPerHour: null, usdPerCoin: null, pricedAt: null };
    expect(await first()).toMatchObject(unpriced);
    const contract = parseAddressKey(textOf((await first())?.['contract']));
    const now = host.clock.now();
    const [priced, later] = [(now - 120_000) as EpochMs, (now - 60_000) as EpochMs];
    await ledger.append(
      alone(
        aSample(contract, priced, { chainId, usdPerNative: 2_000_500_000_000_000_000_000n }),
        aSample(contract, later, { chainId, usdPerNative: undefined }),
      ),
    );
    expect(await first()).toMatchObject({
      promised: '0',
      promisedUsd: '0',
      usdPerCoin: '2000.5',
      pricedAt: formatInstant(priced),
    });
    host.clock.advance(300_000);
    expect(await first()).toMatchObject(unpriced);
  });
});

describe('tenancy', () => {
  const paths = () => [
    `/usage?${range}`,
    `/decisions?${range}`,
    `/decisions?${range}&requestId=again`,
    `/decisions?${range}&paymasterId=${unknown}`,
    `/decisions/${mined.id}`,
    `/limits?paymasterId=${shop}`,
    `/funds?paymasterId=${shop}`,
  ];

  test('another organisation sees nothing of it in any answer', async () => {
    const seen = await Promise.all(paths().map((path) => ask(path, otherToken)));
    const text = JSON.stringify(seen.map(({ data, message }) => ({ data, message })));
    for (const secret of [mined.id, refused.id, expired.id, shop, refused.sender, '"spentWei":"600"'])
      expect(text).not.toContain(secret);
    expect(seen.map(({ status }) => status)).toEqual([200, 200, 200, 200, 404, 404, 404]);
    expect(ids(seen[1]!)).toEqual([foreign.id]);
  });

  test('a missing or wrong token is refused everywhere', async () => {
    for (const path of paths())
      for (const token of ['', 'not-a-token']) expect(await ask(path, token)).toMatchObject({ status: 401 });
  });

  test('a cursor of another organisation is refused', async () => {
    const page = await ask(`/decisions?${range}&limit=1`);
    const taken = await ask(
      `/decisions?${range}&limit=1&cursor=${String(page.data['nextCursor'])}`,
      otherToken,
    );
    expect(taken).toMatchObject({ status: 400, message: expect.stringContaining('of the same query') });
  });
});

describe('a wrong question is answered with what is wrong', () => {
  test.each([
    ['/usage?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z', /from must be before to/],
    ['/usage?from=yesterday', /from must be a time in UTC .*got "yesterday"/],
    ['/usage?from=2026-01-01T00:00:00%2B01:00', /from must be a time in UTC/],
    ['/usage?groupBy=wallet', /groupBy must be one of "paymaster", .*got "wallet"/],
    ['/usage?step=week', /step must be one of "minute", "hour", "day", "month", got "week"/],
    ['/usage?groupBy=sender&step=hour', /step must be "day" or "month" with groupBy=sender/],
    ['/usage?groupBy=sender&step=minute', /step must be "day" or "month" with groupBy=sender/],
    [
      '/usage?from=2026-01-01T00:00:00Z&to=2026-01-03T00:01:00Z&step=minute',
      /to must be at most 2 days after from/,
    ],
    [
      '/usage?from=2020-01-01T00:00:00Z&to=2026-01-01T00:00:00Z&step=hour',
      /to must be at most 100 days after from/,
    ],
    ['/usage?paymasterId=1', /paymasterId must be a UUID in lowercase, got "1"/],
    ['/usage?group=policy', /query must be made of from, to, .*got "group"/],
    ['/usage?step=day&step=hour', /step must be given once, got 2 times/],
    ['/usage?constructor=1', /query must be made of/],
    ['/decisions?limit=1000000', /limit must be an integer from 1 to 1000, got "1000000"/],
    ['/decisions?limit=0', /limit must be an integer/],
    ['/decisions?sender=0x12', /sender must be an address/],
    ['/decisions?userOpHash=0x12', /userOpHash must be 0x and 64 hex digits/],
    [`/decisions?selector=${encodeURIComponent("0x1' OR 1=1")}`, /selector must be 0x and 8 hex digits/],
    ['/decisions?minCost=1e3', /minCost must be an amount such as 0.05/],
    ['/decisions?minCost=0.0000000000000000001', /with at most 18 decimals/],
    ['/decisions?verdict=maybe', /verdict must be one of/],
    ['/decisions?reason=BECAUSE', /reason must be one of/],
    ['/decisions?cursor=abc', /cursor must be the cursor of an answer/],
    [`/decisions?requestId=${'x'.repeat(129)}`, /requestId must be 1 to 128 visible ASCII characters/],
    ['/funds?paymasterId=1&sender=2', /paymasterId must be .*query must be made of paymasterId/],
  ])('%s', async (path, message) => {
    expect(await ask(path)).toMatchObject({ status: 400, message: expect.stringMatching(message) });
  });

  test('a cursor of another query', async () => {
    const page = await ask(`/decisions?${range}&limit=1`);
    const other = await ask(`/decisions?${range}&verdict=refused&cursor=${String(page.data['nextCursor'])}`);
    expect(other).toMatchObject({ status: 400, message: expect.stringContaining('of the same query') });
  });

  test('a cursor whose range somebody has stretched beyond 4000 days, or turned around', async () => {
    const page = await ask(`/decisions?${range}&limit=1`);
    const made = JSON.parse(Buffer.from(String(page.data['nextCursor']), 'base64url').toString()) as object;
    for (const times of [
      { from: 0, to: 8e15 },
      { from: 2, to: 1 },
    ]) {
      const cursor = Buffer.from(JSON.stringify({ ...made, ...times })).toString('base64url');
      const stretched = await ask(`/decisions?${range}&limit=1&cursor=${cursor}`);
      expect(stretched).toMatchObject({
        status: 400,
        message: expect.stringContaining('the cursor of an answer'),
      });
    }
  });

  test('but the cursor of the longest range goes on', async () => {
    const longest = 'from=2016-01-01T00:00:30Z&to=2026-12-14T00:00:30Z';
    const page = await ask(`/decisions?${longest}&limit=1`);
    expect(page).toMatchObject({ status: 200, data: { nextCursor: expect.any(String) } });
    expect(
      await ask(`/decisions?${longest}&limit=1&cursor=${String(page.data['nextCursor'])}`),
    ).toMatchObject({
      status: 200,
    });
  });

  test('a decision that does not exist', async () => {
    expect(await ask(`/decisions/${unknown}`)).toMatchObject({ status: 404 });
    expect(await ask('/decisions/..%2F..')).toMatchObject({ status: 404 });
  });

  test('without a ledger it says what to set', async () => {
    const without = await host.beside();
    for (const path of ['/usage', '/decisions', `/decisions/${mined.id}`, `/funds?paymasterId=${shop}`]) {
      const response = await without.fetch(`${managePrefix}${path}`, { headers: { authToken: acmeToken } });
      expect(response.status).toBe(501);
      expect(recordOf(await response.json())['detail']).toMatch(/PAYMASTER_LEDGER=off/);
    }
  });
});

test('the OpenAPI document describes each of these questions and its answer', async () => {
  const document = recordOf(await (await host.fetch(`${prefix}/openapi.json`)).json());
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
  const answers: Readonly<Record<string, string>> = {
    getUsage: `/usage?${range}&groupBy=method`,
    listDecisions: `/decisions?${range}`,
    getDecision: `/decisions/${refused.id}`,
    getLimits: `/limits?paymasterId=${shop}`,
    getFunds: `/funds?paymasterId=${shop}`,
  };
  for (const { operationId, path, schema, example } of manageEndpoints) {
    if (!Object.hasOwn(answers, operationId)) continue;
    const item = recordOf(recordOf(document['paths'])[`${managePrefix}${path.replace(':id', '{id}')}`]);
    expect(recordOf(item['get'])['operationId']).toBe(operationId);
    const isValid = ajv.compile(schema ?? false);
    const { status, data } = await ask(answers[operationId] ?? '');
    expect({ operationId, status, errors: isValid(data) ? [] : isValid.errors }).toEqual({
      operationId,
      status: 200,
      errors: [],
    });
    expect(isValid(example) ? [] : isValid.errors).toEqual([]);
  }
});

test('what nobody signed has no hash to search by', async () => {
  expect(ids(await ask(`/decisions?${range}&userOpHash=${hex(32, 99)}`))).toEqual([]);
});

test('an organisation that leaves its answers open is told to wait, and no other one is', async () => {
  const blocked = Promise.withResolvers<void>();
  gate = blocked.promise;
  try {
    const { origin } = host;
    const get = (token: string) =>
      fetch(`${origin}${managePrefix}/decisions?${range}`, { headers: { authToken: token } });
    const told = Promise.withResolvers<Response>();
    const many = Array.from({ length: 80 }, async () => {
      const response = await get(acmeToken);
      if (response.status === 429) told.resolve(response);
      await response.text();
      return response.status;
    });
    expect((await told.promise).headers.get('retry-after')).toBe('1');
    expect((await get(otherToken)).status).toBe(200);
    blocked.resolve();
    expect(new Set(await Promise.all(many))).toEqual(new Set([200, 429]));
    expect((await get(acmeToken)).status).toBe(200);
  } finally {
    blocked.resolve();
    gate = Promise.resolve();
  }
});

test('HEAD of a table is answered without its rows', async () => {
  const response = await host.fetch(`${managePrefix}/limits?paymasterId=${shop}`, {
    method: 'HEAD',
    headers: { authToken: acmeToken, Accept: 'text/csv' },
  });
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
  expect(await response.text()).toBe('');
});
