import { afterAll, beforeAll } from '@jest/globals';
import { usageEpochConformance } from '../conformance/usage-epoch.js';
import { usageStoreConformance } from '../conformance/usage-store.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { createRedisEpochHarness, createRedisHarness } from './redis-usage.js';

let server: RedisServer;
let stores = 0;

beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

usageStoreConformance('Redis', () => createRedisHarness(server, `store-${(stores += 1)}:`));
usageEpochConformance('Redis', async () => createRedisEpochHarness(server, `epochs-${(stores += 1)}:`));
