import type { Hex } from '../units/hex.js';

/** `factory` of an operation whose account is an EIP-7702 delegation, padded to 20 bytes as the EntryPoint packs it. */
export const eip7702Factory: Hex = '0x7702000000000000000000000000000000000000';

const marker = eip7702Factory.slice(2);

/**
 * True when EntryPoints from 0.8 on read `initCode` (lowercase) as the EIP-7702 marker: its first 20 bytes, padded with zeros
 * where it is shorter, are 0x7702 and zeros.
 */
export function is7702InitCode(initCode: Hex): boolean {
  return initCode.startsWith('0x7702') && initCode.slice(2, 42).padEnd(40, '0') === marker;
}
