import { DomainError, invalidInput } from '../../../core/errors.js';
import { microDollars, noDollars, pricesFor, pricesOf } from '../../../core/ledger/prices.js';
import { dollarsOfUsage, spentName, type SpentQuery } from '../../../core/ledger/spent.js';
import { usageGroups, usageSteps, type UsageGroup, type UsageRow } from '../../../core/ledger/query.js';
import { arrayOf, record } from '../../../core/schema/json-schema.js';
import { formatInstant } from '../../../core/units/time.js';
import { formatDecimal } from '../../../core/units/wei.js';
import { amount } from './amounts.js';
import type { Principal } from '../auth.js';
import type { Tools } from '../deps.js';
import { tableOf } from '../call.js';
import { endpoint } from '../endpoint.js';
import type { Questions } from './fair-ledger.js';
import { createMethodNames } from './method-names.js';
import { boolean, instant, name, oneOf, uuid } from '../parameters.js';
import { byLabel, labelOf, objectNames, type NamedKind } from './object-names.js';
import { rangeOf, widened } from './range.js';
import { requireLedger } from './require-ledger.js';
import * as schemas from './schemas.js';

const maxRows = 10_000;
const sendersDays = 31;
/** Longest range by step; rows of days and months are few. */
const maxDays = { minute: 2, hour: 100, day: 4000, month: 4000 } as const;
const dayMs = 86_400_000;
const groups = [...(Object.keys(usageGroups) as UsageGroup[]), 'label' as const];
/** Groups whose values are ids of objects, whose names are answered. */
const namedKinds: Partial<Record<(typeof groups)[number], NamedKind>> = {
  paymaster: 'Paymaster',
  policy: 'PaymasterPolicy',
  wouldRefuse: 'PaymasterPolicy',
};

const members = {
  from: schemas.time,
  to: schemas.time,
  group: { type: ['string', 'null'], description: 'Value of groupBy; null without one.' },
  name: {
    ...schemas.textOrNull,
    description:
      'With groupBy=paymaster, policy or wouldRefuse: what the object is called, or was called when it was deleted.',
  },
  labels: {
    type: ['object', 'null'],
    additionalProperties: schemas.text,
    description: 'Its labels; none of an object that was deleted.',
  },
  sponsored: schemas.count,
  refused: schemas.count,
  mined: { ...schemas.count, description: 'Reverted ones included: they were paid for.' },
  reverted: schemas.count,
  expired: { ...schemas.count, description: 'Signed, and never mined with our data.' },
  promisedWei: schemas.wei,
  promised: schemas.coins,
  spentWei: schemas.wei,
  spent: schemas.coins,
  spentUsd: {
    ...schemas.textOrNull,
    description:
      'spent in US dollars: each hour at its price, the first that was recorded in it, or the nearest earlier one of at most 6 hours before; rounded up to a millionth. Null: none of it has a price, by sender, or too many rows.',
  },
  unpricedWei: {
    ...schemas.weiOrNull,
    description:
      'The part of spentWei that has no price: it is not in spentUsd. Null by sender, or for too many rows.',
  },
  oldestPriceSeconds: {
    type: ['integer', 'null'],
    minimum: 0,
    description: 'Age of the oldest price in spentUsd when its hour began.',
  },
  senders: { type: ['integer', 'null'], minimum: 0 },
  tokens: arrayOf(
    record({
      address: schemas.address,
      amount: { ...schemas.wei, description: 'In the smallest unit of the token.' },
      decimals: { type: ['integer', 'null'] },
      rendered: { type: ['string', 'null'] },
    }),
  ),
  method: {
    ...schemas.textOrNull,
    description: 'With groupBy=method: its name by the ABI of the registered contract.',
  },
};

export const usageEndpoint = endpoint({
  operationId: 'getUsage',
  summary: 'What was sponsored, refused, mined and spent, by step of time and by one other property',
  method: 'get',
  path: '/usage',
  scope: 'organisation',
  needs: ['read', 'finance'],
  cost: 'reading',
  parameters: {
    from: instant('Begin, rounded down to a minute. Default: 30 days before the end, for step=minute one.'),
    to: instant('End (exclusive), rounded up to a minute; may be in the future. Default: now.'),
    step: oneOf('Length of a row, in UTC. Default day.', usageSteps),
    groupBy: oneOf(
      'One row per value. An operation with several calls counts in each of its contracts and methods, its money is divided among them; it counts in full for each of its policies. By sender only whole days are counted.',
      groups,
    ),
    label: name('With groupBy=label: the label of paymasters by whose values is grouped, e.g. team.'),
    paymasterId: uuid('Only of this paymaster. Default: all of the organisation.'),
    senders: boolean(
      'Whether to count distinct senders of each row; null in rows of a minute, or longer than a day. Default: true for ranges of at most 31 days.',
    ),
  },
  form: 'table',
  schema: record({
    from: schemas.time,
    to: schemas.time,
    step: { enum: usageSteps },
    groupBy: { enum: [...groups, null] },
    additive: {
      type: 'boolean',
      description: 'False: an operation may count in several rows, so they do not add up.',
    },
    rows: arrayOf(record(members)),
  }),
  example: {
    from: '2026-01-01T00:00:00.000Z',
    to: '2026-01-02T00:00:00.000Z',
    step: 'day',
    groupBy: 'method',
    additive: true,
    rows: [
      {
        from: '2026-01-01T00:00:00.000Z',
        to: '2026-01-02T00:00:00.000Z',
        group: 'counter:0xd09de08a',
        name: null,
        labels: null,
        method: 'increment',
        sponsored: 12,
        refused: 1,
        mined: 11,
        reverted: 0,
        expired: 1,
        promisedWei: '4200000000000000',
        promised: '0.0042',
        spentWei: '1100000000000000',
        spent: '0.0011',
        spentUsd: '2.2',
        unpricedWei: '0',
        oldestPriceSeconds: 0,
        senders: 3,
        tokens: [],
      },
    ],
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
    const asked = rangeOf(given, tools.clock.now(), {
      defaultDays: step === 'minute' ? 1 : 30,
      maxDays: maxDays[step],
    });
    const range = groupBy === 'sender' ? widened(asked, 'day') : asked;
    const stored = await ledger.usage({
      organisation: principal.tenant,
      paymasterId,
      ...range,
      step,
      groupBy: groupBy === 'label' ? 'paymaster' : groupBy,
      // They are counted one by one.
      senders:
        (given.senders ?? range.to - range.from <= sendersDays * dayMs) &&
        step !== 'month' &&
        step !== 'minute' &&
        groupBy !== 'label',
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
    const nameOf = groupBy === 'method' ? await namesOf(tools, principal, rows) : () => undefined;
    const usd = await dollarsBy(ledger, {
      organisation: principal.tenant,
      paymasterId,
      ...range,
      step,
      groupBy: groupBy === 'label' ? 'paymaster' : groupBy,
      groupOf: (group) =>
        groupBy === undefined
          ? undefined
          : label === undefined
            ? group
            : labelOf(names?.(group)?.labels, label),
    });
    const rendered = rows.map((row) => {
      const { name: called = null, labels = null } = (groupBy !== 'label' && names?.(row.group ?? '')) || {};
      return { ...renderRow(row), ...usd(row), name: called, labels, method: nameOf(row) ?? null };
    });
    return {
      data: {
        from: formatInstant(range.from),
        to: formatInstant(range.to),
        step,
        groupBy: groupBy ?? null,
        additive: groupBy === undefined || groupBy === 'label' || usageGroups[groupBy].additive,
        rows: rendered,
      },
      table: tableOf(Object.keys(members), rendered),
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
  if (spent === undefined) return () => ({ spentUsd: null, unpricedWei: null, oldestPriceSeconds: null });
  const chainIds = [...new Set(spent.flatMap(({ chainId }) => chainId ?? []))];
  const prices = pricesOf(await ledger.prices(pricesFor({ chainIds, from, to })));
  const dollars = dollarsOfUsage(spent, query, prices, ({ group }) => groupOf(group));
  return (row: UsageRow) => {
    const { usd, unpricedWei, oldestMs } = dollars.get(spentName(row)) ?? noDollars;
    const isUnpriced = unpricedWei !== 0n && usd === 0n;
    return {
      spentUsd: isUnpriced ? null : formatDecimal(microDollars(usd, 'up'), 6),
      unpricedWei: unpricedWei.toString(),
      oldestPriceSeconds: isUnpriced ? null : Math.ceil(oldestMs / 1_000),
    };
  };
}

/** A method's value is the contract's name, `:` and the selector. */
async function namesOf(tools: Tools, principal: Principal, rows: readonly UsageRow[]) {
  const parts = ({ group = '' }: UsageRow) => ({
    contractId: group.slice(0, -selectorEnd.length),
    selector: group.slice(1 - selectorEnd.length),
  });
  const nameOf = await createMethodNames(tools, principal)(new Set(rows.map((row) => parts(row).contractId)));
  return (row: UsageRow): string | undefined => {
    const { contractId, selector } = parts(row);
    return nameOf(contractId, selector);
  };
}

const selectorEnd = ':0x00000000';

function renderRow(row: UsageRow): Readonly<Record<string, unknown>> {
  const { sponsored, refused, mined, reverted, expired } = row;
  return {
    from: formatInstant(row.from),
    to: formatInstant(row.to),
    group: row.group ?? null,
    sponsored,
    refused,
    mined,
    reverted,
    expired,
    ...amount('promised', row.promisedWei),
    ...amount('spent', row.spentWei),
    senders: row.senders ?? null,
    tokens: row.tokens.map(({ address, decimals, amount: paid }) => ({
      address,
      amount: paid.toString(),
      decimals: decimals ?? null,
      rendered: decimals === undefined ? null : formatDecimal(paid, decimals),
    })),
  };
}
