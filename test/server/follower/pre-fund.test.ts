import { expect, test } from '@jest/globals';
import { toDigest } from '../../../core/paymaster/digest.js';
import { layoutIds, type LayoutId, type TokenTerms } from '../../../core/paymaster/layout.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import { parseAddress } from '../../../core/units/address.js';
import { chainId, contract, sender } from '../../conformance/usage-requests.js';
import { anExampleOperation, exampleTokenTerms } from '../../core/paymaster/operations.js';
import { handleOpsInput } from '../../core/userop/bundles.js';
import {
  aChainConfig,
  aFollowed,
  anOperation,
  aPromise,
  followFor,
  lossesOf,
  type SignedBytes,
} from './followed.js';

// A contract that takes tokens in validation, and whose postOp then failed: it emits no event.

const { options } = exampleTokenTerms;
const terms: TokenTerms = {
  ...exampleTokenTerms,
  chainId,
  paymaster: parseAddress(contract),
  exchangeRate: 10n ** 18n,
  priceMarkup: 1_000_000,
};
/** Cost of the operation in wei; at this rate the same number of base units. */
const cost = 40_000_000_000n;

type Case = {
  readonly name: string;
  readonly terms: TokenTerms;
  readonly isReadable?: false;
  readonly isOffered?: false;
  readonly lost: number;
};
const cases: readonly Case[] = [
  { name: 'the whole prefund was taken: nothing is lost', terms: { ...terms, inAdvance: true }, lost: 0 },
  {
    name: 'as much as it cost was: nothing is',
    terms: { ...terms, options: { ...options, preFund: cost } },
    lost: 0,
  },
  {
    name: 'less was: the cost is lost',
    terms: { ...terms, options: { ...options, preFund: cost - 1n } },
    lost: 40,
  },
  { name: 'nothing was: the cost is lost', terms, lost: 40 },
  {
    name: 'no node shows the transaction: the cost is lost, and nobody is barred',
    terms: { ...terms, inAdvance: true },
    isReadable: false,
    lost: 40,
  },
  {
    name: 'its profile was taken away, and the whole prefund was taken: nothing is lost',
    terms: { ...terms, inAdvance: true },
    isOffered: false,
    lost: 0,
  },
];
const singletons = layoutIds.filter((id) => id.startsWith('singleton'));

test.each(singletons.flatMap((layout) => cases.map((one) => ({ layout, ...one }))))(
  '$layout: $name',
  async ({ layout, isReadable = true, isOffered = true, lost, ...one }) => {
    const it = await aFollowed(aChainConfig({}, layout));
    const { digest, input } = mined(layout, one.terms);
    const accounts = aPromise(100).accounts.slice(0, 1);
    await it.usage.reserve(aPromise(100, { accounts, promise: { mode: 'ERC20', digest } }));
    if (!isOffered) it.reconfigure(aChainConfig({ profiles: [] }));
    it.chain.mine({ operations: [anOperation(40, { input })] });
    it.pass(2);
    it.chain.hidesTransactions = !isReadable;
    expect(isReadable ? await it.follower.round() : await followFor(it, 660)).toMatchObject({
      settled: 1,
      unpaid: lost === 0 ? 0 : 1,
    });
    expect(await lossesOf(it)).toEqual([lost, isReadable ? lost : 0]);
    await it.stop();
  },
);

function mined(layout: LayoutId, signed: TokenTerms): SignedBytes {
  const { token, entryPointVersion } = layouts[layout];
  const op = { ...anExampleOperation, sender, nonce: 0n };
  const data = token!.encode(op, signed, new Uint8Array(65).fill(1));
  const form = entryPointVersion === '0.6' ? '0.6' : '0.7';
  return { digest: toDigest(token!.hash(op, signed)), input: handleOpsInput(form, op, data) };
}
