import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { afterEach, describe, expect, test } from '@jest/globals';
import { createExplanations } from '../../../adapters/explanations/explanations.js';
import { passHeader } from '../../../core/config/pass.js';

// What stands where a JSON-RPC server should be, and what the dashboard makes of it.

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

async function serverOf(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUps.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const request = {
  chainId: 31337,
  apiKey: 'a-secret-key',
  pass: 'a-secret-pass',
  userOp: { sender: '0x1' },
  context: { mode: 'SPONSORED' },
  requestId: 'r-1',
};

/** What `ask` ends with. */
async function outcomeOf(
  url: string,
  { gone = new AbortController().signal, deadlineMs = 60_000 } = {},
): Promise<unknown> {
  const explanations = createExplanations(() => url, deadlineMs);
  cleanUps.push(() => explanations.stop());
  return explanations.ask(request, gone).catch((error: unknown) => error);
}

const says = (status: number, body: unknown): RequestListener => {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return (_, response) => void response.writeHead(status).end(text);
};
const failure = (code: number, data: object, message = 'no') => ({ error: { code, message, data } });

test('asks with the key in a header, so that it is in no address, and answers the result', async () => {
  let seen: IncomingMessage | undefined;
  let text = '';
  const url = await serverOf((incoming, response) => {
    seen = incoming;
    incoming.on('data', (chunk: Buffer) => (text += chunk.toString()));
    incoming.on('end', () => response.end('{"jsonrpc":"2.0","id":1,"result":{"sponsored":true}}'));
  });
  expect(await outcomeOf(`${url}/behind/a/path/`)).toEqual({ sponsored: true });
  expect(seen).toMatchObject({
    method: 'POST',
    url: '/behind/a/path/api/v1/31337',
    headers: { apikey: request.apiKey, [passHeader]: request.pass, 'x-request-id': 'r-1' },
  });
  expect(JSON.parse(text)).toEqual({
    jsonrpc: '2.0',
    id: 1,
    method: 'pm_explainSponsorship',
    params: [request.userOp, request.context],
  });
});

describe('a server that is away, and says nothing of the key', () => {
  test.each<{ name: string; listener?: RequestListener }>([
    { name: 'refuses connections' },
    { name: 'never answers', listener: () => {} },
    { name: 'never ends its answer', listener: (_, response) => void response.write('{"result"') },
    { name: 'cuts the connection', listener: (incoming) => void incoming.socket.destroy() },
    { name: 'is a proxy that shows a page', listener: says(502, '<p>') },
    {
      name: 'leads elsewhere',
      listener: (_, response) => void response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(),
    },
    { name: 'answers far too much', listener: says(200, `{"result":{"x":"${'x'.repeat(5_000_000)}"}}`) },
    { name: 'answers a list', listener: says(200, { result: [] }) },
    { name: 'does not know the key', listener: says(401, failure(-32001, { reason: 'KEY_UNKNOWN' })) },
    {
      name: 'does not take the pass',
      listener: says(401, failure(-32001, { reason: 'AUTH_TOKEN_REQUIRED' })),
    },
    { name: 'lacks something', listener: says(400, failure(-32003, { reason: 'CHAIN_UNAVAILABLE' })) },
    { name: 'answers an error of no form', listener: says(200, { error: { code: 'x' } }) },
  ])('$name', async ({ listener }) => {
    const url = listener === undefined ? 'http://127.0.0.1:1' : await serverOf(listener);
    const outcome = await outcomeOf(url, { deadlineMs: 500 });
    expect(outcome).toMatchObject({
      code: 'UNAVAILABLE',
      details: { reason: 'RPC_UNAVAILABLE', retryAfterSeconds: 5 },
    });
    expect(inspect(outcome, { depth: 12, showHidden: true })).not.toMatch(/a-secret/);
  });

  test('is not asked on when the caller has gone', async () => {
    const gone = new AbortController();
    const left = Promise.withResolvers<void>();
    const url = await serverOf((_, response) => {
      response.on('close', () => left.resolve());
      gone.abort();
    });
    expect(await outcomeOf(url, { gone: gone.signal })).toMatchObject({ code: 'UNAVAILABLE' });
    await left.promise;
  });
});

test.each([
  {
    name: 'wrong fields, by their names in the body',
    listener: says(
      400,
      failure(
        -32602,
        { problems: [{ field: 'params[0].sender', expected: 'an address', value: '"me"' }] },
        'params[0].sender must be an address, got "me"; params[1].mode must be known',
      ),
    ),
    want: {
      code: 'INVALID_INPUT',
      message: 'userOp.sender must be an address, got "me"; context.mode must be known',
      details: { problems: [{ field: 'userOp.sender', expected: 'an address', value: '"me"' }] },
    },
  },
  {
    name: 'too many requests, and for how long to wait',
    listener: says(429, failure(-32005, { reason: 'RATE_LIMIT', retryAfterSeconds: 7 })),
    want: { code: 'RATE_LIMITED', details: { retryAfterSeconds: 7 } },
  },
  {
    name: 'a paymaster that is not ready',
    listener: says(400, failure(-32006, { reason: 'SIGNER_MISSING' }, 'The key is not mounted.')),
    want: {
      code: 'PAYMASTER_NOT_READY',
      message: 'The key is not mounted.',
      details: { reason: 'SIGNER_MISSING' },
    },
  },
  {
    name: 'a body that is too large there',
    listener: says(413, failure(-32600, {}, 'at most 1 MiB')),
    want: { code: 'PAYLOAD_TOO_LARGE', message: 'at most 1 MiB' },
  },
])('passes on $name', async ({ listener, want }) => {
  expect(await outcomeOf(await serverOf(listener))).toMatchObject(want);
});
