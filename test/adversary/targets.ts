import { isSoak } from '../support/soak-seconds.js';

// How many steps each campaign takes. `make soak STEPS=… CHAIN_STEPS=… RULE_STEPS=…` sets other numbers.

const inMemory = numberOf('PAYMASTER_TEST_STEPS', isSoak ? 1_000_000 : 10_000);

/** Steps on the model of the chain: in memory, and where each step writes to a disk or a server. */
export const modelSteps = {
  inMemory,
  inFile: share(isSoak ? 20 : 5),
  onPostgres: share(isSoak ? 50 : 33),
} as const;

const rulesInMemory = numberOf('PAYMASTER_TEST_RULE_STEPS', isSoak ? 1_000_000 : 4_000);

/** Steps of the model of limits, budgets and campaigns. */
export const ruleSteps = {
  inMemory: rulesInMemory,
  inFile: Math.ceil(rulesInMemory / 10),
  onPostgres: Math.ceil(rulesInMemory / 40),
} as const;

/** Steps on the real EntryPoints. */
export const chainSteps = numberOf('PAYMASTER_TEST_CHAIN_STEPS', isSoak ? 50_000 : 600);

/** Bounds a hang: a soak takes hours on a slow machine. */
export const campaignTimeoutMs = 12 * 3_600_000;

function share(of: number): number {
  return Math.ceil(inMemory / of);
}

function numberOf(name: string, usual: number): number {
  const text = process.env[name];
  if (text === undefined || text === '') return usual;
  const steps = Number(text);
  if (!Number.isSafeInteger(steps) || steps < 1)
    throw new RangeError(`${name} must be a number of steps from 1 on, got ${text}`);
  return steps;
}
