import { isObject } from '../../core/schema/json-value.js';
import type { UserOperation } from '../../core/entry-point/user-operation.js';
import type { DecidedInputs, Inputs } from './inputs.js';

/** Number of the form below. A reader takes all forms up to its own. */
export const inputsForm = 1;

/** Callers choose what is long in an operation: longer inputs are left out, and say so. */
export const longestInputs = 16_384;

/**
 * JSON of one line; amounts are decimal texts, members without a value are left out. Inputs that are longer than
 * {@link longestInputs} become those of kind `left-out`.
 */
export function formatInputs(inputs: Inputs): string {
  const text =
    inputs.kind === 'decided' && leastLength(inputs.request.op) > longestInputs ? undefined : plain(inputs);
  if (text !== undefined && text.length <= longestInputs) return text;
  const { mode, verdict, entryPoint, request, usage } = inputs as DecidedInputs;
  const { op } = request;
  return plain({
    kind: 'left-out',
    reason: 'size',
    characters: text?.length ?? leastLength(op),
    mode,
    verdict,
    entryPoint,
    sender: op.sender,
    nonce: op.nonce,
    ...(usage === undefined ? {} : { usage }),
  });
}

function leastLength({ initCode, callData, signature }: UserOperation): number {
  return initCode.length + callData.length + signature.length;
}

function plain(inputs: Inputs): string {
  return JSON.stringify({ form: inputsForm, ...inputs }, (name, value: unknown) => {
    if (name === 'callDataBytes') return undefined;
    return typeof value === 'bigint' ? value.toString() : value;
  });
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
