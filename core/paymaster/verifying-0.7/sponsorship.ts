import { entryPoint07 } from '../../entry-point/v07.js';
import type { EntryPointVersion } from '../../entry-point/version.js';
import { keccak256 } from '../../crypto/keccak.js';
import { personalItem } from '../signer.js';
import { bytesToHex, type Hex } from '../../units/hex.js';
import type { FinalUserOperation, PaymasterGas } from '../../entry-point/user-operation.js';
import { encodeCall, unsignedOperation07Values, verifyingSignerCall } from '../abi.js';
import { userOperation07 } from '../../entry-point/packed.js';
import type { DecodedSponsorship, MinedPromise, SponsorshipCodec, SponsorshipTerms } from '../layout.js';
import { maxCost } from '../../entry-point/gas.js';
import {
  readAddress,
  readBytes,
  readExactly,
  readPaymasterGas,
  readUint48,
  readUint48Word,
} from '../reader.js';
import { assertSignature, signatureSize } from '../signature.js';
import { writePaymasterHead } from '../../entry-point/words.js';
import { writeScoped07 } from '../words.js';
import { writeUint48, zeroed } from '../../units/words.js';

/**
 * The EntryPoint authors' VerifyingPaymaster for EntryPoint 0.7. `paymasterAndData`, 181 bytes:
 *
 * | offset | width | field |
 * |---|---|---|
 * | 0 | 20 | paymaster |
 * | 20 | 16 | paymasterVerificationGasLimit |
 * | 36 | 16 | paymasterPostOpGasLimit |
 * | 52 | 32 | validUntil |
 * | 84 | 32 | validAfter |
 * | 116 | 65 | signature |
 *
 * Hash = keccak of 12 words: sender, nonce, keccak(initCode), keccak(callData), accountGasLimits, the 32 bytes @20,
 * preVerificationGas, gasFees, chainId, paymaster, validUntil, validAfter. No balance per sponsor.
 */
export function sponsorshipCodec(
  version: EntryPointVersion,
  own: PaymasterGas,
  least: PaymasterGas,
): SponsorshipCodec {
  const gas = ({ paymasterGas }: SponsorshipTerms['options']): PaymasterGas => paymasterGas ?? own;
  return {
    gas,
    minGas: () => least,
    minVerificationGasLimit: 0n,
    need: (op, options) => ({ entryPoint: maxCost(op, version, gas(options)), funding: undefined }),
    hash: (op, terms) => hash(op, terms, gas(terms.options)),
    toSign: personalItem,
    encode: (_op, terms, signature) => encode(terms, gas(terms.options), signature),
    decode,
    recognise,
    getHashCall: (op, terms) => getHashCall(op, terms, gas(terms.options)),
    signerCall: verifyingSignerCall,
    fundingBalanceCall: undefined,
  };
}

/** Validation uses about 21,000 gas; the contract has no postOp. */
export const sponsorship = sponsorshipCodec(
  entryPoint07.version,
  {
    paymasterVerificationGasLimit: 30_000n,
    paymasterPostOpGasLimit: 0n,
  },
  { paymasterVerificationGasLimit: 18_500n, paymasterPostOpGasLimit: 0n },
);

const size = 181;
const signatureAt = 116;

/** The hashed terms: those of `SponsorshipTerms` that the contract uses, with any form of address. */
type HashedTerms = Pick<SponsorshipTerms, 'chainId' | 'validUntil' | 'validAfter'> & {
  readonly paymaster: Hex;
};

function hash(op: FinalUserOperation, terms: HashedTerms, gas: PaymasterGas): Uint8Array {
  const words = zeroed(12 * 32);
  writeScoped07(words, op, terms, gas);
  writeUint48(words, terms.validUntil, 320 + 26);
  writeUint48(words, terms.validAfter, 352 + 26);
  return keccak256(words);
}

function encode(terms: SponsorshipTerms, gas: PaymasterGas, signature: Uint8Array): Hex {
  assertSignature(signature);
  const data = zeroed(size);
  writePaymasterHead(data, terms.paymaster, gas);
  writeUint48(data, terms.validUntil, 52 + 26);
  writeUint48(data, terms.validAfter, 84 + 26);
  data.set(signature, signatureAt);
  return bytesToHex(data);
}

function decode(paymasterAndData: Hex): DecodedSponsorship {
  const data = readExactly(paymasterAndData, size);
  return {
    paymaster: readAddress(data, 0),
    paymasterGas: readPaymasterGas(data),
    validUntil: readUint48Word(data, 52),
    validAfter: readUint48Word(data, 84),
    signature: bytesToHex(data.subarray(signatureAt, signatureAt + signatureSize)),
  };
}

function recognise(op: FinalUserOperation, paymasterAndData: Hex, chainId: number): MinedPromise | undefined {
  const data = readBytes(paymasterAndData);
  if (data.length < signatureAt) return undefined;
  const terms = {
    chainId,
    paymaster: readAddress(data, 0),
    validUntil: readUint48(data, 52 + 26),
    validAfter: readUint48(data, 84 + 26),
  };
  return { hash: hash(op, terms, readPaymasterGas(data)) };
}

function getHashCall(op: FinalUserOperation, terms: SponsorshipTerms, gas: PaymasterGas): Hex {
  return encodeCall(`function getHash(${userOperation07} userOp, uint48 validUntil, uint48 validAfter)`, [
    unsignedOperation07Values(op, terms.paymaster, gas),
    terms.validUntil,
    terms.validAfter,
  ]);
}
