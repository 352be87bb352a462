import type { AddressKey } from '../units/address.js';
import type { Hex } from '../units/hex.js';
import type { MinedUserOperation } from '../userop/handle-ops.js';
import { digestOf } from './digest.js';
import type { Layout, Recognise } from './layout.js';

/** One way to read a mined operation: the promise that it would carry. */
export type Reading = {
  readonly mode: 'SPONSORED' | 'ERC20';
  readonly digest: Hex;
  /** Funding wallet in the data, in layouts that have one. */
  readonly fundingAddress?: AddressKey;
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
  const readings: (Reading & { readonly isExact: boolean })[] = [];
  for (const { sponsorship, token } of modes)
    for (const [mode, codec] of [
      ['SPONSORED', sponsorship],
      ['ERC20', token],
    ] as const) {
      const found = codec?.recognise(op, op.paymasterAndData, chainId);
      if (codec === undefined || found === undefined) continue;
      if (found === 'unsigned') return 'unsigned';
      const { hash, ...rest } = found;
      readings.push({ mode, digest: digestOf(hash), ...rest, isExact: decodes(codec, op.paymasterAndData) });
    }
  const exact = readings.filter(({ isExact }) => isExact);
  return (exact.length > 0 ? exact : readings).map(({ isExact: _isExact, ...reading }) => reading);
}

/** Contracts with both modes tell them apart by the exact form that encoders write. */
function decodes(
  codec: { readonly decode: (data: Hex) => unknown; readonly recognise: Recognise },
  data: Hex,
): boolean {
  try {
    codec.decode(data);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
