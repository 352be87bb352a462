import { AbiCoder } from 'ethers/abi';
import { keccak256 } from '../../core/crypto/keccak.js';
import { bytesToHex, isHexBytes, type Hex } from '../../core/units/hex.js';
import { knownErrors, wrappingErrors } from './known-errors.js';

/** A custom error with its values, and the revert data that it carries, if it is one that does. */
export type CustomError = {
  readonly name: string;
  readonly values: readonly { readonly name: string; readonly value: unknown }[];
  /** The name of the value that is itself revert data. */
  readonly wraps?: string;
  readonly remedy?: string;
};

/** Undefined for errors that no row of {@link knownErrors} has, and for values that do not decode. */
export function decodeCustomError(data: Hex): CustomError | undefined {
  const shape = shapes.get(data.slice(0, 10).toLowerCase());
  if (shape === undefined) return undefined;
  const { name, parameters, remedy, wraps } = shape;
  const types = parameters.map(({ type }) => type);
  try {
    const values: unknown[] = AbiCoder.defaultAbiCoder().decode(types, `0x${data.slice(10)}`);
    return {
      name,
      values: parameters.map((parameter, index) => ({ name: parameter.name, value: values[index] })),
      ...(wraps === undefined ? {} : { wraps }),
      ...(remedy === undefined ? {} : { remedy }),
    };
  } catch {
    return undefined;
  }
}

type Shape = {
  readonly name: string;
  readonly parameters: readonly { readonly type: string; readonly name: string }[];
  readonly wraps?: string;
  readonly remedy?: string;
};

/** By selector. ethers would parse all fragments, which takes fifty times as long. */
const shapes: ReadonlyMap<string, Shape> = new Map([
  ...knownErrors.flatMap(({ errors, remedy }) =>
    errors.map((text) => withSelector({ ...parse(text), ...(remedy === undefined ? {} : { remedy }) })),
  ),
  ...Object.entries(wrappingErrors).map(([text, wraps]) => withSelector({ ...parse(text), wraps })),
]);

/** `Name(type name, type name)` */
function parse(text: string): Shape {
  const [name = '', list = ''] = text.slice(0, -1).split('(');
  const parameters = list === '' ? [] : list.split(', ').map((parameter) => parameter.split(' '));
  return { name, parameters: parameters.map(([type = '', named = '']) => ({ type, name: named })) };
}

function withSelector(shape: Shape): readonly [string, Shape] {
  const signature = `${shape.name}(${shape.parameters.map(({ type }) => type).join(',')})`;
  return [bytesToHex(keccak256(Buffer.from(signature, 'latin1')).subarray(0, 4)), shape];
}

/** The revert data that the error carries. */
export function wrappedData({ values, wraps }: CustomError): Hex | undefined {
  const value = values.find(({ name }) => name === wraps)?.value;
  return isHexBytes(value) ? value : undefined;
}
