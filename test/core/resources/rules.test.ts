import { describe, expect, test } from '@jest/globals';
import { formatProblem } from '../../../core/errors.js';
import { definitions } from '../../../core/resources/schemas.js';
import { validateResource } from '../../../core/resources/validate.js';
import type { CelRule, StructuralSchema } from '../../../core/schema/structural.js';
import { aPaymaster, aPolicy } from '../../build/resources.js';
import { campaignNames, ruleCases, type Write } from './rule-cases.js';

const problemsOf = ({ now, old }: Write) => validateResource(now.kind, now, old);

describe('each rule of each kind', () => {
  test.each(
    ruleCases.map((entry) => ({
      ...entry,
      name: `${entry.fails.now.kind} ${entry.field} must be ${entry.message}`,
    })),
  )('$name', ({ field, message, passes, fails }) => {
    expect(problemsOf(passes).map(formatProblem)).toEqual([]);
    expect(problemsOf(fails).map((problem) => [problem.field, problem.expected])).toEqual([[field, message]]);
  });

  test('stands in the table above, in both directions', () => {
    const untried = Object.values(definitions)
      .flatMap(({ kind, spec }) => rulesOf(spec, 'spec').map((rule) => ({ kind, ...rule })))
      // HYBRID is the only type there is, so no value can break its rule yet.
      .filter(({ field }) => field !== 'spec.type')
      .filter(
        ({ kind, field, message }) =>
          !ruleCases.some(
            (entry) =>
              entry.fails.now.kind === kind &&
              entry.field.replaceAll(/\[\d+\]/g, '[]') === field &&
              `must be ${entry.message}` === message,
          ),
      );
    expect(untried).toEqual([]);
  });
});

test('a campaign has a name that its pattern takes, from begin to end', () => {
  const problems = (name: string) => validateResource('PaymasterPolicy', campaignNames.of(name));
  expect(campaignNames.good.flatMap(problems)).toEqual([]);
  for (const name of campaignNames.bad)
    expect(problems(name)).toEqual([expect.objectContaining({ field: 'spec.campaign' })]);
});

describe('rules about changes', () => {
  test('are skipped when an object is created', () => {
    for (const { fails } of ruleCases)
      if (fails.old) expect(problemsOf({ ...fails, now: fails.old } as Write)).toEqual([]);
  });

  test('are skipped where the field was not there before', () => {
    const before = aPaymaster();
    expect(validateResource('Paymaster', aPaymaster({ keyGeneration: 1 }), before)).toEqual([]);
  });
});

test('what was wrong before and stays as it was does not block another change', () => {
  const wrong = { ...aPolicy(), spec: { ...aPolicy().spec, webhook: { url: 'https://rules.example.com' } } };
  expect(validateResource('PaymasterPolicy', wrong).map(({ field }) => field)).toEqual(['spec.webhook']);
  const renamed = { ...wrong, spec: { ...wrong.spec, name: 'Other' } };
  expect(validateResource('PaymasterPolicy', renamed, wrong)).toEqual([]);
  const worse = { ...wrong, spec: { ...wrong.spec, walletDeployment: {} } };
  expect(validateResource('PaymasterPolicy', worse, wrong).map(({ field }) => field)).toEqual([
    'spec.walletDeployment',
  ]);
});

/** Every rule of a schema with the field at which it speaks; items of lists as `[]`. */
function rulesOf(schema: StructuralSchema, field: string): { field: string; message: CelRule['message'] }[] {
  return [
    ...(schema['x-kubernetes-validations'] ?? []).map((rule) => ({
      field: `${field}${rule.fieldPath ?? ''}`,
      message: rule.message,
    })),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, child]) => rulesOf(child, `${field}.${name}`)),
    ...(schema.items ? rulesOf(schema.items, `${field}[]`) : []),
  ];
}
