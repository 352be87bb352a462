import { expect, test } from '@jest/globals';
import { conditionReasons, warnsWhenTrue, type ReasonText } from '../../core/meta/condition-reasons.js';
import { renderConditions } from '../../operator/conditions-page.js';
import { stalePages } from '../../operator/generate.js';
import { repositoryRoot } from '../support/repository-root.js';

test('the pages of conditions and errors match their tables', async () => {
  expect(await stalePages(repositoryRoot)).toEqual([]);
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

/** Reasons that need somebody to act, as `Type/Reason`. */
function troubles(): readonly string[] {
  return Object.entries(conditionReasons).flatMap(([type, reasons]) =>
    Object.entries(reasons as Readonly<Record<string, ReasonText>>)
      .filter(([, { status }]) => status === (warnsWhenTrue.has(type) ? 'True' : 'False'))
      .map(([reason]) => `${type}/${reason}`),
  );
}
