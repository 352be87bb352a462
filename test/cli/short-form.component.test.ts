import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import { parse, stringify } from 'yaml';
import { apiVersion } from '../../core/meta/meta.js';
import { acmeToken } from '../build/dashboard.js';
import { aPaymaster } from '../build/resources.js';
import { paymaster } from '../support/paymaster.js';
import { useDashboard } from '../support/use-dashboard.js';

const asked: { userOp: { callData: string; sender: string } }[] = [];
const host = useDashboard({
  operator: true,
  programmedTimeoutMs: 60_000,
  explanations: {
    ask: async (question) => {
      asked.push(question as never);
      return { mode: 'SPONSORED', sponsored: true, steps: [], rules: [] };
    },
  },
});
const { chainId, version } = aPaymaster().spec;
const address = `0x${'c1'.repeat(20)}`;
const abi = ['mint(address to, uint256[] ids)', 'burn(uint256 id)', 'burn(uint256 id, bytes why)'];
const contract = new Interface(abi.map((each) => `function ${each}`));

let folder: string;
const put = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'short-form-'));
  put('token', acmeToken);
  put('abi.json', JSON.stringify({ contractName: 'Nft', abi: JSON.parse(contract.formatJson()) }));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (...args: readonly string[]) =>
  paymaster(args, { PAYMASTER_URL: host.origin, PAYMASTER_TOKEN_FILE: join(folder, 'token') });
const done = async (...args: readonly string[]) => {
  const ended = await run(...args);
  expect(ended).toMatchObject({ error: '', status: 0 });
  return ended.out;
};
const shown = async (noun: string, name: string) => JSON.parse(await done(noun, 'show', name, '-o', 'json'));
const manifest = (kind: string, name: string, spec: object, more: object = {}) =>
  stringify({ apiVersion, kind, metadata: { name, namespace: 'acme', ...more }, spec });

describe('options instead of YAML', () => {
  test('make a paymaster that sponsors nothing yet, a contract, a limit and a webhook', async () => {
    await done('paymaster', 'create', 'game', '--chain-id', String(chainId), '--version', version);
    expect((await shown('paymaster', 'game')).spec).toEqual({
      name: 'game',
      chainId,
      type: 'HYBRID',
      version,
      defaultContractAction: 'Deny',
    });
    // The only paymaster need not be named.
    await done(
      'contract',
      'add',
      'nft',
      '--address',
      address,
      '--abi',
      join(folder, 'abi.json'),
      '--method',
      'mint',
    );
    expect((await shown('contract', 'nft')).spec).toMatchObject({
      paymasterRef: { name: 'game' },
      name: 'nft',
      whitelistedMethods: ['mint'],
    });
    await done('limit', 'set', '--per-user', '20/day');
    const { spec } = await shown('policy', 'game-per-user');
    expect(spec).toMatchObject({
      policyType: 'PAYMASTER_SA_LIMIT',
      spendingLimit: { scope: 'SMART_ACCOUNT', threshold: '20', cycleDuration: { value: 1, unit: 'day' } },
    });
    expect(await run('limit', 'set', '--per-user', '30/day')).toMatchObject({
      status: 1,
      error: expect.stringContaining('--yes changes it'),
    });
    await done('limit', 'set', '--per-user', '30/day', '--keep-count');
    await done('policy', 'create', 'hook', '--webhook', 'https://example.org/ask', '--shadow');
    expect((await shown('policy', 'hook')).spec).toMatchObject({
      policyType: 'WEBHOOK',
      enforcement: 'Shadow',
      webhook: { url: 'https://example.org/ask' },
    });
  });

  test.each([
    { args: ['--per-operation', '0.001 ether'], member: 'spendingLimit' },
    { args: ['--from', '2026-12-01', '--until', '2027-01-01'], member: 'window' },
    { args: ['--deny-sender', `0x${'5e'.repeat(20)}`, '--applies-to', 'ERC20'], member: 'senders' },
    { args: ['--expression', 'calls.all(c, c.value == 0)'], member: 'expression' },
    { args: ['--allow-deployments'], member: 'walletDeployment' },
  ])('make the policy that --dry-run prints: $args', async ({ args, member }) => {
    const create = ['policy', 'create', member.toLowerCase(), '--paymaster', 'game', ...args];
    const { spec } = parse(await done(...create, '--dry-run'));
    await done(...create);
    expect((await shown('policy', member.toLowerCase())).spec).toEqual(spec);
    expect(spec).toHaveProperty(member);
  });

  test.each([
    { limit: '5', spec: { threshold: '5', never: {} } },
    { limit: '0.05 ether/week', spec: { threshold: '0.05', calendar: { every: 'week', timeZone: 'UTC' } } },
    { limit: '100dollars/month', spec: { threshold: '100', calendar: { every: 'month', timeZone: 'UTC' } } },
  ])('--dry-run prints the manifest of $limit, and writes nothing', async ({ limit, spec }) => {
    const out = await done('limit', 'set', 'gas', '--paymaster', 'any', '--total', limit, '--dry-run');
    expect(parse(out)).toMatchObject({
      apiVersion,
      kind: 'PaymasterPolicy',
      metadata: { name: 'gas', namespace: 'acme' },
      spec: { name: 'gas', paymasterRef: { name: 'any' }, spendingLimit: { scope: 'PAYMASTER', ...spec } },
    });
    expect(await run('policy', 'show', 'gas')).toMatchObject({ status: 1 });
    expect(await paymaster(['validate', put('gas.yaml', out)])).toMatchObject({
      out: expect.not.stringContaining('spendingLimit'),
    });
  });

  test.each([
    { args: ['paymaster', 'create'], says: 'NAME must be given with --chain-id, --version, or -f FILE' },
    {
      args: ['paymaster', 'create', 'a', '--chain-id', '1x'],
      says: '--chain-id must be the id of a chain, got "1x"',
    },
    { args: ['paymaster', 'create', 'a', '--chain-id', '1'], says: '--version must be set' },
    {
      args: ['limit', 'set', 'a', '--paymaster', 'b'],
      says: 'the policy must be one of --per-user, --total',
    },
    {
      args: ['limit', 'set', '--paymaster', 'b', '--total', '1/fortnight'],
      says: '--total must be like 20/day',
    },
    { args: ['limit', 'set', '--paymaster', 'b', '--total', '1 pound'], says: 'got "1 pound"' },
    {
      args: ['policy', 'create', 'a', '--total', '1', '--webhook', 'https://a.example'],
      says: '--total and --webhook must be given to two commands',
    },
    {
      args: ['contract', 'add', 'a', '--paymaster', 'b', '--address', '0x1', '--abi', '/none'],
      says: '--abi: ENOENT',
    },
  ])('$args: $says', async ({ args, says }) => {
    expect(await run(...args)).toMatchObject({ status: 2, out: '', error: expect.stringContaining(says) });
  });
});

describe('what the server refuses', () => {
  const add = (name: string, ...more: readonly string[]) =>
    run('contract', 'add', name, '--paymaster', 'game', '--abi', join(folder, 'abi.json'), ...more);

  test.each([
    {
      ask: () => run('limit', 'set', '--paymaster', 'none', '--total', '1/day'),
      says: 'error: --paymaster must be a paymaster of the organisation, got "none"\n',
    },
    {
      ask: () => run('paymaster', 'create', 'other', '--chain-id', '5', '--version', version),
      says: 'error: Chain ID not supported\n  --chain-id must be a chain that is offered, got 5\n',
    },
    {
      ask: () => run('paymaster', 'create', 'other', '--chain-id', String(chainId), '--version', '9'),
      says: /^error: --version must be one of .*, got "9"\n$/,
    },
    {
      ask: () => add('nft2', '--address', address),
      says: 'error: The contract "nft" has this address already\n  --address must be free, and the contract "nft" has it\n',
    },
    {
      ask: () => add('nft', '--address', `0x${'c2'.repeat(20)}`),
      says: 'error: The contract "nft" has this name already\n  NAME must be free, and the contract "nft" has it\n',
    },
    {
      ask: () =>
        run('policy', 'create', 'b', '--paymaster', 'game', '--expression', 'calls[0].method == "no(int8)"'),
      says: /^error: --expression 1:[0-9]+: no registered contract has the method "no\(int8\)"/,
    },
    {
      ask: () => run('paymaster', 'list', '--limit', 'many'),
      says: 'error: --limit must be an integer from 1 to 500, got "many"\n',
    },
    {
      ask: () => run('token', 'create', '--name', 'x', '--scopes', 'all'),
      says: /^error: --scopes must be "read", .* got "all"\n$/,
    },
    {
      ask: () => run('paymaster', 'delete', 'game', '--yes'),
      says: /: --cascade deletes them with it\n  contracts must be deleted first, or with it by --cascade, got nft\n/,
    },
    {
      ask: () => run('explain', '/none', '--paymaster', 'game'),
      says: /^error: \/none cannot be read: ENOENT/,
    },
    {
      ask: () =>
        run('apply', '-f', put('other.yaml', 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\n')),
      says: /^error: no manifest of ours in /,
    },
  ])('is said of the option, row $#', async ({ ask, says }) => {
    const { out, error } = await ask();
    expect(out).toBe('');
    if (typeof says === 'string') expect(error).toBe(says);
    else expect(error).toMatch(says);
  });
});

describe('explain', () => {
  const explain = (...args: readonly string[]) =>
    run('explain', '--paymaster', 'game', '--contract', 'nft', ...args);

  test('takes a contract and a method instead of an operation', async () => {
    const sender = `0x${'5e'.repeat(20)}`;
    const ended = await explain('--method', 'mint', '--sender', sender, address, '[1, 2]');
    expect(ended).toMatchObject({ error: '', status: 0 });
    const [{ userOp } = { userOp: { callData: '', sender: '' } }] = asked;
    const account = new Interface(['function execute(address to, uint256 value, bytes data)']);
    const [to, value, data] = account.decodeFunctionData('execute', userOp.callData);
    expect([userOp.sender, String(to).toLowerCase(), value]).toEqual([sender, address, 0n]);
    expect(data).toBe(contract.encodeFunctionData('mint', [address, [1n, 2n]]));
  });

  test.each([
    { args: ['--method', 'none'], says: '--method must be a method of the ABI of the contract, got "none"' },
    { args: ['--method', 'burn', '1'], says: '--method must be one of burn(uint256), burn(uint256,bytes)' },
    { args: ['--method', 'mint', '1'], says: 'mint(address,uint256[]) takes 2 values, got 1' },
    { args: ['--method', 'mint', 'x', '[]'], says: 'the values of mint(address,uint256[]): invalid address' },
    { args: ['--method', 'mint', address, '[1'], says: 'the values of mint(address,uint256[]): ' },
    { args: [address], says: '--contract must be given together with --method' },
  ])('$args: $says', async ({ args, says }) => {
    expect(await explain(...args)).toMatchObject({
      status: 2,
      out: '',
      error: expect.stringContaining(says),
    });
  });
});

describe('apply', () => {
  const spec = { name: 'applied', chainId, type: 'HYBRID' as const, version };
  const limit = (threshold: string) => ({
    paymasterRef: { name: 'applied' },
    name: 'daily',
    policyType: 'PAYMASTER_SA_LIMIT',
    spendingLimit: {
      scope: 'PAYMASTER',
      cycleDuration: { value: 1, unit: 'day' },
      threshold,
      thresholdType: 'COUNT',
    },
  });
  const apply = (text: string, ...more: readonly string[]) =>
    run('apply', '-f', put('apply.yaml', text), ...more);

  test('creates and changes what manifests say, and says which', async () => {
    const both = (threshold: string, labels = {}) =>
      `${manifest('PaymasterPolicy', 'applied-daily', limit(threshold))}---\n${manifest('Paymaster', 'applied', spec, { labels })}`;
    expect(await apply(both('10'))).toEqual({
      status: 0,
      error: '',
      out: 'Paymaster applied created\nPaymasterPolicy applied-daily created\n',
    });
    expect((await apply(both('10'))).out).toBe(
      'Paymaster applied unchanged\nPaymasterPolicy applied-daily unchanged\n',
    );
    const asks = await apply(both('20', { team: 'growth' }));
    expect(asks).toMatchObject({ status: 1, out: 'Paymaster applied changed\n' });
    expect(asks.error).toContain('the count begins anew');
    expect((await apply(both('20', { team: 'growth' }), '--yes')).out).toContain('applied-daily changed');
    expect((await shown('policy', 'applied-daily')).spec.spendingLimit.threshold).toBe('20');
  });

  test('--dry-run says what each manifest would do, and writes nothing', async () => {
    const text = (more: object, threshold: string) => {
      const shop = { ...spec, name: 'planned', ...more };
      const policy = { ...limit(threshold), paymasterRef: { name: 'planned' } };
      return `${manifest('Paymaster', 'planned', shop)}---\n${manifest('PaymasterPolicy', 'planned-daily', policy)}`;
    };
    expect(await apply(text({}, '10'), '--dry-run')).toEqual({
      status: 0,
      error: '',
      out: 'Paymaster planned created (dry run)\nPaymasterPolicy planned-daily created (dry run; the server can check it when its paymaster is there)\n',
    });
    expect(await apply(text({}, 'ten'), '--dry-run')).toMatchObject({
      status: 1,
      error: expect.stringContaining('PaymasterPolicy planned-daily: spec.spendingLimit.threshold must be'),
    });
    expect(await run('paymaster', 'show', 'planned')).toMatchObject({ status: 1 });
    expect(await apply(text({}, '10'))).toMatchObject({ status: 0 });
    expect(await apply(text({}, '10'), '--dry-run')).toMatchObject({
      status: 0,
      out: 'Paymaster planned unchanged (dry run)\nPaymasterPolicy planned-daily unchanged (dry run)\n',
    });
    const before = [await shown('paymaster', 'planned'), await shown('policy', 'planned-daily')];
    const next = text({ maxExpirySeconds: 60 }, '20');
    const asks = await apply(next, '--dry-run');
    expect(asks).toMatchObject({
      status: 1,
      out: 'Paymaster planned changed (dry run)\n    spec.maxExpirySeconds: (absent) → 60\n',
    });
    expect(asks.error).toContain('the count begins anew');
    expect(await apply(next, '--dry-run', '--yes')).toMatchObject({
      status: 0,
      out: expect.stringContaining(
        'PaymasterPolicy planned-daily changed (dry run)\n    spec.spendingLimit.threshold: "10" → "20"\n',
      ),
    });
    expect([await shown('paymaster', 'planned'), await shown('policy', 'planned-daily')]).toEqual(before);
  });

  test.each([[], ['--dry-run']])(
    'leaves to another manager what is his, and names him %j',
    async (...more: readonly string[]) => {
      await host.resources.apply({
        manager: 'argocd-controller',
        kind: 'Paymaster',
        key: { namespace: 'acme', name: 'theirs' },
        spec: { ...spec, name: 'theirs', maxExpirySeconds: 60 },
      });
      expect(
        await apply(
          manifest('Paymaster', 'theirs', { ...spec, name: 'theirs', maxExpirySeconds: 30 }),
          ...more,
        ),
      ).toMatchObject({
        status: 1,
        out: '',
        error: expect.stringContaining('owned by "argocd-controller"'),
      });
    },
  );

  test.each([
    {
      text: () => manifest('Paymaster', 'a', spec, { namespace: 'other' }),
      says: 'must be "acme", that of the token, got "other"',
    },
    {
      text: () =>
        stringify({ apiVersion, kind: 'Organisation', metadata: { name: 'a' }, spec: { namespace: 'a' } }),
      says: 'one of Paymaster, SmartContract, PaymasterPolicy',
    },
    { text: () => 'kind: [', says: 'apply.yaml' },
  ])('writes nothing where it is refused: $says', async ({ text, says }) => {
    const first = manifest('Paymaster', 'never', { ...spec, name: 'never' });
    const ended = await apply(`${first}---\n${text()}`);
    expect(ended).toMatchObject({ status: 2, out: '', error: expect.stringContaining(says) });
    expect(await run('paymaster', 'show', 'never')).toMatchObject({ status: 1 });
  });
});
