import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface, getBytes } from 'ethers';
import { createSimulator } from '../../adapters/estimator/simulate-handle-op.js';
import { createTokenPaymentChecker } from '../../adapters/estimator/token-payment.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import type { TokenOptions, TokenTerms } from '../../core/paymaster/layout.js';
import { stubSignature } from '../../core/paymaster/signature.js';
import { tokenStubForLater } from '../../core/paymaster/stub.js';
import { tokensFor } from '../../core/paymaster/token-price.js';
import { parseAddress, toAddressKey, type Address } from '../../core/units/address.js';
import { bytesToHex, type Hex } from '../../core/units/hex.js';
import { systemClock } from '../../core/units/time.js';
import type { DevProfile } from '../../standalone/dev-chain/paymaster-contracts.js';
import { buildAccount, encodeWith } from './support/account.js';
import { balanceOf } from './support/balances.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { handleOp } from './support/handle-ops.js';
import {
  approval,
  deployToken,
  mint,
  payInTokens,
  tokenCodecOf,
  tokenProfiles,
  tokenTerms,
} from './support/tokens.js';
import { buildUserOp, sponsorUserOp } from './support/user-op.js';

// The most gas that taking a payment needs: the receiver has never held the token, the token is behind a proxy that checks lists, and
// nothing that the payment touches was touched before in the transaction.

const counter = new Interface(['function increment()']);
const erc20 = new Interface(['function balanceOf(address account)']);
const plenty = 10n ** 12n;
/** Where ERC-1967 keeps the implementation. */
const implementationSlot = '360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc';
/** Reads four words, as tokens do that have an admin, a pause and lists of accounts; then delegates the call. */
const proxyCode: Hex = `0x60615450606254506063545060645450363d3d373d3d363d7f${implementationSlot}545af43d600060003e6049573d6000fd5b3d6000f3`;

let devChain: DevChain;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());

/** A token behind a proxy; another one for each number. */
async function proxiedToken(number: number): Promise<Address> {
  const token = parseAddress(`0x${(0xf0e5_0000 + number).toString(16).padStart(40, '0')}`);
  const implementation = await deployToken(devChain, 6);
  await devChain.chain.request('anvil_setCode', [token, proxyCode]);
  const word = `0x${implementation.slice(2).padStart(64, '0')}`;
  await devChain.chain.request('anvil_setStorageAt', [token, `0x${implementationSlot}`, word]);
  return token;
}

describe.each(tokenProfiles.map((version, index) => ({ version, index })))(
  'profile $version',
  ({ version, index }) => {
    test('the first payment in a token passes the check, leaves a tenth of its gas, and covers its cost', async () => {
      const profile = devChain.profile(version);
      const token = await proxiedToken(index);
      const account = await buildAccount(devChain, profile.entryPointVersion);
      await mint(devChain, token, account.address, plenty);
      const first = await buildUserOp(account, [approval(token, profile, plenty)]);
      await handleOp(
        devChain,
        profile.entryPointVersion,
        await sponsorUserOp(devChain, profile, account, first),
      );

      const op = await buildUserOp(account, [increment()]);
      const terms = await tokenTerms(devChain, profile, { token: toAddressKey(token) });
      expect(await checkPayment(profile, op, terms)).toEqual({ pass: true });
      const signed = await payInTokens(devChain, profile, account, op, terms);
      const { event, logs } = await handleOp(devChain, profile.entryPointVersion, signed);
      expect(event.success).toBe(true);
      const paid = plenty - (await balanceOf(devChain, token, account.address));
      const cost = tokensFor(event.actualGasCost, terms.exchangeRate, terms.priceMarkup);
      expect(paid).toBeGreaterThanOrEqual(cost);
      const { gas, gasUsed } = await postOpOf(profile, logs[0]?.transactionHash ?? '0x');
      expect(gasUsed * 10n).toBeLessThanOrEqual(gas * 9n);
    });
  },
);

describe.each(['singleton-0.6', 'singleton-0.7', 'singleton-0.8'])('profile %s', (version) => {
  test.each<TokenOptions>([{}, { takesPreFund: true }])(
    'a stub with %j moves tokens at a price of one wei, too, so that bundlers measure a transfer',
    async (options) => {
      const profile = devChain.profile(version);
      const token = await deployToken(devChain, 6);
      const account = await buildAccount(devChain, profile.entryPointVersion);
      await mint(devChain, token, account.address, plenty);
      const treasury = parseAddress(`0x${'7e'.repeat(20)}`);
      const terms = await tokenTerms(devChain, profile, {
        token: toAddressKey(token),
        options: { ...options, treasury },
      });
      const op = await buildUserOp(account, [approval(token, profile, plenty)], {
        maxFeePerGas: 1n,
        maxPriorityFeePerGas: 1n,
        signature: bytesToHex(stubSignature()),
      });
      const simulate = createSimulator(
        devChain.chain,
        profile.entryPoint,
        profile.entryPointVersion,
        systemClock,
      );
      const { targetResult } = await simulate({
        op,
        paymasterAndData: tokenStubForLater(tokenCodecOf(profile), op, terms),
        target: { address: token, data: encodeWith(erc20, 'balanceOf', [treasury]) },
      });
      expect(BigInt(targetResult)).toBe(1n);
    },
  );
});

function increment() {
  const to = devChain.deployments.sponsoredContract.address;
  return { to, data: encodeWith(counter, 'increment', []) };
}

function checkPayment(profile: DevProfile, op: FinalUserOperation, terms: TokenTerms) {
  const { entryPoint, entryPointVersion } = profile;
  const checker = createTokenPaymentChecker({
    chains: devChain.chains,
    endpoint: () => ({ rpc: { urls: [devChain.url] } }),
    clock: systemClock,
  });
  return checker.check({
    paymasterId: 'pm-1',
    chainId: devChain.chainId,
    entryPoint,
    entryPointVersion,
    codec: tokenCodecOf(profile),
    op,
    terms,
    sign: async ({ digest }) => getBytes(devChain.sponsorSigner.signingKey.sign(digest).serialized),
  });
}

type Frame = {
  readonly to?: string;
  readonly input: string;
  readonly gas: Hex;
  readonly gasUsed: Hex;
  readonly calls?: readonly Frame[];
};
/** `postOp` of EntryPoint 0.6, and from 0.7 on. */
const postOp = /^0x(a9a23409|7c627b21)/;

/** Limit and use of the contract's postOp; on 0.6 the limit is the one that the layout asks for. */
async function postOpOf(profile: DevProfile, transaction: Hex) {
  const root = await devChain.chain.request('debug_traceTransaction', [
    transaction,
    { tracer: 'callTracer' },
  ]);
  const frames = (frame: Frame): readonly Frame[] => [frame, ...(frame.calls ?? []).flatMap(frames)];
  const found = frames(root as Frame).find(({ input }) => postOp.test(input));
  if (found === undefined) throw new Error('the transaction has no postOp');
  const { minVerificationGasLimit } = tokenCodecOf(profile);
  const gas = profile.entryPointVersion === '0.6' ? minVerificationGasLimit : BigInt(found.gas);
  return { gas, gasUsed: BigInt(found.gasUsed) };
}
