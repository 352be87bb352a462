import type { MinedUserOperation } from '../entry-point/handle-ops.js';
import type { Address } from '../units/address.js';
import { bytesToHex, hexToBytes, type Hex } from '../units/hex.js';
import { toDigest } from './digest.js';
import type { Layout, SponsorshipTerms } from './layout.js';
import { stubSignature } from './signature.js';
import type { RecoverAddress, SigningItem } from './signer.js';

/** What paymaster data that have exactly the form of ours show about who made them for this operation. */
export type DataReading = {
  /** As of a promise for exactly this operation. */
  readonly digest: Hex;
  /** Whether they have the signature of our stubs. */
  readonly isStub: boolean;
  /** Undefined when no account can have made the signature. */
  readonly signer: Address | undefined;
};

type Place = {
  readonly chainId: number;
  readonly contract: Address;
  readonly options: SponsorshipTerms['options'];
  readonly recover: RecoverAddress;
};

/** In mode SPONSORED; undefined for data of another form. */
export function readSponsorship(
  codec: Layout['sponsorship'],
  op: MinedUserOperation,
  place: Place,
): DataReading | undefined {
  return reading(codec, op, place, ({ paymaster, fundingAddress = paymaster, paymasterGas, ...rest }, hash) =>
    codec.toSign(hash, op, {
      ...rest,
      chainId: place.chainId,
      paymaster: place.contract,
      fundingAddress,
      options: paymasterGas === undefined ? place.options : { ...place.options, paymasterGas },
    }),
  );
}

/** In mode ERC20; undefined for data of another form. */
export function readTokenPayment(
  codec: NonNullable<Layout['token']>,
  op: MinedUserOperation,
  place: Place,
): DataReading | undefined {
  return reading(codec, op, place, ({ priceMarkup = 1_000_000, ...rest }, hash) =>
    codec.toSign(hash, op, {
      ...rest,
      priceMarkup,
      chainId: place.chainId,
      paymaster: place.contract,
      options: {},
    }),
  );
}

type Codec<Decoded> = {
  readonly decode: (data: Hex) => Decoded;
  readonly recognise: Layout['sponsorship']['recognise'];
};

function reading<Decoded extends { readonly signature: Hex }>(
  { decode, recognise }: Codec<Decoded>,
  op: MinedUserOperation,
  { chainId, recover }: Pick<Place, 'chainId' | 'recover'>,
  toSign: (decoded: Decoded, hash: Uint8Array) => SigningItem,
): DataReading | undefined {
  const found = recognise(op, op.paymasterAndData, chainId);
  if (found === undefined || found === 'unsigned') return undefined;
  try {
    const decoded = decode(op.paymasterAndData);
    const { signature } = decoded;
    const v = Number.parseInt(signature.slice(-2), 16);
    const signer =
      v === 27 || v === 28
        ? recover(toSign(decoded, found.hash).digest, hexToBytes(signature).subarray(0, 64), v === 28 ? 1 : 0)
        : undefined;
    return { digest: toDigest(found.hash), isStub: signature === bytesToHex(stubSignature()), signer };
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
