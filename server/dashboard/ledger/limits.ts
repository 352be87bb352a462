import { countedScopes, countedScope } from '../../../core/policy/kind.js';
import {
  compileLimits,
  limitShares,
  type CompiledLimit,
} from '../../../core/policy/spending-limit/shares.js';
import { type JsonSchema } from '../../../core/schema/json-schema.js';
import { toAddressKey, zeroAddress, type AddressKey } from '../../../core/units/address.js';
import { formatInstant, type EpochMs } from '../../../core/units/time.js';
import { noCost } from '../../../core/usage/unit.js';
import { renderFigure, unitNames, unitRow } from '../../../core/usage/units.js';
import { never } from '../../../core/usage/window.js';
import { toTable } from '../call.js';
import type { Tools } from '../deps.js';
import { endpoint, reading } from '../endpoint.js';
import { address, uuid } from '../parameters.js';
import { about, orNull, shapeOf, showsList, wholeList } from '../shape.js';
import { ownPaymasters, type ReadConfig } from './own-paymaster.js';
import * as schemas from './schemas.js';

const figure: JsonSchema = {
  description: `${unitNames.map((unit) => `${unit}: ${unitRow(unit).wire.description}`).join('. ')}. Null: counted per account, and no sender was named.`,
  anyOf: [{ type: 'integer', minimum: 0 }, schemas.weiOrNull],
};

type Figure = 'threshold' | 'used' | 'reserved' | 'remaining';
/** A figure is undefined where it needs a sender and none was given. */
type Limit = Readonly<Record<Figure, number | undefined>> & {
  readonly paymasterId: string;
  readonly paymaster: string;
  readonly policy: CompiledLimit;
  readonly until: EpochMs;
};

const amount = (name: Figure) => (limit: Limit) =>
  limit[name] === undefined ? null : unitRow(limit.policy.unit).wire.render(limit[name]);
const inWords = (name: Figure) => (limit: Limit) =>
  limit[name] === undefined ? null : renderFigure(limit.policy.unit, limit[name]);

const renderedShape = shapeOf<Limit>()({
  threshold: [schemas.text, undefined, inWords('threshold')],
  used: [schemas.textOrNull, undefined, inWords('used')],
  reserved: [schemas.textOrNull, undefined, inWords('reserved')],
  remaining: [schemas.textOrNull, undefined, inWords('remaining')],
});

/** What a limit is in both forms: the columns of the table. */
const figures = shapeOf<Limit>()({
  paymasterId: [schemas.uuid, '0f8fad5b-d9cb-569f-a165-70867728950e'],
  paymaster: [about(schemas.text, 'Name of the Paymaster object.'), 'shop'],
  policy: [
    about(schemas.uuid, '`_id` of the policy, or the id of the budget.'),
    '7e0b4a52-6d7f-5d8a-9a51-0f3b1f1f6a11',
    ({ policy }) => policy.policyId,
  ],
  name: [schemas.text, 'a thousand a day', ({ policy }) => policy.name],
  scope: [{ enum: countedScopes }, 'PAYMASTER', ({ policy }) => countedScope(policy)],
  unit: [{ enum: unitNames }, 'COUNT', ({ policy }) => policy.unit],
  threshold: [figure, 1000, amount('threshold')],
  used: [about(figure, 'Spent by operations that were mined.'), 12, amount('used')],
  reserved: [about(figure, 'Promised to operations that may still be mined.'), 3, amount('reserved')],
  remaining: [figure, 985, amount('remaining')],
  resetsAt: [
    { anyOf: [schemas.time, { type: 'null' }], description: 'Null: never by itself.' },
    '2026-01-02T00:00:00.000Z',
    ({ until }) => (until === never ? null : formatInstant(until)),
  ],
});
const limitShape = shapeOf<Limit>()({
  ...figures.members,
  rendered: [
    about(orNull(renderedShape.schema), 'The same in coins or dollars; null for counts.'),
    null,
    (limit) => (unitRow(limit.policy.unit).decimals === 0 ? null : renderedShape.render(limit)),
  ],
});

export const limitsEndpoint = endpoint({
  ...reading,
  operationId: 'getLimits',
  summary: 'How much of each spending limit is used now',
  path: '/limits',
  parameters: {
    paymasterId: uuid('Only of this paymaster. Default: all of the organisation.'),
    sender: address('The account whose share of limits per account is shown.'),
  },
  form: 'table',
  ...showsList(limitShape),

  async handle(tools, { principal, given }) {
    const limits: object[] = [];
    for (const config of await ownPaymasters(tools, principal, given.paymasterId))
      limits.push(...(await readLimits(tools.usage, config, given.sender)));
    return { data: wholeList(limits), table: toTable(figures.columns, limits) };
  },
});

async function readLimits(
  usage: Tools['usage'],
  { paymasterId, objectName: paymaster, chainId, limits }: ReadConfig,
  sender: AddressKey | undefined,
): Promise<readonly object[]> {
  if (limits.length === 0) return [];
  const compiled = compileLimits(limits);
  const shares = limitShares(compiled, {
    sender: sender ?? toAddressKey(zeroAddress),
    cost: noCost,
    now: usage.now(),
  });
  const counters = await usage.counters(chainId, shares);
  return compiled.map((policy, index) => {
    const { perSender, threshold } = policy;
    const { used, reserved } = counters[index]!;
    const isKnown = !perSender || sender !== undefined;
    return limitShape.render({
      paymasterId,
      paymaster,
      policy,
      threshold,
      used: isKnown ? used : undefined,
      reserved: isKnown ? reserved : undefined,
      remaining: isKnown ? Math.max(0, threshold - used - reserved) : undefined,
      until: shares[index]!.window.until,
    });
  });
}
