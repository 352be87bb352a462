import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { rpcPath } from '../build/rpc.js';
import { addressOf, someApiKey, someToken } from '../build/configs.js';
import { anOperation, execute } from '../build/operations.js';
import { paymaster } from '../support/paymaster.js';
import { useRpc } from '../support/use-rpc.js';

const host = useRpc();
let folder: string;
const put = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'explain-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (
  operation: object,
  { url = `${host.origin}${rpcPath()}`, token = someToken } = {},
  more: readonly string[] = [],
) =>
  paymaster(
    [
      'explain',
      put('op.json', JSON.stringify(operation)),
      '--paymaster-url-file',
      put('url', `${url}\n`),
      ...more,
    ],
    {
      PAYMASTER_URL: host.origin,
      PAYMASTER_TOKEN_FILE: put('token', token),
    },
  );

test('shows every step, and ends with 1 where one refuses', async () => {
  const passing = await run(anOperation());
  expect(passing).toMatchObject({ status: 0, error: '' });
  expect(passing.out).toMatch(/^ {2}suspended +pass$/m);
  expect(passing.out).toMatch(/would be signed\n$/);
  const refused = await run(anOperation({ callData: execute(addressOf(0xdead)) }));
  expect(refused).toMatchObject({ status: 1, error: '' });
  expect(refused.out).toMatch(/^ {2}calls +refuse +CONTRACT_NOT_REGISTERED +\S/m);
  expect(refused.out).toMatch(/would be refused\n$/);
  const json = await run(anOperation(), {}, ['-o', 'json']);
  expect(JSON.parse(json.out)).toMatchObject({ mode: 'SPONSORED', sponsored: true });
});

test.each([
  { name: 'a wrong token', given: { token: 'someone-elses' }, status: 2, says: 'explainable: ' },
  {
    name: 'nobody there',
    given: { url: 'http://127.0.0.1:1/api/v1/1/secret-key' },
    status: 3,
    says: 'http://127.0.0.1:1 does not answer',
  },
  {
    name: 'http to another machine',
    given: { url: 'http://a.example/api/v1/1/secret-key' },
    status: 2,
    says: '--insecure allows it',
  },
])('shows no key for $name', async ({ given, status, says }) => {
  const ended = await run(anOperation(), given);
  expect(ended).toMatchObject({ out: '', status, error: expect.stringContaining(says) });
  for (const secret of ['secret-key', someApiKey, someToken, 'someone-elses'])
    expect(ended.error).not.toContain(secret);
});
