import { entryPoint07 } from '../../entry-point/v07.js';
import { keccak256 } from '../../crypto/keccak.js';
import { personalItem } from '../signer.js';
import { toAddressKey, type AddressKey } from '../../units/address.js';
import { bytesToHex, type Hex } from '../../units/hex.js';
import { maxCost, requiredGas } from '../../entry-point/gas.js';
import type { FinalUserOperation, PaymasterGas } from '../../entry-point/user-operation.js';
import { encodeCall, tokenAccountCall, unsignedOperation07Values, verifyingSignerCall } from '../abi.js';
import { userOperation07 } from '../../entry-point/packed.js';
import type { DecodedTokenPayment, DepositNeed, MinedPromise, TokenCodec, TokenTerms } from '../layout.js';
import { readAddress, readBytes, readExactly, readPaymasterGas, readUint256, readUint48 } from '../reader.js';
import { assertSignature, signatureSize } from '../signature.js';
import { chargeReader, paidGasInTokens } from '../token-charge.js';
import { assertTokenTerms, markupField, readMarkupField, tokensFor } from '../token-price.js';
import { paymasterHeadSize, writePaymasterHead } from '../../entry-point/words.js';
import { writeAddressWord, writeHex, writeUint256, writeUint48, zeroed } from '../../units/words.js';
import { writeScoped07 } from '../words.js';
import { divideUp } from '../../units/wei.js';

/**
 * Vendor token paymaster 2.x, deployed revision, EntryPoint 0.7. `paymasterAndData`, 186 bytes, packed:
 *
 * | offset | width | field |
 * |---|---|---|
 * | 0 | 20 | paymaster |
 * | 20 | 16 | paymasterVerificationGasLimit |
 * | 36 | 16 | paymasterPostOpGasLimit |
 * | 52 | 1 | mode: always 0, external (1 carries no signature and is never written) |
 * | 53 | 6 | validUntil |
 * | 59 | 6 | validAfter |
 * | 65 | 20 | token |
 * | 85 | 32 | tokenPrice: base units per 10^18 wei |
 * | 117 | 4 | priceMarkup; highest bit: taken in validation or refused, which only `contracts/` knows |
 * | 121 | 65 | signature |
 *
 * Hash = keccak of 15 words: sender, nonce, keccak(initCode), keccak(callData), accountGasLimits, the 32 bytes @20,
 * preVerificationGas, gasFees, chainId, paymaster, validUntil, validAfter, token, tokenPrice, priceMarkup. The
 * contract takes the tokens after the call. It bounds neither markup nor price, and asks an oracle when the price is
 * 0.
 */
export function tokenCodec(gas: PaymasterGas): TokenCodec {
  return {
    gas: () => gas,
    minVerificationGasLimit: 0n,
    validationGas: () => 0n,
    validatesBalance: true,
    namesTreasury: false,
    hash: (op, terms) => hash(op, terms, gas),
    toSign: personalItem,
    encode: (_op, terms, signature) => encode(terms, gas, signature),
    decode,
    recognise,
    unsigned: (paymaster, token) => unsignedData(paymaster, token, gas),
    getHashCall: (op, terms) => getHashCall(op, terms, gas),
    signerCall: verifyingSignerCall,
    need: (op) => need(op, gas),
    residual: () => 0n,
    tokenAccountCall,
    receivers: ({ paymaster }) => [toAddressKey(paymaster)],
    receiverCalls: [tokenAccountCall],
    maxTokenCharge: (op, terms) => maxTokenCharge(op, terms, gas),
    unpricedGas: 0n,
    ...chargeReader([paidGasInTokens]),
  };
}

/**
 * Validation uses about 20,000 gas in the vendor's contract and 90,000 in the one in `contracts/`, which may take the
 * tokens there; postOp 44,000 or more. The vendor's estimators give it 95,000.
 */
export const token = tokenCodec({
  paymasterVerificationGasLimit: 90_000n,
  paymasterPostOpGasLimit: 100_000n,
});

/** Gas charged on top of what the EntryPoint reports: 95,000 by the vendor's deployments, 60,000 by `contracts/`. */
const overheadGas = 95_000n;
/** What the contract in `contracts/` takes from its token account on top of the prefund. */
const hybridOverheadGas = 60_000n;
const size = 186;
const signatureAt = 121;
/**
 * In this mode the vendor's contract accepts an operation from anyone: its data end after the token, and nobody signs
 * them. It refuses data of any other length, and so does every contract of this layout.
 */
const independentMode = 1;
const independentSize = 73;
/** The vendor's contract also takes a signature of 64 bytes (EIP-2098). */
const shortSize = 185;

/** The EntryPoint's fine for unused gas, assuming that all of it is unused: contracts charge this in advance. */
function fineGas(op: FinalUserOperation, gas: PaymasterGas): bigint {
  return divideUp(op.callGasLimit + gas.paymasterPostOpGasLimit, 10n);
}

function need(op: FinalUserOperation, gas: PaymasterGas): DepositNeed {
  const prefund = maxCost(op, entryPoint07.version, gas);
  return {
    entryPoint: prefund,
    funding: prefund + (hybridOverheadGas + fineGas(op, gas)) * op.maxFeePerGas,
  };
}

function maxTokenCharge(op: FinalUserOperation, terms: TokenTerms, gas: PaymasterGas): bigint {
  assertTokenTerms(terms);
  const charged = requiredGas(op, entryPoint07.version, gas) + overheadGas + fineGas(op, gas);
  return tokensFor(charged * op.maxFeePerGas, terms.exchangeRate, terms.priceMarkup);
}

function hash(op: FinalUserOperation, terms: TokenTerms, gas: PaymasterGas): Uint8Array {
  assertTokenTerms(terms);
  return hashTerms(op, terms, gas);
}

/** The hashed terms: as `TokenTerms`, with any form of address. */
type HashedTerms = Omit<TokenTerms, 'paymaster' | 'options'> & { readonly paymaster: Hex };

function hashTerms(op: FinalUserOperation, terms: HashedTerms, gas: PaymasterGas): Uint8Array {
  const words = zeroed(15 * 32);
  writeScoped07(words, op, terms, gas);
  writeUint48(words, terms.validUntil, 320 + 26);
  writeUint48(words, terms.validAfter, 352 + 26);
  writeAddressWord(words, terms.token, 384);
  writeUint256(words, terms.exchangeRate, 416);
  words.writeUInt32BE(markupField(terms), 448 + 28);
  return keccak256(words);
}

function encode(terms: TokenTerms, gas: PaymasterGas, signature: Uint8Array): Hex {
  assertTokenTerms(terms);
  assertSignature(signature);
  const data = zeroed(size);
  writePaymasterHead(data, terms.paymaster, gas);
  writeUint48(data, terms.validUntil, 53);
  writeUint48(data, terms.validAfter, 59);
  writeHex(data, terms.token, 65);
  writeUint256(data, terms.exchangeRate, 85);
  data.writeUInt32BE(markupField(terms), 117);
  data.set(signature, signatureAt);
  return bytesToHex(data);
}

function unsignedData(paymaster: Hex, token: AddressKey, gas: PaymasterGas): Hex {
  const data = zeroed(independentSize);
  writePaymasterHead(data, paymaster, gas);
  data[paymasterHeadSize] = independentMode;
  writeHex(data, token, 53);
  return bytesToHex(data);
}

function decode(paymasterAndData: Hex): DecodedTokenPayment {
  const data = readExactly(paymasterAndData, size);
  if (data[paymasterHeadSize] !== 0)
    throw new RangeError(`paymasterAndData must be of mode 0, got ${data[paymasterHeadSize]}`);
  return {
    paymaster: readAddress(data, 0),
    paymasterGas: readPaymasterGas(data),
    validUntil: readUint48(data, 53),
    validAfter: readUint48(data, 59),
    token: readAddress(data, 65),
    exchangeRate: readUint256(data, 85),
    ...readMarkupField(data.readUInt32BE(117)),
    signature: bytesToHex(data.subarray(signatureAt, signatureAt + signatureSize)),
  };
}

function recognise(
  op: FinalUserOperation,
  paymasterAndData: Hex,
  chainId: number,
): MinedPromise | 'unsigned' | undefined {
  const data = readBytes(paymasterAndData);
  const mode = data[paymasterHeadSize];
  if (data.length === independentSize && mode === independentMode) return 'unsigned';
  if ((data.length !== size && data.length !== shortSize) || mode !== 0) return undefined;
  const terms = {
    chainId,
    paymaster: readAddress(data, 0),
    validUntil: readUint48(data, 53),
    validAfter: readUint48(data, 59),
    token: readAddress(data, 65),
    exchangeRate: readUint256(data, 85),
    priceMarkup: data.readUInt32BE(117),
  };
  return { hash: hashTerms(op, terms, readPaymasterGas(data)) };
}

function getHashCall(op: FinalUserOperation, terms: TokenTerms, gas: PaymasterGas): Hex {
  return encodeCall(
    `function getHash(${userOperation07} userOp, uint48 validUntil, uint48 validAfter, address tokenAddress, uint256 tokenPrice, uint32 priceMarkup)`,
    [
      unsignedOperation07Values(op, terms.paymaster, gas),
      terms.validUntil,
      terms.validAfter,
      terms.token,
      terms.exchangeRate,
      markupField(terms),
    ],
  );
}
