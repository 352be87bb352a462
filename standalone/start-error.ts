import { statSync } from 'node:fs';
import { createServer } from 'node:net';
import { listSignerFiles } from '../core/config/compile-chain.js';
import { signersOn } from '../core/paymaster/public-keys.js';
import type { Signers } from '../core/paymaster/signer.js';
import type { ResourceStore } from '../core/resources/resource-store.js';
import { isDomainError } from '../core/errors.js';
import { BundlerMissing } from './bundler/beside.js';
import type { StandaloneConfig } from './config.js';
import { UnusableFile } from './data-directory.js';
import { PortInUse } from './port-choice.js';

/** A problem that a person can fix: printed in one line, without a stack. */
export class StartError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StartError';
  }
}

/** Throws a StartError when the port cannot be opened, before anything is started. */
export async function refuseBusyPort({ port, host }: StandaloneConfig): Promise<void> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once('error', reject);
    probe.listen(port, host, () => probe.close(() => resolve()));
  }).catch((error: NodeJS.ErrnoException) => {
    throw new StartError(portMessage(port, host, error.code), { cause: error });
  });
}

/** Throws a StartError when the directory is missing. */
export function refuseMissingManifests({ manifestDirectory }: StandaloneConfig): void {
  if (statSync(manifestDirectory, { throwIfNoEntry: false })?.isDirectory()) return;
  throw new StartError(
    `${manifestDirectory} is not a directory: set PAYMASTER_MANIFESTS to a directory of YAML manifests, or leave it unset`,
  );
}

/** Throws a StartError when a chain that is not known to be a test chain would be signed for with a key that everybody knows. */
export async function refusePublicKeys(
  resources: Pick<ResourceStore, 'list'>,
  signers: Pick<Signers, 'get' | 'problem'>,
): Promise<void> {
  for (const { spec } of await resources.list('Chain')) {
    const usable = signersOn(signers, spec.chainId);
    for (const file of spec.profiles.flatMap(listSignerFiles))
      if (signers.get(file) !== undefined && usable.get(file) === undefined)
        throw new StartError(`the signer ${usable.problem?.(file)}`);
  }
}

function portMessage(port: number, host: string, code: string | undefined): string {
  switch (code) {
    case 'EADDRINUSE':
      return `port ${port} of ${host} is in use: stop the program that uses it, or choose another with PORT=8081 make run`;
    case 'EACCES':
      return `port ${port} may not be opened by this user: choose one above 1023 with PORT=8080 make run`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `HOST=${host} is not an address of this machine`;
    default:
      return `port ${port} of ${host} cannot be opened (${code ?? 'unknown reason'})`;
  }
}

/** Turns a problem that a person can fix into one line: a store or chain that does not work, files that cannot be read or written. */
export function explained(error: unknown, { dataDirectory }: StandaloneConfig): unknown {
  if (isDomainError(error, 'UNAVAILABLE')) return new StartError(error.message, { cause: error });
  if (error instanceof PortInUse)
    return new StartError(
      `${error.message}: stop the program that uses it, or choose another with CHAIN_PORT or BUNDLER_PORT`,
      {
        cause: error,
      },
    );
  if (error instanceof BundlerMissing) return new StartError(error.message, { cause: error });
  if (error instanceof UnusableFile) return new StartError(error.message, { cause: error });
  if (!isFileError(error)) return error;
  const message = `the data directory ${dataDirectory} cannot be used (${error.message}): correct it, or choose another with PAYMASTER_DATA_DIR`;
  return new StartError(message, { cause: error });
}

const fileErrors: readonly unknown[] = [
  'EACCES',
  'EDQUOT',
  'EEXIST',
  'EIO',
  'EISDIR',
  'ENOENT',
  'ENOSPC',
  'ENOTDIR',
  'EPERM',
  'EROFS',
];

function isFileError(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && fileErrors.includes(error.code);
}
