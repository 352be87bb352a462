import { expect } from '@jest/globals';
import fc from 'fast-check';
import { parseInputs } from '../../../server/decision/inputs-text.js';
import { Replayer } from '../../../server/replay/replayer.js';
import type { Findings } from '../../../server/replay/result.js';
import { minuteMs } from './paymasters.js';
import type { Asked, Ending, Recorded, Round } from './recorded-world.js';

const gwei = 1_000_000_000;

const mostly = <T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof(
    { arbitrary: fc.constant(usual), weight: 8 },
    ...others.map((other) => ({ arbitrary: fc.constant(other), weight: 1 })),
  );
const anAsked: fc.Arbitrary<Asked> = fc.record({
  paymaster: fc.nat(2),
  mode: mostly<Asked['mode']>('SPONSORED', 'ERC20', 'ERC20'),
  phases: fc.boolean(),
  sender: fc.nat(4),
  nonce: fc.nat(9),
  target: mostly(0x7a, 0xdead),
  maxFeePerGas: mostly(2 * gwei, 3 * gwei, 51 * gwei),
  givesLimits: fc.boolean(),
  estimate: mostly(90_000, 120_000, 10_000_001),
  reverts: mostly(false, true),
  webhook: mostly<Asked['webhook']>('verified', 'refused', 'failed'),

  pays: mostly(true, false),
});
const anEnding: fc.Arbitrary<Ending> = fc.record({
  which: fc.double({ min: 0, max: 0.999, noNaN: true }),
  how: mostly<Ending['how']>('settled', 'released', 'forfeited', 'restored'),
  actualCost: fc.nat(2_000_000),
});
/** Requests of both modes at the same time, in one and two phases, and how reservations end meanwhile. */
export const someRounds: fc.Arbitrary<readonly Round[]> = fc.array(
  fc.record({
    asked: fc.array(anAsked, { minLength: 1, maxLength: 8 }),
    endings: fc.array(anEnding, { maxLength: 4 }),
    passes: mostly(1_500, 0, 45_000, 4 * minuteMs),
  }),
  { minLength: 5, maxLength: 25 },
);

export async function replay({ records, ...config }: Recorded): Promise<Findings> {
  const replayer = new Replayer(config, () => undefined);
  for (let from = 0; from < records.length; from += 100) await replayer.take(records.slice(from, from + 100));
  return replayer.result();
}

/** Replays under the configuration of the recording; answers the recorded reasons, and `sponsored`. */
export async function expectSameVerdicts(recorded: Recorded): Promise<ReadonlySet<string>> {
  const { newlyRefused, newlySponsored, notReplayed, unchanged } = await replay(recorded);
  expect([...newlyRefused.examples, ...newlySponsored.examples, ...notReplayed]).toEqual([]);
  const verdicts = recorded.records.flatMap(({ body }) => {
    const inputs = parseInputs(body);
    return inputs?.kind === 'decided' ? [inputs.verdict] : [];
  });
  const sponsored = verdicts.filter(({ pass }) => pass).length;
  expect(unchanged).toEqual({ sponsored, refused: verdicts.length - sponsored, otherReason: 0 });
  return new Set(verdicts.map((verdict) => (verdict.pass ? 'sponsored' : verdict.reason)));
}
