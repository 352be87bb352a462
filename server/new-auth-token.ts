import { formatProblem } from '../core/errors.js';
import { validateResource } from '../core/resources/validate.js';
import { newAuthToken } from './dashboard/new-auth-token.js';

// Prints a new token of the dashboard API and the entry for the Organisation that lists it. Stores and sends nothing.

const [name = 'dashboard', expiresAt] = process.argv.slice(2);
const { authToken, sha256 } = newAuthToken();
const entry = { name, sha256, ...(expiresAt === undefined ? {} : { expiresAt }) };
const problems = validateResource('Organisation', {
  metadata: { name: 'any' },
  spec: { namespace: 'any', tokens: [entry] },
});
if (problems.length > 0) {
  const usage =
    'usage: new-auth-token.js [NAME] [EXPIRES_AT], e.g. new-auth-token.js ci 2027-01-31T00:00:00Z';
  process.stderr.write(`${[...problems.map(formatProblem), usage].join('\n')}\n`);
  process.exit(1);
}
process.stdout.write(`authToken (shown only here; keep it like a password):

  ${authToken}

Add to spec.tokens of the Organisation:

  - ${JSON.stringify(entry)}
`);
