import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRedis } from '../../support/redis.js';
import { publishConnection } from './connection.js';
import { startInstalledPlane } from './installed-plane.js';

declare global {
  // Jest's way to pass a value from its setup to its teardown.
  var stopKubernetesMode: (() => Promise<void>) | undefined;
}

/** Starts the servers that all test files of a run share: an API server in which the chart is installed, and Redis. */
export default async function startKubernetesMode(): Promise<void> {
  const redis = await startRedis();
  const plane = await startInstalledPlane().catch(async (error: unknown) => {
    await redis.stop();
    throw error;
  });
  const directory = mkdtempSync(join(tmpdir(), 'kubernetes-mode-'));
  publishConnection(join(directory, 'connection.json'), { plane: plane.address, redisUrl: redis.url });
  globalThis.stopKubernetesMode = async () => {
    await plane.stop();
    await redis.stop();
    rmSync(directory, { recursive: true, force: true });
  };
}
