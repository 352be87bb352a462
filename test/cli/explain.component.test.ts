import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { derivePaymasterId } from '../../core/config/ids.js';
import { DomainError } from '../../core/errors.js';
import { acmeToken, createPaymaster } from '../build/dashboard.js';
import { aPaymasterConfig } from '../build/configs.js';
import { anOperation } from '../build/operations.js';
import { paymaster } from '../support/paymaster.js';
import { useDashboard } from '../support/use-dashboard.js';

const asked: unknown[] = [];
let answer: object;
const host = useDashboard({
  operator: false,
  explanations: {
    ask: async ({ userOp, context }) => {
      asked.push({ userOp, context });
      if (answer instanceof Error) throw answer;
      return answer;
    },
  },
});
let folder: string;
const put = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'explain-'));
  await createPaymaster(host, { name: 'shop' });
  const [made] = await host.resources.list('Paymaster', { namespace: 'acme' });
  name = made?.metadata.name ?? '';
  await host.configs.putPaymaster(aPaymasterConfig({ paymasterId: derivePaymasterId('acme', name) }));
});
beforeEach(() => void asked.splice(0));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let name: string;
const run = (more: readonly string[] = [], { token = acmeToken, url = host.origin } = {}) =>
  paymaster(['explain', put('op.json', JSON.stringify(anOperation())), '--paymaster', name, ...more], {
    PAYMASTER_URL: url,
    PAYMASTER_TOKEN_FILE: put('token', token),
  });

const passing = { mode: 'SPONSORED', sponsored: true, steps: [{ step: 'suspended', verdict: 'pass' }] };
const refusing = {
  mode: 'SPONSORED',
  sponsored: false,
  steps: [
    { step: 'suspended', verdict: 'pass' },
    { step: 'calls', verdict: 'refuse', reason: 'CONTRACT_NOT_REGISTERED', detail: 'call 0' },
  ],
};

test('shows every step, and ends with 1 where one refuses', async () => {
  answer = passing;
  const passed = await run();
  expect(passed).toMatchObject({ status: 0, error: '' });
  expect(passed.out).toMatch(/^ {2}suspended +pass$/m);
  expect(passed.out).toMatch(/would be signed\n$/);
  answer = refusing;
  const refused = await run();
  expect(refused).toMatchObject({ status: 1, error: '' });
  expect(refused.out).toMatch(/^ {2}calls +refuse +CONTRACT_NOT_REGISTERED +call 0$/m);
  expect(refused.out).toMatch(/would be refused\n$/);
  expect(JSON.parse((await run(['-o', 'json'])).out)).toEqual(refusing);
});

test('asks about the operation of the file, in the mode and token that are named', async () => {
  answer = passing;
  const token = '0x00000000000000000000000000000000000000f1';
  await run(['--mode', 'ERC20', '--fee-token', token]);
  expect(asked).toEqual([
    { userOp: anOperation(), context: { mode: 'ERC20', tokenInfo: { feeTokenAddress: token } } },
  ]);
});

test.each([
  { name: 'a wrong token', given: { token: 'someone-elses' }, status: 1, says: 'does not accept the token' },
  { name: 'nobody there', given: { url: 'http://127.0.0.1:1' }, status: 3, says: 'does not answer' },
  {
    name: 'http to another machine',
    given: { url: 'http://a.example' },
    status: 2,
    says: '--insecure allows it',
  },
])('shows no token for $name', async ({ given, status, says }) => {
  const ended = await run([], given);
  expect(ended).toMatchObject({ out: '', status, error: expect.stringContaining(says) });
  expect(ended.error).not.toContain('someone-elses');
  expect(ended.error).not.toContain(acmeToken);
});

test('ends with 3 where the server that decides is away', async () => {
  answer = new DomainError('UNAVAILABLE', 'away', { reason: 'RPC_UNAVAILABLE' });
  expect(await run()).toMatchObject({ status: 3, out: '' });
});
