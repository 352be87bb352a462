import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import type { ObjectName, ObjectNames } from '../../core/ledger/object-names.js';
import type { Logger } from '../../core/log.js';
import { policiesIn } from '../../core/policy/derived.js';

/** Keeps the names of the objects that this process serves, for the time after they are deleted. */
export type ServedNames = ReturnType<typeof createServedNames>;

const everyMs = 10_000;

export function createServedNames(deps: { readonly names: Pick<ObjectNames, 'keep'>; readonly log: Logger }) {
  const { names, log } = deps;
  /** By paymaster: the last ones count. */
  let waiting = new Map<string, readonly ObjectName[]>();
  let hasFailed = false;
  let writing: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  async function write(): Promise<void> {
    const taken = waiting;
    waiting = new Map();
    try {
      await names.keep([...taken.values()].flat());
      hasFailed = false;
    } catch (error) {
      // A later name of the same paymaster counts.
      waiting = new Map([...taken, ...waiting]);
      if (!hasFailed) log.warn('names were not kept, they wait', { paymasters: waiting.size, error });
      hasFailed = true;
    }
  }

  function writeWaiting(): void {
    if (waiting.size > 0) writing ??= write().finally(() => (writing = undefined));
  }

  return {
    note({
      paymasterId,
      namespace,
      tenant: organisation = namespace,
      name,
      ...parts
    }: PaymasterConfig): void {
      waiting.set(paymasterId, [
        { organisation, kind: 'Paymaster', id: paymasterId, shown: name },
        ...policiesIn(parts).map(({ policyId: id, name: shown }): ObjectName => ({
          organisation,
          kind: 'PaymasterPolicy',
          id,
          shown,
        })),
      ]);
    },
    start(): void {
      timer ??= setInterval(writeWaiting, everyMs).unref();
    },
    /** Writes what waits once more. May be called twice. */
    async stop(): Promise<void> {
      clearInterval(timer);
      await writing;
      writeWaiting();
      await writing;
    },
  };
}
