import { useState } from 'preact/hooks';
import { useEntered } from '../parts/form-facts.js';
import { Field, Options } from '../parts/form.js';

const cycles = {
  days: 'some days after it began',
  hours: 'some hours after it began',
  day: 'each day of the calendar',
  week: 'each week, on Monday',
  month: 'each month of the calendar',
  never: 'never by itself',
};
const unchanged = { '': 'after the same time as until now' };

/** When a limit begins to count anew. `isChange`: it may stay as it is. */
export function CycleFields({
  isChange = false,
  onChoose,
}: {
  readonly isChange?: boolean;
  readonly onChoose?: (cycle: string) => void;
}) {
  const [cycle, setCycle] = useState(useEntered('cycle') ?? (isChange ? '' : 'days'));
  const isLength = cycle === 'days' || cycle === 'hours';
  return (
    <>
      <Options
        label="Begins again"
        name="cycle"
        of={isChange ? { ...unchanged, ...cycles } : cycles}
        value={cycle}
        onChoose={(chosen) => (setCycle(chosen), onChoose?.(chosen))}
      />
      {isLength && (
        <Field label={`How many ${cycle}`} name="value" value="1" inputMode="numeric" pattern="[0-9]+" />
      )}
      {!isLength && cycle !== '' && cycle !== 'never' && (
        <Field
          label="Time zone whose midnight counts"
          name="timeZone"
          value={Intl.DateTimeFormat().resolvedOptions().timeZone}
        />
      )}
    </>
  );
}

/** The member of a limit that says so, of what {@link CycleFields} send. */
export function cycleOf({ cycle = '', value, timeZone }: Readonly<Record<string, string>>): object {
  if (cycle === '') return {};
  if (cycle === 'never') return { never: {} };
  if (cycle === 'days' || cycle === 'hours')
    return { cycleDuration: { value: Number(value), unit: cycle.slice(0, -1) } };
  return { calendar: { every: cycle, timeZone } };
}

/** The same as a merge patch, which takes the former cycle and its begin away. */
export function cyclePatchOf(values: Readonly<Record<string, string>>): object {
  const next = cycleOf(values);
  if (Object.keys(next).length === 0) return {};
  return { ...noCycle, ...next };
}

/** A merge patch that takes the cycle and its begin away. */
export const noCycle = Object.fromEntries(
  ['cycleDuration', 'calendar', 'never', 'startTime', 'restartedAt', 'assumeUsed'].map((member) => [
    member,
    null,
  ]),
);
