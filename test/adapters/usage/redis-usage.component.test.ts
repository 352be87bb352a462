import { afterAll, beforeAll } from '@jest/globals';
import { usageStoreConformance } from '../../conformance/usage-store.js';
import { startRedis, type RedisServer } from '../../support/redis.js';
import { createRedisHarness } from './redis-usage.js';

let server: RedisServer;
let stores = 0;

beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

usageStoreConformance('Redis', () => createRedisHarness(server, `store-${(stores += 1)}:`));
