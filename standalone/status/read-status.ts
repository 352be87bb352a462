import { readFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DomainError, isDomainError } from '../../core/errors.js';
import type { Connection } from '../connection.js';
import { statusPath } from './endpoint.js';

import type { Status } from './status.js';
import { isObject } from '../../core/schema/json-value.js';
import { writePrivateFile } from '../data-directory.js';

const timeoutMs = 10_000;

/**
 * Asks the instance of a data directory for its status; `also` names an installation of `make run-kube` beside it. Throws
 * UNAVAILABLE, with what to do.
 */
export async function readStatus(
  dataDirectory: string,
): Promise<{ readonly status: Status; readonly also?: string }> {
  const cluster = findCluster(dataDirectory);
  try {
    const { dashboardUrl, operatorToken } = readConnection(dataDirectory);
    const status = JSON.parse(await ask(`${dashboardUrl}${statusPath}`, operatorToken)) as Status;
    return { status, ...(cluster === undefined ? {} : { also: `Also running: ${lookAt(cluster)}` }) };
  } catch (error) {
    if (cluster === undefined || !isDomainError(error)) throw error;
    throw unanswered(`no "make run" answers here, but this is running: ${lookAt(cluster)}`, error);
  }
}

function lookAt({ kubeconfig, kubectl }: RunningCluster): string {
  const kinds = 'chains,organisations,feetokens,paymasters,smartcontracts,paymasterpolicies';
  return `"make run-kube". Look at it with: KUBECONFIG='${kubeconfig}' '${kubectl}' get ${kinds} -A`;
}

function readConnection(dataDirectory: string): Pick<Connection, 'dashboardUrl' | 'operatorToken'> {
  const file = join(dataDirectory, 'connection.json');
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Connection;
  } catch (error) {
    throw unanswered(
      `${file} cannot be read: start an instance with "make run", or name its directory with PAYMASTER_DATA_DIR`,
      error,
    );
  }
}

async function ask(url: string, operatorToken = ''): Promise<string> {
  let response: Response;
  try {
    response = await fetch(url, {
      headers: { authorization: `Bearer ${operatorToken}` },
      signal: AbortSignal.timeout(timeoutMs),
    });
  } catch (error) {
    throw unanswered(`nothing answers at ${url}: is "make run" running?`, error);
  }
  const text = await response.text();
  if (response.status === 200) return text;
  throw unanswered(`${url} answered HTTP ${response.status}: is it the instance of this directory?`);
}

function unanswered(message: string, cause?: unknown): DomainError {
  return new DomainError('UNAVAILABLE', message, { cause });
}

/** How to look at the installation that `make run-kube` runs. */
type RunningCluster = { readonly kubeconfig: string; readonly kubectl: string };

const fileIn = (dataDirectory: string): string => join(dataDirectory, 'cluster.json');

/** Leaves a note in the data directory for `make status`; the result removes it. */
export function noteCluster(dataDirectory: string, cluster: RunningCluster): () => void {
  const file = fileIn(dataDirectory);
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
  writePrivateFile(file, `${JSON.stringify({ ...cluster, pid: process.pid }, null, 2)}\n`);
  return () => rmSync(file, { force: true });
}

/** The installation whose process still runs; undefined: none. */
function findCluster(dataDirectory: string): RunningCluster | undefined {
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
