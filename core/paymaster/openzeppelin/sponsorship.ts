import { Interface } from 'ethers/abi';
import { keccak256 } from '../../crypto/keccak.js';
import { is7702InitCode } from '../../entry-point/eip-7702.js';
import { maxCost } from '../../entry-point/gas.js';
import type { FinalUserOperation, PaymasterGas } from '../../entry-point/user-operation.js';
import { entryPoint09 } from '../../entry-point/v09.js';
import type { EntryPointVersion } from '../../entry-point/version.js';
import {
  keccakOfHex,
  paymasterHeadSize,
  writeAccountGasLimits,
  writeGasFees,
  writeIdentity,
  writePaymasterHead,
} from '../../entry-point/words.js';
import { bytesToHex, type Hex } from '../../units/hex.js';
import { writeAddressWord, writeUint128, writeUint256, writeUint48, zeroed } from '../../units/words.js';
import { encodeCall, signerCall } from '../abi.js';
import type { DecodedSponsorship, MinedPromise, SponsorshipCodec, SponsorshipTerms } from '../layout.js';
import { readAddress, readBytes, readExactly, readPaymasterGas, readUint48 } from '../reader.js';
import { assertSignature, signatureSize } from '../signature.js';
import { signingItem, type SigningItem } from '../signer.js';
import { decodesTail } from '../tail.js';
import type { OpenZeppelinOptions } from './options.js';
import type { Address } from '../../units/address.js';

/**
 * OpenZeppelin's PaymasterSigner with SignerECDSA, for EntryPoint 0.7 and later. `paymasterAndData`, 129 bytes; unlike
 * in other layouts, validAfter comes first:
 *
 * | offset | width | field |
 * |---|---|---|
 * | 0 | 20 | paymaster |
 * | 20 | 16 | paymasterVerificationGasLimit |
 * | 36 | 16 | paymasterPostOpGasLimit |
 * | 52 | 6 | validAfter |
 * | 58 | 6 | validUntil |
 * | 64 | 65 | signature |
 *
 * The key signs EIP-712 data of a domain that the deployer chose, without an EIP-191 prefix. `hash` is
 * keccak(struct hash ++ chainId ++ paymaster) with `initCode` as it is given: it needs neither the domain nor the
 * delegate, which a mined operation does not show, and a contract has one domain. No balance per sponsor.
 */
export function sponsorshipCodec(version: EntryPointVersion): SponsorshipCodec {
  return {
    gas,
    minGas: () => least,
    minVerificationGasLimit: 0n,
    need: (op, options) => ({ entryPoint: maxCost(op, version, gas(options)), funding: undefined }),
    hash: (op, terms) => identify(op, terms, gas(terms.options)),
    toSign,
    encode: (_op, terms, signature) => encode(terms, signature),
    decode: version === entryPoint09.version ? decodesTail(decode) : decode,
    recognise,
    getHashCall: undefined,
    domainCall: ({ options, chainId, paymaster }) => ({
      data: encodeCall('function eip712Domain()', []),
      isSame: (result) => isDomain(result, { ...requireSettings(options), chainId, paymaster }),
    }),
    signerCall,
    fundingBalanceCall: undefined,
  };
}

/** Validation uses about 20,000 gas; the contract has no postOp. */
const own: PaymasterGas = { paymasterVerificationGasLimit: 40_000n, paymasterPostOpGasLimit: 0n };
const least: PaymasterGas = { paymasterVerificationGasLimit: 24_000n, paymasterPostOpGasLimit: 0n };

function gas({ paymasterGas }: SponsorshipTerms['options']): PaymasterGas {
  return paymasterGas ?? own;
}

const signatureAt = 64;
const size = signatureAt + signatureSize;

const requestType = keccakOfText(
  'UserOperationRequest(address sender,uint256 nonce,bytes initCode,bytes callData,bytes32 accountGasLimits,uint256 preVerificationGas,bytes32 gasFees,uint256 paymasterVerificationGasLimit,uint256 paymasterPostOpGasLimit,uint48 validAfter,uint48 validUntil)',
);
const domainType = keccakOfText(
  'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)',
);

/** The hashed terms: those of `SponsorshipTerms` that the contract uses, with any form of address. */
type HashedTerms = Pick<SponsorshipTerms, 'chainId' | 'validUntil' | 'validAfter'> & {
  readonly paymaster: Hex;
};

function identify(op: FinalUserOperation, terms: HashedTerms, ofPaymaster: PaymasterGas): Uint8Array {
  const words = zeroed(96);
  words.set(keccak256(structWords(op, terms, ofPaymaster)), 0);
  writeUint256(words, BigInt(terms.chainId), 32);
  writeAddressWord(words, terms.paymaster, 64);
  return keccak256(words);
}

/** EIP-712: keccak(0x1901 ++ domain separator ++ struct hash). */
function toSign(_hash: Uint8Array, op: FinalUserOperation, terms: SponsorshipTerms): SigningItem {
  const settings = requireSettings(terms.options);
  const words = structWords(op, terms, gas(terms.options));
  if (settings.initCodeHash === 'Delegate' && is7702InitCode(op.initCode)) {
    // A rule refuses such operations before anything is signed.
    if (op.eip7702Auth === undefined) throw new RangeError('eip7702Auth must be given with factory 0x7702');
    words.set(keccakOfHex(`0x${op.eip7702Auth.address.slice(2)}${op.initCode.slice(42)}`), 96);
  }
  const outer = zeroed(66);
  outer.writeUInt16BE(0x1901, 0);
  outer.set(domainSeparator(settings, terms), 2);
  outer.set(keccak256(words), 34);
  return signingItem(outer);
}

/** Type, sender, nonce, keccak(initCode), keccak(callData), accountGasLimits, preVerificationGas, gasFees and four more. */
function structWords(op: FinalUserOperation, terms: HashedTerms, ofPaymaster: PaymasterGas): Buffer {
  const words = zeroed(12 * 32);
  words.set(requestType, 0);
  writeIdentity(words, op, 32);
  writeAccountGasLimits(words, op, 160);
  writeUint256(words, op.preVerificationGas, 192);
  writeGasFees(words, op, 224);
  writeUint128(words, ofPaymaster.paymasterVerificationGasLimit, 256 + 16);
  writeUint128(words, ofPaymaster.paymasterPostOpGasLimit, 288 + 16);
  writeUint48(words, terms.validAfter, 320 + 26);
  writeUint48(words, terms.validUntil, 352 + 26);
  return words;
}

function domainSeparator(
  { domainName, domainVersion }: OpenZeppelinOptions,
  { chainId, paymaster }: HashedTerms,
): Uint8Array {
  const words = zeroed(5 * 32);
  words.set(domainType, 0);
  words.set(keccakOfText(domainName), 32);
  words.set(keccakOfText(domainVersion), 64);
  writeUint256(words, BigInt(chainId), 96);
  writeAddressWord(words, paymaster, 128);
  return keccak256(words);
}

function requireSettings({ openZeppelin }: SponsorshipTerms['options']): OpenZeppelinOptions {
  if (openZeppelin === undefined) throw new RangeError('options.openZeppelin must be given for this layout');
  return openZeppelin;
}

function encode(terms: SponsorshipTerms, signature: Uint8Array): Hex {
  assertSignature(signature);
  const data = zeroed(size);
  writePaymasterHead(data, terms.paymaster, gas(terms.options));
  writeUint48(data, terms.validAfter, paymasterHeadSize);
  writeUint48(data, terms.validUntil, 58);
  data.set(signature, signatureAt);
  return bytesToHex(data);
}

function decode(paymasterAndData: Hex): DecodedSponsorship {
  const data = readExactly(paymasterAndData, size);
  return {
    ...readTerms(data),
    paymasterGas: readPaymasterGas(data),
    signature: bytesToHex(data.subarray(signatureAt)),
  };
}

/** The contract reads the window in front of whatever follows; it takes less than a window for 0 and 0, which nobody signs. */
function recognise(op: FinalUserOperation, paymasterAndData: Hex, chainId: number): MinedPromise | undefined {
  const data = readBytes(paymasterAndData);
  if (data.length < signatureAt) return undefined;
  return { hash: identify(op, { chainId, ...readTerms(data) }, readPaymasterGas(data)) };
}

function readTerms(data: Buffer) {
  return {
    paymaster: readAddress(data, 0),
    validAfter: readUint48(data, paymasterHeadSize),
    validUntil: readUint48(data, 58),
  };
}

function keccakOfText(text: string): Uint8Array {
  return keccak256(Buffer.from(text, 'utf8'));
}

const erc5267 = new Interface([
  'function eip712Domain() view returns (bytes1 fields, string name, string version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] extensions)',
]);
/** Name, version, chainId and verifyingContract; no salt. */
const usedFields = '0x0f';

type Domain = Pick<OpenZeppelinOptions, 'domainName' | 'domainVersion'> & {
  readonly chainId: number;
  readonly paymaster: Address;
};

/** Whether the answer of `eip712Domain()` (ERC-5267) is exactly this domain. False for bytes of another form. */
function isDomain(result: Hex, { domainName, domainVersion, chainId, paymaster }: Domain): boolean {
  try {
    const answer = erc5267.decodeFunctionResult('eip712Domain', result);
    return (
      answer['fields'] === usedFields &&
      answer['name'] === domainName &&
      answer['version'] === domainVersion &&
      answer['chainId'] === BigInt(chainId) &&
      answer['verifyingContract'] === paymaster &&
      answer['extensions'].length === 0
    );
  } catch {
    return false;
  }
}
