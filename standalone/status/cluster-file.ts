import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isObject } from '../../core/schema/json-value.js';
import { writePrivateFile } from '../data-directory.js';

/** How to look at the installation that `make run-kube` runs. */
export type RunningCluster = { readonly kubeconfig: string; readonly kubectl: string };

const fileIn = (dataDirectory: string): string => join(dataDirectory, 'cluster.json');

/** Leaves a note in the data directory for `make status`; the result removes it. */
export function noteCluster(dataDirectory: string, cluster: RunningCluster): () => void {
  const file = fileIn(dataDirectory);
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
  writePrivateFile(file, `${JSON.stringify({ ...cluster, pid: process.pid }, null, 2)}\n`);
  return () => rmSync(file, { force: true });
}

/** The installation whose process still runs; undefined: none. */
export function findCluster(dataDirectory: string): RunningCluster | undefined {
  try {
    const noted: unknown = JSON.parse(readFileSync(fileIn(dataDirectory), 'utf8'));
    if (!isObject(noted)) return undefined;
    const { kubeconfig, kubectl, pid } = noted;
    if (typeof kubeconfig !== 'string' || typeof kubectl !== 'string') return undefined;
    return isRunning(Number(pid)) ? { kubeconfig, kubectl } : undefined;
  } catch {
    // The note is missing, or somebody has edited it.
    return undefined;
  }
}

function isRunning(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    // Signal 0 asks whether the process exists.
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
