import { describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { manageEndpoints, managePrefix } from '../../server/dashboard/endpoints.js';
import {
  acmeToken,
  applyOrganisation,
  chainId,
  otherToken,
  recordOf,
  recordsOf,
} from '../build/dashboard.js';
import { hashCredential } from '../../core/config/api-key.js';
import { anAbi } from '../build/resources.js';
import { useDashboard } from '../support/use-dashboard.js';

// Paymasters, contracts and policies through the management API: one set of endpoints per noun.

const host = useDashboard();

type Answered = {
  readonly status: number;
  readonly etag: string;
  /** Of the answer, or the problem itself. */
  readonly data: Readonly<Record<string, unknown>>;
};

async function ask(
  method: string,
  path: string,
  body?: unknown,
  {
    token = acmeToken,
    etag,
    none,
  }: { readonly token?: string; readonly etag?: string; readonly none?: string } = {},
): Promise<Answered> {
  const response = await host.fetch(`${managePrefix}${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${token}`,
      ...(etag !== undefined && { 'If-Match': etag }),
      ...(none !== undefined && { 'If-None-Match': none }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const answer = recordOf(JSON.parse(await response.text()));
  const data = response.ok ? recordOf(answer['data']) : answer;
  return { status: response.status, etag: response.headers.get('etag') ?? '', data };
}

const aPaymaster = (name: string) => ({ name, chainId, type: 'HYBRID', version: '1.1.0' });
const aLimit = (paymaster: string, name: string) => ({
  paymasterRef: { name: paymaster },
  name,
  policyType: 'PAYMASTER_SA_LIMIT',
  spendingLimit: {
    scope: 'PAYMASTER',
    cycleDuration: { value: 1, unit: 'day' },
    threshold: '10',
    thresholdType: 'COUNT',
  },
});
const aWebhook = (paymaster: string, url: string) => ({
  paymasterRef: { name: paymaster },
  name: url,
  policyType: 'WEBHOOK',
  webhook: { url },
});
const aContract = (paymaster: string, address = '0x00000000000000000000000000000000000000C1') => ({
  paymasterRef: { name: paymaster },
  name: address,
  address,
  abi: anAbi,
  whitelistedMethods: ['mint'],
});

const made = async (name: string): Promise<Answered> => {
  const answer = await ask('POST', '/paymasters', { name, spec: aPaymaster(name) });
  expect(answer).toMatchObject({ status: 201 });
  return answer;
};

/** A paymaster that a manifest declares. */
const declared = (name: string, spec: object = {}, manager = 'argocd'): Promise<unknown> =>
  host.resources.apply({
    manager,
    kind: 'Paymaster',
    key: { namespace: 'acme', name },
    spec: { ...aPaymaster(name), ...spec } as never,
  });

describe('an object', () => {
  test('is shown as it was written, with name, labels and generation, and as its schema says', async () => {
    const labels = { team: 'growth' };
    const { data, etag } = await ask('POST', '/paymasters', {
      name: 'whole',
      labels,
      spec: aPaymaster('whole'),
    });
    expect(data).toMatchObject({
      name: 'whole',
      labels,
      generation: 1,
      createdBy: 'acme-ci',
      spec: aPaymaster('whole'),
    });
    expect(etag).toMatch(new RegExp(`^"${String(data['uid'])}\\.1\\.[\\w-]{8}"$`));
    expect(await ask('GET', '/paymasters/whole')).toMatchObject({ status: 200, data, etag });

    const contract = { name: 'whole-nft', spec: aContract('whole') };
    expect(await ask('POST', '/contracts', contract)).toMatchObject({
      status: 201,
      data: { spec: contract.spec },
    });
    const policy = { name: 'whole-daily', spec: aLimit('whole', 'daily') };
    expect(await ask('POST', '/policies', policy)).toMatchObject({
      status: 201,
      data: { spec: policy.spec },
    });

    const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
    for (const path of ['/paymasters', '/contracts', '/policies']) {
      const row = manageEndpoints.find((each) => each.path === path && each.method === 'get');
      const isValid = ajv.compile(row?.schema ?? false);
      const { data: list } = await ask('GET', path);
      expect(recordsOf(list['items']).length).toBeGreaterThan(0);
      expect(isValid(list) ? [] : isValid.errors).toEqual([]);
    }
  });

  test('may be sent back as it was shown, which changes nothing', async () => {
    const { data, etag } = await made('again');
    expect(await ask('PUT', '/paymasters/again', data, { etag })).toMatchObject({ status: 200, etag, data });
  });

  test('is made by PUT, too, and by If-Match only when it is there', async () => {
    const body = { spec: aPaymaster('put') };
    expect(await ask('PUT', '/paymasters/put', body, { etag: '*' })).toMatchObject({ status: 404 });
    expect(await ask('PUT', '/paymasters/put', body)).toMatchObject({ status: 201 });
    expect(await ask('PUT', '/paymasters/put', body)).toMatchObject({ status: 200 });
  });

  test('loses what PUT and null of a patch leave out, and keeps its labels where none are given', async () => {
    const labels = { team: 'a', tier: 'b' };
    const spec = { ...aPaymaster('less'), maxExpirySeconds: 60, sponsor: { name: 'Us' } };
    await ask('POST', '/paymasters', { name: 'less', labels, spec });
    const patched = await ask('PATCH', '/paymasters/less', {
      labels: { team: null },
      spec: { sponsor: null },
    });
    expect(patched.data).toMatchObject({ labels: { tier: 'b' }, generation: 2 });
    expect(patched.data['spec']).toEqual({ ...aPaymaster('less'), maxExpirySeconds: 60 });
    const put = await ask('PUT', '/paymasters/less', { spec: aPaymaster('less') });
    expect(put.data['spec']).toEqual(aPaymaster('less'));
    expect(put.data['labels']).toEqual({ tier: 'b' });
  });

  test.each([
    { noun: 'paymasters', change: { name: 'taken' }, field: 'spec.name', mustBe: /free, .* "taken" has it/ },
    {
      noun: 'paymasters',
      change: { chainId: 999 },
      field: 'spec.chainId',
      mustBe: /a chain that is offered/,
    },
    { noun: 'paymasters', change: { version: '9.9' }, field: 'spec.version', mustBe: /^one of "/ },
    {
      noun: 'policies',
      change: {
        paymasterRef: { name: 'taken' },
        policyType: 'WEBHOOK',
        webhook: { url: 'http://10.0.0.1/' },
      },
      field: 'spec.webhook.url',
      mustBe: /./,
    },
    {
      noun: 'policies',
      change: {
        paymasterRef: { name: 'taken' },
        policyType: 'PAYMASTER_SA_LIMIT',
        spendingLimit: {
          scope: 'PAYMASTER',
          thresholdType: 'COUNT',
          threshold: '1',
          calendar: { every: 'day', timeZone: 'Atlantis' },
        },
      },
      field: 'spec.spendingLimit.calendar.timeZone',
      mustBe: /^the name of a time zone such as Europe\/Berlin, got "Atlantis"$/,
    },
  ])('that is refused for $field says so in its errors', async ({ noun, change, field, mustBe }) => {
    await ask('PUT', '/paymasters/taken', { spec: aPaymaster('taken') });
    const spec = { ...(noun === 'paymasters' ? aPaymaster('of errors') : { name: 'of errors' }), ...change };
    const { status, data } = await ask('POST', `/${noun}`, { name: 'of-errors', spec });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(data).toMatchObject({ errors: [{ field, mustBe: expect.stringMatching(mustBe) }] });
  });

  test('that exists is named', async () => {
    await made('first');
    expect(await ask('POST', '/paymasters', { name: 'first', spec: aPaymaster('other name') })).toMatchObject(
      {
        status: 409,
        data: { code: 'OBJECT_EXISTS', detail: expect.stringContaining('"first"') },
      },
    );
    expect(await ask('POST', '/paymasters', { name: 'second', spec: aPaymaster('first') })).toMatchObject({
      status: 409,
      data: { detail: expect.stringContaining('"first"') },
    });
    await ask('POST', '/contracts', { name: 'upper', spec: aContract('first') });
    const lower = aContract('first', aContract('').address.toLowerCase());
    expect(await ask('POST', '/contracts', { name: 'lower', spec: lower })).toMatchObject({
      status: 409,
      data: { detail: expect.stringContaining('"upper"') },
    });
  });

  test('stops and goes on, and a second time changes nothing', async () => {
    await made('stopped');
    const first = await ask('POST', '/paymasters/stopped/suspend');
    expect(first.data).toMatchObject({ spec: { suspended: true }, generation: 2 });
    expect((await ask('POST', '/paymasters/stopped/suspend')).etag).toBe(first.etag);
    const { data } = await ask('POST', '/paymasters/stopped/resume');
    expect(data['spec']).toEqual(aPaymaster('stopped'));
    await ask('POST', '/policies', { name: 'stopped-daily', spec: aLimit('stopped', 'daily') });
    expect((await ask('POST', '/policies/stopped-daily/suspend')).data).toMatchObject({
      spec: { active: false },
    });
  });

  test('says what would end with it, is kept while others belong to it, and ends', async () => {
    await made('ending');
    const unused = { contracts: { count: 0, names: [] }, policies: { count: 0, names: [] } };
    await ask('POST', '/policies', { name: 'ending-daily', spec: aLimit('ending', 'daily') });
    const ends = {
      apiKey: true,
      livePromises: null,
      fundingAddress: null,
      contracts: { count: 0, names: [] },
      policies: { count: 1, names: ['ending-daily'] },
    };
    const asked = await ask('DELETE', '/paymasters/ending?dryRun=true');
    expect(asked).toMatchObject({ status: 200, data: { name: 'ending', dryRun: true, ends } });
    expect(await ask('DELETE', '/paymasters/ending?dryRun=yes')).toMatchObject({ status: 400 });
    expect(await ask('GET', '/paymasters/ending')).toMatchObject({ status: 200 });
    const inUse = await ask('DELETE', '/paymasters/ending');
    expect(inUse).toMatchObject({
      status: 409,
      data: {
        code: 'PAYMASTER_IN_USE',
        detail: expect.stringContaining('policies ending-daily'),
        errors: [{ field: 'policies', value: 'ending-daily' }],
      },
    });
    expect(await ask('GET', '/paymasters/ending')).toMatchObject({ status: 200 });
    expect(await ask('DELETE', '/policies/ending-daily')).toMatchObject({ status: 200 });
    expect(await ask('DELETE', '/paymasters/ending')).toMatchObject({
      status: 200,
      data: { dryRun: false, cascade: false, ends: unused, stays: [] },
    });
    expect(await ask('GET', '/paymasters/ending')).toMatchObject({ status: 404 });
  });
});

describe('If-None-Match', () => {
  const changes = (name: string) =>
    [
      ['PUT', `/paymasters/${name}`, { spec: aPaymaster(name) }],
      ['PATCH', `/paymasters/${name}`, { spec: { maxExpirySeconds: 77 } }],
      ['POST', `/paymasters/${name}/suspend`, undefined],
      ['DELETE', `/paymasters/${name}`, undefined],
    ] as const;

  test('* makes an object that is not there, and changes none that is', async () => {
    const put = ['PUT', '/paymasters/only-new', { spec: aPaymaster('only-new') }] as const;
    expect(await ask(...put, { none: '*' })).toMatchObject({ status: 201 });
    for (const [method, path, body] of changes('only-new'))
      expect(await ask(method, path, body, { none: '*' })).toMatchObject({
        status: 412,
        data: { code: 'PRECONDITION_FAILED', detail: expect.stringContaining('If-None-Match') },
      });
    const { data } = await ask('GET', '/paymasters/only-new');
    expect(data).toMatchObject({ generation: 1, spec: aPaymaster('only-new') });
  });

  test('of the present ETag changes nothing, of another one it does', async () => {
    const { etag } = await made('not-this');
    for (const [method, path, body] of changes('not-this')) {
      expect(await ask(method, path, body, { none: etag })).toMatchObject({ status: 412 });
      expect(await ask(method, path, body, { none: `"other", ${etag}` })).toMatchObject({ status: 412 });
    }
    const patch = ['PATCH', '/paymasters/not-this', { spec: { maxExpirySeconds: 77 } }] as const;
    expect(await ask(...patch, { none: '"other"' })).toMatchObject({ status: 200 });
    expect(await ask('GET', '/paymasters/not-this')).toMatchObject({ status: 200 });
  });
});

describe('If-Match', () => {
  test('of many changes from one reading takes one', async () => {
    const { etag } = await made('raced');
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        ask('PATCH', '/paymasters/raced', { spec: { maxExpirySeconds: 60 + index } }, { etag }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      200,
      ...Array.from({ length: 11 }, () => 412),
    ]);
    const winner = answers.find(({ status }) => status === 200);
    expect((await ask('GET', '/paymasters/raced')).data).toMatchObject({
      generation: 2,
      spec: { maxExpirySeconds: recordOf(winner?.data['spec'])['maxExpirySeconds'] },
    });
  });

  test.each(['labels', 'annotations'])('guards %s, which somebody else has changed since', async (member) => {
    const { etag } = await made(`guarded-${member}`);
    const key = { namespace: 'acme', name: `guarded-${member}` };
    await host.resources.apply({
      manager: 'kubectl',
      kind: 'Paymaster',
      key,
      spec: {},
      [member]: { 'example.com/team': 'a' },
    });
    const body = { spec: { maxExpirySeconds: 60 } };
    expect(await ask('PATCH', `/paymasters/${key.name}`, body, { etag })).toMatchObject({ status: 412 });
    // Who sends only the uid and generation that the body shows guards the spec alone.
    const shown = `${etag.split('.').slice(0, 2).join('.')}"`;
    const less = { spec: { maxExpirySeconds: 90 } };
    expect(await ask('PATCH', `/paymasters/${key.name}`, less, { etag: shown })).toMatchObject({
      status: 200,
    });
    const { etag: now } = await ask('GET', `/paymasters/${key.name}`);
    expect(await ask('PATCH', `/paymasters/${key.name}`, body, { etag: now })).toMatchObject({ status: 200 });
  });

  test('of an object that was deleted and made again is stale, also for a deletion', async () => {
    const { etag } = await made('reborn');
    await ask('DELETE', '/paymasters/reborn', undefined, { etag });
    const again = await made('reborn');
    expect(again.etag).not.toBe(etag);
    for (const [method, path, body] of [
      ['DELETE', '/paymasters/reborn', undefined],
      ['PUT', '/paymasters/reborn', { spec: aPaymaster('reborn') }],
      ['POST', '/paymasters/reborn/suspend', undefined],
    ] as const)
      expect(await ask(method, path, body, { etag })).toMatchObject({
        status: 412,
        data: { code: 'PRECONDITION_FAILED' },
      });
    expect(await ask('DELETE', '/paymasters/reborn', undefined, { etag: again.etag })).toMatchObject({
      status: 200,
    });
  });
});

describe('what a manifest owns', () => {
  test('is named with its manager, so that a form can say so before anybody sends it', async () => {
    await declared('named', { maxExpirySeconds: 300 });
    await ask('PATCH', '/paymasters/named', { spec: { sponsor: { name: 'Us' } } });
    const fields = ['chainId', 'maxExpirySeconds', 'name', 'type', 'version'].map((each) => `spec.${each}`);
    const { data } = await ask('GET', '/paymasters/named');
    expect(data['managedBy']).toEqual([{ manager: 'argocd', fields }]);
    const list = (await ask('GET', '/paymasters')).data['items'];
    expect(recordsOf(list).find(({ name }) => name === 'named')?.['managedBy']).toEqual(data['managedBy']);
    // What was read may be sent back, and nobody can write who owns a field.
    const claimed = { ...data, managedBy: [{ manager: 'mine', fields: ['spec.name'] }] };
    expect((await ask('PUT', '/paymasters/named', claimed)).data['managedBy']).toEqual(data['managedBy']);
    expect((await ask('GET', '/paymasters/named')).data['managedBy']).toEqual(data['managedBy']);
  });

  test('is not what REST has written, nor what somebody edited by hand, which REST takes over', async () => {
    await made('ours');
    const key = { namespace: 'acme', name: 'ours' };
    await host.resources.apply({
      manager: 'kubectl-edit',
      kind: 'Paymaster',
      key,
      spec: { maxExpirySeconds: 60 } as never,
    });
    expect((await ask('GET', '/paymasters/ours')).data['managedBy']).toEqual([]);
    expect(await ask('PATCH', '/paymasters/ours', { spec: { maxExpirySeconds: 30 } })).toMatchObject({
      status: 200,
    });
  });

  test('is answered with the YAML to commit, which has the change', async () => {
    await declared('git', { maxExpirySeconds: 300, suspended: false });
    const refused = await ask('PATCH', '/paymasters/git', { spec: { maxExpirySeconds: 60 } });
    expect(refused).toMatchObject({
      status: 409,
      data: {
        code: 'FIELD_OWNED',
        detail: expect.stringContaining('argocd'),
        errors: [{ field: 'spec.maxExpirySeconds', mustBe: expect.stringContaining('argocd') }],
      },
    });
    expect(parse(String(refused.data['manifest']))).toEqual({
      apiVersion: 'paymasters.dev/v1alpha1',
      kind: 'Paymaster',
      metadata: { namespace: 'acme', name: 'git' },
      spec: { ...aPaymaster('git'), maxExpirySeconds: 60, suspended: false },
    });
    for (const [method, path, body] of [
      ['POST', '/paymasters/git/suspend', undefined],
      ['PATCH', '/paymasters/git', { spec: { maxExpirySeconds: null } }],
      ['PUT', '/paymasters/git', { spec: aPaymaster('git') }],
      ['DELETE', '/paymasters/git', undefined],
    ] as const)
      expect({ method, ...(await ask(method, path, body)) }).toMatchObject({ method, status: 409 });
    expect((await ask('GET', '/paymasters/git')).data).toMatchObject({
      generation: 1,
      spec: { maxExpirySeconds: 300, suspended: false },
    });
  });

  test('stays with it when something else is changed', async () => {
    await declared('mixed', { maxExpirySeconds: 300 });
    const { data } = await ask('GET', '/paymasters/mixed');
    const spec = { ...recordOf(data['spec']), sponsor: { name: 'Us' } };
    expect(await ask('PUT', '/paymasters/mixed', { spec })).toMatchObject({ status: 200, data: { spec } });
    await declared('mixed', { maxExpirySeconds: 200 });
    expect((await ask('GET', '/paymasters/mixed')).data['spec']).toEqual({ ...spec, maxExpirySeconds: 200 });
    expect((await ask('PATCH', '/paymasters/mixed', { spec: { sponsor: null } })).data['spec']).toEqual({
      ...aPaymaster('mixed'),
      maxExpirySeconds: 200,
    });
  });
});

describe('a secret', () => {
  test('is never shown, and stays when an answer is sent back', async () => {
    const signature = `0x${'ab'.repeat(65)}`;
    const address = '0x00000000000000000000000000000000000000C2';
    const funding = { address, message: 'Allow', signature };
    await ask('POST', '/paymasters', { name: 'funded', spec: { ...aPaymaster('funded'), funding } });
    const seen = [
      await ask('GET', '/paymasters/funded'),
      await ask('GET', '/paymasters'),
      await ask('PATCH', '/paymasters/funded', { spec: { maxExpirySeconds: 60 } }),
      await ask('PATCH', '/paymasters/funded', { spec: { funding: { signature: 'wrong' } } }),
    ];
    expect(seen.map(({ status }) => status)).toEqual([200, 200, 200, 400]);
    expect(JSON.stringify(seen)).not.toContain('abab');
    expect(seen[0]?.data['spec']).toMatchObject({ funding: { address, message: 'Allow' } });
    await ask('PUT', '/paymasters/funded', { spec: seen[0]?.data['spec'] });
    const stored = await host.resources.get('Paymaster', { namespace: 'acme', name: 'funded' });
    expect(stored?.spec.funding).toEqual(funding);
    // The proof of one wallet is not given to another one.
    const moved = { address: '0x00000000000000000000000000000000000000C3' };
    expect(await ask('PATCH', '/paymasters/funded', { spec: { funding: moved } })).toMatchObject({
      status: 400,
    });
  });

  test('nor is any apiKey', async () => {
    await made('keyless');
    const { body } = await host.call('GET', '/paymaster', { token: acmeToken });
    const keys = recordsOf(body.data).map(({ apiKey }) => String(apiKey));
    expect(keys.length).toBeGreaterThan(0);
    const shown = JSON.stringify([await ask('GET', '/paymasters'), await ask('GET', '/paymasters/keyless')]);
    for (const key of keys) expect(shown).not.toContain(key);
  });
});

describe('refused', () => {
  test.each<[name: string, path: string, spec: (owner: string) => object, detail: string]>([
    [
      'a field that does not exist',
      '/paymasters',
      () => ({ ...aPaymaster('x'), suspend: true }),
      'spec.suspend',
    ],
    ['a chain that is not offered', '/paymasters', () => ({ ...aPaymaster('x'), chainId: 5 }), 'Chain ID'],
    [
      'a version that is not offered',
      '/paymasters',
      () => ({ ...aPaymaster('x'), version: '9' }),
      '"2.0.0", got "9"',
    ],
    ["another organisation's paymaster", '/policies', () => aLimit('theirs', 'x'), 'spec.paymasterRef.name'],
    [
      "another organisation's paymaster for a contract",
      '/contracts',
      () => aContract('theirs'),
      'spec.paymasterRef.name',
    ],
    [
      'a webhook inside',
      '/policies',
      (owner) => aWebhook(owner, 'https://169.254.169.254/'),
      'spec.webhook.url',
    ],
    [
      'a webhook without TLS',
      '/policies',
      (owner) => aWebhook(owner, 'http://rules.example.com/'),
      'spec.webhook.url',
    ],
    [
      'a method that the ABI lacks',
      '/contracts',
      (owner) => ({ ...aContract(owner), whitelistedMethods: ['nope'] }),
      'nope',
    ],
    ['no spec', '/policies', () => [] as object, 'spec must be an object'],
  ])('%s', async (name, path, spec, detail) => {
    await ask('PUT', '/paymasters/theirs', { spec: aPaymaster('theirs') }, { token: otherToken });
    await ask('PUT', '/paymasters/owner', { spec: aPaymaster('owner') });
    const object = `refused-${name.toLowerCase().replaceAll(/[^a-z]/g, '')}`;
    expect(await ask('POST', path, { name: object, spec: spec('owner') })).toMatchObject({
      status: 400,
      data: { detail: expect.stringContaining(detail) },
    });
    expect(await ask('GET', `${path}/${object}`)).toMatchObject({ status: 404 });
  });

  test('an expression, until a contract of its paymaster has the methods that it names', async () => {
    for (const name of ['expressed', 'neighbour']) await made(name);
    const rule = (text: string) => ({
      name: 'rule',
      spec: {
        paymasterRef: { name: 'expressed' },
        name: 'rule',
        policyType: 'EXPRESSION',
        expression: { text },
      },
    });
    const mints = rule('calls.all(c, c.method == "mint(address)" && c.args[0] == sender)');
    const contract = (paymaster: string) => ({ name: `coin-of-${paymaster}`, spec: aContract(paymaster) });
    expect(await ask('POST', '/contracts', contract('neighbour'))).toMatchObject({ status: 201 });
    expect(await ask('POST', '/policies', mints)).toMatchObject({
      status: 400,
      data: { detail: expect.stringContaining('spec.expression.text') },
    });
    expect(await ask('POST', '/contracts', contract('expressed'))).toMatchObject({ status: 201 });
    expect(await ask('POST', '/policies', rule('chain == "1"'))).toMatchObject({ status: 400 });
    expect(await ask('POST', '/policies', mints)).toMatchObject({ status: 201 });
  });

  test('bodies of another form, and names that no object has', async () => {
    for (const body of [[], 'x', null, { name: 'x', spec: {}, annotations: {} }, { name: 'UPPER', spec: {} }])
      expect(await ask('POST', '/paymasters', body)).toMatchObject({ status: 400 });
    for (const name of ['..%2F..%2Fother', 'UPPER', '%00', 'a%2Fb'])
      expect(await ask('GET', `/paymasters/${name}`)).toMatchObject({ status: 404 });
    expect(await ask('GET', '/paymasters?limit=501')).toMatchObject({ status: 400 });
  });

  test('more than the quota, also when many ask at once', async () => {
    const token = 'small-token-0123456789';
    await applyOrganisation(host.resources, 'small', {
      namespace: 'small',
      tokens: [{ name: 'ci', sha256: hashCredential(token) }],
      quotas: { paymasters: 2 },
    });
    const single = await host.beside();
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        single
          .fetch(`${managePrefix}/paymasters`, {
            method: 'POST',
            headers: { authToken: token },
            body: JSON.stringify({ name: `p${index}`, spec: aPaymaster(`p${index}`) }),
          })
          .then(({ status }) => status),
      ),
    );
    expect(answers.toSorted((a, b) => a - b)).toEqual([201, 201, 400, 400, 400, 400]);
  });

  test('what is immutable', async () => {
    await made('fixed');
    expect(await ask('PATCH', '/paymasters/fixed', { spec: { version: '2.0.0' } })).toMatchObject({
      status: 400,
      data: { errors: [{ field: 'spec.version' }] },
    });
  });
});

test('lists come in pages that lose and repeat none, of one paymaster where it is named', async () => {
  await made('paged');
  const names = Array.from({ length: 7 }, (_, index) => `paged-${index}`);
  for (const name of names) await ask('POST', '/policies', { name, spec: aLimit('paged', name) });
  const seen: unknown[] = [];
  let cursor: unknown;
  do {
    const after = typeof cursor === 'string' ? `&cursor=${cursor}` : '';
    const { data } = await ask('GET', `/policies?paymaster=paged&limit=3${after}`);
    seen.push(...recordsOf(data['items']).map(({ name }) => name));
    cursor = data['nextCursor'];
  } while (cursor !== null);
  expect(seen).toEqual(names);
});

test('a notification of another organisation is not listed, its key is not shown, and it is not tried', async () => {
  const token = 'noticed-token-0123456789';
  await applyOrganisation(host.resources, 'noticed', {
    namespace: 'noticed',
    tokens: [{ name: 'ci', sha256: hashCredential(token) }],
    notifications: [{ name: 'ops', url: 'https://hooks.example.com/of-noticed' }],
  });
  expect((await ask('GET', '/notifications', undefined, { token })).data['items']).toMatchObject([
    { name: 'ops' },
  ]);
  const asked = { token: otherToken };
  expect((await ask('GET', '/notifications', undefined, asked)).data['items']).toEqual([]);
  for (const [method, path] of [
    ['GET', '/notifications/ops/key'],
    ['POST', '/notifications/ops/test'],
  ] as const)
    expect(await ask(method, path, method === 'GET' ? undefined : {}, asked)).toMatchObject({
      status: 404,
      data: { code: 'NOT_FOUND' },
    });
});

// Tokens have their own tests, and notifications are entries of the Organisation.
const nounRows = manageEndpoints.filter(({ path }) => /^\/(?!tokens|notifications).*:name/.test(path));

test.each(nounRows)('$method $path does not find an object of another organisation', async (row) => {
  await made(`victim-${row.operationId.toLowerCase()}`);
  const owner = `victim-${row.operationId.toLowerCase()}`;
  await ask('POST', '/contracts', { name: owner, spec: aContract(owner) });
  await ask('POST', '/policies', { name: owner, spec: aLimit(owner, 'daily') });
  const noun = row.path.split('/')[1] ?? '';
  const before = await ask('GET', `/${noun}/${owner}`);
  const body = row.method === 'put' ? undefined : row.body?.example;
  const answer = await ask(
    row.method.toUpperCase(),
    row.path.replace(':name', owner),
    row.method === 'get' ? undefined : (body ?? {}),
    {
      token: otherToken,
      ...(row.method === 'put' && { etag: before.etag }),
    },
  );
  // PUT without a spec is refused before it is looked for.
  expect([404, 400]).toContain(answer.status);
  expect(JSON.stringify(answer.data)).not.toContain(String(before.data['uid']));
  // An operator may have written the status meanwhile.
  const after = await ask('GET', `/${noun}/${owner}`);
  expect([after.status, after.etag, after.data['spec']]).toEqual([200, before.etag, before.data['spec']]);
});
