import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import fc from 'fast-check';
import { entryPointRules } from '../../core/entry-point/table.js';
import { userOperation07, userOperation07Values } from '../../core/entry-point/packed.js';
import type { AddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import { decodeCalls, type CallContext } from '../../core/userop/call-data.js';
import type { EntryPointVersion } from '../../core/entry-point/version.js';
import { asHex, buildAccount, encodeCalls, type Call, type TestAccount } from './support/account.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { handleOp } from './support/handle-ops.js';
import { buildShapedAccount, deployKernelMultiSend } from './support/real-accounts.js';
import { shaped } from './support/shapes.js';
import { buildUserOp, signByAccount } from './support/user-op.js';

let devChain: DevChain;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());

const contextOf = (version: EntryPointVersion, account: AddressKey): CallContext => ({
  account,
  passesWholeOperation: entryPointRules[version].passesWholeOperation,
  ofChain: undefined,
  ofPaymaster: undefined,
  modules: undefined,
});

type MadeCall = { readonly target: string; readonly value: bigint; readonly data: string };

describe.each(['0.6', '0.7', '0.8', '0.9'] as const)(
  'SimpleAccount %s, callData changed at random',
  (version) => {
    test('makes the very calls that were read, or none', async () => {
      const account = await deployedAccount(version);
      const encode = (calls: readonly Call[]) => encodeCalls(version, calls);
      const seen = await compareWithChain({ version, account, encode, numRuns: 300 });
      // Neither side of the property is empty.
      expect(seen.executed).toBeGreaterThan(20);
      expect(seen.refused).toBeGreaterThan(20);
    });
  },
);

describe('accounts of other shapes, callData changed at random', () => {
  beforeAll(() => deployKernelMultiSend(devChain));

  test.each(shaped)('$form: makes the very calls that were read, or none', async ({ contract, encode }) => {
    const shape = await buildShapedAccount(devChain, contract, encode);
    await devChain.setBalance(shape.address, 10n ** 24n);
    const seen = await compareWithChain({
      version: '0.7',
      account: shape.address,
      encode: (calls) => asHex(encode(calls)),
      sent: (callData) => sentByEntryPoint(shape, callData),
      numRuns: 120,
    });
    expect(seen.executed).toBeGreaterThan(15);
    expect(seen.refused).toBeGreaterThan(15);
  });
});

type Compared = {
  readonly version: EntryPointVersion;
  readonly account: AddressKey;
  readonly encode: (calls: readonly Call[]) => Hex;
  /** What the EntryPoint calls the account with, where that is not the operation's callData. */
  readonly sent?: (callData: Hex) => Promise<Hex>;
  readonly numRuns: number;
};

/** What is read must be what the account does when it is called; counts what was refused and what was executed. */
async function compareWithChain({ version, account, encode, sent, numRuns }: Compared) {
  const seen = { refused: 0, executed: 0 };
  await fc.assert(
    fc.asyncProperty(anyCalls, anyChanges, async (calls, changes) => {
      const callData = changed(encode(calls), changes);
      const decoded = decodeCalls(callData, contextOf(version, account));
      if (decoded.outcome === 'refused') {
        seen.refused += 1;
        return;
      }
      const made = await callsMade(version, account, (await sent?.(callData)) ?? callData);
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
    { numRuns },
  );
  return seen;
}

async function sentByEntryPoint(account: TestAccount, callData: Hex): Promise<Hex> {
  if (!callData.startsWith('0x8dd7712f')) return callData;
  const op = { ...(await buildUserOp(account, [])), callData };
  return asHex(
    wholeAbi.encodeFunctionData('executeUserOp', [userOperation07Values(op, '0x'), `0x${'00'.repeat(32)}`]),
  );
}

const wholeAbi = new Interface([`function executeUserOp(${userOperation07} op, bytes32 hash)`]);

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
  return callsIn(trace);
}

/** What is called by the account's own code: of a proxy, of itself again, or of a library. */
function callsIn({ calls = [] }: Frame): readonly MadeCall[] {
  return calls.flatMap((frame) =>
    frame.type === 'DELEGATECALL'
      ? callsIn(frame)
      : [{ target: frame.to, value: BigInt(frame.value ?? '0x0'), data: frame.input }],
  );
}

type Frame = {
  readonly type: string;
  readonly to: string;
  readonly value?: string;
  readonly input: string;
  readonly error?: string;
  readonly calls?: readonly Frame[];
};
