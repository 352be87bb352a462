import { randomBytes } from 'node:crypto';
import { beforeAll, expect, test } from '@jest/globals';
import { fastKeccak } from '../../core/crypto/keccak.js';
import { parseAddress } from '../../core/units/address.js';
import { managePrefix } from '../../server/dashboard/endpoints.js';
import { acmeToken } from '../build/dashboard.js';
import type { Growth } from '../support/growing.js';
import { holdsOf } from '../support/loop-holds.js';
import { useDashboard } from '../support/use-dashboard.js';
import { useRpc } from '../support/use-rpc.js';
import { dashboardWrites, quickWebhooks, rpcWrites, type Write } from './support/every-write.js';

// Every write of every API with each of its members as large as its schema allows, or as a body may be: how long does one request hold
// the thread, in which everybody else is served? The ten longest are printed.

const dashboard = useDashboard({ webhooks: quickWebhooks });
const rpc = useRpc();
/** Of a member without a bound. */
const freeBytes = 100_000;
const largestBytes = 250_000;
/** In units of {@link unitMs}. Parsing, judging and storing the largest object is one piece of work for each store: up to two units. */
const most = 4;

let writes: readonly Write[];
beforeAll(async () => {
  await fastKeccak;
  await rpc.put();
  writes = [...(await dashboardWrites(dashboard)).values(), ...rpcWrites(rpc).values()];
});

/** Objects that the examples do not have, as large as they may be. */
const largest: readonly { readonly what: string; readonly path: string; readonly spec: () => object }[] = [
  ...(['Allow', 'Deny'] as const).map((action) => ({
    what: `5,000 addresses with checksums, ${action}`,
    path: 'policies/listed',
    spec: () => policy('SENDERS', { senders: { action, addresses: randomAddresses(5_000) } }),
  })),
  {
    what: '5,000 addresses with wrong checksums',
    path: 'policies/listed',
    spec: () =>
      policy('SENDERS', { senders: { action: 'Deny', addresses: randomAddresses(5_000).map(swapped) } }),
  },
  {
    what: 'a list with 11,900 unknown members beside it',
    path: 'policies/listed',
    spec: () => ({
      ...policy('SENDERS', { senders: { action: 'Deny', addresses: [] } }),
      ...Object.fromEntries(Array.from({ length: 11_900 }, (_, index) => [`x${index}`, 1])),
    }),
  },
  {
    what: 'the longest ABI',
    path: 'contracts/wide',
    spec: () => {
      const inputs = Array.from({ length: 4_900 }, (_, index) => ({ type: 'uint256', name: `a${index}` }));
      return {
        paymasterRef: { name: 'shop' },
        name: 'Wide',
        address: `0x${'8'.repeat(40)}`,
        abi: JSON.stringify([{ type: 'function', name: 'f', inputs }]),
        whitelistedMethods: ['f'],
      };
    },
  },
  {
    what: 'the longest expression',
    path: 'policies/condition',
    spec: () =>
      policy('EXPRESSION', {
        expression: { text: `calls.all(c, ${'c.value + '.repeat(45)}1 >= 0)`.padEnd(1_000) },
      }),
  },
];

function policy(policyType: string, more: object): object {
  return { name: policyType, policyType, paymasterRef: { name: 'shop' }, ...more };
}

function randomAddresses(count: number): string[] {
  return Array.from({ length: count }, () => parseAddress(`0x${randomBytes(20).toString('hex')}`));
}

const addresses = randomAddresses(5_000);

function swapped(address: string): string {
  return address.replace(/[a-f]/gi, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );
}

/** How a parser of texts fares with each filling, the test of growing bodies shows; here one of them stands for all. */
function isApart({ member }: Growth): boolean {
  return !/\((?:digits|hex|brackets|spaces|repeated|name|equal items)\)$/.test(member);
}

type Sent = () => Promise<{ readonly longestMs: number }>;
type Hold = { readonly units: number; readonly ms: number; readonly what: string };

/** Milliseconds of processor time that it takes to read 5,000 addresses four times: how fast this machine is now. */
async function unitMs(): Promise<number> {
  const text = JSON.stringify(addresses);
  const { longestMs } = await holdsOf(async () => {
    for (let round = 0; round < 4; round += 1) {
      const read = (JSON.parse(text) as string[]).map(parseAddress);
      expect(read).toHaveLength(addresses.length);
    }
  });
  return longestMs;
}

/**
 * What is far below the bound is sent once. All else is sent again, each time right after the unit is measured again, and the
 * least counts: code is compiled at its first calls, garbage of others is collected in one of them, and a machine changes its speed.
 */
async function holdOf(what: string, usualUnitMs: number, sent: Sent): Promise<Hold> {
  const { longestMs: ms } = await sent();
  let least: Hold = { units: ms / usualUnitMs, ms, what };
  const mostRounds = 20;
  for (let round = 0; round < mostRounds && least.units > most / 5; round += 1) {
    if (round >= 3 && least.units < most) break;
    const unit = await unitMs();
    const { longestMs } = await sent();
    if (longestMs / unit < least.units) least = { units: longestMs / unit, ms: longestMs, what };
  }
  return least;
}

test('no request holds the thread for long, whatever member of it is as large as may be', async () => {
  const holds: Hold[] = [];
  await unitMs();
  const usual = await unitMs();
  for (const { what, path, spec } of largest) {
    const send = async (body: string): Promise<void> => {
      const response = await dashboard.fetch(`${managePrefix}/${path}`, {
        method: 'PUT',
        headers: { authToken: acmeToken, 'content-type': 'application/json' },
        body,
      });
      const answer = await response.text();
      expect({ what, answer: response.status === 500 ? answer : '' }).toEqual({ what, answer: '' });
    };
    holds.push(
      await holdOf(what, usual, async () => {
        const body = JSON.stringify({ spec: spec() });
        await new Promise((resolve) => setImmediate(resolve));
        return holdsOf(() => send(body));
      }),
    );
  }
  for (const { name, growths, send } of writes)
    for (const { member, bodyOf, most: bytes = freeBytes } of growths().filter(isApart)) {
      const text = bodyOf(Math.min(bytes, largestBytes));
      const what = `${name}: ${member} of ${text.length} bytes`;
      holds.push(await holdOf(what, usual, async () => send(text, holdsOf)));
    }
  const longest = holds.toSorted((a, b) => b.units - a.units).slice(0, 10);
  process.stdout.write(
    `${holds.length} members; the longest holds, in units of ${usual.toFixed(1)} ms:\n${longest.map(({ units, ms, what }) => `${units.toFixed(2)} (${ms.toFixed(1)} ms) ${what}`).join('\n')}\n`,
  );
  expect(longest.filter(({ units }) => units > most)).toEqual([]);
}, 600_000);
