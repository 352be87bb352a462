import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DomainError, isDomainError } from '../../core/errors.js';
import { findCluster, type RunningCluster } from './cluster-file.js';
import type { Connection } from '../connection.js';
import { statusPath } from './endpoint.js';

import type { Status } from './status.js';

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
