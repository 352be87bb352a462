import { beforeEach, describe, expect, test } from '@jest/globals';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { DomainError } from '../../core/errors.js';
import { silentLogger, type LogFields, type Logger } from '../../core/log.js';
import { someApiKey } from '../build/configs.js';
import { malformedRequests } from '../build/malformed-rpc.js';
import { anOperation, sponsored } from '../build/operations.js';
import { startRpc } from '../build/rpc.js';
import { useRpc } from '../support/use-rpc.js';

const lines: { readonly message: string; readonly fields: LogFields | undefined }[] = [];
const write = (message: string, fields?: LogFields): void => void lines.push({ message, fields });
const log: Logger = {
  ...silentLogger,
  debug: write,
  info: write,
  warn: write,
  error: write,
  child: () => log,
};

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

const host = useRpc({ log });
beforeEach(async () => {
  lines.length = 0;
  await host.put();
  await host.putChain();
});

describe('JSON-RPC: every malformed request gets its documented error', () => {
  test('the corpus has at least 150 of them', () => {
    expect(malformedRequests.length).toBeGreaterThanOrEqual(150);
  });

  test.each(malformedRequests)('$name', async ({ body, path, headers, status = 400, code, says }) => {
    // Look-ups of unknown keys are limited per second and client.
    host.clock.advance(250);
    const answer = await host.post(body, {
      ...(path === undefined ? {} : { path }),
      ...(headers === undefined ? {} : { headers }),
    });
    expect(answer.status).toBe(status);
    expect(answer.body.result).toBeUndefined();
    expect(answer.body.error).toEqual({
      code,
      message: expect.any(String),
      data: expect.objectContaining({
        reason: expect.stringMatching(/^[A-Z0-9_]+$/),
        requestId: answer.headers.get('x-request-id'),
        retryable: false,
      }),
    });
    expect(answer.body.error?.message.length).toBeLessThan(1000);
    if (says !== undefined) expect(answer.body.error?.message).toContain(says);
  });

  test('a megabyte of wrong entries is answered in few words', async () => {
    const tokenInfo = { tokenList: Array.from({ length: 400_000 }, () => 1) };
    const { status, text, body } = await host.call('pm_getFeeQuoteOrData', [
      anOperation(),
      { mode: 'ERC20', tokenInfo },
    ]);
    expect(status).toBe(400);
    expect(body.error?.message).toContain('params[1].tokenInfo.tokenList must be');
    expect(text.length).toBeLessThan(10_000);
  });

  test('afterwards the service answers as before, and nothing was logged as a fault', async () => {
    const { status } = await host.call('pm_sponsorUserOperation', [anOperation(), sponsored]);
    expect(status).toBe(200);
    expect(lines.filter(({ message }) => message === 'JSON-RPC call failed')).toEqual([]);
  });

  test('memory and handles stay flat however often they are sent', async () => {
    const small = malformedRequests.filter(({ body }) => body.length < 5_000);
    const round = async (): Promise<void> => {
      for (const { body, path, headers } of small)
        await host.post(body, {
          ...(path === undefined ? {} : { path }),
          ...(headers === undefined ? {} : { headers }),
        });
    };
    const settle = (): { readonly heap: number; readonly handles: number } => {
      collectGarbage();
      return { heap: process.memoryUsage().heapUsed, handles: process.getActiveResourcesInfo().length };
    };
    await round();
    const before = settle();
    for (let i = 0; i < 3; i += 1) await round();
    const after = settle();
    expect(after.heap - before.heap).toBeLessThan(6 * 1024 * 1024);
    expect(after.handles - before.handles).toBeLessThan(20);
  });
});

describe('JSON-RPC errors: a closed table of codes, with data {reason, requestId, retryable} always', () => {
  const sponsor = () => host.call('pm_sponsorUserOperation', [anOperation(), sponsored]);

  test('a paymaster that is not ready is -32006 with the reason of its condition', async () => {
    await host.put({ notReady: { reason: 'FundingNotProven', message: 'Prove the funding wallet.' } });
    const { status, body } = await sponsor();
    expect(status).toBe(400);
    expect(body.error).toMatchObject({
      code: -32006,
      message: 'Prove the funding wallet.',
      data: { reason: 'FundingNotProven', retryable: true },
    });
  });

  test('a version that the chain does not offer is -32006 and names those offered', async () => {
    await host.put({ version: '9.9.9' });
    const { body } = await sponsor();
    expect(body.error).toMatchObject({ code: -32006, data: { reason: 'VERSION_UNKNOWN' } });
    expect(body.error?.message).toContain('1.1.0');
  });

  test('a signing key that is not mounted is -32006', async () => {
    const chain = (await host.configs.getChain(31337))?.config;
    await host.putChain({
      profiles: (chain?.profiles ?? []).map((p) => ({ ...p, signerFile: 'missing.key' })),
    });
    expect((await sponsor()).body.error).toMatchObject({ code: -32006, data: { reason: 'SIGNER_MISSING' } });
  });

  test('a profile whose chain says that nothing of it can be mined is -32006 with the reason, and is signed for again later', async () => {
    const { profiles = [] } = (await host.configs.getChain(31337))?.config ?? {};
    const message = 'Nothing is signed for version "1.1.0": contract 0x01 accepts no signer of this service.';
    const unusable = { reason: 'SIGNER_NOT_AUTHORIZED', message } as const;
    await host.putChain({ profiles: profiles.map((profile) => ({ ...profile, unusable })) });
    expect((await sponsor()).body.error).toMatchObject({
      code: -32006,
      message,
      data: { reason: 'SIGNER_NOT_AUTHORIZED', retryable: true },
    });
    await host.putChain({ profiles });
    expect((await sponsor()).body.error).toBeUndefined();
  });

  test('a replica without the first key that the contract accepts signs with the next one', async () => {
    const { profiles = [] } = (await host.configs.getChain(31337))?.config ?? {};
    const both = profiles.map((profile) => ({
      ...profile,
      signerFile: 'missing.key',
      acceptedSigners: ['missing.key', profile.signerFile],
    }));
    await host.putChain({ profiles: both });
    expect((await sponsor()).body.error).toBeUndefined();
  });

  test('a profile that drains signs for 30 seconds at most', async () => {
    const { profiles = [] } = (await host.configs.getChain(31337))?.config ?? {};
    await host.putChain({ profiles: profiles.map((profile) => ({ ...profile, draining: true as const })) });
    const { body } = await sponsor();
    const { validUntil } = body.result as { validUntil: number };
    expect(validUntil - Math.floor(host.clock.now() / 1000)).toBeLessThanOrEqual(30);
  });

  test('a chain that was not read lately is -32003, to be tried again', async () => {
    const { head } = host.world;
    host.world.head = undefined;
    const { status, headers, body } = await sponsor();
    host.world.head = head;
    expect(status).toBe(400);
    expect(body.error).toMatchObject({
      code: -32003,
      data: { reason: 'CHAIN_UNAVAILABLE', retryable: true },
    });
    expect(headers.get('retry-after')).toBe('5');
  });

  test('a chain more than two minutes ahead of our clock is -32006', async () => {
    const { head } = host.world;
    if (head === undefined) throw new Error('the world has no head');
    host.world.head = { ...head, timestamp: host.clock.now() / 1000 + 121 };
    const { body } = await sponsor();
    host.world.head = head;
    expect(body.error).toMatchObject({ code: -32006, data: { reason: 'CLOCK_SKEW' } });
  });

  test('a deposit that was never read is -32003, not a refusal', async () => {
    const own = await startRpc({ deposit: undefined });
    try {
      const { body } = await own.call('pm_sponsorUserOperation', [anOperation(), sponsored]);
      expect(body.error).toMatchObject({
        code: -32003,
        data: { reason: 'DEPOSIT_UNKNOWN', retryable: true },
      });
    } finally {
      await own.stop();
    }
  });

  test('a usage store that is down is -32003, and nothing is signed', async () => {
    const own = await startRpc();
    try {
      await own.usage.stop();
      const { status, body } = await own.call('pm_sponsorUserOperation', [anOperation(), sponsored]);
      expect(status).toBe(400);
      expect(body.error).toMatchObject({ code: -32003, data: { retryable: true } });
    } finally {
      await own.stop();
    }
  });

  test('an outage of an estimator is -32003', async () => {
    host.world.estimate = () =>
      Promise.reject(new DomainError('UNAVAILABLE', 'chain 31337: no URL answered'));
    const { body } = await host.call('pm_sponsorUserOperation', [
      anOperation(),
      { mode: 'SPONSORED', calculateGasLimits: true },
    ]);
    expect(body.error).toMatchObject({ code: -32003, data: { retryable: true } });
  });

  test('an operation that cannot be simulated is -32004, and its message says what to do about it', async () => {
    const remedy = 'The account is not deployed: deploy it first.';
    host.world.estimate = () =>
      Promise.reject(new DomainError('ESTIMATION_FAILED', 'gas estimation failed: AA20', { remedy }));
    const { body } = await host.call('pm_sponsorUserOperation', [
      anOperation(),
      { mode: 'SPONSORED', calculateGasLimits: true },
    ]);
    expect(body.error).toMatchObject({
      code: -32004,
      message: `gas estimation failed: AA20. ${remedy}`,
      data: { reason: 'ESTIMATION_FAILED', remedy },
    });
  });

  test('a bug is -32603, says nothing about itself, and is logged in full with the request id', async () => {
    host.world.estimate = () => Promise.reject(new TypeError('the secret cause'));
    const { status, text, body } = await host.call('pm_sponsorUserOperation', [
      anOperation(),
      { mode: 'SPONSORED', calculateGasLimits: true },
    ]);
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: -32603, data: { reason: 'INTERNAL', retryable: true } });
    expect(text).not.toContain('the secret cause');
    expect(lines).toEqual([
      expect.objectContaining({
        message: 'JSON-RPC call failed',
        fields: expect.objectContaining({
          requestId: body.error?.data.requestId,
          error: expect.any(TypeError),
        }),
      }),
    ]);
  });

  test('what is logged about failures never holds a key', async () => {
    const estimated = { mode: 'SPONSORED', calculateGasLimits: true };
    // A new outage: one that is already known is only counted.
    const details = { reason: 'CHAIN_MISMATCH' } as const;
    host.world.estimate = () =>
      Promise.reject(new DomainError('UNAVAILABLE', 'chain 31337: no URL answered', details));
    await host.call('pm_sponsorUserOperation', [anOperation(), estimated]);
    host.world.estimate = () => Promise.reject(new TypeError('a bug'));
    await host.call('pm_sponsorUserOperation', [anOperation(), estimated]);
    expect(lines).toHaveLength(2);
    expect(JSON.stringify(lines)).not.toContain(someApiKey);
  });

  test('calls are counted by method and outcome, refusals by reason, both verdicts by paymaster', async () => {
    const own = await startRpc();
    try {
      await own.call('pm_sponsorUserOperation', [anOperation(), sponsored]);
      await own.put({ suspended: true });
      await own.call('pm_sponsorUserOperation', [anOperation(), sponsored]);
      await own.call('pm_sponsorUserOperation', []);
      await own.call('eth_anything', []);
      const { body } = await own.metrics.render();
      expect(body).toContain(
        'paymaster_rpc_requests_total{method="pm_sponsorUserOperation",outcome="refused"} 1',
      );
      expect(body).toContain(
        'paymaster_rpc_requests_total{method="pm_sponsorUserOperation",outcome="INVALID_INPUT"} 1',
      );
      expect(body).toContain(
        'paymaster_rpc_requests_total{method="unknown",outcome="RPC_METHOD_NOT_FOUND"} 1',
      );
      expect(body).toContain('paymaster_refusals_total{reason="SUSPENDED"} 1');
      expect(body).not.toContain('eth_anything');
      for (const verdict of ['sponsored', 'refused'])
        expect(body).toMatch(
          new RegExp(
            `^paymaster_operations_total\\{paymaster="(?!other)[^"]+",verdict="${verdict}"\\} 1$`,
            'm',
          ),
        );
    } finally {
      await own.stop();
    }
  });
});
