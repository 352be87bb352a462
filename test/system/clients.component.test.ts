import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { JsonRpcProvider } from 'ethers';
import { toSimpleSmartAccount } from 'permissionless/accounts';
import { createPimlicoClient } from 'permissionless/clients/pimlico';
import { createPublicClient, encodeFunctionData, erc20Abi, http, parseAbi } from 'viem';
import { createBundlerClient, createPaymasterClient } from 'viem/account-abstraction';
import { foundry } from 'viem/chains';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import type { Connection } from '../../standalone/connection.js';
import { toAddressKey } from '../../core/units/address.js';
import { buildAccount } from '../chain/support/account.js';
import { balanceOf } from '../chain/support/balances.js';
import type { DevChain } from '../chain/support/dev-chain.js';
import { handleOp } from '../chain/support/handle-ops.js';
import { approval, mint, tokenContract } from '../chain/support/tokens.js';
import { buildUserOp, signByAccount } from '../chain/support/user-op.js';
import { bundlerStandIn } from './support/bundler.js';
import { dashboard, rpcUrlFor, toWire } from './support/client.js';
import { attachDevChain } from './support/dev-chain.js';
import { createOrganisation } from './support/shared-standalone.js';

// Client libraries as they are published, against the running server, on the real EntryPoints.

const versions = ['1.1.0', '2.0.0', 'singleton-0.6', 'singleton-0.7', 'singleton-0.8'] as const;
type Version = (typeof versions)[number];
const plenty = 10n ** 10n;

let connection: Required<Connection>;
let devChain: DevChain;
const urls = new Map<Version, string>();
beforeAll(async () => {
  connection = await createOrganisation('clients');
  const { chainRpcUrl, chainId } = connection;
  devChain = attachDevChain(chainRpcUrl, chainId);
  for (const version of versions) urls.set(version, await newPaymaster(version));
});
afterAll(() => devChain?.stop());

describe.each(versions)('version %s', (version) => {
  test('viem: a bundler client with a paymaster client sends sponsored operations', async () => {
    const { client, mined } = await viemClient(version);
    for (const calls of [[increment()], [increment(), increment()]]) {
      const hash = await client.sendUserOperation({ calls });
      expect(mined.get(hash)).toMatchObject({ success: true });
    }
  });

  test('viem: with a token in the context the account approves and pays in the same operation', async () => {
    const token = devChain.deployments.feeToken.address;
    const { client, mined, address } = await viemClient(version, { token });
    await mint(devChain, token, toAddressKey(address), plenty);
    const spender = tokenContract(devChain.profile(version));
    const approve = {
      to: token,
      data: encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [spender, plenty] }),
    };
    const hash = await client.sendUserOperation({ calls: [approve, increment()] });
    expect(mined.get(hash)).toMatchObject({ success: true });
    expect(await balanceOf(devChain, token, toAddressKey(address))).toBeLessThan(plenty);
  });

  test('viem: with `otherwise` in the context the sponsor pays what he allows, and the account the rest', async () => {
    const token = devChain.deployments.feeToken.address;
    const most = plenty / 2n;
    const otherwise = { mode: 'ERC20', feeTokenAddress: token, maxTokenAmount: `${most}` };
    const { client, mined, address } = await viemClient(version, { otherwise });
    await mint(devChain, token, toAddressKey(address), plenty);
    const sponsored = await client.sendUserOperation({ calls: [increment()] });
    expect(mined.get(sponsored)).toMatchObject({ success: true });
    expect(await balanceOf(devChain, token, toAddressKey(address))).toBe(plenty);
    const spender = tokenContract(devChain.profile(version));
    // The sponsor allows no call of the token.
    const approve = {
      to: token,
      data: encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [spender, most] }),
    };
    const paid = await client.sendUserOperation({ calls: [approve, increment()] });
    expect(mined.get(paid)).toMatchObject({ success: true });
    const left = await balanceOf(devChain, token, toAddressKey(address));
    expect(left).toBeLessThan(plenty);
    expect(left).toBeGreaterThanOrEqual(plenty - most);
  });

  test('viem: an account without tokens is told so by the error', async () => {
    const { client } = await viemClient(version, { token: devChain.deployments.feeToken.address });
    await expect(client.sendUserOperation({ calls: [increment()] })).rejects.toThrow(/too few tokens/);
  });

  test('permissionless: sponsorUserOperation takes limits and data from our answer', async () => {
    const profile = devChain.profile(version);
    const account = await simpleAccount(version);
    const { transport, mined } = bundlerStandIn(devChain, profile.entryPointVersion);
    const pimlico = createPimlicoClient({
      transport: http(urlOf(version)),
      entryPoint: { address: profile.entryPoint, version: profile.entryPointVersion },
    });
    const client = createBundlerClient({
      account,
      transport,
      paymaster: {
        getPaymasterData: async (parameters) => {
          const {
            context: _context,
            chainId: _chain,
            entryPointAddress: _entryPoint,
            ...userOperation
          } = parameters;
          return pimlico.sponsorUserOperation({
            userOperation: userOperation as Parameters<
              typeof pimlico.sponsorUserOperation
            >[0]['userOperation'],
          });
        },
      },
      userOperation: { estimateFeesPerGas },
    });
    const hash = await client.sendUserOperation({ calls: [increment()] });
    expect(mined.get(hash)).toMatchObject({ success: true });
  });

  test('ethers: quote, approve what was quoted, pay, all through a JsonRpcProvider', async () => {
    const profile = devChain.profile(version);
    const token = devChain.deployments.feeToken.address;
    const provider = new JsonRpcProvider(urlOf(version), devChain.chainId, { staticNetwork: true });
    try {
      const account = await buildAccount(devChain, profile.entryPointVersion);
      await mint(devChain, token, account.address, plenty);
      const plain = await buildUserOp(account, [increment()]);
      const quotes = await provider.send('pm_getFeeQuoteOrData', [
        withoutLimits(toWire(plain)),
        { mode: 'ERC20', tokenInfo: { preferredToken: token, tokenList: [] } },
      ]);
      const { maxGasFee, decimal } = quotes.feeQuotes[0];
      const approved = BigInt(Math.ceil(maxGasFee * 10 ** decimal));
      expect(quotes.paymasterAddress).toBe(profile.token);

      const draft = await buildUserOp(account, [approval(token, profile, approved), increment()]);
      const result = await provider.send('pm_sponsorUserOperation', [
        withoutLimits(toWire(draft)),
        { mode: 'ERC20', tokenInfo: { feeTokenAddress: token } },
      ]);
      const op = {
        ...draft,
        callGasLimit: BigInt(result.callGasLimit),
        verificationGasLimit: BigInt(result.verificationGasLimit),
        preVerificationGas: BigInt(result.preVerificationGas),
      };
      const signed = await signByAccount(account, op, result.paymasterAndData);
      const { event } = await handleOp(devChain, profile.entryPointVersion, signed);
      expect(event.success).toBe(true);
      const paid = plenty - (await balanceOf(devChain, token, account.address));
      expect(paid).toBeGreaterThan(0n);
      expect(paid).toBeLessThanOrEqual(approved);
    } finally {
      provider.destroy();
    }
  });
});

async function simpleAccount(version: Version) {
  const { entryPoint: address, entryPointVersion } = devChain.profile(version);
  return toSimpleSmartAccount({
    client: createPublicClient({ chain: foundry, transport: http(devChain.url) }),
    owner: privateKeyToAccount(generatePrivateKey()),
    entryPoint: { address, version: entryPointVersion },
  });
}

async function viemClient(version: Version, paymasterContext?: object) {
  const account = await simpleAccount(version);
  const { transport, mined } = bundlerStandIn(devChain, devChain.profile(version).entryPointVersion);
  const client = createBundlerClient({
    account,
    transport,
    paymaster: createPaymasterClient({ transport: http(urlOf(version)) }),
    ...(paymasterContext === undefined ? {} : { paymasterContext }),
    userOperation: { estimateFeesPerGas },
  });
  return { client, mined, address: account.address };
}

function estimateFeesPerGas() {
  return Promise.resolve({ maxFeePerGas: 3_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n });
}

function increment() {
  const data = encodeFunctionData({ abi: parseAbi(['function increment()']) });
  return { to: devChain.deployments.sponsoredContract.address, data };
}

function withoutLimits(wire: Record<string, string>): Record<string, string> {
  const { callGasLimit: _c, verificationGasLimit: _v, preVerificationGas: _p, ...rest } = wire;
  return rest;
}

function urlOf(version: Version): string {
  const url = urls.get(version);
  if (url === undefined) throw new Error(`no paymaster of version ${version}`);
  return url;
}

async function newPaymaster(version: Version): Promise<string> {
  const created = await dashboard(connection, 'POST', '/paymaster', {
    body: { name: `clients ${version}`, type: 'HYBRID', chainId: connection.chainId, version },
  });
  const { apiKey } = created.body.data as { apiKey: string };
  const registered = await dashboard(connection, 'POST', '/smart-contract', {
    apiKey,
    body: {
      name: 'counter',
      address: connection.sponsoredContract.address,
      abi: devChain.deployments.sponsoredContract.abi,
      whitelistedMethods: ['increment'],
    },
  });
  expect(registered).toMatchObject({ status: 200, programmed: 'true' });
  return rpcUrlFor(connection, apiKey);
}
