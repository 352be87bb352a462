import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import type { Reservation } from '../../../core/usage/reservation.js';
import type { EpochMs } from '../../../core/units/time.js';
import { gwei } from '../../../core/units/wei.js';
import { chainId, contract, hourMs } from '../../conformance/usage-requests.js';
import { isSoak } from '../../support/soak-seconds.js';
import { startPostgres } from '../../support/postgres.js';
import { succeeds, until } from '../../support/until.js';
import {
  costliest,
  deposit,
  isPaymaster,
  limitsOf,
  operationOf,
  paymasters,
  senderOf,
  sendersEach,
  type Race,
} from './race.js';
import { openStore } from './postgres-usage.js';
import { aDirectory } from './sqlite-usage.js';

/** One of each kind that binds. */
const limitedPolicies = ['pm-0/count', 'pm-0/each', 'pm-1/own', 'pm-1/spend'];
/** `make soak` lets the replicas finish; `make test` ends the race after so many answers: then limits are full, and the deposit is, too. */
const enough = isSoak ? 50_000 : 4_000;
/** Bounds a hang. The window is longer. */
const patienceMs = 8 * 60_000;
const child = fileURLToPath(new URL('./race-child.js', import.meta.url));

test(
  `three replicas that race for ${enough} operations exceed no limit and no deposit by one unit, and lose no promise, although the server is killed in the midst and one clock is ahead`,
  async () => {
    const directory = aDirectory();
    const server = await startPostgres();
    const url = await server.createDatabase();
    const now = Date.now();
    const race: Race = {
      url,
      replicas: 3,
      operations: 50_000,
      // The window turns in nine minutes: a replica that trusted its own clock, ten ahead, would count in the next one.
      startMs: now - hourMs + 9 * 60_000,
      durationMs: hourMs,
      validUntil: Math.floor(now / 1000) + 3600,
    };
    const path = join(directory.path, 'race.json');
    writeFileSync(path, JSON.stringify(race));
    const store = await openStore(url, { identity: 'observer' });
    try {
      await store.addBalance(chainId, {
        contract,
        balance: gwei(deposit),
        reserved: gwei(0),
        readAt: now as EpochMs,
      });
      const outputs = [0, 1, 2].map((i) => join(directory.path, `replica-${i}`));
      const replicas = outputs.map((output, i) => {
        const file = openSync(output, 'w');
        const running = spawn(
          process.execPath,
          ['--no-warnings', child, path, String(i), i === 1 ? '600000' : '0'],
          {
            stdio: ['ignore', file, 'inherit'],
          },
        );
        const ended = once(running, 'exit').then(([code]: unknown[]) => {
          closeSync(file);
          return code;
        });
        return { end: () => running.kill('SIGTERM'), ended };
      });
      const lines = () => outputs.flatMap((output) => readFileSync(output, 'utf8').split('\n').slice(0, -1));
      // While limits fill and, in a long race, half way.
      for (const answered of isSoak ? [400, race.operations / 2] : [400]) {
        // All take part: one that has not opened the store yet would end when the server is gone.
        const isOn = () => lines().length > answered && outputs.every((output) => statSync(output).size > 0);
        await until('the race is on', isOn, patienceMs);
        await server.kill();
        await server.start();
      }
      if (!isSoak) {
        const isEnough = () =>
          lines().filter((line) => !line.startsWith('?')).length >= enough &&
          lines().some((line) => line.startsWith('?'));
        await until('enough was answered, and the restart noticed', isEnough, patienceMs);
        for (const { end } of replicas) end();
      }
      expect(await Promise.all(replicas.map(({ ended }) => ended))).toEqual([0, 0, 0]);
      const seconds = (Date.now() - now) / 1000;

      const answers = lines();
      const promised = answers.filter((line) => line.startsWith('+')).map((line) => Number(line.slice(1)));
      const refused = answers.filter((line) => line.startsWith('-')).length;
      await until('the store is connected again', () => succeeds(store.ping()));
      const reservations = await store.reservations(chainId);
      checkPromises(race, promised, reservations);
      const full = await checkSums(race, reservations);
      console.info(
        `${promised.length + refused} of ${race.operations} operations in ${seconds.toFixed(1)} s: ` +
          `${promised.length} promised, ${refused} refused, ${answers.length - promised.length - refused} asked again; ` +
          `filled: ${[...full].map(([policy, count]) => `${policy} ×${count}`).join(', ')}`,
      );
      if (isSoak) expect(promised.length + refused).toBe(race.operations);
      // The race was one: limits were full, much was promised and refused, and the restart was noticed.
      expect([...full.keys()].toSorted()).toEqual(limitedPolicies);
      expect(promised.length).toBeGreaterThan(500);
      expect(refused).toBeGreaterThan(1_000);
      expect(answers.some((line) => line.startsWith('?'))).toBe(true);

      async function checkSums(of: Race, all: readonly Reservation[]): Promise<ReadonlyMap<string, number>> {
        const sums = new Map<string, number>();
        for (const { limits } of all)
          for (const { counter, cost } of limits) sums.set(counter, (sums.get(counter) ?? 0) + cost);
        const full = new Map<string, number>();
        for (let paymaster = 0; paymaster < paymasters; paymaster++)
          for (let number = 0; number < sendersEach; number++) {
            const sender = senderOf(paymaster, number);
            const paymasterId = `pm-${paymaster}`;
            if (!isPaymaster(paymasterId)) throw new Error(`${paymasterId} takes no part`);
            const limits = limitsOf(of, paymasterId, { sender, cost: 1, now: of.startMs as EpochMs });
            const seen = await store.counters(chainId, limits);
            for (const [i, limit] of limits.entries()) {
              const sum = sums.get(limit.counter) ?? 0;
              expect(seen[i]).toEqual({ used: 0, reserved: sum });
              expect(sum).toBeLessThanOrEqual(limit.threshold);
              const slack = limit.unit === 'COUNT' ? 0 : costliest;
              if (sum >= limit.threshold - slack)
                full.set(policyOf(limit.counter), (full.get(policyOf(limit.counter)) ?? 0) + 1);
            }
          }
        // One window only: nobody counted in another.
        expect([...sums.keys()].filter((counter) => !counter.includes('/0/'))).toEqual([]);
        const needs = all.reduce((sum, { accounts }) => sum + (accounts[0]?.need ?? 0), 0);
        expect(await store.accounts(chainId)).toMatchObject([{ reserved: needs }]);
        expect(needs).toBeLessThanOrEqual(deposit);
        expect(needs).toBeGreaterThan(deposit - costliest);
        return full;
      }
    } finally {
      await store.stop();
      await server.stop();
      directory.remove();
    }
  },
  patienceMs + 240_000,
);

const policyOf = (counter: string): string => counter.split('/').slice(0, 2).join('/');

/** Each promise that a replica was given is there, at no less than its cost. */
function checkPromises(race: Race, promised: readonly number[], reservations: readonly Reservation[]): void {
  const found = new Map(reservations.map((one) => [`${one.key.paymasterId}/${one.key.nonce}`, one]));
  const missing = promised.filter((n) => {
    const { key, accounts } = operationOf(race, n);
    const reservation = found.get(`${key.paymasterId}/${key.nonce}`);
    return reservation === undefined || (reservation.accounts[0]?.need ?? 0) < accounts[0]!.need;
  });
  expect(missing).toEqual([]);
}
