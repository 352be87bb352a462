import { afterAll, beforeAll } from '@jest/globals';
import { usagePromisesConformance } from '../../conformance/usage-store.js';
import { sharedPostgres, type SharedPostgres } from '../../support/postgres.js';
import { createPostgresHarness } from './postgres-usage.js';

let server: SharedPostgres;

beforeAll(async () => {
  server = await sharedPostgres();
});
afterAll(() => server.stop());

usagePromisesConformance('PostgreSQL', () => createPostgresHarness(server));
