import type { Command } from 'commander';
import { invalidInput } from '../../core/errors.js';
import { validateResource } from '../../core/resources/validate.js';
import { given } from '../../core/units/given.js';
import { newAuthToken } from '../../server/dashboard/auth-token.js';
import { show, withFormat, type Format, type Terminal } from '../terminal.js';

/** Stores and sends nothing. */
export function addToken(program: Command, terminal: Terminal): void {
  withFormat(program.command('token'))
    .description('Make a token of the dashboard API, and the entry with which an Organisation accepts it')
    .argument('[name]', 'what the token is for', 'dashboard')
    .option('--expires-at <time>', 'until when it is accepted, e.g. 2027-01-31T00:00:00Z')
    .action(
      (name: string, { expiresAt, output }: { readonly expiresAt?: string; readonly output: Format }) => {
        const { authToken, sha256 } = newAuthToken();
        const entry = { name, sha256, ...given({ expiresAt }) };
        const problems = validateResource('Organisation', {
          metadata: { name: 'any' },
          spec: { namespace: 'any', tokens: [entry] },
        });
        if (problems.length > 0) throw invalidInput(problems);
        show(terminal, output, { text: describe(authToken, entry), data: { authToken, entry } });
      },
    );
}

function describe(
  authToken: string,
  entry: { readonly name: string; readonly sha256: string; readonly expiresAt?: string },
): string {
  return `authToken (shown only here; keep it like a password):

  ${authToken}

Add to spec.tokens of the Organisation:

  - ${JSON.stringify(entry)}${ofPlatform(entry)}`;
}

/** Lines of that file have no end, and no name with a space or "#". */
function ofPlatform({ name, sha256, expiresAt }: Parameters<typeof describe>[1]): string {
  if (expiresAt !== undefined || !/^[^\s#]{1,64}$/.test(name)) return '';
  return `

For the people who run the platform it is a line of PAYMASTER_PLATFORM_TOKENS_FILE instead (docs/rest.md):

  ${sha256} ${name}`;
}
