import { policyKinds } from '../core/policy/kinds.js';
import { remedyOfCheck, type Check } from '../core/problems/check.js';
import { checkIds, checks } from '../core/problems/checks.js';
import type { PolicyKind } from '../core/policy/kind.js';

// Tables of the documents that follow from rows.

export function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows];
  return `${lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`;
}

/** The page with a table in its place, between `<!-- name: … -->` and `<!-- end -->`. */
export function withTable(page: string, name: string, table: string): string {
  const begin = page.indexOf('\n', page.indexOf(`<!-- ${name}: `)) + 1;
  const end = page.indexOf('<!-- end -->', begin);
  if (begin === 0 || end < 0) throw new Error(`the page has no place for the table "${name}"`);
  return page.slice(0, begin) + table + page.slice(end);
}

/** Every kind of policies, and the modes in which it judges. */
export function policyTable(): string {
  const rows = Object.entries<PolicyKind>(policyKinds).map(([type, kind]) => {
    const { schema, decision, counts, modesOf, isPermission, record } = kind;
    const [first = 'SPONSORED', ...more] = decision?.modes ?? counts?.modes ?? [];
    const also = more.map((mode) => `, ${mode}${modesOf ? ' where `appliesTo` says so' : ''}`);
    const [what = ''] = schema.description.split(/,? for policyType/);
    return [
      `\`${type}\``,
      `${what}.`,
      first + also.join(''),
      isPermission ? 'no: it is a permission' : 'yes',
      record.body === undefined ? 'no' : 'yes',
    ];
  });
  return renderTable(['policyType', 'what it is', 'modes', 'Shadow', 'made by the 13 endpoints'], rows);
}

/** Every check, with an anchor of its id, and where to read on. */
export function checkTable(): string {
  const rows = checkIds.map((id) => {
    const { severity, what, conditions = [], readiness = [], alert }: Check = checks[id];
    const shown = [...new Set(conditions.map((each) => each.split('/', 1)[0] ?? each))];
    return [
      `<a id="${id}"></a>\`${id}\``,
      severity,
      what,
      remedyOfCheck(checks[id]),
      [
        ...shown.map((type) => `[${type}](conditions.md#${type.toLowerCase()})`),
        ...readiness.map((name) => `\`${name}\` of /readyz`),
        ...(alert === undefined ? [] : [`[${alert}](#${alert.toLowerCase()})`]),
      ].join(', ') || '–',
    ];
  });
  return renderTable(['check', 'severity', 'what is wrong', 'what to do', 'shown by, alert'], rows);
}
