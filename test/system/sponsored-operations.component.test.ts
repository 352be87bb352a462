import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import type { Connection } from '../../standalone/connection.js';
import type { Hex } from '../../core/units/hex.js';
import { formatDecimal } from '../../core/units/wei.js';
import { buildAccount, encodeWith, type Call } from '../chain/support/account.js';
import { balanceOf, sponsorBalance } from '../chain/support/balances.js';
import { profileNames, type DevChain } from '../chain/support/dev-chain.js';
import { handleOp, refusalOf } from '../chain/support/handle-ops.js';
import { buildPermissionlessAccount } from '../chain/support/permissionless-account.js';
import { buildUserOp, signByAccount } from '../chain/support/user-op.js';
import { dashboard, rpc, rpcUrlFor, toWire, type RpcAnswer } from './support/client.js';
import { attachDevChain } from './support/dev-chain.js';
import { createOrganisation } from './support/shared-standalone.js';
import { until } from '../support/until.js';

// The main job over HTTP: a DApp owner sets a paymaster up through the dashboard API, a wallet asks for a sponsorship, the
// real EntryPoint mines the operation.

const counter = new Interface(['function increment()', 'function burn(uint256 rounds)']);
const builders = { ethers: buildAccount, permissionless: buildPermissionlessAccount } as const;
const versions = [...profileNames, '1.0.0'] as const;

let connection: Required<Connection>;
let devChain: DevChain;
beforeAll(async () => {
  connection = await createOrganisation('operations');
  const { chainRpcUrl, chainId } = connection;
  devChain = attachDevChain(chainRpcUrl, chainId);
});
afterAll(() => devChain?.stop());

describe.each(versions)('a paymaster of version %s made through the dashboard API', (version) => {
  let apiKey: string;

  test('is registered with a contract and sponsors at once', async () => {
    const created = await dashboard(connection, 'POST', '/paymaster', {
      body: { name: `dapp ${version}`, type: 'HYBRID', chainId: connection.chainId, version },
    });
    expect(created).toMatchObject({
      status: 200,
      body: { message: 'DApp registered successfully' },
      programmed: 'true',
    });
    apiKey = (created.body.data as { apiKey: string }).apiKey;
    const registered = await dashboard(connection, 'POST', '/smart-contract', {
      apiKey,
      body: {
        name: 'counter',
        address: connection.sponsoredContract.address,
        abi: devChain.deployments.sponsoredContract.abi,
        whitelistedMethods: ['increment'],
      },
    });
    expect(registered).toMatchObject({
      status: 200,
      body: { message: 'Smart contract registered successfully' },
      programmed: 'true',
    });
  });

  // permissionless has no account for EntryPoint 0.9.
  const libraries = version.endsWith('0.9') ? (['ethers'] as const) : (['ethers', 'permissionless'] as const);

  test.each(libraries)(
    'sponsors operations built by %s: account created in the first one, estimated limits, mined, charged exactly',
    async (library) => {
      const profile = devChain.profile(version);
      const account = await builders[library](devChain, profile.entryPointVersion);
      const deposit = () => balanceOf(devChain, profile.entryPoint, profile.sponsorship);

      for (const calls of [[increment()], [increment(), increment()]]) {
        const draft = await buildUserOp(account, calls);
        const {
          callGasLimit: _c,
          verificationGasLimit: _v,
          preVerificationGas: _p,
          ...partial
        } = toWire(draft);
        const answer = await sponsor(apiKey, partial);
        expect(answer).toMatchObject({ status: 200, result: { mode: 'SPONSORED', MODE: 'SPONSORED' } });
        const op = { ...draft, ...limitsOf(answer) };
        const signed = await signByAccount(account, op, answer.result?.['paymasterAndData'] as Hex);
        const before = await deposit();
        const { event } = await handleOp(devChain, profile.entryPointVersion, signed);
        expect(event.success).toBe(true);
        expect(before - (await deposit())).toBe(event.actualGasCost);
      }
    },
  );

  test('refuses a method that is not whitelisted with 0x and says why', async () => {
    const profile = devChain.profile(version);
    const account = await buildAccount(devChain, profile.entryPointVersion);
    const op = await buildUserOp(account, [
      increment(),
      { to: devChain.deployments.sponsoredContract.address, data: encodeWith(counter, 'burn', [1]) },
    ]);
    const answer = await sponsor(apiKey, toWire(op));
    expect(answer).toMatchObject({ status: 200, reason: 'METHOD_NOT_WHITELISTED' });
    expect(answer.result?.['paymasterAndData']).toBe('0x');
    expect(limitsOf(answer).callGasLimit).toBeGreaterThan(0n);
  });

  test('signs exactly what it answers: the EntryPoint refuses the data with any other gas limit', async () => {
    const profile = devChain.profile(version);
    const account = await buildAccount(devChain, profile.entryPointVersion);
    const draft = await buildUserOp(account, [increment()]);
    const answer = await sponsor(apiKey, toWire(draft));
    const op = { ...draft, ...limitsOf(answer) };
    const data = answer.result?.['paymasterAndData'] as Hex;
    expect(
      await refusalOf(devChain, profile.entryPointVersion, [await signByAccount(account, op, data)]),
    ).toBe('accepted');
    const changed = { ...op, callGasLimit: op.callGasLimit + 1n };
    expect(
      await refusalOf(devChain, profile.entryPointVersion, [await signByAccount(account, changed, data)]),
    ).toContain('AA34');
  });
});

test('a limit in native coin settles to what the operation really cost, and never lets more through', async () => {
  const created = await dashboard(connection, 'POST', '/paymaster', {
    body: { name: 'native limit', type: 'HYBRID', chainId: connection.chainId, version: '1.1.0' },
  });
  const { apiKey } = created.body.data as { apiKey: string };
  await dashboard(connection, 'POST', '/smart-contract', {
    apiKey,
    body: {
      name: 'counter',
      address: connection.sponsoredContract.address,
      abi: devChain.deployments.sponsoredContract.abi,
      whitelistedMethods: ['increment'],
    },
  });
  const profile = devChain.profile('1.1.0');
  const account = await buildAccount(devChain, profile.entryPointVersion);
  const first = await buildUserOp(account, [increment()]);
  const maximum =
    (first.callGasLimit + 3n * first.verificationGasLimit + first.preVerificationGas) * first.maxFeePerGas;
  const policy = await dashboard(connection, 'POST', '/paymaster-policy', {
    apiKey,
    body: {
      name: 'one at a time',
      policyType: 'PAYMASTER_SA_LIMIT',
      policyData: {
        type: 'PAYMASTER',
        cycleDuration: { value: 1, unit: 'day' },
        threshold: Number(formatDecimal(maximum + maximum / 2n, 18)),
        thresholdType: 'NATIVE_ASSET',
      },
    },
  });
  expect(policy).toMatchObject({ status: 200, programmed: 'true' });

  const answer = await sponsor(apiKey, toWire(first));
  expect(answer.result?.['paymasterAndData']).not.toBe('0x');
  const rival = await buildUserOp(await buildAccount(devChain, profile.entryPointVersion), [increment()]);
  expect(await sponsor(apiKey, toWire(rival))).toMatchObject({
    reason: 'LIMIT_REACHED',
    result: { paymasterAndData: '0x' },
  });

  const balance = () => sponsorBalance(devChain, profile.sponsorship, devChain.deployments.defaultFunding);
  const before = await balance();
  const signed = await signByAccount(account, first, answer.result?.['paymasterAndData'] as Hex);
  const { event } = await handleOp(devChain, profile.entryPointVersion, signed);
  expect(event.success).toBe(true);
  expect(before - (await balance())).toBeGreaterThanOrEqual(event.actualGasCost);
  // Once the follower has settled the maximum to the actual cost, the rival fits.
  await until(
    'the rival is sponsored',
    async () => (await sponsor(apiKey, toWire(rival))).result?.['paymasterAndData'] !== '0x',
  );
});

function increment(): Call {
  return { to: devChain.deployments.sponsoredContract.address, data: encodeWith(counter, 'increment', []) };
}

function sponsor(apiKey: string, userOp: Record<string, string>): Promise<RpcAnswer> {
  return rpc(rpcUrlFor(connection, apiKey), 'pm_sponsorUserOperation', [userOp, { mode: 'SPONSORED' }]);
}

function limitsOf({ result }: RpcAnswer) {
  return {
    callGasLimit: BigInt(String(result?.['callGasLimit'])),
    verificationGasLimit: BigInt(String(result?.['verificationGasLimit'])),
    preVerificationGas: BigInt(String(result?.['preVerificationGas'])),
  };
}
