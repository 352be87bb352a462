import { createContext } from 'preact';
import { useContext, useEffect, useRef } from 'preact/hooks';
import type { Fault } from '../api.js';

/** Texts of the controls of a form, by name. */
export type Values = Readonly<Record<string, string>>;

/** Who else keeps which fields of an object as they are. */
export type Managed = readonly { readonly manager: string; readonly fields: readonly string[] }[];

/** What a form knows about its fields beside what its controls say. */
type FormFacts = {
  readonly faults: readonly Fault[];
  /** What was typed before: controls begin with it. */
  readonly entered: Values;
  readonly managedBy: Managed;
};

export const noFacts: FormFacts = { faults: [], entered: {}, managedBy: [] };
export const FormContext = createContext(noFacts);

/** What was typed before into a control of this name. */
export function useEntered(name: string): string | undefined {
  return useContext(FormContext).entered[name];
}

/** Where a control stands for several members of a spec. */
const controlMembers: Readonly<Record<string, readonly string[]>> = {
  cycle: ['cycleDuration', 'calendar', 'never'],
};

/** What is wrong with the field `name`, whose path is as `spec.spendingLimit.threshold` or `spec.scopes[0]`, and who keeps it. The first such control gets the focus. */
export function useFieldFacts(name: string | undefined) {
  const { faults, managedBy } = useContext(FormContext);
  const place = useRef<HTMLElement>(null);
  const splitPath = (path: string) => path.replace(/\[\d+\]$/, '').split('.');
  const fault = faults.find(({ field }) => splitPath(field).at(-1) === name)?.says;
  const members = name === undefined ? [] : [name, ...(controlMembers[name] ?? [])];
  const manager = managedBy.find(({ fields }) =>
    fields.some((field) => splitPath(field).some((part) => members.includes(part))),
  )?.manager;
  // After the note of the form has come into view.
  useEffect(() => {
    const form = fault === undefined ? undefined : place.current?.closest('form');
    const first = form?.querySelector<HTMLElement>('[aria-invalid], fieldset > .fault');
    if (!first || !place.current?.contains(first)) return;
    first.focus({ preventScroll: true });
    place.current.scrollIntoView({ block: 'nearest' });
  }, [faults]);
  return { fault, manager, place };
}

/** What the browser finds wrong with each control, in the words of this page. */
export function faultsIn(form: HTMLFormElement): readonly Fault[] {
  const controls = [...form.elements].filter(
    (each): each is HTMLInputElement => 'validity' in each && each instanceof HTMLElement,
  );
  return controls
    .filter(({ validity, name }) => name !== '' && !validity.valid)
    .map(({ validity, name, title, validationMessage }) => ({
      field: name,
      says: validity.valueMissing
        ? 'Must be given'
        : validity.patternMismatch && title !== ''
          ? `Must be ${title}`
          : validationMessage,
    }));
}
