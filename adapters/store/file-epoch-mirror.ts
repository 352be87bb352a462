import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DomainError } from '../../core/errors.js';
import { isSameEpoch, raiseEpoch, type EpochMirror, type UsageEpoch } from '../../core/usage/epoch.js';
import { hasCode } from '../process/has-code.js';
import { formatEpoch, parseEpoch } from './epoch-text.js';

/**
 * Copies of epochs in a directory that the processes of one machine share, for a shared store without Kubernetes. Each write is
 * a new file `CHAIN.NUMBER.json`, linked into place: of two processes that write at once, one finds the name taken. A
 * restored directory is not noticed.
 */
export function createFileEpochMirror(directory: string): EpochMirror {
  function put(chainId: number, next: UsageEpoch, expected: UsageEpoch | undefined): boolean {
    const former = newest(directory, chainId);
    if (!isSameEpoch(former?.epoch, expected)) return false;
    mkdirSync(directory, { recursive: true });
    const number = (former?.number ?? 0) + 1;
    const draft = join(directory, `draft-${process.pid}-${chainId}`);
    writeFileSync(draft, formatEpoch(next), { mode: 0o600, flush: true });
    try {
      linkSync(draft, epochFile(directory, chainId, number));
    } catch (error) {
      if (hasCode(error, 'EEXIST')) return false;
      throw error;
    } finally {
      rmSync(draft, { force: true });
    }
    if (former !== undefined) rmSync(epochFile(directory, chainId, former.number), { force: true });
    return true;
  }

  return {
    get: async (chainId) => guarded(directory, () => newest(directory, chainId)?.epoch),
    put: async (chainId, next, expected) => guarded(directory, () => put(chainId, next, expected)),
    raise: async (marks) =>
      guarded(directory, () => {
        const copies = new Map<number, UsageEpoch>();
        for (const [chainId, mark] of marks) {
          const copy = newest(directory, chainId)?.epoch;
          if (copy === undefined) continue;
          const next = raiseEpoch(copy, mark);
          copies.set(chainId, next === copy || put(chainId, next, copy) ? next : copy);
        }
        return copies;
      }),
  };
}

function newest(
  directory: string,
  chainId: number,
): { readonly number: number; readonly epoch: UsageEpoch } | undefined {
  const numbers = listFiles(directory).flatMap((file) => {
    const match = /^([0-9]+)\.([0-9]+)\.json$/.exec(file);
    return Number(match?.[1]) === chainId ? [Number(match?.[2])] : [];
  });
  if (numbers.length === 0) return undefined;
  const number = Math.max(...numbers);
  return { number, epoch: parseEpoch(readFileSync(epochFile(directory, chainId, number), 'utf8')) };
}

function listFiles(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}

function epochFile(directory: string, chainId: number, number: number): string {
  return join(directory, `${chainId}.${number}.json`);
}

function guarded<T>(directory: string, act: () => T): T {
  try {
    return act();
  } catch (cause) {
    throw new DomainError('UNAVAILABLE', `the epochs of usage in ${directory} cannot be read or written`, {
      reason: 'USAGE_STORE_DOWN',
      retryAfterSeconds: 1,
      cause,
    });
  }
}
