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

export function RangeFilter({ range }: { readonly range: string }) {
  return <Filter label="Range" of="range" value={range} choices={rangeChoices} />;
}
