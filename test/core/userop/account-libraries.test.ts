import { describe, expect, test } from '@jest/globals';
import {
  to7702KernelSmartAccount,
  to7702SimpleSmartAccount,
  toBiconomySmartAccount,
  toEtherspotSmartAccount,
  toKernelSmartAccount,
  toLightSmartAccount,
  toNexusSmartAccount,
  toSafeSmartAccount,
  toSimpleSmartAccount,
  toThirdwebSmartAccount,
  toTrustSmartAccount,
} from 'permissionless/accounts';
import { AbiCoder, concat, getBytes, toBeHex } from 'ethers';
import { createPublicClient, custom, decodeFunctionData, encodeFunctionData, parseAbi } from 'viem';
import {
  entryPoint06Address,
  entryPoint07Address,
  entryPoint08Address,
  toCoinbaseSmartAccount,
  toSimple7702SmartAccount,
} from 'viem/account-abstraction';
import { privateKeyToAccount } from 'viem/accounts';
import { parseAddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import { decodeCalls as decodeIn } from '../../../core/userop/call-data.js';
import { decodeCalls, plainContext } from '../../build/decoded.js';

// Call data as the libraries of accounts write them. No chain: what they ask for is that no account exists yet.

const client = createPublicClient({
  transport: custom({
    request: ({ method }: { readonly method: string }) => {
      if (method === 'eth_chainId') return Promise.resolve('0x7a69');
      if (method === 'eth_getCode') return Promise.resolve('0x');
      if (method === 'eth_call') return Promise.resolve(`0x${'00'.repeat(31)}20${'00'.repeat(32)}`);
      return Promise.reject(new Error(`not asked for: ${method}`));
    },
  }),
});
const owner = privateKeyToAccount(`0x${'11'.repeat(32)}`);
const address = '0xAcC0000000000000000000000000000000000001';
const [v06, v07, v08] = [
  { address: entryPoint06Address, version: '0.6' },
  { address: entryPoint07Address, version: '0.7' },
  { address: entryPoint08Address, version: '0.8' },
] as const;
const launchpad = '0x7579011aB74c46090561ea277Ba79D510c6C00ff';
const adapter = '0x7579EE8307284F293B1927136486880611F20002';
const toSafe7579 = (change: object = {}) =>
  toSafeSmartAccount({
    client,
    owners: [owner],
    version: '1.4.1',
    entryPoint: v07,
    address,
    safe4337ModuleAddress: adapter,
    erc7579LaunchpadAddress: launchpad,
    attesters: ['0x000000333034E9f539ce08819E12c1b8Cb29084d'],
    attestersThreshold: 1,
    ...change,
  });

type Library = { encodeCalls(calls: readonly LibraryCall[]): Promise<Hex> };
type LibraryCall = { readonly to: Hex; readonly value: bigint; readonly data: Hex };
const libraries: Readonly<Record<string, () => Promise<Library>>> = {
  'SimpleAccount, 0.6': () => toSimpleSmartAccount({ client, owner, address, entryPoint: v06 }),
  'SimpleAccount, 0.7': () => toSimpleSmartAccount({ client, owner, address, entryPoint: v07 }),
  'SimpleAccount, 0.8': () => toSimpleSmartAccount({ client, owner, address, entryPoint: v08 }),
  'Simple7702Account, permissionless': () => to7702SimpleSmartAccount({ client, owner }),
  'Simple7702Account, viem': () => toSimple7702SmartAccount({ client, owner }),
  'Coinbase Smart Wallet': () => toCoinbaseSmartAccount({ client, owners: [owner], address, version: '1.1' }),
  'Light Account 2': () => toLightSmartAccount({ client, owner, address, version: '2.0.0', entryPoint: v07 }),
  'Light Account 1': () => toLightSmartAccount({ client, owner, address, version: '1.1.0', entryPoint: v06 }),
  Trust: () => toTrustSmartAccount({ client, owner, address, entryPoint: v06 }),
  thirdweb: () => toThirdwebSmartAccount({ client, owner, address, entryPoint: v07 }),
  Etherspot: () => toEtherspotSmartAccount({ client, owners: [owner], address }),
  Biconomy: () => toBiconomySmartAccount({ client, owners: [owner], address, entryPoint: v06 }),
  Nexus: () => toNexusSmartAccount({ client, owners: [owner], address, version: '1.0.0' }),
  'Kernel 0.2.4': () =>
    toKernelSmartAccount({ client, owners: [owner], address, version: '0.2.4', entryPoint: v06 }),
  'Kernel 0.2.1': () =>
    toKernelSmartAccount({ client, owners: [owner], address, version: '0.2.1', entryPoint: v06 }),
  'Kernel 3.3': () =>
    toKernelSmartAccount({ client, owners: [owner], address, version: '0.3.3', entryPoint: v07 }),
  'Kernel 3.3 by EIP-7702': () => to7702KernelSmartAccount({ client, owner }),
  'Safe 1.4.1, 0.6': () =>
    toSafeSmartAccount({ client, owners: [owner], address, version: '1.4.1', entryPoint: v06 }),
  'Safe 1.4.1, 0.7': () =>
    toSafeSmartAccount({ client, owners: [owner], address, version: '1.4.1', entryPoint: v07 }),
  'Safe 1.5.0': () =>
    toSafeSmartAccount({ client, owners: [owner], address, version: '1.5.0', entryPoint: v07 }),
  'Safe7579, its first operation': () => toSafe7579(),
};

const calls: readonly LibraryCall[] = [
  { to: '0x1111111111111111111111111111111111111111', value: 0n, data: '0xd09de08a' },
  { to: '0x2222222222222222222222222222222222222222', value: 7n, data: '0xa9059cbb0102' },
];

describe.each(Object.entries(libraries))('%s', (_name, build) => {
  test.each([
    { what: 'one call', made: calls.slice(0, 1) },
    { what: 'a batch', made: calls },
  ])('$what is read as it was given to the library', async ({ made }) => {
    const library = await build();
    const callData = await library.encodeCalls(made);
    // The batch of SimpleAccount 0.6 has no values, whatever its library is given.
    const sent = callData.startsWith('0x18dfb3c7') ? made.map((call) => ({ ...call, value: 0n })) : made;
    expect(plain(callData)).toEqual(sent);
  });
});

function plain(callData: Hex): unknown {
  const decoded = decodeCalls(callData);
  if (decoded.outcome === 'refused') return decoded;
  return decoded.calls.map(({ target, value, data }) => ({
    to: target,
    value,
    data: `0x${callData.slice(2 + 2 * data.start, 2 + 2 * data.end)}`,
  }));
}

describe('the set-up of a Safe7579', () => {
  const stranger = '0x9999999999999999999999999999999999999999';
  const setUp = async (change: object = {}) => (await toSafe7579(change)).encodeCalls(calls.slice(0, 1));
  const abi = parseAbi([
    'struct ModuleInit { address module; bytes initData; }',
    'struct InitData { address singleton; address[] owners; uint256 threshold; address setupTo; bytes setupData; address safe7579; ModuleInit[] validators; bytes callData; }',
    'function setupSafe(InitData initData)',
    'function initSafe7579(address safe7579, ModuleInit[] executors, ModuleInit[] fallbacks, ModuleInit[] hooks, address[] attesters, uint8 threshold)',
  ]);
  const places = ['safe7579', 'executors', 'fallbacks', 'hooks', 'attesters', 'threshold'] as const;
  const module = (of: string) => [{ address: of, context: '0x01' }];

  /** The library's own set-up with a member of it changed. */
  async function changed(change: object): Promise<Hex> {
    const own = decodeFunctionData({ abi, data: await setUp() });
    if (own.functionName !== 'setupSafe') throw new Error('the library calls another function');
    return encodeFunctionData({ abi, functionName: 'setupSafe', args: [{ ...own.args[0], ...change }] });
  }

  /** The same of what the Safe sets itself up with. */
  async function withInit(change: Partial<Record<(typeof places)[number], unknown>>): Promise<Hex> {
    const own = decodeFunctionData({ abi, data: await setUp() });
    if (own.functionName !== 'setupSafe') throw new Error('the library calls another function');
    const init = decodeFunctionData({ abi, data: own.args[0].setupData });
    const args = places.map((name, index) => change[name] ?? init.args[index]);
    return changed({ setupData: encodeFunctionData({ abi, functionName: 'initSafe7579', args } as never) });
  }

  test('is read with each of the modules that are known, in each of their places', async () => {
    const known = '0x2483DA3A338895199E5e538530213157e931Bf06';
    for (const place of ['validators', 'executors', 'fallbacks', 'hooks'])
      expect(plain(await setUp({ [place]: module(known) }))).toEqual(calls.slice(0, 1));
  });

  test('is read with a module that the Chain lists', async () => {
    const callData = await setUp({ executors: module(stranger) });
    expect(decodeCalls(callData)).toMatchObject({
      outcome: 'refused',
      reason: 'CALLDATA_UNDECODABLE',
      detail: expect.stringContaining(
        `its module ${stranger} is not one of the known ones and not in spec.accountModules of the Chain`,
      ),
    });
    const context = { ...plainContext, modules: new Set([parseAddressKey(stranger)]) };
    expect(decodeIn(callData, context)).toMatchObject({ outcome: 'calls' });
  });

  test.each<{ name: string; attack: () => Promise<Hex>; detail: string }>([
    { name: 'a foreign singleton', attack: () => changed({ singleton: stranger }), detail: 'singleton' },
    { name: 'a foreign launchpad', attack: () => changed({ setupTo: stranger }), detail: 'launchpad' },
    { name: 'a foreign adapter', attack: () => changed({ safe7579: stranger }), detail: 'adapter' },
    {
      name: 'another adapter in its data',
      attack: () => withInit({ safe7579: stranger }),
      detail: 'adapter',
    },
    {
      name: 'a foreign validator',
      attack: () => changed({ validators: [{ module: stranger, initData: '0x' }] }),
      detail: 'module',
    },
    ...['executors', 'fallbacks', 'hooks'].map((place) => ({
      name: `a foreign module among the ${place}`,
      attack: () => withInit({ [place]: [{ module: stranger, initData: '0x' }] }),
      detail: 'module',
    })),
    {
      name: 'data that call another function',
      attack: () => changed({ setupData: '0xdeadbeef' }),
      detail: 'setupData must call 0x15cca638',
    },
    { name: 'no call', attack: () => changed({ callData: '0x' }), detail: 'its call must be' },
    {
      name: 'a call of another function than execute',
      attack: () => changed({ callData: concat(['0xb61d27f6', '0x'.padEnd(194, '0')]) }),
      detail: 'its call must be',
    },
    {
      name: 'a delegate call',
      attack: () =>
        changed({
          callData: concat([
            '0xe9ae5c53',
            AbiCoder.defaultAbiCoder().encode(
              ['bytes32', 'bytes'],
              [`0x${'ff'.padEnd(64, '0')}`, concat([stranger, toBeHex(0, 32)])],
            ),
          ]),
        }),
      detail: 'delegate call',
    },
    {
      name: 'itself after executeUserOp',
      attack: async () => `0x8dd7712f${(await setUp()).slice(2)}` as Hex,
      detail: 'not an account function that may be there',
    },
  ])('with $name is refused', async ({ attack, detail }) => {
    expect(decodeCalls(await attack())).toMatchObject({
      outcome: 'refused',
      detail: expect.stringContaining(detail),
    });
  });

  test('is refused where a byte of it is cut off or an offset lies', async () => {
    const whole = await setUp({ executors: module('0x2483DA3A338895199E5e538530213157e931Bf06') });
    const words = (getBytes(whole).length - 4) / 32;
    for (let word = 0; word < Math.floor(words); word += 1) {
      const end = 10 + 64 * (word + 1);
      for (const to of ['ff'.repeat(32), `${'00'.repeat(30)}ffff`]) {
        const lie = `${whole.slice(0, end - 64)}${to}${whole.slice(end)}` as Hex;
        const read = decodeCalls(lie);
        // What is read after a lie is the one call that the launchpad makes, or nothing.
        if (read.outcome === 'calls') expect(read.calls.length).toBe(1);
      }
    }
    expect(decodeCalls(whole.slice(0, -64) as Hex)).toMatchObject({ outcome: 'refused' });
  });
});
