import { connect } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { someApiKey } from '../build/configs.js';
import { anOperation, sponsored } from '../build/operations.js';
import { rpcPath, type RpcAnswer } from '../build/rpc.js';
import { useRpc } from '../support/use-rpc.js';

const host = useRpc();

let nonce = 0;
function request(overrides: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
  nonce += 1;
  return {
    jsonrpc: '2.0',
    id: 1,
    method: 'pm_sponsorUserOperation',
    params: [anOperation({ nonce }), sponsored],
    ...overrides,
  };
}

function send(body: unknown, path?: string): Promise<RpcAnswer> {
  return host.post(JSON.stringify(body), path === undefined ? {} : { path });
}

describe('Request envelope', () => {
  test.each([['2.0'], ['2.0.0'], ['2'], [2]])(
    'jsonrpc %j is accepted and answered with 2.0',
    async (jsonrpc) => {
      const { status, body } = await send(request({ jsonrpc }));
      expect(status).toBe(200);
      expect(body.jsonrpc).toBe('2.0');
      expect(body.result).toBeDefined();
    },
  );

  test.each([[1], [0], [-7], [1.5], ['1'], ['a "quoted" ünïcödé id'], [1_686_847_490], ['']])(
    'the id %p, chosen by the client, is echoed with its type',
    async (id) => {
      expect((await send(request({ id }))).body.id).toBe(id);
      expect((await send(request({ id, method: 'pm_unknown' }))).body.id).toBe(id);
    },
  );

  test('an id that a number cannot hold is refused rather than changed', async () => {
    const { status, body } = await host.post(
      '{"jsonrpc":"2.0","id":9007199254740993,"method":"pm_sponsorUserOperation","params":[]}',
    );
    expect(status).toBe(400);
    expect(body).toMatchObject({ id: null, error: { code: -32600 } });
  });

  test.each([
    ['jsonrpc', { jsonrpc: '1.0' }],
    ['jsonrpc', { jsonrpc: 2.5 }],
    ['jsonrpc', { jsonrpc: undefined }],
    ['id', { id: null }],
    ['id', { id: {} }],
    ['id', { id: true }],
    ['method', { method: 7 }],
    ['method', { method: null }],
  ])('a wrong %s is -32600 naming it', async (field, overrides) => {
    const { status, body } = await send(request(overrides));
    expect(status).toBe(400);
    expect(body.error?.code).toBe(-32600);
    expect(body.error?.message).toContain(field);
  });

  test.each([[{ a: 1 }], ['text'], [7], [false]])(
    'params that are not an array (%p) are -32602',
    async (params) => {
      const { status, body } = await send(request({ params }));
      expect(status).toBe(400);
      expect(body.error).toMatchObject({ code: -32602, data: { reason: 'INVALID_INPUT' } });
      expect(body.error?.message).toContain('params must be an array');
    },
  );

  test.each([[undefined], [null], [{}], [[]]])(
    'a method without parameters is called with params %j; another one says what it lacks',
    async (params) => {
      for (const method of ['pm_chainId', 'pm_supportedEntryPoints'])
        expect((await send(request({ method, params }))).body.result).toBeDefined();
      const { status, body } = await send(request({ params }));
      expect({ status, code: body.error?.code }).toEqual({ status: 400, code: -32602 });
      expect(body.error?.message).toContain('params[0]');
    },
  );

  test('a body that is not JSON is -32700, and the answer does not repeat it', async () => {
    const { status, body, text } = await host.post('{"secret-ish": tru');
    expect(status).toBe(400);
    expect(body).toMatchObject({ id: null, error: { code: -32700, data: { retryable: false } } });
    expect(text).not.toContain('secret-ish');
  });

  test('an unknown method is -32601 and says which are served', async () => {
    const { status, body } = await send(request({ method: 'eth_blockNumber' }));
    expect(status).toBe(400);
    expect(body.error?.code).toBe(-32601);
    expect(body.error?.message).toContain('pm_sponsorUserOperation');
  });

  test.each([['constructor'], ['__proto__'], ['toString'], ['hasOwnProperty']])(
    'the method "%s" is unknown like any other',
    async (method) => {
      expect((await send(request({ method }))).body.error?.code).toBe(-32601);
    },
  );
});

describe('Batch requests', () => {
  test('each call has its answer, in order, under HTTP 200', async () => {
    const { status, body } = await send([
      request({ id: 'a' }),
      request({ id: 'b', method: 'pm_unknown' }),
      7,
      request({ id: 4, params: 'x' }),
    ]);
    expect(status).toBe(200);
    expect(body).toMatchObject([
      { id: 'a', result: { MODE: 'SPONSORED' } },
      { id: 'b', error: { code: -32601 } },
      { id: null, error: { code: -32600 } },
      { id: 4, error: { code: -32602 } },
    ]);
  });

  test('a whole batch with a wrong key is answered call by call under HTTP 200', async () => {
    const { status, body } = await send([request({ id: 1 }), request({ id: 2 })], rpcPath('no.key'));
    expect(status).toBe(200);
    expect(body).toMatchObject([
      { id: 1, error: { code: -32001 } },
      { id: 2, error: { code: -32001 } },
    ]);
  });

  test.each([[0], [101]])('a batch of %p calls is -32600', async (length) => {
    const { status, body } = await send(Array.from({ length }, () => request()));
    expect(status).toBe(400);
    expect(body).toMatchObject({ id: null, error: { code: -32600 } });
  });

  test('a batch of 100 calls is answered', async () => {
    const { status, body } = await send(Array.from({ length: 100 }, (_, id) => request({ id })));
    expect(status).toBe(200);
    expect(body).toHaveLength(100);
  });
});

describe('HTTP', () => {
  test.each([
    ['/api/v1', rpcPath(someApiKey, 31337, 'v1')],
    ['/api/v2', rpcPath(someApiKey, 31337, 'v2')],
    ['doubled slashes', `//api//v1//31337//${someApiKey}`],
    ['a trailing slash', `${rpcPath()}/`],
    ['a query', `${rpcPath()}?source=test`],
    ['an encoded key', rpcPath(someApiKey.replace('_', '%5F'))],
  ])('%s is the same endpoint', async (_name, path) => {
    expect((await send(request(), path)).body.result).toBeDefined();
  });

  test.each([['GET'], ['PUT'], ['DELETE'], ['PATCH']])(
    '%s is refused: both methods are POST requests',
    async (method) => {
      const response = await fetch(`${host.origin}${rpcPath()}`, { method });
      expect(response.status).toBe(405);
      expect(response.headers.get('allow')).toContain('POST');
      expect(await response.json()).toMatchObject({ error: { code: -32600 } });
    },
  );

  test('a page of any origin may call, and read the reason and the request id', async () => {
    const preflight = await fetch(`${host.origin}${rpcPath()}`, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://wallet.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,apikey,authtoken',
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
    expect(preflight.headers.get('access-control-allow-headers')).toContain('apikey');
    const { headers } = await send(request());
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.get('access-control-expose-headers')).toContain('X-Sponsorship-Reason');
  });

  test('a request id of the caller is kept where it is plain, and made up otherwise', async () => {
    const ask = async (id: string): Promise<string | null> =>
      (await host.post(JSON.stringify(request()), { headers: { 'x-request-id': id } })).headers.get(
        'x-request-id',
      );
    expect(await ask('gateway-17')).toBe('gateway-17');
    expect(await ask('<script>')).toMatch(/^[0-9a-f]{12}-[0-9a-z]+$/);
    expect(await ask('a'.repeat(65))).not.toBe('a'.repeat(65));
  });

  test('a body above the cap is 413 with a JSON-RPC error', async () => {
    const { status, body } = await host.post(`["${'x'.repeat(1_048_576)}"]`);
    expect(status).toBe(413);
    expect(body.error).toMatchObject({ code: -32600, data: { reason: 'PAYLOAD_TOO_LARGE' } });
  });

  test('a body above the cap without a length is refused while it arrives', async () => {
    const chunk = new Uint8Array(65_536).fill(0x20);
    const response = await fetch(`${host.origin}${rpcPath()}`, {
      method: 'POST',
      duplex: 'half',
      body: new ReadableStream({
        start(controller) {
          for (let i = 0; i < 17; i += 1) controller.enqueue(chunk);
          controller.close();
        },
      }),
    } as RequestInit);
    expect(response.status).toBe(413);
  });

  test.each([
    { name: 'with a length', framing: 'content-length: 4194304', close: '' },
    { name: 'in chunks', framing: 'transfer-encoding: chunked', close: '\r\n0\r\n\r\n' },
  ])('a client that sends all before reading, $name, reads the 413 too', async ({ framing, close }) => {
    const body = Buffer.alloc(4 * 1024 * 1024, 0x20);
    const opening = close === '' ? '' : `${body.length.toString(16)}\r\n`;
    const socket = connect(Number(new URL(host.origin).port), '127.0.0.1');
    try {
      const received = new Promise<string>((resolve, reject) => {
        let text = '';
        socket.setEncoding('latin1');
        socket.on('data', (chunk: string) => {
          text += chunk;
          if (text.split('HTTP/1.1 ').length === 3) resolve(text);
        });
        socket.on('error', reject);
        socket.on('close', () => reject(new Error(`closed after ${text.slice(0, 80)}`)));
      });
      const sent = new Promise((resolve) => {
        socket.write(`POST ${rpcPath()} HTTP/1.1\r\nhost: x\r\n${framing}\r\n\r\n${opening}`);
        socket.write(body);
        socket.write(`${close}GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n`, resolve);
      });
      await Promise.all([received, sent]);
      expect((await received).match(/HTTP\/1\.1 [0-9]+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200']);
    } finally {
      socket.destroy();
    }
  });

  test('an address that is not an endpoint is 404', async () => {
    expect((await fetch(`${host.origin}/api/v3/31337/key`, { method: 'POST' })).status).toBe(404);
  });

  test('the health routes are served beside', async () => {
    expect((await fetch(`${host.origin}/healthz`)).status).toBe(200);
    expect((await fetch(`${host.origin}/readyz`)).status).toBe(200);
  });
});
