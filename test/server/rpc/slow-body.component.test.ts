import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createBodyAdmission } from '../../../server/http/body-admission.js';
import { isRead, readBody, bodyText } from '../../../server/rpc/body.js';

const limits = { totalBytes: 100_000, bodyBytes: 50_000, withinMs: 50 };
const bodies = createBodyAdmission(limits);
let begun: (() => void) | undefined;
const server = createServer((request, response) => {
  readBody(request, bodies.admit('key', 'client'), limits, (body) => {
    if (body === undefined) response.end('gone');
    else response.end(isRead(body) ? `whole ${bodyText(body)}` : body.error.message);
  });
  begun?.();
});
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** A request of which only the first of four bytes has been sent, once the server reads it. */
async function unfinishedRequest(): Promise<Socket> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const isRead = new Promise<void>((resolve) => (begun = resolve));
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 4\r\n\r\na');
  await isRead;
  return socket;
}

async function answerOf(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

test('a body that arrived while the process was busy is read, however long that took', async () => {
  const socket = await unfinishedRequest();
  socket.write('bcd');
  const start = performance.now();
  while (performance.now() - start < 2 * limits.withinMs);
  expect(await answerOf(socket)).toContain('whole abcd');
});

test('a body that does not arrive is given up', async () => {
  const socket = await unfinishedRequest();
  expect(await answerOf(socket)).toContain(`must arrive within ${limits.withinMs} ms`);
});
