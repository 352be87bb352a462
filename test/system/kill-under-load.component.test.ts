import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isSoak } from '../support/soak-seconds.js';
import { freshUserOp, rpc, rpcUrlFor } from './support/client.js';
import { readLedger } from './support/ledger.js';
import { createLimitedPaymaster } from './support/limited-paymaster.js';
import {
  newDataDirectory,
  removeDataDirectory,
  startStandalone,
  stopStandalone,
  type RunningStandalone,
} from './support/standalone.js';

// kill -9 in the middle of load, then on to the limit: promises stay, nothing counts twice, and the ledger has every signature.
// `make soak` kills twice on the way to a higher limit.

const threshold = isSoak ? 400 : 120;
/** Accepted operations after which it is killed. */
const kills = isSoak ? [120, 260] : [60];
const inFlight = 16;
type Accepted = { readonly sender: string; readonly data: string };

let running: RunningStandalone;
let apiKey: string;
beforeAll(async () => {
  // Each kill leaves the next start a fresh chain.
  running = await startStandalone({ dataDirectory: newDataDirectory() });
  apiKey = await createLimitedPaymaster(running.connection(), threshold);
});
afterAll(async () => {
  running.signal('SIGKILL');
  await running.ended;
  removeDataDirectory(running.dataDirectory);
});

test(`a limit of ${threshold} operations lets no more through over ${kills.length} kill -9, and loses at most those in flight`, async () => {
  const accepted: Accepted[] = [];
  let unanswered = 0;
  for (const stopAt of kills) {
    unanswered += await load(accepted, stopAt);
    running.signal('SIGKILL');
    await running.ended;
    running = await startStandalone({ dataDirectory: running.dataDirectory, port: running.port });
  }
  await load(accepted, threshold + 1);

  expect(new Set(accepted.map(({ data }) => data)).size).toBe(accepted.length);
  expect(accepted.length).toBeLessThanOrEqual(threshold);
  expect(accepted.length).toBeGreaterThanOrEqual(threshold - unanswered);
  await expectEveryDecision(accepted);
});

/**
 * Asks for sponsorships with 16 in flight until `stopAt` were accepted in all or the limit is reached, and collects what
 * was answered. Resolves with the number of requests that may have been accepted without an answer.
 */
async function load(accepted: Accepted[], stopAt: number): Promise<number> {
  const connection = running.connection();
  const url = rpcUrlFor(connection, apiKey);
  let isFull = false;
  const worker = async (): Promise<void> => {
    while (!isFull && accepted.length < stopAt) {
      const userOp = freshUserOp(connection);
      const answer = await rpc(url, 'pm_sponsorUserOperation', [userOp, { mode: 'SPONSORED' }]);
      const data = String(answer.result?.['paymasterAndData']);
      if (answer.reason === 'LIMIT_REACHED') isFull = true;
      else if (data !== '0x' && answer.error === undefined)
        accepted.push({ sender: String(userOp['sender']), data });
      else throw new Error(`unexpected answer: ${JSON.stringify(answer)}`);
    }
  };
  const workers = Array.from({ length: inFlight }, worker);
  if (stopAt > threshold) {
    await Promise.all(workers);
    return 0;
  }
  // Killed as soon as one worker has seen enough, while the others still wait for answers.
  await Promise.race(workers);
  running.signal('SIGKILL');
  const results = await Promise.allSettled(workers);
  return results.filter(({ status }) => status === 'rejected').length;
}

/** Every signature that a client got has exactly one decision; the others are of requests that lost their answer. */
async function expectEveryDecision(accepted: readonly Accepted[]): Promise<void> {
  expect(await stopStandalone(running)).toBe(0);
  const decisions = (await readLedger(running.dataDirectory)).map(({ decision }) => decision);
  const signed = decisions.filter(({ verdict }) => verdict === 'sponsored').map(({ sender }) => `${sender}`);
  expect(new Set(signed).size).toBe(signed.length);
  expect(signed.length).toBeLessThanOrEqual(threshold);
  expect(accepted.map(({ sender }) => sender).filter((sender) => !signed.includes(sender))).toEqual([]);
  expect(decisions.filter(({ verdict }) => verdict === 'refused').map(({ reason }) => reason)).toContain(
    'LIMIT_REACHED',
  );
}
