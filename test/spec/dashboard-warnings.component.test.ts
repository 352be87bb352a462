import { describe, expect, test } from '@jest/globals';
import { aContractBody, aLimitBody, chainId, createPaymaster, recordOf } from '../build/dashboard.js';
import { nearestName, unknownFields } from '../../core/schema/unknown-fields.js';
import { createLimitSchema } from '../build/policy-bodies.js';
import { useDashboard } from '../support/use-dashboard.js';

// Hints for the caller about a successful request are in `warnings` of the answer.

type Line = { readonly message: string; readonly fields: Readonly<Record<string, unknown>> };
const lines: Line[] = [];
const note = (message: string, fields = {}): void => void lines.push({ message, fields });
const log = { debug: note, info: note, warn: note, error: note, child: () => log };
const host = useDashboard({ log });

describe('a contract whose ABI has types that are not read', () => {
  test('is registered without those functions, and they are named', async () => {
    const mine = await createPaymaster(host, { name: 'Contracts' });
    const odd = { type: 'function', name: 'odd', inputs: [{ type: 'function' }] };
    const abi = JSON.stringify([...JSON.parse(aContractBody.abi), odd]);
    const answer = await host.call('POST', '/smart-contract', { ...mine, body: { ...aContractBody, abi } });
    expect(answer.status).toBe(200);
    expect(answer.body.warnings).toEqual([
      'abi: functions with types that are not read were left out: odd takes function',
    ]);
    const { spec } = (await host.resources.list('SmartContract')).find((each) => each.spec.abi === abi)!;
    expect(spec.whitelistedMethods).toEqual(aContractBody.whitelistedMethods);
  });
});

describe('fields of a body that are not known', () => {
  test('are ignored and named, with the one that was perhaps meant', async () => {
    const { token } = await createPaymaster(host, { name: 'First' });
    const body = { name: 'Second', type: 'HYBRID', chainId, version: '1.1.0', verison: '9', note: 1 };
    const answer = await host.call('POST', '/paymaster', { token, body });
    expect(answer.status).toBe(200);
    expect(answer.body.warnings).toEqual([
      'verison is not known and was ignored',
      'note is not known and was ignored',
    ]);
  });

  test('are named with their path, by the schema that the policyType asks for', async () => {
    const mine = await createPaymaster(host, { name: 'Policies' });
    const webhook = {
      name: 'hook',
      policyType: 'WEBHOOK',
      policyData: { url: 'https://hooks.example.com', onerror: 'Allow', timeoutSecond: 1 },
    };
    const answer = await host.call('POST', '/paymaster-policy', { ...mine, body: webhook });
    expect(answer.body.warnings).toEqual([
      'policyData.onerror is not known and was ignored: did you mean policyData.onError?',
      'policyData.timeoutSecond is not known and was ignored: did you mean policyData.timeoutSeconds?',
    ]);
  });

  test('a body without them has no warnings', async () => {
    const mine = await createPaymaster(host, { name: 'Quiet' });
    const answer = await host.call('POST', '/smart-contract', { ...mine, body: aContractBody });
    expect(answer.body).not.toHaveProperty('warnings');
  });
});

test('an update of a limit says that its cycle started anew, and the log names the object', async () => {
  const mine = await createPaymaster(host, { name: 'Limits' });
  const created = await host.call('POST', '/paymaster-policy', { ...mine, body: aLimitBody });
  const id = String(recordOf(created.body.data)['_id']);
  const answer = await host.call('PATCH', `/paymaster-policy/limit/${id}`, {
    ...mine,
    body: { threshold: 3 },
  });
  expect(answer.body.warnings).toEqual([
    expect.stringMatching(
      /^the cycle of the limit started anew at 20\d\d-.*Z: what was used before no longer counts$/,
    ),
  ]);
  expect(lines.filter(({ message }) => message === 'dashboard write').at(-1)?.fields).toMatchObject({
    operation: 'updateLimit',
    kind: 'PaymasterPolicy',
    object: expect.stringContaining('daily'),
  });
});

test('a 400 quotes text and shows figures as they are', async () => {
  const mine = await createPaymaster(host, { name: 'Quotes' });
  const created = await host.call('POST', '/paymaster-policy', { ...mine, body: aLimitBody });
  const id = String(recordOf(created.body.data)['_id']);
  const patch = (body: object) => host.call('PATCH', `/paymaster-policy/limit/${id}`, { ...mine, body });
  expect((await patch({ type: 'SMART_ACCOUNT' })).body.message).toBe(
    'type must be left as it is ("PAYMASTER"), got "SMART_ACCOUNT"',
  );
  expect((await patch({ thresholdType: 'OPS' })).body.message).toMatch(/, got "OPS"$/);
  expect((await patch({ threshold: -1 })).body.message).toMatch(/, got -1$/);
});

describe('names that are near', () => {
  test.each([
    ['tresholdType', 'thresholdType'],
    ['THRESHOLD', 'threshold'],
    ['treshold', 'threshold'],
    ['cycleduration', 'cycleDuration'],
    ['colour', undefined],
    ['x'.repeat(1000), undefined],
  ])('%s → %s', (name, want) => {
    expect(nearestName(name, ['threshold', 'thresholdType', 'cycleDuration', 'type'])).toBe(want);
  });

  test('of a body with very many fields only some are looked for', () => {
    const body = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`field${n}`, n]));
    expect(unknownFields(createLimitSchema, body)).toHaveLength(20);
  });
});
