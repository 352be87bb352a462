import { quote } from '../../errors.js';
import { isObject, parseJson } from '../../schema/json-value.js';
import { cleanReason } from './host-reason.js';
import type { HostOutcome } from '../policy-hosts.js';

/**
 * Reads the answer of a host. Only HTTP 200 with a JSON object whose `arePoliciesVerified` is a boolean is an answer;
 * `"true"`, 1 or a 204 is a failure, because guessing here would spend the sponsor's money. A status that blames the
 * request is a "no".
 */
export function readAnswer(status: number, body: string): HostOutcome {
  if (status >= 300 && status < 400) {
    return failed(`answered HTTP ${status}; redirects are not followed`);
  }
  if (isRequestAtFault(status)) return { verdict: 'refused', detail: `answered HTTP ${status}` };
  if (status !== 200) return failed(`answered HTTP ${status}, expected 200`);

  const answer = parseJson(body);
  if (answer === undefined) return failed('answered a body that is not JSON');
  if (!isObject(answer) || !Object.hasOwn(answer, 'arePoliciesVerified')) {
    const other = isObject(answer) ? namesOfOthers.find((name) => Object.hasOwn(answer, name)) : undefined;
    const instead = other === undefined ? '' : `, with "${other}" instead`;
    return failed(
      `answered JSON without arePoliciesVerified${instead}; expected {"arePoliciesVerified": true} or false`,
    );
  }
  const { arePoliciesVerified } = answer;
  if (arePoliciesVerified === true) return { verdict: 'verified' };
  if (arePoliciesVerified === false) {
    const reason = cleanReason(answer['reason']);
    return { verdict: 'refused', ...(reason === undefined ? {} : { reason }) };
  }
  return failed(`arePoliciesVerified must be true or false, got ${quote(arePoliciesVerified)}`);
}

/** What hosts that were written for other services answer. */
const namesOfOthers = ['approved', 'sponsor', 'proceed'];

// A 4xx is a "no", because the caller chooses the content and size of a request: data that a host finds malformed, or
// padding until the request is too large, would otherwise get past a policy with `onError: Allow`. These exceptions say
// that the host is missing or overloaded.
const hostAtFault: ReadonlySet<number> = new Set([404, 408, 410, 421, 425, 429]);

function isRequestAtFault(status: number): boolean {
  return status >= 400 && status < 500 && !hostAtFault.has(status);
}

export function failed(detail: string): HostOutcome {
  return { verdict: 'failed', detail };
}

export function blocked(detail: string): HostOutcome {
  return { verdict: 'blocked', detail };
}
