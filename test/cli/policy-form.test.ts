import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { apiVersion } from '../../core/meta/meta.js';
import { policyKinds } from '../../core/policy/kinds.js';
import { aPaymaster } from '../build/resources.js';
import { paymaster } from '../support/paymaster.js';

// Options for each kind of policy. What they make is applied to a server in short-form.component.test.ts.

const [one, two] = [`0x${'a1'.repeat(20)}`, `0x${'b2'.repeat(20)}`];
let folder: string;
const put = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'policy-form-'));
  put('accounts', `# of the guild\n${one}\n\n${two} # Bo\n`);
  put('empty', '# nobody\n');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** `@name` is a file of the folder. */
const create = (...args: readonly string[]) =>
  paymaster(
    ['policy', 'create', 'mine', '--paymaster', 'shop', '--dry-run'].concat(
      args.map((arg) => (arg.startsWith('@') ? join(folder, arg.slice(1)) : arg)),
    ),
    { XDG_CONFIG_HOME: folder },
  );

const limit = (data: object) => ({ policyType: 'PAYMASTER_SA_LIMIT', spendingLimit: data });
const [user, all] = [{ scope: 'SMART_ACCOUNT' }, { scope: 'PAYMASTER' }];
const count = (threshold: string) => ({ thresholdType: 'COUNT', threshold });
const day = { cycleDuration: { value: 1, unit: 'day' } };
const text = 'calls.all(c, c.value == 0)';

const made: readonly {
  readonly args: readonly string[];
  readonly spec: Readonly<Record<string, unknown>>;
}[] = [
  { args: ['--per-user', '20/day'], spec: limit({ ...user, ...count('20'), ...day }) },
  { args: ['--total', '5'], spec: limit({ ...all, ...count('5'), never: {} }) },
  {
    args: ['--total', '5/6 hours', '--start', '2026-12-01'],
    spec: limit({
      ...all,
      ...count('5'),
      cycleDuration: { value: 6, unit: 'hour' },
      startTime: '2026-12-01T00:00:00Z',
    }),
  },
  {
    args: ['--total', '5/30days'],
    spec: limit({ ...all, ...count('5'), cycleDuration: { value: 30, unit: 'day' } }),
  },
  ...['day', 'week', 'month'].map((every) => ({
    args: ['--per-user', `5/${every}`, '--time-zone', 'Europe/Berlin'],
    spec: limit({ ...user, ...count('5'), calendar: { every, timeZone: 'Europe/Berlin' } }),
  })),
  {
    args: ['--per-operation', '0.50 dollars'],
    spec: limit({ ...all, thresholdType: 'USD', perOperation: '0.50' }),
  },
  {
    args: ['--per-operation', '0.001 ether', '--per-user', '0.1 ether/day'],
    spec: limit({ ...user, thresholdType: 'NATIVE_ASSET', threshold: '0.1', perOperation: '0.001', ...day }),
  },
  {
    args: ['--webhook', 'https://a.example/x'],
    spec: { policyType: 'WEBHOOK', webhook: { url: 'https://a.example/x' } },
  },
  {
    args: [
      '--webhook',
      'http://hooks.shop.svc:8080',
      '--webhook-method',
      'GET',
      '--webhook-on-error',
      'Allow',
      '--webhook-timeout',
      '0.5',
    ],
    spec: {
      policyType: 'WEBHOOK',
      webhook: { url: 'http://hooks.shop.svc:8080', method: 'GET', onError: 'Allow', timeoutSeconds: 0.5 },
    },
  },
  { args: ['--allow-deployments'], spec: { policyType: 'WALLET_DEPLOYMENT', walletDeployment: {} } },
  {
    args: ['--from', '2026-12-01', '--until', '2027-01-01T08:00:00+01:00', '--campaign', 'winter-2026'],
    spec: {
      policyType: 'WINDOW',
      campaign: 'winter-2026',
      window: { from: '2026-12-01T00:00:00Z', until: '2027-01-01T08:00:00+01:00' },
    },
  },
  {
    args: [
      '--allow-sender',
      one,
      '--allow-sender',
      two,
      '--applies-to',
      'SPONSORED',
      '--applies-to',
      'ERC20',
    ],
    spec: {
      policyType: 'SENDERS',
      senders: { action: 'Allow', addresses: [one, two], appliesTo: ['SPONSORED', 'ERC20'] },
    },
  },
  {
    args: ['--deny-sender', '@accounts', '--shadow'],
    spec: {
      policyType: 'SENDERS',
      enforcement: 'Shadow',
      senders: { action: 'Deny', addresses: [one, two] },
    },
  },
  {
    args: ['--expression', text, '--allow-no-calls', '--applies-to', 'ERC20'],
    spec: { policyType: 'EXPRESSION', expression: { text, allowNoCalls: true, appliesTo: ['ERC20'] } },
  },
];

describe('policies by options', () => {
  test.each(made)('$args are a manifest', async ({ args, spec }) => {
    const { out, error, status } = await create(...args);
    expect({ error, status }).toEqual({ error: '', status: 0 });
    expect(parse(out)).toEqual({
      apiVersion,
      kind: 'PaymasterPolicy',
      metadata: { name: 'mine' },
      spec: { name: 'mine', paymasterRef: { name: 'shop' }, ...spec },
    });
  });

  test('are of every kind', () => {
    expect(new Set(made.map(({ spec }) => spec['policyType']))).toEqual(new Set(Object.keys(policyKinds)));
  });

  test('are what "validate" takes', async () => {
    const outs = await Promise.all(made.map(async ({ args }) => parse((await create(...args)).out)));
    const policies = outs.map((each, at) => ({
      ...each,
      metadata: { name: `p${at}`, namespace: 'acme' },
      spec: { ...each.spec, name: `p${at}` },
    }));
    const shop = {
      apiVersion,
      kind: 'Paymaster',
      metadata: { name: 'shop', namespace: 'acme' },
      spec: { ...aPaymaster().spec, name: 'shop' },
    };
    const file = put('all.yaml', [shop, ...policies].map((each) => stringify(each)).join('---\n'));
    const { out } = await paymaster(['validate', file]);
    // Hosts inside a network are the platform's to allow, and a price of the coin is the Chain's.
    const said = out
      .split('\n')
      .filter((line) => /p[0-9]+\b/.test(line) && !/hooks\.shop\.svc|nativePrice/.test(line));
    expect(said).toEqual([]);
  });

  test.each([
    {
      args: [],
      says: 'the policy must be one of --per-user, --total, --per-operation, --webhook, --allow-deployments, --from, --until, --allow-sender, --deny-sender, --expression',
    },
    {
      args: ['--applies-to', 'ERC20'],
      says: '--applies-to must be given with --from or --until or --allow-sender',
    },
    { args: ['--webhook-timeout', '3'], says: '--webhook-timeout must be given with --webhook' },
    {
      args: ['--webhook', 'https://a.example', '--webhook-timeout', '3s'],
      says: '--webhook-timeout must be a number of seconds, got "3s"',
    },
    {
      args: ['--webhook', 'https://a.example', '--webhook-timeout', '60'],
      says: '--webhook-timeout must be a number from 0.5 to 10, got 60',
    },
    {
      args: ['--webhook', 'https://a.example', '--webhook-on-error', 'Ignore'],
      says: "argument 'Ignore' is invalid. Allowed choices are Deny, Allow",
    },
    { args: ['--webhook', 'shop.example'], says: '--webhook must be' },
    { args: ['--webhook', 'https://user:secret@a.example'], says: '--webhook must be' },
    { args: ['--start', '2026-12-01'], says: '--start must be given with --per-user or --total' },
    {
      args: ['--total', '5/week', '--start', '2026-12-01'],
      says: '--start must be left out without cycleDuration',
    },
    { args: ['--total', '5/2 weeks'], says: '--total must be like 20/day, 5/6 hours' },
    { args: ['--total', '1.5/day'], says: '--total must be a whole number' },
    {
      args: ['--per-user', '1/day', '--total', '5/day'],
      says: "'--per-user <limit>' cannot be used with option '--total <limit>'",
    },
    {
      args: ['--total', '5/hour', '--time-zone', 'Europe/Berlin'],
      says: '--time-zone must be given with a limit by day, week or month',
    },
    {
      args: ['--total', '5/day', '--time-zone', 'Berlin'],
      says: '--time-zone must be the name of a time zone such as Europe/Berlin, got "Berlin"',
    },
    {
      args: ['--per-operation', '3'],
      says: '--per-operation must be like 0.50 dollars or 0.001 ether, got "3"',
    },
    {
      args: ['--per-operation', '1 dollar', '--total', '5/day'],
      says: '--per-operation must be in the unit of the limit beside it',
    },
    { args: ['--from', 'tomorrow'], says: '--from must be' },
    { args: ['--from', '2027-01-01', '--until', '2026-12-01'], says: '--until must be later than from' },
    { args: ['--allow-sender', '0x12'], says: '--allow-sender must be' },
    { args: ['--allow-sender', '/none'], says: '--allow-sender: ENOENT' },
    {
      args: ['--allow-sender', '@empty'],
      says: '--allow-sender must be an address, or a file with one on each line',
    },
    {
      args: ['--allow-sender', one, '--deny-sender', two],
      says: "cannot be used with option '--deny-sender <account>'",
    },
    { args: ['--allow-sender', one, '--applies-to', 'BOTH'], says: 'Allowed choices are SPONSORED, ERC20' },
    { args: ['--expression', 'calls.all('], says: '--expression 1:11: ' },
    { args: ['--expression', 'sender == 1'], says: '--expression 1:11: an address cannot be compared' },
    {
      args: ['--from', '2026-12-01', '--expression', text],
      says: '--from and --expression must be given to two commands',
    },
    { args: ['--allow-deployments', '--shadow'], says: '--shadow must be' },
    { args: ['--from', '2026-12-01', '--campaign', 'a b'], says: '--campaign must be letters, digits' },
  ])('$args: $says', async ({ args, says }) => {
    expect(await create(...args)).toMatchObject({ status: 2, out: '', error: expect.stringContaining(says) });
  });
});

test('a limit for one operation has a name of its own, so that it does not replace another', async () => {
  const set = ['limit', 'set', '--paymaster', 'shop', '--per-operation', '1 dollar', '--dry-run'];
  const { out } = await paymaster(set, { XDG_CONFIG_HOME: folder });
  expect(parse(out)).toMatchObject({ metadata: { name: 'shop-per-operation' } });
});
