import {
  joinPaymasterSignature,
  paymasterSignatureMagic,
  splitPaymasterSignature,
} from '../../core/entry-point/paymaster-signature.js';
import { stubSignature } from '../../core/paymaster/signature.js';
import { isObject } from '../../core/schema/json-value.js';
import { bytesToHex, hexSize, type Hex } from '../../core/units/hex.js';
import { Fields, uint } from '../../core/userop/fields.js';

// In two phases a wallet has the paymaster's signature either in a separate field, `paymasterSignature`, or joined to
// `paymasterData` with its length and the magic. We answer in the form in which it asks.

const magic = paymasterSignatureMagic.slice(2);
const uint128 = uint(128);

/** Whether the operation has its data with the magic at the end. */
export function isJoined(operation: unknown): boolean {
  if (!isObject(operation)) return false;
  const { paymasterData, paymasterAndData } = operation;
  return [paymasterData, paymasterAndData].some(
    (data) => typeof data === 'string' && data.toLowerCase().endsWith(magic),
  );
}

/**
 * What a commit has answered, from the fields of the operation, in either form: `paymasterAndData` with a placeholder in
 * its tail. Throws INVALID_INPUT with every problem.
 */
export function parseCommitted(operation: unknown): Hex {
  const fields = new Fields(isObject(operation) ? operation : {}, 'params[0]');
  const packed = fields.bytes('paymasterAndData');
  const isPacked = !fields.isGiven('paymaster') && packed !== '0x';
  const data = isPacked ? packed : readUnpacked(fields);
  const found = splitPaymasterSignature(data);
  const name = isPacked ? 'paymasterAndData' : 'paymasterData';
  if (hexSize(data) <= headSize) fields.problem(name, 'the data that the commit answered');
  if (found.kind === 'tooLong')
    fields.problem(name, 'with a paymaster signature that is not longer than the data');
  if (fields.bytes('signature', { secret: true }) === '0x')
    fields.problem('signature', 'given: the signature of the account is checked before the paymaster signs');
  fields.done();
  return joinPaymasterSignature(found.kind === 'signature' ? found.data : data, placeholder);
}

/** `paymasterAndData` of an operation in any form; `0x` when it names no paymaster. Throws INVALID_INPUT with every problem. */
export function parsePaymasterAndData(operation: unknown): Hex {
  const fields = new Fields(isObject(operation) ? operation : {}, 'params[0]');
  const packed = fields.bytes('paymasterAndData');
  if (packed !== '0x' && fields.isGiven('paymaster'))
    fields.problem('paymasterAndData', 'left out when paymaster is given');
  const data = fields.isGiven('paymaster') ? readUnpacked(fields) : packed;
  const signature = fields.bytes('paymasterSignature');
  if (hexSize(signature) > maxSignatureSize)
    fields.problem('paymasterSignature', `at most ${maxSignatureSize} bytes long`);
  fields.done();
  return signature === '0x' || data === '0x' ? data : joinPaymasterSignature(data, signature);
}

const maxSignatureSize = 0xffff;

/** Paymaster 20, verification gas 16, postOp gas 16 bytes. */
const headSize = 52;

const placeholder = bytesToHex(stubSignature());

function readUnpacked(fields: Fields): Hex {
  const paymaster: Hex = fields.requiredAddress('paymaster');
  const gas = [
    fields.required('paymasterVerificationGasLimit', uint128),
    fields.quantity('paymasterPostOpGasLimit', uint128) ?? 0n,
  ];
  const words = gas.map((limit) => limit.toString(16).padStart(32, '0')).join('');
  return `${paymaster}${words}${fields.bytes('paymasterData').slice(2)}`;
}

/** The fields of an answer: joined, or with the signature in a separate field. */
export function splitAnswer(
  paymasterAndData: Hex,
  joined: boolean,
): { readonly data: Hex; readonly signature: { readonly paymasterSignature?: Hex } } {
  const found = splitPaymasterSignature(paymasterAndData);
  if (joined || found.kind !== 'signature') return { data: paymasterAndData, signature: {} };
  return { data: found.data, signature: { paymasterSignature: found.signature } };
}
