import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createSqliteUsageStore } from '../../adapters/store/sqlite/usage.js';
import { silentLogger } from '../../core/log.js';
import { systemClock } from '../../core/units/time.js';
import { contractFence } from '../../core/usage/counter-names.js';
import { always } from '../../core/usage/window.js';
import { aLimit, aRequest, chainId, contract } from '../conformance/usage-requests.js';
import { startPostgres, type PostgresServer } from '../support/postgres.js';
import { paymaster } from '../support/paymaster.js';
import { aDirectory } from '../adapters/usage/sqlite-usage.js';
import { openStore } from '../adapters/usage/postgres-usage.js';

const chain = String(chainId);
let server: PostgresServer;
let database: string;

beforeAll(async () => {
  server = await startPostgres();
  database = await server.createDatabase();
});
afterAll(() => server.stop());

const run = (args: readonly string[], url = database) => paymaster(args, { PAYMASTER_DATABASE_URL: url });

const request = (nonce: bigint) => ({
  ...aRequest({ limits: [aLimit({ window: always })] }),
  key: aRequest({ key: { nonce } }).key,
  fences: [...aRequest().fences, { id: contractFence(contract), generation: 0 }],
});
const soon = () => ({ validUntil: Math.floor(Date.now() / 1000) + 600 });
const ask = (nonce: bigint) => {
  const { promise, ...rest } = request(nonce);
  return { ...rest, promise: { ...promise, ...soon() } } as ReturnType<typeof request>;
};

test.each([
  { id: 'pm-1', stands: 'pm-1' },
  { id: 'chain', stands: 'chain' },
  { id: `contract:${contract.toUpperCase().replace('0X', '0x')}`, stands: contractFence(contract) },
])(
  'a running server stops signing for $id when the command says so, until it resumes',
  async ({ id, stands }) => {
    const store = await openStore(database);
    expect(await store.reserve(ask(1n))).toEqual({ outcome: 'reserved' });
    expect(await run(['suspend', '--direct', chain, id])).toEqual({
      out: `${stands} is suspended\nsuspended on chain ${chain}:\n  ${stands}\n`,
      error: '',
      status: 0,
    });
    expect(await store.reserve(ask(2n))).toEqual({ outcome: 'suspended', id: stands });
    expect((await run(['suspension', 'list', chain])).out).toBe(
      `suspended on chain ${chain}:\n  ${stands}\n`,
    );
    expect((await run(['unsuspend', '--direct', chain, id])).out).toBe(
      `${stands} is unsuspended\nnothing is suspended on chain ${chain}\n`,
    );
    expect(await store.reserve(ask(2n))).toEqual({ outcome: 'reserved' });
    await store.stop();
  },
);

test.each([
  { args: ['suspend', chain, 'pm-1'], says: "required option '--direct' not specified" },
  {
    args: ['suspend', '--direct', 'mainnet', 'pm-1'],
    says: 'chainId must be the id of a chain, got "mainnet"',
  },
  { args: ['suspend', '--direct', chain], says: "missing required argument 'id'" },
  { args: ['suspend', '--direct', chain, 'pm 1'], says: 'id must be a paymasterId' },
  { args: ['suspend', '--direct', chain, 'contract:0x12'], says: 'contract: with an address' },
  { args: ['suspension', 'list', chain, 'pm-1'], says: 'too many arguments' },
])('wrong arguments $args are refused with what is right, and change nothing', async ({ args, says }) => {
  const { error, status } = await run(args);
  expect(status).toBe(2);
  expect(error).toContain(says);
  expect((await run(['suspension', 'list', chain])).out).toContain('nothing is suspended');
});

test('what is signed and can still be mined is counted by contract', async () => {
  const other = '999';
  expect((await run(['promise', 'list', other])).out).toBe(
    'nothing that is signed on chain 999 can still be mined\n',
  );
  const store = await openStore(database);
  await store.reserve(ask(11n));
  await store.reserve(ask(12n));
  await store.reserve(ask(12n));
  const live = (await store.reservations(chainId)).length;
  const { out, status } = await run(['promise', 'list', chain]);
  expect(status).toBe(0);
  expect(out).toMatch(new RegExp(`contract:${contract} ${live} operations, the last expires at \\d{4}-`));
  await store.stop();
});

test('a store in a file is changed while no process has it open, and is never made by a mistyped path', async () => {
  const directory = aDirectory();
  const path = `${directory.path}/usage.sqlite`;
  const url = `file:${path}`;
  const open = () =>
    createSqliteUsageStore({ path, clock: systemClock, log: silentLogger, durability: 'power' });
  try {
    expect(await run(['suspension', 'list', chain], url)).toMatchObject({
      status: 1,
      error: expect.stringContaining('no embedded store is at'),
    });
    expect(existsSync(path)).toBe(false);
    const store = open();
    await store.setSuspended(chainId, contractFence(contract), true);
    expect(await run(['unsuspend', '--direct', chain, `contract:${contract}`], url)).toMatchObject({
      status: 3,
      error: expect.stringContaining('is in use by another process'),
    });
    await store.stop();
    expect((await run(['suspension', 'list', chain], url)).out).toContain(contractFence(contract));
    expect((await run(['unsuspend', '--direct', chain, `contract:${contract}`], url)).status).toBe(0);
    const again = open();
    expect(await again.reserve(ask(21n))).toEqual({ outcome: 'reserved' });
    await again.stop();
  } finally {
    directory.remove();
  }
});

test('reports a missing store and a wrong address', async () => {
  const gone = await run(
    ['suspension', 'list', chain],
    'postgresql://postgres@127.0.0.1:1/none?sslmode=disable',
  );
  expect(gone.status).toBe(3);
  expect(gone.error).toContain('127.0.0.1:1');
  const wrong = await run(['suspension', 'list', chain], 'http://db');
  expect(wrong.error).toContain('PAYMASTER_DATABASE_URL must be postgresql://USER');
});
