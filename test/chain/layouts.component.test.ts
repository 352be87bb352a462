import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import { layouts } from '../../core/paymaster/layouts.js';
import { parseAddress, type Address } from '../../core/units/address.js';
import { bytesToHex } from '../../core/units/hex.js';
import { encodeWith, buildAccount, type Call, type TestAccount } from './support/account.js';
import { balanceOf } from './support/balances.js';
import { profileNames, startDevChain, type DevChain } from './support/dev-chain.js';
import { handleOp } from './support/handle-ops.js';
import { buildPermissionlessAccount } from './support/permissionless-account.js';
import { deployOpenZeppelin, openZeppelinNames } from './support/open-zeppelin.js';
import { buildTerms, buildUserOp, sponsorUserOp, type TestProfile } from './support/user-op.js';

const counter = new Interface([
  'function increment()',
  'function counts(address account) view returns (uint256)',
]);
const builders = { ethers: buildAccount, permissionless: buildPermissionlessAccount } as const;

let devChain: DevChain;
let openZeppelin: ReadonlyMap<string, TestProfile>;
beforeAll(async () => {
  devChain = await startDevChain();
  openZeppelin = await deployOpenZeppelin(devChain);
});
afterAll(() => devChain.stop());

function incrementCall(): Call {
  return { to: devChain.deployments.sponsoredContract.address, data: encodeWith(counter, 'increment', []) };
}

async function countOf(account: TestAccount): Promise<bigint> {
  const data = encodeWith(counter, 'counts', [account.address]);
  return BigInt(await devChain.chain.call({ to: devChain.deployments.sponsoredContract.address, data }));
}

describe.each([...profileNames, ...openZeppelinNames])('profile %s', (version) => {
  const profileOf = () => openZeppelin.get(version) ?? devChain.profile(version);
  // permissionless has no account for EntryPoint 0.9.
  const libraries = version.includes('0.9') ? (['ethers'] as const) : (['ethers', 'permissionless'] as const);

  test.each(libraries)(
    'operations built by %s are mined: the first creates the account, then a second one, then a batch',
    async (library) => {
      const profile = profileOf();
      const account = await builders[library](devChain, profile.entryPointVersion);
      const deposit = () => balanceOf(devChain, profile.entryPoint, profile.sponsorship);

      for (const [calls, total] of [
        [[incrementCall()], 1n],
        [[incrementCall()], 2n],
        [[incrementCall(), incrementCall(), incrementCall()], 5n],
      ] as const) {
        const op = await buildUserOp(account, calls);
        const before = await deposit();
        const { event } = await handleOp(
          devChain,
          profile.entryPointVersion,
          await sponsorUserOp(devChain, profile, account, op),
        );
        expect(event).toMatchObject({ success: true, sender: account.address, nonce: op.nonce });
        expect(event.paymaster).toBe(profile.sponsorship.toLowerCase());
        expect(before - (await deposit())).toBe(event.actualGasCost);
        expect(event.actualGasCost).toBeGreaterThan(0n);
        expect(await countOf(account)).toBe(total);
      }
    },
  );

  test("our hash equals the contract's own getHash, or our domain its own, for an account that exists and one that does not", async () => {
    const profile = profileOf();
    const { sponsorship } = layouts[profile.layout];
    const account = await buildAccount(devChain, profile.entryPointVersion);
    const terms = await buildTerms(devChain, profile);
    const first = await buildUserOp(account, [incrementCall()]);
    for (const op of [first, { ...first, initCode: '0x' as const, nonce: (7n << 64n) + 5n }]) {
      const asked = sponsorship.domainCall?.(terms);
      const data = asked?.data ?? sponsorship.getHashCall!(op, terms);
      const answer = await devChain.chain.call({ to: profile.sponsorship, data });
      if (asked === undefined) expect(bytesToHex(sponsorship.hash(op, terms))).toBe(answer);
      else expect(asked.isSame(answer)).toBe(true);
    }
  });

  test('the contract knows our signer and nobody else', async () => {
    const profile = profileOf();
    const { sponsorship } = layouts[profile.layout];
    const ask = async (signer: Address) => {
      const { data, isAuthorised } = sponsorship.signerCall(signer);
      return isAuthorised(await devChain.chain.call({ to: profile.sponsorship, data }));
    };
    expect(await ask(parseAddress(devChain.sponsorSigner.address))).toBe(true);
    expect(await ask(devChain.deployments.treasury)).toBe(false);
  });
});
