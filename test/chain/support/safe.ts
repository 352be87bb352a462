import { createRequire } from 'node:module';
import { Interface, Signature, type Wallet, ZeroAddress, concat, solidityPacked } from 'ethers';
import type { Chain } from '../../../core/chain/chain.js';
import { parseAddress, type Address } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import {
  create2Address,
  deployOnce,
  type Call,
  type Transactor,
} from '../../../standalone/dev-chain/transactor.js';
import { encodeWith } from './account.js';

/** A Safe 1.5.0, from the code that its makers publish. */
export type Safe = {
  readonly address: Address;
  /** Carries out the calls in one transaction, as the Safe's application does: signed by `owners`, sent by anybody. */
  execute(calls: readonly Required<Call>[], owners: readonly Wallet[]): Promise<string>;
};

const safe = new Interface([
  'function setup(address[] owners, uint256 threshold, address to, bytes data, address fallbackHandler, address paymentToken, uint256 payment, address paymentReceiver)',
  'function nonce() view returns (uint256)',
  'function execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures) payable returns (bool)',
]);
const factory = new Interface([
  'function createProxyWithNonce(address singleton, bytes initializer, uint256 saltNonce) returns (address proxy)',
  'event ProxyCreation(address indexed proxy, address singleton)',
]);
const multiSend = new Interface(['function multiSend(bytes transactions) payable']);
const [plainCall, delegateCall] = [0, 1];

export async function deploySafe(
  chain: Chain,
  transactor: Transactor,
  owners: readonly string[],
  threshold: number,
): Promise<Safe> {
  const deploy = async (path: string) => {
    const initCode = codeOf(path);
    const address = create2Address(initCode);
    await deployOnce(chain, transactor, { name: path, address, initCode });
    return address;
  };
  const singleton = await deploy('Safe.sol/Safe');
  const factoryAddress = await deploy('proxies/SafeProxyFactory.sol/SafeProxyFactory');
  const batch = await deploy('libraries/MultiSendCallOnly.sol/MultiSendCallOnly');
  const none = [ZeroAddress, '0x', ZeroAddress, ZeroAddress, 0, ZeroAddress];
  const initializer = encodeWith(safe, 'setup', [owners, threshold, ...none]);
  const data = encodeWith(factory, 'createProxyWithNonce', [singleton, initializer, 0]);
  const made = await chain.request('eth_call', [{ to: factoryAddress, data }, 'latest']);
  await transactor.send('a Safe', { to: factoryAddress, data });
  const address = parseAddress(String(factory.decodeFunctionResult('createProxyWithNonce', String(made))[0]));

  return {
    address,
    async execute(calls, signers) {
      const nonce = BigInt(
        String(
          await chain.request('eth_call', [{ to: address, data: encodeWith(safe, 'nonce', []) }, 'latest']),
        ),
      );
      const transactions = concat(
        calls.map((call) =>
          solidityPacked(
            ['uint8', 'address', 'uint256', 'uint256', 'bytes'],
            [plainCall, call.to, call.value, (call.data.length - 2) / 2, call.data],
          ),
        ),
      );
      const transaction = {
        to: batch,
        value: 0n,
        data: encodeWith(multiSend, 'multiSend', [transactions]),
        operation: delegateCall,
        safeTxGas: 0n,
        baseGas: 0n,
        gasPrice: 0n,
        gasToken: ZeroAddress,
        refundReceiver: ZeroAddress,
      };
      const domain = { chainId: await chain.chainId(), verifyingContract: address };
      // In the order of their owners' addresses, without which the Safe refuses them.
      const sorted = signers.toSorted((a, b) => (BigInt(a.address) < BigInt(b.address) ? -1 : 1));
      const signatures = await Promise.all(
        sorted.map((owner) => owner.signTypedData(domain, types, { ...transaction, nonce })),
      );
      const values = [
        ...Object.values(transaction),
        concat(signatures.map((each) => Signature.from(each).serialized)),
      ];
      return transactor.send('a transaction of the Safe', {
        to: address,
        data: encodeWith(safe, 'execTransaction', values),
      });
    },
  };
}

const types = {
  SafeTx: [
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'data', type: 'bytes' },
    { name: 'operation', type: 'uint8' },
    { name: 'safeTxGas', type: 'uint256' },
    { name: 'baseGas', type: 'uint256' },
    { name: 'gasPrice', type: 'uint256' },
    { name: 'gasToken', type: 'address' },
    { name: 'refundReceiver', type: 'address' },
    { name: 'nonce', type: 'uint256' },
  ],
};

function codeOf(path: string): Hex {
  const require = createRequire(import.meta.url);
  return require(`@safe-global/safe-smart-account/build/artifacts/contracts/${path}.json`).bytecode;
}
