import { quote } from './errors.js';
import { given } from './units/given.js';
import { trimEnd } from './units/trim-end.js';

/** All wrong settings of a process: one sentence each, for the person who set them. */
export class SettingsError extends Error {
  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'));
    this.name = 'SettingsError';
  }
}

/** One setting: an environment variable, what it is for, what `--help` says of its values, and how it is read. */
export type Setting<T> = {
  readonly name: string;
  readonly text: string;
  readonly values: string;
  /** Adds a mistake for a text that is not right, or one that is missing. */
  readonly read: (text: string | undefined, settings: Settings) => T;
};

/** A table of settings, by the member of the configuration that each becomes. */
export type SettingRows = Readonly<Record<string, Setting<unknown>>>;

type Values<R extends SettingRows> = {
  readonly [K in keyof R]: R[K] extends Setting<infer T> ? T : never;
};

type Bounds = { readonly min: number; readonly max: number };

export const optional = (name: string, text: string): Setting<string | undefined> => ({
  name,
  text,
  values: '',
  read: (value) => value,
});

/** Required when there is no fallback. */
export const text = (name: string, what: string, fallback?: string): Setting<string> => ({
  name,
  text: what,
  values: fallback ?? 'required',
  read(value = fallback, settings) {
    if (value === undefined) settings.mistake(name, `set: ${what}`);
    return value ?? '';
  },
});

export function integer(name: string, what: string, bounds: Bounds, fallback: number): Setting<number>;
export function integer(name: string, what: string, bounds: Bounds): Setting<number | undefined>;
export function integer(name: string, what: string, { min, max }: Bounds, fallback?: number) {
  const range = `from ${min} to ${max}`;
  const read: Setting<number | undefined>['read'] = (given, settings) => {
    if (given === undefined) return fallback;
    const value = /^[0-9]{1,15}$/.test(given) ? Number(given) : Number.NaN;
    if (!(value >= min && value <= max)) settings.mistake(name, `a whole number ${range}`, given);
    return value;
  };
  return { name, text: what, values: fallback === undefined ? range : `${fallback}, ${range}`, read };
}

export const oneOf = <T extends string>(
  name: string,
  what: string,
  choices: readonly T[],
  fallback: T,
): Setting<T> => ({
  name,
  text: what,
  values: [fallback, ...choices.filter((choice) => choice !== fallback)].join(' | '),
  read(value, settings) {
    const choice = choices.find((candidate) => candidate === value);
    if (value !== undefined && choice === undefined)
      settings.mistake(name, `one of ${choices.join(', ')}`, value);
    return choice ?? fallback;
  },
});

export const either = (
  name: string,
  what: string,
  [yes, no]: readonly [string, string],
  fallback: boolean,
): Setting<boolean> => {
  const row = oneOf(name, what, [yes, no], fallback ? yes : no);
  return { ...row, read: (value, settings) => row.read(value, settings) === yes };
};

/** An http(s) URL, without a slash at its end. An error does not quote the value: it may contain a key. */
export const httpUrl = (name: string, what: string): Setting<string> => ({
  ...text(name, what),
  read(value, settings) {
    const url = text(name, what).read(value, settings);
    const isRight = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
    if (url !== '' && !isRight) settings.mistake(name, 'an http or https URL');
    return trimEnd(url, '/');
  },
});

/**
 * Reads tables of settings from environment variables and collects every mistake, so that one start reports all of them. A
 * variable with an empty value counts as not set, because templates render an unset value like that.
 */
export class Settings {
  readonly #values: Readonly<Record<string, string | undefined>>;
  readonly #mistakes: string[] = [];

  constructor(values: Readonly<Record<string, string | undefined>>) {
    this.#values = values;
  }

  read<R extends SettingRows>(rows: R) {
    const values = Object.entries(rows).map(([key, row]) => [
      key,
      row.read(this.#values[row.name] || undefined, this),
    ]);
    return given(Object.fromEntries(values) as Values<R>);
  }

  mistake(name: string, expected: string, value?: string): void {
    this.#mistakes.push(`${name} must be ${expected}${value === undefined ? '' : `, got ${quote(value)}`}`);
  }

  /** The finished configuration, frozen; throws SettingsError when anything was wrong. */
  finish<T extends object>(config: T): Readonly<T> {
    if (this.#mistakes.length > 0) throw new SettingsError(this.#mistakes);
    return Object.freeze(config);
  }
}

/** What a process prints for `--help`: every setting of its tables, by the table's title. */
export function settingsHelp(process: string, tables: Readonly<Record<string, SettingRows>>): string {
  const groups = Object.entries(tables).map(([title, rows]) => {
    const lines = Object.values(rows).map(
      ({ name, values, text }) => `  ${name}${values === '' ? '' : ` (${values})`}\n      ${text}\n`,
    );
    return `${title}\n${lines.join('')}`;
  });
  return [`Settings of the ${process}: environment variables, with the default first.\n`, ...groups].join(
    '\n',
  );
}
