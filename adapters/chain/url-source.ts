import { join } from 'node:path';
import { DomainError, quote } from '../../core/errors.js';
import type { ChainEndpoint } from '../../core/chain/chain.js';
import type { Logger } from '../../core/log.js';
import type { Clock } from '../../core/units/time.js';
import { basicAuth } from '../http-exchange.js';
import { createMountedFile } from '../mounted-file.js';

/** Where calls of one chain go, in order of preference. Asked before each call; never empty. */
export type UrlSource = () => Promise<readonly Target[]>;

/** One URL taken apart. Only `host` may be shown to people: path, query and user info often hold a key. */
export type Target = {
  readonly origin: string;
  readonly host: string;
  readonly path: string;
  readonly authorization: string | undefined;
  /** Parts that no text from the node may repeat, the longest first. */
  readonly secrets: readonly string[];
};

type SourceDeps = { readonly log: Logger; readonly clock: Clock; readonly urlDirectory?: string };

const fileNamePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/;

/** Targets of an endpoint: its `urls`, or the lines of its `file`, which is read again when it changes; one of them with `only`. */
export function createUrlSource(endpoint: ChainEndpoint, deps: SourceDeps): UrlSource {
  const { only } = endpoint;
  const all = allTargets(endpoint, deps);
  if (only === undefined) return all;
  return async () => {
    const targets = await all();
    return targets.slice(only % targets.length).slice(0, 1);
  };
}

function allTargets(endpoint: ChainEndpoint, deps: SourceDeps): UrlSource {
  const { urls, file } = endpoint.rpc;
  if (urls !== undefined && urls.length > 0) {
    const targets = urls.map((url, index) =>
      parseTarget(url, `rpc.urls[${index}] of chain ${endpoint.chainId}`),
    );
    return () => Promise.resolve(targets);
  }
  if (file === undefined)
    throw new DomainError('INVALID_INPUT', `chain ${endpoint.chainId} must have rpc.urls or rpc.file`);
  return watchedFile(endpoint.chainId, file, deps);
}

function watchedFile(chainId: number, file: string, { log, clock, urlDirectory }: SourceDeps): UrlSource {
  if (!fileNamePattern.test(file))
    throw new DomainError(
      'INVALID_INPUT',
      `rpc.file of chain ${chainId} must be a file name without directories, got ${quote(file)}`,
    );
  if (urlDirectory === undefined)
    throw new DomainError(
      'INVALID_INPUT',
      `rpc.file of chain ${chainId} needs a directory of URL files, and none is configured`,
    );
  const read = createMountedFile(join(urlDirectory, file), {
    clock,
    parse: (text) => parseLines(text, chainId, file),
    onUnusable: () => log.warn('chain URL file not usable, keeping the last one', { chainId, file }),
  });
  return () =>
    read().catch((cause: unknown) => {
      throw unreadable(chainId, file, cause);
    });
}

function unreadable(chainId: number, file: string, cause: unknown): DomainError {
  const reason = cause instanceof DomainError ? cause.message : 'it cannot be read';
  return new DomainError('UNAVAILABLE', `chain ${chainId}: URL file "${file}" is not usable: ${reason}`, {
    reason: 'CHAIN_UNAVAILABLE',
    ...(cause instanceof DomainError ? {} : { cause }),
  });
}

function parseLines(text: string, chainId: number, file: string): readonly Target[] {
  const lines = text.split('\n').map((line) => line.trim());
  const targets = lines.flatMap((line, index) =>
    line === '' || line.startsWith('#')
      ? []
      : [parseTarget(line, `line ${index + 1} of "${file}" (chain ${chainId})`)],
  );
  if (targets.length === 0)
    throw new DomainError('INVALID_INPUT', `"${file}" (chain ${chainId}) must hold one URL per line`);
  return targets;
}

/** The value itself is not quoted: a mistyped URL may hold the key as well. */
function parseTarget(text: string, where: string): Target {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new DomainError('INVALID_INPUT', `${where} must be an http or https URL`);
  return {
    origin: url.origin,
    host: url.host,
    path: url.pathname + url.search,
    authorization: basicAuth(url),
    secrets: listSecrets(url),
  };
}

/** Shorter parts of a path are names, e.g. v2. */
const minSecretLength = 8;

function listSecrets({ host, hostname, pathname, search, username, password }: URL): readonly string[] {
  const parts = [...`${pathname}${search}`.split(/[/?&=]/), username, password];
  const secrets = [...parts, ...parts.map(decoded)].filter((part) => part.length >= minSecretLength);
  // A name such as alto stays readable.
  const hosts = [host, hostname].filter((name) => name.includes('.') || name.includes(':'));
  return [...new Set([...hosts, ...secrets])].sort((a, b) => b.length - a.length);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
