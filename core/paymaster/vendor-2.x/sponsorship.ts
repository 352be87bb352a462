import { entryPoint07 } from '../../entry-point/v07.js';
import { keccak256 } from '../../crypto/keccak.js';
import { personalItem } from '../signer.js';
import { bytesToHex, type Hex } from '../../units/hex.js';
import type { FinalUserOperation, PaymasterGas } from '../../entry-point/user-operation.js';
import { encodeCall, getBalanceCall, unsignedOperation07Values, verifyingSignerCall } from '../abi.js';
import { userOperation07 } from '../../entry-point/packed.js';
import type { DepositNeed, MinedPromise, SponsorshipCodec, SponsorshipTerms } from '../layout.js';
import { maxCost } from '../../entry-point/gas.js';
import { readAddress, readBytes, readExactly, readPaymasterGas, readUint48 } from '../reader.js';
import { assertSignature, signatureSize } from '../signature.js';
import { paymasterHeadSize, writePaymasterHead } from '../../entry-point/words.js';
import { writeAddressWord, writeHex, writeUint48, zeroed } from '../../units/words.js';
import { writeScoped07 } from '../words.js';
import { divideUp } from '../../units/wei.js';

type Options = SponsorshipTerms['options'];

/**
 * Vendor sponsorship paymaster 2.x, EntryPoint 0.7. `paymasterAndData`, 153 bytes, packed:
 *
 * | offset | width | field |
 * |---|---|---|
 * | 0 | 20 | paymaster |
 * | 20 | 16 | paymasterVerificationGasLimit |
 * | 36 | 16 | paymasterPostOpGasLimit |
 * | 52 | 20 | paymasterId = funding wallet |
 * | 72 | 6 | validUntil |
 * | 78 | 6 | validAfter |
 * | 84 | 4 | priceMarkup (1,000,000 means no premium) |
 * | 88 | 65 | signature |
 *
 * Hash = keccak of 14 words: sender, nonce, keccak(initCode), keccak(callData), accountGasLimits, the 32 bytes @20,
 * preVerificationGas, gasFees, chainId, paymaster, paymasterId, validUntil, validAfter, priceMarkup.
 */
export function sponsorshipCodec(
  own: (options: Options) => PaymasterGas,
  minValidationGas: bigint,
): SponsorshipCodec {
  const gas = (options: Options): PaymasterGas => options.paymasterGas ?? own(options);
  return {
    gas,
    minGas: (options) => ({ ...own(options), paymasterVerificationGasLimit: minValidationGas }),
    minVerificationGasLimit: 0n,
    need: (op, options) => need(op, options, gas(options)),
    hash: (op, terms) => hash(op, terms, gas(terms.options)),
    toSign: personalItem,
    encode: (_op, terms, signature) => encode(terms, gas(terms.options), signature),
    decode,
    recognise,
    getHashCall: (op, terms) => getHashCall(op, terms, gas(terms.options)),
    signerCall: verifyingSignerCall,
    fundingBalanceCall: getBalanceCall,
  };
}

/** Validation uses about 28,100 gas. The contract refuses a postOp limit below its own `unaccountedGas`. */
export const sponsorship = sponsorshipCodec(
  ({ unaccountedGas }) => ({
    paymasterVerificationGasLimit: 50_000n,
    paymasterPostOpGasLimit: BigInt(Math.max(50_000, unaccountedGas)),
  }),
  28_000n,
);

const size = 153;
/** The vendor's contract also takes a signature of 64 bytes (EIP-2098). Every contract refuses data of any other length. */
const shortSize = 152;
const signatureAt = 88;

/**
 * In validation the contract takes from the sponsor the prefund and its own overhead, both with the markup, and on
 * top the EntryPoint's 10 % penalty on all execution gas, which it never gives back. Rounded up: our need may exceed
 * the contract's by 2 wei, but is never lower.
 */
function need(op: FinalUserOperation, options: Options, gas: PaymasterGas): DepositNeed {
  const prefund = maxCost(op, entryPoint07.version, gas);
  const overhead = BigInt(options.unaccountedGas) * op.maxFeePerGas;
  const marked = divideUp((prefund + overhead) * BigInt(options.priceMarkup), 1_000_000n);
  const penalty = divideUp(10n * (op.callGasLimit + gas.paymasterPostOpGasLimit) * op.maxFeePerGas, 100n);
  return { entryPoint: prefund, funding: marked + penalty };
}

/** The hashed terms: as `SponsorshipTerms`, with any form of address. */
type HashedTerms = Omit<SponsorshipTerms, 'paymaster' | 'options'> & {
  readonly paymaster: Hex;
  readonly options: Pick<Options, 'priceMarkup'>;
};

function hash(op: FinalUserOperation, terms: HashedTerms, gas: PaymasterGas): Uint8Array {
  const words = zeroed(14 * 32);
  writeScoped07(words, op, terms, gas);
  writeAddressWord(words, terms.fundingAddress, 320);
  writeUint48(words, terms.validUntil, 352 + 26);
  writeUint48(words, terms.validAfter, 384 + 26);
  words.writeUInt32BE(terms.options.priceMarkup, 416 + 28);
  return keccak256(words);
}

function encode(terms: SponsorshipTerms, gas: PaymasterGas, signature: Uint8Array): Hex {
  assertSignature(signature);
  const data = zeroed(size);
  writePaymasterHead(data, terms.paymaster, gas);
  writeHex(data, terms.fundingAddress, paymasterHeadSize);
  writeUint48(data, terms.validUntil, 72);
  writeUint48(data, terms.validAfter, 78);
  data.writeUInt32BE(terms.options.priceMarkup, 84);
  data.set(signature, signatureAt);
  return bytesToHex(data);
}

function decode(paymasterAndData: Hex) {
  const data = readExactly(paymasterAndData, size);
  return {
    paymaster: readAddress(data, 0),
    paymasterGas: readPaymasterGas(data),
    fundingAddress: readAddress(data, paymasterHeadSize),
    validUntil: readUint48(data, 72),
    validAfter: readUint48(data, 78),
    priceMarkup: data.readUInt32BE(84),
    signature: bytesToHex(data.subarray(signatureAt, signatureAt + signatureSize)),
  };
}

function recognise(op: FinalUserOperation, paymasterAndData: Hex, chainId: number): MinedPromise | undefined {
  const data = readBytes(paymasterAndData);
  if (data.length !== size && data.length !== shortSize) return undefined;
  const fundingAddress = readAddress(data, paymasterHeadSize);
  const terms = {
    chainId,
    paymaster: readAddress(data, 0),
    fundingAddress,
    validUntil: readUint48(data, 72),
    validAfter: readUint48(data, 78),
    options: { priceMarkup: data.readUInt32BE(84) },
  };
  return { hash: hash(op, terms, readPaymasterGas(data)), fundingAddress };
}

function getHashCall(op: FinalUserOperation, terms: SponsorshipTerms, gas: PaymasterGas): Hex {
  return encodeCall(
    `function getHash(${userOperation07} userOp, address paymasterId, uint48 validUntil, uint48 validAfter, uint32 priceMarkup)`,
    [
      unsignedOperation07Values(op, terms.paymaster, gas),
      terms.fundingAddress,
      terms.validUntil,
      terms.validAfter,
      terms.options.priceMarkup,
    ],
  );
}
