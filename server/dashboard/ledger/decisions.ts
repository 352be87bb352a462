import { DomainError } from '../../../core/errors.js';
import type { DecisionQuery, DecisionView } from '../../../core/ledger/query.js';
import { isRecordId } from '../../../core/ledger/record-id.js';
import { refusals, type RefusalReason } from '../../../core/refusal.js';
import { formatInstant } from '../../../core/units/time.js';
import type { Principal } from '../auth.js';
import type { Table } from '../call.js';
import type { Tools } from '../deps.js';
import { endpoint, reading } from '../endpoint.js';
import { address, coins, hash, instant, integer, oneOf, selector, text, uuid } from '../parameters.js';
import { listSchema, showsOne, wholeList } from '../shape.js';
import { decisionShape, tracedShape } from './decision-record.js';
import { requireLedger, type Questions } from './fair-ledger.js';
import { listContractIds, createMethodNames, type MethodNamesReader } from './method-names.js';
import { objectNames, type Names } from './object-names.js';
import { formatCursor, parseCursor, toRange } from './range.js';
import * as schemas from './schemas.js';

const pageSize = 100;
const maxPageSize = 1000;
const maxDays = 4000;
/** Rows of one CSV answer; a longer range has to be asked for in parts. */
const maxTableRows = 1_000_000;

export const decisionsEndpoint = endpoint({
  ...reading,
  operationId: 'listDecisions',
  summary: 'What was decided about every request, the newest first',
  path: '/decisions',
  parameters: {
    from: instant('Begin, rounded down to a minute. Default: a day before the end.'),
    to: instant('End (exclusive), rounded up to a minute; may be in the future. Default: now.'),
    paymasterId: uuid('Only of this paymaster. Default: all of the organisation.'),
    sender: address('Only of this account.'),
    verdict: oneOf('Only with this verdict.', ['sponsored', 'refused', 'committed']),
    reason: oneOf('Only refused for this reason.', Object.keys(refusals) as RefusalReason[]),
    userOpHash: hash('Only of this operation. The hash of a signed operation is known once it is mined.'),
    requestId: text(
      'Only of this request: the id in our answer, or the X-Request-Id that the caller sent.',
      128,
    ),
    key: text('Only asked for with the key of this name.', 64),
    selector: selector('Only with a call of this method, as `calls` names it.'),
    minCost: coins('Only of operations whose `maxCost` is at least this.'),
    cursor: text(
      '`nextCursor` of the answer before; all other parameters as before. A page may be short or empty when a search takes long: go on.',
      400,
    ),
    limit: integer(`Decisions of a page. Default ${pageSize}.`, 1, maxPageSize),
  },
  form: 'table',
  schema: listSchema(decisionShape.schema, { from: schemas.time, to: schemas.time }),
  example: {
    from: '2025-12-31T00:01:00.000Z',
    to: '2026-01-01T00:01:00.000Z',
    ...wholeList([decisionShape.example]),
  },

  async handle(tools, { principal, given }) {
    const ledger = requireLedger(tools, principal);
    const { cursor, limit = pageSize, from, to, minCost, ...filters } = given;
    const asked = { organisation: principal.tenant, ...filters };
    const bound = { ...asked, minCost: minCost?.toString(), from, to };
    const position = cursor === undefined ? undefined : parseCursor(cursor, bound, maxDays);
    const range = position ?? toRange(given, tools.clock.now(), { defaultDays: 1, maxDays });
    const query: DecisionQuery = {
      ...asked,
      ...(minCost === undefined ? {} : { minCostWei: minCost }),
      from: range.from,
      to: range.to,
      ...(position === undefined ? {} : { before: position.before }),
      limit,
    };
    const names = await gatherNames(tools, ledger, principal);
    const { decisions, next } = await ledger.decisions(query);
    return {
      data: {
        from: formatInstant(range.from),
        to: formatInstant(range.to),
        items: await rendered(names, decisions),
        nextCursor:
          next === undefined ? null : formatCursor({ from: range.from, to: range.to, before: next }, bound),
      },
      table: decisionTable(ledger, query, names),
    };
  },
});

export const decisionEndpoint = endpoint({
  ...reading,
  operationId: 'getDecision',
  summary: 'One decision, with what led to it and how it ended',
  path: '/decisions/:id',
  ...showsOne(tracedShape),

  async handle(tools, { principal, params }) {
    const ledger = requireLedger(tools, principal);
    const { id = '' } = params;
    const view = isRecordId(id) ? await ledger.decision(principal.tenant, id) : undefined;
    if (view === undefined) throw new DomainError('NOT_FOUND', 'This organisation has no such decision');
    const [decision] = await rendered(await gatherNames(tools, ledger, principal), [view], tracedShape);
    return { data: decision };
  },
});

const leftOut = ['entryPoint', 'contract', 'fundingAddress', 'policies', 'settlement'];
const columns = decisionShape.columns.filter((name) => !leftOut.includes(name));
const settlementColumns = [
  'outcome',
  'transactionHash',
  'blockNumber',
  'success',
  'actualGasCostWei',
  'actualGasCost',
  'actualGasUsed',
] as const;

type AllNames = { readonly methods: MethodNamesReader; readonly paymasters: Names };

async function gatherNames(tools: Tools, ledger: Questions, principal: Principal): Promise<AllNames> {
  return {
    methods: createMethodNames(tools, principal),
    paymasters: await objectNames(tools, ledger, principal, 'Paymaster'),
  };
}

async function rendered(
  { methods, paymasters }: AllNames,
  views: readonly DecisionView[],
  { render }: Pick<typeof decisionShape, 'render'> = decisionShape,
) {
  const nameMethod = await methods(listContractIds(views.flatMap(({ decision }) => decision.calls)));
  return views.map(({ decision, settlement }) =>
    render({
      ...decision,
      settlement,
      nameOf: nameMethod,
      paymaster: paymasters(decision.paymasterId)?.name,
    }),
  );
}

function decisionTable(ledger: Pick<Questions, 'decisions'>, query: DecisionQuery, names: AllNames): Table {
  return {
    columns: [...columns, ...settlementColumns],
    async *pages() {
      let before = query.before;
      for (let rows = 0; rows < maxTableRows;) {
        const page = await ledger.decisions({
          ...query,
          ...(before === undefined ? {} : { before }),
          limit: maxPageSize,
        });
        yield (await rendered(names, page.decisions)).map(toTableRow);
        rows += page.decisions.length;
        if (page.next === undefined) return;
        before = page.next;
      }
      yield [[`more than ${maxTableRows} rows: ask for a shorter range`]];
    },
  };
}

function toTableRow(decision: Readonly<Record<string, unknown>>): readonly unknown[] {
  const settlement = (decision['settlement'] ?? {}) as Readonly<Record<string, unknown>>;
  return [
    ...columns.map((column) => decision[column]),
    ...settlementColumns.map((column) => settlement[column]),
  ];
}
