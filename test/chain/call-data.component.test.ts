import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createRequire } from 'node:module';
import { AbiCoder, Interface, concat, solidityPacked } from 'ethers';
import fc from 'fast-check';
import { entryPointRules } from '../../core/entry-point/table.js';
import { userOperation07, userOperation07Values } from '../../core/entry-point/packed.js';
import { kernelMultiSend } from '../../core/userop/account-functions.js';
import { toAddressKey, type AddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import { decodeCalls, type CallContext } from '../../core/userop/call-data.js';
import type { EntryPointVersion } from '../../core/entry-point/version.js';
import { create2Address, deployOnce } from '../../standalone/dev-chain/transactor.js';
import { asHex, buildAccount, encodeCalls, type Call, type TestAccount } from './support/account.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { handleOp } from './support/handle-ops.js';
import { compileSolidity } from './support/solidity.js';
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
      const seen = { refused: 0, executed: 0 };
      await fc.assert(
        fc.asyncProperty(anyCalls, anyChanges, async (calls, changes) => {
          const callData = changed(encodeCalls(version, calls), changes);
          const decoded = decodeCalls(callData, contextOf(version, account));
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

const coder = AbiCoder.defaultAbiCoder();
const callsType = 'tuple(address,uint256,bytes)[]';
const tuples = (calls: readonly Call[]) => calls.map(({ to, value, data }) => [to, value ?? 0n, data]);
const encodedCalls = (calls: readonly Call[]) => coder.encode([callsType], [tuples(calls)]);
const withOpData = (calls: readonly Call[]) =>
  coder.encode([callsType, 'bytes'], [tuples(calls), `0x${'5a'.repeat(65)}`]);
const execute7579 = (mode: string, data: string) =>
  `0xe9ae5c53${coder.encode(['bytes32', 'bytes'], [`0x${mode.padEnd(64, '0')}`, data]).slice(2)}`;
const batch = (calls: readonly Call[]) => coder.encode([`tuple(${callsType},bool)`], [[tuples(calls), true]]);
const after = (selector: string, args: string) => `${selector}${args.slice(2)}`;
const one = ([first]: readonly Call[]) => tuples([first!])[0]!;
const multiSent = (calls: readonly Call[]) => {
  const transactions = calls.map(({ to, value, data }) =>
    solidityPacked(
      ['uint8', 'address', 'uint256', 'uint256', 'bytes'],
      [0, to, value ?? 0n, (data.length - 2) / 2, data],
    ),
  );
  const multiSend = after('0x8d80ff0a', coder.encode(['bytes'], [concat(transactions)]));
  return coder.encode(['address', 'uint256', 'bytes', 'uint8'], [kernelMultiSend, 0n, multiSend, 1]);
};
const struct = (calls: readonly Call[]) => coder.encode(['tuple(address,uint256,bytes)'], [one(calls)]);

/** Forms of call data by the contract of `ShapedAccounts.sol` that reads them. */
const shaped: readonly {
  readonly form: string;
  readonly contract: string;
  readonly encode: (calls: readonly Call[]) => string;
}[] = [
  { form: 'a struct', contract: 'KernelShaped', encode: (calls) => after('0x5c1c6dcd', struct(calls)) },
  {
    form: 'executeUserOp and a call of a struct',
    contract: 'KernelShaped',
    encode: (calls) => after('0x8dd7712f', after('0x5c1c6dcd', struct(calls))),
  },
  {
    form: 'executeUserOp and a batch of ERC-7821',
    contract: 'KernelShaped',
    encode: (calls) => after('0x8dd7712f', execute7579('01', encodedCalls(calls))),
  },
  {
    form: 'structs and a flag',
    contract: 'CaliburShaped',
    encode: (calls) => after('0x99e1d016', batch(calls)),
  },
  {
    form: 'executeUserOp and structs and a flag',
    contract: 'CaliburShaped',
    encode: (calls) => after('0x8dd7712f', batch(calls)),
  },
  {
    form: 'ERC-7821 with opData',
    contract: 'CaliburShaped',
    encode: (calls) => execute7579('01000000000078210001', withOpData(calls)),
  },
  {
    form: 'ERC-7821 batches of batches',
    contract: 'CaliburShaped',
    encode: (calls) =>
      execute7579(
        '01000000000078210002',
        coder.encode(['bytes[]'], [[encodedCalls(calls), withOpData(calls)]]),
      ),
  },
  {
    form: 'a call or delegate call, one call',
    contract: 'KernelTwoShaped',
    encode: (calls) =>
      after('0x51945447', coder.encode(['address', 'uint256', 'bytes', 'uint8'], [...one(calls), 0])),
  },
  {
    form: 'a delegate call to MultiSend',
    contract: 'KernelTwoShaped',
    encode: (calls) => after('0x51945447', multiSent(calls)),
  },
];

describe('accounts of other shapes, callData changed at random', () => {
  beforeAll(async () => {
    const require = createRequire(import.meta.url);
    const {
      deployedBytecode,
    } = require('@safe-global/safe-contracts/build/artifacts/contracts/libraries/MultiSend.sol/MultiSend.json');
    await devChain.chain.request('anvil_setCode', [kernelMultiSend, deployedBytecode]);
  });

  test.each(shaped)('$form: makes the very calls that were read, or none', async ({ contract, encode }) => {
    const account = await shapedAccount(contract);
    const seen = { refused: 0, executed: 0 };
    await fc.assert(
      fc.asyncProperty(anyCalls, anyChanges, async (calls, changes) => {
        const callData = changed(asHex(encode(calls)), changes);
        const decoded = decodeCalls(callData, contextOf('0.7', account));
        if (decoded.outcome === 'refused') {
          seen.refused += 1;
          return;
        }
        const made = await callsMade('0.7', account, await sentByEntryPoint(account, callData));
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
      { numRuns: 120 },
    );
    expect(seen.executed).toBeGreaterThan(15);
    expect(seen.refused).toBeGreaterThan(15);
  });
});

let shapedCodes: Readonly<Record<string, Hex>> | undefined;

/** An account with the code of a contract of `ShapedAccounts.sol`, and coins. */
async function shapedAccount(contract: string): Promise<AddressKey> {
  shapedCodes ??= compileSolidity('ShapedAccounts.sol', ['solady', '@openzeppelin/contracts']);
  const initCode = shapedCodes[contract]!;
  const address = create2Address(initCode);
  await deployOnce(devChain.chain, devChain.transactor, { name: contract, address, initCode });
  await devChain.setBalance(address, 10n ** 24n);
  return toAddressKey(address);
}

/** The EntryPoint passes the whole operation to `executeUserOp`. */
async function sentByEntryPoint(account: AddressKey, callData: Hex): Promise<Hex> {
  if (!callData.startsWith('0x8dd7712f')) return callData;
  const op = { ...(await buildUserOp(plainAccount(account), [])), callData };
  return asHex(
    wholeAbi.encodeFunctionData('executeUserOp', [userOperation07Values(op, '0x'), `0x${'00'.repeat(32)}`]),
  );
}

const wholeAbi = new Interface([`function executeUserOp(${userOperation07} op, bytes32 hash)`]);

function plainAccount(address: AddressKey): TestAccount {
  return {
    builtBy: 'ethers',
    version: '0.7',
    address,
    encodeCalls: () => Promise.resolve('0x'),
    nonce: () => Promise.resolve(0n),
    initCode: () => Promise.resolve('0x'),
    sign: () => Promise.resolve('0x'),
  };
}

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
