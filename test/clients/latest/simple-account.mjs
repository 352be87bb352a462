// SimpleAccount as a viem account, for every EntryPoint of the dev chain: viem itself has none that works on all of them. The library
// is passed in, because each folder has its own copy.

/** As on public chains; for 0.9 as `make run` deploys it. */
export const factories = {
  0.6: '0x9406Cc6185a346906296840746125a0E44976454',
  0.7: '0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985',
  0.8: '0x13E9ed32155810FDbd067D4522C492D6f68E5944',
  0.9: '0xEDd9667C46f5FC5115EC33940df899ad4EAE5949',
};
const signatures = [
  'function createAccount(address owner, uint256 salt) returns (address)',
  'function getAddress(address owner, uint256 salt) view returns (address)',
  'function execute(address dest, uint256 value, bytes func)',
];
const newBatch = 'function executeBatch((address target, uint256 value, bytes data)[] calls)';
const batches = {
  0.6: 'function executeBatch(address[] dest, bytes[] func)',
  0.7: 'function executeBatch(address[] dest, uint256[] value, bytes[] func)',
  0.8: newBatch,
  0.9: newBatch,
};
const stubSignature =
  '0xfffffffffffffffffffffffffffffff0000000000000000000000000000000007aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1c';

/**
 * A new account; the first operation creates it.
 * @param library `{ viem, accountAbstraction }`, the modules `viem` and `viem/account-abstraction` of the folder under test.
 */
export async function toSimpleAccount({ viem, accountAbstraction }, { client, owner, entryPoint }) {
  const { version, address: entryPointAddress } = entryPoint;
  const abi = viem.parseAbi([...signatures, batches[version]]);
  const factory = factories[version];
  const args = [owner.address, 0n];
  const data = (functionName, values) => viem.encodeFunctionData({ abi, functionName, args: values });
  const address = await client.readContract({ address: factory, abi, functionName: 'getAddress', args });
  return accountAbstraction.toSmartAccount({
    client,
    entryPoint: { abi: [], ...entryPoint },
    getAddress: async () => address,
    getFactoryArgs: async () => ({ factory, factoryData: data('createAccount', args) }),
    getStubSignature: async () => stubSignature,
    encodeCalls: async (calls) => {
      if (calls.length > 1) return data('executeBatch', batchOf(calls, version));
      const [{ to, value = 0n, data: callData = '0x' }] = calls;
      return data('execute', [to, value, callData]);
    },
    signMessage: notSupported,
    signTypedData: notSupported,
    signUserOperation: ({ chainId = client.chain.id, ...userOperation }) => {
      const hash = accountAbstraction.getUserOperationHash({
        chainId,
        entryPointAddress,
        entryPointVersion: version,
        userOperation: { ...userOperation, sender: address },
      });
      // From 0.8 on the hash is one of EIP-712, which accounts check as it is.
      const isTyped = version !== '0.6' && version !== '0.7';
      return isTyped ? owner.sign({ hash }) : owner.signMessage({ message: { raw: hash } });
    },
  });
}

function batchOf(calls, version) {
  const targets = calls.map(({ to }) => to);
  const values = calls.map(({ value = 0n }) => value);
  const data = calls.map((call) => call.data ?? '0x');
  if (version === '0.6') return [targets, data];
  if (version === '0.7') return [targets, values, data];
  return [targets.map((target, index) => ({ target, value: values[index], data: data[index] }))];
}

async function notSupported() {
  throw new Error('not needed by these tests');
}
