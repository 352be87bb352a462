import { invalidInput, quote } from '../core/errors.js';

export function parseChainId(text: string, field = 'chainId'): number {
  const chainId = /^[1-9][0-9]{0,15}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(chainId))
    throw invalidInput({ field, expected: 'the id of a chain', value: quote(text) });
  return chainId;
}
