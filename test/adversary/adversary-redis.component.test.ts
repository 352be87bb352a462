import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { campaign } from './campaign.js';
import { startRedisPair, type RedisPair } from './redis-pair.js';
import { openOnRedis } from './redis-stores.js';
import { runAdversary } from './run.js';
import { campaignTimeoutMs, modelSteps } from './targets.js';

let server: RedisPair;
let data: Redis;
beforeAll(async () => {
  server = await startRedisPair();
  data = new Redis(server.url);
});
afterAll(async () => {
  data.disconnect();
  await server.stop();
});

test.each([
  { name: 'one replica', count: 1 },
  { name: 'three replicas at once', count: 3 },
])(
  'on Redis, $name: no requests, mined operations, transfers or faults break a rule of money',
  async ({ name, count }) => {
    const { steps, seen } = await campaign(`on Redis, ${name}`, modelSteps.onRedis, (chosen) =>
      runAdversary(chosen, openOnRedis(server, data, count)),
    );
    expect(steps).toBeGreaterThanOrEqual(modelSteps.onRedis);
    expect(seen.get('finalized after a kill')).toBeGreaterThan(0);
  },
  campaignTimeoutMs,
);
