import { Interface, type Wallet, getBytes, type InterfaceAbi } from 'ethers';
import { userOpHash } from '../../../core/entry-point/user-op-hash.js';
import { parseAddress, toAddressKey, type Address, type AddressKey } from '../../../core/units/address.js';
import { isHexBytes, type Hex } from '../../../core/units/hex.js';
import type { EntryPointVersion } from '../../../core/entry-point/version.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';
import type { DevChain } from './dev-chain.js';
import { newWallet } from '../../support/new-wallet.js';

export type Call = { readonly to: Address | Hex; readonly value?: bigint; readonly data: Hex };

/** A smart account as one client library sees it: it builds operations and signs them with its owner's key. */
export type TestAccount = {
  readonly builtBy: 'ethers' | 'permissionless';
  readonly version: EntryPointVersion;
  readonly address: AddressKey;
  /** Account call data for one call or a batch. */
  encodeCalls(calls: readonly Call[]): Promise<Hex>;
  nonce(): Promise<bigint>;
  /** Factory and its data while the account does not exist, then `0x`. */
  initCode(): Promise<Hex>;
  sign(op: FinalUserOperation, paymasterAndData: Hex): Promise<Hex>;
};

const factoryAbi = new Interface([
  'function createAccount(address owner, uint256 salt) returns (address)',
  'function getAddress(address owner, uint256 salt) view returns (address)',
]);
const entryPointAbi = new Interface([
  'function getNonce(address sender, uint192 key) view returns (uint256)',
]);
const batchAbis: Readonly<Record<EntryPointVersion, InterfaceAbi>> = {
  '0.6': ['function executeBatch(address[] to, bytes[] data)'],
  '0.7': ['function executeBatch(address[] to, uint256[] value, bytes[] data)'],
  '0.8': ['function executeBatch((address target, uint256 value, bytes data)[] calls)'],
  '0.9': ['function executeBatch((address target, uint256 value, bytes data)[] calls)'],
};
const executeAbi = new Interface(['function execute(address to, uint256 value, bytes data)']);

/** SimpleAccount of the version, made with ethers only. Not deployed yet; a new random owner unless one is given. */
export async function buildAccount(
  devChain: DevChain,
  version: EntryPointVersion,
  owner: Wallet = newWallet(),
): Promise<TestAccount> {
  const { chain, chainId, deployments } = devChain;
  const factory = deployments.factories[version];
  const entryPoint = deployments.entryPoints[version];
  const [answer] = factoryAbi.decodeFunctionResult(
    'getAddress',
    await chain.call({ to: factory, data: encodeWith(factoryAbi, 'getAddress', [owner.address, 0]) }),
  );
  const address = toAddressKey(parseAddress(String(answer)));

  return {
    builtBy: 'ethers',
    version,
    address,
    encodeCalls: (calls) => Promise.resolve(encodeCalls(version, calls)),
    async nonce() {
      const data = encodeWith(entryPointAbi, 'getNonce', [address, 0]);
      return BigInt(await chain.call({ to: entryPoint, data }));
    },
    async initCode() {
      if ((await chain.code(address)) !== '0x') return '0x';
      const data = encodeWith(factoryAbi, 'createAccount', [owner.address, 0]);
      return asHex(`${factory.toLowerCase()}${data.slice(2)}`);
    },
    async sign(op, paymasterAndData) {
      const hash = userOpHash(op, paymasterAndData, { version, entryPoint, chainId });
      if (hash === undefined) throw new Error('the userOpHash is not known off chain');
      // Accounts sign the EIP-712 hash itself from 0.8 on, earlier ones an EIP-191 message of it.
      return asHex(
        version === '0.6' || version === '0.7'
          ? await owner.signMessage(getBytes(hash))
          : owner.signingKey.sign(hash).serialized,
      );
    },
  };
}

/** Call data of SimpleAccount: `execute` for one call, the version's `executeBatch` for several. */
export function encodeCalls(version: EntryPointVersion, calls: readonly Call[]): Hex {
  const [only] = calls;
  if (calls.length === 1 && only !== undefined)
    return encodeWith(executeAbi, 'execute', [only.to, only.value ?? 0n, only.data]);
  const to = calls.map((call) => call.to);
  const values = calls.map((call) => call.value ?? 0n);
  const data = calls.map((call) => call.data);
  const tuples = calls.map((call) => [call.to, call.value ?? 0n, call.data]);
  const batch = {
    '0.6': [to, data],
    '0.7': [to, values, data],
    '0.8': [tuples],
    '0.9': [tuples],
  };
  return encodeWith(new Interface(batchAbis[version]), 'executeBatch', batch[version]);
}

export function encodeWith(abi: Interface, method: string, values: readonly unknown[]): Hex {
  return asHex(abi.encodeFunctionData(method, values));
}

export function asHex(text: string): Hex {
  if (!isHexBytes(text)) throw new TypeError(`expected whole bytes of hex, got ${text}`);
  return text;
}
