import { entryPoint06 } from '../../entry-point/v06.js';
import { keccak256 } from '../../crypto/keccak.js';
import { personalItem } from '../signer.js';
import { toAddressKey, zeroAddress } from '../../units/address.js';
import { bytesToHex, type Hex } from '../../units/hex.js';
import { maxCost, noPaymasterGas, requiredGas } from '../../entry-point/gas.js';
import type { FinalUserOperation } from '../../entry-point/user-operation.js';
import { encodeCall, feeReceiverCall, tokenAccountCall, verifyingSignerCall } from '../abi.js';
import { userOperation06, userOperation06Values } from '../../entry-point/unpacked.js';
import type { DecodedTokenPayment, MinedPromise, TokenCodec, TokenTerms } from '../layout.js';
import {
  expectZero,
  readAddress,
  readAddressWord,
  readBytes,
  readExactly,
  readUint256,
  readUint48Word,
} from '../reader.js';
import { assertSignature, signatureSize } from '../signature.js';
import { chargeReader, paidGasInTokens } from '../token-charge.js';
import { assertTokenTerms, markupField, readMarkupField, tokensFor } from '../token-price.js';
import { writeAddressWord, writeHex, writeUint256, writeUint48, zeroed } from '../../units/words.js';
import { writeScoped06 } from '../words.js';

/**
 * Vendor token paymaster 1.x, EntryPoint 0.6. `paymasterAndData`, 278 bytes:
 *
 * | offset | width | field |
 * |---|---|---|
 * | 0 | 20 | paymaster |
 * | 20 | 1 | priceSource: always 0, the signed rate (1 would ask the oracle aggregator) |
 * | 21 | 32 | validUntil |
 * | 53 | 32 | validAfter |
 * | 85 | 32 | token |
 * | 117 | 32 | oracle aggregator: zero |
 * | 149 | 32 | exchangeRate |
 * | 181 | 32 | priceMarkup; bit 31: taken in validation or refused, which only `contracts/` knows |
 * | 213 | 65 | signature |
 *
 * Hash = keccak of 18 words: sender, nonce, keccak(initCode), keccak(callData), callGasLimit, verificationGasLimit,
 * preVerificationGas, maxFeePerGas, maxPriorityFeePerGas, chainId, paymaster, priceSource, validUntil, validAfter,
 * token, aggregator, exchangeRate, priceMarkup. Validation checks the account's balance but not its allowance; the
 * contract takes the tokens after the call.
 */
export function tokenCodec(oracleAggregator: Hex): TokenCodec {
  return {
    gas: () => noPaymasterGas,
    // Bounds postOp too. The vendor's contract requires more than 45,000, the one in `contracts/` more than 60,000.
    minVerificationGasLimit: overheadGas + 1n,
    // The contract in `contracts/` may take the tokens in validation.
    validationGas: () => 100_000n,
    namesTreasury: false,
    hash: (op, terms) => hash(op, terms, oracleAggregator),
    toSign: personalItem,
    encode: (_op, terms, signature) => encode(terms, oracleAggregator, signature),
    decode: (paymasterAndData) => decode(paymasterAndData, oracleAggregator),
    recognise,
    getHashCall: (op, terms) => getHashCall(op, terms, oracleAggregator),
    signerCall: verifyingSignerCall,
    need: (op) => {
      const prefund = maxCost(op, entryPoint06.version, noPaymasterGas);
      return { entryPoint: prefund, funding: prefund };
    },
    residual: () => 0n,
    tokenAccountCall,
    receivers: ({ paymaster }) => [toAddressKey(paymaster)],
    receiverCalls: [tokenAccountCall, feeReceiverCall],
    maxTokenCharge,
    unpricedGas: overheadGas,
    ...chargeReader([
      paidGasInTokens,
      {
        // keccak256("TokenPaymasterOperation(address,address,uint256,address,uint32,bytes32,uint256,uint8)"): account,
        // token and charge indexed; aggregator, markup, userOpHash, rate, priceSource.
        topic0: '0x7c405b9cef9e824a5cf31a09e7b8810d01d9db34ee384388f33b438608807e1a',
        token: { topic: 2 },
        amount: { topic: 3 },
        userOpHash: { word: 2 },
      },
    ]),
  };
}

/**
 * Gas charged on top of what the EntryPoint reports: 45,000 by the vendor's contract, 60,000 by the one in
 * `contracts/`.
 */
const overheadGas = 60_000n;
const size = 278;
const termsEnd = 213;

export const token = tokenCodec(zeroAddress);

/**
 * Counts verificationGasLimit three times, as the EntryPoint holds it back. In validation the vendor's contract
 * requires a balance that counts it once, but its postOp charges what was used; the contract in `contracts/` requires
 * all three. The overhead is priced at what the bundler pays, which is above maxFeePerGas only when the bundler loses
 * money by it.
 */
function maxTokenCharge(op: FinalUserOperation, terms: TokenTerms): bigint {
  assertTokenTerms(terms);
  const gas = requiredGas(op, entryPoint06.version, noPaymasterGas) + overheadGas;
  return tokensFor(gas * op.maxFeePerGas, terms.exchangeRate, terms.priceMarkup);
}

function hash(op: FinalUserOperation, terms: TokenTerms, oracleAggregator: Hex): Uint8Array {
  const words = zeroed(18 * 32);
  writeScoped06(words, op, terms);
  // Word 11 is priceSource 0.
  writeTerms(words, terms, oracleAggregator, 384);
  return keccak256(words);
}

/** Everything that is hashed besides the operation is in the data as whole words, except priceSource. */
function recognise(op: FinalUserOperation, paymasterAndData: Hex, chainId: number): MinedPromise | undefined {
  const data = readBytes(paymasterAndData);
  if (data.length < termsEnd) return undefined;
  const words = zeroed(18 * 32);
  writeScoped06(words, op, { chainId, paymaster: readAddress(data, 0) });
  words[352 + 31] = data[20] ?? 0;
  words.set(data.subarray(21, termsEnd), 384);
  return { hash: keccak256(words) };
}

/** Six words: validUntil, validAfter, token, aggregator, exchangeRate, priceMarkup. */
function writeTerms(buffer: Buffer, terms: TokenTerms, oracleAggregator: Hex, offset: number): void {
  assertTokenTerms(terms);
  writeUint48(buffer, terms.validUntil, offset + 26);
  writeUint48(buffer, terms.validAfter, offset + 32 + 26);
  writeAddressWord(buffer, terms.token, offset + 64);
  writeAddressWord(buffer, oracleAggregator, offset + 96);
  writeUint256(buffer, terms.exchangeRate, offset + 128);
  buffer.writeUInt32BE(markupField(terms), offset + 160 + 28);
}

function encode(terms: TokenTerms, oracleAggregator: Hex, signature: Uint8Array): Hex {
  assertSignature(signature);
  const data = zeroed(size);
  writeHex(data, terms.paymaster, 0);
  writeTerms(data, terms, oracleAggregator, 21);
  data.set(signature, 213);
  return bytesToHex(data);
}

function decode(paymasterAndData: Hex, oracleAggregator: Hex): DecodedTokenPayment {
  const data = readExactly(paymasterAndData, size);
  if (data[20] !== 0) throw new RangeError(`priceSource must be 0, got ${data[20]}`);
  const aggregator = readAddressWord(data, 117);
  if (aggregator !== oracleAggregator.toLowerCase())
    throw new RangeError(`the oracle aggregator must be ${oracleAggregator}, got ${aggregator}`);
  expectZero(data, 181, 181 + 28);
  return {
    paymaster: readAddress(data, 0),
    validUntil: readUint48Word(data, 21),
    validAfter: readUint48Word(data, 53),
    token: readAddressWord(data, 85),
    exchangeRate: readUint256(data, 149),
    ...readMarkupField(data.readUInt32BE(181 + 28)),
    signature: bytesToHex(data.subarray(213, 213 + signatureSize)),
  };
}

function getHashCall(op: FinalUserOperation, terms: TokenTerms, oracleAggregator: Hex): Hex {
  return encodeCall(
    `function getHash(${userOperation06} userOp, uint8 priceSource, uint48 validUntil, uint48 validAfter, address feeToken, address oracleAggregator, uint256 exchangeRate, uint32 priceMarkup)`,
    [
      userOperation06Values(op, '0x'),
      0,
      terms.validUntil,
      terms.validAfter,
      terms.token,
      oracleAggregator,
      terms.exchangeRate,
      markupField(terms),
    ],
  );
}
