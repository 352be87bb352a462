import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { startRedis, type RedisServer } from '../support/redis.js';
import { isSoak } from '../support/soak-seconds.js';
import { campaign } from './campaign.js';
import { openOnRedis } from './redis-stores.js';
import { runAdversary } from './run.js';

let server: RedisServer;
let data: Redis;
beforeAll(async () => {
  server = await startRedis();
  data = new Redis(server.url);
});
afterAll(async () => {
  data.disconnect();
  await server.stop();
});

test.each([
  { name: 'one replica', count: 1, times: isSoak ? 400 : 20 },
  { name: 'three replicas at once', count: 3, times: isSoak ? 400 : 20 },
])(
  'on Redis, $name: whatever is asked, mined, moved and broken, no rule of money is',
  async ({ count, times }) => {
    const { steps } = await campaign(times, (chosen) =>
      runAdversary(chosen, openOnRedis(server, data, count)),
    );
    expect(steps).toBeGreaterThan(times * 60);
  },
  3_600_000,
);
