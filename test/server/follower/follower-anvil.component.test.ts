import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import { createSqliteUsageStore } from '../../../adapters/store/sqlite/usage.js';
import { silentLogger } from '../../../core/log.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import type { ReserveRequest } from '../../../core/usage/reserve-request.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import { toAddressKey } from '../../../core/units/address.js';
import { systemClock, type EpochMs, type EpochSeconds } from '../../../core/units/time.js';
import { gweiCeil, gweiFloor } from '../../../core/units/wei.js';
import { always } from '../../../core/usage/window.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';
import { ChainFollower } from '../../../server/follower/chain-follower.js';
import { buildAccount, encodeWith } from '../../chain/support/account.js';
import { balanceOf, sponsorBalance } from '../../chain/support/balances.js';
import { startDevChain, type DevChain } from '../../chain/support/dev-chain.js';
import { handleOp } from '../../chain/support/handle-ops.js';
import { buildUserOp, sponsorUserOp } from '../../chain/support/user-op.js';
import { aDigest } from '../../conformance/usage-requests.js';
import { aDirectory } from '../../adapters/usage/sqlite-usage.js';
import { aChainConfig } from './followed.js';

const counter = new Interface(['function increment()']);
const spend = { counter: 'spend', unit: 'NATIVE_ASSET' } as const;
const versions = ['1.1.0', '2.0.0', 'singleton-0.8', 'verifying-0.7', 'verifying-0.9', 'hybrid-0.9'] as const;

let devChain: DevChain;
let usage: UsageStore;
let directory: ReturnType<typeof aDirectory>;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());
beforeEach(() => {
  directory = aDirectory();
  usage = createSqliteUsageStore({
    path: `${directory.path}/usage.db`,
    clock: systemClock,
    log: silentLogger,
    durability: 'process',
  });
});
afterEach(async () => {
  await usage.stop();
  directory.remove();
});

function profileOf(version: string) {
  const profile = devChain.profile(version);
  const funding = toAddressKey(devChain.deployments.defaultFunding);
  const layout = layouts[profile.layout];
  const contract = toAddressKey(profile.sponsorship);
  const wallet = layout.sponsorship.fundingBalanceCall === undefined ? undefined : funding;
  return { profile, layout, contract, wallet };
}

function followerOf(version: string): ChainFollower {
  const { profile, contract, wallet } = profileOf(version);
  const { layout, entryPoint, sponsorship } = profile;
  const options = { priceMarkup: 1_000_000, unaccountedGas: 50_000 };
  const config = aChainConfig({
    chainId: devChain.chainId,
    confirmations: 0,
    profiles: [{ version, layout, entryPoint, sponsorship, signerFile: 'dev', options }],
  });
  return new ChainFollower({
    usage,
    chainId: devChain.chainId,
    current: () => ({ config, chain: devChain.chain }),
    platformAccounts: () => (wallet === undefined ? [] : [{ contract, fundingAddress: wallet }]),
    clock: systemClock,
    log: silentLogger,
  });
}

async function aReservation(
  version: string,
  op: FinalUserOperation,
  expirySeconds = 3_600,
): Promise<ReserveRequest> {
  const { profile, layout, contract, wallet } = profileOf(version);
  const unaccountedGas = profile.options.unaccountedGas ?? 50_000;
  const need = layout.sponsorship.need(op, { priceMarkup: 1_000_000, unaccountedGas });
  const maxCost = gweiCeil(need.entryPoint);
  return {
    key: {
      chainId: devChain.chainId,
      paymasterId: 'pm-1',
      entryPoint: toAddressKey(profile.entryPoint),
      sender: op.sender,
      nonce: op.nonce,
    },
    fences: [],
    promise: {
      digest: aDigest(1),
      mode: 'SPONSORED',
      contract,
      ...(wallet === undefined ? {} : { fundingAddress: wallet }),
      prefundWei: need.entryPoint,
      validUntil: ((await devChain.time()) + expirySeconds) as EpochSeconds,
    },
    bars: [],
    limits: [{ ...spend, window: always, threshold: 1e12, cost: maxCost, enforce: true }],
    holds: [],
    accounts: [
      { contract, need: maxCost },
      ...(wallet === undefined || need.funding === undefined
        ? []
        : [{ contract, fundingAddress: wallet, need: gweiCeil(need.funding) }]),
    ],
    depositMaxAgeMs: 60_000,
  };
}

describe.each(versions)('profile %s', (version) => {
  test('an operation that the EntryPoint mined settles at its cost, and balances match the chain', async () => {
    const { profile, contract, wallet } = profileOf(version);
    const follower = followerOf(version);
    await follower.round();
    const account = await buildAccount(devChain, profile.entryPointVersion);
    const call = {
      to: devChain.deployments.sponsoredContract.address,
      data: encodeWith(counter, 'increment', []),
    };
    const op = await buildUserOp(account, [call]);
    const request = await aReservation(version, op);
    expect(await usage.reserve(request)).toEqual({ outcome: 'reserved' });

    const { event } = await handleOp(
      devChain,
      profile.entryPointVersion,
      await sponsorUserOp(devChain, profile, account, op),
    );
    expect(await follower.round()).toMatchObject({ settled: 1, released: 0 });
    const other = { ...request, key: { ...request.key, nonce: 1n << 128n } };
    const { limits, accounts } = await usage.peek(other);
    expect(limits).toEqual([{ used: gweiCeil(event.actualGasCost), reserved: 0 }]);
    const deposit = await balanceOf(devChain, profile.entryPoint, profile.sponsorship);
    const balances = [
      deposit,
      ...(wallet === undefined ? [] : [await sponsorBalance(devChain, profile.sponsorship, wallet)]),
    ];
    expect(accounts.map(({ balance }) => balance)).toEqual(balances.map(gweiFloor));
    expect(accounts.map(({ reserved }) => reserved)).toEqual(balances.map(() => 0));
    expect(accounts[0]).toMatchObject({ contract });
  });
});

test('on an idle anvil an operation that is never mined is released some time after its expiry', async () => {
  const version = '1.1.0';
  const follower = followerOf(version);
  await follower.round();
  const account = await buildAccount(devChain, '0.6');
  const request = await aReservation(version, await buildUserOp(account, []), 300);
  expect(await usage.reserve(request)).toEqual({ outcome: 'reserved' });
  await follower.round();
  expect(await usage.reservations(devChain.chainId)).toHaveLength(1);
  await devChain.chain.request('evm_increaseTime', [400]);
  // The store's clock is not the chain's: nothing is due before the wall clock has passed the expiry too.
  const late = new ChainFollower({
    usage,
    chainId: devChain.chainId,
    current: () => ({
      config: aChainConfig({ chainId: devChain.chainId, confirmations: 0, profiles: [] }),
      chain: devChain.chain,
    }),
    platformAccounts: () => [],
    clock: { now: () => (Date.now() + 400_000) as EpochMs },
    log: silentLogger,
  });
  expect(await late.round()).toMatchObject({ settled: 0, released: 1 });
  expect(await usage.reservations(devChain.chainId)).toEqual([]);
});

test('blocks that anvil takes back and mines anew are followed', async () => {
  const version = '1.1.0';
  const follower = followerOf(version);
  const snapshot = await devChain.chain.request('evm_snapshot', []);
  await devChain.chain.request('anvil_mine', ['0x3']);
  await follower.round();
  await devChain.chain.request('evm_revert', [snapshot]);
  await devChain.chain.request('evm_increaseTime', [7]);
  await devChain.chain.request('anvil_mine', ['0x5']);
  while (!(await follower.round()).isComplete);
  const head = await devChain.chain.block('latest');
  expect(await usage.cursor(devChain.chainId)).toEqual({
    blockNumber: head?.number,
    blockHash: head?.hash,
    timestamp: head?.timestamp,
  });
});
