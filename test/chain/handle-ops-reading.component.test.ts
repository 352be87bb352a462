import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { findInHandleOps } from '../../core/entry-point/handle-ops.js';
import {
  decodeUserOperationEvent,
  type UserOperationEvent,
} from '../../core/entry-point/user-operation-event.js';
import { userOpHasher } from '../../core/entry-point/user-op-hash.js';
import type { EntryPointVersion } from '../../core/entry-point/version.js';
import type { Hex } from '../../core/units/hex.js';
import { devAccounts } from '../../standalone/dev-chain/dev-accounts.js';
import { runs } from '../support/property.js';
import { succeeds } from '../support/until.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { minedReceipt } from './support/send-as.js';
import { acceptingAccount, acceptingPaymaster, anyOddBundle, oddBundleData } from './support/odd-bundles.js';

// The oracle is the canonical bytecode: whatever call data it mines an operation from, we read that operation from it, byte by byte as
// its hash shows.

let devChain: DevChain;
beforeAll(async () => {
  devChain = await startDevChain();
  const { chain, deployments, transactor } = devChain;
  for (const { address, code } of [acceptingAccount, acceptingPaymaster])
    await chain.request('anvil_setCode', [address, code]);
  const word = acceptingPaymaster.address.slice(2).padStart(64, '0');
  for (const to of Object.values(deployments.entryPoints))
    // depositTo(address)
    await transactor.send('deposit', { to, data: `0xb760faf9${word}`, value: 10n ** 18n });
});
afterAll(() => devChain.stop());

test.each<EntryPointVersion>(['0.6', '0.7', '0.8', '0.9'])(
  'what EntryPoint %s mines from odd call data is read from it',
  async (version) => {
    const entryPoint = devChain.deployments.entryPoints[version];
    const hashOf = userOpHasher({ version, entryPoint, chainId: devChain.chainId });
    const place = { account: acceptingAccount.address, paymaster: acceptingPaymaster.address };
    let [mined, wrapped] = [0, 0];
    await fc.assert(
      fc.asyncProperty(anyOddBundle, async (bundle) => {
        const data = oddBundleData(version !== '0.6', bundle, place);
        for (const event of await mine(entryPoint, data)) {
          const found = findInHandleOps(data, event);
          expect(found && hashOf(found, found.paymasterAndData)).toBe(event.userOpHash);
          mined += 1;
          if (data.includes('ffffffffffffffff')) wrapped += 1;
        }
      }),
      runs(150),
    );
    // The EntryPoint takes many of them.
    expect([mined > 80, wrapped > 60]).toEqual([true, true]);
  },
);

/** The operations of the bundle; none when the EntryPoint refuses it. */
async function mine(to: Hex, data: Hex): Promise<readonly UserOperationEvent[]> {
  const { chain } = devChain;
  const call = { from: devAccounts.deployer.address, to, data } as const;
  if (!(await succeeds(chain.call(call)))) return [];
  const hash = await chain.request('eth_sendTransaction', [{ ...call, gas: '0x4c4b40' }]);
  await minedReceipt(chain, hash);
  const { logs } = (await chain.request('eth_getTransactionReceipt', [hash])) as {
    readonly logs: readonly { readonly topics: readonly Hex[]; readonly data: Hex }[];
  };
  return logs.flatMap((log) => decodeUserOperationEvent(log) ?? []);
}
