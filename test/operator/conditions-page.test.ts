import { expect, test } from '@jest/globals';
import { renderConditions, troubles } from '../../operator/conditions-page.js';
import { isConditionsPageStale } from '../../operator/generate.js';
import { repositoryRoot } from '../support/repository-root.js';

test('docs/conditions.md matches the table', async () => {
  expect(await isConditionsPageStale(repositoryRoot)).toBe(false);
});

test('every reason that needs an action says what to do', () => {
  const rows = renderConditions().split('\n');
  const section = (type: string) => rows.slice(rows.indexOf(`## ${type}`));
  const silent = troubles().filter((trouble) => {
    const [type = '', reason = ''] = trouble.split('/');
    const row = section(type).find((line) => line.includes(`| \`${reason}\` |`));
    return row === undefined || row.endsWith('| – |');
  });
  expect(silent).toEqual([]);
});
