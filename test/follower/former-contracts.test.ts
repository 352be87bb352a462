import { expect, test } from '@jest/globals';
import { digestOf } from '../../core/paymaster/digest.js';
import { entryPoints } from '../../core/paymaster/entry-point.js';
import { layoutIds, type LayoutId } from '../../core/paymaster/layout.js';
import { layouts } from '../../core/paymaster/layouts.js';
import type { Mode } from '../../core/usage/usage-store.js';
import { parseAddress, toAddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import type { FinalUserOperation } from '../../core/userop/user-operation.js';
import { chainId, contract, funding, sender } from '../conformance/usage-requests.js';
import { anExampleOperation, exampleTerms, exampleTokenTerms } from '../paymaster/operations.js';
import { handleOpsInput } from '../userop/bundles.js';
import { aChainConfig, aFollowed, anOperation, aPromise, type SignedBytes } from './followed.js';

// No profile names the contract any longer, so nobody says which layout it has.

type Case = { readonly layout: LayoutId; readonly mode: Mode };

const cases = layoutIds.flatMap((layout): Case[] => [
  { layout, mode: 'SPONSORED' },
  ...(layouts[layout].token === undefined ? [] : [{ layout, mode: 'ERC20' } as const]),
]);

test.each(cases)(
  'of two promises for one operation in mode $mode of $layout the bytes tell which was mined',
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

/** Each variant is another operation of the nonce. Whoever has bundled it has put bytes behind the data. */
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
  const padded: Hex = `${data}00ff`;
  const form = entryPointVersion === '0.6' ? '0.6' : '0.7';
  return { digest: digestOf(hash), input: handleOpsInput(form, op, padded) };
}
