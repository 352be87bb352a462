import type { Change, ChangeQuery } from '../../../core/ledger/change.js';
import { kinds } from '../../../core/resources/kinds.js';
import { arrayOf } from '../../../core/schema/json-schema.js';
import { given as withValues } from '../../../core/units/given.js';
import type { Table } from '../call.js';
import { endpoint, reading } from '../endpoint.js';
import { instant, integer, name, oneOf, text } from '../parameters.js';
import { about, shapeOf, showsList } from '../shape.js';
import { ledgerOff, requireLedger, type Questions } from './fair-ledger.js';
import { formatCursor, parseCursor, toRange } from './range.js';
import * as schemas from './schemas.js';

const pageSize = 100;
const maxPageSize = 500;
const maxDays = 4000;

type Written = Change & Change['object'];
const toWritten = (change: Change): Written => ({ ...change, ...change.object });

const writeShape = shapeOf<Written>()({
  id: [schemas.uuid, '019b7a2c-4c00-7000-8000-000000000001'],
  at: [schemas.time, '2026-01-01T00:00:00.000Z'],
  action: [{ enum: ['created', 'changed', 'deleted'] }, 'changed'],
  kind: [{ enum: kinds }, 'PaymasterPolicy'],
  namespace: [schemas.text, 'acme'],
  name: [schemas.text, 'shop-ten-a-day'],
  uid: [schemas.text, '0f8fad5b-d9cb-569f-a165-70867728950e'],
  generation: [about(schemas.count, 'Of the object, after the change.'), 2],
  actor: [about(schemas.text, 'Name of the token.'), 'on call', ({ author }) => author.name],
  requestId: [
    about(schemas.text, 'X-Request-Id of the answer to the write.'),
    '5cbe1a1f-0b1e-4c3e-9a53-2a4bd7a01b1c',
    ({ author }) => author.requestId,
  ],
  leftOut: [
    about(
      schemas.count,
      'Writes of the organisation after this one, on its day (UTC), that were too many to be recorded.',
    ),
    0,
  ],
});
const value = about(
  schemas.textOrNull,
  'As JSON, without secrets; a long one is cut. Null: the field was or is not there.',
);
const fieldShape = shapeOf<Change['fields'][number]>()({
  field: [schemas.text, 'spec.spendingLimit.threshold'],
  before: [value, '"10"'],
  after: [value, '"1000"'],
});
const changeShape = shapeOf<Written>()({
  ...writeShape.members,
  fields: [arrayOf(fieldShape.schema), [fieldShape.example]],
});
const columns = [...writeShape.columns, ...fieldShape.columns];

export const changesEndpoint = endpoint({
  ...reading,
  operationId: 'listChanges',
  summary: 'Which token changed which object, the newest first',
  path: '/changes',
  parameters: {
    since: instant('Begin, rounded down to a minute. Default: 30 days before the end.'),
    until: instant('End (exclusive), rounded up to a minute; may be in the future. Default: now.'),
    kind: oneOf('Only of objects of this kind.', kinds),
    name: name('Only of objects of this name.'),
    actor: name('Only by the token of this name.'),
    cursor: text('`nextCursor` of the answer before; all other parameters as before.', 400),
    limit: integer(`Writes of a page. Default ${pageSize}.`, 1, maxPageSize),
  },
  form: 'table',
  ...showsList(changeShape),

  async handle(tools, { principal, given }) {
    const { changes } = requireLedger(tools, principal);
    if (changes === undefined) throw ledgerOff();
    const { cursor, limit = pageSize, since, until, kind, name: named, actor } = given;
    const asked = { organisation: principal.tenant, ...withValues({ kind, name: named, author: actor }) };
    const bound = { ...asked, since, until };
    const position = cursor === undefined ? undefined : parseCursor(cursor, bound, maxDays);
    const range =
      position ??
      toRange(withValues({ from: since, to: until }), tools.clock.now(), { defaultDays: 30, maxDays });
    const { from, to } = range;
    const query: ChangeQuery = { ...asked, from, to, ...withValues({ before: position?.before }), limit };
    const page = await changes.list(query);
    return {
      data: {
        items: page.changes.map((change) => changeShape.render(toWritten(change))),
        nextCursor: page.next === undefined ? null : formatCursor({ from, to, before: page.next }, bound),
      },
      table: changeTable(changes, query),
    };
  },
});

/** A row for each field. */
function changeTable(changes: NonNullable<Questions['changes']>, query: ChangeQuery): Table {
  return {
    columns,
    async *pages() {
      for (let next = query.before, isLast = false; !isLast;) {
        const page = await changes.list({ ...query, ...withValues({ before: next }), limit: maxPageSize });
        yield page.changes.flatMap((change) => {
          const written = Object.values(writeShape.render(toWritten(change)));
          return change.fields.map((each) => [...written, ...Object.values(fieldShape.render(each))]);
        });
        next = page.next;
        isLast = next === undefined;
      }
    },
  };
}
