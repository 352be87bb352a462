import fc from 'fast-check';
import { toAddressKey, type AddressKey } from '../../../core/units/address.js';
import { hexWord, type Hex } from '../../../core/units/hex.js';

// Call data of `handleOps` and `handleAggregatedOps` as no encoder writes it: parts in any order, gaps, shared parts, offsets that
// wrap, words that are wrong in a way that a decoder may miss, and ends that are cut off.

export type Place = { readonly account: AddressKey; readonly paymaster: AddressKey };

type Body = { readonly text: string; readonly isShared: boolean };
type OddOperation = {
  readonly key: number;
  readonly callData: Body;
  readonly signature: Body;
  readonly data: string;
  readonly callGas: number;
};
type Change =
  | { readonly kind: 'none' }
  | { readonly kind: 'word'; readonly at: number; readonly by: bigint }
  | { readonly kind: 'set'; readonly at: number; readonly to: bigint }
  | { readonly kind: 'cut'; readonly bytes: number }
  | { readonly kind: 'more'; readonly bytes: number };

const text = (max: number) =>
  fc.uint8Array({ maxLength: max }).map((bytes) => Buffer.from(bytes).toString('hex'));
const body: fc.Arbitrary<Body> = fc.record({ text: text(70), isShared: fc.boolean() });
const operation: fc.Arbitrary<OddOperation> = fc.record({
  key: fc.nat(2 ** 30),
  callData: body,
  signature: body,
  data: text(100),
  callGas: fc.integer({ min: 30_000, max: 60_000 }),
});
const near = fc.constantFrom(1n, 2n, 31n, 32n, 33n, 64n, 96n, 2n ** 64n, 2n ** 128n, 2n ** 255n);
const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Change>({ kind: 'none' }) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.nat(1_000), near, fc.boolean())
      .map(([at, by, isLess]): Change => ({ kind: 'word', at, by: isLess ? -by : by })),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.nat(1_000), fc.oneof(near, fc.constantFrom(0n, 2n ** 64n - 1n, 2n ** 256n - 1n)))
      .map(([at, to]): Change => ({ kind: 'set', at, to })),
  },
  {
    weight: 2,
    arbitrary: fc.oneof(fc.nat(40), fc.nat(300)).map((bytes): Change => ({ kind: 'cut', bytes })),
  },
  { weight: 1, arbitrary: fc.nat(80).map((bytes): Change => ({ kind: 'more', bytes })) },
);

export const anyOddBundle = fc.record({
  operations: fc.array(operation, { minLength: 1, maxLength: 3 }),
  isAggregated: fc.boolean(),
  /** Decides the order of the parts. */
  order: fc.array(fc.nat(1_000), { minLength: 24, maxLength: 24 }),
  gaps: fc.array(fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(40) }), {
    minLength: 24,
    maxLength: 24,
  }),
  change,
});
export type OddBundle = typeof anyOddBundle extends fc.Arbitrary<infer T> ? T : never;

/** A part of the call data: its words may name the distance from a place of it to another part. */
type Part = {
  readonly words: readonly (string | { readonly to: number; readonly from: 'begin' | 'list' })[];
};

export function oddBundleData(isPacked: boolean, bundle: OddBundle, { account, paymaster }: Place): Hex {
  const parts: Part[] = [];
  const add = (part: Part): number => parts.push(part) - 1;
  const addBody = (bytes: string): number =>
    add({ words: [hexWord(bytes.length / 2), ...(bytes === '' ? [] : [padded(bytes)])] });
  const empty = addBody('');
  let shared: number | undefined;
  const bodyOf = ({ text: bytes, isShared }: Body): number => {
    if (!isShared) return addBody(bytes);
    shared ??= addBody(bytes);
    return shared;
  };
  const operations = bundle.operations.map((one, index): number => {
    const pair = (high: bigint, low: bigint) => hexWord((high << 128n) | low);
    const head = isPacked ? `${hexWord(60_000).slice(32)}${hexWord(0).slice(32)}` : '';
    const data = addBody(`${paymaster.slice(2)}${head}${one.data}`);
    const to = (part: number) => ({ to: part, from: 'begin' as const });
    const [callData, signature] = [bodyOf(one.callData), bodyOf(one.signature)];
    const gas = isPacked
      ? [pair(60_000n, BigInt(one.callGas)), hexWord(21_000), pair(1n, 2_000_000_000n)]
      : [one.callGas, 60_000, 21_000, 2_000_000_000, 1].map(hexWord);
    return add({
      words: [
        hexWord(BigInt(account)),
        hexWord((BigInt(one.key) * 4n + BigInt(index)) << 64n),
        to(empty),
        to(callData),
        ...gas,
        to(data),
        to(signature),
      ],
    });
  });
  const list = (of: readonly number[]): number =>
    add({ words: [hexWord(of.length), ...of.map((to) => ({ to, from: 'list' as const }))] });
  const first = bundle.isAggregated
    ? list([
        add({
          words: [
            { to: list(operations), from: 'begin' },
            // No aggregator.
            hexWord(0),
            { to: empty, from: 'begin' },
          ],
        }),
      ])
    : list(operations);
  return changed(laidOut(isPacked, bundle, parts, first), bundle.change);
}

function laidOut(
  isPacked: boolean,
  { order, gaps, isAggregated }: OddBundle,
  parts: readonly Part[],
  first: number,
): Hex {
  const sizes = parts.map(({ words }) =>
    words.reduce((sum, one) => sum + (typeof one === 'string' ? one.length / 2 : 32), 0),
  );
  const places = parts.map((_, index) => index).toSorted((a, b) => order[a]! - order[b]!);
  const begins: number[] = [];
  let end = 64;
  for (const index of places) {
    end += gaps[index]!;
    begins[index] = end;
    end += sizes[index]!;
  }
  const bytes = Buffer.alloc(end, 0xee);
  const write = (hex: string, at: number) => bytes.write(hex, at, 'hex');
  write(hexWord(begins[first]!) + hexWord(0xbe), 0);
  for (const [index, { words }] of parts.entries()) {
    let at = begins[index]!;
    for (const one of words) {
      if (typeof one === 'string') write(one, at);
      else {
        const base = begins[index]! + (one.from === 'list' ? 32 : 0);
        write(hexWord(BigInt.asUintN(256, BigInt(begins[one.to]! - base))), at);
      }
      at += typeof one === 'string' ? one.length / 2 : 32;
    }
  }
  const selector = isAggregated ? (isPacked ? 'dbed18e0' : '4b1d7cf5') : isPacked ? '765e827f' : '1fad948c';
  return `0x${selector}${bytes.toString('hex')}`;
}

function changed(data: Hex, how: Change): Hex {
  const words = Math.floor((data.length - 10) / 64);
  switch (how.kind) {
    case 'none':
      return data;
    case 'word':
    case 'set': {
      const at = 10 + 64 * (how.at % words);
      const word = BigInt(`0x${data.slice(at, at + 64)}`);
      const next = BigInt.asUintN(256, how.kind === 'set' ? how.to : word + how.by);
      return `0x${data.slice(2, at)}${hexWord(next)}${data.slice(at + 64)}`;
    }
    case 'cut':
      return `0x${data.slice(2, Math.max(10, data.length - 2 * how.bytes))}`;
    case 'more':
      return `0x${data.slice(2)}${'ee'.repeat(how.bytes)}`;
  }
}

function padded(bytes: string): string {
  return bytes.padEnd(Math.ceil(bytes.length / 64) * 64, '0');
}

/** An account and a paymaster for them: both accept everything. */
export const acceptingAccount = {
  address: toAddressKey(`0x${'ac'.repeat(20)}`),
  code: '0x600060005260206000f3' as Hex,
};
export const acceptingPaymaster = {
  address: toAddressKey(`0x${'af'.repeat(20)}`),
  code: '0x604060005260606000f3' as Hex,
};
