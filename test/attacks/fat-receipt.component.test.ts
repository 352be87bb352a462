import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { decodeUserOperationEvent } from '../../core/entry-point/user-operation-event.js';
import { parseAddress } from '../../core/units/address.js';
import { gweiCeil } from '../../core/units/wei.js';
import { devAccounts } from '../../standalone/dev-chain/dev-accounts.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { encodeHandleOps, handleOp } from '../chain/support/handle-ops.js';
import { approval, mint, tokenProfiles } from '../chain/support/tokens.js';
import { sharedPostgres, type SharedPostgres } from '../support/postgres.js';
import { until } from '../support/until.js';
import { followDevChain, type FollowedDevChain, type Promised } from './support/followed-dev-chain.js';
import { onOneProcess } from './support/stores.js';
import { sendAs } from '../chain/support/send-as.js';
import { aDeployedAccount } from './support/wallet.js';

// Anyone may mine our operation in a transaction of any shape: here behind 110,000 empty logs, so that no node's receipt of it can be
// read. The chain must go on being settled, and the operation must count for what it was.

let devChain: DevChain;
let it: FollowedDevChain;
let postgres: SharedPostgres | undefined;
beforeAll(async () => {
  devChain = await startDevChain();
  await devChain.chain.request('anvil_setBlockGasLimit', ['0x5f5e100']);
  await devChain.chain.request('anvil_setCode', [emitter, emitterCode]);
  await devChain.chain.request('anvil_setCode', [receiver, `0x${emptyLogs}00`]);
});
afterAll(() => devChain.stop());
afterEach(() => it.stop());

const emptyLogs = '6201adb05b60006000a0600190038060045750';
/** Emits 110,000 empty logs, then calls the address in the first word with the rest of its call data. */
const emitter = parseAddress(`0x${'fa'.repeat(20)}`);
const emitterCode = `0x${emptyLogs}602036038060206000376000600082600060006000355af115603057005b60006000fd`;
/** Emits them when it is paid for a bundle. */
const receiver = parseAddress(`0x${'fb'.repeat(20)}`);

/** Through a contract, where the EntryPoint takes bundles from contracts. Resolves with the operation's actual cost in gwei. */
async function minedBehindLogs({ signed }: Promised): Promise<number> {
  const { chain, deployments } = devChain;
  const { entryPointVersion: version } = it.profile;
  const entryPoint = deployments.entryPoints[version];
  const { number } = (await chain.block('latest'))!;
  const isRelayed = version === '0.6' || version === '0.7';
  const target = entryPoint.slice(2).toLowerCase().padStart(64, '0');
  const bundle = isRelayed
    ? { to: emitter, data: `0x${target}${encodeHandleOps(version, [signed]).slice(2)}` }
    : { to: entryPoint, data: encodeHandleOps(version, [signed], receiver) };
  await chain.request('eth_sendTransaction', [
    { from: devAccounts.deployer.address, ...bundle, gas: '0x4c4b400' },
  ]);
  await until('the bundle is mined', async () => (await chain.block('latest'))!.number > number);
  const logs = await chain.logs({ fromBlock: number + 1, toBlock: number + 1, address: entryPoint });
  const [event] = logs.flatMap((log) => decodeUserOperationEvent(log) ?? []);
  if (event === undefined) throw new Error('the bundle holds no operation');
  // No receipt of it can be read.
  await expect(chain.request('eth_getTransactionReceipt', [logs[0]!.transactionHash])).rejects.toThrow(
    'an answer above',
  );
  return gweiCeil(event.actualGasCost);
}

describe.each(onOneProcess)('on %s', (store) => {
  beforeAll(async () => {
    postgres = store === 'the embedded store' ? undefined : await sharedPostgres();
  });
  afterAll(() => postgres?.stop());

  describe.each(tokenProfiles)('profile %s', (version) => {
    beforeEach(async () => {
      it = await followDevChain(devChain, version, postgres);
      await it.settle();
    });

    test('a token operation that paid is not a loss, and the chain is settled further', async () => {
      const token = devChain.deployments.feeToken.address;
      const account = await aDeployedAccount(devChain, version);
      await mint(devChain, token, account.address, 10n ** 12n);
      await sendAs(devChain, account.address, approval(token, it.profile, 10n ** 12n));
      const paid = await it.promiseTokens(account, await it.operation(account));
      await minedBehindLogs(paid!);
      expect(await it.settle()).toMatchObject({ settled: 1, unpaid: 0, unattributed: 0 });
      expect(await it.losses(account)).toEqual([0, 0]);

      const next = await it.newAccount();
      const sponsored = await it.sponsor(next, await it.operation(next));
      const { event } = await handleOp(devChain, it.profile.entryPointVersion, sponsored!.signed);
      expect(await it.settle()).toMatchObject({ settled: 1, unattributed: 0 });
      expect(await it.used()).toEqual([1, gweiCeil(event.actualGasCost)]);
    });
  });

  // Where the contract collects after the call and undoes a call that does not pay, nothing is mined unpaid.
  describe.each(['singleton-0.7', 'singleton-0.8'])('profile %s', (version) => {
    beforeEach(async () => {
      it = await followDevChain(devChain, version, postgres);
      await it.settle();
    });

    test('a token operation that paid nothing is a loss', async () => {
      const account = await it.newAccount();
      const attack = await it.promiseTokens(account, await it.operation(account));
      const cost = await minedBehindLogs(attack!);
      expect(await it.settle()).toMatchObject({ settled: 1, unpaid: 1, unattributed: 0 });
      expect(await it.losses(account)).toEqual([cost, cost]);
      expect(await it.live()).toBe(0);
    });

    test('a sponsorship counts what it cost, also when another one was promised for its nonce', async () => {
      const account = await it.newAccount();
      const sponsored = await it.sponsor(account, await it.operation(account));
      await it.sponsor(account, await it.operation(account, { callGasLimit: 60_000n }));
      const cost = await minedBehindLogs(sponsored!);
      expect(await it.settle()).toMatchObject({ settled: 1, unpaid: 0, unattributed: 0 });
      expect(await it.used()).toEqual([1, cost]);
    });
  });
});
