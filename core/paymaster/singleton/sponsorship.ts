import { personalItem } from '../signer.js';
import { bytesToHex, type Hex } from '../../units/hex.js';
import type { EntryPointVersion } from '../../entry-point/version.js';
import { encodeCall, signersCall } from '../abi.js';
import type { DecodedSponsorship, SponsorshipCodec, SponsorshipTerms } from '../layout.js';
import type { PaymasterGas } from '../../entry-point/user-operation.js';
import { maxCost } from '../../entry-point/gas.js';
import { readAddress, readBytes, readExactly, readUint48 } from '../reader.js';
import { signatureSize, appendSignature } from '../signature.js';
import { writeUint48, zeroed } from '../../units/words.js';
import { findFormat, hashToSign, type Format } from './format.js';

/**
 * Singleton paymaster, mode sponsored, for EntryPoint 0.6 (98 bytes) and 0.7 / 0.8 (130 bytes). `paymasterAndData`:
 *
 * | offset 0.6 | offset 0.7+ | width | field |
 * |---|---|---|---|
 * | 0 | 0 | 20 | paymaster |
 * | | 20 | 16 | paymasterVerificationGasLimit |
 * | | 36 | 16 | paymasterPostOpGasLimit |
 * | 20 | 52 | 1 | mode << 1 \| allowAllBundlers: always 1 (0 would bind the operation to listed bundlers) |
 * | 21 | 53 | 6 | validUntil |
 * | 27 | 59 | 6 | validAfter |
 * | 33 | 65 | 65 | signature |
 *
 * Hash = keccak(keccak(operation words) ++ chainId). Operation words, 0.6: sender, nonce, callGasLimit,
 * verificationGasLimit, preVerificationGas, maxFeePerGas, maxPriorityFeePerGas, keccak(callData), keccak(initCode),
 * keccak(paymasterAndData without signature). 0.7+: sender, nonce, accountGasLimits, preVerificationGas, gasFees,
 * keccak(initCode), keccak(callData), keccak(paymasterAndData without signature). The paymaster's address is part of the last
 * word. The contract keeps no balance per sponsor.
 */
export function sponsorshipCodec(
  version: EntryPointVersion,
  own: PaymasterGas,
  least: PaymasterGas,
): SponsorshipCodec {
  const format = findFormat(version);
  const gas = ({ paymasterGas }: SponsorshipTerms['options']): PaymasterGas => paymasterGas ?? own;
  return {
    gas,
    minGas: () => least,
    minVerificationGasLimit: 0n,
    need: (op, options) => ({ entryPoint: maxCost(op, version, gas(options)), funding: undefined }),
    hash: (op, terms) => hashToSign(format, op, unsigned(format, terms, gas(terms.options)), terms.chainId),
    toSign: personalItem,
    encode: (_op, terms, signature) =>
      appendSignature(unsigned(format, terms, gas(terms.options)), signature),
    decode: (paymasterAndData) => decode(format, paymasterAndData),
    recognise: (op, paymasterAndData, chainId) => {
      const data = readBytes(paymasterAndData);
      const size = format.headSize + tailSize;
      const isMine = data.length >= size && (data[format.headSize] ?? 0) >> 1 === 0;
      return isMine ? { hash: hashToSign(format, op, data.subarray(0, size), chainId) } : undefined;
    },
    // The contract finds the end of the data from the mode's length, so the signature may be missing here.
    getHashCall: (op, terms) =>
      encodeCall(`function getHash(uint8 mode, ${format.abiType} userOp)`, [
        0,
        format.abiValues(op, bytesToHex(unsigned(format, terms, gas(terms.options)))),
      ]),
    signerCall: signersCall,
    fundingBalanceCall: undefined,
  };
}

/** Mode 0 (sponsored) << 1 | allowAllBundlers. */
const modeByte = 1;
/** Mode byte, validUntil, validAfter. */
const tailSize = 13;

function unsigned(format: Format, terms: SponsorshipTerms, gas: PaymasterGas): Buffer {
  const data = zeroed(format.headSize + tailSize);
  format.writeHead(data, terms.paymaster, gas);
  data[format.headSize] = modeByte;
  writeUint48(data, terms.validUntil, format.headSize + 1);
  writeUint48(data, terms.validAfter, format.headSize + 7);
  return data;
}

function decode(format: Format, paymasterAndData: Hex): DecodedSponsorship {
  const signatureAt = format.headSize + tailSize;
  const data = readExactly(paymasterAndData, signatureAt + signatureSize);
  if (data[format.headSize] !== modeByte)
    throw new RangeError(`paymasterAndData must have mode byte ${modeByte}, got ${data[format.headSize]}`);
  return {
    paymaster: readAddress(data, 0),
    ...format.readGas(data),
    validUntil: readUint48(data, format.headSize + 1),
    validAfter: readUint48(data, format.headSize + 7),
    signature: bytesToHex(data.subarray(signatureAt)),
  };
}
