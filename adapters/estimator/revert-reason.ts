import { AbiCoder } from 'ethers';
import { hexSize, type Hex } from '../../core/units/hex.js';

/** Codes of Solidity's Panic(uint256) that people meet. */
const panics: Readonly<Record<string, string>> = {
  '1': 'assertion failed',
  '17': 'arithmetic overflow or underflow',
  '18': 'division by zero',
  '33': 'value is no member of its enum',
  '50': 'array index out of bounds',
  '65': 'out of memory',
};

const errorSelector = '0x08c379a0';
const panicSelector = '0x4e487b71';
const maxReasonLength = 200;

/**
 * Revert data for people: the text of Error(string), a named Panic, the selector of a custom error, or
 * `without a reason` for none. Never more than 200 characters; unprintable ones are dropped.
 */
export function formatRevert(data: Hex): string {
  if (data === '0x') return 'without a reason';
  const selector = data.slice(0, 10);
  const text = selector === errorSelector ? decode('string', data) : undefined;
  if (text !== undefined) return printable(text);
  const code = selector === panicSelector ? decode('uint256', data) : undefined;
  if (code !== undefined) return `panic ${code} (${panics[code] ?? 'unknown'})`;
  return hexSize(data) < 4 ? `with ${data}` : `custom error ${selector}`;
}

/** Untrusted text on one line. */
export function printable(text: string): string {
  const line = text.replace(/[^\p{L}\p{N}\p{P}\p{S} ]+/gu, ' ').trim();
  return line.length > maxReasonLength ? `${line.slice(0, maxReasonLength - 3)}...` : line;
}

function decode(type: 'string' | 'uint256', data: Hex): string | undefined {
  try {
    const [value]: unknown[] = AbiCoder.defaultAbiCoder().decode([type], `0x${data.slice(10)}`);
    return typeof value === 'string' || typeof value === 'bigint' ? value.toString() : undefined;
  } catch {
    return undefined;
  }
}
