import type { AnyResource } from '../core/resources/kinds.js';
import { formatKey, objectKey } from '../core/meta/meta.js';
import { printable } from '../core/terminal-text.js';

/** The state of one resource, for one line of output. */
export type ResourceState = {
  readonly kind: string;
  readonly key: string;
  /** `waiting`: the operator or the chain has not decided yet. `paused`: somebody has paused it. */
  readonly phase: 'ready' | 'waiting' | 'paused' | 'refused';
  /** `Ready`, or the reason why it is not ready. */
  readonly reason: string;
  readonly message: string;
  /** What its owner should know although it is ready. */
  readonly notice?: string;
  /** Generation of the spec. */
  readonly generation: number;
};

const wanted: ReadonlySet<string> = new Set(['Paused', 'Suspended']);

/** The state by the condition `Ready` for the current spec. */
export function toResourceState(resource: AnyResource): ResourceState {
  const { kind, metadata, status } = resource;
  const own = { kind, key: formatKey(objectKey(resource)), generation: metadata.generation };
  const condition = status?.conditions?.find(({ type }) => type === 'Ready');
  if (condition === undefined || condition.observedGeneration !== metadata.generation) {
    const message = 'the operator has not seen this version yet';
    return { ...own, phase: 'waiting', reason: 'NotSeen', message };
  }
  const { reason, message } = condition;
  const limited = status?.conditions?.find(({ type }) => type === 'CapsLimited');
  const notice = limited?.status === 'True' ? { notice: limited.message } : {};
  return { ...own, phase: toPhase(condition.status, reason), reason, message, ...notice };
}

function toPhase(status: string, reason: string): ResourceState['phase'] {
  if (status === 'True') return 'ready';
  if (status === 'Unknown') return 'waiting';
  return wanted.has(reason) ? 'paused' : 'refused';
}

const symbols = { ready: '✓', waiting: '…', paused: '⏸', refused: '✗' } as const;

/** `✗ SmartContract quickstart/shop-counter  spec.address must be …`, without characters that would move a terminal's cursor. */
export function formatState({ kind, key, phase, message, notice }: ResourceState): string {
  const state = { ready: 'Ready', waiting: message, paused: 'paused', refused: message }[phase];
  const what = notice === undefined ? state : `${state}. ${notice}`;
  return printable(`${symbols[phase]} ${kind} ${key}  ${what}`);
}

/** If there were more lines than this, they are summarised. */
const maxLines = 20;

/**
 * One line for each state. If there are too many: one line for all of a kind and phase; refused and waiting resources, and
 * those with a notice, still get a line each, as far as there is room.
 */
export function formatStates(states: readonly ResourceState[]): readonly string[] {
  if (states.length <= maxLines) return states.map(formatState);
  const counts = Map.groupBy(states, ({ kind, phase }) => `${symbols[phase]} ${kind} ${phase}`);
  const wrong = states.filter(
    ({ phase, notice }) => phase === 'refused' || phase === 'waiting' || notice !== undefined,
  );
  const left = wrong.length - maxLines;
  return [
    ...[...counts].map(([what, of]) => `${what}: ${of.length}`),
    ...wrong.slice(0, maxLines).map(formatState),
    ...(left > 0 ? [`… and ${left} more, see "make status"`] : []),
  ];
}

/** `7 of 9 ready, 1 paused, 1 refused`. */
export function countStates(states: readonly ResourceState[]): string {
  const of = (phase: ResourceState['phase']): number => states.filter((each) => each.phase === phase).length;
  const others = (['paused', 'refused', 'waiting'] as const)
    .map((phase) => ({ phase, count: of(phase) }))
    .filter(({ count }) => count > 0)
    .map(({ phase, count }) => `, ${count} ${phase}`);
  return `${of('ready')} of ${states.length} ready${others.join('')}`;
}
