import { inspect } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Interface, id } from 'ethers';
import fc from 'fast-check';
import { eip7702Factory } from '../../core/entry-point/eip-7702.js';
import { userOperation07, userOperation07Values } from '../../core/entry-point/packed.js';
import {
  paymasterSignatureMagic,
  splitPaymasterSignature,
  type PaymasterTail,
} from '../../core/entry-point/paymaster-signature.js';
import { userOpHash } from '../../core/entry-point/user-op-hash.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { unreachable } from '../../core/errors.js';
import { toAddressKey } from '../../core/units/address.js';
import { hexSize, type Hex } from '../../core/units/hex.js';
import { hashByViem } from '../core/entry-point/hash-by-viem.js';
import { anyBytes, anyOperation } from '../core/paymaster/operations.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';

// The hash of EntryPoint 0.9 against its canonical bytecode and viem. Where the two differ the contract is right: it is
// what accounts see.

const getUserOpHash = new Interface([`function getUserOpHash(${userOperation07} op) view returns (bytes32)`]);
const tooLong = id('InvalidPaymasterSignatureLength(uint256,uint256)').slice(0, 10);
const magic = paymasterSignatureMagic.slice(2);

let devChain: DevChain;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());

type Case = { readonly op: FinalUserOperation; readonly paymasterAndData: Hex };

const anyAuthorised = fc
  .tuple(anyOperation, anyBytes(20, 20), anyBytes(0, 40))
  .map(([op, delegate, data]): FinalUserOperation => ({
    ...op,
    initCode: `${eip7702Factory}${data.slice(2)}`,
    eip7702Auth: {
      address: toAddressKey(delegate),
      chainId: 31337n,
      nonce: 0n,
      r: `0x${'11'.repeat(32)}`,
      s: `0x${'22'.repeat(32)}`,
      yParity: 0,
    },
  }));
const anySubject = fc.oneof({ weight: 9, arbitrary: anyOperation }, { weight: 1, arbitrary: anyAuthorised });
const anyHead = anyBytes(52, 52);
const anyData = anyBytes(0, 200);
const lengthOf = (bytes: number): string => bytes.toString(16).padStart(4, '0');

type Row = {
  readonly tail: string;
  readonly bytes: fc.Arbitrary<Hex>;
  /** How the contract reads all of them; absent where it depends on the bytes. */
  readonly reads?: PaymasterTail['kind'];
};

const rows: readonly Row[] = [
  { tail: 'no tail', bytes: fc.oneof(anyBytes(0, 0), anyBytes(20, 61), anyBytes(52, 300)), reads: 'none' },
  { tail: 'a signature of 1 byte', bytes: signedWith(anyBytes(1, 1)), reads: 'signature' },
  { tail: 'a signature of 65 bytes', bytes: signedWith(anyBytes(65, 65)), reads: 'signature' },
  { tail: 'a signature of 66 bytes', bytes: signedWith(anyBytes(66, 66)), reads: 'signature' },
  { tail: 'a signature of any length', bytes: signedWith(anyBytes(1, 400)), reads: 'signature' },
  {
    tail: 'a tail after another tail',
    bytes: joined(signedWith(anyBytes(1, 80)), signature(anyBytes(1, 80))),
    reads: 'signature',
  },
  {
    tail: 'a signature of length 0',
    bytes: joined(anyHead, anyData, fc.constant(`0x0000${magic}`)),
    reads: 'none',
  },
  {
    tail: 'a length that is larger than the data',
    bytes: fc
      .tuple(anyHead, anyData, fc.integer({ min: 1, max: 300 }))
      .map(
        ([head, data, excess]): Hex => `${head}${data.slice(2)}${lengthOf(hexSize(data) + excess)}${magic}`,
      ),
    reads: 'tooLong',
  },
  {
    tail: 'the magic inside of the data',
    bytes: joined(signedWith(anyBytes(1, 100)), anyBytes(1, 80)),
    reads: 'none',
  },
  {
    tail: 'the magic without a length',
    bytes: joined(anyHead, anyData, fc.constant(paymasterSignatureMagic)),
  },
  {
    tail: 'the magic in fewer than 62 bytes',
    bytes: joined(anyBytes(20, 53), fc.constant(paymasterSignatureMagic)),
    reads: 'none',
  },
];

function signature(bytes: fc.Arbitrary<Hex>): fc.Arbitrary<Hex> {
  return bytes.map((text): Hex => `${text}${lengthOf(hexSize(text))}${magic}`);
}

function signedWith(bytes: fc.Arbitrary<Hex>): fc.Arbitrary<Hex> {
  return joined(anyHead, anyData, signature(bytes));
}

function joined(...parts: readonly fc.Arbitrary<Hex>[]): fc.Arbitrary<Hex> {
  return fc.tuple(...parts).map((texts): Hex => `0x${texts.map((text) => text.slice(2)).join('')}`);
}

const perRow = 1_000;
const perBatch = 250;

test('10,000 operations or more are compared', () => {
  expect(rows.length * perRow).toBeGreaterThanOrEqual(10_000);
});

test.each(rows)(
  'with $tail the hash is the contract’s, and viem’s where the two agree',
  async ({ bytes, reads }) => {
    const cases = fc.sample(fc.record({ op: anySubject, paymasterAndData: bytes }), perRow);
    for (let at = 0; at < perRow; at += perBatch) {
      const batch = cases.slice(at, at + perBatch);
      const hashes = await byContract(batch);
      for (const [index, each] of batch.entries()) compare(each, hashes[index], reads);
    }
  },
);

/** Throws an error that shows the operation where the hashes are not as they should be. */
function compare(each: Case, contract: Hex | undefined, reads: Row['reads']): void {
  const { op, paymasterAndData } = each;
  const { chainId, deployments } = devChain;
  const differs = (what: string): Error => new Error(`${what}: ${inspect({ ...each, contract })}`);
  const entryPoint = deployments.entryPoints['0.9'];
  if (userOpHash(op, paymasterAndData, { version: '0.9', entryPoint, chainId }) !== contract)
    throw differs('our hash is not the contract’s');
  const tail = splitPaymasterSignature(paymasterAndData);
  if (reads !== undefined && tail.kind !== reads) throw differs(`read as ${tail.kind}, not as ${reads}`);
  // viem has no form for a head that is cut off.
  if (paymasterAndData !== '0x' && hexSize(paymasterAndData) < 52) return;

  const whole = () => hashByViem(op, paymasterAndData, '0.9', chainId);
  switch (tail.kind) {
    case 'signature': {
      // As a separate field viem leaves the signature out, as the contract does; inside of paymasterData it does not.
      const byField = hashByViem(op, tail.data, '0.9', chainId, tail.signature);
      if (byField !== contract) throw differs('viem’s hash of the field is not the contract’s');
      if (whole() === contract) throw differs('viem has hashed the data as the contract does');
      return;
    }
    case 'tooLong':
      if (contract !== undefined) throw differs('the contract has not refused the length');
      return;
    case 'none': {
      if (whole() !== contract) throw differs('viem’s hash is not the contract’s');
      if (!paymasterAndData.endsWith(`0000${magic}`)) return;
      // Of an empty signature viem leaves out the length, too, and the contract does not.
      const data: Hex = `0x${paymasterAndData.slice(2, -20)}`;
      if (hashByViem(op, data, '0.9', chainId, '0x') === contract)
        throw differs('viem has hashed an empty signature as the contract does');
      return;
    }
    default:
      unreachable(tail);
  }
}

/** `getUserOpHash` of the canonical bytecode; undefined where it refuses the length of the signature. */
async function byContract(cases: readonly Case[]): Promise<readonly (Hex | undefined)[]> {
  const to = devChain.deployments.entryPoints['0.9'];
  const response = await fetch(devChain.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(
      cases.map(({ op, paymasterAndData }, index) => {
        const values = userOperation07Values(op, paymasterAndData);
        const data = getUserOpHash.encodeFunctionData('getUserOpHash', [values]);
        const delegate = op.eip7702Auth?.address;
        const overrides =
          delegate === undefined ? {} : { [op.sender]: { code: `0xef0100${delegate.slice(2)}` } };
        return { jsonrpc: '2.0', id: index, method: 'eth_call', params: [{ to, data }, 'latest', overrides] };
      }),
    ),
  });
  const answers = (await response.json()) as readonly Answer[];
  const byId = new Map(answers.map((answer) => [answer.id, answer]));
  return cases.map((each, index) => {
    const answer = byId.get(index);
    if (answer?.result !== undefined) return answer.result;
    if (answer?.error?.data?.startsWith(tooLong) === true) return undefined;
    throw new Error(`the contract has answered ${inspect(answer)} for ${inspect(each)}`);
  });
}

type Answer = {
  readonly id: number;
  readonly result?: Hex;
  readonly error?: { readonly message: string; readonly data?: string };
};
