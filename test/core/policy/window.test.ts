import { describe, expect, test } from '@jest/globals';
import { compilePaymaster } from '../../../core/config/compile.js';
import { validateResource } from '../../../core/resources/validate.js';
import { aPolicy } from '../../build/resources.js';
import { someSources } from '../../build/sources.js';

const aWindowPolicy = (window: object) =>
  aPolicy({ name: 'Launch', policyType: 'WINDOW', window: window as never });
const compiled = (window: object) => compilePaymaster(someSources({ policies: [aWindowPolicy(window)] }));

describe('a WINDOW policy', () => {
  test('is compiled to times', () => {
    const { config, policies } = compiled({
      from: '2026-12-01T01:00:00+01:00',
      until: '2027-01-01T00:00:00.5Z',
      appliesTo: ['SPONSORED', 'ERC20'],
    });
    expect(policies.map(({ accepted }) => accepted.reason)).toEqual(['Accepted']);
    expect(config.windows).toEqual([
      {
        policyId: policies[0]?.policyId,
        name: 'Launch',
        from: Date.UTC(2026, 11, 1),
        until: Date.UTC(2027, 0, 1) + 500,
        appliesTo: ['SPONSORED', 'ERC20'],
      },
    ]);
  });

  test.each([
    {
      name: 'without an end that is later',
      window: { from: '2026-12-01T00:00:00Z', until: '2026-12-01T00:00:00Z' },
    },
    { name: 'with a day that does not exist', window: { until: '2026-13-01T00:00:00Z' } },
    { name: 'without a time', window: {} },
  ])('$name is not accepted, and lets nothing pass', ({ window }) => {
    const { config, policies } = compiled(window);
    expect(policies.map(({ accepted }) => accepted.reason)).toEqual(['Invalid']);
    expect(config).toMatchObject({ invalidPolicies: ['Launch'] });
    expect(config.invalidInTokens).toBeUndefined();
    expect(compiled({ ...window, appliesTo: ['ERC20'] }).config.invalidInTokens).toEqual(['Launch']);
  });

  test('names the modes in which it judges', () => {
    const problems = (appliesTo: readonly string[]) =>
      validateResource('PaymasterPolicy', aWindowPolicy({ until: '2027-01-01T00:00:00Z', appliesTo })).length;
    expect([['SPONSORED', 'ERC20'], ['ERC20'], [], ['USER']].map(problems)).toEqual([0, 0, 1, 1]);
  });

  test('that is paused is not served', () => {
    const policy = aPolicy({
      policyType: 'WINDOW',
      window: { until: '2020-01-01T00:00:00Z' },
      active: false,
    });
    const { config } = compilePaymaster(someSources({ policies: [policy] }));
    expect(config).toMatchObject({ invalidPolicies: [] });
    expect(config.windows).toBeUndefined();
  });
});
