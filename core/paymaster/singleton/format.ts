import { keccak256 } from '../../crypto/keccak.js';
import type { Hex } from '../../units/hex.js';
import type { OperationForm } from '../../entry-point/rules.js';
import { entryPointRules } from '../../entry-point/table.js';
import type { EntryPointVersion } from '../../entry-point/version.js';
import type { FinalUserOperation, PaymasterGas } from '../../entry-point/user-operation.js';
import { userOperation06, userOperation06Values } from '../../entry-point/unpacked.js';
import { userOperation07, userOperation07Values } from '../../entry-point/packed.js';
import { readPaymasterGas } from '../reader.js';
import {
  keccakOfCallData,
  paymasterHeadSize,
  writeAccountGasLimits,
  writeGasFees,
  writeGasFields,
  writePaymasterHead,
  keccakOfHex,
} from '../../entry-point/words.js';
import { writeAddressWord, writeHex, writeUint256, zeroed } from '../../units/words.js';

/** The differences between the contract's builds for EntryPoint 0.6 and for 0.7 and 0.8, in both of its modes. */
export type Format = {
  /** Bytes before the mode byte. */
  readonly headSize: number;
  readonly writeHead: (data: Buffer, paymaster: Hex, gas: PaymasterGas) => void;
  readonly operationWords: (op: FinalUserOperation, unsignedData: Buffer) => Buffer;
  readonly readGas: (data: Buffer) => { readonly paymasterGas?: PaymasterGas };
  readonly abiType: string;
  readonly abiValues: (op: FinalUserOperation, paymasterAndData: Hex) => readonly unknown[];
};

const format06: Format = {
  headSize: 20,
  writeHead: (data, paymaster) => writeHex(data, paymaster, 0),
  operationWords: (op, unsignedData) => {
    const words = zeroed(10 * 32);
    writeAddressWord(words, op.sender, 0);
    writeUint256(words, op.nonce, 32);
    writeGasFields(words, op, 64);
    words.set(keccakOfCallData(op), 224);
    words.set(keccakOfHex(op.initCode), 256);
    words.set(keccak256(unsignedData), 288);
    return words;
  },
  readGas: () => ({}),
  abiType: userOperation06,
  abiValues: userOperation06Values,
};

const format07: Format = {
  headSize: paymasterHeadSize,
  writeHead: writePaymasterHead,
  operationWords: (op, unsignedData) => {
    const words = zeroed(8 * 32);
    writeAddressWord(words, op.sender, 0);
    writeUint256(words, op.nonce, 32);
    writeAccountGasLimits(words, op, 64);
    writeUint256(words, op.preVerificationGas, 96);
    writeGasFees(words, op, 128);
    words.set(keccakOfHex(op.initCode), 160);
    words.set(keccakOfCallData(op), 192);
    words.set(keccak256(unsignedData), 224);
    return words;
  },
  readGas: (data) => ({ paymasterGas: readPaymasterGas(data) }),
  abiType: userOperation07,
  abiValues: userOperation07Values,
};

const formats = { unpacked: format06, packed: format07 } as const satisfies Record<
  OperationForm['name'],
  Format
>;

export function findFormat(version: EntryPointVersion): Format {
  return formats[entryPointRules[version].form.name];
}

/** `getHash`: keccak(keccak(operation words) ++ chainId); the words cover all of `paymasterAndData` but the signature. */
export function hashToSign(
  format: Format,
  op: FinalUserOperation,
  unsignedData: Buffer,
  chainId: number,
): Uint8Array {
  const words = zeroed(64);
  words.set(keccak256(format.operationWords(op, unsignedData)), 0);
  writeUint256(words, BigInt(chainId), 32);
  return keccak256(words);
}
