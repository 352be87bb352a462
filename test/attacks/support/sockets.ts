import { connect, type Socket } from 'node:net';

/** A connection that sends the bytes it is given, one at a time if need be, and records the response. */
export type RawClient = {
  readonly socket: Socket;
  /** All that was received so far. */
  readonly received: () => string;
  readonly isClosed: () => boolean;
};

export function openRaw(
  port: number,
  text: string,
  encoding: 'utf8' | 'latin1' = 'utf8',
): Promise<RawClient> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    let closed = false;
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => (received += chunk));
    socket.on('close', () => (closed = true));
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      // A server that closes before it has read everything resets the connection.
      socket.on('error', () => {});
      socket.write(text, encoding, () =>
        resolve({ socket, received: () => received, isClosed: () => closed }),
      );
    });
  });
}

/** The head of a request and the beginning of its body, which goes on for `length` bytes. Each of `headers` ends its line. */
export function unfinishedPost(path: string, length: number, begun: number, headers = ''): string {
  return `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n${headers}\r\n${' '.repeat(begun)}`;
}
