import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { builtRelease, type Release } from '../../support/former-release.js';

/** A replica of an earlier release in a process of its own. */
export type FormerReplica = {
  /** Rejects with {message, code, reason}. */
  call(method: string, ...args: readonly unknown[]): Promise<unknown>;
  stop(): Promise<void>;
};

/** `directory`: where the copies of epochs are; `now`: Unix milliseconds, moved by the method `advanceClock`. */
export async function startFormerReplica(
  release: Release,
  {
    url,
    keyPrefix,
    directory,
    now,
  }: {
    readonly url: string;
    readonly keyPrefix: string;
    readonly directory: string;
    readonly now: number;
  },
): Promise<FormerReplica> {
  const dist = builtRelease(release);
  const modules = [join(dist, release.usage), join(dist, release.epochMirror)];
  const child = fork(
    fileURLToPath(new URL('former-child.js', import.meta.url)),
    [...modules, url, keyPrefix, directory, String(now)],
    { serialization: 'advanced' },
  );
  const failed = once(child, 'exit').then(([code]) => {
    throw new Error(`the replica of ${release.commit} ended with code ${code} before it was ready`);
  });
  await Promise.race([once(child, 'message'), failed]);
  // It may end later.
  failed.catch(() => {});
  const open = new Map<number, PromiseWithResolvers<unknown>>();
  let calls = 0;
  child.on('message', (message: { id: number; value?: unknown; error?: unknown }) => {
    const call = open.get(message.id);
    open.delete(message.id);
    if (message.error === undefined) call?.resolve(message.value);
    else call?.reject(message.error);
  });
  return {
    call(method, ...args) {
      const call = Promise.withResolvers<unknown>();
      open.set((calls += 1), call);
      child.send({ id: calls, method, args });
      return call.promise;
    },
    async stop() {
      if (child.exitCode !== null) return;
      const ended = once(child, 'exit');
      child.kill();
      await ended;
    },
  };
}
