import { describe, expect, test } from '@jest/globals';
import { noMetrics } from '../../../core/metrics.js';
import type { Signer, Signing, SigningItem } from '../../../core/paymaster/signer.js';
import { createInstruments } from '../../../server/ops/instruments.js';
import { createSigningBatch } from '../../../server/decision/sign/signing-batch.js';
import { addressOf } from '../../build/configs.js';

const instruments = createInstruments(noMetrics);

const item = (n: number): SigningItem => ({
  digest: new Uint8Array(32).fill(n),
  preImage: new Uint8Array(62),
});
const signed = ({ digest }: SigningItem): Signing => ({
  outcome: 'signed',
  signature: new Uint8Array(65).fill(digest[0] ?? 0),
});

/** Signs by repeating the first byte of the digest, and records each batch. */
function aSigner(
  sign: Signer['sign'] = (items) => items.map(signed),
): Signer & { readonly batches: number[][] } {
  const batches: number[][] = [];
  return {
    address: addressOf(1),
    implementation: 'test',
    batches,
    sign(items) {
      batches.push(items.map(({ digest }) => digest[0] ?? 0));
      return sign(items);
    },
  };
}

describe('A signing batch', () => {
  test('signs all items of a turn of the event loop together, each answered with its own signature', async () => {
    const signer = aSigner();
    const batch = createSigningBatch({ instruments });
    const answers = await Promise.all([1, 2, 3].map((n) => batch.sign(signer, item(n), 'a')));
    expect(answers).toEqual([1, 2, 3].map((n) => signed(item(n))));
    expect(signer.batches).toEqual([[1, 2, 3]]);
  });

  test('signs at most a bounded number per turn, and the rest in the next, in order', async () => {
    const signer = aSigner();
    const batch = createSigningBatch({ instruments, maxPerTurn: 2 });
    await Promise.all([1, 2, 3, 4, 5].map((n) => batch.sign(signer, item(n), 'a')));
    expect(signer.batches).toEqual([[1, 2], [3, 4], [5]]);
  });

  test('keeps signers apart', async () => {
    const [a, b] = [aSigner(), aSigner()];
    const batch = createSigningBatch({ instruments });
    await Promise.all([
      batch.sign(a, item(1), 'a'),
      batch.sign(b, item(2), 'a'),
      batch.sign(a, item(3), 'a'),
    ]);
    expect([a.batches, b.batches]).toEqual([[[1, 3]], [[2]]]);
  });

  test('awaits a signer that answers later', async () => {
    const remote = aSigner((items) => items.map((one) => Promise.resolve(signed(one))));
    expect(await createSigningBatch({ instruments }).sign(remote, item(9), 'a')).toEqual(signed(item(9)));
  });

  test('an item that takes long keeps no other of its turn waiting', async () => {
    const slow = Promise.withResolvers<Signing>();
    const remote = aSigner((items) =>
      items.map((one) => (one.digest[0] === 1 ? slow.promise : Promise.resolve(signed(one)))),
    );
    const batch = createSigningBatch({ instruments });
    const [late, early] = [batch.sign(remote, item(1), 'a'), batch.sign(remote, item(2), 'a')];
    expect(await early).toEqual(signed(item(2)));
    slow.resolve(signed(item(1)));
    expect(await late).toEqual(signed(item(1)));
    expect(remote.batches).toEqual([[1, 2]]);
  });

  test('tells a signer for which paymaster it signs', async () => {
    const shares: (string | undefined)[] = [];
    const remote = aSigner((items) => items.map((one) => (shares.push(one.share), signed(one))));
    const batch = createSigningBatch({ instruments });
    await Promise.all([batch.sign(remote, item(1), 'a'), batch.sign(remote, item(2), 'b')]);
    expect(shares).toEqual(['a', 'b']);
  });

  test('an item of a group that fails leaves the others of its group alone', async () => {
    const error = new Error('not this one');
    const fails = ({ digest }: SigningItem) => digest[0] === 2;
    const picky = aSigner((items) =>
      items.map((one) => (fails(one) ? { outcome: 'unsigned', error } : signed(one))),
    );
    const batch = createSigningBatch({ instruments });
    const answers = await Promise.all([1, 2, 3].map((n) => batch.sign(picky, item(n), 'a')));
    expect(answers).toEqual([signed(item(1)), { outcome: 'unsigned', error }, signed(item(3))]);
    expect(picky.batches).toEqual([[1, 2, 3]]);
  });

  test.each<[string, Signer['sign']]>([
    [
      'throws',
      () => {
        throw new Error('no key');
      },
    ],
    ['rejects', (items) => items.map(() => Promise.reject(new Error('no key')))],
    ['answers too few', () => []],
    ['answers too many', (items) => [...items, ...items].map(signed)],
  ])('of a signer that %s nobody knows what it signed, and other signers go on', async (_how, sign) => {
    const broken = aSigner(sign);
    const signer = aSigner();
    const batch = createSigningBatch({ instruments });
    const answers = await Promise.all([batch.sign(broken, item(1), 'a'), batch.sign(signer, item(2), 'a')]);
    expect(answers).toEqual([{ outcome: 'unknown', error: expect.any(Error) }, signed(item(2))]);
    // The next turn is not affected.
    expect(await batch.sign(signer, item(4), 'a')).toEqual(signed(item(4)));
  });
});
