import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { aLimitConfig } from '../build/configs.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { handleOps } from '../chain/support/handle-ops.js';
import { buildUserOp } from '../chain/support/user-op.js';
import { startService, type Service } from './support/service.js';
import { onReplicas } from './support/stores.js';
import { aDeployedAccount, ask, explain, increment, usedOf } from './support/wallet.js';

// Two paymasters of one contract promise the same nonce of the attacker's account. His own, expensive promise is mined: its cost
// was also charged to the neighbour's limit, above what the neighbour had promised.

const gwei = 10n ** 9n;
const versions = ['1.1.0', 'singleton-0.7', 'verifying-0.7'] as const;
const sponsored = { mode: 'SPONSORED' };

let devChain: DevChain;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());

describe.each(onReplicas)('on %s', (store) => {
  let service: Service;
  beforeAll(async () => {
    service = await startService(store, { devChain, versions });
  });
  afterAll(() => service.stop());

  describe.each(versions)('%s', (version) => {
    let victim: { readonly url: string };
    let attacker: { readonly url: string };
    beforeAll(async () => {
      const paymaster = (of: string, threshold: string) => {
        const limit = aLimitConfig({
          policyId: `of-${of}-${version}`,
          thresholdType: 'NATIVE_ASSET',
          threshold,
        });
        return service.paymaster(of, { paymasterId: `${of}-${version}`, version, limits: [limit] });
      };
      victim = await paymaster('victim', '0.02');
      attacker = await paymaster('attacker', '1');
    });

    test('the limit of the neighbour is charged nothing, and its users go on', async () => {
      const account = await aDeployedAccount(devChain, version);
      const at = (maxFeePerGas: bigint) =>
        buildUserOp(account, [increment(devChain)], { maxFeePerGas, maxPriorityFeePerGas: gwei });
      // Expensive: its maximum cost exceeds the whole limit of the neighbour.
      const dear = await ask(attacker.url, await at(40n * gwei), sponsored, account);
      expect([dear.reason, (await ask(victim.url, await at(2n * gwei), sponsored)).reason]).toEqual([
        undefined,
        undefined,
      ]);
      if (dear.signed === undefined) throw new Error('nothing was signed');
      const { entryPointVersion } = devChain.profile(version);
      const { events } = await handleOps(devChain, entryPointVersion, [dear.signed]);
      await service.settled(0, version);

      const next = await at(2n * gwei);
      expect(usedOf(await explain(victim.url, next, sponsored))).toBe(0);
      const cost = Number(events[0]?.actualGasCost ?? 0n) / 1e18;
      expect(Math.abs(usedOf(await explain(attacker.url, next, sponsored)) - cost)).toBeLessThan(1e-9);
      expect((await ask(victim.url, next, sponsored)).reason).toBeUndefined();
    });
  });
});
