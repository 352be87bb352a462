import type { AddressKey } from '../units/address.js';
import type { Hex } from '../units/hex.js';
import type { MinedUserOperation } from '../entry-point/handle-ops.js';
import { toDigest } from './digest.js';
import type { Layout, Recognise } from './layout.js';

/** One possible reading of a mined operation: the promise that it would contain. */
export type Reading = {
  readonly mode: 'SPONSORED' | 'ERC20';
  readonly digest: Hex;
  /** Funding wallet in the data, in layouts that have one. */
  readonly fundingAddress?: AddressKey;
  /** Wei; see `MinedPromise`. */
  readonly paidInAdvance?: bigint;
};

/** The modes in which a paymaster contract is used: one of them, or both at one address. */
export type ContractModes = Partial<Pick<Layout, 'sponsorship' | 'token'>> & {
  /** Whether the contract was seen to accept data that nobody signed; undefined: it was not asked yet. */
  readonly acceptsUnsigned?: boolean | undefined;
};

/**
 * The promises that a mined operation may contain, one for each way to read its bytes: usually one. `unsigned`: the
 * contract accepted the data without a signature, so this service has not promised anything. Only a contract that was seen to do so
 * can have accepted them.
 */
export function recognise(
  modes: readonly ContractModes[],
  op: MinedUserOperation,
  chainId: number,
): readonly Reading[] | 'unsigned' {
  const found = readEach(modes, op, chainId);
  const readings = found.flatMap(({ reading }) => (reading === 'unsigned' ? [] : [reading]));
  if (found.some(({ reading, acceptsUnsigned }) => reading === 'unsigned' && acceptsUnsigned))
    return 'unsigned';
  const exact = found.flatMap(({ reading, codec }) =>
    reading !== 'unsigned' && decodes(codec, op.paymasterAndData) ? [reading] : [],
  );
  return exact.length > 0 ? exact : readings;
}

/**
 * As {@link recognise}, when we do not know which of these contracts it was. Answers every way to read the bytes,
 * also bytes that another contract would accept without a signature. Most readings match no promise; only a digest
 * that was promised proves anything.
 */
export function recogniseAny(
  modes: readonly ContractModes[],
  op: MinedUserOperation,
  chainId: number,
): readonly Reading[] {
  return readEach(modes, op, chainId).flatMap(({ reading }) => (reading === 'unsigned' ? [] : [reading]));
}

type Codec = { readonly decode: (data: Hex) => unknown; readonly recognise: Recognise };
type CodecReading = {
  readonly codec: Codec;
  readonly reading: Reading | 'unsigned';
  readonly acceptsUnsigned: boolean;
};

function readEach(
  modes: readonly ContractModes[],
  op: MinedUserOperation,
  chainId: number,
): readonly CodecReading[] {
  const codecs = modes.flatMap(({ sponsorship, token, acceptsUnsigned = false }) => [
    { mode: 'SPONSORED' as const, codec: sponsorship, acceptsUnsigned },
    { mode: 'ERC20' as const, codec: token, acceptsUnsigned },
  ]);
  return codecs.flatMap(({ mode, codec, acceptsUnsigned }): readonly CodecReading[] => {
    const found = codec?.recognise(op, op.paymasterAndData, chainId);
    if (codec === undefined || found === undefined) return [];
    if (found === 'unsigned') return [{ codec, reading: found, acceptsUnsigned }];
    const { hash, ...rest } = found;
    return [{ codec, reading: { mode, digest: toDigest(hash), ...rest }, acceptsUnsigned }];
  });
}

/** Whether the data has exactly the form that our encoder writes: this separates the two modes of one contract. */
function decodes(codec: Codec, data: Hex): boolean {
  try {
    codec.decode(data);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
