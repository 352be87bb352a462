import { createContext } from 'preact';
import type { ComponentChildren, RefObject } from 'preact';
import { useContext, useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Mistake, Refused, type Fault } from '../api.js';
import { Note } from './parts.js';

/** What a change came to: done, unless it says that it is a warning or a failure. */
type Said = { readonly kind: 'done' | 'warn' | 'error'; readonly text: string };
export type Outcome = Said | { readonly error: Error };

/** What came of a change. Where a manifest owns the field: what to commit instead. */
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

/** Scrolls to what it holds whenever `of` is another one. */
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

/** A text means that it is done; undefined, that it was not to happen. */
export type Change = () => Promise<string | Said | undefined>;

/** Runs a change and keeps what came of it. Until it has ended no other one begins: a double click must not send it twice. */
export function useOutcome(onDone: () => void) {
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
    onDone();
  };
  return { outcome, run };
}

/** Of the form around a control. */
const none: readonly Fault[] = [];
const Faults = createContext(none);

/** A form below a line that opens it. `send` gets the texts of its fields by name, and says what it did. */
export function OpenForm({
  title,
  button = 'Save',
  isEmptied = false,
  onClose,
  send,
  onDone,
  children,
}: {
  readonly title: string;
  readonly button?: string;
  /** Its fields are emptied once they are saved: for forms that are used again and again. */
  readonly isEmptied?: boolean;
  /** Of a form that was asked for: it comes into view, open and with the focus, and is gone once it is closed. */
  readonly onClose?: () => void;
  readonly send: (values: Readonly<Record<string, string>>) => ReturnType<Change>;
  readonly onDone: () => void;
  readonly children: ComponentChildren;
}) {
  const { outcome, run } = useOutcome(onDone);
  const [round, setRound] = useState(0);
  const faults =
    outcome && 'error' in outcome && outcome.error instanceof Mistake ? outcome.error.faults : none;
  const place = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (onClose === undefined || place.current === null) return;
    place.current.open = true;
    place.current.querySelector('summary')?.focus({ preventScroll: true });
    place.current.scrollIntoView({ block: 'nearest' });
  }, []);
  return (
    <details ref={place} onToggle={({ currentTarget }) => currentTarget.open || onClose?.()}>
      <summary>{title}</summary>
      <form
        class="made"
        onSubmit={(event) => {
          event.preventDefault();
          const texts = [...new FormData(event.currentTarget)].filter(
            (pair): pair is [string, string] => typeof pair[1] === 'string',
          );
          void run(async () => {
            const said = await send(Object.fromEntries(texts));
            if (isEmptied && said !== undefined) setRound((last) => last + 1);
            return said;
          });
        }}
      >
        <Faults.Provider value={faults}>
          <div class="row" key={round}>
            {children}
          </div>
        </Faults.Provider>
        <p>
          <button class="main">{button}</button>
        </p>
        <OutcomeNote outcome={outcome} />
      </form>
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
  const { place, fault: found } = useFault(name);
  const fault = says ?? found;
  return (
    <div ref={place as RefObject<HTMLDivElement>} class={isWide ? 'field wide' : 'field'}>
      <label>
        <span>{label}</span>
        {children(fault === undefined ? {} : { 'aria-invalid': true, 'aria-describedby': id })}
      </label>
      {fault !== undefined && (
        // The note of a form says it aloud.
        <p class="fault" id={id} role={says === undefined ? undefined : 'alert'}>
          {fault}
        </p>
      )}
    </div>
  );
}

/** The server's words about the field `name`, whose path is as `spec.spendingLimit.threshold` or `spec.scopes[0]`. The first such control gets the focus. */
function useFault(name: string | undefined) {
  const faults = useContext(Faults);
  const place = useRef<HTMLElement>(null);
  const lastOf = (path: string) =>
    path
      .replace(/\[\d+\]$/, '')
      .split('.')
      .at(-1);
  const fault = faults.find(({ field }) => lastOf(field) === name)?.says;
  // After the note of the form has come into view.
  useEffect(() => {
    const form = fault === undefined ? undefined : place.current?.closest('form');
    const first = form?.querySelector<HTMLElement>('[aria-invalid], fieldset > .fault');
    if (!first || !place.current?.contains(first)) return;
    first.focus({ preventScroll: true });
    place.current.scrollIntoView({ block: 'nearest' });
  }, [faults]);
  return { fault, place };
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
  const { place, fault } = useFault(name);
  return (
    <fieldset ref={place as RefObject<HTMLFieldSetElement>} class="wide">
      <legend>{legend}</legend>
      {children}
      {fault !== undefined && (
        <p class="fault" tabIndex={-1}>
          {fault}
        </p>
      )}
    </fieldset>
  );
}

/** What a pattern takes, for the browser's own message. */
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
  readonly onInput?: (value: string) => void;
}) {
  const { pattern = '' } = attributes;
  return (
    <Labelled label={label} name={name}>
      {(state) => (
        <input
          name={name}
          defaultValue={value}
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
  return (
    <Labelled label={label} name={name}>
      {(state) => (
        <select name={name} onChange={(event) => onChoose?.(event.currentTarget.value)} {...state}>
          {Object.entries(of).map(([key, text]) => (
            <option key={key} value={key} selected={key === value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Labelled>
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
    <Boxes legend="Methods to pay for" name="whitelistedMethods">
      {methods.length === 0 && <span class="quiet">{empty}</span>}
      {methods.map((each) => (
        <label key={each}>
          <input type="checkbox" name={method + each} defaultChecked={checked.includes(each)} /> {each}
        </label>
      ))}
    </Boxes>
  );
}

/** Those of {@link MethodChoices} in what a form sends. */
export function checkedMethods(values: Readonly<Record<string, string>>): readonly string[] {
  return Object.keys(values)
    .filter((key) => key.startsWith(method))
    .map((key) => key.slice(method.length));
}
