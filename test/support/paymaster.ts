import { runCommand } from '../../cli/program.js';
import type { Terminal } from '../../cli/terminal.js';

/** What a command line ends with, as `bin/paymaster` would in another process; `secret` is what somebody types without echo. */
export async function paymaster(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  secret = '',
  more: Pick<Terminal, 'stopped'> = {},
) {
  let [out, error] = ['', ''];
  const status = await runCommand(args, {
    env,
    ...more,
    out: (text) => (out += text),
    error: (text) => (error += text),
    readSecret: () => Promise.resolve(secret),
  });
  return { out, error, status };
}
