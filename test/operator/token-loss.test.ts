import { afterEach, describe, expect, test } from '@jest/globals';
import { findCondition } from '../../core/meta/conditions.js';
import { DomainError } from '../../core/errors.js';
import { silentLogger } from '../../core/log.js';
import { createMemoryReports, type Reports, type TokenLossReport } from '../../core/reports/reports.js';
import type { EpochMs } from '../../core/units/time.js';
import { aChain, aProfile } from '../build/resources.js';
import { conditionOf, startWorld, type World } from './world.js';

const token = '0x00000000000000000000000000000000000000a7';
const profile = {
  ...aProfile,
  addresses: { ...aProfile.addresses, token },
  tokenLossBudget: '0.25',
};
const sponsorOnly = { ...aProfile, version: 'sponsor-only' };

let world: World;
afterEach(() => world.close());

const inMemory = () =>
  createMemoryReports({ clock: { now: () => world.time.clock.now() }, log: silentLogger });

async function start(reports: Reports = inMemory()) {
  world = await startWorld({ isEmpty: true, deps: { reports } });
  await world.apply(aChain({ profiles: [profile, sponsorOnly] }));
  return {
    put: (chainId: number, report: TokenLossReport) =>
      reports.merge('losses', new Map([[String(chainId), report]])),
  };
}

const state = async (): Promise<string> => conditionOf(await world.get('Chain', 'dev'), 'TokenLoss');
const becomes = (want: string) => world.until(`TokenLoss is ${want}`, async () => (await state()) === want);
const inHours = (hours: number): EpochMs => (world.time.clock.now() + hours * 3_600_000) as EpochMs;
const stoppedUntil = (until: EpochMs) => ({ stopped: [{ version: profile.version, until }] });

describe('the condition TokenLoss of a Chain', () => {
  test('is Unknown until a server reports, False while nothing is lost, True while token mode has stopped', async () => {
    const reports = await start();
    await becomes('Unknown/Unknown');
    await reports.put(31337, { stopped: [] });
    await becomes('False/WithinBudget');
    await reports.put(31337, stoppedUntil(inHours(5)));
    await becomes('True/BudgetLow');
    const condition = findCondition((await world.get('Chain', 'dev')).status?.conditions, 'TokenLoss');
    // The contract, its budget and what to do; no figure that changes by itself.
    expect(condition?.message).toMatch(
      /^Payments that are not taken in validation are few until the day \(UTC\) ends for 1\.1\.0 \(contract 0x[0-9a-fA-F]{40}, budget 0\.25\): .* raise tokenLossBudget/,
    );
    await reports.put(31337, { stopped: [] });
    await becomes('False/WithinBudget');
  });

  test('ends with the day, also when no server reports any longer', async () => {
    const reports = await start();
    await reports.put(31337, stoppedUntil(inHours(5)));
    await becomes('True/BudgetLow');
    world.time.advance(5 * 3_600_000 - 300_000);
    await world.settle();
    expect(await state()).toBe('True/BudgetLow');
    await becomes('False/WithinBudget');
  });

  test('leaves Ready unchanged: sponsorships go on', async () => {
    const reports = await start();
    await reports.put(31337, { stopped: [] });
    await becomes('False/WithinBudget');
    const before = conditionOf(await world.get('Chain', 'dev'), 'Ready');
    await reports.put(31337, stoppedUntil(inHours(5)));
    await becomes('True/BudgetLow');
    expect(conditionOf(await world.get('Chain', 'dev'), 'Ready')).toBe(before);
  });

  test('stays while reports cannot be read, and over a restart', async () => {
    const memory = inMemory();
    let isAway = false;
    const reports = await start({
      ...memory,
      all: (subject) =>
        isAway ? Promise.reject(new DomainError('UNAVAILABLE', 'away')) : memory.all(subject),
    });
    await reports.put(31337, stoppedUntil(inHours(48)));
    await becomes('True/BudgetLow');
    isAway = true;
    await world.settle();
    expect(await state()).toBe('True/BudgetLow');
    await world.restart();
    await world.settle();
    expect(await state()).toBe('True/BudgetLow');
    isAway = false;
    await reports.put(31337, { stopped: [] });
    await becomes('False/WithinBudget');
  });

  test('is not shown where no version takes tokens, and a version that is not offered is not named', async () => {
    const reports = await start();
    await reports.put(31337, { stopped: [{ version: 'gone', until: inHours(5) }] });
    await becomes('False/WithinBudget');
    await world.apply(aChain({ profiles: [sponsorOnly] }));
    await becomes('absent');
  });
});
