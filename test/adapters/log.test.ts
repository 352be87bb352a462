import { describe, expect, test } from '@jest/globals';
import { createLogger, type LoggerOptions } from '../../adapters/log/pino-logger.js';

function capture(options: Omit<LoggerOptions, 'destination'> = {}) {
  const lines: string[] = [];
  const log = createLogger({ ...options, destination: { write: (line) => void lines.push(line) } });
  return { log, lines, parsed: () => lines.map((line): unknown => JSON.parse(line)) };
}

describe('log lines', () => {
  test('are one JSON object each, with level, time, message and fields', () => {
    const { log, lines, parsed } = capture({ base: { role: 'rpc' } });
    log.info('policy refused', { policy: 'daily', used: 3n });
    expect(lines[0]?.endsWith('}\n')).toBe(true);
    expect(parsed()).toEqual([
      {
        level: 'info',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        role: 'rpc',
        policy: 'daily',
        used: '3',
        msg: 'policy refused',
      },
    ]);
  });

  test('below the level are not written', () => {
    const { log, parsed } = capture({ level: 'warn' });
    log.debug('a');
    log.info('b');
    log.warn('c');
    log.error('d');
    expect(parsed()).toEqual([
      expect.objectContaining({ level: 'warn', msg: 'c' }),
      expect.objectContaining({ level: 'error', msg: 'd' }),
    ]);
  });

  test('of a child carry its fields', () => {
    const { log, parsed } = capture();
    log.child({ requestId: 'r-1' }).child({ method: 'pm_x' }).info('answered', { ms: 2 });
    expect(parsed()).toEqual([
      expect.objectContaining({ requestId: 'r-1', method: 'pm_x', ms: 2, msg: 'answered' }),
    ]);
  });

  test('show an error with its cause, code and stack', () => {
    const { log, parsed } = capture();
    const error = Object.assign(new Error('outer', { cause: new RangeError('inner') }), {
      code: 'ECONNRESET',
    });
    log.error('failed', { error });
    expect(parsed()).toEqual([
      expect.objectContaining({
        error: expect.objectContaining({
          name: 'Error',
          message: 'outer',
          code: 'ECONNRESET',
          stack: expect.stringContaining('log.test'),
          cause: expect.objectContaining({ name: 'RangeError', message: 'inner' }),
        }),
      }),
    ]);
  });

  test('are written for values that JSON cannot hold', () => {
    const { log, parsed } = capture();
    const cyclic: Record<string, unknown> = {};
    cyclic['self'] = cyclic;
    log.info('odd', {
      cyclic,
      map: new Map([['a', 1n]]),
      set: new Set([2]),
      bytes: new Uint8Array(65),
      when: new Date(NaN),
      f: () => 1,
    });
    expect(parsed()).toEqual([
      expect.objectContaining({
        map: { a: '1' },
        set: [2],
        bytes: '[65 bytes]',
        when: 'Invalid Date',
        f: '[function]',
      }),
    ]);
  });
});

describe('known secrets never reach a log line', () => {
  const apiKey = 'aB3_x-9Qz.0f8b7c6d-1111-4222-8333-abcdefabcdef';
  const signature = `0x${'5a'.repeat(64)}1b`;
  const authToken = 'organisation-token-of-a-test';
  const masterKey = 'c0ffee'.repeat(10);
  const all = [apiKey, signature, authToken, masterKey];

  test.each<{ name: string; write: (log: ReturnType<typeof createLogger>) => void }>([
    {
      name: 'under their own name',
      write: (log) => log.info('m', { apiKey, authToken, signature, masterKey }),
    },
    {
      name: 'under a header spelling',
      write: (log) => log.info('m', { headers: { 'X-Api-Key': authToken, Authorization: masterKey } }),
    },
    {
      name: 'nested in lists and maps',
      write: (log) =>
        log.info('m', { a: [{ b: { 'api-key': apiKey } }], m: new Map([['token', authToken]]) }),
    },
    { name: 'in the path of a URL', write: (log) => log.info('m', { url: `/api/v2/137/${apiKey}?x=1` }) },
    { name: 'in the message itself', write: (log) => log.info(`called with ${apiKey} and ${masterKey}`) },
    {
      name: 'in an error and its cause',
      write: (log) =>
        log.error('m', { error: new Error(`bad ${signature}`, { cause: new Error(authToken) }) }),
    },
    {
      name: 'in fields of a child',
      write: (log) => log.child({ token: authToken, path: `/${apiKey}` }).info('m'),
    },
    { name: 'as a property name', write: (log) => log.info('m', { [apiKey]: 1 }) },
    { name: 'as a bearer header value', write: (log) => log.info('m', { header: `Bearer ${masterKey}` }) },
    {
      name: 'as user information of a URL',
      write: (log) => log.info('m', { rpc: `https://user:${authToken}@node.example/` }),
    },
    {
      name: 'inside paymasterAndData',
      write: (log) =>
        log.info('m', {
          text: `0x${'00'.repeat(20)}`,
          op: { paymasterAndData: `0x${'00'.repeat(84)}${signature.slice(2)}` },
        }),
    },
  ])('$name', ({ write }) => {
    const { log, lines } = capture({ level: 'debug', secrets: [authToken, masterKey] });
    write(log);
    expect(lines).toHaveLength(1);
    for (const secret of all) expect(lines[0]).not.toContain(secret.replace(/^0x/, ''));
    expect(() => JSON.parse(lines[0] ?? '')).not.toThrow();
  });

  test('while what an operator needs stays readable', () => {
    const { log, lines } = capture();
    const hash = `0x${'ab'.repeat(32)}`;
    log.info('reserved', {
      userOpHash: hash,
      sender: `0x${'12'.repeat(20)}`,
      paymasterId: '0f8b7c6d-1111-4222-8333-abcdefabcdef',
    });
    expect(lines[0]).toContain(hash);
    expect(lines[0]).toContain('0f8b7c6d-1111-4222-8333-abcdefabcdef');
  });
});
