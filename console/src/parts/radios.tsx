import { useEntered } from './form-facts.js';
import { Boxes } from './form.js';

export type Radio = { readonly value: string; readonly title: string; readonly says: string };

/** A choice between options, each with a sentence that explains it. */
export function Radios({
  legend,
  name,
  of,
  value,
  onChoose,
}: {
  readonly legend: string;
  readonly name: string;
  readonly of: readonly Radio[];
  /** Default: the first. */
  readonly value?: string | undefined;
  readonly onChoose?: (value: string) => void;
}) {
  const entered = useEntered(name) ?? value;
  const chosen = of.find((each) => each.value === entered) ?? of[0];
  return (
    <Boxes legend={legend} name={name}>
      {of.map((each) => (
        <label key={each.value} class="choice">
          <input
            type="radio"
            name={name}
            value={each.value}
            defaultChecked={each === chosen}
            required
            onChange={() => onChoose?.(each.value)}
          />
          <span>
            <b>{each.title}</b> <span class="quiet">{each.says}</span>
          </span>
        </label>
      ))}
    </Boxes>
  );
}
