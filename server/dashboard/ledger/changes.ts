import type { Change, ChangeQuery } from '../../../core/ledger/change.js';
import { kinds } from '../../../core/resources/kinds.js';
import { arrayOf, record } from '../../../core/schema/json-schema.js';
import { given as withValues } from '../../../core/units/given.js';
import { formatInstant } from '../../../core/units/time.js';
import type { Table } from '../call.js';
import { endpoint } from '../endpoint.js';
import { instant, integer, name, oneOf, text } from '../parameters.js';
import { formatCursor, parseCursor } from './cursor.js';
import type { Questions } from './fair-ledger.js';
import { rangeOf } from './range.js';
import { ledgerOff, requireLedger } from './require-ledger.js';
import * as schemas from './schemas.js';

const pageSize = 100;
const maxPageSize = 500;
const maxDays = 4000;

const value = {
  ...schemas.textOrNull,
  description: 'As JSON, without secrets; a long one is cut. Null: the field was or is not there.',
};
const members = {
  id: schemas.uuid,
  at: schemas.time,
  action: { enum: ['created', 'changed', 'deleted'] },
  kind: { enum: kinds },
  namespace: schemas.text,
  name: schemas.text,
  uid: schemas.text,
  generation: { ...schemas.count, description: 'Of the object, after the change.' },
  source: {
    enum: ['token', 'manager'],
    description: 'Whether a token of REST wrote it, or a field manager such as kubectl or Argo CD.',
  },
  actor: { ...schemas.textOrNull, description: 'Name of the token or manager; null when nobody knows.' },
  requestId: { ...schemas.textOrNull, description: 'X-Request-Id of the answer to the write.' },
  leftOut: {
    ...schemas.count,
    description:
      'Writes of the organisation after this one, on its day (UTC), that were too many to be recorded.',
  },
};
const field = { field: schemas.text, before: value, after: value };
const columns = [...Object.keys(members), ...Object.keys(field)];

export const changesEndpoint = endpoint({
  operationId: 'listChanges',
  summary: 'Who changed which object, the newest first',
  method: 'get',
  path: '/changes',
  scope: 'organisation',
  needs: ['read'],
  cost: 'reading',
  parameters: {
    since: instant('Begin, rounded down to a minute. Default: 30 days before the end.'),
    until: instant('End (exclusive), rounded up to a minute; may be in the future. Default: now.'),
    kind: oneOf('Only of objects of this kind.', kinds),
    name: name('Only of objects of this name.'),
    actor: name('Only by the token or field manager of this name.'),
    cursor: text('`nextCursor` of the answer before; all other parameters as before.', 400),
    limit: integer(`Writes of a page. Default ${pageSize}.`, 1, maxPageSize),
  },
  form: 'table',
  schema: record({
    items: arrayOf(record({ ...members, fields: arrayOf(record(field)) })),
    nextCursor: { ...schemas.textOrNull, description: 'For the next page; null on the last one.' },
  }),
  example: {
    items: [
      {
        id: '019b7a2c-4c00-7000-8000-000000000001',
        at: '2026-01-01T00:00:00.000Z',
        action: 'changed',
        kind: 'PaymasterPolicy',
        namespace: 'acme',
        name: 'shop-ten-a-day',
        uid: '0f8fad5b-d9cb-569f-a165-70867728950e',
        generation: 2,
        source: 'token',
        actor: 'on call',
        requestId: '5cbe1a1f-0b1e-4c3e-9a53-2a4bd7a01b1c',
        leftOut: 0,
        fields: [{ field: 'spec.spendingLimit.threshold', before: '"10"', after: '"1000"' }],
      },
    ],
    nextCursor: null,
  },

  async handle(tools, { principal, given }) {
    const { changes } = requireLedger(tools, principal);
    if (changes === undefined) throw ledgerOff();
    const { cursor, limit = pageSize, since, until, kind, name: named, actor } = given;
    const asked = { organisation: principal.tenant, ...withValues({ kind, name: named, author: actor }) };
    const bound = { ...asked, since, until };
    const position = cursor === undefined ? undefined : parseCursor(cursor, bound, maxDays);
    const range =
      position ??
      rangeOf(withValues({ from: since, to: until }), tools.clock.now(), { defaultDays: 30, maxDays });
    const { from, to } = range;
    const query: ChangeQuery = { ...asked, from, to, ...withValues({ before: position?.before }), limit };
    const page = await changes.list(query);
    return {
      data: {
        items: page.changes.map((change) => ({ ...render(change), fields: change.fields })),
        nextCursor: page.next === undefined ? null : formatCursor({ from, to, before: page.next }, bound),
      },
      table: tableOf(changes, query),
    };
  },
});

function render({ object, author, at, ...rest }: Change): Readonly<Record<string, unknown>> {
  const { id, action, leftOut } = rest;
  const requestId = author.source === 'token' ? author.requestId : null;
  return {
    id,
    at: formatInstant(at),
    action,
    ...object,
    source: author.source,
    actor: author.name ?? null,
    requestId,
    leftOut,
  };
}

/** A row for each field. */
function tableOf(changes: NonNullable<Questions['changes']>, query: ChangeQuery): Table {
  return {
    columns,
    async *pages() {
      for (let next = query.before, isLast = false; !isLast;) {
        const page = await changes.list({ ...query, ...withValues({ before: next }), limit: maxPageSize });
        yield page.changes.flatMap((change) =>
          change.fields.map((each) => {
            const row: Readonly<Record<string, unknown>> = { ...render(change), ...each };
            return columns.map((column) => row[column]);
          }),
        );
        next = page.next;
        isLast = next === undefined;
      }
    },
  };
}
