import { DomainError, invalidInput } from '../../../core/errors.js';
import type { NamedKind } from '../../../core/ledger/object-names.js';
import { microDollars, noDollars, pricesFor, createPrices } from '../../../core/ledger/prices.js';
import { usageGroups, usageSteps, type UsageGroup, type UsageRow } from '../../../core/ledger/query.js';
import { dollarsOfUsage, spentName, type SpentQuery } from '../../../core/ledger/spent.js';
import { arrayOf } from '../../../core/schema/json-schema.js';
import { formatInstant } from '../../../core/units/time.js';
import { formatDecimal } from '../../../core/units/wei.js';
import type { Principal } from '../auth.js';
import { toTable } from '../call.js';
import type { Tools } from '../deps.js';
import { endpoint, reading } from '../endpoint.js';
import { instant, name, oneOf, uuid } from '../parameters.js';
import { about, inCoins, listSchema, shapeOf, wholeList } from '../shape.js';
import { tokenPayment } from './decision-record.js';
import { requireLedger, type Questions } from './fair-ledger.js';
import { createMethodNames } from './method-names.js';
import { byLabel, findLabel, objectNames } from './object-names.js';
import { toRange, widened, withKeptSums } from './range.js';
import * as schemas from './schemas.js';

const maxRows = 10_000;
/** Longest range by step; rows of days and months are few. */
const maxDays = { minute: 2, hour: 100, day: 4000, month: 4000 } as const;
const groups = [...(Object.keys(usageGroups) as UsageGroup[]), 'label' as const];
/** Groups whose values are ids of objects, whose names are answered. */
const namedKinds: Partial<Record<(typeof groups)[number], NamedKind>> = {
  paymaster: 'Paymaster',
  policy: 'PaymasterPolicy',
  wouldRefuse: 'PaymasterPolicy',
};

/** With the name and labels, which the ledger does not have. */
type Shown = UsageRow & {
  readonly name: string | undefined;
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly spentUsd: string | undefined;
  readonly unpricedWei: bigint | undefined;
  readonly oldestPriceSeconds: number | undefined;
  readonly method: string | undefined;
};

const rowShape = shapeOf<Shown>()({
  from: [schemas.time, '2026-01-01T00:00:00.000Z'],
  to: [schemas.time, '2026-01-02T00:00:00.000Z'],
  group: [about(schemas.textOrNull, 'Value of groupBy; null without one.'), 'counter:0xd09de08a'],
  name: [
    about(
      schemas.textOrNull,
      'With groupBy=paymaster, policy or wouldRefuse: what the object is called, or was called when it was deleted.',
    ),
    null,
  ],
  labels: [
    {
      type: ['object', 'null'],
      additionalProperties: schemas.text,
      description: 'Its labels; none of an object that was deleted.',
    },
    null,
  ],
  asks: [about(schemas.count, 'Requests that were answered with signed data, repeated ones included.'), 14],
  sponsored: [
    about(schemas.count, 'Operations that were promised. One account and nonce counts once, as in limits.'),
    12,
  ],
  refused: [schemas.count, 1],
  mined: [about(schemas.count, 'Reverted ones included: they were paid for.'), 11],
  reverted: [schemas.count, 0],
  expired: [about(schemas.count, 'Signed, and never mined with our data.'), 1],
  ...inCoins('promised', schemas.wei, 4_200_000_000_000_000n),
  ...inCoins('spent', schemas.wei, 1_100_000_000_000_000n),
  spentUsd: [
    about(
      schemas.textOrNull,
      'spent in US dollars: each hour at its price, the first that was recorded in it, or the nearest earlier one of at most 6 hours before; rounded up to a millionth. Null: none of it has a price, by sender, or too many rows.',
    ),
    '2.2',
  ],
  unpricedWei: [
    about(
      schemas.weiOrNull,
      'The part of spentWei that has no price: it is not in spentUsd. Null by sender, or for too many rows.',
    ),
    '0',
  ],
  oldestPriceSeconds: [
    about(schemas.countOrNull, 'Age of the oldest price in spentUsd when its hour began.'),
    0,
  ],
  tokens: [arrayOf(tokenPayment.schema), [], ({ tokens }) => tokens.map(tokenPayment.render)],
  method: [
    about(schemas.textOrNull, 'With groupBy=method: its name by the ABI of the registered contract.'),
    'increment',
  ],
});

export const usageEndpoint = endpoint({
  ...reading,
  operationId: 'getUsage',
  summary: 'What was sponsored, refused, mined and spent, by step of time and by one other property',
  path: '/usage',
  needs: ['read', 'finance'],
  parameters: {
    from: instant(
      'Begin, rounded down to a minute, before the last two days (UTC) to an hour. Default: 30 days before the end, for step=minute one.',
    ),
    to: instant('End (exclusive), rounded up to a minute; may be in the future. Default: now.'),
    step: oneOf('Length of a row, in UTC. Default day.', usageSteps),
    groupBy: oneOf(
      'One row per value. An operation with several calls counts in each of its contracts and methods, so counts do not add up there, while its money is divided among them; it counts in full for each of its policies. By key, paymasters whose keys have the same name count together, and (none) is what the first apiKey asked for. By sender only whole days are counted.',
      groups,
    ),
    label: name('With groupBy=label: the label of paymasters by whose values is grouped, e.g. team.'),
    paymasterId: uuid('Only of this paymaster. Default: all of the organisation.'),
  },
  form: 'table',
  schema: listSchema(rowShape.schema, {
    from: schemas.time,
    to: schemas.time,
    step: { enum: usageSteps },
    groupBy: { enum: [...groups, null] },
    additive: {
      type: 'boolean',
      description: 'False: an operation may count in several rows, so they do not add up.',
    },
  }),
  example: {
    from: '2026-01-01T00:00:00.000Z',
    to: '2026-01-02T00:00:00.000Z',
    step: 'day',
    groupBy: 'method',
    additive: false,
    ...wholeList([rowShape.example]),
  },

  async handle(tools, { principal, given }) {
    const ledger = requireLedger(tools, principal);
    const { step = 'day', groupBy, paymasterId, label } = given;
    if ((groupBy === 'label') !== (label !== undefined))
      throw invalidInput({ field: 'label', expected: 'given with groupBy=label, and only then' });
    if (groupBy === 'sender' && (step === 'hour' || step === 'minute'))
      throw invalidInput({
        field: 'step',
        expected: '"day" or "month" with groupBy=sender',
        value: `"${step}"`,
      });
    const asked = toRange(given, tools.clock.now(), {
      defaultDays: step === 'minute' ? 1 : 30,
      maxDays: maxDays[step],
    });
    const kept = withKeptSums(asked, tools.clock.now());
    if (step === 'minute' && kept.from < asked.from)
      throw invalidInput({ field: 'from', expected: 'of the last two days (UTC) with step=minute' });
    const range = groupBy === 'sender' ? widened(asked, 'day') : kept;
    const query = {
      organisation: principal.tenant,
      paymasterId,
      ...range,
      step,
      groupBy: groupBy === 'label' ? 'paymaster' : groupBy,
    };
    const stored = await ledger.usage({
      ...query,
      limit: maxRows,
    });
    if (stored.length > maxRows)
      throw new DomainError(
        'INVALID_INPUT',
        `The answer has more than ${maxRows} rows: choose a larger step, a shorter range or one paymasterId.`,
      );
    const named = groupBy === 'label' ? 'Paymaster' : groupBy && namedKinds[groupBy];
    const names = named && (await objectNames(tools, ledger, principal, named));
    const rows = label !== undefined && names !== undefined ? byLabel(stored, names, label) : stored;
    const nameMethod = groupBy === 'method' ? await readMethodNames(tools, principal, rows) : () => undefined;
    const usd = await dollarsBy(ledger, {
      ...query,
      groupOf: (group) =>
        groupBy === undefined
          ? undefined
          : label === undefined
            ? group
            : findLabel(names?.(group)?.labels, label),
    });
    const rendered = rows.map((row) => {
      const named = groupBy === 'label' ? undefined : names?.(row.group ?? '');
      return rowShape.render({
        ...row,
        ...usd(row),
        name: named?.name,
        labels: named?.labels,
        method: nameMethod(row),
      });
    });
    return {
      data: {
        from: formatInstant(range.from),
        to: formatInstant(range.to),
        step,
        groupBy: groupBy ?? null,
        additive: groupBy === undefined || groupBy === 'label' || usageGroups[groupBy].additive,
        ...wholeList(rendered),
      },
      table: toTable(rowShape.columns, rendered),
    };
  },
});

/** The dollars of a row. */
async function dollarsBy(
  ledger: Pick<Questions, 'spent' | 'prices'>,
  { groupOf, ...query }: SpentQuery & { readonly groupOf: (group: string) => string | undefined },
) {
  // `groupOf` stays here: the ledger may be a thread, to which no function can be sent.
  const { from, to } = query;
  const spent = await ledger.spent(query);
  if (spent === undefined)
    return () => ({ spentUsd: undefined, unpricedWei: undefined, oldestPriceSeconds: undefined });
  const chainIds = [...new Set(spent.flatMap(({ chainId }) => chainId ?? []))];
  const prices = createPrices(await ledger.prices(pricesFor({ chainIds, from, to })));
  const dollars = dollarsOfUsage(spent, query, prices, ({ group }) => groupOf(group));
  return (row: UsageRow) => {
    const { usd, unpricedWei, oldestMs } = dollars.get(spentName(row)) ?? noDollars;
    const isUnpriced = unpricedWei !== 0n && usd === 0n;
    return {
      spentUsd: isUnpriced ? undefined : formatDecimal(microDollars(usd, 'up'), 6),
      unpricedWei,
      oldestPriceSeconds: isUnpriced ? undefined : Math.ceil(oldestMs / 1_000),
    };
  };
}

/** A method's value is the contract's name, `:` and the selector. */
async function readMethodNames(tools: Tools, principal: Principal, rows: readonly UsageRow[]) {
  const parts = ({ group = '' }: UsageRow) => ({
    contractId: group.slice(0, -selectorEnd.length),
    selector: group.slice(1 - selectorEnd.length),
  });
  const nameMethod = await createMethodNames(
    tools,
    principal,
  )(new Set(rows.map((row) => parts(row).contractId)));
  return (row: UsageRow): string | undefined => {
    const { contractId, selector } = parts(row);
    return nameMethod(contractId, selector);
  };
}

const selectorEnd = ':0x00000000';
