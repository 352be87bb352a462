import type { Ambient } from '../../core/ambient.js';
import { createOutageLog } from '../../adapters/log/outage-log.js';
import type { Timers } from '../../adapters/timers.js';
import { isDomainError } from '../../core/errors.js';
import { keyOf } from '../../core/meta/meta.js';
import type { Organisation } from '../../core/resources/organisation.js';
import type { ResourceStore } from '../../core/resources/resource-store.js';
import { endOf, familyOf } from './token-family.js';

/**
 * Deletes tokens that have ended with one above them, so that nothing revives them. They are refused before that: every call looks
 * at the tokens above its own.
 */
export type EndedTokens = {
  /** Those of a namespace. Throws what the store throws. */
  remove(namespace: string): Promise<void>;
};

type Deps = Pick<Ambient, 'clock' | 'log'> & {
  readonly resources: Pick<ResourceStore, 'list' | 'delete'>;
};

export function createEndedTokens({ resources, clock, log }: Deps): EndedTokens {
  return {
    async remove(namespace) {
      const tokens = await resources.list('DashboardToken', { namespace });
      if (!tokens.some(({ spec }) => spec.parent !== undefined)) return;
      const organisations = await resources.list('Organisation');
      const family = familyOf(organisations.filter(isOf(namespace)), tokens);
      for (const token of tokens) {
        const held = family.get(token.spec.sha256);
        const end = held && endOf(held, family, clock.now());
        // One whose parent has moved to another object, as after a restore, may be adopted.
        if (end !== 'removed' && end !== 'expired') continue;
        try {
          const { resourceVersion: version } = token.metadata;
          await resources.delete('DashboardToken', keyOf(token), { version });
          log.info('a token has ended with the one that it was made by', { ...keyOf(token), end });
        } catch (error) {
          // Another replica was faster, or somebody has changed it: the next look decides again.
          if (!isDomainError(error, 'NOT_FOUND') && !isDomainError(error, 'WRITE_CONFLICT')) throw error;
        }
      }
    },
  };
}

function isOf(namespace: string): (organisation: Organisation) => boolean {
  return ({ spec }) => spec.namespace === namespace;
}

/** How often tokens are looked at without a change: expiry comes by itself. */
const lookEveryMs = 60_000;
const retryMs = 5_000;

/** Looks after every change of a token, or of an Organisation that holds some, and once a minute. */
export function followTokens(
  deps: Deps & { readonly resources: Pick<ResourceStore, 'watch'>; readonly timers: Timers },
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
  const due = new Set<string>();
  const holders = new Map<string, string>();
  let running: Promise<void> | undefined;
  let isStopped = false;
  let cancel = timers.after(lookEveryMs, lookAtAll);

  function look(namespace: string): void {
    due.add(namespace);
    running ??= removeDue().finally(() => (running = undefined));
  }

  async function removeDue(): Promise<void> {
    for (const namespace of due) {
      if (isStopped) return;
      due.delete(namespace);
      try {
        await ended.remove(namespace);
      } catch (error) {
        outages.failed('resource store', { error });
        cancel();
        cancel = timers.after(retryMs, lookAtAll);
      }
    }
  }

  function lookAtAll(): void {
    cancel = timers.after(lookEveryMs, lookAtAll);
    for (const namespace of new Set(holders.values())) look(namespace);
  }

  const watches = [
    resources.watch('Organisation', ({ object: { metadata, spec } }) => {
      holders.set(`Organisation ${metadata.name}`, spec.namespace);
      look(spec.namespace);
    }),
    resources.watch('DashboardToken', ({ type, object: { metadata } }) => {
      const { name, namespace = '' } = metadata;
      if (type === 'DELETED') holders.delete(`DashboardToken ${namespace}/${name}`);
      else holders.set(`DashboardToken ${namespace}/${name}`, namespace);
      look(namespace);
    }),
  ];
  return {
    async stop() {
      isStopped = true;
      cancel();
      for (const watch of watches) watch.stop();
      await running;
    },
  };
}
