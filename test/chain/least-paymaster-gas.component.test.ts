import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import type { PaymasterGas } from '../../core/entry-point/user-operation.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { buildAccount, encodeWith, type TestAccount } from './support/account.js';
import { profileNames, startDevChain, type DevChain } from './support/dev-chain.js';
import { handleOp, refusalOf } from './support/handle-ops.js';
import { deployOpenZeppelin, openZeppelinNames } from './support/open-zeppelin.js';
import { revertTo } from './support/revert-to.js';
import { buildTerms, buildUserOp, sponsorUserOp, type TestProfile } from './support/user-op.js';

// The least limits that may be signed for a paymaster are those that it works with, and little more.

let devChain: DevChain;
let others: ReadonlyMap<string, TestProfile>;
beforeAll(async () => {
  devChain = await startDevChain();
  others = await deployOpenZeppelin(devChain);
});
afterAll(() => devChain.stop());

const names = [...profileNames.filter((name) => !/^1|0\.6/.test(name)), ...openZeppelinNames];
const abi = new Interface(['function increment()']);

describe.each(names)('profile %s', (name) => {
  test('works with the least limits, and not with a tenth less', async () => {
    const profile = others.get(name) ?? devChain.profile(name);
    const account = await buildAccount(devChain, profile.entryPointVersion);
    const { options } = await buildTerms(devChain, profile);
    const least = layouts[profile.layout].sponsorship.minGas(options);
    const { paymasterVerificationGasLimit: validation } = least;
    expect(await isMined(profile, account, least)).toBe(true);
    const less = (validation * 9n) / 10n;
    expect(await isMined(profile, account, { ...least, paymasterVerificationGasLimit: less })).toBe(false);
  });
});

/** Whether the first operation of an account is mined and succeeds. Leaves the chain as it was. */
async function isMined(
  profile: TestProfile,
  account: TestAccount,
  paymasterGas: PaymasterGas,
): Promise<boolean> {
  const snapshot = await devChain.chain.request('evm_snapshot', []);
  const to = devChain.deployments.sponsoredContract.address;
  const op = await buildUserOp(account, [{ to, data: encodeWith(abi, 'increment', []) }]);
  const { options } = await buildTerms(devChain, profile);
  const signed = await sponsorUserOp(devChain, profile, account, op, {
    options: { ...options, paymasterGas },
  });
  const version = profile.entryPointVersion;
  const isAccepted = (await refusalOf(devChain, version, [signed])) === 'accepted';
  const isSuccess = isAccepted && (await handleOp(devChain, version, signed)).event.success;
  await revertTo(devChain.chain, snapshot);
  return isSuccess;
}
