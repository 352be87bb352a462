import { isHexBytes, type Hex } from '../../core/units/hex.js';

/** The `error` member of a JSON-RPC answer. */
export type NodeError = { readonly code: number; readonly message: string; readonly data: unknown };

/** The node understood the request and refused it; cause of the DomainError that callers see. */
export class RpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
  }
}

const revertWords = /revert|VM Exception|VM execution error|invalid opcode|out of gas/i;
const rateLimitCodes: ReadonlySet<number> = new Set([-32005, 429]);

/**
 * Revert data of a failed `eth_call`, or undefined when the error is not a revert. Nodes disagree on the form:
 * geth, anvil and besu give `data: "0x…"` (geth and anvil with code 3), hardhat `data: {data: "0x…"}` behind code
 * -32603, OpenEthereum's successors `data: "Reverted 0x…"`; all of them give no data for a bare `revert()`.
 */
export function revertData(error: NodeError): Hex | undefined {
  const data = nestedData(error.data);
  if (data !== undefined && (data !== '0x' || revertWords.test(error.message))) return data;
  return error.code === 3 || revertWords.test(error.message) ? '0x' : undefined;
}

/** The node asks us to slow down: another URL may answer, and this one is not called for a while. */
export function isRateLimit(error: Pick<NodeError, 'code'>): boolean {
  return rateLimitCodes.has(error.code);
}

/** A node's message for people: one line, short, without URLs (some providers quote the one that was called). */
export function formatNodeMessage(message: string): string {
  const line = message
    .trim()
    .split(/\s+/)
    .map((word) => (word.includes('://') ? '<url>' : word))
    .join(' ');
  return line.length > 200 ? `${line.slice(0, 197)}...` : line;
}

function nestedData(data: unknown): Hex | undefined {
  if (typeof data === 'object' && data !== null && 'data' in data) return nestedData(data.data);
  if (typeof data !== 'string') return undefined;
  const text = data.startsWith('Reverted ') ? data.slice('Reverted '.length) : data;
  return isHexBytes(text) ? lowercase(text) : undefined;
}

function lowercase(hex: Hex): Hex {
  return `0x${hex.slice(2).toLowerCase()}`;
}
