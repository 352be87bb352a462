import { describe, expect, test } from '@jest/globals';
import type { Condition } from '../../../core/meta/meta.js';
import {
  createLimited,
  inOrder,
  problemsAmong,
  listProblems,
  readinessProblem,
  withoutOrganisation,
  shadowProblems,
  type Around,
} from '../../../core/problems/problems.js';
import type { AnyResource } from '../../../core/resources/kinds.js';
import type { EpochMs } from '../../../core/units/time.js';
import { aChain, anOrganisation, aPaymaster, aPolicy } from '../../build/resources.js';

const now = Date.parse('2026-01-01T13:00:00Z') as EpochMs;
const secret = 'https://node.example/key-1234 of team-b does not answer';

function condition(type: string, reason: string, status: Condition['status'] = 'False'): Condition {
  const lastTransitionTime = '2026-01-01T12:30:00.000Z';
  return { type, reason, status, message: secret, observedGeneration: 1, lastTransitionTime };
}
const accepted = condition('Accepted', 'Accepted', 'True');
const chain = {
  ...aChain(),
  status: {
    conditions: [accepted, condition('Reachable', 'Unreachable'), condition('MasterKeys', 'Refused')],
    profiles: [
      { version: '1.1.0', conditions: [condition('Staked', 'Unstaked')] },
      { version: '2.0.0', conditions: [condition('Deposited', 'Empty')] },
    ],
  },
};
const around: Around = { now, limited: createLimited() };
const found = (objects: readonly AnyResource[]) => problemsAmong(objects, now).map(({ check }) => check);

describe('what a status says', () => {
  test('is a problem of its check, for the platform with the message, and with a remedy', () => {
    expect(listProblems(chain, around)).toMatchObject([
      {
        check: 'chain-away',
        severity: 'critical',
        displayName: 'dev',
        message: secret,
        reason: 'Unreachable',
      },
      { check: 'master-keys-refused' },
      {
        check: 'stake-missing',
        displayName: 'dev, version 1.1.0',
        runbook: 'docs/runbooks.md#stake-missing',
      },
      { check: 'deposit-empty', displayName: 'dev, version 2.0.0' },
    ]);
  });

  test('is shown to an organisation for the versions that it uses, without a message about the platform', () => {
    const uses = new Map([[31337, new Set(['1.1.0'])]]);
    const seen = listProblems(chain, { ...around, uses });
    expect(seen.map(({ check }) => check)).toEqual(['chain-away', 'stake-missing']);
    expect(seen[0]).toMatchObject({
      message: 'No RPC URL answers.',
      remedy: expect.stringMatching(/^For the platform: /),
    });
    expect(JSON.stringify(seen)).not.toMatch(/node\.example|team-b/);
  });
});

test('an object that the operator has not looked at says since when it waits', () => {
  const late = aPolicy();
  const young = aPolicy({ meta: { creationTimestamp: '2026-01-01T12:59:30.000Z' } });
  const changed = aPolicy({ meta: { generation: 2 }, status: { conditions: [accepted] } });
  expect([late, young, changed].map((each) => found([each])[0])).toEqual([
    'operator-away',
    'not-seen-yet',
    'not-seen-yet',
  ]);
});

describe('a paymaster without a limit', () => {
  const status = { conditions: [accepted] };
  const shop = aPaymaster({ status });
  const limit = (spec: Parameters<typeof aPolicy>[0] = {}) => aPolicy({ status, ...spec });
  const campaign = 'spring';
  const senders = { policyType: 'SENDERS' } as const;

  test.each([
    { name: 'an active limit', policies: [limit()], is: false },
    { name: 'none', policies: [], is: true },
    { name: 'a paused one', policies: [limit({ active: false })], is: true },
    { name: 'one in Shadow', policies: [limit({ enforcement: 'Shadow' })], is: true },
    { name: 'a policy of a kind that counts nothing', policies: [limit(senders)], is: true },
    {
      name: 'one that bounds each operation alone',
      policies: [limit({ spendingLimit: { scope: 'PAYMASTER', thresholdType: 'USD', perOperation: '1' } })],
      is: true,
    },
    { name: 'one of another paymaster', policies: [limit({ paymasterRef: { name: 'other' } })], is: true },
    { name: 'one of its only campaign', policies: [limit({ campaign })], is: false },
    {
      name: 'one of two campaigns',
      policies: [limit({ campaign }), limit({ campaign: 'autumn', ...senders })],
      is: true,
    },
  ])('$name', ({ policies, is }) => {
    expect(found([shop, ...policies]).includes('no-limit')).toBe(is);
  });

  test('counts where requests without a campaign pass and no limit is for them', () => {
    const open = aPaymaster({ status, withoutCampaign: 'Allow' });
    expect(found([open, limit({ campaign })])).toContain('no-limit');
  });

  test.each([
    { name: 'a budget of its organisation on its chain', budget: {}, is: false },
    { name: 'one in Shadow', budget: { enforcement: 'Shadow' as const }, is: true },
    { name: 'one of another chain', budget: { chain: 1 }, is: true },
  ])('$name', ({ budget, is }) => {
    const budgets = [{ name: 'month', chain: 31337, usd: '500', never: {}, ...budget }];
    expect(found([shop, anOrganisation({ budgets })]).includes('no-limit')).toBe(is);
  });

  test('is not a problem where nothing is sponsored', () => {
    expect(found([aPaymaster({ status, suspended: true })])).toEqual([]);
    const denied = condition('OpenSponsorship', 'Denied');
    expect(found([aPaymaster({ status: { conditions: [denied] } })])).toEqual([]);
  });
});

test('an installation without an Organisation says so', () => {
  expect(withoutOrganisation([chain])).toMatchObject([{ check: 'no-organisation' }]);
  expect(withoutOrganisation([anOrganisation()])).toEqual([]);
});

test('a failing check of a process is a problem with its remedy, also one that is not known', () => {
  const failed = (name: string) => readinessProblem('rpc-0', { name, reason: 'not yet', action: 'look' });
  expect(failed('usage-store')).toMatchObject({
    check: 'database-away',
    message: 'usage-store: not yet',
    remedy: 'look',
  });
  expect(failed('configs-confirmed').check).toBe('stale-replica');
  expect(failed('newer').check).toBe('replica-not-ready');
});

test('Shadow would refuse much from one operation of ten on, of at least ten', () => {
  const check = (refused: number, sponsored: number) =>
    shadowProblems(
      { name: 'shop', displayName: 'Shop' },
      // Of two days.
      [
        { group: 'p', sponsored: 1 },
        { group: 'p', sponsored: refused - 1 },
      ],
      sponsored,
      new Map([['p', 'Daily']]),
    );
  expect(check(9, 9)).toEqual([]);
  expect(check(10, 101)).toEqual([]);
  expect(check(10, 100)).toMatchObject([
    {
      check: 'shadow-refuses-much',
      message: expect.stringMatching(/^"Daily" would have refused 10 of the 100 /),
    },
  ]);
});

test('the gravest comes first, then the oldest', () => {
  const problems = problemsAmong([chain, aPaymaster({ status: { conditions: [accepted] } })], now);
  expect(inOrder(problems).map(({ severity }) => severity)).toEqual([
    'critical',
    'critical',
    'critical',
    'warning',
    'warning',
  ]);
});
