import { afterAll, beforeAll } from '@jest/globals';
import { usageStoreConformance } from '../../conformance/usage-store.js';
import { sharedPostgres, type SharedPostgres } from '../../support/postgres.js';
import { createPostgresHarness } from './postgres-usage.js';

let server: SharedPostgres;

beforeAll(async () => {
  server = await sharedPostgres();
});
afterAll(() => server.stop());

usageStoreConformance('PostgreSQL', () => createPostgresHarness(server));
