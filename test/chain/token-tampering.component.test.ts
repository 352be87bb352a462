import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import type { TokenTerms } from '../../core/paymaster/layout.js';
import { parseAddress, toAddressKey } from '../../core/units/address.js';
import { hexToBytes } from '../../core/units/hex.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import type { DevProfile } from '../../standalone/dev-chain/paymaster-contracts.js';
import { buildAccount, encodeWith, type TestAccount } from './support/account.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { handleOp, refusalOf } from './support/handle-ops.js';
import { changedOperations, raised, type Tampering } from './support/tampering.js';
import {
  approval,
  deployToken,
  mint,
  signPayment,
  tokenCodecOf,
  tokenProfiles,
  tokenTerms,
} from './support/tokens.js';
import { buildUserOp, signByAccount, sponsorUserOp } from './support/user-op.js';
import { newWallet } from '../support/new-wallet.js';

const counter = new Interface(['function increment()', 'function burn(uint256 rounds)']);
const plenty = 10n ** 15n;
const somebody = parseAddress(`0x${'71'.repeat(20)}`);

let devChain: DevChain;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());

const cases: readonly Tampering<TokenTerms>[] = [
  { name: 'callData', op: () => ({ callData: encodeWith(counter, 'burn', [1]) }) },
  ...changedOperations,
  { name: 'the rate', terms: (terms) => ({ exchangeRate: terms.exchangeRate - 1_000_000n }) },
  { name: 'the premium', terms: () => ({ priceMarkup: 1_000_000 }) },
  { name: 'the token', terms: () => ({ token: toAddressKey(cheapToken) }) },
  { name: 'validUntil', terms: (terms) => ({ validUntil: terms.validUntil + 1 }) },
  { name: 'validAfter', terms: (terms) => ({ validAfter: terms.validAfter + 1 }) },
  {
    name: 'the treasury',
    terms: (terms) => ({ options: { ...terms.options, treasury: somebody } }),
    layouts: /singleton/,
  },
  {
    name: 'the constant fee',
    terms: (terms) => ({ options: { ...terms.options, constantFee: 2n } }),
    layouts: /singleton/,
  },
  {
    name: 'what is taken in validation',
    terms: (terms) => ({ options: { ...terms.options, preFund: 1n } }),
    layouts: /singleton/,
  },
  {
    name: 'who gets what is left over',
    terms: (terms) => ({ options: { ...terms.options, recipient: somebody } }),
    layouts: /singleton/,
  },
  { name: 'postOpGas on 0.6', data: (data) => raised(data, 54, 16), layouts: /singleton-0\.6/ },
  { name: 'postOpGas from 0.7 on', data: (data) => raised(data, 86, 16), layouts: /singleton-0\.[78]/ },
];

let cheapToken = somebody;

describe.each(tokenProfiles)('profile %s', (version) => {
  test('a change of any covered field is AA34, although the account signed the changed operation', async () => {
    const { profile, account, op, terms } = await payingAccount(version);
    const codec = tokenCodecOf(profile);
    const original = signPayment(devChain, profile, op, terms);
    const { signature } = codec.decode(original);
    const applicable = cases.filter((row) => row.layouts === undefined || row.layouts.test(profile.layout));
    expect(applicable.length).toBeGreaterThanOrEqual(12);

    const refusals = await Promise.all(
      applicable.map(async (row) => {
        const changed = { ...op, ...row.op?.(op) };
        const retermed =
          row.terms === undefined
            ? original
            : codec.encode(op, { ...terms, ...row.terms(terms) }, hexToBytes(signature));
        const signed = await signByAccount(account, changed, row.data?.(retermed) ?? retermed);
        return [row.name, await refusalOf(devChain, profile.entryPointVersion, [signed])];
      }),
    );
    expect(refusals).toEqual(applicable.map(({ name }) => [name, 'AA34 signature error']));
    const untouched = await signByAccount(account, op, original);
    expect(await refusalOf(devChain, profile.entryPointVersion, [untouched])).toBe('accepted');
  });

  test('a signature by a key that the contract does not know is AA34', async () => {
    const { profile, account, op, terms } = await payingAccount(version);
    const stranger = newWallet();
    const signed = await signByAccount(account, op, signPayment(devChain, profile, op, terms, stranger));
    expect(await refusalOf(devChain, profile.entryPointVersion, [signed])).toBe('AA34 signature error');
  });

  test('data that has expired, or is not valid yet, is AA32', async () => {
    const { profile, account, op, terms } = await payingAccount(version);
    const now = await devChain.time();
    for (const window of [
      { validUntil: now - 10, validAfter: 0 },
      { validUntil: now + 200_000, validAfter: now + 100_000 },
    ]) {
      const data = signPayment(devChain, profile, op, { ...terms, ...window });
      const signed = await signByAccount(account, op, data);
      expect(await refusalOf(devChain, profile.entryPointVersion, [signed])).toBe(
        'AA32 paymaster expired or not due',
      );
    }
  });
});

/** An account that exists, owns two tokens, and its next operation, which approves and counts. */
async function payingAccount(
  version: string,
): Promise<{ profile: DevProfile; account: TestAccount; op: FinalUserOperation; terms: TokenTerms }> {
  const profile = devChain.profile(version);
  const token = devChain.deployments.feeToken.address;
  cheapToken = await deployToken(devChain, 18);
  const account = await buildAccount(devChain, profile.entryPointVersion);
  const approvals = [token, cheapToken].map((each) => approval(each, profile, plenty));
  const deployment = await buildUserOp(account, approvals);
  await handleOp(
    devChain,
    profile.entryPointVersion,
    await sponsorUserOp(devChain, profile, account, deployment),
  );
  for (const each of [token, cheapToken]) await mint(devChain, each, account.address, plenty);
  const call = {
    to: devChain.deployments.sponsoredContract.address,
    data: encodeWith(counter, 'increment', []),
  };
  const op = await buildUserOp(account, [call]);
  return { profile, account, op, terms: await tokenTerms(devChain, profile, { priceMarkup: 1_100_000 }) };
}
