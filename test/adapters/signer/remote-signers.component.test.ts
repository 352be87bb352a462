import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { computeAddress, recoverAddress } from 'ethers';
import { createRemoteSigner, type SignRemotely } from '../../../adapters/signer/remote-signer.js';
import type { RemoteLimits } from '../../../adapters/signer/kind.js';
import { loadNativeCurve, recoverWith } from '../../../adapters/signer/curve.js';
import { createSignerInstruments } from '../../../adapters/signer/signer-instruments.js';
import { loadSigners, type LoadedSigners } from '../../../adapters/signer/signers.js';
import { createMetrics } from '../../../adapters/metrics/prometheus.js';
import { silentLogger } from '../../../core/log.js';
import { parseAddress } from '../../../core/units/address.js';
import { bytesToHex } from '../../../core/units/hex.js';
import { requireSignature, signingItem, type Signer, type Signing } from '../../../core/paymaster/signer.js';
import { CallFailed } from '../../../adapters/signer/call-failed.js';
import { signerConformance } from '../../conformance/signer.js';
import type { FakeServer } from '../../fakes/signers/fake-server.js';
import { endsOf } from '../../build/signing.js';
import { until } from '../../support/until.js';
import { publicKeyOf } from '../../fakes/signers/web3signer.js';
import { remoteKinds, type RemoteKind } from './remote-kinds.js';

const key = `0x${'5d'.repeat(32)}`;
const account = computeAddress(key);
const halfOrder = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;
const item = (byte: number) => signingItem(Buffer.alloc(60, byte));

describe.each(remoteKinds)('A signer of kind $name', (kind: RemoteKind) => {
  let fake: FakeServer;
  let signers: LoadedSigners;
  let signer: Signer;
  /** The same with little patience, for calls that must not succeed. */
  let hasty: LoadedSigners;

  beforeAll(async () => {
    fake = await kind.start([key]);
    signers = await loaded();
    signer = signers.get('far')!;
    hasty = await loaded({ deadlineMs: 300, calls: 100 });
  });
  afterEach(async () => {
    fake.calm();
    for (const each of [signers, hasty])
      await until('it is well', async () => {
        await each.reload();
        return each.get('far')?.trouble?.() === undefined;
      });
  });
  afterAll(async () => {
    signers.stop();
    hasty.stop();
    await fake.stop();
  });

  const loaded = (limits: RemoteLimits = { deadlineMs: 60_000, calls: 100 }) =>
    loadSigners({
      limits,
      environment: { ...kind.environment(fake), PAYMASTER_SIGNER_KEY_FAR: kind.text(fake, key) },
      log: silentLogger,
    });
  const sign = async (byte: number, by = signer): Promise<Signing> => {
    const [signing] = await endsOf(by, [item(byte)]);
    return signing!;
  };
  const expectSigned = (signing: Signing, byte: number) => {
    const signature = requireSignature(signing);
    expect(recoverAddress(item(byte).digest, bytesToHex(signature))).toBe(account);
    expect(BigInt(bytesToHex(signature.subarray(32, 64)))).toBeLessThanOrEqual(halfOrder);
  };
  const messageOf = (signing: Signing): string =>
    'error' in signing && signing.error instanceof CallFailed ? signing.error.message : '';

  test('can sign as soon as it is loaded', () => {
    expect(signer.address).toBe(account);
    expect(signer.trouble?.()).toBeUndefined();
  });

  test('is made to sign with low s, whatever it answers', async () => {
    fake.switches.highS = true;
    for (const byte of [1, 2, 3, 4, 5, 6, 7, 8]) expectSigned(await sign(byte), byte);
  });

  test('that has too much to do is asked again', async () => {
    fake.switches.throttled = 3;
    expectSigned(await sign(1), 1);
  });

  test('that fails after it has signed is asked for the same again', async () => {
    fake.switches.failing = 2;
    expectSigned(await sign(1), 1);
  });

  test('that is slow delays nobody else', async () => {
    fake.switches.delayMs = 200;
    const slow = signer.sign([item(1)]);
    const local = await loadSigners({ environment: { PAYMASTER_SIGNER_KEY_NEAR: key }, log: silentLogger });
    const [near] = local.get('near')!.sign([item(2)]);
    expect(near).toMatchObject({ outcome: 'signed' });
    expectSigned((await slow[0])!, 1);
  });

  test.each<[string, (fake: FakeServer) => void]>([
    ['signs with another key', ({ switches }) => (switches.wrongKey = true)],
    ['tears its answers', ({ switches }) => (switches.torn = true)],
    ['answers nonsense', ({ switches }) => (switches.garbled = true)],
    ['never answers', ({ switches }) => (switches.silent = true)],
    ['always fails', ({ switches }) => (switches.failing = 1_000_000)],
  ])('that %s may have signed: nothing leaves, and nothing is taken back', async (_how, turn) => {
    turn(fake);
    expect((await sign(1, hasty.get('far')!)).outcome).toBe('unknown');
  });

  test('that takes our right away has certainly not signed, says so, and is used again once it is back', async () => {
    fake.switches.revoked = true;
    const ended = await sign(1);
    expect(ended.outcome).toBe('unsigned');
    expect(signer.trouble?.()).toBe(messageOf(ended));
    expect(messageOf(ended)).not.toBe('');
    await signers.reload();
    expect(signer.trouble?.()).toBe(messageOf(ended));
    fake.calm();
    await signers.reload();
    expect(signer.trouble?.()).toBeUndefined();
    expectSigned(await sign(2), 2);
  });

  test.each([
    {
      name: 'was too busy and then refused has certainly not signed',
      turned: { throttled: 2 },
      want: 'unsigned',
    },
    { name: 'failed and then refused may have signed', turned: { failing: 1 }, want: 'unknown' },
  ])('that $name', async ({ turned, want }) => {
    Object.assign(fake.switches, turned, { revoked: true });
    expect((await sign(1)).outcome).toBe(want);
  });

  test('that is away at the start keeps nobody from starting, has certainly not signed, and is found when it comes', async () => {
    const away = await kind.start([key]);
    const text = kind.text(away, key);
    const environment = kind.environment(away);
    await away.stop();
    const late = await loadSigners({
      environment: { ...environment, PAYMASTER_SIGNER_KEY_FAR: text, PAYMASTER_SIGNER_KEY_NEAR: key },
      limits: { deadlineMs: 300, calls: 100 },
      log: silentLogger,
    });
    expect(late.get('near')!.sign([item(1)])).toMatchObject([{ outcome: 'signed' }]);
    expect(late.get('far')?.address).toBe(account);
    await until('it is in trouble', async () => {
      await late.reload();
      // Who is not reached, or who does not give the credentials for it.
      return /ECONNREFUSED|does not answer/.test(late.get('far')?.trouble?.() ?? '');
    });
    // A call that the deadline cuts off is not known to have failed, however it would have ended.
    await until('no call runs at the deadline', async () => {
      const [ended] = await endsOf(late.get('far')!, [item(1)]);
      expect(ended?.outcome).not.toBe('signed');
      return ended?.outcome === 'unsigned';
    });
    late.stop();
  });

  test('whose key is not the one that its file says is found at the start', async () => {
    fake.switches.wrongKey = true;
    const wrong = await loaded({ deadlineMs: 300, calls: 100 });
    await until('it is in trouble', async () => {
      await wrong.reload();
      return wrong.get('far')?.trouble?.() === `it does not sign with the key of ${account}`;
    });
    wrong.stop();
  });

  test('goes on with the calls that run when its file is read again', async () => {
    fake.switches.delayMs = 100;
    const running = signer.sign([item(1)]);
    await signers.reload();
    expect(signers.get('far')).toBe(signer);
    expectSigned((await running[0])!, 1);
  });

  test('answers its share to every paymaster, however much one of them asks', async () => {
    fake.switches.perSecond = 200;
    const flood = endsOf(
      signer,
      Array.from({ length: 400 }, (_, at) => ({ ...item(at % 250), share: 'greedy' })),
    );
    const modest = await endsOf(
      signer,
      [1, 2, 3].map((byte) => ({ ...item(byte), share: 'modest' })),
    );
    expect(modest.map(({ outcome }) => outcome)).toEqual(['signed', 'signed', 'signed']);
    const outcomes = (await flood).map(({ outcome }) => outcome);
    // What found no room was never asked for.
    expect(outcomes.filter((outcome) => outcome === 'unsigned').length).toBeGreaterThanOrEqual(300);
    expect(outcomes).toContain('signed');
  });

  test('no answer that comes too late is given away', async () => {
    fake.switches.silent = true;
    const asked = fake.asked.length;
    // A busy machine may need longer than the deadline to ask at all.
    await until('it was asked', async () => {
      expect((await sign(1, hasty.get('far')!)).outcome).toBe('unknown');
      return fake.asked.length > asked;
    });
  });
});

for (const kind of remoteKinds)
  signerConformance(kind.name, async (bytes) => {
    const own = bytesToHex(bytes);
    const fake = await kind.start([own]);
    fake.switches.highS = true;
    const environment = { ...kind.environment(fake), PAYMASTER_SIGNER_KEY_OWN: kind.text(fake, own) };
    const limits = { deadlineMs: 60_000, calls: 500 };
    const signers = await loadSigners({ environment, limits, log: silentLogger });
    return {
      signer: signers.get('own')!,
      stop: async () => {
        signers.stop();
        await fake.stop();
      },
    };
  });

describe('A remote signer', () => {
  const create = async (
    ask: SignRemotely,
    limits: RemoteLimits,
    metrics = createMetrics({ process: false }),
  ) =>
    createRemoteSigner({
      address: parseAddress(account),
      implementation: 'test',
      recover: recoverWith(await loadNativeCurve()),
      ask,
      limits,
      meter: createSignerInstruments(metrics).meterOf('far'),
    });

  test('of two calls of one paymaster makes one at a time: the other gives up when its time is over, and was never made', async () => {
    let asked = 0;
    const silent: SignRemotely = () => {
      asked += 1;
      return new Promise(() => {});
    };
    const signer = await create(silent, { deadlineMs: 100, calls: 1 });
    const ends = await endsOf(signer, [item(1), item(2)]);
    expect(ends.map(({ outcome }) => outcome)).toEqual(['unknown', 'unsigned']);
    expect(asked).toBe(1);
  });

  test('that is only busy has certainly not signed, and is not in trouble', async () => {
    const busy: SignRemotely = () => Promise.reject(new CallFailed('throttled', 'busy'));
    const signer = await create(busy, { deadlineMs: 100, calls: 5 });
    for (let at = 0; at < 6; at += 1)
      expect(await endsOf(signer, [item(at)])).toMatchObject([{ outcome: 'unsigned' }]);
    expect(signer.trouble?.()).toBeUndefined();
  });
});

describe('A remote signer that is asked too often', () => {
  test('is asked again by those whom it has throttled when the pace lets them, once each', async () => {
    const metrics = createMetrics({ process: false });
    const meter = createSignerInstruments(metrics).meterOf('far');
    let depth = 0;
    let isOpen = true;
    let isBusy = true;
    let asked = 0;
    const curve = await loadNativeCurve();
    const signer = createRemoteSigner({
      address: parseAddress(account),
      implementation: 'test',
      recover: recoverWith(curve),
      async ask({ digest }) {
        asked += 1;
        if (isBusy) throw new CallFailed('throttled', 'busy');
        return curve.sign(digest, Buffer.from(key.slice(2), 'hex')).subarray(0, 64);
      },
      meter: { ...meter, waiting: (count) => void (depth = count) },
      limits: { deadlineMs: 60_000, calls: 100 },
      pace: {
        delayMs: () => (isOpen ? 0 : 1),
        pass: () => {},
        throttled: () => {},
      },
    });
    // Ten begin while it is open, and are throttled.
    const ends = endsOf(signer, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(item));
    isOpen = false;
    await until('all wait for the pace', () => depth === 10);
    expect(asked).toBe(10);
    isBusy = false;
    isOpen = true;
    expect((await ends).map(({ outcome }) => outcome)).toEqual(Array(10).fill('signed'));
    expect(asked).toBe(20);
  });
});

describe('The metrics of signers', () => {
  const series = async (metrics: ReturnType<typeof createMetrics>) =>
    (await metrics.render()).body.split('\n').filter((line) => line.startsWith('paymaster_signer_'));
  const [web3signer] = remoteKinds;

  test('count what became of each call, by the name of the file, and say nothing that is in it', async () => {
    const fake = await web3signer!.start([key]);
    const metrics = createMetrics({ process: false });
    const text = web3signer!.text(fake, key).replace('//', '//user:secret@');
    const signers = await loadSigners({
      environment: { PAYMASTER_SIGNER_KEY_FAR: text, PAYMASTER_SIGNER_KEY_NEAR: key },
      limits: { deadlineMs: 60_000, calls: 100 },
      log: silentLogger,
      metrics,
    });
    const far = 'signer="PAYMASTER_SIGNER_KEY_FAR"';
    expect(await series(metrics)).toContain(`paymaster_signer_unavailable{${far}} 0`);
    fake.switches.throttled = 1;
    await endsOf(signers.get('far')!, [item(1)]);
    fake.switches.revoked = true;
    await endsOf(signers.get('far')!, [item(1)]);
    await signers.reload();
    const lines = await series(metrics);
    for (const [result, count] of Object.entries({
      signed: 2,
      throttled: 1,
      refused: 2,
      unclear: 0,
      busy: 0,
    }))
      expect(lines).toContain(`paymaster_signer_calls_total{${far},result="${result}"} ${count}`);
    expect(lines).toContain(`paymaster_signer_call_duration_seconds_count{${far}} 5`);
    expect(lines).toContain(`paymaster_signer_queue_depth{${far}} 0`);
    expect(lines).toContain(`paymaster_signer_unavailable{${far}} 1`);
    expect(lines).toContain('paymaster_signer_unavailable{signer="PAYMASTER_SIGNER_KEY_NEAR"} 0');
    const { host } = new URL(fake.origin);
    for (const word of [host, 'secret', key.slice(2), publicKeyOf(key).slice(2), account])
      expect(lines.join('\n')).not.toContain(word);
    signers.stop();
    await fake.stop();
  });

  test('show a flood as signatures that wait, and then as calls that were not made', async () => {
    const metrics = createMetrics({ process: false });
    const open: (() => void)[] = [];
    const meter = createSignerInstruments(metrics).meterOf('far');
    const signer = createRemoteSigner({
      address: parseAddress(account),
      implementation: 'test',
      recover: recoverWith(await loadNativeCurve()),
      ask: () =>
        new Promise((_, reject) => open.push(() => reject(new CallFailed('refused', 'no such key')))),
      meter,
      limits: { deadlineMs: 60_000, calls: 5 },
    });
    const ends = endsOf(signer, [1, 2, 3, 4, 5, 6, 7].map(item));
    await until('one is asked', () => open.length === 1);
    // One call, and four that wait.
    expect(await series(metrics)).toContain('paymaster_signer_queue_depth{signer="far"} 4');
    expect(await series(metrics)).toContain('paymaster_signer_calls_total{signer="far",result="busy"} 2');
    for (let at = 0; at < 5; at += 1) {
      await until('the next is asked', () => open.length > at);
      open[at]?.();
    }
    await ends;
    expect(await series(metrics)).toContain('paymaster_signer_queue_depth{signer="far"} 0');
    expect(await series(metrics)).toContain('paymaster_signer_calls_total{signer="far",result="refused"} 5');
  });

  test('show a file that holds no key as a signer that cannot sign, until it is taken away', async () => {
    const metrics = createMetrics({ process: false });
    const environment: Record<string, string> = { PAYMASTER_SIGNER_KEY_BAD: 'kind: kms\n' };
    const signers = await loadSigners({ environment, log: silentLogger, metrics });
    const line = 'paymaster_signer_unavailable{signer="PAYMASTER_SIGNER_KEY_BAD"} 1';
    expect(await series(metrics)).toContain(line);
    delete environment['PAYMASTER_SIGNER_KEY_BAD'];
    await signers.reload();
    expect(await series(metrics)).toEqual([]);
  });
});
