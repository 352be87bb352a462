import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import { layouts } from '../../core/paymaster/layouts.js';
import type { SponsorshipTerms } from '../../core/paymaster/layout.js';
import { toAddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { buildAccount, encodeWith, type TestAccount } from './support/account.js';
import { profileNames, startDevChain, type DevChain } from './support/dev-chain.js';
import { handleOp, refusalOf } from './support/handle-ops.js';
import { changedOperations, type Tampering } from './support/tampering.js';
import { deployOpenZeppelin, openZeppelinNames } from './support/open-zeppelin.js';
import {
  buildTerms,
  buildUserOp,
  signByAccount,
  signSponsorship,
  sponsorUserOp,
  type TestProfile,
} from './support/user-op.js';
import { newWallet } from '../support/new-wallet.js';

const counter = new Interface(['function increment()', 'function burn(uint256 rounds)']);

let devChain: DevChain;
let openZeppelin: ReadonlyMap<string, TestProfile>;
beforeAll(async () => {
  devChain = await startDevChain();
  openZeppelin = await deployOpenZeppelin(devChain);
});
afterAll(() => devChain.stop());

const cases: readonly Tampering<SponsorshipTerms>[] = [
  { name: 'callData', op: () => ({ callData: burnCall() }) },
  ...changedOperations,
  { name: 'validUntil', terms: (terms) => ({ validUntil: terms.validUntil + 1 }) },
  { name: 'validAfter', terms: (terms) => ({ validAfter: terms.validAfter + 1 }) },
  {
    name: 'the funding wallet',
    terms: () => ({ fundingAddress: toAddressKey(devChain.deployments.treasury) }),
    layouts: /vendor|hybrid/,
  },
  {
    name: 'the markup',
    terms: () => ({ options: { priceMarkup: 1_000_001, unaccountedGas: 10_000 } }),
    layouts: /vendor-2|hybrid/,
  },
];

describe.each([...profileNames, ...openZeppelinNames])('profile %s', (version) => {
  const layoutOf = () => profileOf(version).layout;

  test('data that nobody changed is accepted', async () => {
    const { profile, account, op } = await deployedAccount(version);
    const signed = await sponsorUserOp(devChain, profile, account, op);
    expect(await refusalOf(devChain, profile.entryPointVersion, [signed])).toBe('accepted');
  });

  test('a change of any covered field is AA34, although the account signed the changed operation', async () => {
    const { profile, account, op } = await deployedAccount(version);
    const terms = await buildTerms(devChain, profile);
    const original = signSponsorship(devChain, profile, op, terms);
    const applicable = cases.filter((row) => row.layouts === undefined || row.layouts.test(layoutOf()));
    expect(applicable.length).toBeGreaterThanOrEqual(9);

    const refusals = await Promise.all(
      applicable.map(async (row) => {
        const changed = { ...op, ...row.op?.(op) };
        const data =
          row.terms === undefined ? original : retermed(profile, op, terms, row.terms(terms), original);
        const signed = await signByAccount(account, changed, row.data?.(data) ?? data);
        return [row.name, await refusalOf(devChain, profile.entryPointVersion, [signed])];
      }),
    );
    expect(refusals).toEqual(applicable.map(({ name }) => [name, 'AA34 signature error']));
  });

  test('a signature over a changed initCode is AA34', async () => {
    const profile = profileOf(version);
    const owner = newWallet();
    const account = await buildAccount(devChain, profile.entryPointVersion, owner);
    const op = await buildUserOp(account, []);
    // Same account, one trailing byte more: the factory ignores it, the sponsor has not seen it.
    const sponsored = signSponsorship(devChain, profile, op, await buildTerms(devChain, profile));
    const changed: FinalUserOperation = { ...op, initCode: `${op.initCode}00` };
    const signed = await signByAccount(account, changed, sponsored);
    expect(await refusalOf(devChain, profile.entryPointVersion, [signed])).toBe('AA34 signature error');
  });

  test('a signature by a key that the contract does not know is AA34', async () => {
    const { profile, account, op } = await deployedAccount(version);
    const stranger = newWallet();
    const data = signSponsorship(devChain, profile, op, await buildTerms(devChain, profile), stranger);
    const signed = await signByAccount(account, op, data);
    expect(await refusalOf(devChain, profile.entryPointVersion, [signed])).toBe('AA34 signature error');
  });

  test('data that has expired, or is not valid yet, is AA32', async () => {
    const { profile, account, op } = await deployedAccount(version);
    const now = await devChain.time();
    for (const window of [
      { validUntil: now - 10, validAfter: 0 },
      { validUntil: now + 200_000, validAfter: now + 100_000 },
    ]) {
      const signed = await sponsorUserOp(devChain, profile, account, op, window);
      expect(await refusalOf(devChain, profile.entryPointVersion, [signed])).toBe(
        'AA32 paymaster expired or not due',
      );
    }
  });
});

function profileOf(version: string): TestProfile {
  return openZeppelin.get(version) ?? devChain.profile(version);
}

/** An account that exists already, and its next operation. */
async function deployedAccount(
  version: string,
): Promise<{ profile: TestProfile; account: TestAccount; op: FinalUserOperation }> {
  const profile = profileOf(version);
  const account = await buildAccount(devChain, profile.entryPointVersion);
  const deployment = await sponsorUserOp(devChain, profile, account, await buildUserOp(account, []));
  const { event } = await handleOp(devChain, profile.entryPointVersion, deployment);
  expect(event.success).toBe(true);
  return { profile, account, op: await buildUserOp(account, [incrementCall()]) };
}

/** Data with other terms and the signature of the original. */
function retermed(
  profile: TestProfile,
  op: FinalUserOperation,
  terms: SponsorshipTerms,
  changes: Partial<SponsorshipTerms>,
  original: Hex,
): Hex {
  const { sponsorship } = layouts[profile.layout];
  const { signature } = sponsorship.decode(original);
  return sponsorship.encode(op, { ...terms, ...changes }, Buffer.from(signature.slice(2), 'hex'));
}

function incrementCall() {
  return { to: devChain.deployments.sponsoredContract.address, data: encodeWith(counter, 'increment', []) };
}

function burnCall(): Hex {
  return encodeWith(counter, 'burn', [1]);
}
