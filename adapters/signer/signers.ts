import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../../core/log.js';
import { errorMessage } from '../../core/errors.js';
import { noMetrics, type Metrics } from '../../core/metrics.js';
import type { Signer, Signers } from '../../core/paymaster/signer.js';
import { given } from '../../core/units/given.js';
import { loadCurve, recoverWith, type Curve } from './curve.js';
import { readSignerText } from './description.js';
import { readKeyFile, type KeyFileAccess } from './file/key-file.js';
import type { Environment, OpenSigner, RemoteLimits } from './kind.js';
import { signerKinds } from './kinds.js';
import { createSignerInstruments } from './signer-instruments.js';

export type SignersOptions = {
  /** Directory of signers' files; a profile names one of them. Absent: signers come from `environment` only. */
  readonly directory?: string;
  /**
   * Variables by name. `PAYMASTER_SIGNER_KEY_<FILE>` replaces a file: the file's name in upper case, with `_` for
   * anything but letters and digits. A file of the same name takes precedence. Clouds' credentials are read from here, too.
   */
  readonly environment?: Environment;
  /**
   * Name of the directory for people, e.g. `Secret paymaster-system/paymaster-signers`. Default: `Directory` and its
   * path.
   */
  readonly place?: string;
  /** Default `owner`. */
  readonly access?: KeyFileAccess;
  /** Of remote signers; for tests. */
  readonly limits?: RemoteLimits;
  readonly log: Logger;
  /** Default: nothing is counted. */
  readonly metrics?: Metrics;
};

/** Signers of all files found; `reload` picks up files that were added, changed or removed. */
export type LoadedSigners = Signers & {
  /** The library in use, for a metric. */
  readonly implementation: Curve['name'];
  /** Every signer by file name, or by variable name. */
  list(): readonly { readonly name: string; readonly signer: Signer }[];
  /** Rejects when the directory cannot be read; then everything stays as it was. */
  reload(): Promise<void>;
  stop(): void;
};

/** `origin` names the file or variable in messages. */
type Source = { readonly origin: string; readonly read: () => Promise<string> };

/** A file or variable whose text has not changed keeps its signer: calls that run, and a key that was opened. */
type Entry = { readonly text: string; readonly signer?: OpenSigner; readonly problem?: string };

/**
 * Loads every signer of the directory and the environment. One that is bad never keeps another from signing: it is logged, named by
 * `problem`, and the signer that its file had before stays. No message quotes a key.
 */
export async function loadSigners(options: SignersOptions): Promise<LoadedSigners> {
  const { log } = options;
  const curve = await loadCurve(log);
  const instruments = createSignerInstruments(options.metrics ?? noMetrics);
  const troubles = new Map<string, string>();
  let entries: ReadonlyMap<string, Entry> = new Map();
  // Requests ask by file name; the names come from profiles, so they are few.
  let found = new Map<string, Entry | undefined>();
  const place = options.place ?? (options.directory && `Directory ${options.directory}`);
  const findEntry = (file: string): Entry | undefined => {
    if (!found.has(file)) found.set(file, entries.get(file) ?? entries.get(variableName(file)));
    return found.get(file);
  };
  await reload();
  log.info('signers loaded', { implementation: curve.name, signers: describe(entries) });
  return {
    implementation: curve.name,
    ...(place === undefined ? {} : { place }),
    get: (file) => findEntry(file)?.signer,
    problem: (file) => findEntry(file)?.problem,
    recover: recoverWith(curve),
    list: () => listSigners(entries),
    reload,
    stop: () => listSigners(entries).forEach(({ signer }) => signer.stop?.()),
  };

  async function reload(): Promise<void> {
    const before = entries;
    const now = new Map<string, Entry>();
    for (const [name, source] of await listSources(options))
      now.set(name, await openEntry(name, source, before.get(name)));
    const kept = new Set([...now.values()].map(({ signer }) => signer));
    for (const { signer } of before.values()) if (!kept.has(signer)) signer?.stop?.();
    entries = now;
    found = new Map();
    await Promise.all(
      listSigners(now).map(async ({ name, signer }) => {
        const isNew = before.get(name)?.signer !== signer;
        if (isNew || signer.trouble?.() !== undefined) await signer.check?.();
      }),
    );
    tellTroubles();
    for (const name of before.keys()) if (!now.has(name)) instruments.unavailable.remove({ signer: name });
    for (const [name, { signer }] of now)
      instruments.unavailable
        .with({ signer: name })
        .set(signer === undefined || signer.trouble?.() !== undefined ? 1 : 0);
  }

  async function openEntry(
    name: string,
    { origin, read }: Source,
    before: Entry | undefined,
  ): Promise<Entry> {
    let text = '';
    try {
      text = await read();
      // A problem is told again at each reload.
      if (before !== undefined && before.text === text && before.problem === undefined) return before;
      const described = readSignerText(text, origin);
      const { environment = {}, access = 'owner', limits } = options;
      const meter = () => instruments.meterOf(name);
      const deps = { curve, environment, access, origin, meter, ...given({ limits }) };
      return { text, signer: signerKinds[described.kind].open(described, deps) };
    } catch (error) {
      const problem = errorMessage(error);
      log.error('signer is not usable, keeping the former one if there was one', { problem });
      return { text, problem, ...given({ signer: before?.signer }) };
    }
  }

  function tellTroubles(): void {
    for (const { name, signer } of listSigners(entries)) {
      const trouble = signer.trouble?.();
      if (trouble === troubles.get(name)) continue;
      if (trouble === undefined) troubles.delete(name);
      else troubles.set(name, trouble);
      if (trouble === undefined) log.info('signer can sign again', { signer: name });
      else log.error('signer cannot sign', { signer: name, trouble });
    }
  }
}

const variablePrefix = 'PAYMASTER_SIGNER_KEY_';

/** The environment variable that replaces a key file, e.g. `dev.key` → `PAYMASTER_SIGNER_KEY_DEV_KEY`. */
export function variableName(file: string): string {
  return variablePrefix + file.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_');
}

/** What there is to read, by the name of its file or variable. Rejects when the directory cannot be read. */
async function listSources(options: SignersOptions): Promise<ReadonlyMap<string, Source>> {
  const sources = new Map<string, Source>();
  for (const [name, text] of Object.entries(options.environment ?? {}))
    if (name.startsWith(variablePrefix) && text !== undefined && text !== '')
      sources.set(name, { origin: name, read: () => Promise.resolve(text) });
  for (const name of await keyFiles(options.directory)) {
    const path = join(options.directory ?? '', name);
    sources.set(name, { origin: path, read: () => readKeyFile(path, options.access ?? 'owner') });
  }
  return sources;
}

/** Files of the directory, links to files included; hidden ones (`..data` of a mounted Secret) are left out. */
async function keyFiles(directory: string | undefined): Promise<readonly string[]> {
  if (directory === undefined) return [];
  const files: string[] = [];
  for (const name of (await readdir(directory)).sort())
    if (!name.startsWith('.') && (await stat(join(directory, name))).isFile()) files.push(name);
  return files;
}

function listSigners(entries: ReadonlyMap<string, Entry>) {
  return [...entries].flatMap(([name, { signer }]) => (signer === undefined ? [] : [{ name, signer }]));
}

function describe(entries: ReadonlyMap<string, Entry>) {
  return listSigners(entries).map(
    ({ name, signer: { address, implementation } }) => `${name} ${address} ${implementation}`,
  );
}

/** Mounted Secrets are swapped within about a minute. */
const defaultEveryMs = 60_000;

/**
 * Loads rotated keys without a restart. If the directory cannot be read, the former signers stay. Returns a function
 * that stops it.
 */
export function keepFresh(
  signers: Pick<LoadedSigners, 'reload'>,
  log: Logger,
  everyMs: number = defaultEveryMs,
): () => void {
  const timer = setInterval(() => {
    signers
      .reload()
      .catch((error: unknown) =>
        log.error('signing keys could not be read again, keeping the former ones', { error }),
      );
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
