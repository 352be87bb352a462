import type { IncomingMessage } from 'node:http';

/** Each trusted proxy has appended the address that it saw, so the client's address is that many entries from the end. */
export function clientAddress(request: IncomingMessage, trustedProxies: number): string {
  const peer = request.socket.remoteAddress ?? '';
  if (trustedProxies === 0) return peer;
  const forwarded = single(request.headers['x-forwarded-for'])?.split(',') ?? [];
  return forwarded.at(-trustedProxies)?.trim() ?? peer;
}

export function single(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : header?.[0];
}
