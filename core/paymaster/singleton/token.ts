import { personalItem } from '../signer.js';
import { toAddressKey } from '../../units/address.js';
import { bytesToHex, type Hex } from '../../units/hex.js';
import { maxCost, requiredGas } from '../../entry-point/gas.js';
import type { EntryPointVersion } from '../../entry-point/version.js';
import type { FinalUserOperation, PaymasterGas } from '../../entry-point/user-operation.js';
import { encodeCall, signersCall } from '../abi.js';
import type { DecodedTokenPayment, TokenCodec, TokenOptions, TokenTerms } from '../layout.js';
import { readAddress, readBytes, readUint128, readUint256, readUint48 } from '../reader.js';
import { signatureSize, appendSignature } from '../signature.js';
import { chargeReader } from '../token-charge.js';
import { assertTokenTerms, markupUnit, rateWithMarkup, tokensFor } from '../token-price.js';
import { writeHex, writeUint128, writeUint256, writeUint48, zeroed } from '../../units/words.js';
import { findFormat, hashToSign, type Format } from './format.js';
import { divideUp } from '../../units/wei.js';

/** Figures that we tell the contract, because it cannot measure them; they differ per build. */
export type TokenFigures = {
  readonly gas: PaymasterGas;
  /** Gas charged for postOp and what follows it, because the contract learns only the cost before postOp. */
  readonly postOpGas: bigint;
  /** What the contract assumes for its own validation when it computes the EntryPoint's fine for unused gas. */
  readonly assumedGas: bigint;
  /** Whether the contract adds the expected fine to the charge; the build for 0.7 does. */
  readonly chargesFine: boolean;
  /** Base units on top where the profile asks for no constant fee; absent: none. */
  readonly roundingFee?: bigint;
  /** `minVerificationGasLimit` and `validationGas` are as in {@link TokenCodec}. */
  readonly minVerificationGasLimit: bigint;
  readonly validationGas: bigint;
};

/**
 * Singleton paymaster, mode ERC20, for EntryPoint 0.6 (203 bytes and options) and 0.7 / 0.8 (235 and options).
 * `paymasterAndData`, `h` = 20 on 0.6, 52 from 0.7 on:
 *
 * | offset | width | field |
 * |---|---|---|
 * | 0 | h | paymaster; from 0.7 on paymasterVerificationGasLimit 16, paymasterPostOpGasLimit 16 |
 * | h | 1 | mode 1 << 1 \| allowAllBundlers 1: always 3 |
 * | h + 1 | 1 | flags: 1 constantFee, 2 recipient, 4 preFund |
 * | h + 2 | 6 | validUntil |
 * | h + 8 | 6 | validAfter |
 * | h + 14 | 20 | token |
 * | h + 34 | 16 | postOpGas |
 * | h + 50 | 32 | exchangeRate, premium included |
 * | h + 82 | 16 | paymasterValidationGasLimit |
 * | h + 98 | 20 | treasury |
 * | h + 118 | 16 | preFund, where flagged |
 * | then | 16 | constantFee, where flagged |
 * | then | 20 | recipient, where flagged |
 * | then | 65 | signature |
 *
 * The hash is that of mode SPONSORED. Charge, in postOp: (gas cost so far + fine + postOpGas × price) × rate / 10^18,
 * rounded down, + constantFee. In validation the contract asks for nothing but preFund: if tokens or allowance are
 * missing, the paymaster pays alone.
 */
export function tokenCodec(version: EntryPointVersion, figures: TokenFigures): TokenCodec {
  const format = findFormat(version);
  const withPreFundGas = preFundFigures(figures);
  const chooseFigures = ({ takesPreFund }: TokenOptions): TokenFigures =>
    takesPreFund === true ? withPreFundGas : figures;
  const computePrefund = (op: FinalUserOperation, options: TokenOptions) =>
    maxCost(op, version, chooseFigures(options).gas);
  const encodeUnsigned = (op: FinalUserOperation, terms: TokenTerms): Buffer =>
    unsigned(format, withPreFund(terms, computePrefund(op, terms.options)), chooseFigures(terms.options));
  return {
    gas: (options) => chooseFigures(options).gas,
    minVerificationGasLimit: figures.minVerificationGasLimit,
    validationGas: (options) => chooseFigures(options).validationGas,
    namesTreasury: true,
    hash: (op, terms) => hashToSign(format, op, encodeUnsigned(op, terms), terms.chainId),
    toSign: personalItem,
    encode: (op, terms, signature) => appendSignature(encodeUnsigned(op, terms), signature),
    encodeStub: (op, terms, signature) => {
      const data = encodeUnsigned(op, terms);
      if (terms.options.takesPreFund === true) data.fill(1, assumedGasAt(format), assumedGasAt(format) + 16);
      return bytesToHex(Buffer.concat([data, signature]));
    },
    decode: (paymasterAndData) => decode(format, paymasterAndData),
    recognise: (op, paymasterAndData, chainId) => {
      const data = readBytes(paymasterAndData);
      const at = format.headSize;
      const flags = data[at + 1] ?? 0;
      const [preFundAt, , , size] = offsets(at + fixedSize, optionSizes(flags));
      const isMine = data.length >= size && (data[at] ?? 0) >> 1 === 1;
      if (!isMine) return undefined;
      const hash = hashToSign(format, op, data.subarray(0, size), chainId);
      const preFund = (flags & flag.preFund) === 0 ? 0n : readUint128(data, preFundAt);
      if (preFund === 0n) return { hash };
      return { hash, paidInAdvance: maxWeiOfTokens(preFund, readUint256(data, at + 50)) };
    },
    // The contract finds the end of the data from its flags, so the signature may be missing here.
    getHashCall: (op, terms) =>
      encodeCall(`function getHash(uint8 mode, ${format.abiType} userOp)`, [
        1,
        format.abiValues(op, bytesToHex(encodeUnsigned(op, terms))),
      ]),
    signerCall: signersCall,
    need: (op, options) => ({ entryPoint: computePrefund(op, options), funding: undefined }),
    residual: (op, terms) => residual(version, op, terms, chooseFigures(terms.options)),
    tokenAccountCall: undefined,
    receivers: ({ options }) => (options.treasury === undefined ? [] : [toAddressKey(options.treasury)]),
    receiverCalls: [],
    maxTokenCharge: (op, terms) => maxTokenCharge(version, op, terms, chooseFigures(terms.options)),
    unpricedGas: 0n,
    ...chargeReader([
      {
        // keccak256("UserOperationSponsored(bytes32,address,uint8,address,uint256,uint256)"): userOpHash and account
        // indexed; mode, token, tokens paid (0 in mode SPONSORED), rate.
        topic0: '0x7a270f29ae17e8e2304ff1245deb50c3b6206bca82928d904f3e284d35c5ffd2',
        token: { word: 1 },
        amount: { word: 2 },
        userOpHash: { topic: 1 },
        mode: { word: 0 },
      },
    ]),
  };
}

/**
 * In a stub all bytes of this figure may be set, which makes up for a preFund of 0: the contract only subtracts the
 * figure, with a floor of 0, from the gas on which it expects no fine.
 */
const assumedGasAt = ({ headSize }: Format): number => headSize + 82;

const modeByte = 3;
const flag = { constantFee: 1, recipient: 2, preFund: 4 } as const;
/** Bytes from the mode byte to the treasury. */
const fixedSize = 118;

/**
 * The contract rounds the charge down, so we ask for one base unit on top, unless the profile asks for a constant fee
 * anyway. It also makes the charge more than 0 while a bundler estimates at a price of one wei: it would measure a
 * transfer of nothing, which costs 20,000 gas less than one to a treasury that has never held the token.
 */
function findConstantFee({ options }: TokenTerms, { roundingFee }: TokenFigures): bigint | undefined {
  return options.constantFee ?? roundingFee;
}

/** A transfer in validation: some 50,000 gas to a treasury that held none of the token, more for a token behind a proxy. */
const preFundGas = 70_000n;

function preFundFigures(figures: TokenFigures): TokenFigures {
  const { gas, validationGas } = figures;
  // On 0.6 the account's own limit has to cover it.
  if (gas.paymasterVerificationGasLimit === 0n)
    return { ...figures, validationGas: validationGas + preFundGas };
  const paymasterVerificationGasLimit = gas.paymasterVerificationGasLimit + preFundGas;
  return { ...figures, gas: { ...gas, paymasterVerificationGasLimit } };
}

/**
 * Paid in validation: the tokens that the EntryPoint's prefund is worth, rounded down, because the contract refuses
 * more. It can take its additional charges (postOp gas, fine, constant fee) only afterwards. Where the platform wants it,
 * the field is there for payments after the call, too: it is 0 then, and the data are as long as their stub, which is
 * made before anybody knows when the account can pay.
 */
function withPreFund(terms: TokenTerms, prefundWei: bigint): TokenTerms {
  if (terms.inAdvance !== true && terms.options.takesPreFund !== true) return terms;
  const preFund = terms.inAdvance === true ? (prefundWei * rateWithMarkup(terms)) / weiPerCoin : 0n;
  return { ...terms, options: { ...terms.options, preFund } };
}

const weiPerCoin = 10n ** 18n;

/** The most wei that {@link withPreFund} turns into this number of tokens, since it rounds down. At rate 0 it is 0. */
function maxWeiOfTokens(tokens: bigint, rate: bigint): bigint {
  return rate === 0n ? 0n : ((tokens + 1n) * weiPerCoin - 1n) / rate;
}

/** What the contract charges on top of the prefund, in wei; the constant fee is converted at the rate. */
function residual(
  version: EntryPointVersion,
  op: FinalUserOperation,
  terms: TokenTerms,
  figures: TokenFigures,
): bigint {
  const { postOpGas, gas } = figures;
  const constantFee = findConstantFee(terms, figures) ?? 0n;
  const fine = expectedFine(op, figures, requiredGas(op, version, gas) + postOpGas);
  const fee = divideUp(constantFee * weiPerCoin, rateWithMarkup(terms));
  return (fine + postOpGas) * op.maxFeePerGas + fee;
}

/**
 * The gas cost so far never exceeds the prefund, or the EntryPoint undoes the payment. The build for 0.7 adds the
 * fine that it expects: a tenth of the gas that it takes to be unused. More use lowers this fine, but never by more
 * than the use adds to the cost.
 */
function maxTokenCharge(
  version: EntryPointVersion,
  op: FinalUserOperation,
  terms: TokenTerms,
  figures: TokenFigures,
): bigint {
  const { gas, postOpGas } = figures;
  assertTokenTerms(terms);
  const used = requiredGas(op, version, gas);
  const fine = expectedFine(op, figures, used + postOpGas);
  const tokens = tokensFor((used + fine + postOpGas) * op.maxFeePerGas, rateWithMarkup(terms), markupUnit);
  return tokens + (findConstantFee(terms, figures) ?? 0n);
}

function expectedFine(
  op: FinalUserOperation,
  { gas, assumedGas, chargesFine }: TokenFigures,
  actualGas: bigint,
): bigint {
  if (!chargesFine) return 0n;
  const executionLimit = op.callGasLimit + gas.paymasterPostOpGasLimit;
  const before = op.preVerificationGas + op.verificationGasLimit + assumedGas;
  const executionGas = actualGas > before ? actualGas - before : 0n;
  return executionLimit > executionGas ? (executionLimit - executionGas) / 10n : 0n;
}

function unsigned(format: Format, terms: TokenTerms, figures: TokenFigures): Buffer {
  const { gas, postOpGas, assumedGas } = figures;
  assertTokenTerms(terms);
  const { treasury, preFund, recipient } = terms.options;
  if (treasury === undefined) throw new RangeError('options.treasury must be given: the data names it');
  const constantFee = findConstantFee(terms, figures);
  const data = zeroed(format.headSize + fixedSize);
  const at = format.headSize;
  format.writeHead(data, terms.paymaster, gas);
  data[at] = modeByte;
  data[at + 1] =
    (constantFee === undefined ? 0 : flag.constantFee) |
    (recipient === undefined ? 0 : flag.recipient) |
    (preFund === undefined ? 0 : flag.preFund);
  writeUint48(data, terms.validUntil, at + 2);
  writeUint48(data, terms.validAfter, at + 8);
  writeHex(data, terms.token, at + 14);
  writeUint128(data, postOpGas, at + 34);
  writeUint256(data, rateWithMarkup(terms), at + 50);
  writeUint128(data, assumedGas, assumedGasAt(format));
  writeHex(data, treasury, at + 98);
  return Buffer.concat([data, uint128(preFund), uint128(constantFee), address(recipient)]);
}

function uint128(value: bigint | undefined): Buffer {
  const bytes = zeroed(value === undefined ? 0 : 16);
  if (value !== undefined) writeUint128(bytes, value, 0);
  return bytes;
}

function address(value: Hex | undefined): Buffer {
  const bytes = zeroed(value === undefined ? 0 : 20);
  if (value !== undefined) writeHex(bytes, value, 0);
  return bytes;
}

function decode(format: Format, paymasterAndData: Hex): DecodedTokenPayment {
  const data = readBytes(paymasterAndData);
  const at = format.headSize;
  const flags = data[at + 1] ?? 0;
  const has = (bit: number): boolean => (flags & bit) !== 0;
  const [preFundAt, feeAt, recipientAt, signatureAt] = offsets(at + fixedSize, optionSizes(flags));
  if (data.length !== signatureAt + signatureSize || data[at] !== modeByte || flags > 7)
    throw new RangeError(`paymasterAndData must be ERC20 data of this layout, got ${data.length} bytes`);
  return {
    paymaster: readAddress(data, 0),
    ...format.readGas(data),
    validUntil: readUint48(data, at + 2),
    validAfter: readUint48(data, at + 8),
    token: readAddress(data, at + 14),
    exchangeRate: readUint256(data, at + 50),
    treasury: readAddress(data, at + 98),
    ...(has(flag.preFund) ? { preFund: readUint128(data, preFundAt) } : {}),
    ...(has(flag.constantFee) ? { constantFee: readUint128(data, feeAt) } : {}),
    ...(has(flag.recipient) ? { recipient: readAddress(data, recipientAt) } : {}),
    signature: bytesToHex(data.subarray(signatureAt)),
  };
}

/** Sizes of preFund, constantFee and recipient; each is 0 when its flag is not set. */
function optionSizes(flags: number): readonly number[] {
  return [
    (flags & flag.preFund) === 0 ? 0 : 16,
    (flags & flag.constantFee) === 0 ? 0 : 16,
    (flags & flag.recipient) === 0 ? 0 : 20,
  ];
}

/** The offsets where the parts with these sizes begin, and where the last one ends. */
function offsets(start: number, [first = 0, second = 0, third = 0]: readonly number[]) {
  return [start, start + first, start + first + second, start + first + second + third] as const;
}
