import { quote } from '../../errors.js';
import type { WebhookOutcome } from './webhook-caller.js';

/**
 * Reads what a host answered. Only HTTP 200 with a JSON object whose `arePoliciesVerified` is a boolean is an answer;
 * `"true"`, 1 or a 204 is a failure, because guessing here would spend the sponsor's money. Too large a request is a "no".
 */
export function readAnswer(status: number, body: string): WebhookOutcome {
  if (status >= 300 && status < 400) {
    return failed(`answered HTTP ${status}; redirects are not followed`);
  }
  if (tooLarge.has(status)) return { verdict: 'refused', detail: `answered HTTP ${status}, too large` };
  if (status !== 200) return failed(`answered HTTP ${status}, expected 200`);

  const answer = parseJson(body);
  if (answer === undefined) return failed('answered a body that is not JSON');
  const isObject = typeof answer === 'object' && answer !== null && !Array.isArray(answer);
  if (!isObject || !Object.hasOwn(answer, 'arePoliciesVerified') || !('arePoliciesVerified' in answer)) {
    return failed('answered JSON without arePoliciesVerified');
  }
  const { arePoliciesVerified } = answer;
  if (arePoliciesVerified === true) return { verdict: 'verified' };
  if (arePoliciesVerified === false) return { verdict: 'refused' };
  return failed(`arePoliciesVerified must be true or false, got ${quote(arePoliciesVerified)}`);
}

// How large a request is decides whoever sends the operation: one padded until the host takes it no more would else
// pass a policy with `onError: Allow` unasked.
const tooLarge: ReadonlySet<number> = new Set([413, 414, 431]);

export function failed(detail: string): WebhookOutcome {
  return { verdict: 'failed', detail };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
