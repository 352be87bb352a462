import { runCommand } from '../../cli/program.js';

/** What a command line ends with, as `bin/paymaster` would in another process; `secret` is what somebody types without echo. */
export async function paymaster(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  secret = '',
) {
  let [out, error] = ['', ''];
  const status = await runCommand(args, {
    env,
    out: (text) => (out += text),
    error: (text) => (error += text),
    readSecret: () => Promise.resolve(secret),
  });
  return { out, error, status };
}
