import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KubeCredentials } from './transport.js';

/** How a pod finds its API server: the mounted service account and the address of the `kubernetes` Service. */
export type ServiceAccountFiles = {
  /** Holds `token`, `ca.crt` and `namespace`. */
  readonly directory: string;
  readonly host: string;
  readonly port: string;
};

export const serviceAccountDirectory = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Reads the mounted token and certificate authority; throws when a file is missing or empty, naming it. */
export async function readServiceAccount(files: ServiceAccountFiles): Promise<KubeCredentials> {
  const [token, ca] = await Promise.all([
    readText(join(files.directory, 'token')),
    readText(join(files.directory, 'ca.crt')),
  ]);
  const host = files.host.includes(':') ? `[${files.host}]` : files.host;
  return { server: `https://${host}:${files.port}`, ca, authorization: `Bearer ${token}` };
}

async function readText(path: string): Promise<string> {
  const text = (await readFile(path, 'utf8')).trim();
  if (text === '') throw new Error(`${path} is empty: is the service account mounted?`);
  return text;
}
