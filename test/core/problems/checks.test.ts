import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { conditionReasons } from '../../../core/meta/condition-reasons.js';
import { conditionRemedy } from '../../../core/meta/condition-remedies.js';
import { remedyOfCheck, type Check } from '../../../core/problems/check.js';
import { checkIds, checks, runbookLink } from '../../../core/problems/checks.js';
import { checkOfCondition } from '../../../core/problems/problems.js';
import { repositoryRoot } from '../../support/repository-root.js';

const read = (path: string): string => readFileSync(join(repositoryRoot, path), 'utf8');
const rows = checkIds.map((id) => ({ id, ...(checks[id] as Check) }));
const shown = rows.flatMap(({ conditions = [] }) => conditions);

/** Conditions that only sum up others, or wait for a replica, and what an owner has chosen for a policy or a contract. */
const sums = [
  'Programmed/NotAccepted',
  'Ready/NotAccepted',
  'Ready/NotResolved',
  'Programmed/Deleting',
  'Ready/NotProgrammed',
  'Ready/NotServed',
  'Ready/NotFunded',
  'Ready/NoCode',
  'Ready/NoAccess',
  'Ready/SecretNotWritten',
  'Ready/SignerNotAuthorized',
  'Ready/ChainNotReady',
  'Ready/PriceNotUsable',
  'Ready/ClockSkew',
  'Ready/UsageStoreLost',
  'Ready/Paused',
  'Serving/NotReady',
  'Serving/DepositEmpty',
  'Serving/UsageLost',
  'Serving/LimitFull',
  'Serving/WebhookFailing',
];

describe('the table of checks', () => {
  test('has every reason about which something is to be done, once', () => {
    const withRemedy = Object.entries(conditionReasons).flatMap(([type, reasons]) =>
      Object.keys(reasons)
        .filter((reason) => conditionRemedy(`${type}/${reason}`) !== undefined)
        .map((reason) => `${type}/${reason}`),
    );
    expect([...shown, ...sums].toSorted()).toEqual(withRemedy.toSorted());
    expect(new Set(shown).size).toBe(shown.length);
  });

  test.each(rows)('$id says what to do', (row) => expect(remedyOfCheck(row)).toMatch(/^[A-Z`].+\.$/));

  test('calls nothing wrong that is as it should be', () => {
    for (const type of Object.keys(conditionReasons))
      for (const reason of ['Ready', 'Serving', 'Ok', 'Unknown', 'Pending', type])
        expect([type, reason, checkOfCondition(type, reason)]).toEqual([type, reason, undefined]);
  });

  const runbooks = read('docs/runbooks.md');
  const alerts = [...read('charts/paymaster-operator/files/alerts.yaml').matchAll(/^- alert: (\w+)$/gm)];

  test.each(rows)('$id has its row in the runbooks, and its alert exists with a section', ({ id, alert }) => {
    expect(runbookLink(id)).toBe(`docs/runbooks.md#${id}`);
    expect(runbooks).toContain(`<a id="${id}"></a>`);
    if (alert === undefined) return;
    expect(alerts.map(([, name]) => name)).toContain(alert);
    expect(runbooks).toContain(`\n### ${alert}\n`);
  });

  test('has no row that no test has made happen', () => {
    const files = [
      'system/doctor.component',
      'system/doctor-chains.component',
      'system/doctor-starts.component',
      'system/doctor-outages.component',
      'system/states.component',
      'system/states-policies.component',
      'kube/mode/doctor-pods.component',
      'kube/mode/export.component',
      'kube/master-keys.component',
      'kube/mode/doctor.component',
      'spec/manage-shadow.component',
      'system/token-loss-condition.component',
      'operator/usage-store-lost',
    ];
    const tests = files.map((file) => read(`test/${file}.test.ts`)).join('\n');
    const missing = checkIds.filter((id) => !tests.includes(`'${id}'`));
    expect(missing).toEqual([]);
  });

  test('knows every check of /readyz', () => {
    const sources = ['server/server.ts', 'server/serving-checks.ts'].map(read).join('\n');
    const names = [...sources.matchAll(/^ +name: '([a-z-]+)',\n +(?:\/\/.*\n +)*action:/gm)].map(
      ([, name]) => name,
    );
    expect(names.length).toBeGreaterThan(8);
    expect(new Set(rows.flatMap(({ readiness = [] }) => readiness))).toEqual(new Set(names));
  });

  test('names conditions in docs that are there', () => {
    const conditions = read('docs/conditions.md');
    for (const [, type] of runbooks.matchAll(/\[\w+\]\(conditions\.md#(\w+)\)/g))
      expect(conditions.toLowerCase()).toContain(`\n## ${type}\n`);
  });
});
