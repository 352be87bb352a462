import type { Ambient } from '../../core/ambient.js';
import { createOutageLog } from '../../adapters/log/outage-log.js';
import type { Timers } from '../../adapters/timers.js';
import { isDomainError } from '../../core/errors.js';
import { objectKey } from '../../core/meta/meta.js';
import type { DashboardToken } from '../../core/resources/dashboard-token.js';
import type { Organisation } from '../../core/resources/organisation.js';
import type { ResourceStore } from '../../core/resources/resource-store.js';
import { listEnded } from './token-family.js';

/**
 * Deletes tokens that have ended with one above them, so that nothing revives them. They are refused before that: every call looks
 * at the tokens above its own.
 */
export type EndedTokens = ReturnType<typeof createEndedTokens>;

type Deps = Pick<Ambient, 'clock' | 'log'> & {
  readonly resources: Pick<ResourceStore, 'list' | 'delete'>;
};

export function createEndedTokens({ resources, clock, log }: Deps) {
  return {
    /** Those of a namespace. Throws what the store throws. */
    async remove(namespace: string): Promise<void> {
      // In this order: a token is made after the one above it.
      const tokens = await resources.list('DashboardToken', { namespace });
      const organisations = await resources.list('Organisation', { fields: { 'spec.namespace': namespace } });
      for (const token of listEnded(organisations, tokens, clock.now())) {
        try {
          const { resourceVersion: version } = token.metadata;
          await resources.delete('DashboardToken', objectKey(token), { version });
          log.info('a token has ended with one above it, and is deleted', { ...objectKey(token) });
        } catch (error) {
          // Another replica was faster, or somebody has changed it: the next look decides again.
          if (!isDomainError(error, 'NOT_FOUND') && !isDomainError(error, 'WRITE_CONFLICT')) throw error;
        }
      }
    },
  };
}

/** How often tokens are looked at without a change: expiry comes by itself, and what failed is tried again. */
const lookEveryMs = 60_000;

/**
 * Looks after every change of a token, or of an Organisation that holds some, and once a minute. What the watches have delivered says
 * where to look, which asks the store nothing; it may lag behind, so the store itself is read before anything is deleted.
 */
export function followTokens(
  deps: Deps & {
    readonly resources: Pick<ResourceStore, 'watch'>;
    readonly timers: Timers;
    /** Gets all Organisations, at first and after each change. */
    readonly onOrganisations?: (organisations: readonly Organisation[]) => void;
  },
): { stop(): Promise<void> } {
  const { resources, clock, log, timers } = deps;
  const ended = createEndedTokens(deps);
  const outages = createOutageLog({
    clock,
    log,
    messages: {
      begins: 'tokens that have ended cannot be deleted',
      goesOn: 'tokens that have ended still cannot be deleted',
      ends: 'tokens that have ended are deleted again',
    },
  });
  const organisations = new Map<string, Organisation>();
  const tokens = new Map<string, DashboardToken>();
  let isSynced = false;
  let isStopped = false;
  let isDue = false;
  let running: Promise<void> | undefined;
  let cancel = timers.after(lookEveryMs, lookAgain);

  function announce(): void {
    deps.onOrganisations?.([...organisations.values()]);
  }

  function lookAgain(): void {
    cancel = timers.after(lookEveryMs, lookAgain);
    removeEnded();
  }

  function removeEnded(): void {
    isDue = true;
    if (isSynced) running ??= removeWhileDue().finally(() => (running = undefined));
  }

  async function removeWhileDue(): Promise<void> {
    while (isDue && !isStopped) {
      isDue = false;
      const gone = listEnded([...organisations.values()], [...tokens.values()], clock.now());
      for (const namespace of new Set(gone.map(({ metadata }) => metadata.namespace ?? ''))) {
        try {
          await ended.remove(namespace);
        } catch (error) {
          outages.failed('resource store', { namespace, error });
        }
      }
    }
  }

  const watches = [
    resources.watch('Organisation', ({ type, object }) => {
      if (type === 'DELETED') organisations.delete(object.metadata.uid);
      else organisations.set(object.metadata.uid, object);
      if (isSynced) announce();
      removeEnded();
    }),
    resources.watch('DashboardToken', ({ type, object }) => {
      if (type === 'DELETED') tokens.delete(object.metadata.uid);
      else tokens.set(object.metadata.uid, object);
      removeEnded();
    }),
  ];
  void Promise.all(watches.map(({ synced }) => synced)).then(() => {
    isSynced = true;
    announce();
    removeEnded();
  });
  return {
    async stop() {
      isStopped = true;
      cancel();
      for (const watch of watches) watch.stop();
      await running;
    },
  };
}
