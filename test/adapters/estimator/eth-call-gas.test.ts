import { expect, test } from '@jest/globals';
import { createEthCallGas, type MeasuringLimits } from '../../../adapters/estimator/eth-call-gas.js';
import { GasCapped } from '../../../adapters/estimator/simulate-handle-op.js';
import { plusMs, type EpochMs } from '../../../core/units/time.js';

/** A node that gives `eth_call` up to `cap` gas, and a clock. */
function build() {
  const at = { cap: 50_000_000n, now: 0 as EpochMs };
  const gas = createEthCallGas({ now: () => at.now });
  const asked: bigint[] = [];
  const measure = async ({ callGasLimit, verificationGasLimit }: MeasuringLimits): Promise<bigint> => {
    const limits = callGasLimit + verificationGasLimit;
    asked.push(limits);
    if (limits > at.cap) throw new GasCapped('gas limit is above the cap');
    return limits;
  };
  return {
    at,
    /** What the measurement came to, and all that were made for it. */
    async ask(): Promise<{ readonly measured: bigint | string; readonly made: readonly bigint[] }> {
      asked.length = 0;
      const measured = await gas.measure(measure).catch((error: Error) => error.message);
      return { measured, made: [...asked] };
    },
  };
}

const [plenty, modest] = [20_000_000n, 7_000_000n];

test('a node that gives plenty is asked once more than it needs to be, at the first measurement', async () => {
  const { ask } = build();
  expect(await ask()).toEqual({ measured: plenty, made: [plenty, modest] });
  expect(await ask()).toEqual({ measured: plenty, made: [plenty] });
});

test('a node that gives less is asked for plenty again after ten minutes', async () => {
  const { at, ask } = build();
  at.cap = 10_000_000n;
  expect(await ask()).toEqual({ measured: modest, made: [plenty, modest] });
  at.now = plusMs(at.now, 599_999);
  expect(await ask()).toEqual({ measured: modest, made: [modest] });
  at.cap = 50_000_000n;
  at.now = plusMs(at.now, 1);
  expect(await ask()).toEqual({ measured: plenty, made: [plenty, modest] });
});

test('a node that gives less than before fails one measurement', async () => {
  const { at, ask } = build();
  await ask();
  at.cap = 10_000_000n;
  expect((await ask()).measured).toBe('the chain node gives eth_call less gas than before');
  expect((await ask()).measured).toBe(modest);
});

test('a node that gives too little for either says so', async () => {
  const { at, ask } = build();
  at.cap = 1_000_000n;
  expect((await ask()).measured).toContain('the chain node gives eth_call too little gas for this operation');
  at.cap = 10_000_000n;
  await ask();
  at.cap = 1_000_000n;
  expect((await ask()).measured).toContain('too little gas');
});

test('what else a measurement throws says nothing about the node', async () => {
  const gas = createEthCallGas({ now: () => 0 as EpochMs });
  const failing = () => Promise.reject(new Error('AA23 reverted'));
  await expect(gas.measure(failing)).rejects.toThrow('AA23 reverted');
  const made: MeasuringLimits[] = [];
  await gas.measure(async (limits) => made.push(limits));
  expect(made).toHaveLength(2);
});
