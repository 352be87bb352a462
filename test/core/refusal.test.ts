import { describe, expect, test } from '@jest/globals';
import { estimationFailed } from '../../adapters/estimator/simulate-handle-op.js';
import { decideCalls } from '../../core/policy/rules/allow-list/decide.js';
import { limitReached } from '../../core/policy/share-texts.js';
import { refuse, refusalRemedy, type Refusal, type Verdict } from '../../core/refusal.js';
import { refusedError } from '../../core/refused-error.js';
import type { EpochMs } from '../../core/units/time.js';
import { decodeCalls } from '../build/decoded.js';

describe('a refusal that is answered by an error', () => {
  const call = refuse('METHOD_NOT_WHITELISTED', 'call 0 to 0x12 with selector 0xdeadbeef');
  const limit = refuse('LIMIT_REACHED', '"Daily": 3 of 3 operations used');

  test('names the call that was refused: the caller sent it', () => {
    const { code, message, details } = refusedError(call, { isPayer: false });
    expect(code).toBe('SPONSORSHIP_REFUSED');
    expect(message).toBe('A called method is not whitelisted. (call 0 to 0x12 with selector 0xdeadbeef)');
    expect(details.reason).toBe('METHOD_NOT_WHITELISTED');
  });

  test('keeps the figures of the owner for the log, unless the wallet pays', () => {
    const sponsored = refusedError(limit, { isPayer: false });
    expect(sponsored.message).not.toContain('Daily');
    expect(sponsored.details.detail).toContain('Daily');
    expect(refusedError(limit, { isPayer: true }).message).toContain('Daily');
  });

  test('does not name the host of a webhook that fails, also where the wallet pays', () => {
    const failed = refuse('WEBHOOK_FAILED', 'policy "Rules": hooks.inner.example ECONNREFUSED');
    const { message, details } = refusedError(failed, { isPayer: true });
    expect(message).not.toContain('hooks.inner.example');
    expect(details.detail).toContain('hooks.inner.example');
  });

  test('hands on what a webhook host says', () => {
    const refused: Refusal = {
      ...refuse('WEBHOOK_REFUSED', 'policy "Rules"'),
      webhookReason: 'not a member',
    };
    expect(refusedError(refused, { isPayer: false })).toMatchObject({
      message: 'A webhook answered that its conditions are not met.',
      details: { webhookReason: 'not a member' },
    });
  });
});

describe('the remedy fits the case:', () => {
  test('an operation that calls nothing is not told to register a contract', () => {
    const allowList = { kind: 'registered', contracts: new Map() } as const;
    const verdict = decideCalls(allowList, decodeCalls('0x'), { initCode: '0x' });
    expect(refusalOf(verdict).reason).toBe('CONTRACT_NOT_REGISTERED');
    expect(refusalRemedy(refusalOf(verdict))).toContain('Put a call of a registered contract into callData');
  });

  test.each([
    { cost: 5, wants: 'Wait until it resets' },
    { cost: 6, wants: 'this operation alone needs more than the whole limit' },
  ])('a need of $cost against a threshold of 5: "$wants"', ({ cost, wants }) => {
    const window = { from: 0 as EpochMs, until: 1 as EpochMs };
    const share = { unit: 'NATIVE_ASSET', threshold: 5, cost, window } as const;
    expect(refusalRemedy(limitReached(share, { name: 'Daily', subject: '' }, 1))).toContain(wants);
  });

  test('an account that is not deployed needs initCode or a factory', () => {
    const { remedy } = estimationFailed('AA20 account not deployed').details;
    expect(remedy).toContain('add initCode (EntryPoint 0.6) or factory and factoryData');
    expect(estimationFailed('AA33 reverted').details.remedy).toContain('send it tokens, and approve');
    expect(estimationFailed('AA23 reverted').details.remedy).toBeUndefined();
  });
});

function refusalOf(verdict: Verdict): Refusal {
  if (verdict.pass) throw new Error('nothing is refused');
  return verdict;
}
