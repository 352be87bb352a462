import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { decideWebhooks } from '../../../core/policy/webhook/kind.js';
import { cleanReason, maxReasonLength } from '../../../core/policy/webhook/host-reason.js';
import { readAnswer } from '../../../core/policy/webhook/webhook-answer.js';

test.each([
  { given: 'not a member', want: 'not a member' },
  { given: ' two\nlines\tand\u0000more ', want: 'two lines and more' },
  { given: '\u001b[2J\u202eevil', want: '[2J evil' },
  { given: '', want: undefined },
  { given: '\u0000\u200b', want: undefined },
  { given: 7, want: undefined },
  { given: { text: 'no' }, want: undefined },
])('the reason $given is shown as $want', ({ given, want }) => {
  expect(cleanReason(given)).toBe(want);
});

test('whatever a host answers, a reason is one line of bounded, well-formed, printable text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 2000 }), (text) => {
      const reason = cleanReason(text);
      if (reason === undefined) return;
      expect(Array.from(reason).length).toBeLessThanOrEqual(maxReasonLength);
      expect(reason).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
      expect(reason.trim()).toBe(reason);
    }),
  );
});

test('a "no" with a reason reaches the verdict; a "yes" has none', () => {
  const webhook = { policyId: 'p', name: 'club', url: 'https://x', method: 'POST', onError: 'Deny' } as const;
  const outcome = readAnswer(200, '{"arePoliciesVerified":false,"reason":"not a member"}');
  expect(outcome).toEqual({ verdict: 'refused', reason: 'not a member' });
  expect(decideWebhooks([webhook], [outcome])).toEqual({
    pass: false,
    reason: 'WEBHOOK_REFUSED',
    detail: 'policy "club": arePoliciesVerified is false (not a member)',
    policyId: 'p',
    webhookReason: 'not a member',
  });
  expect(readAnswer(200, '{"arePoliciesVerified":true,"reason":"x"}')).toEqual({ verdict: 'verified' });
});
