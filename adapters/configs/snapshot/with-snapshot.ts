import type { Ambient } from '../../../core/ambient.js';
import type { ConfigEvent, ConfigStore, ConfigWatch } from '../../../core/config/config-store.js';
import {
  createSnapshotFile,
  toDeletion,
  eventSubject,
  isForgotten,
  type SnapshotEntry,
  type SnapshotFile,
} from './snapshot-file.js';

type SnapshotDeps = Ambient & {
  readonly configs: ConfigStore;
  /** Must survive a restart of this process; made when it does not exist. */
  readonly directory: string;
  readonly timing?: Partial<SnapshotTiming>;
};

type SnapshotTiming = {
  /** How long the store may take to answer before the snapshot is served. */
  readonly patienceMs: number;
  readonly debounceMs: number;
  readonly confirmMs: number;
};

const defaultTiming: SnapshotTiming = { patienceMs: 1_000, debounceMs: 250, confirmMs: 30_000 };

/**
 * A config store whose watch also keeps what it delivers on disk. When the store does not answer at the start, the
 * watch delivers the state on disk instead, with the time when it was last known to be current. As soon as the store
 * answers, differences follow as events. Reads and writes go to the store. If the disk fails, only the snapshot is
 * lost.
 */
export function withSnapshot(deps: SnapshotDeps): ConfigStore {
  return { ...deps.configs, watch: (handler) => watchWithSnapshot(deps, handler) };
}

function watchWithSnapshot(deps: SnapshotDeps, handler: (event: ConfigEvent) => void): ConfigWatch {
  const timing = { ...defaultTiming, ...deps.timing };
  const file = createSnapshotFile(deps.directory);
  const synced = Promise.withResolvers<void>();
  /** Puts of the start, until they are on disk. What else the snapshot had is then deleted. */
  let initial: Map<string, ConfigEvent> | undefined = new Map();
  let served: ReadonlyMap<string, ConfigEvent> | undefined;
  let servedAt = 0;
  let isFresh = false;
  let isStopped = false;
  const writer = createWriter(file, deps, timing);

  const inner = deps.configs.watch((event) => {
    if (isStopped) return;
    if (initial === undefined) writer.add(event);
    else if (isForgotten(event)) initial.delete(eventSubject(event));
    else initial.set(eventSubject(event), event);
    handler(event);
  });
  const patience = setTimeout(() => {
    serveSnapshot().catch((error: unknown) => deps.log.error('config snapshot not usable', { error }));
  }, timing.patienceMs);
  void inner.synced.then(() => {
    if (isStopped || initial === undefined) return;
    clearTimeout(patience);
    isFresh = true;
    for (const [id, event] of served ?? []) if (!initial.has(id)) handler(toDeletion(event));
    served = undefined;
    writer.begin(initial.values(), inner);
    initial = undefined;
    synced.resolve();
  });

  async function serveSnapshot(): Promise<void> {
    const state = await file.read();
    if (isFresh || isStopped || state === undefined || initial === undefined) return;
    served = state.configs;
    servedAt = state.confirmedAt;
    // What others need comes first.
    const events = [...state.configs].toSorted(([, a], [, b]) => place(a) - place(b));
    for (const [id, event] of events) if (!initial.has(id)) handler(event);
    deps.log.warn('the config store does not answer, serving the snapshot on disk', {
      configs: state.configs.size,
      ageSeconds: Math.round((deps.clock.now() - servedAt) / 1000),
    });
    synced.resolve();
  }

  return {
    synced: synced.promise,
    confirmedAt: () => (isFresh ? inner.confirmedAt() : servedAt),
    reached: () => inner.reached?.(),
    stop() {
      if (isStopped) return;
      isStopped = true;
      clearTimeout(patience);
      inner.stop();
      writer.stop();
    },
  };
}

function place({ type }: ConfigEvent): number {
  if (type === 'put-list' || type === 'delete-list') return 0;
  return type === 'put-chain' || type === 'delete-chain' ? 1 : 2;
}

/** One write at a time, in order. After a failure nothing is appended until the state has been written whole again. */
function createWriter(file: SnapshotFile, deps: SnapshotDeps, timing: SnapshotTiming) {
  const failures = deps.metrics
    .counter({ name: 'config_snapshot_failures_total', help: 'Writes of the config snapshot that failed' })
    .with({});
  let waiting: SnapshotEntry[] = [];
  let last: Promise<void> = Promise.resolve();
  let debounce: NodeJS.Timeout | undefined;
  let confirming: NodeJS.Timeout | undefined;

  function run(task: () => Promise<void>): void {
    last = last.then(task).catch((error: unknown) => {
      failures.inc();
      deps.log.error('writing the config snapshot failed', { error });
    });
  }

  function flush(): void {
    debounce = undefined;
    const entries = waiting;
    waiting = [];
    if (entries.length > 0) run(() => file.append(entries));
  }

  function add(entry: SnapshotEntry): void {
    waiting.push(entry);
    debounce ??= setTimeout(flush, timing.debounceMs);
  }

  return {
    begin(events: Iterable<ConfigEvent>, watch: Pick<ConfigWatch, 'confirmedAt'>): void {
      run(() => file.replace(events));
      const confirm = (): void => add({ type: 'confirmed', at: watch.confirmedAt() });
      confirm();
      confirming = setInterval(confirm, timing.confirmMs);
      confirming.unref();
    },
    add,
    stop(): void {
      clearTimeout(debounce);
      clearInterval(confirming);
      flush();
      run(() => file.close());
    },
  };
}
