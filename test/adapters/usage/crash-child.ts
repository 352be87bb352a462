import { readSync, writeSync } from 'node:fs';
import { createSqliteUsageStore } from '../../../adapters/store/sqlite/usage.js';
import { silentLogger } from '../../../core/log.js';
import { systemClock, type EpochMs } from '../../../core/units/time.js';
import { gwei } from '../../../core/units/wei.js';
import { always } from '../../../core/usage/window.js';
import { aHash, aRequest, chainId, seconds } from '../../conformance/usage-requests.js';
import { actualCost, crashRequest, keyOfNumber, settlementOf, turnSize } from './crash-requests.js';

/**
 * Reserves as fast as it can until it is killed; every turn names paymasters, addresses and windows that nobody has named
 * before. It waits for a line `PATH DURABILITY NUMBER` first, so that a process can be started ahead of its time. Its log:
 * `?a b` before it asks for the numbers from a up to b, `+n` after each answer, `!block n …` before a step that settles
 * these, `=block` after its answer. Standard output is a file: written lines are there even if the process is killed right then.
 */
const [path = '', durability = '', first = ''] = readLine().split(' ');
const store = createSqliteUsageStore({
  path,
  clock: systemClock,
  log: silentLogger,
  durability: durability === 'power' ? 'power' : 'process',
});
let next = Number(first);
const settleable: number[] = [];

for (let turn = 1; ; turn++) {
  const numbers = Array.from({ length: turnSize }, () => next++);
  say(`?${numbers[0]!} ${next}`);
  await Promise.all(
    numbers.map(async (n) => {
      const { contract } = crashRequest(n).promise;
      const account = { contract, balance: gwei(2 ** 50), reserved: gwei(0), readAt: systemClock.now() };
      await store.addBalance(chainId, account);
    }),
  );
  await Promise.all(
    numbers.map(async (n) => {
      const answer = await store.reserve(aRequest(crashRequest(n)));
      if (answer.outcome !== 'reserved') throw new Error(`operation ${n} was answered ${answer.outcome}`);
      say(`+${n}`);
      settleable.push(n);
    }),
  );
  if (turn % 3 === 0) await settle();
}

async function settle(): Promise<void> {
  const numbers = settleable.splice(0, 2 * turnSize);
  const expected = await store.cursor(chainId);
  const blockNumber = (expected?.blockNumber ?? 0) + 1;
  say(`!${blockNumber} ${numbers.join(' ')}`);
  const { isTaken } = await store.advance({
    chainId,
    expected,
    next: { blockNumber, blockHash: aHash(blockNumber), timestamp: seconds(blockNumber) },
    settled: numbers.map((n) => ({
      key: keyOfNumber(n),
      actualCost: gwei(actualCost),
      record: settlementOf(n),
    })),
    released: [],
    forfeited: [],
    charges: [{ counter: 'losses', unit: 'NATIVE_ASSET', until: always.until as EpochMs, amount: 1 }],
    restored: [],
    balances: [],
  });
  if (!isTaken) throw new Error('the step was refused');
  say(`=${blockNumber}`);
}

function say(line: string): void {
  writeSync(1, `${line}\n`);
}

function readLine(): string {
  const buffer = Buffer.alloc(1024);
  const length = readSync(0, buffer);
  return buffer.toString('utf8', 0, length).trim();
}
