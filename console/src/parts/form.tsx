import type { ComponentChildren, RefObject } from 'preact';
import { useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Mistake, Refused } from '../api.js';
import {
  faultsIn,
  FormContext,
  noFacts,
  useEntered,
  useFieldFacts,
  type Managed,
  type Values,
} from './form-facts.js';
import { Note } from './parts.js';

/** The result of a change, with the tone in which it is shown. */
export type Said = { readonly kind: 'done' | 'warn' | 'error'; readonly text: string };
export type Outcome = Said | { readonly error: Error };

/** The result of a change below its form. Where a manifest owns the field: what to commit instead. */
export function OutcomeNote({ outcome }: { readonly outcome: Outcome | undefined }) {
  return <InView of={outcome}>{outcome && <Words outcome={outcome} />}</InView>;
}

function Words({ outcome }: { readonly outcome: Outcome }) {
  if ('text' in outcome) return <Note kind={outcome.kind}>{outcome.text}</Note>;
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

/** Scrolls its content into view whenever `of` changes. */
export function InView({ of, children }: { readonly of: unknown; readonly children: ComponentChildren }) {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (of !== undefined) place.current?.scrollIntoView({ block: 'nearest' });
  }, [of]);
  return (
    <div ref={place} class="shown">
      {children}
    </div>
  );
}

/** Resolves with the note to show. A text means done; undefined means that the person cancelled. */
export type Change = () => Promise<string | Said | undefined>;

/** Runs a change and keeps its result. No other change begins until it has ended: a double click must not send it twice. */
export function useOutcome(onDone?: () => void) {
  const [outcome, setOutcome] = useState<Outcome>();
  const isRunning = useRef(false);
  const run = async (change: Change): Promise<void> => {
    if (isRunning.current) return;
    isRunning.current = true;
    try {
      const said = await change();
      setOutcome(typeof said === 'string' ? { kind: 'done', text: said } : said);
    } catch (error) {
      setOutcome({ error: error as Error });
    } finally {
      isRunning.current = false;
    }
    onDone?.();
  };
  return { outcome, run };
}

/** Its controls below each other. `send` gets their texts by name, and says what it did. */
export function Form({
  button = 'Save',
  isEmptied = false,
  entered = noFacts.entered,
  managedBy = noFacts.managedBy,
  failed,
  beside,
  onType,
  send,
  onDone,
  children,
}: {
  readonly button?: string;
  /** Its fields are emptied once they are saved: for forms that are used again and again. */
  readonly isEmptied?: boolean;
  readonly entered?: Values;
  readonly managedBy?: Managed;
  /** A failure outside the form, shown until the form is sent again. */
  readonly failed?: Error | undefined;
  /** Shown after its button. */
  readonly beside?: ComponentChildren;
  readonly onType?: (values: Values) => void;
  readonly send: (values: Values) => ReturnType<Change>;
  readonly onDone?: () => void;
  readonly children: ComponentChildren;
}) {
  const { outcome = failed && { error: failed }, run } = useOutcome(onDone);
  const [round, setRound] = useState(0);
  const error = outcome && 'error' in outcome ? outcome.error : undefined;
  const faults = error instanceof Mistake ? error.faults : noFacts.faults;
  const facts = useMemo(() => ({ faults, entered, managedBy }), [faults, entered, managedBy]);
  return (
    <form
      class="made"
      // Our own messages stand at the fields and stay there, unlike the browser's.
      noValidate
      onInput={({ currentTarget }) => onType?.(readValues(currentTarget))}
      onSubmit={(event) => {
        event.preventDefault();
        const form = event.currentTarget;
        void run(async () => {
          const wrong = faultsIn(form);
          if (wrong.length > 0) throw new Mistake('Some fields are not right yet.', wrong);
          const said = await send(readValues(form));
          if (isEmptied && said !== undefined) setRound((last) => last + 1);
          return said;
        });
      }}
    >
      <FormContext.Provider value={facts}>
        <div class="row" key={round}>
          {children}
        </div>
      </FormContext.Provider>
      <div class="row sent">
        <button class="main">{button}</button>
        {beside}
      </div>
      <OutcomeNote outcome={outcome} />
    </form>
  );
}

/** The texts of the fields of a form, by name. */
export function readValues(form: HTMLFormElement | null | undefined): Values {
  if (!form) return {};
  const texts = [...new FormData(form)].filter(
    (pair): pair is [string, string] => typeof pair[1] === 'string',
  );
  return Object.fromEntries(texts);
}

/** A form below a line that opens it. */
export function OpenForm({
  title,
  onClose,
  ...form
}: Parameters<typeof Form>[0] & {
  readonly title: string;
  /** For a form that a link or button opened: it scrolls into view, open and with the focus, and calls this when it is closed. */
  readonly onClose?: () => void;
}) {
  const place = useRef<HTMLDetailsElement>(null);
  useLayoutEffect(() => {
    if (onClose === undefined || place.current === null) return;
    place.current.open = true;
    place.current.querySelector('summary')?.focus({ preventScroll: true });
    place.current.scrollIntoView({ block: 'nearest' });
  }, []);
  return (
    <details ref={place} onToggle={({ currentTarget }) => currentTarget.open || onClose?.()}>
      <summary>{title}</summary>
      <Form {...form} />
    </details>
  );
}

/** A control with its label, and below it what is wrong with its value: `says`, or the server's words about the field `name`. */
export function Labelled({
  label,
  name,
  says,
  isWide = false,
  children,
}: {
  readonly label: string;
  readonly name?: string;
  readonly says?: string | undefined;
  readonly isWide?: boolean;
  readonly children: (state: object) => ComponentChildren;
}) {
  const id = useId();
  const { place, manager, fault: found } = useFieldFacts(name);
  const fault = says ?? found;
  const notes = [fault !== undefined && id, manager !== undefined && `${id}-owner`].filter(Boolean);
  return (
    <div ref={place as RefObject<HTMLDivElement>} class={isWide ? 'field wide' : 'field'}>
      <label>
        <span>{label}</span>
        {children({
          ...(fault !== undefined && { 'aria-invalid': true }),
          ...(notes.length > 0 && { 'aria-describedby': notes.join(' ') }),
        })}
      </label>
      {fault !== undefined && (
        // Without `says` the note of the form announces the fault.
        <p class="fault" id={id} role={says === undefined ? undefined : 'alert'}>
          {fault}
        </p>
      )}
      <ManagedNote id={`${id}-owner`} manager={manager} />
    </div>
  );
}

/** At a field that another manager keeps as it is. */
function ManagedNote({ manager, id }: { readonly manager: string | undefined; readonly id?: string }) {
  if (manager === undefined) return null;
  return (
    <p class="managed" id={id}>
      Managed by {manager}
    </p>
  );
}

/** Several boxes below one legend, and what is wrong with what they say together. */
export function Boxes({
  legend,
  name,
  children,
}: {
  readonly legend: string;
  readonly name: string;
  readonly children: ComponentChildren;
}) {
  const { place, fault, manager } = useFieldFacts(name);
  return (
    <fieldset ref={place as RefObject<HTMLFieldSetElement>} class="wide">
      <legend>{legend}</legend>
      {children}
      {fault !== undefined && (
        <p class="fault" tabIndex={-1}>
          {fault}
        </p>
      )}
      <ManagedNote manager={manager} />
    </fieldset>
  );
}

/** What a pattern takes, in the words of the message at its field. */
const expected: Readonly<Record<string, string>> = {
  '[0-9]+': 'a whole number',
  '[0-9]+([.][0-9]+)?': 'a number, such as 0.5',
  '0x[0-9a-fA-F]{40}': 'an address: 0x and 40 hex digits',
  '0x[0-9a-fA-F]+': '0x and hex digits',
  'https?://.+': 'an address that begins with https:// or http://',
  '[a-z0-9]([a-z0-9.\\-]*[a-z0-9])?': 'small letters, digits, dots and dashes',
};

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
  readonly type?: 'datetime-local';
  readonly onInput?: (value: string) => void;
}) {
  const { pattern = '' } = attributes;
  const entered = useEntered(name);
  return (
    <Labelled label={label} name={name}>
      {(state) => (
        <input
          name={name}
          defaultValue={entered ?? value}
          required={!isOptional}
          autocomplete="off"
          title={expected[pattern]}
          onInput={(event) => onInput?.(event.currentTarget.value)}
          {...attributes}
          {...state}
        />
      )}
    </Labelled>
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
  const chosen = useEntered(name) ?? value;
  return (
    <Labelled label={label} name={name}>
      {(state) => (
        <select name={name} onChange={(event) => onChoose?.(event.currentTarget.value)} {...state}>
          {Object.entries(of).map(([key, text]) => (
            <option key={key} value={key} selected={key === chosen}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}
