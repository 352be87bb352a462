import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { handleOps } from '../chain/support/handle-ops.js';
import { approval, mint, transfer } from '../chain/support/tokens.js';
import { balanceOf } from '../chain/support/balances.js';
import { buildUserOp } from '../chain/support/user-op.js';
import { unlessUnavailable } from '../../core/errors.js';
import { until } from '../support/until.js';
import { startService, type Served, type Service } from './support/service.js';
import { onReplicas } from './support/stores.js';
import { sendAs } from '../chain/support/send-as.js';
import { aDeployedAccount, ask, increment, type Asked } from './support/wallet.js';

// A payment in tokens is promised, and the platform removes its profile before it is mined. Unpaid, it did not count as a loss: the
// service no longer knew how to recognise the contract's payments.

const [version, other] = ['singleton-0.7', '2.0.0'] as const;
const plenty = 10n ** 12n;

let devChain: DevChain;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());

describe.each(onReplicas)('on %s', (store) => {
  let service: Service;
  let shop: Served;
  beforeAll(async () => {
    service = await startService(store, { devChain, versions: [version, other] });
    shop = await service.paymaster('shop');
  });
  afterAll(() => service.stop());

  test('an unpaid operation is a loss and bars its account, also while its profile is gone', async () => {
    const thief = await aDeployedAccount(devChain, version);
    const token = devChain.deployments.feeToken.address;
    const inTokens = { mode: 'ERC20', tokenInfo: { feeTokenAddress: token } };
    await mint(devChain, token, thief.address, plenty);
    await sendAs(devChain, thief.address, approval(token, devChain.profile(version), plenty));
    const op = await buildUserOp(thief, [increment(devChain)]);
    const { reason, signed } = await ask(shop.url, op, inTokens, thief);
    expect(reason).toBeUndefined();
    if (signed === undefined) throw new Error('nothing was signed');

    const all = await service.changeChain((chain) => ({
      ...chain,
      profiles: chain.profiles.filter((profile) => profile.version !== version),
    }));
    await everywhere('the profile is gone', (answer) => answer.signed === undefined);
    const held = await balanceOf(devChain, token, thief.address);
    await sendAs(devChain, thief.address, transfer(token, devChain.deployments.treasury, held));
    expect((await handleOps(devChain, '0.7', [signed])).events).toHaveLength(1);
    await until('it is settled', async () => {
      const live = await unlessUnavailable(service.usage.reservations(devChain.chainId));
      return live?.every(({ key }) => key.sender !== thief.address) === true;
    });

    await service.changeChain(() => all);
    await everywhere('the profile is back', (answer) => answer.signed !== undefined);
    const next = await buildUserOp(thief, [increment(devChain)]);
    await mint(devChain, token, thief.address, plenty);
    expect((await ask(shop.url, next, inTokens, thief)).reason).toBe('SENDER_BARRED');
    // The control: an honest account pays once the profile is back.
    const honest = await aDeployedAccount(devChain, version);
    await mint(devChain, token, honest.address, plenty);
    await sendAs(devChain, honest.address, approval(token, devChain.profile(version), plenty));
    const paid = await ask(shop.url, await buildUserOp(honest, [increment(devChain)]), inTokens, honest);
    expect(paid.reason).toBeUndefined();
    if (paid.signed === undefined) throw new Error('nothing was signed');
    await handleOps(devChain, '0.7', [paid.signed]);
    expect(await balanceOf(devChain, token, honest.address)).toBeLessThan(plenty);
  });

  /** Asks every replica for sponsorships until it gives this answer. */
  async function everywhere(what: string, isSo: (answer: Asked) => boolean): Promise<void> {
    const account = await aDeployedAccount(devChain, version);
    const op = await buildUserOp(account, [increment(devChain)]);
    const sponsored = { mode: 'SPONSORED' };
    for (const replica of [0, 1, 2])
      await until(what, async () => isSo(await ask(shop.urlAt(replica), op, sponsored, account)));
  }
});
