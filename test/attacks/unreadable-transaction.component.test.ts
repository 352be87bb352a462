import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createChains } from '../../adapters/chain/chains.js';
import type { Chain } from '../../core/chain/chain.js';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import { systemClock } from '../../core/units/time.js';
import { gweiCeil } from '../../core/units/wei.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { handleOp } from '../chain/support/handle-ops.js';
import { sharedPostgres, type SharedPostgres } from '../support/postgres.js';
import { followDevChain, type FollowedDevChain } from './support/followed-dev-chain.js';
import { onOneProcess } from './support/stores.js';

// Anyone may mine our operation in a transaction that no node shows: because it is too large, or because the node fails with it. The
// chain must go on being settled, and the operation must count at last.

type Respond = (response: ServerResponse) => unknown;
const answer =
  (body: string): Respond =>
  (response) =>
    response.end(body);
const result = (json: string): Respond => answer(`{"jsonrpc":"2.0","id":1,"result":${json}}`);
const to = '"to":"0x0000000071727de22e5e9d8baf0edac6f37da032"';
const deep = 200_000;

const failures: readonly { readonly name: string; readonly respond: Respond }[] = [
  { name: 'five MiB of input', respond: result(`{${to},"input":"0x${'00'.repeat(5 << 20)}"}`) },
  { name: 'null', respond: result('null') },
  {
    name: 'an answer that is cut in the middle',
    respond: (response) => {
      response.writeHead(200, { 'content-length': 1_000 });
      response.write('{"jsonrpc":"2.0","id":1,"result":{"input":"0x');
      response.flushHeaders();
      setImmediate(() => response.destroy());
    },
  },
  { name: 'no answer in time', respond: () => {} },
  { name: 'JSON of a great depth', respond: result(`${'['.repeat(deep)}${']'.repeat(deep)}`) },
  { name: 'input that is not hex', respond: result(`{${to},"input":"0xzz"}`) },
  { name: 'a transaction without input', respond: result(`{${to}}`) },
  { name: 'status 500', respond: (response) => response.writeHead(500).end() },
  {
    name: 'an error',
    respond: answer(
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"transaction indexing is in progress"}}',
    ),
  },
];

let devChain: DevChain;
let postgres: SharedPostgres | undefined;
let it: FollowedDevChain;
let server: Server;
let failing: Chain;
let respond: Respond;
const chains = createChains({ log: silentLogger, clock: systemClock, metrics: noMetrics, timeoutMs: 250 });

beforeAll(async () => {
  devChain = await startDevChain();
  server = createServer((_, response) => void respond(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  failing = chains.get({ chainId: devChain.chainId, rpc: { urls: [`http://127.0.0.1:${port}`] } });
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await chains.stop();
  await devChain.stop();
});
afterEach(() => it.stop());

/** An operation that was promised twice, so that only its bytes tell which promise it carries. Resolves with its cost in gwei. */
async function minedUnseen(): Promise<number> {
  const account = await it.newAccount();
  const sponsored = await it.sponsor(account, await it.operation(account));
  await it.sponsor(account, await it.operation(account, { callGasLimit: 60_000n }));
  const { event } = await handleOp(devChain, it.profile.entryPointVersion, sponsored!.signed);
  return gweiCeil(event.actualGasCost);
}

async function mined(): Promise<number> {
  const account = await it.newAccount();
  const sponsored = await it.sponsor(account, await it.operation(account));
  const { event } = await handleOp(devChain, it.profile.entryPointVersion, sponsored!.signed);
  return gweiCeil(event.actualGasCost);
}

async function goesOn(): Promise<void> {
  it.lie({ transaction: (hash) => failing.transaction(hash) }, { everywhere: true });
  const unseen = await minedUnseen();
  expect(await it.settle()).toMatchObject({ settled: 0, unattributed: 0 });
  const seen = await mined();
  expect(await it.settle()).toMatchObject({ settled: 1, unattributed: 0 });
  expect(await it.live()).toBe(1);
  // The clock goes on while the test works: a minute of room.
  expect(await it.follow(540)).toMatchObject({ settled: 0, passedOver: 0 });
  expect(await it.follow(140)).toEqual({ settled: 1, unpaid: 0, unattributed: 0, passedOver: 1 });
  expect(await it.live()).toBe(0);
  expect(await it.used()).toEqual([2, unseen + seen]);
}

describe('an operation whose transaction every node answers with', () => {
  test.each(failures)(
    '$name stops nothing, and counts after eight tries and ten minutes',
    async (failure) => {
      ({ respond } = failure);
      it = await followDevChain(devChain, '1.1.0');
      await it.settle();
      await goesOn();
    },
  );
});

describe.each(onOneProcess)('on %s', (store) => {
  beforeAll(async () => {
    postgres = store === 'the embedded store' ? undefined : await sharedPostgres();
  });
  afterAll(() => postgres?.stop());

  test.each(['2.0.0', 'singleton-0.7', 'verifying-0.9'])(
    'profile %s: the same, with null',
    async (version) => {
      respond = result('null');
      it = await followDevChain(devChain, version, postgres);
      await it.settle();
      await goesOn();
    },
  );

  test('what a node shows within the tries settles as if it had never been missing', async () => {
    respond = result('null');
    it = await followDevChain(devChain, '1.1.0', postgres);
    await it.settle();
    it.lie({ transaction: (hash) => failing.transaction(hash) }, { everywhere: true });
    const cost = await minedUnseen();
    expect(await it.follow(60)).toMatchObject({ settled: 0 });
    it.lie({});
    expect(await it.follow(120)).toMatchObject({ settled: 1, passedOver: 0 });
    expect(await it.used()).toEqual([1, cost]);
  });
});
