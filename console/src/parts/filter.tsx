import { rangeChoices } from '../range.js';
import { choose } from '../route.js';
import { Select } from './parts.js';

/** Chooses a part of the address's query. */
export function Filter({
  of,
  ...select
}: { readonly of: string } & Omit<Parameters<typeof Select>[0], 'onChoose'>) {
  return <Select {...select} onChoose={(chosen) => choose({ [of]: chosen })} />;
}

export function RangeFilter({ range }: { readonly range: string }) {
  return <Filter label="Range" of="range" value={range} choices={rangeChoices} />;
}
