import { Command } from 'ioredis';

/** Calls a script: `source` is its text for `eval`, its hash for `evalsha`. Replies are texts and numbers. */
export function scriptCommand(
  name: 'evalsha' | 'eval',
  source: string,
  keys: readonly string[],
  args: readonly (string | number)[],
): Command {
  return new Command(name, [source, keys.length, ...keys, ...args], { replyEncoding: 'utf8' });
}
