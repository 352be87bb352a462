import { invalidInput, quote } from '../errors.js';
import { hexWord, hexSize, type Hex } from '../units/hex.js';
import { eip7702Factory, is7702InitCode } from '../entry-point/eip-7702.js';
import { entryPointRules } from '../entry-point/table.js';
import { isObject } from '../schema/json-value.js';
import { Fields, uint } from './fields.js';
import { isAuthorizationTuple } from './misplaced-authorization.js';
import type { Eip7702Auth, UserOperation } from '../entry-point/user-operation.js';
import type { EntryPointVersion } from '../entry-point/version.js';

// Every EntryPoint refuses an operation with a gas field above 2^120 - 1 (AA94), which is narrower than the fields
// themselves.
const gas = uint(120);
const word = uint(256);

/**
 * Parses what a client sent as a user operation. Quantities may be hex, decimal text or safe integers; absent, null, ''
 * and '0x' mean missing; addresses may have any case; unknown fields, `paymasterAndData` included, are ignored.
 * From EntryPoint 0.7 on an operation may also be in the form of 0.6, or packed (`accountGasLimits`, `gasFees`); the EIP-7702
 * factory needs 0.8 or later. For 0.6 an operation in a later form is refused: it was made for another EntryPoint, where our
 * data would be worth nothing. Gas limits may be missing; sender, nonce, callData and fees may not.
 * Throws INVALID_INPUT with every problem, each with its path below `path`.
 */
export function parseUserOperation(
  input: unknown,
  version: EntryPointVersion,
  path = 'params[0]',
): UserOperation {
  if (!isObject(input))
    throw invalidInput({ field: path, expected: 'a user operation object', value: quote(input) });
  const fields = new Fields(input, path);
  if (!entryPointRules[version].form.hasPaymasterFields) requireFirstForm(input, fields, version);
  const sender = fields.requiredAddress('sender');
  const nonce = fields.required('nonce', word);
  const initCode = readInitCode(fields, version);
  const callData = fields.decoded('callData', { required: true });
  const limits = fields.isGiven('accountGasLimits')
    ? readPacked(fields, 'accountGasLimits', 'verificationGasLimit', 'callGasLimit')
    : [fields.quantity('verificationGasLimit', gas), fields.quantity('callGasLimit', gas)];
  const fees = fields.isGiven('gasFees')
    ? readPacked(fields, 'gasFees', 'maxPriorityFeePerGas', 'maxFeePerGas')
    : [fields.required('maxPriorityFeePerGas', gas), fields.required('maxFeePerGas', gas)];
  const preVerificationGas = fields.quantity('preVerificationGas', gas);
  const signature = fields.bytes('signature', { secret: true });
  const paymasterGas = entryPointRules[version].form.hasPaymasterFields
    ? readPaymasterGas(fields)
    : undefined;
  const eip7702Auth = readAuthorization(fields);
  fields.done();
  return {
    sender,
    nonce,
    initCode,
    callData: callData.hex,
    callDataBytes: callData,
    callGasLimit: limits[1],
    verificationGasLimit: limits[0],
    preVerificationGas,
    maxFeePerGas: fees[1] ?? 0n,
    maxPriorityFeePerGas: fees[0] ?? 0n,
    signature,
    ...(paymasterGas === undefined ? {} : { paymasterGas }),
    ...(eip7702Auth === undefined ? {} : { eip7702Auth }),
  };
}

const laterFields = new Set([
  'factory',
  'factoryData',
  'accountGasLimits',
  'gasFees',
  'paymaster',
  'paymasterData',
  'paymasterVerificationGasLimit',
  'paymasterPostOpGasLimit',
]);

function requireFirstForm(input: object, fields: Fields, version: EntryPointVersion): void {
  // Few members of an operation are looked up, where all later fields would be.
  for (const name in input) {
    if (!laterFields.has(name) || !fields.isGiven(name)) continue;
    return fields.problem(
      name,
      `left out: the operation is in the form of EntryPoint 0.7 or later, and this paymaster signs for ${version} (initCode, paymasterAndData). Use a paymaster of a version on the EntryPoint of the account`,
    );
  }
}

/** Undefined where the client gives neither, or 0, which no operation with a paymaster's work has. */
function readPaymasterGas(fields: Fields): UserOperation['paymasterGas'] {
  const [validation, postOp] = [
    fields.quantity('paymasterVerificationGasLimit', gas),
    fields.quantity('paymasterPostOpGasLimit', gas),
  ];
  if (!validation && !postOp) return undefined;
  return {
    ...(validation ? { paymasterVerificationGasLimit: validation } : {}),
    ...(postOp ? { paymasterPostOpGasLimit: postOp } : {}),
  };
}

/** Two uint128 in one word, high ++ low, instead of the two separate fields. */
function readPacked(fields: Fields, name: string, high: string, low: string): readonly [bigint, bigint] {
  for (const unpacked of [high, low])
    if (fields.isGiven(unpacked)) fields.problem(unpacked, `left out when ${name} is given`);
  const packed = fields.bytes(name);
  if (hexSize(packed) !== 32) {
    fields.problem(name, '32 bytes as 0x hex', fields.raw(name));
    return [0n, 0n];
  }
  const values = [BigInt(packed.slice(0, 34)), BigInt(`0x${packed.slice(34)}`)] as const;
  if (values[0] > gas.max || values[1] > gas.max)
    fields.problem(name, `two values of at most ${gas.bits} bits`, fields.raw(name));
  return values;
}

/** `initCode` itself, or `factory ++ factoryData`. */
function readInitCode(fields: Fields, version: EntryPointVersion): Hex {
  const initCode = fields.bytes('initCode');
  const isMisplaced = isAuthorizationTuple(fields.raw('factoryData'));
  if (isMisplaced) fields.problem('factoryData', authorizationElsewhere);
  const factoryData = isMisplaced ? '0x' : fields.bytes('factoryData');
  const factory = fields.isGiven('factory') ? readFactory(fields, version, factoryData !== '0x') : undefined;
  if (factory !== undefined) {
    if (initCode !== '0x') fields.problem('initCode', 'left out when factory is given');
    return `${factory}${factoryData.slice(2)}`;
  }
  if (factoryData !== '0x') fields.problem('factory', 'given when factoryData is');
  const isMarker = entryPointRules[version].readsEip7702Marker && is7702InitCode(initCode);
  if (initCode !== '0x' && isAuthorizationTuple(`0x${initCode.slice(factoryLength)}`))
    fields.problem('initCode', authorizationElsewhere);
  if (initCode !== '0x' && hexSize(initCode) < 20 && !isMarker)
    fields.problem('initCode', '0x, or a factory address of 20 bytes and its call data', initCode);
  return initCode;
}

/** An authorization holds a signature, so the message does not quote the value. */
const authorizationElsewhere =
  'call data: an EIP-7702 authorization belongs in eip7702Auth, as {chainId, address, nonce, yParity, r, s}';
/** 0x and the address. */
const factoryLength = 42;

function readFactory(fields: Fields, version: EntryPointVersion, hasCallData: boolean): Hex {
  const factory = fields.raw('factory');
  const isMarker = factory === '0x7702' || factory === eip7702Factory;
  if (!isMarker) return fields.requiredAddress('factory');
  if (!entryPointRules[version].readsEip7702Marker)
    fields.problem('factory', 'an address (0x7702 needs EntryPoint 0.8 or later)', factory);
  // As the wallet writes it, since contracts hash these bytes: its bundler packs the short form into two bytes. The EntryPoint reads the
  // marker in the first twenty, so call data can follow only the long form.
  return factory === '0x7702' && !hasCallData ? factory : eip7702Factory;
}

function readAuthorization(operation: Fields): Eip7702Auth | undefined {
  const fields = operation.nested('eip7702Auth');
  if (fields === undefined) return undefined;
  const yParity = fields.required('yParity', word);
  if (yParity > 1n) fields.problem('yParity', '0 or 1', fields.raw('yParity'));
  return {
    address: fields.requiredAddress('address'),
    chainId: fields.required('chainId', word),
    nonce: fields.required('nonce', uint(64)),
    r: `0x${hexWord(fields.required('r', word, { secret: true }))}`,
    s: `0x${hexWord(fields.required('s', word, { secret: true }))}`,
    yParity: yParity === 1n ? 1 : 0,
  };
}
