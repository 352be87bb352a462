declare const brand: unique symbol;

/** Milliseconds since the Unix epoch: API fields, stores, logs. */
export type EpochMs = number & { readonly [brand]: 'EpochMs' };

/** Seconds since the Unix epoch: everything on chain. */
export type EpochSeconds = number & { readonly [brand]: 'EpochSeconds' };

/** The only source of "now"; passed in, so that tests advance it instead of sleeping. */
export type Clock = { now(): EpochMs };

export const systemClock: Clock = { now: () => Date.now() as EpochMs };

/** Rounds down: a second that is not over has not passed on chain either. */
export function toSeconds(ms: EpochMs): EpochSeconds {
  return Math.floor(ms / 1000) as EpochSeconds;
}

export function toMs(seconds: EpochSeconds): EpochMs {
  return (seconds * 1000) as EpochMs;
}

export function plusMs(at: EpochMs, ms: number): EpochMs {
  return (at + ms) as EpochMs;
}

export function plusSeconds(at: EpochSeconds, seconds: number): EpochSeconds {
  return (at + seconds) as EpochSeconds;
}

const instantPattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/;

/** Parses an RFC 3339 time with a zone, e.g. "2026-01-31T12:00:00.000Z"; undefined for any other text, and for a day that does not exist. */
export function parseInstant(text: string): EpochMs | undefined {
  const ms = instantPattern.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) || !isDay(text) ? undefined : (ms as EpochMs);
}

/** The 30th of February would be read as the 2nd of March. */
function isDay(text: string): boolean {
  const [year, month, day] = [text.slice(0, 4), text.slice(5, 7), text.slice(8, 10)].map(Number);
  return day! <= new Date(Date.UTC(year!, month!, 0)).getUTCDate();
}

/** RFC 3339 in UTC with milliseconds. */
export function formatInstant(at: EpochMs): string {
  return new Date(at).toISOString();
}

export const cycleUnits = { hour: 3_600_000, day: 86_400_000 } as const;
export type CycleUnit = keyof typeof cycleUnits;

/** Longest cycle per unit: one year, so that a window index always has a meaning. */
export const maxCycleValue = { hour: 8760, day: 365 } as const satisfies Record<CycleUnit, number>;
