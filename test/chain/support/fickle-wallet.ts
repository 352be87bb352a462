import { AbiCoder, Interface } from 'ethers';
import { toAddressKey, type Address, type AddressKey } from '../../../core/units/address.js';
import { readOwnArtifact } from '../../../standalone/dev-chain/artifacts.js';
import { create2Address, deployOnce } from '../../../standalone/dev-chain/transactor.js';
import { asHex, encodeWith, type TestAccount } from './account.js';
import type { DevChain } from './dev-chain.js';

const abi = new Interface([
  'function intend(uint256 allowed, uint256 kept, bool fails)',
  'function allowNow(uint256 amount)',
  'function act()',
]);
const nonceAbi = new Interface(['function getNonce(address sender, uint192 key) view returns (uint256)']);
export const unlimited = (1n << 256n) - 1n;

/** What the wallet's next call does: what it allows the paymaster, how many tokens it keeps, whether it fails. */
export type Intent = { readonly allowed?: bigint; readonly kept?: bigint; readonly fails?: boolean };

/** A wallet whose call does what its owner decides after the operation was signed. */
export type FickleWallet = TestAccount & {
  intend(intent: Intent): Promise<void>;
  /** An allowance outside of an operation. */
  allowNow(amount: bigint): Promise<void>;
};

/** Deployed, on any EntryPoint: it accepts every signature. Another one for each salt. */
export async function aFickleWallet(
  devChain: DevChain,
  {
    version,
    token,
    paymaster,
    salt,
  }: {
    readonly version: TestAccount['version'];
    readonly token: Address;
    readonly paymaster: Address;
    readonly salt: number;
  },
): Promise<FickleWallet> {
  const { chain, transactor, deployments } = devChain;
  const values = AbiCoder.defaultAbiCoder().encode(['address', 'address'], [token, paymaster]);
  const initCode = asHex(`${readOwnArtifact('FickleWallet').bytecode}${values.slice(2)}`);
  const place = asHex(`0x${salt.toString(16).padStart(64, '0')}`);
  const deployed = create2Address(initCode, place);
  await deployOnce(chain, transactor, { name: 'wallet', address: deployed, initCode, salt: place });
  const address: AddressKey = toAddressKey(deployed);
  const send = async (method: string, args: readonly unknown[]): Promise<void> => {
    await transactor.send(method, { to: deployed, data: encodeWith(abi, method, args) });
  };
  return {
    builtBy: 'ethers',
    version,
    address,
    encodeCalls: () => Promise.resolve(encodeWith(abi, 'act', [])),
    async nonce() {
      const data = encodeWith(nonceAbi, 'getNonce', [address, 0]);
      return BigInt(await chain.call({ to: deployments.entryPoints[version], data }));
    },
    initCode: () => Promise.resolve('0x'),
    sign: () => Promise.resolve('0x00'),
    intend: ({ allowed = unlimited, kept = unlimited, fails = false }) =>
      send('intend', [allowed, kept, fails]),
    allowNow: (amount) => send('allowNow', [amount]),
  };
}
