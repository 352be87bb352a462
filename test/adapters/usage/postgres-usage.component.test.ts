import { afterAll, beforeAll } from '@jest/globals';
import { usageStoreConformance } from '../../conformance/usage-store.js';
import { startPostgres, type PostgresServer } from '../../support/postgres.js';
import { createPostgresHarness } from './postgres-usage.js';

let server: PostgresServer;

beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

usageStoreConformance('PostgreSQL', () => createPostgresHarness(server));
