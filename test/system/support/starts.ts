import { afterEach } from '@jest/globals';
import { rmSync } from 'node:fs';
import { freshUserOp, rpc } from './client.js';
import {
  removeDataDirectory,
  spawnStandalone,
  startStandalone,
  type RunningStandalone,
  type StandaloneOptions,
} from './standalone.js';

/** Processes and directories of one test, which end with it. */
export function useStarts() {
  const started: RunningStandalone[] = [];
  const temporary: string[] = [];
  const foreign = new Set<string>();
  afterEach(async () => {
    for (const each of started.splice(0)) {
      each.signal('SIGKILL');
      await each.ended;
      if (!foreign.has(each.dataDirectory)) removeDataDirectory(each.dataDirectory);
    }
    for (const each of temporary.splice(0)) rmSync(each, { recursive: true, force: true });
  });
  const kept = (running: RunningStandalone): RunningStandalone => {
    started.push(running);
    return running;
  };
  return {
    /** Resolves when everything answers. */
    start: async (options?: StandaloneOptions) => kept(await startStandalone(options)),
    /** Resolves at once. */
    spawn: async (options?: StandaloneOptions) => kept(await spawnStandalone(options)),
    /** The same in the directory of another instance, which stays. */
    spawnIn: async (dataDirectory: string) => {
      foreign.add(dataDirectory);
      return kept(await spawnStandalone({ dataDirectory }));
    },
    /** Removes this directory, too. */
    forget: (directory: string): string => {
      temporary.push(directory);
      return directory;
    },
  };
}

/** What it answers, with the facts of now, or with those given: connection.json names only what is sponsored. */
export async function sponsors(
  running: RunningStandalone,
  connection = running.connection(),
): Promise<string> {
  const answer = await rpc(connection.rpcUrl, 'pm_sponsorUserOperation', [
    freshUserOp(connection),
    { mode: 'SPONSORED' },
  ]);
  if (answer.error) return `error ${answer.error.code}`;
  return answer.result?.['paymasterAndData'] === '0x' ? (answer.reason ?? 'no reason') : 'sponsored';
}
