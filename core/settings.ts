import { trimEnd } from './units/trim-end.js';
import { quote } from './errors.js';

/** All wrong settings of a process: one sentence each, for the person who set them. */
export class SettingsError extends Error {
  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'));
    this.name = 'SettingsError';
  }
}

/**
 * Reads typed values from environment variables and collects every mistake, so that one start reports all of them. A
 * variable with an empty value counts as not set, because templates render an unset value like that.
 */
export class Settings {
  readonly #values: Readonly<Record<string, string | undefined>>;
  readonly #mistakes: string[] = [];

  constructor(values: Readonly<Record<string, string | undefined>>) {
    this.#values = values;
  }

  optional(name: string): string | undefined {
    return this.#values[name] || undefined;
  }

  /** Required when there is no fallback; `what` describes its purpose. */
  text(name: string, what: string, fallback?: string): string {
    const value = this.optional(name) ?? fallback;
    if (value === undefined) this.mistake(name, `set: ${what}`);
    return value ?? '';
  }

  integer(name: string, bounds: { readonly min: number; readonly max: number }, fallback: number): number {
    const text = this.optional(name);
    if (text === undefined) return fallback;
    const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= bounds.min && value <= bounds.max))
      this.mistake(name, `a whole number from ${bounds.min} to ${bounds.max}`, text);
    return value;
  }

  oneOf<T extends string>(name: string, choices: readonly T[], fallback: T): T {
    const text = this.optional(name);
    const choice = choices.find((candidate) => candidate === text);
    if (text !== undefined && choice === undefined) this.mistake(name, `one of ${choices.join(', ')}`, text);
    return choice ?? fallback;
  }

  flag(name: string): boolean {
    return this.oneOf(name, ['true', 'false'], 'false') === 'true';
  }

  /** An http(s) URL, without a slash at its end. An error does not quote the value: it may contain a key. */
  httpUrl(name: string, what: string): string {
    const text = this.text(name, what);
    const isRight = URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
    if (text !== '' && !isRight) this.mistake(name, 'an http or https URL');
    return trimEnd(text, '/');
  }

  /** A setting that has no effect any longer; `instead` says what to do. Giving it is a mistake. */
  removed(name: string, instead: string): void {
    if (this.optional(name) !== undefined) this.#mistakes.push(`${name} was removed: ${instead}`);
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
