import { readFileSync } from 'node:fs';
import { join } from 'node:path';
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

/** Asks the instance of a data directory for its status, and returns the text to print. Throws StatusError. */
export async function status(dataDirectory: string, options: { readonly json: boolean }): Promise<string> {
  const { dashboardUrl, operatorToken } = readConnection(dataDirectory);
  const text = await ask(`${dashboardUrl}${statusPath}`, operatorToken);
  return options.json ? printableJson(text) : renderStatus(JSON.parse(text) as Status);
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
