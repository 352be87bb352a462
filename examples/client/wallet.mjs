import { toSimpleSmartAccount } from 'permissionless/accounts';
import { concat, createPublicClient, createWalletClient, http, parseEventLogs } from 'viem';
import {
  createBundlerClient,
  entryPoint06Abi,
  entryPoint07Abi,
  entryPoint08Abi,
  toPackedUserOperation,
} from 'viem/account-abstraction';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { foundry } from 'viem/chains';

const entryPointAbis = { 0.6: entryPoint06Abi, 0.7: entryPoint07Abi, 0.8: entryPoint08Abi };

/** A well-known key of every dev chain: hands out tokens, and does the work of a bundler where none runs. */
const funderKey = '0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba';

/**
 * A smart account of a new owner, which does not exist yet, and a way to get its operations mined: by the bundlers behind `rpcUrl`, or
 * else by a transaction of `submitterKey`.
 */
export async function openWallet(
  { chainId = foundry.id, chainRpcUrl, rpcUrl, bundlers, entryPoint: address, entryPointVersion: version },
  submitterKey = funderKey,
) {
  const transport = http(chainRpcUrl);
  // Nothing but its id is read of a chain here.
  const chain = { ...foundry, id: chainId };
  const client = createPublicClient({ chain, transport, pollingInterval: 100 });
  const funder = createWalletClient({ chain, transport, account: privateKeyToAccount(submitterKey) });
  const account = await toSimpleSmartAccount({
    client,
    owner: privateKeyToAccount(generatePrivateKey()),
    entryPoint: { address, version },
  });

  return {
    address: account.address,
    client,
    funder,

    /** An operation that makes these calls; its account is created in the same operation where it does not exist yet. */
    async draft(calls) {
      const { factory, factoryData } = await account.getFactoryArgs();
      const { maxFeePerGas, maxPriorityFeePerGas } = await client.estimateFeesPerGas();
      return {
        sender: account.address,
        nonce: await account.getNonce(),
        ...initFields(version, factory, factoryData),
        callData: await account.encodeCalls(calls),
        maxFeePerGas,
        maxPriorityFeePerGas,
        signature: await account.getStubSignature(),
      };
    },

    /** Signs the operation as it is now, and has it mined. Answers whether it succeeded, and what it cost. */
    async send(operation) {
      const signed = { ...operation, signature: await account.signUserOperation(operation) };
      if (bundlers === undefined) return submit(signed);
      // The paymaster's address passes what was sponsored to the bundlers behind it.
      const bundler = createBundlerClient({ client, transport: http(rpcUrl), pollingInterval: 100 });
      const hash = await bundler.sendUserOperation({ ...signed, entryPointAddress: address });
      return bundler.waitForUserOperationReceipt({ hash });
    },
  };

  /** What a bundler does: one transaction to the EntryPoint. */
  async function submit(signed) {
    const abi = entryPointAbis[version];
    const packed = version === '0.6' ? signed : toPackedUserOperation(signed);
    const { request } = await client.simulateContract({
      account: funder.account,
      address,
      abi,
      functionName: 'handleOps',
      args: [[packed], funder.account.address],
    });
    const receipt = await client.waitForTransactionReceipt({ hash: await funder.writeContract(request) });
    const [event] = parseEventLogs({ abi, logs: receipt.logs, eventName: 'UserOperationEvent' });
    return event.args;
  }
}

function initFields(version, factory, factoryData) {
  if (version === '0.6')
    return {
      initCode: factory === undefined ? '0x' : concat([factory, factoryData]),
      paymasterAndData: '0x',
    };
  return factory === undefined ? {} : { factory, factoryData };
}
