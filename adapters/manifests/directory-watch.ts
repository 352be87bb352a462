import { type FSWatcher, watch } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../../core/log.js';
import { isManifestName } from './manifest-files.js';

/** If a writer pauses longer than this between two writes, we read it half written, and again once it is complete. */
const quietMs = 50;
/** Longest wait while events keep coming. */
const patienceMs = 250;
const pollMs = 1000;

/**
 * Calls `changed` soon after a manifest in the directory changes. File events are fast but not reliable (network file
 * systems, a directory that is replaced, too many watches), so names, sizes and times are also compared each second.
 */
export function watchDirectory(directory: string, log: Logger, changed: () => void): { stop(): void } {
  let events: FSWatcher | undefined;
  let quiet: NodeJS.Timeout | undefined;
  let firstEventAt: number | undefined;
  let lastSeen: string | undefined;
  let isStopped = false;

  function noticed(): void {
    if (isStopped) return;
    firstEventAt ??= performance.now();
    clearTimeout(quiet);
    const waited = performance.now() - firstEventAt;
    quiet = setTimeout(
      () => {
        firstEventAt = undefined;
        changed();
      },
      Math.max(0, Math.min(quietMs, patienceMs - waited)),
    );
  }

  function listen(): void {
    if (events || isStopped) return;
    try {
      events = watch(directory, (_type, name) => {
        if (name === null || isManifestName(name) || name.startsWith('..')) noticed();
      });
      events.on('error', (error) => {
        log.warn('file events lost, polling instead', { directory, error });
        deafen();
      });
    } catch {
      // The directory does not exist yet, or no watches are left: the poll notices changes and tries to listen again.
    }
  }

  function deafen(): void {
    events?.close();
    events = undefined;
  }

  async function poll(): Promise<void> {
    const seen = await fingerprint(directory);
    if (isStopped) return;
    if (lastSeen !== undefined && seen !== lastSeen) {
      // Also when the directory itself was replaced: its old watch no longer gets events.
      deafen();
      noticed();
    }
    lastSeen = seen;
    listen();
  }

  listen();
  void poll();
  const timer = setInterval(() => void poll(), pollMs);

  return {
    stop: () => {
      isStopped = true;
      clearInterval(timer);
      clearTimeout(quiet);
      deafen();
    },
  };
}

/** Changes whenever a manifest does; never rejects. */
async function fingerprint(directory: string): Promise<string> {
  try {
    const names = (await readdir(directory)).filter(isManifestName).sort();
    const entries = await Promise.all(
      [directory, ...names.map((name) => join(directory, name))].map(describe),
    );
    return entries.join('\n');
  } catch {
    return 'unreadable';
  }
}

async function describe(path: string): Promise<string> {
  try {
    const { ino, size, mtimeMs, ctimeMs } = await stat(path);
    return [path, ino, size, mtimeMs, ctimeMs].join(' ');
  } catch {
    return `${path} unreadable`;
  }
}
