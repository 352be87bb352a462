import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findCluster, type RunningCluster } from '../cluster/cluster-file.js';
import type { Connection } from '../connection.js';
import { statusPath } from './endpoint.js';
import { printableJson } from '../../core/terminal-text.js';
import { renderStatus } from './render.js';
import type { Status } from './status.js';

/** The instance cannot be asked; the message says why and what to do. */
export class StatusError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StatusError';
  }
}

const timeoutMs = 10_000;

/**
 * Asks the instance of a data directory for its status, and returns the text to print. Throws StatusError, which names the
 * installation of `make run-kube` when that runs instead.
 */
export async function status(dataDirectory: string, options: { readonly json: boolean }): Promise<string> {
  const cluster = findCluster(dataDirectory);
  try {
    const { dashboardUrl, operatorToken } = readConnection(dataDirectory);
    const text = await ask(`${dashboardUrl}${statusPath}`, operatorToken);
    if (options.json) return printableJson(text);
    const shown = renderStatus(JSON.parse(text) as Status);
    return cluster === undefined ? shown : `${shown}\n\nAlso running: ${lookAt(cluster)}`;
  } catch (error) {
    if (cluster === undefined || !(error instanceof StatusError)) throw error;
    throw new StatusError(`no "make run" answers here, but this is running: ${lookAt(cluster)}`, {
      cause: error,
    });
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
    throw new StatusError(
      `${file} cannot be read: start an instance with "make run", or name its directory with PAYMASTER_DATA_DIR`,
      { cause: error },
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
    throw new StatusError(`nothing answers at ${url}: is "make run" running?`, { cause: error });
  }
  const text = await response.text();
  if (response.status === 200) return text;
  throw new StatusError(`${url} answered HTTP ${response.status}: is it the instance of this directory?`);
}
