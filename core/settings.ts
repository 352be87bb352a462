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

/** One setting: an environment variable, what it is for, how `--help` describes its values, and how it is read. */
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

/** Required without a fallback. */
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

/** Names with our prefix that a shell may hold for the command line, for tests, or for signers of the standalone command. */
const ofOthers = /^PAYMASTER_(TEST_|SIGNER_KEY_|(URL|TOKEN_FILE|RPC_URL)$)/;

/**
 * Reads tables of settings from environment variables and collects every mistake, so that one start reports all of them. A
 * variable with an empty value counts as not set, because templates render an unset value like that.
 */
export class Settings {
  readonly #values: Readonly<Record<string, string | undefined>>;
  readonly #mistakes: string[] = [];
  readonly #names = new Set<string>();

  constructor(values: Readonly<Record<string, string | undefined>>) {
    this.#values = values;
  }

  read<R extends SettingRows>(rows: R) {
    this.#expect(rows);
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

  /**
   * Like `finish`, and no variable with our prefix may be left that neither a table that was read nor `unread` has: a limit with a
   * misspelt name limits nothing, and nobody notices.
   */
  finishStrictly<T extends object>(config: T, unread: SettingRows = {}): Readonly<T> {
    this.#expect(unread);
    for (const [name, value = ''] of Object.entries(this.#values)) {
      const isOurs = name.startsWith('PAYMASTER_') && value !== '' && !ofOthers.test(name);
      if (!isOurs || this.#names.has(name)) continue;
      const [nearest] = [...this.#names].toSorted((a, b) => editDistance(name, a) - editDistance(name, b));
      this.#mistakes.push(`${name} is not a setting of this process; the nearest is ${nearest}`);
    }
    return this.finish(config);
  }

  #expect(rows: SettingRows): void {
    for (const { name } of Object.values(rows)) this.#names.add(name);
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

/** How many characters must be inserted, deleted or replaced to make one text of the other. */
function editDistance(from: string, to: string): number {
  const row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i += 1) {
    let diagonal = row[0]!;
    row[0] = i;
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = diagonal + (from[i - 1] === to[j - 1] ? 0 : 1);
      diagonal = row[j]!;
      row[j] = Math.min(replaced, diagonal + 1, row[j - 1]! + 1);
    }
  }
  return row[to.length]!;
}
