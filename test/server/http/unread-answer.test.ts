import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { connectionLimits, createHttpServer } from '../../../server/http/http-server.js';
import { until } from '../../support/until.js';

const size = 20_000_000;
let closed = 0;
const server = createHttpServer(
  (_request, response) => {
    response.once('close', () => (closed += 1));
    response.end(Buffer.alloc(size, 'a'));
  },
  { ...connectionLimits, unreadMs: 500 },
);
let port: number;
beforeAll(async () => {
  ({ port } = await server.listen(0, '127.0.0.1'));
});
afterAll(() => server.stop(0));

test('a client that does not read its answer is closed', async () => {
  const socket = connect(port, '127.0.0.1').pause();
  socket.on('error', () => {});
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await until('the server gave it up', () => closed === 1);
  socket.destroy();
});

test('a client that reads its answer bit by bit gets all of it', async () => {
  const socket = connect(port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  let received = 0;
  socket.on('data', (chunk: Buffer) => {
    received += chunk.length;
    socket.pause();
    setImmediate(() => socket.resume());
  });
  await once(socket, 'close');
  expect(received).toBeGreaterThan(size);
});
