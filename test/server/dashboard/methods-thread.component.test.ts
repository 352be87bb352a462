import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { fastKeccak } from '../../../core/crypto/keccak.js';
import { readMethods, type ContractMethods } from '../../../core/resources/abi.js';
import { createMethodReading } from '../../../server/dashboard/methods-thread.js';
import { anAbi } from '../../build/resources.js';
import {
  acmeToken,
  createPaymaster,
  prefix,
  startDashboard,
  type DashboardHost,
} from '../../build/dashboard.js';
import { holdsOf } from '../../support/loop-holds.js';

const longest = 196_608;

/** A JSON list of about `length` characters. */
function listOf(entry: (index: number) => string, length = longest): string {
  const entries: string[] = [];
  for (let sum = 2; ; sum += entries.at(-1)!.length + 1) {
    const next = entry(entries.length);
    if (sum + next.length > length) return `[${entries.join(',')}]`;
    entries.push(next);
  }
}

const withInput = (index: number, seed = '') =>
  JSON.stringify({ name: `m${seed}_${index}`, inputs: [{ type: 'address' }] });
const oneFunction = (inputs: string) => `[{"name":"mint","inputs":${inputs}}]`;
const long = (seed: string): string => listOf((index) => withInput(index, seed));
const brief = (seed: string): string => listOf((index) => withInput(index, seed), 1_000);
const abis: Readonly<Record<string, string>> = {
  ordinary: anAbi,
  'many functions': long(''),
  'many short functions': listOf((index) => `{"name":"a${index}"}`, 100_000),
  overloads: listOf((index) => JSON.stringify({ name: 'mint', inputs: [{ type: `uint[${index + 1}]` }] })),
  'many inputs': oneFunction(listOf(() => '{"type":"uint"}', longest - 40)),
  'many tuples': oneFunction(listOf(() => '{"type":"tuple","components":[]}', longest - 40)),
  'only errors': listOf(() => '{}'),
  numbers: listOf(() => '1'),
  'not JSON': '['.repeat(longest),
  'just below 32 kB': listOf((index) => withInput(index), 32_768),
};
const whitelist = ['mint', 'm_0', 'burn'];
/** Longer than a test may take, on a machine of any speed. */
const patienceMs = 600_000;

test('every ABI is read as by the parser', async () => {
  const methodsOf = createMethodReading(patienceMs);
  for (const abi of Object.values(abis)) {
    const found = await methodsOf('acme', { abi, whitelistedMethods: whitelist });
    expect(found).toEqual(readMethods(abi, whitelist));
  }
});

test('an organisation that asks too often is told when to try again, and delays no other', async () => {
  const methodsOf = createMethodReading(patienceMs);
  const many = Array.from({ length: 100 }, (_, index) =>
    methodsOf('acme', { abi: brief(`A${index}`), whitelistedMethods: [] }),
  );
  const answers = Promise.allSettled(many);
  expect(await methodsOf('globex', { abi: long('G'), whitelistedMethods: ['mG_0'] })).toMatchObject({
    problems: [],
  });
  const refused = (await answers).filter(({ status }) => status === 'rejected');
  expect(refused.length).toBeGreaterThan(0);
  for (const { reason } of refused as readonly PromiseRejectedResult[])
    expect(reason).toMatchObject({ code: 'RATE_LIMITED', details: { retryAfterSeconds: 1 } });
});

test('a caller that leaves ends the reading, and others are read after it', async () => {
  const methodsOf = createMethodReading(patienceMs);
  const asked = { abi: long('A'), whitelistedMethods: [] };
  const leaving = new AbortController();
  const left = [methodsOf('acme', asked, leaving.signal), methodsOf('acme', asked, leaving.signal)];
  const next = methodsOf('acme', { abi: anAbi, whitelistedMethods: ['mint'] });
  leaving.abort();
  for (const one of left) await expect(one).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  expect(await next).toEqual(readMethods(anAbi, ['mint']));
});

/** The hold of all texts when they are read in one turn on this thread: some hundred milliseconds, so that noise is small against it. */
async function holdHere(): Promise<number> {
  await fastKeccak;
  const found: ContractMethods[] = [];
  const { longestMs } = await holdsOf(async () => {
    for (let round = 0; round < 3; round += 1)
      for (const abi of Object.values(abis)) found.push(readMethods(abi, whitelist));
  });
  expect(found).toHaveLength(3 * Object.keys(abis).length);
  return longestMs;
}

/** The least of several, because what else holds a thread now and then, such as collecting garbage, only adds. */
async function leastHold(work: () => Promise<unknown>): Promise<number> {
  const holds: number[] = [];
  for (let round = 0; round < 3; round += 1) holds.push((await holdsOf(work)).longestMs);
  return Math.min(...holds);
}

test('no ABI of any length holds the thread that serves, nor do many short ones', async () => {
  const methodsOf = createMethodReading(patienceMs);
  const texts = Object.values(abis);
  const control = await holdHere();
  const read = (many: readonly string[]) => () =>
    Promise.all(
      many.map((abi, index) => methodsOf(`tenant ${index % 20}`, { abi, whitelistedMethods: whitelist })),
    );
  await read(texts)();
  expect(await leastHold(read(texts))).toBeLessThan(control / 20);
  const short = Array.from({ length: 500 }, (_, index) => brief(String(index)));
  expect(await leastHold(read(short))).toBeLessThan(control / 10);
});

describe('the dashboard', () => {
  let host: DashboardHost;
  beforeEach(async () => {
    // No operator: every list has to read the ABIs.
    host = await startDashboard();
  });
  afterEach(() => host.stop());

  test('creating, changing and listing contracts does not read their ABIs on the thread that serves', async () => {
    const { key } = await createPaymaster(host);
    const call = (method: string, path: string, body?: unknown) =>
      host.call(method, path, { token: acmeToken, key, ...(body === undefined ? {} : { body }) });
    const contract = (index: number, abi: string) => ({
      name: `C${index}`,
      address: `0x${(index + 1).toString(16).padStart(40, '0')}`,
      abi,
      whitelistedMethods: [],
    });
    const many = 8;
    const texts = [...Object.values(abis), ...Array.from({ length: many }, (_, index) => long(`L${index}`))];
    const statuses = new Set<number>();
    const written: number[] = [];
    const read: number[] = [];
    for (const [index, abi] of texts.entries()) {
      const { longestMs } = await holdsOf(async () =>
        statuses.add((await call('POST', '/smart-contract', contract(index, abi))).status),
      );
      if (index < texts.length - many) continue;
      written.push(longestMs);
      // In turn, so that a slower machine slows down both.
      read.push((await holdsOf(async () => void readMethods(long('M'), whitelist))).longestMs);
    }
    await call('PATCH', '/smart-contract', {
      address: contract(0, '').address,
      whitelistedMethods: ['mint'],
    });
    expect(statuses).toEqual(new Set([200, 400]));
    const listed: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      const { longestMs } = await holdsOf(async () => {
        // The answer is not parsed: that would be a hold of the client.
        const list = await host.fetch(`${prefix}/smart-contract`, {
          headers: { authToken: acmeToken, apiKey: key },
        });
        let bytes = 0;
        for await (const chunk of list.body!) bytes += (chunk as Uint8Array).length;
        expect(bytes).toBeGreaterThan(many * longest);
      });
      listed.push(longestMs);
    }
    // The least of many, as in `leastHold`. Taking a body of this length, and sending it from this very thread, holds it twice as
    // long as reading the ABI in it once; the test below shows that not even one reading is among that.
    expect(Math.min(...written)).toBeLessThan(5 * Math.min(...read));
    expect(Math.min(...listed)).toBeLessThan((await holdHere()) / 4);
  });

  test('creates no contract while the thread that reads ABIs gives no answer: nothing else reads them', async () => {
    const { key } = await createPaymaster(host);
    const hurried = await host.beside({ abiPatienceMs: 0 });
    const body = {
      name: 'Long',
      address: `0x${'7'.repeat(40)}`,
      abi: long('H'),
      whitelistedMethods: ['mH_0'],
    };
    const asked = { token: acmeToken, key, body };
    expect(await hurried.call('POST', '/smart-contract', asked)).toMatchObject({ status: 503 });
    expect(await host.call('POST', '/smart-contract', asked)).toMatchObject({ status: 200 });
  });
});
