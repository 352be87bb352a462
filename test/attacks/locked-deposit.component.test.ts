import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { AbiCoder, keccak256 } from 'ethers';
import { addressOf, aLimitConfig } from '../build/configs.js';
import { toAddressKey } from '../../core/units/address.js';
import { buildAccount } from '../chain/support/account.js';
import { handleOps } from '../chain/support/handle-ops.js';
import { buildUserOp } from '../chain/support/user-op.js';
import { unlessUnavailable } from '../../core/errors.js';
import { until } from '../support/until.js';
import { startService, type Service } from './support/service.js';
import { onReplicas } from './support/stores.js';
import { aDeployedAccount, ask, increment } from './support/wallet.js';

// An organisation requests promises that nobody mines, at no cost, until the whole of a shared deposit is promised.

const version = 'singleton-0.7';
const sponsored = { mode: 'SPONSORED', expiryDuration: 60 };
/** A tenth of a coin: enough for some 37 operations. */
const deposit = 10n ** 17n;

describe.each(onReplicas)('on %s', (store) => {
  let service: Service;
  let attacker: { readonly url: string };
  let neighbour: { readonly url: string };
  beforeAll(async () => {
    service = await startService(store, { versions: [version] });
    const limit = aLimitConfig({ thresholdType: 'COUNT', threshold: '1000' });
    attacker = await service.paymaster('attacker', { limits: [limit] });
    neighbour = await service.paymaster('neighbour');
    const { chain, profile } = service.devChain;
    const { entryPoint, sponsorship } = profile(version);
    // `deposits` is the first state variable of every EntryPoint; its first word is the deposit.
    const slot = keccak256(AbiCoder.defaultAbiCoder().encode(['address', 'uint256'], [sponsorship, 0]));
    await chain.request('anvil_setStorageAt', [
      entryPoint,
      slot,
      `0x${deposit.toString(16).padStart(64, '0')}`,
    ]);
    await chain.request('evm_mine', []);
    await until('the deposit was read', async () => {
      const accounts = await unlessUnavailable(service.usage.accounts(service.devChain.chainId));
      return (
        accounts?.some(
          ({ contract, balance }) => contract === toAddressKey(sponsorship) && balance === 100_000_000,
        ) === true
      );
    });
  });
  afterAll(() => service.stop());

  test('an organisation can lock only its share, and only while its promises live', async () => {
    const { devChain } = service;
    const { entryPointVersion } = devChain.profile(version);
    const template = await buildUserOp(await buildAccount(devChain, entryPointVersion), [
      increment(devChain),
    ]);
    const reasons = [];
    for (let from = 1; from < 300; from += 50)
      reasons.push(
        ...(await Promise.all(
          Array.from({ length: 50 }, async (_, nth) => {
            const sender = toAddressKey(addressOf(from + nth));
            return (await ask(attacker.url, { ...template, sender }, sponsored)).reason;
          }),
        )),
      );
    const promised = reasons.filter((reason) => reason === undefined).length;
    expect(promised).toBeGreaterThan(0);
    expect(new Set(reasons.filter((reason) => reason !== undefined))).toEqual(
      new Set(['ORGANISATION_SHARE_FULL']),
    );
    const [account] = (await service.usage.accounts(devChain.chainId)).filter(({ reserved }) => reserved > 0);
    expect(account?.reserved).toBeLessThanOrEqual(25_000_000);

    // The control: another organisation of the same deposit is served and mined meanwhile.
    const honest = await aDeployedAccount(devChain, version);
    const { reason, signed } = await ask(
      neighbour.url,
      await buildUserOp(honest, [increment(devChain)]),
      sponsored,
      honest,
    );
    expect(reason).toBeUndefined();
    if (signed === undefined) throw new Error('nothing was signed');
    await handleOps(devChain, entryPointVersion, [signed]);

    // The locked amounts end with the requested window, also in the limit.
    await devChain.chain.request('evm_increaseTime', [90]);
    await devChain.chain.request('evm_mine', []);
    await service.settled();
    expect((await ask(attacker.url, template, sponsored)).reason).toBeUndefined();
  });
});
