import type { ComponentChildren } from 'preact';
import { call } from '../api.js';
import { ifSure } from '../parts/confirmed.js';
import type { Change } from '../parts/form.js';
import type { Contract, Policy } from '../records.js';
import { choose } from '../route.js';

type OneObject = Policy | Contract;

/** What people are told before and after. `noun` is as paths have it. */
export type Verbs = {
  readonly noun: 'policies' | 'contracts';
  readonly pausing: string;
  readonly deleting: string;
  readonly paused: string;
};

/** The form that changes an object is open while the address names it, so that other pages can lead there. */
export function closeChange(): void {
  choose({ change: undefined, methods: undefined });
}

/** What can be done to one object of a paymaster: changed in a form below the table, paused or resumed, deleted. */
export function Actions({
  object,
  verbs: { noun, pausing, deleting, paused },
  run,
  children,
}: {
  readonly object: OneObject;
  readonly verbs: Verbs;
  readonly run: (change: Change) => Promise<void>;
  readonly children?: ComponentChildren;
}) {
  const { name } = object.spec;
  const path = `/manage/v1/${noun}/${object.name}`;
  const isActive = object.spec.active !== false;
  const pause = ifSure({ title: `Pause “${name}”?`, says: pausing, button: 'Pause' }, async () => {
    await call(`${path}/suspend`, { method: 'POST' });
    return { kind: 'warn', text: `“${name}” is paused: ${paused}` };
  });
  const resume: Change = async () => {
    await call(`${path}/resume`, { method: 'POST' });
    return `“${name}” is active again.`;
  };
  const remove = ifSure({ title: `Delete “${name}”?`, says: deleting, button: 'Delete' }, async () => {
    await call(path, { method: 'DELETE' });
    closeChange();
    return `“${name}” is deleted.`;
  });
  return (
    <span class="actions">
      {children}
      <button
        type="button"
        aria-label={`Change ${name}`}
        onClick={() => choose({ change: object.name, methods: undefined })}
      >
        Change
      </button>
      <button
        type="button"
        aria-label={`${isActive ? 'Pause' : 'Resume'} ${name}`}
        onClick={() => void run(isActive ? pause : resume)}
      >
        {isActive ? 'Pause' : 'Resume'}
      </button>
      <button type="button" class="danger" aria-label={`Delete ${name}`} onClick={() => void run(remove)}>
        Delete
      </button>
    </span>
  );
}

export function Meter({ share, name }: { readonly share: number; readonly name: string }) {
  const percent = `${Math.round(share * 100)} %`;
  return (
    <meter
      min={0}
      max={1}
      high={0.8}
      optimum={0}
      value={share}
      aria-label={`${name}: ${percent} used or reserved`}
      title={percent}
    />
  );
}
