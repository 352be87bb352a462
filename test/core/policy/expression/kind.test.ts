import { describe, expect, test } from '@jest/globals';
import { compilePaymaster } from '../../../../core/config/compile.js';
import { glanceAt, serveParts } from '../../../../core/policy/derived.js';
import type { PaymasterPolicy } from '../../../../core/resources/paymaster-policy.js';
import { aPolicy, aSmartContract } from '../../../build/resources.js';
import { someNow, someSources } from '../../../build/sources.js';
import { token } from './case.js';

const contract = aSmartContract({ abi: token.formatJson(), whitelistedMethods: ['approve'] });
const aRule = (text: string, over: Partial<PaymasterPolicy['spec']> = {}) =>
  aPolicy({ name: 'Rule', policyType: 'EXPRESSION', expression: { text }, ...over });
const compiled = (policy: PaymasterPolicy, contracts = [contract]) =>
  compilePaymaster(someSources({ policies: [policy], contracts }));
const transfers = 'calls.all(c, c.method == "transfer(address,uint256)" && c.args.amount < 5)';

describe('an EXPRESSION policy', () => {
  test('is compiled with the declarations of the methods that it names, and no others', () => {
    const { config, policies } = compiled(aRule(transfers));
    expect(policies.map(({ accepted }) => accepted.reason)).toEqual(['Accepted']);
    expect(config.expressions).toEqual([
      {
        policyId: policies[0]?.policyId,
        name: 'Rule',
        text: transfers,
        methods: ['transfer(address to,uint256 amount)'],
      },
    ]);
  });

  test('stays valid while the contract that declares its method is paused', () => {
    const paused = aSmartContract({ ...contract.spec, active: false });
    expect(compiled(aRule(transfers), [paused]).config.expressions).toHaveLength(1);
  });

  test.each([
    { name: 'a misspelt member', text: 'calls.all(c, c.vale == 0)', message: '1:16: a call has no "vale"' },
    {
      name: 'a method of no contract',
      text: 'calls[0].method == "burn()"',
      message: 'no registered contract',
    },
    { name: 'a text that is not a condition', text: 'size(calls)', message: '1:1: expected a condition' },
  ])('with $name is not accepted, and lets nothing pass', ({ text, message }) => {
    const { config, policies } = compiled(aRule(text));
    expect(policies[0]?.accepted).toMatchObject({ reason: 'Invalid' });
    expect(policies[0]?.accepted.message).toMatch(/^spec\.expression\.text 1:\d+: /);
    expect(policies[0]?.accepted.message).toContain(message);
    expect(config).toMatchObject({ invalidPolicies: ['Rule'] });
    expect(config.expressions ?? []).toEqual([]);
  });

  test('about dollars needs a price of the chain', () => {
    const { policies } = compiled(aRule('cost.usd < amount("1", 6)'));
    expect(policies[0]?.accepted).toMatchObject({ reason: 'NoNativePrice' });
  });

  test('is shown with its text outside of requests', () => {
    const { config } = compiled(aRule(transfers));
    expect(glanceAt(serveParts(config), { now: someNow })).toMatchObject([
      { policyType: 'EXPRESSION', name: 'Rule', says: transfers },
    ]);
  });

  test('of which there are more than five on one paymaster: the later ones are not accepted', () => {
    const policies = Array.from({ length: 6 }, (_, index) =>
      aRule('chain == 1', { name: `Rule ${index}`, meta: { name: `rule-${index}` } } as never),
    );
    const { policies: all } = compilePaymaster(someSources({ policies }));
    expect(all.map(({ accepted }) => accepted.reason).toSorted()).toEqual([
      ...Array.from({ length: 5 }, () => 'Accepted'),
      'TooMany',
    ]);
  });
});
