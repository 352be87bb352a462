import { once } from 'node:events';
import type { Server } from 'node:net';

/** Begins to listen, and resolves with the port: one that is free, where `port` is 0. Rejects when the port is taken. */
export async function listen(server: Server, port: number, host: string): Promise<number> {
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
}
