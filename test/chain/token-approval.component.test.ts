import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import { createGasEstimator } from '../../adapters/estimator/estimator.js';
import { silentLogger } from '../../core/log.js';
import { approvalAllowance } from '../../core/paymaster/token-payment.js';
import { systemClock } from '../../core/units/time.js';
import type { GasEstimator } from '../../core/userop/estimator.js';
import { defaultLimits } from '../build/default-limits.js';
import { buildAccount, encodeWith, type Call, type TestAccount } from './support/account.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { handleOp } from './support/handle-ops.js';
import { buildPermissionlessAccount } from './support/permissionless-account.js';
import { approval, deployToken, mint } from './support/tokens.js';
import { buildUserOp, sponsorUserOp } from './support/user-op.js';

const counter = new Interface(['function burn(uint256 rounds)']);
const builders = { ethers: buildAccount, permissionless: buildPermissionlessAccount } as const;
/** The longest amount that a client approves; it is calldata. */
const unlimited = 2n ** 256n - 1n;

let devChain: DevChain;
let estimator: GasEstimator;
beforeAll(async () => {
  devChain = await startDevChain();
  estimator = createGasEstimator({
    chains: devChain.chains,
    endpoint: () => ({ rpc: { urls: [devChain.url] } }),
    clock: systemClock,
    log: silentLogger,
  });
});
afterAll(() => devChain.stop());

describe.each(['singleton-0.6', 'singleton-0.7', 'singleton-0.8'] as const)('profile %s', (version) => {
  test.each([
    { library: 'ethers', isDeployed: true, slots: 0 },
    { library: 'ethers', isDeployed: false, slots: 5 },
    { library: 'permissionless', isDeployed: true, slots: 20 },
    { library: 'permissionless', isDeployed: false, slots: 1 },
  ] as const)(
    'a first approval in front raises no limit by more than a quote allows for: $library, deployed $isDeployed, $slots slots',
    async ({ library, isDeployed, slots }) => {
      const profile = devChain.profile(version);
      const account = await builders[library](devChain, profile.entryPointVersion);
      if (isDeployed) {
        const deployment = await sponsorUserOp(devChain, profile, account, await buildUserOp(account, []));
        await handleOp(devChain, profile.entryPointVersion, deployment);
      }
      const token = await deployToken(devChain, 6);
      await mint(devChain, token, account.address, 1_000_000n);
      const calls: readonly Call[] = [
        {
          to: devChain.deployments.sponsoredContract.address,
          data: encodeWith(counter, 'burn', [slots]),
        },
      ];
      const without = await limitsOf(account, calls);
      const withIt = await limitsOf(account, [approval(token, profile, unlimited), ...calls]);
      for (const limit of ['callGasLimit', 'verificationGasLimit', 'preVerificationGas'] as const)
        expect(withIt[limit] - without[limit]).toBeLessThanOrEqual(approvalAllowance[limit]);
      // More than half of it: the allowance is not a figure that would hold whatever was measured.
      expect((withIt.callGasLimit - without.callGasLimit) * 2n).toBeGreaterThan(
        approvalAllowance.callGasLimit,
      );

      async function limitsOf(by: TestAccount, made: readonly Call[]) {
        const limits = await estimator.estimate({
          paymasterId: 'pm-1',
          chainId: devChain.chainId,
          entryPoint: profile.entryPoint,
          entryPointVersion: profile.entryPointVersion,
          op: await buildUserOp(by, made),
          paymasterAndData: undefined,
          minVerificationGasLimit: 0n,
          most: defaultLimits,
        });
        expect(limits.reverted).toBeUndefined();
        return limits;
      }
    },
  );
});
