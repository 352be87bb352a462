import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { TurnWrites } from '../../core/adapters/store/redis/turn-writes.js';
import { until } from '../support/until.js';

let server: Server;
let port = 0;
const received: Socket[] = [];

beforeAll(async () => {
  server = createServer((socket) => received.push(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});
afterAll(() => {
  for (const socket of received) socket.destroy();
  server.close();
});

test('commands of one turn arrive in their order, however many they are, and those of the next turn after them', async () => {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  await until('the server has the connection', () => received.length > 0);
  let text = '';
  received.at(-1)?.on('data', (data: Buffer) => {
    text += data.toString('latin1');
  });
  const writes = new TurnWrites();
  const send = (command: string): void => {
    writes.hold(socket);
    socket.write(command);
  };
  for (let i = 0; i < 20; i++) send(`${i},`);
  await new Promise(setImmediate);
  send('next turn');
  await until('everything has arrived', () => text.endsWith('next turn'));
  expect(text).toBe(`${Array.from({ length: 20 }, (_, i) => `${i},`).join('')}next turn`);
  socket.destroy();
});

test('commands for a new connection do not wait for those of one that is gone', async () => {
  const gone = connect(port, '127.0.0.1');
  await once(gone, 'connect');
  const writes = new TurnWrites();
  writes.hold(gone);
  gone.destroy();
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  await until('the server has the connection', () =>
    received.some(({ remotePort }) => remotePort === socket.localPort),
  );
  const peer = received.find(({ remotePort }) => remotePort === socket.localPort);
  const arrived = once(peer!, 'data');
  writes.hold(socket);
  socket.write('PING');
  expect(String((await arrived)[0])).toBe('PING');
  socket.destroy();
});
