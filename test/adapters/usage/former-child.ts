import type { RedisUsageStore } from '../../../adapters/usage/redis/usage-options.js';
import { silentLogger } from '../../../core/log.js';

/**
 * A replica of an earlier release, driven by messages {id, method, args}; answers {id, value} or {id, error}. Its clock is
 * moved by the method `advanceClock`. Arguments: the release's modules of the store and of the epoch's copy, URL of Redis, key
 * prefix, directory of epochs, time.
 */
const [usage = '', epochMirror = '', url = '', keyPrefix = '', epochs = '', time = '0'] =
  process.argv.slice(2);
type Call = { readonly id: number; readonly method: string; readonly args: readonly unknown[] };

const { createRedisUsageStore } = await import(usage);
const { createFileEpochMirror } = await import(epochMirror);
let now = Number(time);
const store: RedisUsageStore = createRedisUsageStore({
  url,
  keyPrefix,
  identity: `former-${process.pid}`,
  durability: 'none',
  timeoutMs: 10_000,
  clock: { now: () => now },
  epochMirror: createFileEpochMirror(epochs),
  log: silentLogger,
});
await store.opened();

const methods: Readonly<Record<string, (...args: never[]) => unknown>> = {
  advanceClock: (ms: number) => {
    now += ms;
  },
  recover: (chainId: number) => store.recovery.recover(chainId),
  hold: (chainId: number) => store.lease.hold(chainId),
  reserve: store.reserve.bind(store),
  reservations: store.reservations.bind(store),
  advance: store.advance.bind(store),
  cursor: store.cursor.bind(store),
};

process.on('message', (message) => {
  const { id, method, args } = message as Call;
  const run = async (): Promise<unknown> => methods[method]?.(...(args as never[]));
  run().then(
    (value) => process.send?.({ id, value }),
    (error: unknown) => process.send?.({ id, error: describe(error) }),
  );
});
process.send?.('ready');

function describe(error: unknown): unknown {
  const { message, code, details } = error as {
    message: string;
    code?: string;
    details?: { reason?: string };
  };
  return { message, code, reason: details?.reason };
}
