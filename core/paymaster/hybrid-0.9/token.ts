import { personalItem } from '../signer.js';
import { maxCost, requiredGas } from '../../entry-point/gas.js';
import type { FinalUserOperation, PaymasterGas } from '../../entry-point/user-operation.js';
import { entryPoint09 } from '../../entry-point/v09.js';
import { paymasterHeadSize, writePaymasterHead } from '../../entry-point/words.js';
import { toAddressKey } from '../../units/address.js';
import { bytesToHex, type Hex } from '../../units/hex.js';
import { writeHex, writeUint256, writeUint48, zeroed } from '../../units/words.js';
import { tokenAccountCall, verifyingSignerCall } from '../abi.js';
import type { DecodedTokenPayment, DepositNeed, TokenCodec, TokenTerms } from '../layout.js';
import { readAddress, readBytes, readExactly, readPaymasterGas, readUint256, readUint48 } from '../reader.js';
import { signatureSize, appendSignature } from '../signature.js';
import { decodesTail } from '../tail.js';
import { chargeReader, paidGasInTokens } from '../token-charge.js';
import { assertTokenTerms, markupField, readMarkupField, tokensFor } from '../token-price.js';
import { getHashCall, hashToSign, modes, postOpFineGas } from './format.js';

/**
 * `contracts/HybridPaymaster09.sol`, token mode. `paymasterAndData`, 186 bytes, packed, or 196 bytes with the
 * signature in the tail:
 *
 * | offset | width | field |
 * |---|---|---|
 * | 0 | 20 | paymaster |
 * | 20 | 16 | paymasterVerificationGasLimit |
 * | 36 | 16 | paymasterPostOpGasLimit |
 * | 52 | 1 | mode: 1 |
 * | 53 | 6 | validUntil |
 * | 59 | 6 | validAfter |
 * | 65 | 20 | token |
 * | 85 | 32 | rate: base units per 10^18 wei |
 * | 117 | 4 | priceMarkup; highest bit: taken in validation, or the operation is refused there |
 * | 121 | 65 | signature |
 *
 * The hash covers everything before the signature: see `format.ts`. Without the highest bit the contract takes the
 * tokens in validation where it may, otherwise after the call.
 */
export const token: TokenCodec = {
  gas: () => gas,
  minVerificationGasLimit: 0n,
  validationGas: () => 0n,
  validatesBalance: true,
  namesTreasury: false,
  hash: (op, terms) => hashToSign(op, unsigned(terms), terms.chainId),
  toSign: personalItem,
  encode: (_op, terms, signature) => appendSignature(unsigned(terms), signature),
  decode: decodesTail(decode),
  recognise: (op, paymasterAndData, chainId) => {
    const data = readBytes(paymasterAndData);
    if (data.length < signatureAt || data[paymasterHeadSize] !== modes.token) return undefined;
    return { hash: hashToSign(op, data.subarray(0, signatureAt), chainId) };
  },
  getHashCall: (op, terms) => getHashCall(op, unsigned(terms)),
  signerCall: verifyingSignerCall,
  need,
  residual: () => 0n,
  tokenAccountCall,
  receivers: ({ paymaster }) => [toAddressKey(paymaster)],
  receiverCalls: [tokenAccountCall],
  maxTokenCharge: (op, terms) => {
    assertTokenTerms(terms);
    const charged = requiredGas(op, entryPoint09.version, gas) + surchargeGas;
    return tokensFor(charged * op.maxFeePerGas, terms.exchangeRate, terms.priceMarkup);
  },
  unpricedGas: 0n,
  ...chargeReader([paidGasInTokens]),
};

/** Validation uses about 90,000 gas where it takes the tokens, postOp 44,000 or more. */
const gas: PaymasterGas = { paymasterVerificationGasLimit: 90_000n, paymasterPostOpGasLimit: 100_000n };

/** The contract's own `unaccountedTokenGas`, and the fine on unused postOp gas. */
const surchargeGas = 60_000n + postOpFineGas(gas.paymasterPostOpGasLimit);
const signatureAt = 121;

/** What the contract takes from its token account in validation. */
function need(op: FinalUserOperation): DepositNeed {
  const prefund = maxCost(op, entryPoint09.version, gas);
  return { entryPoint: prefund, funding: prefund + surchargeGas * op.maxFeePerGas };
}

function unsigned(terms: TokenTerms): Buffer {
  assertTokenTerms(terms);
  const data = zeroed(signatureAt);
  writePaymasterHead(data, terms.paymaster, gas);
  data[paymasterHeadSize] = modes.token;
  writeUint48(data, terms.validUntil, 53);
  writeUint48(data, terms.validAfter, 59);
  writeHex(data, terms.token, 65);
  writeUint256(data, terms.exchangeRate, 85);
  data.writeUInt32BE(markupField(terms), 117);
  return data;
}

function decode(paymasterAndData: Hex): DecodedTokenPayment {
  const data = readExactly(paymasterAndData, signatureAt + signatureSize);
  if (data[paymasterHeadSize] !== modes.token)
    throw new RangeError(`paymasterAndData must be of mode ${modes.token}, got ${data[paymasterHeadSize]}`);
  return {
    paymaster: readAddress(data, 0),
    paymasterGas: readPaymasterGas(data),
    validUntil: readUint48(data, 53),
    validAfter: readUint48(data, 59),
    token: readAddress(data, 65),
    exchangeRate: readUint256(data, 85),
    ...readMarkupField(data.readUInt32BE(117)),
    signature: bytesToHex(data.subarray(signatureAt)),
  };
}
