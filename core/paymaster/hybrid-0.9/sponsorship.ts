import { personalItem } from '../signer.js';
import { maxCost } from '../../entry-point/gas.js';
import type { FinalUserOperation, PaymasterGas } from '../../entry-point/user-operation.js';
import { entryPoint09 } from '../../entry-point/v09.js';
import { paymasterHeadSize, writePaymasterHead } from '../../entry-point/words.js';
import { bytesToHex, type Hex } from '../../units/hex.js';
import { writeHex, writeUint48, zeroed } from '../../units/words.js';
import { getBalanceCall, verifyingSignerCall } from '../abi.js';
import type { DecodedSponsorship, DepositNeed, SponsorshipCodec, SponsorshipTerms } from '../layout.js';
import { readAddress, readBytes, readExactly, readPaymasterGas, readUint48 } from '../reader.js';
import { signatureSize, appendSignature } from '../signature.js';
import { decodesTail } from '../tail.js';
import { getHashCall, hashToSign, modes, postOpFineGas } from './format.js';
import { divideUp } from '../../units/wei.js';

/**
 * `contracts/HybridPaymaster09.sol`, mode sponsored. `paymasterAndData`, 154 bytes, packed, or 164 bytes with the
 * signature in the tail:
 *
 * | offset | width | field |
 * |---|---|---|
 * | 0 | 20 | paymaster |
 * | 20 | 16 | paymasterVerificationGasLimit |
 * | 36 | 16 | paymasterPostOpGasLimit |
 * | 52 | 1 | mode: 0 |
 * | 53 | 20 | paymasterId = funding wallet |
 * | 73 | 6 | validUntil |
 * | 79 | 6 | validAfter |
 * | 85 | 4 | priceMarkup (1,000,000 means no premium) |
 * | 89 | 65 | signature |
 *
 * The hash covers everything before the signature: see `format.ts`.
 */
export const sponsorship: SponsorshipCodec = {
  gas,
  minGas: () => least,
  minVerificationGasLimit: 0n,
  need,
  hash: (op, terms) => hashToSign(op, unsigned(terms), terms.chainId),
  toSign: personalItem,
  encode: (_op, terms, signature) => appendSignature(unsigned(terms), signature),
  decode: decodesTail(decode),
  recognise: (op, paymasterAndData, chainId) => {
    const data = readBytes(paymasterAndData);
    if (data.length < signatureAt || data[paymasterHeadSize] !== modes.sponsored) return undefined;
    return {
      hash: hashToSign(op, data.subarray(0, signatureAt), chainId),
      fundingAddress: readAddress(data, 53),
    };
  },
  getHashCall: (op, terms) => getHashCall(op, unsigned(terms)),
  signerCall: verifyingSignerCall,
  fundingBalanceCall: getBalanceCall,
};

/**
 * Validation uses about 31,000 gas, postOp about 10,000, and 22,000 more when it credits the first premium. No fine
 * falls on up to 40,000.
 */
const own: PaymasterGas = { paymasterVerificationGasLimit: 50_000n, paymasterPostOpGasLimit: 40_000n };
const least: PaymasterGas = { ...own, paymasterVerificationGasLimit: 26_500n };

function gas({ paymasterGas }: SponsorshipTerms['options']): PaymasterGas {
  return paymasterGas ?? own;
}

/** The contract's own `unaccountedGas`. */
const overheadGas = 10_000n;
const signatureAt = 89;

/** What the contract takes from the sponsor in validation, rounded up: at most 1 wei more than that. */
function need(op: FinalUserOperation, options: SponsorshipTerms['options']): DepositNeed {
  const prefund = maxCost(op, entryPoint09.version, gas(options));
  const marked = divideUp(
    (prefund + overheadGas * op.maxFeePerGas) * BigInt(options.priceMarkup),
    1_000_000n,
  );
  return {
    entryPoint: prefund,
    funding: marked + postOpFineGas(gas(options).paymasterPostOpGasLimit) * op.maxFeePerGas,
  };
}

function unsigned(terms: SponsorshipTerms): Buffer {
  const data = zeroed(signatureAt);
  writePaymasterHead(data, terms.paymaster, gas(terms.options));
  data[paymasterHeadSize] = modes.sponsored;
  writeHex(data, terms.fundingAddress, 53);
  writeUint48(data, terms.validUntil, 73);
  writeUint48(data, terms.validAfter, 79);
  data.writeUInt32BE(terms.options.priceMarkup, 85);
  return data;
}

function decode(paymasterAndData: Hex): DecodedSponsorship {
  const data = readExactly(paymasterAndData, signatureAt + signatureSize);
  if (data[paymasterHeadSize] !== modes.sponsored)
    throw new RangeError(
      `paymasterAndData must be of mode ${modes.sponsored}, got ${data[paymasterHeadSize]}`,
    );
  return {
    paymaster: readAddress(data, 0),
    paymasterGas: readPaymasterGas(data),
    fundingAddress: readAddress(data, 53),
    validUntil: readUint48(data, 73),
    validAfter: readUint48(data, 79),
    priceMarkup: data.readUInt32BE(85),
    signature: bytesToHex(data.subarray(signatureAt)),
  };
}
