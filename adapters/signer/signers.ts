import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../../core/log.js';
import type { RecoverAddress, Signer, Signers } from '../../core/paymaster/signer.js';
import { addressOf, type Curve } from './curve.js';
import { parseKey, readKeyFile, type KeyFileAccess } from './key-file.js';
import { loadCurve, type CurveChoice } from './load-curve.js';
import { createLocalSigner } from './local-signer.js';

export type SignersOptions = {
  /** Directory of key files; a profile names one of them. Absent: keys come from `environment` only. */
  readonly directory?: string;
  /**
   * Variables by name. `PAYMASTER_SIGNER_KEY_<FILE>` replaces a key file: the file's name in upper case, with `_` for
   * anything but letters and digits. A file of the same name takes precedence.
   */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /**
   * Name of the directory for people, e.g. `Secret paymaster-system/paymaster-signers`. Default: `Directory` and its
   * path.
   */
  readonly place?: string;
  /** Default `owner`. */
  readonly access?: KeyFileAccess;
  /** Default `auto`. */
  readonly implementation?: CurveChoice;
  readonly log: Logger;
};

/** Signers of all keys found; `reload` picks up files that were added, changed or removed. */
export type LoadedSigners = Signers & {
  /** The library in use, for a metric. */
  readonly implementation: Curve['name'];
  /** Every key by file name, or by variable name. */
  list(): readonly { readonly name: string; readonly signer: Signer }[];
  /** All or nothing: on an error the signers stay as they were. */
  reload(): Promise<void>;
};

/**
 * Loads every key of the directory and the environment. One bad key fails the load with an error that names the file or
 * variable and never quotes it: a service that starts without a key that somebody put there would only fail later.
 */
export async function loadSigners(options: SignersOptions): Promise<LoadedSigners> {
  const curve = await loadCurve(options.implementation ?? 'auto', options.log);
  let signers = await readSigners(curve, options);
  // Requests ask by file name; the names come from profiles, so they are few.
  let found = new Map<string, Signer | undefined>();
  options.log.info('signers loaded', { implementation: curve.name, ...describe(signers) });
  const place = options.place ?? (options.directory && `Directory ${options.directory}`);
  return {
    implementation: curve.name,
    ...(place === undefined ? {} : { place }),
    get: (file) => {
      if (!found.has(file)) found.set(file, signers.get(file) ?? signers.get(variableName(file)));
      return found.get(file);
    },
    recover: recoverWith(curve),
    list: () => [...signers].map(([name, signer]) => ({ name, signer })),
    reload: async () => {
      signers = await readSigners(curve, options);
      found = new Map();
    },
  };
}

export function recoverWith(curve: Pick<Curve, 'recover'>): RecoverAddress {
  return (digest, signature, yParity) => {
    const publicKey = curve.recover(digest, signature, yParity);
    return publicKey && addressOf(publicKey);
  };
}

const variablePrefix = 'PAYMASTER_SIGNER_KEY_';

/** The environment variable that replaces a key file, e.g. `dev.key` → `PAYMASTER_SIGNER_KEY_DEV_KEY`. */
export function variableName(file: string): string {
  return variablePrefix + file.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_');
}

async function readSigners(curve: Curve, options: SignersOptions): Promise<ReadonlyMap<string, Signer>> {
  const signers = new Map<string, Signer>();
  for (const [name, text] of Object.entries(options.environment ?? {}))
    if (name.startsWith(variablePrefix) && text !== undefined && text !== '')
      signers.set(name, createLocalSigner(curve, parseKey(text, name), name));
  for (const name of await keyFiles(options.directory)) {
    const path = join(options.directory ?? '', name);
    signers.set(name, createLocalSigner(curve, await readKeyFile(path, options.access ?? 'owner'), path));
  }
  return signers;
}

/** Files of the directory, links to files included; hidden ones (`..data` of a mounted Secret) are left out. */
async function keyFiles(directory: string | undefined): Promise<readonly string[]> {
  if (directory === undefined) return [];
  const files: string[] = [];
  for (const name of (await readdir(directory)).sort())
    if (!name.startsWith('.') && (await stat(join(directory, name))).isFile()) files.push(name);
  return files;
}

function describe(signers: ReadonlyMap<string, Signer>) {
  return { signers: [...signers].map(([name, { address }]) => `${name} ${address}`) };
}
