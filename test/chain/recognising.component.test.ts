import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { toDigest } from '../../core/paymaster/digest.js';
import type { Layout } from '../../core/paymaster/layout.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { recognise } from '../../core/paymaster/recognise.js';
import { signatureToTail } from '../../core/paymaster/tail.js';
import { hexSize, type Hex } from '../../core/units/hex.js';
import {
  callValidation,
  saysAccepted,
  saysWrongSignature,
  validationCall,
} from '../../operator/facts/probe-operation.js';
import { anExampleOperation } from '../core/paymaster/operations.js';
import { runs } from '../support/property.js';
import { profileNames, startDevChain, type DevChain } from './support/dev-chain.js';
import { deployOpenZeppelin, openZeppelinNames } from './support/open-zeppelin.js';
import { mint, signPayment, tokenProfiles, tokenTerms } from './support/tokens.js';
import { buildTerms, signSponsorship, type TestProfile } from './support/user-op.js';

// The oracle is the deployed bytecode: whatever data a contract's validation accepts, we recognise as the promise that it accepts.

let devChain: DevChain;
let openZeppelin: ReadonlyMap<string, TestProfile>;
const op: FinalUserOperation = {
  ...anExampleOperation,
  initCode: '0x',
  verificationGasLimit: 300_000n,
  maxFeePerGas: 1_000n,
  maxPriorityFeePerGas: 1_000n,
};
beforeAll(async () => {
  devChain = await startDevChain();
  openZeppelin = await deployOpenZeppelin(devChain);
  await mint(devChain, devChain.deployments.feeToken.address, op.sender, 10n ** 30n);
});
afterAll(() => devChain.stop());

type Change =
  | { readonly kind: 'set'; readonly at: number; readonly to: number }
  | { readonly kind: 'add'; readonly at: number; readonly bytes: string }
  | { readonly kind: 'drop'; readonly at: number; readonly count: number }
  | { readonly kind: 'tail' };
const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('set' as const),
      at: fc.oneof(fc.nat(600), fc.integer({ min: 20, max: 60 })),
      to: fc.oneof(fc.nat(255), fc.constantFrom(0, 1, 2, 3, 4, 7)),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('add' as const),
      at: fc.oneof(fc.nat(600), fc.constant(600)),
      bytes: fc.uint8Array({ minLength: 1, maxLength: 40 }).map(hexOf),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('drop' as const),
      at: fc.oneof(fc.nat(600), fc.constant(600)),
      count: fc.oneof(fc.constant(1), fc.nat(40)),
    }),
  },
  { weight: 2, arbitrary: fc.constant<Change>({ kind: 'tail' }) },
);

/** The paymaster's address stays: the EntryPoint calls the contract that it names. */
function changed(data: Hex, how: Change): Hex {
  const place = (at: number) => 2 + 2 * Math.max(20, Math.min(at, hexSize(data)));
  switch (how.kind) {
    case 'set': {
      const at = Math.min(place(how.at), data.length - 2);
      return `0x${data.slice(2, at)}${how.to.toString(16).padStart(2, '0')}${data.slice(at + 2)}`;
    }
    case 'add':
      return `0x${data.slice(2, place(how.at))}${how.bytes}${data.slice(place(how.at))}`;
    case 'drop':
      return `0x${data.slice(2, place(how.at - how.count))}${data.slice(place(how.at))}`;
    case 'tail':
      return signatureToTail(data);
  }
}

const profileOf = (version: string): TestProfile => openZeppelin.get(version) ?? devChain.profile(version);
const paid = new Set<string>(tokenProfiles);
const cases = [...profileNames, ...openZeppelinNames].flatMap((version) => [
  { version, mode: 'SPONSORED' as const },
  ...(paid.has(version) ? [{ version, mode: 'ERC20' as const }] : []),
]);

describe.each(cases)('profile $version, mode $mode', ({ version, mode }) => {
  async function promised(profile: TestProfile): Promise<{ readonly data: Hex; readonly hash: Uint8Array }> {
    const { sponsorship, token } = layouts[profile.layout];
    if (mode === 'SPONSORED') {
      const terms = await buildTerms(devChain, profile);
      return { data: signSponsorship(devChain, profile, op, terms), hash: sponsorship.hash(op, terms) };
    }
    const terms = await tokenTerms(devChain, devChain.profile(version));
    return {
      data: signPayment(devChain, devChain.profile(version), op, terms),
      hash: token!.hash(op, terms),
    };
  }
  const validate = (profile: TestProfile, data: Hex) =>
    callValidation(devChain.chain, {
      from: profile.entryPoint,
      to: profile.sponsorship,
      data: validationCall(layouts[profile.layout], op, data, 10n ** 9n),
    });

  test('a promise in any form that the contract accepts is recognised', async () => {
    const profile = profileOf(version);
    const modes = [layouts[profile.layout]];
    const { data, hash } = await promised(profile);
    const digest = toDigest(hash);
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 2 }), async (changes) => {
        const mined = changes.reduce(changed, data);
        const answer = await validate(profile, mined);
        if (answer === undefined || !saysAccepted(answer)) return;
        accepted += 1;
        const readings = recognise(modes, { ...op, paymasterAndData: mined }, devChain.chainId);
        expect(readings).toContainEqual(expect.objectContaining({ mode, digest }));
      }),
      runs(200),
    );
    expect(accepted).toBeGreaterThan(20);
  });

  test('data that the contract can read are read as it reads them, and signed for the same', async () => {
    const profile = profileOf(version);
    const layout = layouts[profile.layout];
    const { data, hash: promisedHash } = await promised(profile);
    const signature = signatureOf(promisedHash);
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 3 }), async (changes) => {
        const mined = changes.reduce(changed, data);
        const found = hashesOf(layout, mined);
        const answer = await validate(profile, mined);
        // Another signature could make it accept the data.
        if (found.length === 0) expect(answer).toBeUndefined();
        // What an OpenZeppelin contract signs is not its hash alone.
        if (layout.sponsorship.getHashCall === undefined) return;
        const answers = await Promise.all(
          found.map(async (hash) => {
            if (!mined.includes(signature)) return undefined;
            return validate(profile, mined.replace(signature, signatureOf(hash)) as Hex);
          }),
        );
        // Reverts say nothing: the contract refuses these terms.
        const read = answers.filter((one) => one !== undefined);
        if (read.length === 0) return;
        expect(read.some(saysAccepted)).toBe(true);
        if (read.length === 1) expect(read.some(saysWrongSignature)).toBe(false);
        accepted += 1;
      }),
      runs(200),
    );
    if (layout.sponsorship.getHashCall !== undefined) expect(accepted).toBeGreaterThan(20);
  });
});

function hashesOf(layout: Layout, data: Hex): readonly Uint8Array[] {
  return [layout.sponsorship, layout.token].flatMap((codec) => {
    const found = codec?.recognise(op, data, devChain.chainId);
    return found === undefined || found === 'unsigned' ? [] : [found.hash];
  });
}

/** Every layout with a view of its hash signs it with the prefix of EIP-191. */
function signatureOf(hash: Uint8Array): string {
  return devChain.sponsorSigner.signMessageSync(hash).slice(2);
}
