import { afterEach, expect, test } from '@jest/globals';
import { connect, type Socket } from 'node:net';
import { createHttpServer, type HttpServer } from '../../server/http/http-server.js';
import { until } from '../support/until.js';

// One address holds idle connections, so that none are left for others.
// One process: the limits are per process, so three processes allow three times as much.

const servers: HttpServer[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) await server.stop(1_000);
});

async function aServer(perAddress: number | undefined): Promise<number> {
  const server = createHttpServer((_request, response) => response.end('served'), {
    connections: 100,
    perAddress,
  });
  servers.push(server);
  return (await server.listen(0, '127.0.0.1')).port;
}

/** Opens a connection and asks once. Resolves with the response, and with whether the connection was closed. */
function ask(port: number, localAddress = '127.0.0.1') {
  const seen = { text: '', isClosed: false };
  const socket = connect({ port, host: '127.0.0.1', localAddress }, () =>
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'),
  );
  sockets.push(socket);
  socket.on('data', (chunk: Buffer) => (seen.text += chunk.toString()));
  socket.on('error', () => {});
  socket.on('close', () => (seen.isClosed = true));
  return { socket, seen };
}

test('an address that has its share gets no further connection, another one is served', async () => {
  const port = await aServer(3);
  const held = Array.from({ length: 3 }, () => ask(port));
  await until('the first ones are served', () => held.every(({ seen }) => seen.text.includes('served')));
  const further = ask(port);
  await until('a further one is closed', () => further.seen.isClosed);
  expect(further.seen.text).toBe('');
  const other = ask(port, '127.0.0.2');
  await until('another address is served', () => other.seen.text.includes('served'));
  expect(held.some(({ seen }) => seen.isClosed)).toBe(false);
});

test('a connection that was closed makes room for the next one', async () => {
  const port = await aServer(1);
  const first = ask(port);
  await until('the first one is served', () => first.seen.text.includes('served'));
  first.socket.destroy();
  const isServed = async (): Promise<boolean> => {
    const again = ask(port);
    await until('it is answered or closed', () => again.seen.text !== '' || again.seen.isClosed);
    if (again.seen.text === '') return false;
    again.socket.destroy();
    return true;
  };
  // Repeated until the server has noticed that the first one is gone.
  await until('the address is served again', isServed);
});

test('behind a proxy, which holds all connections, addresses are not limited', async () => {
  const port = await aServer(undefined);
  const held = Array.from({ length: 20 }, () => ask(port));
  await until('all are served', () => held.every(({ seen }) => seen.text.includes('served')));
  expect(held).toHaveLength(20);
});
