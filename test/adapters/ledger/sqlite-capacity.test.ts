import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { createSqliteLedger } from '../../../adapters/ledger/sqlite/ledger.js';
import type { Ledger } from '../../../core/ledger/ledger.js';
import type { Decision, DecisionInputs } from '../../../core/ledger/record.js';
import type { EpochMs } from '../../../core/units/time.js';
import { aDecision, alone, at, inputsOf } from '../../conformance/ledger-records.js';

// Anybody who has a public key writes kilobytes with every sponsorship: the files stop growing.

const maxBytes = 3_000_000;
const open: { readonly ledger: Ledger; readonly directory: string }[] = [];
afterEach(async () => {
  for (const { ledger, directory } of open.splice(0)) {
    await ledger.stop();
    rmSync(directory, { recursive: true, force: true });
  }
});

async function openLedger(): Promise<{ readonly ledger: Ledger; readonly directory: string }> {
  const directory = mkdtempSync(join(tmpdir(), 'ledger-'));
  const ledger = await createSqliteLedger({ directory, durability: 'process', maxBytes });
  open.push({ ledger, directory });
  return { ledger, directory };
}

/** Decisions of one day, a second apart, with inputs of a hundred bytes and more. */
async function record(
  ledger: Ledger,
  day: string,
  count: number,
  size: number,
): Promise<readonly Decision[]> {
  const decisions = Array.from({ length: count }, (_, index) =>
    aDecision('acme', (at(day) + index * 1_000) as EpochMs),
  );
  for (let begin = 0; begin < count; begin += 50) {
    const some = decisions.slice(begin, begin + 50);
    await ledger.append(
      alone(...some, ...some.map((one, index) => withBody(inputsOf(one, begin + index), size))),
    );
  }
  return decisions;
}

function withBody(inputs: DecisionInputs, size: number): DecisionInputs {
  return { ...inputs, body: JSON.stringify('x'.repeat(size)) };
}

async function keptInputs(ledger: Ledger, paymasterId: string): Promise<readonly number[]> {
  const kept: number[] = [];
  const query = {
    organisation: 'acme',
    paymasterIds: [paymasterId],
    from: 0 as EpochMs,
    to: at('2030-01-01T00:00:00Z'),
  };
  for await (const page of ledger.inputs(query)) kept.push(...page.map((inputs) => inputs.at));
  return kept.sort((a, b) => a - b);
}

function bytesIn(directory: string): number {
  const files = readdirSync(directory).filter((file) => file.endsWith('.sqlite'));
  return files.reduce((sum, file) => sum + statSync(join(directory, file)).size, 0);
}

test('the oldest inputs go first, those of the same day too, and every decision stays', async () => {
  const { ledger, directory } = await openLedger();
  const days = ['2026-03-01T00:00:00Z', '2026-03-02T00:00:00Z', '2026-03-03T00:00:00Z'];
  const decisions: Decision[] = [];
  for (const day of days) decisions.push(...(await record(ledger, day, 400, 5_000)));

  const kept = await keptInputs(ledger, decisions[0]?.paymasterId ?? '');
  const newest = decisions.map((one) => one.at).slice(-kept.length);
  expect(kept).toEqual(newest);
  expect(kept.length).toBeGreaterThan(100);
  expect(kept.length).toBeLessThan(400);
  expect(bytesIn(directory)).toBeLessThan(1.1 * maxBytes);
  const { used, capacity } = (await ledger.size?.()) ?? { used: 0, capacity: 0 };
  expect({ capacity, isWithin: used <= capacity }).toEqual({ capacity: maxBytes, isWithin: true });
  for (const decision of [decisions[0], decisions.at(-1)])
    expect(await ledger.decision('acme', decision?.id ?? ('' as Decision['id']))).toBeDefined();
});

test('without inputs the oldest month goes, and the newest one is not touched: then nothing more is stored', async () => {
  const { ledger, directory } = await openLedger();
  const [first] = await record(ledger, '2026-03-01T00:00:00Z', 200, 100);
  const fill = async (): Promise<void> => {
    for (let day = 1; day < 28; day += 1)
      await record(ledger, `2026-04-${String(day).padStart(2, '0')}T00:00:00Z`, 2_000, 100);
  };
  await expect(fill()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(await ledger.decision('acme', first?.id ?? ('' as Decision['id']))).toBeUndefined();
  expect(readdirSync(directory).filter((file) => /^ledger-2026-..\.sqlite$/.test(file))).toEqual([
    'ledger-2026-04.sqlite',
  ]);
  expect(bytesIn(directory)).toBeLessThan(1.3 * maxBytes);
}, 120_000);
