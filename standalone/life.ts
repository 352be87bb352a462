import { reconciledKinds, type AnyResource } from '../core/resources/kinds.js';
import type { ResourceStore } from '../core/resources/resource-store.js';
import type { Timers } from '../adapters/timers.js';
import type { Console } from './console.js';
import { formatStates, toResourceState, type ResourceState } from './resource-state.js';
import type { ConfigStore } from '../core/config/config-store.js';
import type { PaymasterConfig } from '../core/config/paymaster-config.js';

type LifeDeps = {
  readonly resources: Pick<ResourceStore, 'watch'>;
  readonly console: Pick<Console, 'line'>;
  readonly timers: Timers;
  /** States that the terminal already shows. */
  readonly shown: readonly ResourceState[];
  /** Called after each batch of changes, including changes of a status. */
  readonly onBatch?: () => void;
};

/** Changes within this time are printed together, so that many can be summarised. */
const batchMs = 300;
/** This many changes may come from a folder, which is printed as a whole once no further changes arrive. */
const fewChanges = 3;
/** For how many batches printing is delayed: until the operator has seen all changes (`unseen`), and until a folder is complete. */
const gatheredBatches = { unseen: 6, folder: 20 } as const;
/** For how many batches a missing reference is not printed: a folder is applied object by object, and the next one may be the missing one. */
const patientBatches = 6;

/**
 * Prints one line per change of state that a person cares about, made by manifest or by REST: ready, refused and why, paused,
 * deleted. Also prints a line when a new version of an object has the same state as the last one. Returns a function that stops it.
 */
export function reportLife({ resources, console, timers, shown, onBatch }: LifeDeps): () => void {
  const latest = new Map<string, ResourceState>();
  const told = new Map(shown.map((state) => [stateKey(state), stateText(state)]));
  const changed = new Set<string>();
  /** For how many batches each object has had a missing reference. */
  const held = new Map<string, number>();
  let deleted: ResourceState[] = [];
  /** Number of batches delayed since the last print. */
  let gathered = 0;
  /** True when a change has arrived since the last batch. */
  let getsOn = false;
  let cancel: (() => void) | undefined;

  function note(type: string, object: AnyResource): void {
    const state = toResourceState(object);
    const id = stateKey(state);
    getsOn = true;
    if (type === 'DELETED') {
      for (const each of [latest, changed, held]) each.delete(id);
      if (told.delete(id)) deleted.push(state);
    } else {
      latest.set(id, state);
      changed.add(id);
    }
    cancel ??= timers.after(batchMs, printChanges);
  }

  function printChanges(): void {
    cancel = undefined;
    const isUnseen = [...changed].some((id) => latest.get(id)?.phase === 'waiting');
    const isFolder = changed.size >= fewChanges && getsOn;
    getsOn = false;
    gathered += 1;
    if (gathered <= (isFolder ? gatheredBatches.folder : isUnseen ? gatheredBatches.unseen : 0)) {
      cancel = timers.after(batchMs, printChanges);
      return onBatch?.();
    }
    gathered = 0;
    const news: ResourceState[] = [];
    for (const id of changed) {
      const state = latest.get(id);
      if (state !== undefined && mayYetArrive(id, state)) continue;
      changed.delete(id);
      held.delete(id);
      // An object that waits comes back with the change that ends the wait.
      if (state === undefined || state.phase === 'waiting' || told.get(id) === stateText(state)) continue;
      told.set(id, stateText(state));
      news.push(state);
    }
    for (const line of [...formatDeleted(deleted), ...formatStates(news)]) console.line(line);
    deleted = [];
    if (changed.size > 0) cancel = timers.after(batchMs, printChanges);
    onBatch?.();
  }

  function mayYetArrive(id: string, { reason }: ResourceState): boolean {
    if (reason !== 'NotResolved') return false;
    const batches = (held.get(id) ?? 0) + 1;
    held.set(id, batches);
    return batches <= patientBatches;
  }

  const watches = reconciledKinds.map((kind) =>
    resources.watch(kind, ({ type, object }) => note(type, object)),
  );
  return () => {
    cancel?.();
    for (const watch of watches) watch.stop();
  };
}

function formatDeleted(states: readonly ResourceState[]): readonly string[] {
  if (states.length > 3) return [`− ${states.length} objects deleted`];
  return states.map(({ kind, key }) => `− ${kind} ${key}  deleted`);
}

function stateKey({ kind, key }: ResourceState): string {
  return `${kind} ${key}`;
}

function stateText({ phase, message, generation, notice }: ResourceState): string {
  return JSON.stringify([phase, message, generation, notice]);
}

/**
 * Warns once when a paymaster begins to sponsor calls to any contract, and says when that has ended: a paymaster created by REST does
 * so until its first contract is registered. Returns a function that stops it.
 */
export function reportOpenSponsorship(
  configs: Pick<ConfigStore, 'watch'>,
  console: Pick<Console, 'line' | 'warn'>,
): () => void {
  const open = new Set<string>();
  const watch = configs.watch((event) => {
    if (event.type === 'delete-paymaster') open.delete(event.paymasterId);
    if (event.type !== 'put-paymaster') return;
    const { paymasterId, name } = event.config;
    const shown = `paymaster ${JSON.stringify(name)} (${paymasterId})`;
    if (isOpen(event.config) === open.has(paymasterId)) return;
    if (open.delete(paymasterId)) return console.line(`${shown} no longer sponsors calls to any contract`);
    open.add(paymasterId);
    console.warn(
      `${shown} sponsors calls to ANY contract: register one and leave contractsEnforcement out, or set defaultContractAction to Deny`,
    );
  });
  return () => watch.stop();
}

function isOpen(config: PaymasterConfig): boolean {
  const { contractsRegistered, contracts, defaultContractAction, contractsInShadow, suspended } = config;
  const hasNone = !contractsRegistered && contracts.length === 0 && defaultContractAction === 'Allow';
  return (hasNone || contractsInShadow === true) && !suspended;
}
