import { effect, signal } from '@preact/signals';
import { session } from '../api.js';
import type { Values } from '../parts/form-facts.js';

// A paymaster that somebody is about to create. It is in this page alone, so that the browser keeps nothing of it, and it stays while he
// looks at other pages.

/** In the order in which they are asked. */
export const stepNames = ['chain', 'contract', 'limit', 'webhook'] as const;
export type StepName = (typeof stepNames)[number];

type Draft = {
  readonly values: Readonly<Partial<Record<StepName, Values>>>;
  /** Steps that were left by their button, and not changed since. */
  readonly done: readonly StepName[];
  /** Steps whose object exists. */
  readonly made: readonly StepName[];
  /** Why the object of a step was not made. */
  readonly failure?: { readonly step: StepName; readonly error: Error };
  /** What was sent, and with which Idempotency-Key: after an answer that was lost it is sent again with it. */
  readonly keys: ReadonlyMap<string, string>;
};

const empty: Draft = { values: {}, done: [], made: [], keys: new Map() };

export const draft = signal(empty);

/** The paymaster that this page has created last. */
export const created = signal<string | undefined>(undefined);

// The next one who signs in here is maybe somebody else.
effect(() => {
  if (session.value === undefined) [draft.value, created.value] = [empty, undefined];
});

export function emptyDraft(): void {
  draft.value = empty;
}

export function enter(step: StepName, values: Values, isDone: boolean): void {
  const { done, values: present, failure, ...rest } = draft.peek();
  draft.value = {
    ...rest,
    values: { ...present, [step]: values },
    done: [...done.filter((each) => each !== step), ...(isDone ? [step] : [])],
    ...(failure && failure.step !== step && { failure }),
  };
}

/** The first step that is not done, or else the summary. */
export function nextOpen(): StepName | 'summary' {
  return stepNames.find((step) => !draft.value.done.includes(step)) ?? 'summary';
}

/** The same for the same body. */
export function keyFor(body: string): string {
  const { keys, ...rest } = draft.peek();
  const known = keys.get(body);
  if (known !== undefined) return known;
  // Also where there is no TLS, and so no `randomUUID`.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const key = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  draft.value = { ...rest, keys: new Map([...keys, [body, key]]) };
  return key;
}
