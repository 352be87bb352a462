import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { aLimitConfig } from '../build/configs.js';
import { handleOps } from '../chain/support/handle-ops.js';
import { buildUserOp } from '../chain/support/user-op.js';
import { startService, stores, type Service } from './support/service.js';
import { aDeployedAccount, ask, explain, increment, usedOf } from './support/wallet.js';

// Two paymasters of one contract promise the same nonce of the attacker's account. His own, dear one is mined: what it cost was
// charged to the neighbour's limit too, above what the neighbour had promised.

const gwei = 10n ** 9n;
const versions = ['1.1.0', 'singleton-0.7', 'verifying-0.7'] as const;
const cases = stores.flatMap((store) => versions.map((version) => ({ store, version })));
const sponsored = { mode: 'SPONSORED' };

describe.each(cases)('$version on $store', ({ store, version }) => {
  let service: Service;
  let victim: { readonly url: string };
  let attacker: { readonly url: string };
  beforeAll(async () => {
    service = await startService(store, { version });
    const limit = (policyId: string, threshold: string) =>
      aLimitConfig({ policyId, thresholdType: 'NATIVE_ASSET', threshold });
    victim = await service.paymaster('victim', { limits: [limit('of-victim', '0.02')] });
    attacker = await service.paymaster('attacker', { limits: [limit('of-attacker', '1')] });
  }, 120_000);
  afterAll(() => service.stop());

  test('the limit of the neighbour is charged nothing, and its users go on', async () => {
    const { devChain } = service;
    const account = await aDeployedAccount(devChain, version);
    const at = (maxFeePerGas: bigint) =>
      buildUserOp(account, [increment(devChain)], { maxFeePerGas, maxPriorityFeePerGas: gwei });
    // Dear: what it costs at most is more than the whole limit of the neighbour.
    const dear = await ask(attacker.url, await at(40n * gwei), sponsored, account);
    expect([dear.reason, (await ask(victim.url, await at(2n * gwei), sponsored)).reason]).toEqual([
      undefined,
      undefined,
    ]);
    if (dear.signed === undefined) throw new Error('nothing was signed');
    const { entryPointVersion } = devChain.profile(version);
    const { events } = await handleOps(devChain, entryPointVersion, [dear.signed]);
    await service.settled();

    const next = await at(2n * gwei);
    expect(usedOf(await explain(victim.url, next, sponsored))).toBe(0);
    const cost = Number(events[0]?.actualGasCost ?? 0n) / 1e18;
    expect(Math.abs(usedOf(await explain(attacker.url, next, sponsored)) - cost)).toBeLessThan(1e-9);
    expect((await ask(victim.url, next, sponsored)).reason).toBeUndefined();
  });
});
