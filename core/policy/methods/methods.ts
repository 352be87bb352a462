import { keccak256 } from '../../crypto/keccak.js';
import type { Hex } from '../../units/hex.js';
import { canonical, parseMethod, type AbiTuple, type AbiType } from './abi-type.js';

/** A method that an expression may name. */
export type NamedMethod = { readonly selector: Hex; readonly args: AbiTuple };

/** By signature. */
export type NamedMethods = ReadonlyMap<string, NamedMethod>;

/** The methods of declarations, such as `transfer(address to,uint256 amount)`. Throws SyntaxError. */
export function parseMethods(declarations: Iterable<string>): NamedMethods {
  const known = new Map<string, NamedMethod>();
  for (const declaration of declarations) addMethod(known, declaration);
  return known;
}

/**
 * Adds the declaration of another contract. A parameter has a name only where all contracts agree on it: elsewhere an
 * expression would judge another argument than its author meant.
 */
export function addMethod(known: Map<string, NamedMethod>, declaration: string): void {
  const { signature, args } = parseMethod(declaration);
  const before = known.get(signature);
  known.set(signature, {
    selector: before?.selector ?? hashSelector(signature),
    args: before === undefined ? args : { ...args, fields: agreedFields(before.args, args) },
  });
}

/** The signature of a declaration, without names: `transfer(address,uint256)`. */
export function toSignature(declaration: string): string {
  return declaration.replace(/ [A-Za-z_$][A-Za-z0-9_$]*/g, '');
}

/** The name in a signature or declaration. */
export function methodName(signature: string): string {
  return signature.slice(0, signature.indexOf('('));
}

/** One declaration of a method, as {@link parseMethods} reads it. */
export function formatDeclaration(signature: string, { args }: NamedMethod): string {
  return methodName(signature) + declared(args);
}

function declared(type: AbiType): string {
  if (type.kind === 'array') return `${declared(type.of)}[${type.length ?? ''}]`;
  if (type.kind !== 'tuple') return canonical(type);
  const fields = type.fields.map((field) => {
    const text = declared(field.type);
    return field.name === '' ? text : `${text} ${field.name}`;
  });
  return `(${fields.join(',')})`;
}

function agreed(one: AbiType, other: AbiType): AbiType {
  if (one.kind === 'array' && other.kind === 'array') return { ...one, of: agreed(one.of, other.of) };
  if (one.kind !== 'tuple' || other.kind !== 'tuple') return one;
  return { ...one, fields: agreedFields(one, other) };
}

function agreedFields(one: AbiTuple, other: AbiTuple): AbiTuple['fields'] {
  return one.fields.map((field, index) => {
    const its = other.fields[index]!;
    return {
      ...field,
      name: field.name === its.name ? field.name : '',
      type: agreed(field.type, its.type),
    };
  });
}

function hashSelector(signature: string): Hex {
  return `0x${Buffer.from(keccak256(Buffer.from(signature))).toString('hex', 0, 4)}`;
}
