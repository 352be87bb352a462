import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Cluster } from '../../../standalone/cluster/cluster.js';
import { onFreePort } from '../../../standalone/cluster/free-port.js';
import { answers, startProcess, type ManagedProcess } from '../../../standalone/cluster/managed-process.js';
import { findRoot } from '../../../standalone/root.js';

/** A process of the role ledger with these variables, which name the usage store and the ledger. */
export function startLedger(
  cluster: Cluster,
  environment: Readonly<Record<string, string>>,
  index: number,
): Promise<ManagedProcess> {
  const name = `paymaster-ledger-${index}`;
  const directory = join(cluster.directory, name);
  mkdirSync(directory, { recursive: true });
  return onFreePort((port) =>
    startProcess({
      command: process.execPath,
      args: ['--no-warnings', 'dist/server/main.js'],
      environment: {
        PAYMASTER_ROLES: 'ledger',
        ...environment,
        POD_NAME: name,
        HOST: '127.0.0.1',
        PORT: String(port),
      },
      directory: findRoot(import.meta.url),
      logFile: join(directory, 'log.jsonl'),
      isReady: () => answers(`http://127.0.0.1:${port}/healthz`),
    }),
  );
}
