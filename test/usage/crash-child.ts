import { writeSync } from 'node:fs';
import { createSqliteUsageStore } from '../../core/adapters/store/sqlite/usage.js';
import { silentLogger } from '../../core/log.js';
import type { FollowerStep } from '../../core/policy/usage-store.js';
import { systemClock } from '../../core/units/time.js';
import { gwei } from '../../core/units/wei.js';
import {
  aHash,
  aLimit,
  anAddress,
  aNeed,
  aRequest,
  chainId,
  contract,
  seconds,
} from '../conformance/usage-requests.js';

/**
 * Reserves as fast as it can until it is killed, and writes a line for each answer after it has it: `+n cost` for a
 * reservation, `-n cost` for one that was settled. Arguments: file, first number.
 */
const [path = '', first = '0'] = process.argv.slice(2);
const store = createSqliteUsageStore({
  path,
  clock: systemClock,
  log: silentLogger,
  durability: 'process',
  compactAtBytes: 40_000,
});
await store.addBalance(chainId, {
  contract,
  balance: gwei(2 ** 50),
  reserved: gwei(0),
  readAt: systemClock.now(),
});
let next = Number(first);

/** Standard output is a file: what is written is there when this returns, also if the process is killed right then. */
function say(line: string): void {
  writeSync(1, line);
}

for (;;) {
  const numbers = Array.from({ length: 16 }, () => next++);
  await Promise.all(
    numbers.map(async (n) => {
      const cost = (n % 97) + 1;
      const sender = anAddress(n);
      const limits = [
        aLimit({ policyId: 'spend', unit: 'NATIVE_ASSET', threshold: 2 ** 50, cost, durationMs: 1e12 }),
        aLimit({ policyId: 'each', subject: sender, threshold: 1, durationMs: 1e12 }),
      ];
      const answer = await store.reserve(
        aRequest({
          key: { sender, nonce: BigInt(n) },
          limits,
          accounts: [aNeed(cost)],
          depositMaxAgeMs: 1e12,
        }),
      );
      if (answer.outcome !== 'reserved') throw new Error(`operation ${n} was answered ${answer.outcome}`);
      say(`+${n} ${cost}\n`);
    }),
  );
  if (next % 5 !== 0) continue;
  const found = (await store.reservations(chainId)).slice(0, 8);
  const cursor = await store.cursor(chainId);
  const blockNumber = (cursor?.blockNumber ?? 0) + 1;
  const step: FollowerStep = {
    chainId,
    expected: cursor,
    next: { blockNumber, blockHash: aHash(blockNumber), timestamp: seconds(blockNumber) },
    settled: found.map(({ key }) => ({ key, actualCost: gwei(1) })),
    released: [],
    balances: [],
  };
  if (!(await store.advance(step))) throw new Error('the step was refused');
  for (const { key } of found) say(`-${key.nonce} 1\n`);
}
