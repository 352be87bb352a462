import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** A client that has not read all of its answers reads so many bytes of them between so many checks, or it is closed. */
const minReadBytes = 65_536;
export const slowReadChecks = 10;

/**
 * Closes the connections of clients that do not read their answers, which would stay in memory: each call of the returned
 * function is one check. Checks are counted, not time: a process that was too busy to write checks once.
 */
export function watchUnread(server: Server): () => void {
  const watched = new Map<Socket, { sentBytes: number; checks: number }>();
  server.on('connection', (socket: Socket) => {
    watched.set(socket, { sentBytes: 0, checks: 0 });
    socket.once('close', () => watched.delete(socket));
  });
  return () => {
    for (const [socket, { sentBytes: before, checks }] of watched) {
      const sentBytes = countSent(socket);
      if (socket.writableLength === 0 || sentBytes - before >= minReadBytes)
        watched.set(socket, { sentBytes, checks: 0 });
      else if (checks < slowReadChecks) watched.set(socket, { sentBytes: before, checks: checks + 1 });
      else socket.destroy();
    }
  };
}

/** The part of Node's handle of a socket by which its own `socket.setTimeout` sees that a long write goes on. */
type Handle = { readonly bytesWritten: number; readonly writeQueueSize: number };

/**
 * Bytes that the system has taken. `socket.bytesWritten` and `writableLength` change only when a whole chunk is written, and
 * an answer is often one chunk.
 */
function countSent(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { readonly _handle?: Handle | null };
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0;
}
