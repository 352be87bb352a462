import { countedScopes, scopeOf } from '../../../core/policy/kind.js';
import { compileLimits, limitShares } from '../../../core/policy/spending-limit/shares.js';
import { arrayOf, record, type JsonSchema } from '../../../core/schema/json-schema.js';
import { toAddressKey, zeroAddress, type AddressKey } from '../../../core/units/address.js';
import { formatInstant } from '../../../core/units/time.js';
import { never } from '../../../core/usage/window.js';
import { noCost } from '../../../core/usage/unit.js';
import { figureOf, unitNames, unitOf } from '../../../core/usage/units.js';
import type { Tools } from '../deps.js';
import { tableOf } from '../call.js';
import { endpoint } from '../endpoint.js';
import { ownPaymasters, type ReadConfig } from './own-paymaster.js';
import { address, uuid } from '../parameters.js';
import * as schemas from './schemas.js';

const figure: JsonSchema = {
  description: `${unitNames.map((unit) => `${unit}: ${unitOf(unit).wire.description}`).join('. ')}. Null: counted per account, and no sender was named.`,
  anyOf: [{ type: 'integer', minimum: 0 }, schemas.weiOrNull],
};

/** What a limit is in both forms: the columns of the table. */
const figures = {
  paymasterId: schemas.uuid,
  paymaster: { ...schemas.text, description: 'Name of the Paymaster object.' },
  policy: { ...schemas.uuid, description: '`_id` of the policy, or the id of the budget.' },
  name: schemas.text,
  scope: { enum: countedScopes },
  unit: { enum: unitNames },
  threshold: figure,
  used: { ...figure, description: 'Spent by operations that were mined.' },
  reserved: { ...figure, description: 'Promised to operations that may still be mined.' },
  remaining: figure,
  resetsAt: { anyOf: [schemas.time, { type: 'null' }], description: 'Null: never by itself.' },
};

export const limitsEndpoint = endpoint({
  operationId: 'getLimits',
  summary: 'How much of each spending limit is used now',
  method: 'get',
  path: '/limits',
  scope: 'organisation',
  needs: ['read'],
  cost: 'reading',
  parameters: {
    paymasterId: uuid('Only of this paymaster. Default: all of the organisation.'),
    sender: address('The account whose share of limits per account is shown.'),
  },
  form: 'table',
  schema: record({
    limits: arrayOf(
      record({
        ...figures,
        rendered: {
          description: 'The same in coins or dollars; null for counts.',
          anyOf: [
            { type: 'null' },
            record({
              threshold: schemas.text,
              used: schemas.textOrNull,
              reserved: schemas.textOrNull,
              remaining: schemas.textOrNull,
            }),
          ],
        },
      }),
    ),
  }),
  example: {
    limits: [
      {
        paymasterId: '0f8fad5b-d9cb-569f-a165-70867728950e',
        paymaster: 'shop',
        policy: '7e0b4a52-6d7f-5d8a-9a51-0f3b1f1f6a11',
        name: 'a thousand a day',
        scope: 'PAYMASTER',
        unit: 'COUNT',
        threshold: 1000,
        used: 12,
        reserved: 3,
        remaining: 985,
        resetsAt: '2026-01-02T00:00:00.000Z',
        rendered: null,
      },
    ],
  },

  async handle(tools, { principal, given }) {
    const limits: object[] = [];
    for (const config of await ownPaymasters(tools, principal, given.paymasterId))
      limits.push(...(await readLimits(tools.usage, config, given.sender)));
    return { data: { limits }, table: tableOf(Object.keys(figures), limits) };
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
    const { policyId, name, perSender, unit, threshold } = policy;
    const { used, reserved } = counters[index]!;
    const isKnown = !perSender || sender !== undefined;
    const amounts = {
      threshold,
      used: isKnown ? used : null,
      reserved: isKnown ? reserved : null,
      remaining: isKnown ? Math.max(0, threshold - used - reserved) : null,
    };
    return {
      paymasterId,
      paymaster,
      policy: policyId,
      name,
      scope: scopeOf(policy),
      unit,
      ...each(amounts, (amount) => unitOf(unit).wire.render(amount)),
      resetsAt: shares[index]!.window.until === never ? null : formatInstant(shares[index]!.window.until),
      rendered: unitOf(unit).decimals === 0 ? null : each(amounts, (amount) => figureOf(unit, amount)),
    };
  });
}

function each(
  amounts: Readonly<Record<string, number | null>>,
  render: (amount: number) => number | string,
): Readonly<Record<string, number | string | null>> {
  return Object.fromEntries(
    Object.entries(amounts).map(([name, amount]) => [name, amount === null ? null : render(amount)]),
  );
}
