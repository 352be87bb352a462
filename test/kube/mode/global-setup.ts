import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../../support/postgres.js';
import { publishConnection } from './connection.js';
import { startInstalledPlane } from './installed-plane.js';

declare global {
  // Jest's way to pass a value from its setup to its teardown.
  var stopKubernetesMode: (() => Promise<void>) | undefined;
}

/** Starts the servers that all test files of a run share: an API server in which the chart is installed, and PostgreSQL. */
export default async function startKubernetesMode(): Promise<void> {
  const postgres = await startPostgres();
  const plane = await startInstalledPlane().catch(async (error: unknown) => {
    await postgres.stop();
    throw error;
  });
  const directory = mkdtempSync(join(tmpdir(), 'kubernetes-mode-'));
  publishConnection(join(directory, 'connection.json'), { plane: plane.address, postgresUrl: postgres.url });
  globalThis.stopKubernetesMode = async () => {
    await plane.stop();
    await postgres.stop();
    rmSync(directory, { recursive: true, force: true });
  };
}
