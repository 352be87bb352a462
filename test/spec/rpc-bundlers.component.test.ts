import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createChains } from '../../adapters/chain/chains.js';
import type { Chains } from '../../core/chain/chain.js';
import { paymasterSignatureMagic } from '../../core/entry-point/paymaster-signature.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { noMetrics } from '../../core/metrics.js';
import type { LogFields, Logger } from '../../core/log.js';
import { toAddressKey } from '../../core/units/address.js';
import { systemClock } from '../../core/units/time.js';
import {
  addressOf,
  aPaymasterConfig,
  aProfileConfig,
  sha256,
  someChainId,
  someTarget,
  someVersions,
} from '../build/configs.js';
import { aTokenChain, aTokenProfile, tokenVersions, usdx } from '../build/fee-tokens.js';
import { anOperation, execute, mintCall, type WireOperation } from '../build/operations.js';
import { rpcPath, type RpcAnswer } from '../build/rpc.js';
import { startBundler, type HttpBundler, type Reply } from '../support/http-bundlers.js';
import { until } from '../support/until.js';
import { useRpc } from '../support/use-rpc.js';

// Bundlers behind the JSON-RPC address: they get what was sponsored, and nothing else; they may be slow, gone, huge or talkative.

const key = 'SECRETKEY123456';
const hash = `0x${'ab'.repeat(32)}`;
const logged: string[] = [];
const log: Logger = {
  debug: note,
  info: note,
  warn: note,
  error: note,
  child: () => log,
};
function note(message: string, fields?: LogFields): void {
  logged.push(
    `${message} ${JSON.stringify(fields, (_name, value: unknown) => (value instanceof Error ? [value.stack, Object.entries(value), String(value.cause)] : value))}`,
  );
}

let chains: Chains;
let first: HttpBundler;
let second: HttpBundler;
const host = useRpc({ chain: aTokenChain(), log, bundlers: () => chains });
const takes = (): Reply => ({ result: hash });
let nonce = 0;
let apiKeys = 0;

beforeAll(async () => {
  first = await startBundler(takes);
  second = await startBundler(takes);
});
afterAll(async () => {
  await chains.stop();
  await Promise.all([first.stop(), second.stop()]);
});
beforeEach(async () => {
  logged.length = 0;
  await chains?.stop();
  answeringWithin(120_000);
  for (const bundler of [first, second]) {
    bundler.calls.length = 0;
    bundler.sent = 0;
    bundler.reply = takes;
  }
  await host.put();
  await bundledBy(`${first.url}/v2/${key}?apikey=${key}`, second.url);
});

function answeringWithin(timeoutMs: number): void {
  chains = createChains({ clock: systemClock, log, metrics: noMetrics, timeoutMs });
}

const bundledBy = (...urls: readonly string[]) => host.putChain({ ...aTokenChain(), bundlers: { urls } });
const entryPointOf = (version: string) => aProfileConfig(version).entryPoint;
const signature = `0x${'5c'.repeat(65)}`;

/** Fresh, with all limits and the account's signature. */
function anOp(fields: WireOperation = {}): WireOperation {
  nonce += 1;
  const { paymasterAndData: _none, ...operation } = anOperation({
    nonce,
    sender: addressOf(0xbee_0000 + nonce),
    signature,
    ...fields,
  });
  return operation;
}

/** With signed data, as wallets put them in. */
async function sponsored(
  operation: WireOperation,
  version = '1.1.0',
  context: object = {},
): Promise<WireOperation> {
  const { body } = await host.call('pm_getPaymasterData', [
    operation,
    entryPointOf(version),
    '0x7a69',
    context,
  ]);
  if (body.result === undefined) throw new Error(body.error?.message);
  return { ...operation, ...body.result };
}

async function withStub(
  operation: WireOperation,
  version = '1.1.0',
  context: object = {},
): Promise<WireOperation> {
  const { body } = await host.call('pm_getPaymasterStubData', [
    operation,
    entryPointOf(version),
    '0x7a69',
    context,
  ]);
  return { ...operation, ...body.result };
}

const send = (operation: WireOperation, version = '1.1.0') =>
  host.call('eth_sendUserOperation', [operation, entryPointOf(version)]);
const estimate = (operation: WireOperation, version = '1.1.0', ...more: readonly unknown[]) =>
  host.call('eth_estimateUserOperationGas', [operation, entryPointOf(version), ...more]);
const receipt = () => host.call('eth_getUserOperationReceipt', [hash]);
const reasonOf = ({ body }: RpcAnswer) => body.error?.data.reason;
const sentTo = ({ calls }: HttpBundler) => (calls[0]?.params ?? []) as readonly [WireOperation?, string?];
const reached = () => [...first.calls, ...second.calls].map(({ method }) => method);

describe('eth_sendUserOperation', () => {
  test.each(someVersions)(
    'version %s: what was sponsored goes to the first bundler, read and written again',
    async (version) => {
      await host.put({ version });
      const operation = await sponsored(anOp({ anything: 'else' }), version);
      const { status, body } = await send(operation, version);
      expect([status, body.result]).toEqual([200, hash]);
      expect(reached()).toEqual(['eth_sendUserOperation']);
      const [sent = {}, entryPoint] = sentTo(first);
      expect(entryPoint).toBe(entryPointOf(version));
      expect(sent).toMatchObject({
        sender: String(operation['sender']).toLowerCase(),
        callData: operation['callData'],
        signature,
      });
      expect(sent['paymasterData'] ?? sent['paymasterAndData']).toBe(
        operation['paymasterData'] ?? operation['paymasterAndData'],
      );
      // Members that we did not read are not passed on.
      expect(Object.keys(sent)).not.toEqual(expect.arrayContaining(['anything']));
      expect(Object.keys(sent)).not.toEqual(expect.arrayContaining(['validUntil']));
    },
  );

  test.each(tokenVersions)('version %s: a payment in tokens, too', async (version) => {
    await host.put({ version });
    host.world.takeable = 10n ** 30n;
    const operation = await sponsored(anOp(), version, { token: usdx.address });
    expect((await send(operation, version)).body.result).toBe(hash);
  });

  test('what was signed by a key that is gone, as long as its promise is live', async () => {
    const operation = await sponsored(anOp());
    const profiles = aTokenChain().profiles?.map((profile) => ({ ...profile, signerFile: 'next.key' }));
    await host.putChain({ ...aTokenChain(), ...given(profiles), bundlers: { urls: [first.url] } });
    expect((await send(operation)).body.result).toBe(hash);
    expect(
      reasonOf(await send({ ...operation, callData: execute(someTarget, mintCall(addressOf(0xbad))) })),
    ).toBe('OTHER_OPERATION');
  });

  test('a paymaster signature that was made after that of the account is sent in the field paymasterSignature', async () => {
    await host.put({ version: 'hybrid-0.9' });
    const ours = await sponsored(anOp(), 'hybrid-0.9');
    const data = String(ours['paymasterData']);
    const apart = { paymasterData: data.slice(0, -130), paymasterSignature: `0x${data.slice(-130)}` };
    const joined = { paymasterData: `${data}0041${paymasterSignatureMagic.slice(2)}` };
    for (const form of [apart, joined])
      expect((await send({ ...ours, ...form }, 'hybrid-0.9')).body.result).toBe(hash);
    for (const { params } of first.calls) expect(params[0]).toMatchObject(apart);
  });

  describe.each(someVersions)('version %s refuses, and no bundler hears of it,', (version) => {
    beforeEach(() => host.put({ version }));

    async function refusal(operation: WireOperation): Promise<string | undefined> {
      const { status, body } = await send(operation, version);
      expect([status, body.error?.code]).toEqual([200, -32501]);
      expect(reached()).toEqual([]);
      return body.error?.data.reason;
    }

    test('an operation without a paymaster', async () => {
      expect(await refusal(anOp())).toBe('NO_PAYMASTER');
    });

    test("a stranger's operation, with a paymaster of his own", async () => {
      const theirs = replacePaymaster(await sponsored(anOp(), version), addressOf(0x666));
      expect(await refusal(theirs)).toBe('OTHER_PAYMASTER');
    });

    test('data that nobody has signed: a stub', async () => {
      expect(await refusal(await withStub(anOp(), version))).toBe('NOT_SIGNED_HERE');
    });

    test('our signature in an operation of another sender, who was promised nothing', async () => {
      const ours = await sponsored(anOp(), version);
      expect(await refusal({ ...ours, sender: addressOf(0xbad) })).toBe('NOT_SIGNED_HERE');
    });

    test('another operation of the same sender and nonce', async () => {
      const ours = await sponsored(anOp(), version);
      const callData = execute(someTarget, mintCall(addressOf(0xbad)));
      expect(await refusal({ ...ours, callData })).toBe('OTHER_OPERATION');
    });

    test.each<WireOperation>([
      { callGasLimit: '100001' },
      { verificationGasLimit: '200001' },
      { preVerificationGas: '60001' },
      { maxFeePerGas: '0x77359401' },
      { maxPriorityFeePerGas: '0x3b9aca01' },
    ])('a promised operation with another %j', async (changed) => {
      const ours = await sponsored(anOp(), version);
      expect(await refusal({ ...ours, ...changed })).toBe('OTHER_OPERATION');
    });

    test('a promised operation that makes its account by other code', async () => {
      const ours = await sponsored(anOp(), version);
      expect(await refusal({ ...ours, initCode: `${addressOf(0xfac)}00` })).toBe('OTHER_OPERATION');
    });

    test('data of ours with anything behind them', async () => {
      const ours = await sponsored(anOp(), version);
      const field = ours['paymasterData'] === undefined ? 'paymasterAndData' : 'paymasterData';
      const longer = { ...ours, [field]: `${String(ours[field])}00` };
      expect(['OTHER_OPERATION', 'NOT_SIGNED_HERE']).toContain(await refusal(longer));
    });
  });

  test.each(tokenVersions)('version %s refuses data that its contract takes unsigned', async (version) => {
    await host.put({ version });
    const { layout, token = '0x' } = aTokenProfile(version);
    const data = layouts[layout].token?.unsigned?.(token, toAddressKey(addressOf(0xfee1)));
    if (data === undefined) return;
    expect(reasonOf(await send({ ...anOp(), ...unpacked(data) }, version))).toBe('NOT_SIGNED_HERE');
    expect(reached()).toEqual([]);
  });

  test('an operation for another EntryPoint, and one with two paymasters, are wrong input', async () => {
    await host.put({ version: '2.0.0' });
    const ours = await sponsored(anOp(), '2.0.0');
    const other = await host.call('eth_sendUserOperation', [ours, entryPointOf('1.1.0')]);
    const twice = await send({ ...ours, paymasterAndData: `${addressOf(0x666)}00` }, '2.0.0');
    expect([reasonOf(other), reasonOf(twice)]).toEqual(['INVALID_INPUT', 'INVALID_INPUT']);
    expect(twice.body.error?.message).toContain(
      'params[0].paymasterAndData must be left out when paymaster is given',
    );
    expect(reached()).toEqual([]);
  });
});

describe('eth_estimateUserOperationGas', () => {
  const limits = { callGasLimit: '0x1', verificationGasLimit: '0x2', preVerificationGas: '0x3' };
  beforeEach(() => {
    first.reply = () => ({ result: limits });
  });

  test.each(someVersions)(
    'version %s: with a stub, also without limits, and with state overrides',
    async (version) => {
      await host.put({ version });
      const {
        callGasLimit: _c,
        verificationGasLimit: _v,
        preVerificationGas: _p,
        ...bare
      } = await withStub(anOp(), version);
      const overrides = { [addressOf(1)]: { balance: '0x1' } };
      expect((await estimate(bare, version, overrides)).body.result).toEqual(limits);
      expect(first.calls[0]?.params[2]).toEqual(overrides);
    },
  );

  test.each(someVersions)(
    'version %s: with signed data and other limits, while they are promised',
    async (version) => {
      await host.put({ version });
      const ours = await sponsored(anOp(), version);
      expect((await estimate({ ...ours, callGasLimit: '0x0' }, version)).body.result).toEqual(limits);
      const theirs = { ...ours, callGasLimit: '0x0', sender: addressOf(0xbad) };
      expect(reasonOf(await estimate(theirs, version))).toBe('NOT_SIGNED_HERE');
      expect(reached()).toHaveLength(1);
    },
  );

  test.each(someVersions)(
    'version %s: without a paymaster, as clients ask before they know it, with the stub of the list of tokens',
    async (version) => {
      await host.put({ version });
      expect((await estimate(anOp(), version)).body.result).toEqual(limits);
      const [asked = {}] = sentTo(first);
      const { body } = await host.call('pm_supportedERC20Tokens', []);
      const { dummyPaymasterAndData: dummy } = Object(body.result).paymasterMetadata;
      expect(asked).toMatchObject(typeof dummy === 'string' ? { paymasterAndData: dummy } : dummy);
      // Nothing was promised by that.
      expect(reasonOf(await send(asked, version))).toBe('NOT_SIGNED_HERE');
      expect(reached()).toHaveLength(1);
    },
  );

  test('nothing else: the paymaster of a stranger, and half of one', async () => {
    await host.put({ version: '2.0.0' });
    const theirs = replacePaymaster(await withStub(anOp(), '2.0.0'), addressOf(0x666));
    expect(reasonOf(await estimate(theirs, '2.0.0'))).toBe('OTHER_PAYMASTER');
    const half = await estimate({ ...anOp(), paymaster: addressOf(0x666) }, '2.0.0');
    expect(reasonOf(half)).toBe('INVALID_INPUT');
    expect(reached()).toEqual([]);
  });
});

describe('look-ups by hash', () => {
  const contract = aProfileConfig('1.1.0').sponsorship;

  test.each([
    ['eth_getUserOperationReceipt', { paymaster: contract, success: true }],
    ['eth_getUserOperationByHash', { userOperation: { paymaster: contract.toLowerCase() } }],
    ['eth_getUserOperationByHash', { userOperation: { paymasterAndData: `${contract}0102` } }],
  ])('%s answers what names a contract of ours, and null for a stranger', async (method, answer) => {
    first.reply = () => ({ result: answer });
    expect((await host.call(method, [hash])).body.result).toEqual(answer);
    const text = JSON.stringify(answer).replace(new RegExp(contract, 'i'), addressOf(0x666));
    first.reply = () => ({ result: JSON.parse(text) });
    expect((await host.call(method, [hash])).body.result).toBeNull();
    first.reply = () => ({ result: null });
    expect((await host.call(method, [hash])).body.result).toBeNull();
  });

  test('a hash is 32 bytes', async () => {
    expect((await host.call('eth_getUserOperationReceipt', ['0x12'])).body.error?.message).toBe(
      'params[0] must be the 32 bytes of an operation hash, got "0x12"',
    );
    expect(reached()).toEqual([]);
  });
});

describe('a bundler that', () => {
  test('refuses keeps its code, message and data, and no other one is asked', async () => {
    const data = { revertData: '0x08c379a0', paymaster: addressOf(1) };
    first.reply = () => ({ error: { code: -32500, message: "AA23 reverted: 'no'", data } });
    const { status, body } = await send(await sponsored(anOp()));
    expect([status, body.error]).toEqual([
      200,
      { code: -32500, message: expect.stringContaining("AA23 reverted: 'no'"), data },
    ]);
    expect(second.calls).toEqual([]);
  });

  test('does not know the method leaves the call to the next one', async () => {
    first.reply = () => ({ error: { code: -32601, message: 'Method not found' } });
    second.reply = () => ({ result: { fast: { maxFeePerGas: '0x1' } } });
    const { body } = await host.call('pimlico_getUserOperationGasPrice', []);
    expect(body.result).toEqual({ fast: { maxFeePerGas: '0x1' } });
  });

  test('quotes its URL with a key, in any form, tells it to nobody', async () => {
    const { host: name, url } = first;
    const message = `denied at ${url}/v2/${key} (${name}) for ${key}`;
    first.reply = () => ({
      error: { code: -32602, message, data: { at: `${url}/v2/${key}`, deep: [{ key, name }] } },
    });
    await bundledBy(`${url}/v2/${key}?apikey=${key}`);
    const { body, text } = await receipt();
    expect(body.error?.code).toBe(-32602);
    expect(body.error?.message).toContain('denied at <url>');
    expect(body.error?.data).toEqual({ at: '<url>', deep: [{ key: '<url>', name: '<url>' }] });
    expect(text).not.toContain(name);
    expect([text, ...logged].join('\n')).not.toContain(key);
  });

  test.each(['stall', 'close', 'huge'] as const)(
    'does this: %s, is followed by the next one',
    async (reply) => {
      // Each of two gets its part of it.
      await chains.stop();
      answeringWithin(reply === 'stall' ? 10_000 : 120_000);
      first.reply = () => reply;
      expect((await send(await sponsored(anOp()))).body.result).toBe(hash);
      expect([first.calls.length, second.calls.length]).toEqual([1, 1]);
      // It was not read to its end.
      expect(first.sent).toBeLessThan(50_000_000);
    },
  );

  test.each(['stall', 'close', 'huge'] as const)(
    'does this: %s, and is the last one, is UNAVAILABLE without a name',
    async (reply) => {
      await chains.stop();
      answeringWithin(2_000);
      for (const bundler of [first, second]) bundler.reply = () => reply;
      const { body, text } = await receipt();
      expect(body.error).toMatchObject({
        code: -32003,
        data: { reason: 'BUNDLER_UNAVAILABLE', retryable: true },
      });
      expect(text).not.toContain('127.0.0.1');
      expect([text, ...logged].join('\n')).not.toContain(key);
    },
  );

  test('asks for fewer calls is not the fault of the caller', async () => {
    for (const bundler of [first, second])
      bundler.reply = () => ({ error: { code: -32005, message: 'slow down' } });
    expect(reasonOf(await receipt())).toBe('BUNDLER_UNAVAILABLE');
  });
});

test('a key has a share of the bundlers: what one leaves open stops no other', async () => {
  await bundledBy(first.url);
  const another = `another-key-0123456789.${(apiKeys += 1)}`;
  await host.put({
    keys: [{ sha256: sha256(another) }],
    paymasterId: '7a1c7c2e-1111-5222-8333-444455559999',
    objectName: 'other',
  });
  first.reply = () => 'stall';
  const open = Array.from({ length: 139 }, receipt);
  const refused = await Promise.race(open);
  expect(reasonOf(refused)).toBe('BUNDLERS_BUSY');
  await until('the share is used up', () => first.calls.length >= 10);
  first.reply = () => ({ result: null });
  const { body } = await host.call('eth_getUserOperationReceipt', [hash], { path: rpcPath(another) });
  expect(body.result).toBeNull();
  first.hangUp();
  await Promise.all(open);
});

describe('a chain without bundlers', () => {
  beforeEach(() => host.putChain(aTokenChain()));

  test('says so', async () => {
    const { body } = await receipt();
    expect(body.error).toMatchObject({
      code: -32601,
      message: expect.stringContaining(
        `eth_getUserOperationReceipt is not served for chain ${someChainId}, which has no bundlers here`,
      ),
    });
  });

  test('answers what needs none', async () => {
    expect((await host.call('eth_chainId', [])).body.result).toBe('0x7a69');
    expect((await host.call('eth_supportedEntryPoints', [])).body.result).toEqual([
      entryPointOf(aPaymasterConfig().version),
    ]);
  });
});

function given(profiles: ReturnType<typeof aTokenChain>['profiles']) {
  return profiles === undefined ? {} : { profiles };
}

function replacePaymaster(operation: WireOperation, paymaster: string): WireOperation {
  const { paymasterAndData: packed } = operation;
  return typeof packed === 'string'
    ? { ...operation, paymasterAndData: `${paymaster}${packed.slice(42)}` }
    : { ...operation, paymaster };
}

/** In the form of EntryPoint 0.7. */
function unpacked(data: string): WireOperation {
  return {
    paymaster: data.slice(0, 42),
    paymasterVerificationGasLimit: `0x${data.slice(42, 74)}`,
    paymasterPostOpGasLimit: `0x${data.slice(74, 106)}`,
    paymasterData: `0x${data.slice(106)}`,
  };
}
