import { beforeEach, describe, expect, test } from '@jest/globals';
import { arbitrumOracle } from '../../adapters/data-fee/arbitrum.js';
import { createDataFees, type FollowedChain, type KeptDataFees } from '../../adapters/data-fee/data-fees.js';
import { createMetrics } from '../../adapters/metrics/prometheus.js';
import { arbitrumFormula } from '../../core/chain/data-fee/arbitrum/arbitrum.js';
import { CallReverted, type CallRequest } from '../../core/chain/chain.js';
import { DomainError } from '../../core/errors.js';
import { silentLogger } from '../../core/log.js';
import type { Hex } from '../../core/units/hex.js';
import type { EpochMs } from '../../core/units/time.js';
import { FakeChain } from '../fakes/chain.js';
import { createVirtualTime, turn, type VirtualTime } from '../operator/virtual-time.js';

const address = '0x00000000000000000000000000000000000000C8';
const gwei = 10n ** 9n;

/** Answers at the address of Arbitrum's precompile NodeInterface, which has no bytecode, as the precompile does. */
class StandInForNodeInterface extends FakeChain {
  l1BaseFee = gwei;
  baseFee = gwei / 10n;
  /** Multiplies the gas that the formula gives. */
  times = 1n;
  fault: Error | undefined;
  answer: Hex | undefined;
  readonly asked: CallRequest[] = [];

  override call(request: CallRequest): Promise<Hex> {
    this.asked.push(request);
    if (this.fault !== undefined) return Promise.reject(this.fault);
    const gas = (this.times * arbitrumFormula.fee(600, this.l1BaseFee)) / this.baseFee;
    const words = [gas, this.baseFee, this.l1BaseFee].map((value) => value.toString(16).padStart(64, '0'));
    return Promise.resolve<Hex>(this.answer ?? `0x${words.join('')}`);
  }
}

const standIn = () => new StandInForNodeInterface({ chainId: 42161, time: 1_700_000_000 });

describe('the stand-in for the precompile of Arbitrum', () => {
  test('is asked about a transfer of bytes that do not compress, by gasEstimateL1Component', async () => {
    const chain = standIn();
    await expect(arbitrumOracle.read(chain)).resolves.toBe(gwei);
    const [{ to, data } = { to: '', data: '0x' }] = chain.asked;
    expect(to).toBe(address);
    expect(data.slice(0, 10)).toBe('0x77d488a2');
    expect(data.slice(10 + 3 * 64, 10 + 4 * 64)).toBe((512).toString(16).padStart(64, '0'));
    expect(arbitrumFormula.size(Buffer.from(data.slice(10 + 4 * 64), 'hex'))).toBeGreaterThanOrEqual(512);
  });

  test.each([
    { name: 'no precompile', change: { answer: '0x' as const }, message: 'not one of Arbitrum' },
    { name: 'a revert', change: { fault: new CallReverted('0x', 'reverted') }, message: 'reverts' },
    { name: 'another rule', change: { times: 5n }, message: 'formula that this build does not know' },
    { name: 'a price out of this world', change: { l1BaseFee: 10n ** 16n }, message: 'above' },
  ])('is not followed: $name', async ({ change, message }) => {
    await expect(arbitrumOracle.read(Object.assign(standIn(), change))).rejects.toThrow(message);
  });
});

describe('following the data fee', () => {
  let chain: StandInForNodeInterface;
  let time: VirtualTime;
  let served: FollowedChain[];
  let changed: number[];
  let fees: KeptDataFees;
  let metrics: ReturnType<typeof createMetrics>;
  const arbitrum: FollowedChain = { chainId: 42161, rpc: { file: 'one' }, dataFee: { kind: 'Arbitrum' } };
  beforeEach(() => {
    chain = standIn();
    time = createVirtualTime();
    served = [arbitrum];
    changed = [];
    metrics = createMetrics({ process: false });
    fees = createDataFees({
      chains: { get: () => chain },
      chainConfigs: () => served,
      clock: time.clock,
      timers: time.timers,
      log: silentLogger,
      metrics,
      onChange: (chainId) => changed.push(chainId),
    });
  });
  /** Second by second, so that every reading ends before the next. */
  const pass = async (ms: number): Promise<void> => {
    await turn();
    for (let passed = 0; passed < ms; passed += 1_000) {
      time.advance(1_000);
      await turn();
    }
  };
  const shown = async (name: string): Promise<string | undefined> =>
    (await metrics.render()).body.split('\n').find((line) => line.startsWith(`paymaster_data_fee_${name}`));

  test('reads every ten seconds, however often the reading is used', async () => {
    fees.start();
    await pass(0);
    const startedAt = time.clock.now();
    expect(fees.get(42161)).toEqual({ price: gwei, observedAt: startedAt });
    for (let use = 0; use < 100; use += 1) fees.get(42161);
    chain.l1BaseFee = 3n * gwei;
    await pass(9_000);
    expect(fees.get(42161)?.price).toBe(gwei);
    await pass(1_000);
    expect(fees.get(42161)).toEqual({ price: 3n * gwei, observedAt: (startedAt + 10_000) as EpochMs });
    expect(chain.asked).toHaveLength(2);
    expect(changed).toEqual([42161]);
  });

  test('a node that does not answer leaves the last reading, whose age is shown', async () => {
    fees.start();
    await pass(0);
    const before = fees.get(42161);
    chain.fault = new DomainError('UNAVAILABLE', 'timed out');
    await pass(600_000);
    expect(fees.get(42161)).toEqual(before);
    expect(fees.fault(42161)?.outcome).toBe('unreachable');
    expect(await shown('age_seconds')).toBe('paymaster_data_fee_age_seconds{chain="42161"} 600');
    expect(await shown('wei{')).toBe(
      `paymaster_data_fee_wei{chain="42161"} ${Number(arbitrumFormula.fee(501, gwei))}`,
    );
    chain.fault = undefined;
    await pass(10_000);
    expect(fees.fault(42161)).toBeUndefined();
    expect(changed).toEqual([42161, 42161, 42161]);
  });

  test('a chain that charges by another rule ends the reading at once', async () => {
    fees.start();
    await pass(0);
    chain.times = 100n;
    await pass(10_000);
    expect(fees.get(42161)).toBeUndefined();
    expect(fees.fault(42161)).toEqual({
      outcome: 'unsupported',
      oracle: `NodeInterface ${address}`,
      detail: 'charges by a formula that this build does not know',
    });
    expect(await shown('wei{')).toBeUndefined();
  });

  test('a chain without an oracle, or that was taken away, is not asked', async () => {
    served = [
      { ...arbitrum, dataFee: { kind: 'Factor', factor: '2' } },
      { chainId: 1, rpc: {} },
    ];
    fees.start();
    await pass(60_000);
    expect(chain.asked).toHaveLength(0);
    served = [arbitrum];
    await pass(1_000);
    expect(fees.get(42161)?.price).toBe(gwei);
    served = [];
    await pass(1_000);
    expect(fees.get(42161)).toBeUndefined();
    expect(await shown('age_seconds{')).toBeUndefined();
  });

  test('a reading of another node does not count for a changed connection', async () => {
    fees.start();
    await pass(0);
    served = [{ ...arbitrum, rpc: { file: 'two' } }];
    chain.fault = new DomainError('UNAVAILABLE', 'timed out');
    await pass(1_000);
    expect(fees.get(42161)).toBeUndefined();
  });

  test('after a stop nothing is read', async () => {
    fees.start();
    await pass(0);
    await fees.stop();
    await fees.stop();
    await pass(60_000);
    expect(chain.asked).toHaveLength(1);
  });
});
