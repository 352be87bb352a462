import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { AddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import { decodeCalls } from '../build/decoded.js';
import type { EntryPointVersion } from '../../core/entry-point/version.js';
import { asHex, buildAccount, encodeCalls, type Call } from './support/account.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { handleOp } from './support/handle-ops.js';
import { buildUserOp, signByAccount } from './support/user-op.js';

let devChain: DevChain;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());

type MadeCall = { readonly target: string; readonly value: bigint; readonly data: string };

describe.each(['0.6', '0.7', '0.8', '0.9'] as const)(
  'SimpleAccount %s, callData changed at random',
  (version) => {
    test('makes the very calls that were read, or none', async () => {
      const account = await deployedAccount(version);
      const seen = { refused: 0, executed: 0 };
      await fc.assert(
        fc.asyncProperty(anyCalls, anyChanges, async (calls, changes) => {
          const callData = changed(encodeCalls(version, calls), changes);
          const decoded = decodeCalls(callData);
          if (decoded.outcome === 'refused') {
            seen.refused += 1;
            return;
          }
          const made = await callsMade(version, account, callData);
          if (made === 'reverted') return;
          seen.executed += 1;
          expect(
            decoded.calls.map(({ target, value, data }) => ({
              target,
              value,
              data: `0x${callData.slice(2 + 2 * data.start, 2 + 2 * data.end)}`,
            })),
          ).toEqual(made);
        }),
        { numRuns: 300 },
      );
      // Neither side of the property is empty.
      expect(seen.executed).toBeGreaterThan(20);
      expect(seen.refused).toBeGreaterThan(20);
    });
  },
);

const anyBytes = (minLength: number, maxLength: number) =>
  fc.uint8Array({ minLength, maxLength }).map((bytes) => asHex(`0x${Buffer.from(bytes).toString('hex')}`));
const anyCalls: fc.Arbitrary<readonly Call[]> = fc.array(
  fc.record({
    // Beyond the precompiled contracts, whose calls may fail.
    to: anyBytes(18, 18).map((hex): Hex => `0xaa${hex.slice(2)}bb`),
    value: fc.bigInt({ min: 0n, max: 300n }),
    data: anyBytes(0, 70),
  }),
  { minLength: 1, maxLength: 4 },
);
// The last byte of a word is where offsets and lengths are.
const anyChanges = fc.array(
  fc.record({ word: fc.nat(30), to: fc.constantFrom('00', '01', '02', '20', '40', '60', '80', 'a0', 'ff') }),
  { maxLength: 2 },
);

function changed(callData: Hex, changes: readonly { readonly word: number; readonly to: string }[]): Hex {
  const words = (callData.length - 10) / 64;
  return changes.reduce((text, { word, to }) => {
    const end = 10 + 64 * (1 + (word % words));
    return asHex(`${text.slice(0, end - 2)}${to}${text.slice(end)}`);
  }, callData);
}

/** Deploys an account by an operation that it pays for itself. */
async function deployedAccount(version: EntryPointVersion): Promise<AddressKey> {
  const account = await buildAccount(devChain, version);
  await devChain.setBalance(account.address, 10n ** 24n);
  const op = await buildUserOp(account, []);
  await handleOp(devChain, version, await signByAccount(account, op, '0x'));
  return account.address;
}

/** Calls that the account makes when the EntryPoint calls it, from a trace of the node. */
async function callsMade(
  version: EntryPointVersion,
  account: AddressKey,
  callData: Hex,
): Promise<readonly MadeCall[] | 'reverted'> {
  const call = { from: devChain.deployments.entryPoints[version], to: account, data: callData };
  const trace = (await devChain.chain.request('debug_traceCall', [
    call,
    'latest',
    { tracer: 'callTracer' },
  ])) as Frame;
  if (trace.error !== undefined) return 'reverted';
  // The account is a proxy: its only call is the delegate call to its code, which makes the others.
  const frames = trace.calls?.[0]?.calls ?? [];
  return frames.map(({ to, value, input }) => ({ target: to, value: BigInt(value ?? '0x0'), data: input }));
}

type Frame = {
  readonly to: string;
  readonly value?: string;
  readonly input: string;
  readonly error?: string;
  readonly calls?: readonly Frame[];
};
