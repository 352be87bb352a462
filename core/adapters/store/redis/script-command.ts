import { Command } from 'ioredis';

/** A call of a script; it has no timer of its own, see {@link Deadlines}. */
export class ScriptCommand extends Command {
  /** `source` is the script for `eval`, its hash for `evalsha`. Replies are texts and numbers. */
  constructor(
    name: 'evalsha' | 'eval',
    source: string,
    keys: readonly string[],
    args: readonly (string | number)[],
  ) {
    super(name, [source, keys.length, ...keys, ...args], { replyEncoding: 'utf8' });
  }

  override setTimeout(): void {}
}
