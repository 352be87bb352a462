import { useEffect, useState } from 'preact/hooks';
import { rangeChoices } from '../range.js';
import { step } from '../route.js';
import { Select } from './parts.js';

/** Chooses a part of the address's query, as a step of the history. */
export function Filter({
  of,
  ...select
}: { readonly of: string } & Omit<Parameters<typeof Select>[0], 'onChoose'>) {
  return <Select {...select} onChoose={(chosen) => step({ [of]: chosen })} />;
}

type Typed = {
  readonly label: string;
  readonly value: string;
  readonly type: 'search' | 'date' | 'datetime-local';
  readonly inputMode?: 'decimal';
  readonly placeholder?: string;
  readonly onChoose: (text: string) => void;
};

/** A field that narrows a page when somebody presses Enter or leaves it. What is being typed stays while the page is drawn again. */
export function TypedFilter({ label, type, value, onChoose, ...input }: Typed) {
  const [typed, setTyped] = useState<string>();
  useEffect(() => setTyped(undefined), [value]);
  return (
    <label class="field">
      <span>{label}</span>
      <input
        {...input}
        // The compiler accepts these attributes for each type, but not for a choice of types.
        type={type as 'search'}
        value={typed ?? value}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        onChange={({ currentTarget }) => onChoose(currentTarget.value.trim())}
        onBlur={() => setTyped(undefined)}
      />
    </label>
  );
}

export function RangeFilter({ range }: { readonly range: string }) {
  return <Filter label="Range" of="range" value={range} choices={rangeChoices} />;
}
