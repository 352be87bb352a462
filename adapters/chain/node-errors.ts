import { isHexBytes, type Hex } from '../../core/units/hex.js';

/** The `error` member of a JSON-RPC answer. */
export type NodeError = { readonly code: number; readonly message: string; readonly data: unknown };

/** The node understood the request and refused it; cause of the DomainError that callers see. */
export class RpcError extends Error {
  readonly code: number;
  /** As the node sent it, if it is not large; see {@link withoutUrl}. */
  readonly data: unknown;

  constructor({ code, message, data }: NodeError) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
    this.data = data;
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

/**
 * ERC-7769: a bundler refuses the operation itself, from "rejected by the account" to "reverted". Others that are asked would, too, or
 * would mine what the first one knows to fail.
 */
export function refusesOperation({ code }: Pick<NodeError, 'code'>): boolean {
  return code <= -32500 && code >= -32521;
}

/** A node's message for people: one line, short, without URLs (some providers quote the one that was called). */
export function formatNodeMessage(message: string, longest = 200): string {
  const line = withoutLinks(message.trim().split(/\s+/).join(' '));
  return line.length > longest ? `${line.slice(0, longest - 3)}...` : line;
}

const maxMessageLength = 2_000;
const maxDataLength = 8_192;

/**
 * The error without any part of the URL that was called, also where it is not in the form of a URL. `secrets` are those parts. Data that
 * are too large are left out.
 */
export function withoutUrl({ code, message, data }: NodeError, secrets: readonly string[]): RpcError {
  const hide = (text: string): string =>
    secrets.reduce((left, secret) => left.replaceAll(secret, '<url>'), text);
  const text = smallText(data);
  const hidden: unknown =
    text &&
    JSON.parse(text, (_name, value: unknown) =>
      typeof value === 'string' ? withoutLinks(hide(value)) : value,
    );
  return new RpcError({ code, message: formatNodeMessage(hide(message), maxMessageLength), data: hidden });
}

/** Undefined without data, and for data that are too large. */
function smallText(data: unknown): string | undefined {
  try {
    const text = JSON.stringify(data) ?? '';
    return text.length > 0 && text.length <= maxDataLength ? text : undefined;
  } catch {
    // Nested deeper than the stack allows.
    return undefined;
  }
}

function withoutLinks(text: string): string {
  return text
    .split(' ')
    .map((word) => (word.includes('://') ? '<url>' : word))
    .join(' ');
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
