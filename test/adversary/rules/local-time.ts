// Local dates worked out from the published rules of summer time, so that the oracle does not ask the service's own calendar.

const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

export const zones = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  /** Summer time begins at midnight, so that a day has none. */
  'America/Santiago',
  'Asia/Kathmandu',
  'Pacific/Kiritimati',
] as const;
export type Zone = (typeof zones)[number];
export type Period = 'day' | 'week' | 'month';

/** Milliseconds that local time is ahead of UTC. Holds from 2025 on. */
export function offsetAt(zone: Zone, at: number): number {
  const { standard, shifted, from, until } = yearOf(zone, new Date(at).getUTCFullYear());
  return at >= from && at < until ? shifted : standard;
}

/** A year's offsets: `shifted` from one moment until another, `standard` before and after. */
type Year = {
  readonly standard: number;
  readonly shifted: number;
  readonly from: number;
  readonly until: number;
};

const years = new Map<string, Year>();

function yearOf(zone: Zone, year: number): Year {
  const name = `${zone} ${year}`;
  const known = years.get(name) ?? madeYear(zone, year);
  years.set(name, known);
  return known;
}

function madeYear(zone: Zone, year: number): Year {
  const always = (hours: number): Year => ({ standard: hours * hourMs, shifted: 0, from: 0, until: 0 });
  switch (zone) {
    case 'UTC':
      return always(0);
    case 'Europe/Berlin':
      return {
        standard: hourMs,
        shifted: 2 * hourMs,
        from: lastSunday(year, 2) + hourMs,
        until: lastSunday(year, 9) + hourMs,
      };
    case 'America/New_York':
      return {
        standard: -5 * hourMs,
        shifted: -4 * hourMs,
        from: sundayFrom(year, 2, 8) + 7 * hourMs,
        until: sundayFrom(year, 10, 1) + 6 * hourMs,
      };
    // The year begins in summer time.
    case 'America/Santiago':
      return {
        standard: -3 * hourMs,
        shifted: -4 * hourMs,
        from: sundayFrom(year, 3, 2) + 3 * hourMs,
        until: sundayFrom(year, 8, 2) + 4 * hourMs,
      };
    case 'Asia/Kathmandu':
      return always(5.75);
    case 'Pacific/Kiritimati':
      return always(14);
  }
}

/** The local day, month, or week by its Monday. */
export function periodAt(zone: Zone, every: Period, at: number): string {
  const local = at + offsetAt(zone, at);
  const day = Math.floor(local / dayMs);
  if (every === 'month') return new Date(local).toISOString().slice(0, 7);
  // 1970-01-01 was a Thursday.
  return every === 'day' ? `day ${day}` : `week of ${day - ((day + 3) % 7)}`;
}

/** The first moment of the next period, to the second. */
export function nextPeriod(zone: Zone, every: Period, at: number): number {
  const name = periodAt(zone, every, at);
  let before = Math.floor(at / 1000);
  let after = before + 33 * (dayMs / 1000);
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (periodAt(zone, every, middle * 1000) === name) before = middle;
    else after = middle;
  }
  return after * 1000;
}

/** Midnight (UTC) of the first Sunday on or after a day of a month, which is counted from 0. */
function sundayFrom(year: number, month: number, day: number): number {
  const first = Date.UTC(year, month, day);
  return first + ((7 - new Date(first).getUTCDay()) % 7) * dayMs;
}

function lastSunday(year: number, month: number): number {
  return sundayFrom(year, month + 1, 1) - 7 * dayMs;
}
