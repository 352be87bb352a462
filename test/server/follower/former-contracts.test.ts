import { describe, expect, test } from '@jest/globals';
import { toDigest } from '../../../core/paymaster/digest.js';
import { entryPoints } from '../../../core/entry-point/address.js';
import { layoutIds, type LayoutId } from '../../../core/paymaster/layout.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import { keptPromises, type Mode } from '../../../core/usage/reservation.js';
import { parseAddress, toAddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';
import { anAddress, chainId, contract, funding, seconds, sender } from '../../conformance/usage-requests.js';
import { anExampleOperation, exampleTerms, exampleTokenTerms } from '../../core/paymaster/operations.js';
import { handleOpsInput } from '../../core/userop/bundles.js';
import {
  aChainConfig,
  aFollowed,
  anOperation,
  aPromise,
  lossesOf,
  signedBytes,
  usedOf,
  type Followed,
  type SignedBytes,
} from './followed.js';

// No profile names the contract any longer, so its layout is not configured.

type Case = { readonly layout: LayoutId; readonly mode: Mode };

const cases = layoutIds.flatMap((layout): Case[] => [
  { layout, mode: 'SPONSORED' },
  ...(layouts[layout].token === undefined ? [] : [{ layout, mode: 'ERC20' } as const]),
]);

test.each(cases)(
  'of two promises for one operation in mode $mode of $layout the bytes show which was mined',
  async ({ layout, mode }) => {
    const it = await aFollowed();
    const { entryPointVersion } = layouts[layout];
    const entryPoint = toAddressKey(entryPoints[entryPointVersion]);
    const promiseOf = (paymasterId: string, { digest }: SignedBytes) =>
      aPromise(100, { key: { entryPoint, paymasterId }, promise: { mode, digest } });
    const [first, second] = [mined(layout, mode, 1), mined(layout, mode, 2)];
    await it.usage.reserve(promiseOf('ns/first', first));
    await it.usage.reserve(promiseOf('ns/second', second));
    it.reconfigure(aChainConfig({ profiles: [] }));
    it.chain.mine({ operations: [anOperation(40, { entryPoint, input: second.input })] });
    it.pass(2);
    expect(await it.follower.round()).toMatchObject({ settled: 1, released: 1, unattributed: 0 });
    await it.stop();
  },
);

test.each(['first', 'second'])(
  'a neighbour’s promise takes nothing where a node hid the operation of another one (%s expires later)',
  async (later) => {
    const it = await aFollowed();
    const entryPoint = toAddressKey(entryPoints['0.7']);
    const reserveFor = (name: string, { digest }: SignedBytes) =>
      it.usage.reserve(
        aPromise(100, {
          key: { entryPoint, paymasterId: `ns/${name}` },
          promise: { digest, validUntil: seconds(name === later ? 500 : 400) },
        }),
      );
    const [first, second] = [1, 2].map((variant) => mined('singleton-0.7', 'SPONSORED', variant));
    await reserveFor('first', first!);
    await reserveFor('second', second!);
    it.chain.hidesLogs = true;
    it.chain.mine({ operations: [anOperation(40, { entryPoint, input: second!.input })] });
    it.pass(3);
    await it.follower.round();
    it.reconfigure(aChainConfig({ profiles: [] }));
    it.chain.hidesLogs = false;
    for (const end of [401, 501]) {
      it.chain.mine({ time: seconds(end) });
      it.pass(3);
      await it.follower.round();
    }
    expect(await usedOf(it)).toEqual([1, 40]);
    await it.stop();
  },
);

const older = keptPromises + 3;

describe('older promises of both modes, of which only mode and contract are kept', () => {
  /** Somebody requests both modes so often that both promises are folded. */
  async function aFoldedNonce(it: Followed): Promise<void> {
    for (const [mode, cost] of [
      ['SPONSORED', 100],
      ['ERC20', 100],
    ] as const)
      await it.usage.reserve(aPromise(cost, { promise: { mode, digest: signedBytes(mode, 1).digest } }));
    for (let n = 2; n <= older; n++)
      await it.usage.reserve(aPromise(100, { promise: { digest: signedBytes('SPONSORED', n).digest } }));
  }

  test.each([
    { mode: 'SPONSORED', losses: [0, 0], used: [1, 40] },
    { mode: 'ERC20', losses: [100, 100], used: [0, 0] },
  ] as const)(
    'are told apart by the layout that the process has seen: $mode, unpaid in tokens',
    async ({ mode, losses, used }) => {
      const it = await aFollowed();
      await aFoldedNonce(it);
      it.reconfigure(aChainConfig({ profiles: [] }));
      it.chain.mine({ operations: [anOperation(40, { input: signedBytes(mode, 1).input })] });
      it.pass(2);
      expect(await it.follower.round()).toMatchObject({ settled: 1, unattributed: 0 });
      expect(await lossesOf(it)).toEqual(losses);
      expect(await usedOf(it)).toEqual(used);
      await it.stop();
    },
  );

  test.each(['SPONSORED', 'ERC20'] as const)(
    'may be either for a process that has not seen it: %s counts as a loss and is charged, and bars nobody',
    async (mode) => {
      const it = await aFollowed();
      await aFoldedNonce(it);
      const [profile] = aChainConfig().profiles;
      const moved = { ...profile!, sponsorship: parseAddress(anAddress(0xc9)) };
      it.reconfigure(aChainConfig({ profiles: [moved] }));
      it.chain.mine({ operations: [anOperation(40, { input: signedBytes(mode, 1).input })] });
      it.pass(2);
      expect(await it.create().round()).toMatchObject({ settled: 1, unattributed: 0, unpaid: 1 });
      expect(await lossesOf(it)).toEqual([100, 0]);
      expect(await usedOf(it)).toEqual([1, 40]);
      await it.stop();
    },
  );
});

/** Each variant is another operation of the nonce. Its bundler has appended bytes to the data where it may. */
function mined(layout: LayoutId, mode: Mode, variant: number): SignedBytes {
  const { sponsorship, token, entryPointVersion } = layouts[layout];
  const op: FinalUserOperation = {
    ...anExampleOperation,
    sender,
    nonce: 0n,
    callGasLimit: BigInt(variant),
  };
  const shared = { chainId, paymaster: parseAddress(contract), validUntil: 5, validAfter: 0 };
  const sponsored = { ...exampleTerms, ...shared, fundingAddress: funding };
  const paid = { ...exampleTokenTerms, ...shared };
  const signature = new Uint8Array(65).fill(1);
  const [hash, data] =
    mode === 'SPONSORED'
      ? [sponsorship.hash(op, sponsored), sponsorship.encode(op, sponsored, signature)]
      : [token!.hash(op, paid), token!.encode(op, paid, signature)];
  // Contracts of the layout vendor 2.x refuse appended bytes.
  const padded: Hex = layout === 'vendor-2.x' ? data : `${data}00ff`;
  const form = entryPointVersion === '0.6' ? '0.6' : '0.7';
  return { digest: toDigest(hash), input: handleOpsInput(form, op, padded) };
}
