import { entryPoint06 } from '../../entry-point/v06.js';
import { keccak256 } from '../../crypto/keccak.js';
import { personalItem } from '../signer.js';
import { bytesToHex, type Hex } from '../../units/hex.js';
import type { FinalUserOperation } from '../../entry-point/user-operation.js';
import type { DecodedSponsorship, MinedPromise, SponsorshipCodec, SponsorshipTerms } from '../layout.js';
import { noPaymasterGas, maxCost } from '../../entry-point/gas.js';
import {
  expectZero,
  readAddress,
  readAddressWord,
  readBytes,
  readExactly,
  readUint48,
  readUint48Word,
} from '../reader.js';
import { assertSignature, signatureSize } from '../signature.js';
import { encodeCall, getBalanceCall, verifyingSignerCall } from '../abi.js';
import { userOperation06, userOperation06Values } from '../../entry-point/unpacked.js';
import { writeAddressWord, writeHex, writeUint48, zeroed } from '../../units/words.js';
import { writeScoped06 } from '../words.js';

/**
 * Vendor sponsorship paymaster 1.1.0, EntryPoint 0.6. `paymasterAndData`, 276 bytes:
 *
 * | offset | width | field |
 * |---|---|---|
 * | 0 | 20 | paymaster |
 * | 20 | 32 | paymasterId = funding wallet, left-padded |
 * | 52 | 32 | validUntil |
 * | 84 | 32 | validAfter |
 * | 116 | 32 | 128: offset of the signature |
 * | 148 | 32 | 65: its length |
 * | 180 | 65 | signature |
 * | 245 | 31 | zero |
 *
 * Hash = keccak of 14 words: sender, nonce, keccak(initCode), keccak(callData), callGasLimit, verificationGasLimit,
 * preVerificationGas, maxFeePerGas, maxPriorityFeePerGas, chainId, paymaster, paymasterId, validUntil, validAfter.
 */
export const sponsorship: SponsorshipCodec = {
  gas: () => noPaymasterGas,
  minGas: () => noPaymasterGas,
  // The vendor's contract accepts any limit: with too little gas validation fails and nobody pays. The contract in
  // `contracts/`, which takes the same bytes, requires more than the 15,000 gas of its postOp, because this limit
  // bounds postOp too.
  minVerificationGasLimit: 15_001n,
  need: (op) => {
    const prefund = maxCost(op, entryPoint06.version, noPaymasterGas);
    // Validation compares the sponsor's balance with the same prefund that the EntryPoint requires from the contract.
    return { entryPoint: prefund, funding: prefund };
  },
  hash,
  toSign: personalItem,
  encode,
  decode,
  recognise,
  getHashCall,
  signerCall: verifyingSignerCall,
  fundingBalanceCall: getBalanceCall,
};

const size = 276;
const termsEnd = 116;

/** The hashed terms: as `SponsorshipTerms`, with any form of address. */
type HashedTerms = Omit<SponsorshipTerms, 'paymaster' | 'options'> & { readonly paymaster: Hex };

function hash(op: FinalUserOperation, terms: HashedTerms): Uint8Array {
  const words = zeroed(14 * 32);
  writeScoped06(words, op, terms);
  writeAddressWord(words, terms.fundingAddress, 352);
  writeUint48(words, terms.validUntil, 384 + 26);
  writeUint48(words, terms.validAfter, 416 + 26);
  return keccak256(words);
}

function encode(_op: FinalUserOperation, terms: SponsorshipTerms, signature: Uint8Array): Hex {
  assertSignature(signature);
  const data = zeroed(size);
  writeHex(data, terms.paymaster, 0);
  writeAddressWord(data, terms.fundingAddress, 20);
  writeUint48(data, terms.validUntil, 52 + 26);
  writeUint48(data, terms.validAfter, 84 + 26);
  data[147] = 128;
  data[179] = signatureSize;
  data.set(signature, 180);
  return bytesToHex(data);
}

function decode(paymasterAndData: Hex): DecodedSponsorship {
  const data = readExactly(paymasterAndData, size);
  expectZero(data, 116, 147);
  expectZero(data, 148, 179);
  expectZero(data, 245, size);
  if (data[147] !== 128 || data[179] !== signatureSize)
    throw new RangeError('paymasterAndData must hold one 65-byte signature at offset 128 of its tail');
  return {
    paymaster: readAddress(data, 0),
    fundingAddress: readAddressWord(data, 20),
    validUntil: readUint48Word(data, 52),
    validAfter: readUint48Word(data, 84),
    signature: bytesToHex(data.subarray(180, 180 + signatureSize)),
  };
}

/** The data itself says where the signature is; the terms before it are always at the same place. */
function recognise(op: FinalUserOperation, paymasterAndData: Hex, chainId: number): MinedPromise | undefined {
  const data = readBytes(paymasterAndData);
  if (data.length < termsEnd) return undefined;
  const fundingAddress = readAddress(data, 32);
  const terms = {
    chainId,
    paymaster: readAddress(data, 0),
    fundingAddress,
    validUntil: readUint48(data, 52 + 26),
    validAfter: readUint48(data, 84 + 26),
  };
  return { hash: hash(op, terms), fundingAddress };
}

function getHashCall(op: FinalUserOperation, terms: SponsorshipTerms): Hex {
  return encodeCall(
    `function getHash(${userOperation06} userOp, address paymasterId, uint48 validUntil, uint48 validAfter)`,
    [userOperation06Values(op, '0x'), terms.fundingAddress, terms.validUntil, terms.validAfter],
  );
}
