import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { CallReverted } from '../../core/chain/chain.js';
import { isWithin, readValidationData } from '../../core/userop/account-validation.js';
import { entryPointVersions, type EntryPointVersion } from '../../core/entry-point/version.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { toAddressKey } from '../../core/units/address.js';
import { hexQuantity, type Hex } from '../../core/units/hex.js';
import { devAccounts } from '../../standalone/dev-chain/dev-accounts.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { encodeHandleOps, formatFailure } from './support/handle-ops.js';

// How each EntryPoint reads what an account and a paymaster return, at one block, for words around everything that could
// matter: the EntryPoint refuses exactly what we call over, not begun, failed or aggregated.

let devChain: DevChain;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());

const block = { number: 1_000, timestamp: 1_900_000_000 };
const flag = 2 ** 47;
const account = toAddressKey(`0x${'a1'.repeat(20)}`);
const paymaster = toAddressKey(`0x${'b2'.repeat(20)}`);

const { number, timestamp } = block;
const anyEnd = fc.constantFrom(
  ...[number, timestamp].flatMap((now) => [now - 1, now, now + 1]),
  ...[number - 1, number, number + 1].map((at) => flag + at),
  0,
  1,
  flag - 1,
  flag,
  flag + 1,
  2 ** 48 - 1,
);
const anyWindow = fc.tuple(anyEnd, anyEnd);
const anyAuthorizer = fc.oneof(
  { weight: 8, arbitrary: fc.constant(0n) },
  fc.constantFrom(1n, 2n, 2n ** 160n - 1n),
);
const anyWord = fc
  .tuple(anyAuthorizer, anyWindow)
  .map(([authorizer, [after, until]]) => (BigInt(after) << 208n) | (BigInt(until) << 160n) | authorizer);

test.each(entryPointVersions)(
  'EntryPoint %s refuses an operation exactly when we read its validation data as not valid now',
  async (version) => {
    for (const [ofAccount, ofPaymaster] of fc.sample(fc.tuple(anyWord, anyWord), 300)) {
      const found = await verdictOf(version, ofAccount, ofPaymaster);
      const context = { ofAccount: hexQuantity(ofAccount), ofPaymaster: hexQuantity(ofPaymaster) };
      expect({ ...context, found }).toEqual({ ...context, found: expected(version, ofAccount, ofPaymaster) });
    }
  },
);

test('on 0.9 a window of blocks and one of seconds may meet in an operation', async () => {
  const blocks = (BigInt(flag + number - 1) << 208n) | (BigInt(flag + number) << 160n);
  const seconds = (BigInt(timestamp - 1) << 208n) | (BigInt(timestamp) << 160n);
  expect(await verdictOf('0.9', blocks, seconds)).toBe('accepted');
  expect(await verdictOf('0.9', seconds, blocks)).toBe('accepted');
  expect(await verdictOf('0.8', blocks, seconds)).toBe('AA22');
});

function expected(version: EntryPointVersion, ofAccount: bigint, ofPaymaster: bigint): string {
  return (
    refusal(version, ofAccount, { signature: 'AA24', seconds: 'AA22', blocks: 'AA27' }) ??
    refusal(version, ofPaymaster, { signature: 'AA34', seconds: 'AA32', blocks: 'AA37' }) ??
    'accepted'
  );
}

function refusal(
  version: EntryPointVersion,
  word: bigint,
  codes: { readonly signature: string; readonly seconds: string; readonly blocks: string },
): string | undefined {
  const { signature, validity } = readValidationData(word, version);
  if (signature !== 'valid') return codes.signature;
  return isWithin(validity, block, version) ? undefined : codes[validity.unit];
}

/** Beginning of the reason for which `handleOps` refuses an operation of an account and paymaster that return these. */
async function verdictOf(
  version: EntryPointVersion,
  ofAccount: bigint,
  ofPaymaster: bigint,
): Promise<string> {
  const { deployments, chain } = devChain;
  const signature: Hex = `0x${word(ofAccount)}${word(ofPaymaster)}`;
  const gas = version === '0.6' ? '' : `${word(100_000n).slice(32)}${word(100_000n).slice(32)}`;
  const data = encodeHandleOps(version, [
    { op: { ...anOperation, signature }, paymasterAndData: `${paymaster}${gas}` as Hex },
  ]);
  const code = returning(version === '0.6' ? 10 : 8);
  const call = { from: devAccounts.deployer.address, to: deployments.entryPoints[version], data };
  try {
    await chain.request('eth_call', [
      call,
      'latest',
      { [account]: { code: code.ofAccount }, [paymaster]: { code: code.ofPaymaster } },
      { number: hexQuantity(number), time: hexQuantity(timestamp) },
    ]);
    return 'accepted';
  } catch (error) {
    if (!(error instanceof CallReverted)) throw error;
    return formatFailure(error.data).slice(0, 4);
  }
}

/** Costs nothing, so that nobody needs a deposit. */
const anOperation: FinalUserOperation = {
  sender: account,
  nonce: 0n,
  initCode: '0x',
  callData: '0x',
  callGasLimit: 100_000n,
  verificationGasLimit: 200_000n,
  preVerificationGas: 0n,
  maxFeePerGas: 0n,
  maxPriorityFeePerGas: 0n,
  signature: '0x',
};

/**
 * Code of an account that returns the first word of the operation's signature, and of a paymaster that returns an empty
 * context and the second one. `member` is the signature's place in the operation.
 */
function returning(member: number): { readonly ofAccount: Hex; readonly ofPaymaster: Hex } {
  // op = calldataload(4) + 4; bytes = op + calldataload(op + 32 * member)
  const signatureAt = `60043560040180${`61${(32 * member).toString(16).padStart(4, '0')}`}013501`;
  return {
    // mstore(0, calldataload(bytes + 32)); return(0, 32)
    ofAccount: `0x${signatureAt}602001355f5260205ff3`,
    // mstore(32, calldataload(bytes + 64)); mstore(0, 64); return(0, 96)
    ofPaymaster: `0x${signatureAt}604001356020526040${'5f52'}60605ff3`,
  };
}

function word(value: bigint): string {
  return value.toString(16).padStart(64, '0');
}
