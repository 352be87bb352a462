import { isObject } from '../../core/schema/json-value.js';
import type { DecidedInputs, Inputs, RecordedRequest } from './inputs.js';

/** Number of the form below. A reader takes all forms up to its own. */
const inputsForm = 1;

/** Callers choose what is long in an operation: longer inputs are left out, and say so. */
export const longestInputs = 16_384;

/**
 * JSON of one line; amounts are decimal texts, members without a value are left out. Inputs that are longer than
 * {@link longestInputs} become those of kind `left-out`.
 */
export function formatInputs(inputs: Inputs): string {
  if (inputs.kind !== 'decided') return plain(inputs);
  const { op } = inputs.request;
  const least = op.initCode.length + op.callData.length + op.signature.length;
  const text = least > longestInputs ? undefined : formatDecided(inputs);
  if (text !== undefined && text.length <= longestInputs) return text;
  const { mode, verdict, entryPoint, usage } = inputs;
  const { sender, nonce } = op;
  const characters = text?.length ?? least;
  return plain({
    kind: 'left-out',
    reason: 'size',
    characters,
    mode,
    verdict,
    entryPoint,
    sender,
    nonce,
    usage,
  });
}

function plain(part: object): string {
  return JSON.stringify('kind' in part ? { form: inputsForm, ...part } : part, (_, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
}

/**
 * Made for every signature: joining texts costs a fifth of JSON with a replacer. Addresses, hex, numbers and closed names need no
 * escape; what only some decisions have goes the usual way.
 */
function formatDecided(inputs: DecidedInputs): string {
  const { mode, verdict, generations, entryPoint, now, head, usage, ...rest } = inputs;
  const { dataReading, usdPerNative, estimate, webhooks, payment, validation } = rest;
  return (
    `{"form":${inputsForm},"kind":"decided","mode":"${mode}","verdict":${verdict.pass ? '{"pass":true}' : plain(verdict)}` +
    `,"request":${formatRequest(inputs.request)}` +
    `,"generations":{"paymaster":${generations.paymaster},"chain":${generations.chain}}` +
    `,"entryPoint":"${entryPoint}","now":${now}` +
    `,"head":{"number":${head.number},"timestamp":${head.timestamp},"baseFeePerGas":"${head.baseFeePerGas}"` +
    `,"priorityFeePerGas":"${head.priorityFeePerGas}","observedAt":${head.observedAt}}` +
    member('dataReading', dataReading) +
    text('usdPerNative', usdPerNative) +
    member('estimate', estimate) +
    member('webhooks', webhooks) +
    member('payment', payment) +
    member('validation', validation) +
    (usage === undefined
      ? ''
      : `,"usage":{"outcome":"${usage.outcome}","plannedAt":${usage.plannedAt}` +
        `,"prefundWei":"${usage.prefundWei}","validUntil":${usage.validUntil}}`) +
    '}'
  );
}

function formatRequest(request: RecordedRequest): string {
  const { op, calculateGasLimits, expirySeconds, method, phase, committed, feeToken, isStub, campaign } =
    request;
  return (
    `{"op":{"sender":"${op.sender}","nonce":"${op.nonce}","initCode":"${op.initCode}","callData":"${op.callData}"` +
    text('callGasLimit', op.callGasLimit) +
    text('verificationGasLimit', op.verificationGasLimit) +
    text('preVerificationGas', op.preVerificationGas) +
    `,"maxFeePerGas":"${op.maxFeePerGas}","maxPriorityFeePerGas":"${op.maxPriorityFeePerGas}"` +
    `,"signature":"${op.signature}"${member('eip7702Auth', op.eip7702Auth)}}` +
    (calculateGasLimits === undefined
      ? ''
      : `,"calculateGasLimits":${calculateGasLimits === 'missing' ? '"missing"' : calculateGasLimits}`) +
    (expirySeconds === undefined ? '' : `,"expirySeconds":${expirySeconds}`) +
    `,"method":${JSON.stringify(method)}` +
    text('phase', phase) +
    text('campaign', campaign) +
    text('committed', committed) +
    text('feeToken', feeToken) +
    (isStub === undefined ? '' : ',"isStub":true') +
    '}'
  );
}

function text(name: string, value: string | bigint | undefined): string {
  return value === undefined ? '' : `,"${name}":"${value}"`;
}

function member(name: string, value: object | undefined): string {
  return value === undefined ? '' : `,"${name}":${plain(value)}`;
}

/** Members that are amounts or 256-bit numbers, wherever they are; `chainId` is that of an authorization. */
const bigMembers = new Set([
  'nonce',
  'callGasLimit',
  'verificationGasLimit',
  'preVerificationGas',
  'maxFeePerGas',
  'maxPriorityFeePerGas',
  'chainId',
  'baseFeePerGas',
  'priorityFeePerGas',
  'price',
  'usdPerNative',
  'rate',
  'takeable',
  'prefundWei',
]);

/** Reads what {@link formatInputs} has written. Undefined for a newer form, and for a text that is not one of ours. */
export function parseInputs(text: string): Inputs | undefined {
  try {
    const parsed: unknown = JSON.parse(text, (name, value: unknown) =>
      typeof value === 'string' && bigMembers.has(name) ? BigInt(value) : value,
    );
    if (!isObject(parsed)) return undefined;
    const { form, ...inputs } = parsed;
    if (typeof form !== 'number' || form > inputsForm) return undefined;
    return inputs as Inputs;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
