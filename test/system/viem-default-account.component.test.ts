import { beforeAll, expect, test } from '@jest/globals';
import {
  createPublicClient,
  createWalletClient,
  encodeFunctionData,
  http,
  numberToHex,
  parseAbi,
  type Address,
  type Hex,
} from 'viem';
import {
  entryPoint09Abi,
  formatUserOperationRequest,
  toPackedUserOperation,
  toSimple7702SmartAccount,
  type UserOperation,
} from 'viem/account-abstraction';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { foundry } from 'viem/chains';
import type { Connection } from '../../standalone/connection.js';
import { devAccounts } from '../../standalone/dev-chain/dev-accounts.js';
import { until } from '../support/until.js';
import { dashboard, rpc } from './support/client.js';
import { createOrganisation } from './support/shared-standalone.js';

// The account that viem makes on EntryPoint 0.9 when nobody tells it more, on the chain of `make run`.

let connection: Required<Connection>;
beforeAll(async () => {
  connection = await createOrganisation('viem');
});

const counter = parseAbi(['function increment()', 'function counts(address) view returns (uint256)']);

test("viem's default account on EntryPoint 0.9 is sponsored, delegates and acts in one operation", async () => {
  const { chainRpcUrl, dashboardUrl, chainId, sponsoredContract } = connection;
  const made = await dashboard(connection, 'POST', '/paymaster', {
    body: { name: 'viem', type: 'HYBRID', chainId, version: 'verifying-0.9' },
  });
  const { apiKey } = made.body.data as { readonly apiKey: string };
  const client = createPublicClient({ chain: foundry, transport: http(chainRpcUrl) });
  const owner = privateKeyToAccount(generatePrivateKey());
  const account = await toSimple7702SmartAccount({ client, owner, entryPoint: '0.9' });
  const to = sponsoredContract?.address as Address;
  const { address } = account.authorization;
  const authorization = await owner.signAuthorization({ address, chainId: foundry.id, nonce: 0 });
  const asked: UserOperation<'0.9'> = {
    sender: account.address,
    nonce: 0n,
    factory: '0x7702',
    factoryData: '0x',
    callData: await account.encodeCalls([
      { to, data: encodeFunctionData({ abi: counter, functionName: 'increment' }) },
    ]),
    callGasLimit: 0n,
    verificationGasLimit: 0n,
    preVerificationGas: 0n,
    maxFeePerGas: 2_000_000_000n,
    maxPriorityFeePerGas: 1_000_000_000n,
    signature: await account.getStubSignature(),
    authorization,
  };
  const {
    callGasLimit: _,
    verificationGasLimit: __,
    preVerificationGas: ___,
    ...sent
  } = formatUserOperationRequest(asked);
  const { result, error } = await rpc(`${dashboardUrl}/api/v1/${chainId}/${apiKey}`, 'pm_getPaymasterData', [
    sent,
    account.entryPoint.address,
    numberToHex(foundry.id),
    { calculateGasLimits: true },
  ]);
  expect(error).toBeUndefined();
  const field = (name: string): Hex => String(result?.[name]) as Hex;
  const unsigned = {
    ...asked,
    callGasLimit: BigInt(field('callGasLimit')),
    verificationGasLimit: BigInt(field('verificationGasLimit')),
    preVerificationGas: BigInt(field('preVerificationGas')),
    paymaster: field('paymaster'),
    paymasterData: field('paymasterData'),
    paymasterVerificationGasLimit: BigInt(field('paymasterVerificationGasLimit')),
    paymasterPostOpGasLimit: BigInt(field('paymasterPostOpGasLimit')),
  };
  const op = { ...unsigned, signature: await account.signUserOperation(unsigned) };
  const bundler = createWalletClient({
    account: privateKeyToAccount(devAccounts.deployer.privateKey),
    chain: foundry,
    transport: http(chainRpcUrl),
  });
  const hash = await bundler.sendTransaction({
    to: account.entryPoint.address,
    data: encodeFunctionData({
      abi: entryPoint09Abi,
      functionName: 'handleOps',
      args: [[toPackedUserOperation(op)], bundler.account.address],
    }),
    authorizationList: [authorization],
  });
  const receipt = await client.waitForTransactionReceipt({ hash });
  expect(receipt).toMatchObject({ status: 'success' });
  // The chain shows a receipt before its newest state.
  await until(
    'its block is the newest',
    async () => (await client.getBlockNumber({ cacheTime: 0 })) >= receipt.blockNumber,
  );
  const counted = await client.readContract({
    address: to,
    abi: counter,
    functionName: 'counts',
    args: [account.address],
  });
  expect(counted).toBe(1n);
});
