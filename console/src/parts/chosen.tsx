import { useState } from 'preact/hooks';
import type { Contract, Policy } from '../records.js';

/** One of several objects: the first until another one is chosen. */
export function useChosen<One extends { readonly name: string }>(
  all: readonly One[],
): readonly [One | undefined, (name: string) => void] {
  const [name, setName] = useState<string>();
  return [all.find((each) => each.name === name) ?? all[0], setName];
}

export function Chosen({
  label,
  of,
  chosen,
  onChoose,
}: {
  readonly label: string;
  readonly of: readonly Pick<Policy | Contract, 'name' | 'spec'>[];
  readonly chosen: { readonly name: string };
  readonly onChoose: (name: string) => void;
}) {
  return (
    <label class="field">
      <span>{label}</span>
      <select value={chosen.name} onChange={(event) => onChoose(event.currentTarget.value)}>
        {of.map(({ name, spec }) => (
          <option key={name} value={name}>
            {spec.name}
          </option>
        ))}
      </select>
    </label>
  );
}
