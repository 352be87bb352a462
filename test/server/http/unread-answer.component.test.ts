import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  connectionLimits,
  createHttpServer,
  slowReadChecks,
  watchUnread,
} from '../../../server/http/http-server.js';
import { until } from '../../support/until.js';

// No test waits for the time between two checks: each makes the checks itself.

/** So large that the system's buffers, some ten megabytes, matter little. */
const size = 100_000_000;
const answer = Buffer.alloc(size, 'a');
let server: Server;
let check: () => void;
beforeAll(async () => {
  server = createServer((_request, response) => response.end(answer));
  check = watchUnread(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** A connection that has asked, and has read the beginning of its answer. */
async function asked(port = (server.address() as AddressInfo).port): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  await once(socket, 'readable');
  return socket;
}

/** Reads all that comes, and calls `pause` after each `stepBytes`. Resolves with how much came. */
async function readAll(socket: Socket, stepBytes: number, pause: () => void): Promise<number> {
  let received = 0;
  let next = stepBytes;
  for await (const chunk of socket) {
    received += (chunk as Buffer).length;
    if (received < next) continue;
    next += stepBytes;
    pause();
  }
  return received;
}

test('a client that reads its answer bit by bit gets all of it, however many checks that takes', async () => {
  let checks = 0;
  const received = await readAll(await asked(), 4_000_000, () => {
    checks += 1;
    check();
  });
  expect(checks).toBeGreaterThan(2 * slowReadChecks);
  expect(received).toBeGreaterThan(size);
});

test('a client that reads nothing for nearly as many checks as it has, again and again, gets all of its answer', async () => {
  const received = await readAll(await asked(), 30_000_000, () => {
    for (let checks = 0; checks < slowReadChecks; checks += 1) check();
  });
  expect(received).toBeGreaterThan(size);
});

test('a client that reads less than the minimum is closed', async () => {
  const socket = await asked();
  let isClosed = false;
  void once(socket, 'close').then(() => (isClosed = true));
  await until('the server gives it up', async () => {
    socket.read(1);
    check();
    return (await connections()) === 0;
  });
  socket.destroy();
  await until('its end is seen', () => isClosed);
});

test('a server checks by itself, and closes a client that does not read its answer', async () => {
  let closed = 0;
  const checking = createHttpServer(
    (_request, response) => {
      response.once('close', () => (closed += 1));
      response.end(answer);
    },
    { ...connectionLimits, unreadMs: 500 },
  );
  const { port } = await checking.listen(0, '127.0.0.1');
  const socket = await asked(port);
  await until('the server gave it up', () => closed === 1);
  socket.destroy();
  await checking.stop(0);
});

function connections(): Promise<number> {
  return new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
}
