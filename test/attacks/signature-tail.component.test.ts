import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import {
  hashedPaymasterAndData,
  paymasterSignatureMagic,
} from '../../core/entry-point/paymaster-signature.js';
import { stubSignature } from '../../core/paymaster/signature.js';
import { signatureToTail } from '../../core/paymaster/tail.js';
import { bytesToHex, type Hex } from '../../core/units/hex.js';
import { gweiCeil } from '../../core/units/wei.js';
import type { TestAccount } from '../chain/support/account.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { handleOp, refusalOf } from '../chain/support/handle-ops.js';
import { deployOpenZeppelin } from '../chain/support/open-zeppelin.js';
import { signByAccount, sponsorUserOp, type SignedUserOp } from '../chain/support/user-op.js';
import { followDevChain, type FollowedDevChain, type Promised } from './support/followed-dev-chain.js';

// EntryPoint 0.9 hashes neither a signature at the end of `paymasterAndData` nor its length. An attacker, who is his own
// bundler and account, moves and pads the signature, so that what was mined looks like something that nobody promised.

const magic = paymasterSignatureMagic.slice(2);
const junk = bytesToHex(stubSignature()).slice(2);

/** What the attacker writes behind data with an ordinary signature. */
const endings = [
  { name: 'bytes', behind: junk },
  { name: 'the magic alone', behind: magic },
  { name: 'a tail of length 0', behind: `0000${magic}` },
  { name: 'a tail that is one byte short', behind: `0040${magic}` },
  { name: 'a tail that is one byte long', behind: `0042${magic}` },
  { name: 'a tail longer than the data', behind: `ffff${magic}` },
  { name: 'another signature in the tail', behind: `${junk}0041${magic}` },
  { name: 'two tails', behind: `0041${magic}0041${magic}` },
] as const;
type Ending = (typeof endings)[number]['name'];

/** The endings with which a contract takes the signature in front of them. Ours take the exact forms only. */
const versions: readonly { version: string; takes: readonly Ending[]; readsTail: boolean }[] = [
  { version: 'verifying-0.9', takes: [], readsTail: true },
  { version: 'hybrid-0.9', takes: [], readsTail: true },
  {
    version: 'openzeppelin-0.9',
    takes: ['a tail of length 0', 'another signature in the tail'],
    readsTail: false,
  },
  { version: 'openzeppelin-0.9 with tail', takes: ['a tail of length 0'], readsTail: true },
];

let devChain: DevChain;
let it: FollowedDevChain;
beforeAll(async () => {
  const plain = await startDevChain();
  const openZeppelin = await deployOpenZeppelin(plain);
  devChain = { ...plain, profile: (version) => openZeppelin.get(version) ?? plain.profile(version) };
});
afterAll(() => devChain.stop());

describe.each(versions)('version $version', ({ version, takes, readsTail }) => {
  beforeEach(async () => {
    it = await followDevChain(devChain, version);
    await it.settle();
  });
  afterEach(() => it.stop());

  if (readsTail)
    test('a promise whose signature was moved to the tail settles as itself, among others for its nonce', async () => {
      const { account, dear } = await twoPromises();
      const moved = await signByAccount(
        account,
        dear.signed.op,
        signatureToTail(dear.signed.paymasterAndData),
      );
      await expectSettled(moved);
    });

  test.each(endings)(
    'with $name behind it, a promise is refused on chain, or settles as itself',
    async ({ name, behind }) => {
      const { account, dear } = await twoPromises();
      const paymasterAndData: Hex = `${dear.signed.paymasterAndData}${behind}`;
      // Nobody can sign an operation that has no hash.
      if (hashedPaymasterAndData(paymasterAndData) === undefined) {
        expect(takes).not.toContain(name);
        return;
      }
      const padded = await signByAccount(account, dear.signed.op, paymasterAndData);
      const isTaken = (await refusalOf(devChain, '0.9', [padded])) === 'accepted';
      expect([name, isTaken]).toEqual([name, takes.includes(name)]);
      if (isTaken) await expectSettled(padded);
    },
  );

  if (readsTail)
    test('an operation for whose nonce nothing was promised is noticed, also with its signature in the tail', async () => {
      const account = await it.newAccount();
      const other = await it.operation(account, { callGasLimit: 300_000n });
      const forged = await sponsorUserOp(devChain, it.profile, account, other);
      const moved = signatureToTail(forged.paymasterAndData);
      await handleOp(devChain, '0.9', await signByAccount(account, other, moved));
      expect(await it.settle()).toMatchObject({ unattributed: 1 });
    });

  test('without its signature, a promise is not mined', async () => {
    const { account, dear } = await twoPromises();
    const unsigned = dear.signed.paymasterAndData.slice(0, -2 * 65) as Hex;
    for (const data of [
      unsigned,
      `${unsigned}0000${magic}`,
      `${unsigned}${junk}`,
      `${unsigned}${junk}0041${magic}`,
    ]) {
      const signed = await signByAccount(account, dear.signed.op, data as Hex);
      expect(await refusalOf(devChain, '0.9', [signed])).toMatch(/^AA3[34]/);
    }
  });

  /** Two sponsorships for one nonce, so that the mined bytes must show which one it was. */
  async function twoPromises(): Promise<{ account: TestAccount; dear: Promised }> {
    const account = await it.newAccount();
    await it.sponsor(account, await it.operation(account));
    const dear = await it.sponsor(account, await it.operation(account, { callGasLimit: 300_000n }));
    if (dear === undefined) throw new Error('nothing was promised');
    return { account, dear };
  }

  async function expectSettled(signed: SignedUserOp): Promise<void> {
    const [operations = 0, spent = 0] = await it.used();
    const { event } = await handleOp(devChain, '0.9', signed);
    expect(await it.settle()).toMatchObject({ settled: 1, unattributed: 0 });
    expect(await it.live()).toBe(0);
    expect(operations).toBe(1);
    expect((await it.used()).map(Number)).toEqual([1, gweiCeil(event.actualGasCost)]);
    expect(spent).toBeGreaterThan(gweiCeil(event.actualGasCost));
  }
});
