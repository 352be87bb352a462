import { mkdirSync, readFileSync, writeFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { invalidInput } from '../../core/errors.js';
import type { Address } from '../../core/units/address.js';
import { isHexBytes, type Hex } from '../../core/units/hex.js';
import { Refused, type Terminal } from '../terminal.js';

/** A transaction that was signed, kept until its block is final: after a reorganisation the same one is sent again. */
export type Sent = { readonly hash: Hex; readonly raw: Hex; readonly nonce: number; readonly says: string };

/** Transactions of one sender on one chain. One process has them at a time. */
export type Records = {
  all(): readonly Sent[];
  /** Written before this returns. */
  write(records: readonly Sent[]): void;
  close(): void;
};

/** Throws Refused when another process has them. */
export function openRecords(terminal: Terminal, chainId: number, from: Address): Records {
  const folder = join(stateFolder(terminal), 'paymaster');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, `sent-${chainId}-${from.toLowerCase()}.json`);
  const lock = `${file}.lock`;
  if (!take(lock) && !(isLeftOver(lock) && take(lock)))
    throw new Refused(
      `another command is sending from ${from} on chain ${chainId}; if none is, remove ${lock}`,
    );
  return {
    all: () => read(file),
    write(records) {
      writeFileSync(`${file}.new`, `${JSON.stringify(records, undefined, 2)}\n`, {
        mode: 0o600,
        flush: true,
      });
      renameSync(`${file}.new`, file);
    },
    close: () => rmSync(lock, { force: true }),
  };
}

function take(lock: string): boolean {
  try {
    writeFileSync(lock, `${process.pid}\n`, { flag: 'wx', mode: 0o600 });
    return true;
  } catch {
    return false;
  }
}

/** Removes the lock of a process that was killed. */
function isLeftOver(lock: string): boolean {
  try {
    process.kill(Number(readFileSync(lock, 'utf8')), 0);
    return false;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) return false;
    rmSync(lock, { force: true });
    return true;
  }
}

function stateFolder({ env }: Terminal): string {
  const home = env['HOME'];
  const folder = env['XDG_STATE_HOME'] ?? (home === undefined ? undefined : join(home, '.local/state'));
  if (folder === undefined || folder === '')
    throw invalidInput({
      field: 'XDG_STATE_HOME (or HOME)',
      expected: 'a folder, where sent transactions are kept until they are final',
    });
  return folder;
}

function read(file: string): readonly Sent[] {
  let text;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return [];
  }
  const records: unknown = JSON.parse(text);
  if (!Array.isArray(records) || !records.every(isSent))
    throw new Refused(`${file} is damaged: look on the chain what the sender has sent, and remove it`);
  return records;
}

function isSent(value: unknown): value is Sent {
  if (typeof value !== 'object' || value === null) return false;
  const { hash, raw, nonce, says } = value as Partial<Sent>;
  return isHexBytes(hash) && isHexBytes(raw) && Number.isSafeInteger(nonce) && typeof says === 'string';
}
