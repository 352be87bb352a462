import { connect } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { DomainError } from '../../core/errors.js';
import { silentLogger, type LogFields, type Logger } from '../../core/log.js';
import { rpcRows } from '../../core/error-codes.js';
import { refusals } from '../../core/refusal.js';
import { entryPoints } from '../../core/entry-point/address.js';
import { createHttpServer } from '../../server/http/http-server.js';
import { aPaymasterConfig } from '../build/configs.js';
import { anOperation, sponsored } from '../build/operations.js';
import { rpcPath, startRpc } from '../build/rpc.js';

describe('Starting', () => {
  test('every readiness check passes once the server listens', async () => {
    const host = await startRpc();
    try {
      const report = await host.server.ready();
      expect(report.checks.filter((check) => !check.ready)).toEqual([]);
      expect(report.checks.map(({ name }) => name)).toEqual([
        'serving',
        'configs-synced',
        'configs-confirmed',
        'usage-store',
        'usage-data',
        'paymasters',
        'signers',
        'chains-answer',
        'chains-followed',
        'warm-up',
      ]);
    } finally {
      await host.stop();
    }
  });

  test('a port that is taken is an error', async () => {
    const host = await startRpc();
    const second = createHttpServer(() => {});
    try {
      await expect(second.listen(Number(new URL(host.origin).port), '127.0.0.1')).rejects.toThrow(
        'EADDRINUSE',
      );
    } finally {
      await second.stop(0);
      await host.stop();
    }
  });
});

describe('Readiness is about the process', () => {
  test('a usage store that goes away, and a key that is not mounted, take no replica out of the Service', async () => {
    const host = await startRpc();
    try {
      expect((await host.server.ready()).ready).toBe(true);
      const ping = host.usage.ping.bind(host.usage);
      host.usage.ping = () => Promise.reject(new DomainError('UNAVAILABLE', 'the store is down'));
      const { profiles = [] } = (await host.configs.getChain(31337))?.config ?? {};
      await host.putChain({ profiles: profiles.map((each) => ({ ...each, signerFile: 'missing.key' })) });
      const readyz = await fetch(`${host.origin}/readyz`);
      host.usage.ping = ping;
      expect(readyz.status).toBe(200);
      const { checks } = (await readyz.json()) as { checks: { name: string; ready: boolean }[] };
      expect(checks.filter(({ ready }) => !ready).map(({ name }) => name)).toEqual([
        'usage-store',
        'signers',
      ]);
    } finally {
      await host.stop();
    }
  });
});

describe('Stopping', () => {
  test('requests in flight are answered, new connections are refused, and stopping twice is one stop', async () => {
    const host = await startRpc();
    let release: () => void = () => {};
    let arrived: () => void = () => {};
    const inFlight = new Promise<void>((resolve) => (arrived = resolve));
    host.world.estimate = () => {
      arrived();
      return new Promise((resolve) => {
        release = () =>
          resolve({ callGasLimit: 1n, verificationGasLimit: 100_000n, preVerificationGas: 50_000n });
      });
    };
    const answer = host.call('pm_sponsorUserOperation', [
      anOperation(),
      { mode: 'SPONSORED', calculateGasLimits: true },
    ]);
    await inFlight;
    const stopping = Promise.all([host.server.stop(), host.server.stop()]);
    await expect(fetch(`${host.origin}/healthz`)).rejects.toThrow();
    release();
    expect((await answer).body.result).toMatchObject({ callGasLimit: 1 });
    await stopping;
    await host.stop();
  });

  test('idle keep-alive connections do not hold it up', async () => {
    const server = createHttpServer((_request, response) => response.end('answered'));
    const { port } = await server.listen(0, '127.0.0.1');
    const answers = Array.from({ length: 5 }, async () => (await fetch(`http://127.0.0.1:${port}`)).text());
    expect(new Set(await Promise.all(answers))).toEqual(new Set(['answered']));
    // The deadline, after which every connection is closed, is longer than a test may take.
    await server.stop(600_000);
  });

  test('a request that arrives on an open connection is answered, and the connection is closed after it', async () => {
    const held: (() => void)[] = [];
    let arrived: () => void = () => {};
    const bothArrived = new Promise<void>((resolve) => (arrived = resolve));
    const server = createHttpServer((_request, response) => {
      held.push(() => response.end('answered'));
      if (held.length === 2) arrived();
    });
    const { port } = await server.listen(0, '127.0.0.1');
    const socket = connect(port, '127.0.0.1');
    const received = new Promise<string>((resolve) => {
      let text = '';
      socket.setEncoding('latin1');
      socket.on('data', (chunk: string) => (text += chunk));
      socket.on('close', () => resolve(text));
    });
    socket.write('GET /1 HTTP/1.1\r\nhost: x\r\n\r\n');
    await new Promise<void>((resolve) => {
      const poll = (): void => void (held.length > 0 ? resolve() : setImmediate(poll));
      poll();
    });
    const stopping = server.stop(600_000);
    socket.write('GET /2 HTTP/1.1\r\nhost: x\r\n\r\n');
    await bothArrived;
    for (const answer of held) answer();
    await stopping;
    const answers = (await received).split(/(?=HTTP\/1\.1)/);
    expect(answers).toHaveLength(2);
    expect(answers[0]).not.toContain('Connection: close');
    expect(answers[1]).toContain('Connection: close');
  });

  test('a client with a kept connection is told to leave before its connection would be closed', async () => {
    const server = createHttpServer((_request, response) => response.end('answered'));
    const { port } = await server.listen(0, '127.0.0.1');
    const socket = connect(port, '127.0.0.1');
    let received = '';
    socket.setEncoding('latin1');
    const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
    const answered = (count: number): Promise<void> =>
      new Promise((resolve) => {
        const look = (chunk: string): void => {
          received += chunk;
          if (received.split('answered').length > count) resolve();
        };
        socket.removeAllListeners('data').on('data', look);
      });
    const first = answered(1);
    socket.write('GET /1 HTTP/1.1\r\nhost: x\r\n\r\n');
    await first;
    // Idle now, and idle connections are closed at once without the goodbye.
    const stopping = server.stop(60_000, 60_000);
    const second = answered(2);
    socket.write('GET /2 HTTP/1.1\r\nhost: x\r\n\r\n');
    await second;
    await closed;
    await stopping;
    expect(received.split(/(?=HTTP\/1\.1)/)[1]).toContain('Connection: close');
  });

  test('a connection that never finishes its request is closed at the deadline', async () => {
    const server = createHttpServer((_request, response) => void response.write('half'));
    const { port } = await server.listen(0, '127.0.0.1');
    const socket = connect(port, '127.0.0.1');
    const closed = new Promise((resolve) => socket.on('close', resolve));
    await new Promise((resolve) => socket.on('connect', resolve));
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await new Promise((resolve) => socket.once('data', resolve));
    await server.stop(50);
    await closed;
  });
});

describe('Clients that misbehave', () => {
  test('one that hangs up in the middle of a body leaves the service as it was', async () => {
    const host = await startRpc();
    try {
      const { port } = new URL(host.origin);
      await Promise.all(
        Array.from({ length: 20 }, async () => {
          const socket = connect(Number(port), '127.0.0.1');
          await new Promise((resolve) => socket.on('connect', resolve));
          socket.write(`POST ${rpcPath()} HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n{"jsonrpc":`);
          socket.destroy();
          await new Promise((resolve) => socket.on('close', resolve));
        }),
      );
      expect((await host.call('pm_sponsorUserOperation', [anOperation(), sponsored])).status).toBe(200);
    } finally {
      await host.stop();
    }
  });

  test.each([
    ['no HTTP at all', 'hello\r\n\r\n', /^HTTP\/1\.1 400/],
    [
      'headers without end',
      `GET / HTTP/1.1\r\nhost: x\r\n${'x-filler: '.padEnd(20_000, 'a')}\r\n\r\n`,
      /^HTTP\/1\.1 431/,
    ],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n',
      /^HTTP\/1\.1 400/,
    ],
  ])('%s is answered and closed', async (_name, bytes, want) => {
    const host = await startRpc();
    try {
      const socket = connect(Number(new URL(host.origin).port), '127.0.0.1');
      const answer = new Promise<string>((resolve) => {
        let text = '';
        socket.setEncoding('latin1');
        socket.on('data', (chunk: string) => (text += chunk));
        socket.on('close', () => resolve(text));
      });
      socket.write(bytes);
      expect(await answer).toMatch(want);
    } finally {
      await host.stop();
    }
  });
});

test('metrics show the process and what it serves', async () => {
  const host = await startRpc();
  try {
    const text = await (await fetch(`${host.origin}/metrics`)).text();
    expect(text).toContain('paymaster_configs{kind="paymaster"} 1');
    expect(text).toContain('paymaster_ready{check="configs-synced"} 1');
    expect(text).toContain('paymaster_config_confirmed_age_seconds 0');
  } finally {
    await host.stop();
  }
});

test('with a port of their own health and metrics are answered there, and nothing else; clients of the service cannot ask for them', async () => {
  const host = await startRpc({ opsPort: 0 });
  try {
    expect(host.opsOrigin).not.toBe(host.origin);
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      expect((await fetch(`${host.opsOrigin}${path}`)).status).toBe(200);
      expect((await fetch(`${host.origin}${path}`)).status).toBe(404);
    }
    for (const path of ['/openrpc.json', rpcPath()])
      expect((await fetch(`${host.opsOrigin}${path}`)).status).toBe(404);
  } finally {
    await host.stop();
  }
  await expect(fetch(`${host.opsOrigin}/healthz`)).rejects.toThrow();
});

test('the root lists the addresses that this process serves, and only those', async () => {
  const host = await startRpc();
  try {
    const page = (await (await fetch(`${host.origin}/`)).json()) as { roles: string[]; addresses: object };
    expect(page.roles).toEqual(['rpc']);
    expect(Object.keys(page.addresses)).toEqual([
      'POST /api/v1/{chainId}/{apiKey}',
      'GET /openrpc.json',
      'POST /api/v1/webhooks/{policyId}/deliveries',
      'GET /healthz',
      'GET /readyz',
      'GET /metrics',
    ]);
  } finally {
    await host.stop();
  }
});

test('the OpenRPC document describes every method, error code and refusal reason', async () => {
  const host = await startRpc();
  try {
    const document = await (await fetch(`${host.origin}/openrpc.json`)).json();
    const { body } = await host.call('pm_unknown', []);
    const served = body.error?.message.match(/\w+_\w+/g) ?? [];
    expect(served.length).toBeGreaterThan(0);
    expect(document.methods.map(({ name }: { name: string }) => name).sort()).toEqual([...served].sort());
    const codes = new Set([...rpcRows.values()].map(({ code }) => code));
    for (const { errors } of document.methods)
      expect(new Set(errors.map(({ code }: { code: number }) => code))).toEqual(codes);
    expect(document.components.schemas.RefusalReason.enum).toEqual(Object.keys(refusals));
    const text = JSON.stringify(document);
    for (const [reference, name] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g))
      expect({ reference, known: name !== undefined && name in document.components.schemas }).toEqual({
        reference,
        known: true,
      });
  } finally {
    await host.stop();
  }
});

test.each([
  { form: 'as a result', method: 'pm_sponsorUserOperation', rest: [sponsored] },
  { form: 'as an error', method: 'pm_getPaymasterData', rest: [entryPoints['0.6'], '0x7a69', {}] },
])(
  'a refusal $form is logged with its request id, paymaster and detail, and without the key',
  async ({ method, rest }) => {
    const lines: (LogFields | undefined)[] = [];
    const log: Logger = {
      ...silentLogger,
      info: (_message, fields) => void lines.push(fields),
      child: () => log,
    };
    const host = await startRpc({ log, paymaster: { suspended: true } });
    try {
      lines.length = 0;
      const { headers } = await host.call(method, [anOperation(), ...rest]);
      expect(lines).toEqual([
        {
          requestId: headers.get('x-request-id'),
          method,
          paymasterId: aPaymasterConfig().paymasterId,
          reason: 'SUSPENDED',
          detail: 'the paymaster is suspended',
        },
      ]);
    } finally {
      await host.stop();
    }
  },
);
