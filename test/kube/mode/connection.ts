import { readFileSync, writeFileSync } from 'node:fs';
import type { PlaneAddress } from './installed-plane.js';

/** What all test files of a run in Kubernetes mode share. */
export type KubeConnection = { readonly plane: PlaneAddress; readonly postgresUrl: string };

const variable = 'PAYMASTER_TEST_KUBERNETES';

/** Passes the connection to the test files, which run in separate realms. */
export function publishConnection(file: string, connection: KubeConnection): void {
  writeFileSync(file, JSON.stringify(connection), { mode: 0o600 });
  process.env[variable] = file;
}

/** Undefined where jest was not started with `jest.kubernetes.config.js`. */
export function connectionOfThisRun(): KubeConnection | undefined {
  const file = process.env[variable];
  return file === undefined ? undefined : (JSON.parse(readFileSync(file, 'utf8')) as KubeConnection);
}
