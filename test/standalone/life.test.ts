import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Condition } from '../../core/meta/meta.js';
import type { Paymaster } from '../../core/resources/paymaster.js';
import { createVirtualTime } from '../operator/virtual-time.js';
import { isReady, startWorld, type World } from '../operator/world.js';
import { aPaymaster, aPolicy, aSmartContract } from '../build/resources.js';
import { reportLife } from '../../standalone/life.js';
import { readStates, watchReadiness } from '../../standalone/readiness.js';
import { countStates, formatState, formatStates } from '../../standalone/resource-state.js';

const ready: Condition = {
  type: 'Ready',
  status: 'True',
  reason: 'Ready',
  message: '',
  observedGeneration: 1,
  lastTransitionTime: '2026-01-01T12:00:00.000Z',
};

let world: World;
let lines: string[];
let stop: () => void;

beforeEach(async () => {
  world = await startWorld();
  await world.apply(aPaymaster(), aSmartContract());
  await world.until('the paymaster is ready', isReady(world));
  lines = [];
  stop = reportLife({
    resources: world.resources,
    console: { line: (text = '') => void lines.push(text) },
    timers: world.time.timers,
    shown: await readStates(world.resources),
  });
  await world.settle();
});
afterEach(async () => {
  stop();
  await world.close();
});

test('what the banner shows is not told again', () => {
  expect(lines).toEqual([]);
});

test('a contract that the operator refuses is told with the reason, and when it is put right', async () => {
  await world.apply(aSmartContract({ whitelistedMethods: ['brun'] }));
  await world.settle();
  expect(lines).toEqual([
    '✗ SmartContract acme/shop-nft  spec.whitelistedMethods[0] must be a method of the ABI (mint, burn), got "brun".',
  ]);
  await world.apply(aSmartContract());
  await world.settle();
  expect(lines.slice(1)).toEqual(['✓ SmartContract acme/shop-nft  Ready']);
});

test('an accepted new version is reported, a pause is not a failure, and a deletion is reported', async () => {
  await world.apply(aPolicy());
  await world.settle();
  await world.apply(aPolicy({ active: false }));
  await world.settle();
  await world.remove('PaymasterPolicy', 'shop-limit');
  await world.settle();
  expect(lines).toEqual([
    '✓ PaymasterPolicy acme/shop-limit  Ready',
    '⏸ PaymasterPolicy acme/shop-limit  paused',
    '− PaymasterPolicy acme/shop-limit  deleted',
  ]);
});

test('caps without effect are told beside the state, with both figures, until they are corrected', async () => {
  await world.apply(aPaymaster({ gas: { maxCallGasLimit: 90_000_000 } }));
  await world.settle();
  await world.apply(aPaymaster());
  await world.settle();
  expect(lines).toEqual([
    expect.stringMatching(
      /^✓ Paymaster acme\/shop {2}Ready\. The platform's caps count: .*maxCallGasLimit.*90000000.*10000000/,
    ),
    '✓ Paymaster acme/shop  Ready',
  ]);
  const states = await readStates(world.resources);
  const many = Array.from({ length: 21 }, (_, n) => ({ ...states[0]!, key: `p${n}` }));
  const limited = { ...states[0]!, notice: "The platform's caps count: x." };
  expect(formatStates([...many, limited]).at(-1)).toContain("Ready. The platform's caps count: x.");
});

test('a child that arrives before its parent is not told as refused; one whose parent never comes is', async () => {
  await world.apply(
    aPolicy({ paymasterRef: { name: 'late' } }),
    aPaymaster({ meta: { name: 'late' }, name: 'Late' }),
  );
  await world.apply(aPolicy({ meta: { name: 'orphan' }, paymasterRef: { name: 'never' } }));
  await world.settle();
  expect(lines.filter((line) => line.includes('shop-limit'))).toEqual([
    '✓ PaymasterPolicy acme/shop-limit  Ready',
  ]);
  expect(lines.filter((line) => line.includes('orphan'))).toEqual([
    expect.stringMatching(/^✗ PaymasterPolicy acme\/orphan {2}There is no Paymaster "never"/),
  ]);
});

test('more than twenty changes are one line per kind, with those that are refused by name', async () => {
  const contracts = Array.from({ length: 30 }, (_, n) =>
    aSmartContract({
      meta: { name: `c${n}` },
      name: `c${n}`,
      address: `0x${String(n + 100).padStart(40, '0')}`,
      ...(n === 7 ? { whitelistedMethods: ['brun'] } : {}),
    }),
  );
  await world.apply(...contracts);
  await world.settle();
  expect(lines).toContain('✓ SmartContract ready: 29');
  expect(lines).toContainEqual(
    expect.stringMatching(/^✗ SmartContract acme\/c7 {2}spec\.whitelistedMethods\[0\]/),
  );
  expect(lines.length).toBeLessThanOrEqual(3);
});

test('a folder that the operator gets through over more than a moment is told as one; what it never gets to holds up nothing for long', () => {
  const time = createVirtualTime();
  const told: string[] = [];
  let note: (event: { type: 'MODIFIED'; object: Paymaster }) => void = () => {};
  const none = { synced: Promise.resolve(), stop: () => {} };
  const own = reportLife({
    resources: {
      watch: (kind, handler) => {
        if (kind === 'Paymaster') note = handler as never;
        return none;
      },
    },
    console: { line: (text = '') => void told.push(text) },
    timers: time.timers,
    shown: [],
  });
  const put = (n: number, conditions: readonly Condition[]) =>
    note({ type: 'MODIFIED', object: aPaymaster({ meta: { name: `p${n}` }, status: { conditions } }) });
  const numbers = Array.from({ length: 25 }, (_, n) => n);
  for (const n of numbers) put(n, []);
  for (const n of numbers) {
    time.advance(150);
    put(n, [ready]);
  }
  time.advance(600);
  expect(told.splice(0)).toEqual(['✓ Paymaster ready: 25']);
  // Applied one after the other, and each seen at once.
  for (const n of numbers) {
    put(100 + n, [ready]);
    time.advance(60);
  }
  time.advance(600);
  expect(told.splice(0)).toEqual(['✓ Paymaster ready: 25']);

  put(30, []);
  put(31, [ready]);
  time.advance(3_000);
  expect(told).toEqual(['✓ Paymaster acme/p31  Ready']);
  expect(time.pending()).toBe(0);
  own();
});

test('text of others cannot move the cursor, and counts name what is not ready', () => {
  const state = { kind: 'Paymaster', key: 'a/b', generation: 1, reason: 'NotAccepted' } as const;
  expect(formatState({ ...state, phase: 'refused', message: 'x\u001b[2J\n\u202ey' })).toBe(
    '✗ Paymaster a/b  x [2J y',
  );
  expect(
    countStates([
      { ...state, phase: 'ready', message: '' },
      { ...state, phase: 'paused', message: '' },
      { ...state, phase: 'refused', message: '' },
    ]),
  ).toBe('1 of 3 ready, 1 paused, 1 refused');
  expect(formatStates([])).toEqual([]);
  const many = Array.from({ length: 30 }, (_, n) => ({
    ...state,
    key: `a/${n}`,
    phase: n === 7 ? ('refused' as const) : ('ready' as const),
    message: 'wrong',
  }));
  expect(formatStates(many)).toEqual([
    '✓ Paymaster ready: 29',
    '✗ Paymaster refused: 1',
    '✗ Paymaster a/7  wrong',
  ]);
});

test('nothing is left waiting once it is stopped', async () => {
  const time = createVirtualTime();
  const own = reportLife({
    resources: world.resources,
    console: { line: () => {} },
    timers: time.timers,
    shown: [],
  });
  await world.apply(aPolicy());
  await world.settle();
  own();
  expect(time.pending()).toBe(0);
});

test('the start does not wait for what is refused or paused', async () => {
  await world.apply(aSmartContract({ whitelistedMethods: ['brun'] }), aPolicy({ active: false }));
  await world.settle();
  // Far longer than a test may take.
  const waitMs = 3_600_000;
  const states = await watchReadiness(world.resources, new AbortController().signal, { waitMs });
  const phases = states.map(({ phase }) => phase);
  expect(phases).toEqual(expect.arrayContaining(['refused', 'paused']));
  expect(phases).not.toContain('waiting');
});
