import { useRef, useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { Refused } from '../api.js';
import { Note } from './parts.js';

export type Outcome = { readonly done: string } | { readonly error: Error };

/** What came of a change. Where a manifest owns the field: what to commit instead. */
export function OutcomeNote({ outcome }: { readonly outcome: Outcome | undefined }) {
  if (outcome === undefined) return null;
  if ('done' in outcome) return <Note kind="done">{outcome.done}</Note>;
  const { error } = outcome;
  return (
    <>
      <Note kind="error">{error.message}</Note>
      {error instanceof Refused && error.manifest !== undefined && (
        <>
          <p>Commit this instead:</p>
          <pre tabIndex={0}>{error.manifest}</pre>
        </>
      )}
    </>
  );
}

/** Runs a change and keeps what came of it. Until it has ended no other one begins: a double click must not send it twice. */
export function useOutcome(onDone: () => void) {
  const [outcome, setOutcome] = useState<Outcome>();
  const isRunning = useRef(false);
  const run = async (change: () => Promise<string>): Promise<void> => {
    if (isRunning.current) return;
    isRunning.current = true;
    try {
      setOutcome({ done: await change() });
    } catch (error) {
      setOutcome({ error: error as Error });
    } finally {
      isRunning.current = false;
    }
    onDone();
  };
  return { outcome, run };
}

/** A form below a line that opens it. `send` gets the texts of its fields by name, and says what it did. */
export function OpenForm({
  title,
  button = 'Save',
  send,
  onDone,
  children,
}: {
  readonly title: string;
  readonly button?: string;
  readonly send: (values: Readonly<Record<string, string>>) => Promise<string>;
  readonly onDone: () => void;
  readonly children: ComponentChildren;
}) {
  const { outcome, run } = useOutcome(onDone);
  return (
    <details>
      <summary>{title}</summary>
      <form
        class="made"
        onSubmit={(event) => {
          event.preventDefault();
          const texts = [...new FormData(event.currentTarget)].filter(
            (pair): pair is [string, string] => typeof pair[1] === 'string',
          );
          void run(() => send(Object.fromEntries(texts)));
        }}
      >
        <div class="row">{children}</div>
        <p>
          <button class="main">{button}</button>
        </p>
        <OutcomeNote outcome={outcome} />
      </form>
    </details>
  );
}

export function Field({
  label,
  name,
  value,
  isOptional = false,
  onInput,
  ...attributes
}: {
  readonly label: string;
  readonly name: string;
  readonly value?: string;
  readonly isOptional?: boolean;
  readonly pattern?: string;
  readonly inputMode?: 'numeric' | 'decimal';
  readonly onInput?: (value: string) => void;
}) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        name={name}
        defaultValue={value}
        required={!isOptional}
        autocomplete="off"
        onInput={(event) => onInput?.(event.currentTarget.value)}
        {...attributes}
      />
    </label>
  );
}

/** A choice that is sent with its form. */
export function Options({
  label,
  name,
  of,
  value,
  onChoose,
}: {
  readonly label: string;
  readonly name: string;
  readonly of: Readonly<Record<string, string>>;
  /** Default: the first. */
  readonly value?: string;
  readonly onChoose?: (value: string) => void;
}) {
  return (
    <label class="field">
      <span>{label}</span>
      <select name={name} onChange={(event) => onChoose?.(event.currentTarget.value)}>
        {Object.entries(of).map(([key, text]) => (
          <option key={key} value={key} selected={key === value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

const method = 'method ';

export function MethodChoices({
  methods,
  checked = [],
  empty,
}: {
  readonly methods: readonly string[];
  readonly checked?: readonly string[];
  readonly empty: string;
}) {
  return (
    <fieldset class="wide">
      <legend>Methods to pay for</legend>
      {methods.length === 0 && <span class="quiet">{empty}</span>}
      {methods.map((each) => (
        <label key={each}>
          <input type="checkbox" name={method + each} defaultChecked={checked.includes(each)} /> {each}
        </label>
      ))}
    </fieldset>
  );
}

/** Those of {@link MethodChoices} in what a form sends. */
export function checkedMethods(values: Readonly<Record<string, string>>): readonly string[] {
  return Object.keys(values)
    .filter((key) => key.startsWith(method))
    .map((key) => key.slice(method.length));
}
