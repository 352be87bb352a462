import type { RecoverAddress } from '../../core/paymaster/signer.js';
import type { Address } from '../../core/units/address.js';
import { bytesToHex, hexToBytes, hexWord, type Hex } from '../../core/units/hex.js';
import { CallFailed } from './call-failed.js';

/** Order of secp256k1. */
const n = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/**
 * r‖s (64 bytes) of a remote signer as 65 bytes r‖s‖v with low s, which our account must have signed. Clouds answer no recovery id, and
 * every second s is high; contracts refuse that. Throws CallFailed `unclear` for anything else: who answers wrongly may have signed, too.
 */
export function checkedSignature(
  rs: Uint8Array,
  {
    digest,
    address,
    recover,
  }: { readonly digest: Uint8Array; readonly address: Address; readonly recover: RecoverAddress },
): Uint8Array {
  if (rs.length !== 64) throw new CallFailed('unclear', 'it answers what is not a signature');
  const r = BigInt(bytesToHex(rs.subarray(0, 32)));
  const s = BigInt(bytesToHex(rs.subarray(32)));
  if (r === 0n || r >= n || s === 0n || s >= n)
    throw new CallFailed('unclear', 'it answers what is not a signature');
  const low: Hex = `0x${hexWord(r)}${hexWord(s > n / 2n ? n - s : s)}`;
  const signature = hexToBytes(low);
  for (const yParity of [0, 1] as const)
    if (recover(digest, signature, yParity) === address) return Uint8Array.of(...signature, 27 + yParity);
  throw new CallFailed('unclear', `it does not sign with the key of ${address}`);
}

/**
 * r‖s of a signature as clouds answer it (DER): `30 len 02 len r 02 len s`, both integers big-endian, with a zero byte in front of a high bit.
 * Throws CallFailed `unclear`.
 */
export function readDerSignature(der: Uint8Array): Uint8Array {
  const whole = readElement(der, 0x30);
  const r = readElement(whole.content, 0x02);
  const s = readElement(r.rest, 0x02);
  if (whole.rest.length > 0 || s.rest.length > 0) throw notDer();
  const signature = new Uint8Array(64);
  for (const [end, { content }] of [
    [32, r],
    [64, s],
  ] as const) {
    const digits = content[0] === 0 ? content.subarray(1) : content;
    if (digits.length > 32) throw notDer();
    signature.set(digits, end - digits.length);
  }
  return signature;
}

/** Of at most 127 bytes: a signature has 72. */
function readElement(bytes: Uint8Array, tag: number) {
  const length = bytes[1] ?? 0x80;
  if (bytes[0] !== tag || length >= 0x80 || bytes.length < 2 + length) throw notDer();
  return { content: bytes.subarray(2, 2 + length), rest: bytes.subarray(2 + length) };
}

const notDer = () => new CallFailed('unclear', 'it answers what is not a signature');
