import { coins } from '../format.js';
import type { Policy } from '../records.js';

type SpendingLimit = NonNullable<Policy['spec']['spendingLimit']>;

export const units: Readonly<Record<string, string>> = {
  COUNT: 'operations',
  NATIVE_ASSET: 'coins',
  USD: 'dollars',
};

/** A limit as a sentence, whatever is used of it. */
export function limitWords(limit: SpendingLimit): string {
  const { scope, thresholdType, threshold, perOperation } = limit;
  const amount = (value: string) => {
    const unit = units[thresholdType] ?? '';
    return `at most ${coins(value)} ${coins(value) === '1' ? unit.slice(0, -1) : unit}`;
  };
  const whose = scope === 'SMART_ACCOUNT' ? ' for each account' : '';
  return [
    threshold !== undefined && `${amount(threshold)} ${cycleWords(limit)}${whose}`,
    perOperation !== undefined && `${amount(perOperation)} for one operation`,
  ]
    .filter(Boolean)
    .join(', ');
}

function cycleWords({ cycleDuration, calendar }: SpendingLimit): string {
  if (calendar !== undefined) return `each ${calendar.every} (${calendar.timeZone})`;
  if (cycleDuration === undefined) return 'in all';
  const { value, unit } = cycleDuration;
  return value === 1 ? `each ${unit}` : `every ${value} ${unit}s`;
}
