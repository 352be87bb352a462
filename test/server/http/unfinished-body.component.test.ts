import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { connectionLimits, createHttpServer } from '../../../server/http/http-server.js';
import { until } from '../../support/until.js';

// Long enough for the test to send the rest in time.
const unfinished = { pauseMs: 1_000, totalMs: 5_000 };
const server = createHttpServer((request, response) => response.end(request.url), {
  ...connectionLimits,
  unfinished,
});
let port: number;
beforeAll(async () => {
  ({ port } = await server.listen(0, '127.0.0.1'));
});
afterAll(() => server.stop(0));

/** A request that is answered although only half of its body has been sent. */
async function answeredEarly(): Promise<{ readonly socket: Socket; readonly received: () => string }> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  socket.write('POST /first HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nhalf');
  while (!text.includes('/first')) await once(socket, 'data');
  return { socket, received: () => text };
}

test('the rest of a body that came while the process was busy is discarded, and the connection goes on', async () => {
  const { socket, received } = await answeredEarly();
  // Timers that fall due now run before anything is read.
  await new Promise(setImmediate);
  socket.write('half');
  const start = performance.now();
  while (performance.now() - start < 2 * unfinished.pauseMs);
  socket.write('GET /second HTTP/1.1\r\nHost: a\r\n\r\n');
  await until('the next request is answered', () => received().includes('/second'));
  socket.destroy();
});

test('the connection of a body that comes no further is closed', async () => {
  const { socket, received } = await answeredEarly();
  await once(socket, 'close');
  expect(received()).toContain('/first');
});

test('the connection of a body that drips on is closed too', async () => {
  const socket = connect(port, '127.0.0.1');
  // Without it the last bytes, which nobody reads any longer, would fail the test.
  socket.on('error', () => {});
  socket.resume();
  socket.write('POST /first HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n');
  const drips = setInterval(() => socket.write('a'), unfinished.pauseMs / 10);
  try {
    await new Promise<void>((resolve) => socket.once('close', () => resolve()));
  } finally {
    clearInterval(drips);
  }
});
