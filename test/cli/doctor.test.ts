import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parse, stringify } from 'yaml';
import type { Condition } from '../../core/meta/meta.js';
import { aChain, anOrganisation, aPaymaster, aPolicy } from '../build/resources.js';
import { paymaster } from '../support/paymaster.js';

// What `paymaster doctor` prints, and with what it ends. test/system breaks real installations.

let folder: string;
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'doctor-'))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function condition(type: string, reason: string, message: string): Condition {
  const lastTransitionTime = '2026-01-01T12:00:00Z';
  return { type, reason, status: 'False', message, observedGeneration: 1, lastTransitionTime };
}
const accepted = { conditions: [condition('Accepted', 'Accepted', '')] };
const well = [
  { ...anOrganisation(), status: accepted },
  aPaymaster({ status: accepted }),
  aPolicy({ status: accepted }),
];

async function doctor(objects: readonly object[], args: readonly string[] = []) {
  const file = join(folder, 'got.yaml');
  writeFileSync(file, objects.map((object) => stringify(object)).join('---\n'));
  return paymaster(['doctor', '--got', file, ...args]);
}
const chain = (type: string, reason: string, message: string) => ({
  ...aChain(),
  status: { conditions: [condition(type, reason, message)] },
});

test('nothing wrong ends with 0', async () => {
  expect(await doctor(well)).toEqual({ out: 'nothing is wrong\n', error: '', status: 0 });
});

test('a note is shown, and ends with 0 too', async () => {
  const { out, status } = await doctor([...well, chain('TokenSecured', 'AfterCall', 'after the call')]);
  expect(status).toBe(0);
  expect(out).toMatch(/^note {5}token-unsecured: chains dev, since [^]*\nnothing is wrong\n$/);
});

test('what is wrong comes with what is seen, what to do and where to read on, and ends with 1', async () => {
  const objects = [...well, chain('Reachable', 'Unreachable', 'no URL answers')];
  const { out, status } = await doctor(objects);
  expect({ out, status }).toEqual({
    status: 1,
    out: [
      'critical chain-away: chains dev, since 2026-01-01T12:00:00Z',
      '         no URL answers',
      '         → Check the URLs of `spec.rpc`, the network and the node. (docs/runbooks.md#chain-away)',
      '',
    ].join('\n'),
  });
  const json = JSON.parse((await doctor(objects, ['-o', 'json'])).out);
  expect(json).toMatchObject({ problems: [{ check: 'chain-away', noun: 'chains', namespace: null }] });
  expect(parse((await doctor(objects, ['-o', 'yaml'])).out)).toEqual(json);
});

test('a name of an owner writes no line of the report', async () => {
  const name = 'shop\ncritical deposit-empty: paymasters other\u001b[2J';
  const { out } = await doctor([
    { ...anOrganisation(), status: accepted },
    aPaymaster({ name, status: accepted }),
  ]);
  expect(out.split('\n').filter((line) => line !== '')).toHaveLength(3);
  expect(out).not.toContain('\u001b');
});

test('without anything to look at it says what may be chosen', async () => {
  const { out, error, status } = await paymaster(['doctor'], {});
  expect({ out, status }).toEqual({ out: '', status: 2 });
  for (const choice of ['"paymaster login URL"', '--kubeconfig FILE', '--data-dir .paymaster'])
    expect(error).toContain(choice);
});

test.each([
  { name: 'no address', args: ['--readyz', 'rpc'] },
  { name: 'pods without a cluster', args: ['--data-dir', '.', '--pods', 'paymaster-system'] },
  { name: 'two sources', args: ['--data-dir', '.', '--kubeconfig', 'x'] },
])('$name is wrong usage', async ({ args }) => {
  expect(await paymaster(['doctor', ...args], {})).toMatchObject({ status: 2, out: '' });
});
