import type { AddressKey } from '../units/address.js';
import type { Hex } from '../units/hex.js';
import type { MinedUserOperation } from '../entry-point/handle-ops.js';
import { digestOf } from './digest.js';
import type { Layout, Recognise } from './layout.js';

/** One way to read a mined operation: the promise that it would carry. */
export type Reading = {
  readonly mode: 'SPONSORED' | 'ERC20';
  readonly digest: Hex;
  /** Funding wallet in the data, in layouts that have one. */
  readonly fundingAddress?: AddressKey;
  /** Wei; see `MinedPromise`. */
  readonly paidInAdvance?: bigint;
};

/** The modes that a paymaster contract is used in: one, or both at one address. */
export type ContractModes = Partial<Pick<Layout, 'sponsorship' | 'token'>>;

/**
 * The promises that a mined operation may carry, by each way to read its bytes: usually one. `unsigned`: the contract took the data without a
 * signature, so nobody here has promised anything.
 */
export function recognise(
  modes: readonly ContractModes[],
  op: MinedUserOperation,
  chainId: number,
): readonly Reading[] | 'unsigned' {
  const found = readEach(modes, op, chainId);
  const readings = found.flatMap(({ reading }) => (reading === 'unsigned' ? [] : [reading]));
  if (readings.length < found.length) return 'unsigned';
  const exact = found.flatMap(({ reading, codec }) =>
    reading !== 'unsigned' && decodes(codec, op.paymasterAndData) ? [reading] : [],
  );
  return exact.length > 0 ? exact : readings;
}

/**
 * The same where it is not known which of these contracts it is: every way to read the bytes, also those that another contract
 * would take without a signature. Most are of nobody's promise; only a digest that was promised says anything.
 */
export function recogniseAny(
  modes: readonly ContractModes[],
  op: MinedUserOperation,
  chainId: number,
): readonly Reading[] {
  return readEach(modes, op, chainId).flatMap(({ reading }) => (reading === 'unsigned' ? [] : [reading]));
}

type Codec = { readonly decode: (data: Hex) => unknown; readonly recognise: Recognise };
type Found = { readonly codec: Codec; readonly reading: Reading | 'unsigned' };

function readEach(
  modes: readonly ContractModes[],
  op: MinedUserOperation,
  chainId: number,
): readonly Found[] {
  const codecs = modes.flatMap(({ sponsorship, token }) => [
    { mode: 'SPONSORED' as const, codec: sponsorship },
    { mode: 'ERC20' as const, codec: token },
  ]);
  return codecs.flatMap(({ mode, codec }): readonly Found[] => {
    const found = codec?.recognise(op, op.paymasterAndData, chainId);
    if (codec === undefined || found === undefined) return [];
    if (found === 'unsigned') return [{ codec, reading: found }];
    const { hash, ...rest } = found;
    return [{ codec, reading: { mode, digest: digestOf(hash), ...rest } }];
  });
}

/** Contracts with both modes tell them apart by the exact form that encoders write. */
function decodes(codec: Codec, data: Hex): boolean {
  try {
    codec.decode(data);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
