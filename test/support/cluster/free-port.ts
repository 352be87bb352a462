import { createServer } from 'node:net';
import { PortInUse } from '../../../standalone/port-choice.js';

/**
 * A loopback port that was free a moment ago, for a program that cannot choose one itself. It lies below the ports that systems
 * give to outgoing connections (from 32768 on Linux): one of those may be taken at any time by anyone's request, also while a
 * program is restarted on it. Another program may still take it, so a start that fails with PortInUse takes another one.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_240 + Math.floor(Math.random() * (32_768 - 10_240));
    if (await canListen(port)) return port;
  }
}

/** Starts a program on a free port; if another program took that port meanwhile (`start` throws PortInUse), on the next. */
export async function onFreePort<T>(start: (port: number) => Promise<T>): Promise<T> {
  for (let left = 5; ; left -= 1) {
    try {
      return await start(await freePort());
    } catch (error) {
      if (!(error instanceof PortInUse) || left === 0) throw error;
    }
  }
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
