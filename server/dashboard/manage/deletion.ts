import { paymasterIdOf } from '../../../core/config/ids.js';
import { arrayOf, record, type JsonSchema } from '../../../core/schema/json-schema.js';
import type { Resources } from '../../../core/resources/kinds.js';
import { defaultMaxExpirySeconds } from '../../../core/config/caps.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { Call } from '../call.js';
import type { Tools } from '../deps.js';
import { findChain } from '../paymasters.js';
import { text } from '../record-schemas.js';
import { isDeclared, type Child } from './children.js';

const countOrNull: JsonSchema = { type: ['integer', 'null'], minimum: 0 };
/** Objects that an answer names; all of them are counted. */
export const mostNames = 100;

function namesOf(description: string): JsonSchema {
  const names = { type: 'array', items: text, maxItems: mostNames } as const;
  return { ...record({ count: { type: 'integer', minimum: 0 }, names }), description };
}

/** What ends with an object, and of a paymaster what stays. */
export const deletionSchema = record(
  {
    name: text,
    dryRun: { type: 'boolean' },
    ends: record(
      {},
      {
        apiKey: {
          type: 'boolean',
          description:
            'The apiKey is refused. A paymaster that is made again with this name gets the same key.',
        },
        livePromises: {
          ...countOrNull,
          description: `Signed operations that may still be mined: they stay valid until they expire, are settled and counted. At most ${1000} are counted; null where no ledger is kept.`,
        },
        fundingAddress: {
          type: ['string', 'null'],
          description:
            'Wallet whose deposit paid: it stays on chain, and its owner withdraws it. Null: a default of the platform.',
        },
        contracts: namesOf('Those that belong to it: they end with it by cascade=true.'),
        policies: namesOf('The same.'),
      },
    ),
  },
  {
    cascade: {
      type: 'boolean',
      description:
        'Of a paymaster. Without it one to which contracts or policies belong is not deleted (409).',
    },
    stays: arrayOf(
      record({ kind: { enum: ['SmartContract', 'PaymasterPolicy'] }, name: text, manager: text }),
      `Contracts and policies that a manager such as kubectl or Argo CD declares, at most ${mostNames}. They stay, also with cascade=true: remove them from its manifests.`,
    ),
  },
);

export const deletionExample = { name: 'daily', dryRun: true, ends: {} };
export const paymasterDeletionExample = {
  name: 'shop',
  dryRun: true,
  cascade: true,
  ends: {
    apiKey: true,
    livePromises: 2,
    fundingAddress: null,
    contracts: { count: 1, names: ['shop-counter'] },
    policies: { count: 2, names: ['shop-gas-per-user', 'shop-operations-per-day'] },
  },
  stays: [{ kind: 'PaymasterPolicy', name: 'shop-office-hours', manager: 'argocd' }],
};

export async function endsWith(
  tools: Tools,
  call: Call,
  paymaster: Resources['Paymaster'] | undefined,
  children: readonly Child[],
): Promise<object> {
  const own = (kind: Child['kind']) => {
    const names = children.filter((each) => each.kind === kind && !isDeclared(each)).map(({ name }) => name);
    return { count: names.length, names: names.slice(0, mostNames) };
  };
  return {
    ...(paymaster && {
      apiKey: true,
      livePromises: await livePromises(tools, call, paymaster),
      fundingAddress: paymaster.spec.funding?.address ?? null,
    }),
    contracts: own('SmartContract'),
    policies: own('PaymasterPolicy'),
  };
}

async function livePromises(
  tools: Tools,
  { principal: { tenant } }: Call,
  { metadata, spec }: Resources['Paymaster'],
): Promise<number | null> {
  if (tools.ledger === undefined) return null;
  const now = tools.clock.now();
  const chain = await findChain(tools, spec.chainId);
  const longestMs = (chain?.maxExpirySeconds ?? defaultMaxExpirySeconds) * 1000;
  const { decisions } = await tools.ledger(tenant).decisions({
    organisation: tenant,
    paymasterId: paymasterIdOf(tenant, metadata.name),
    verdict: 'sponsored',
    from: (now - longestMs) as EpochMs,
    to: (now + 1) as EpochMs,
    limit: 1000,
  });
  return decisions.filter(
    ({ decision: { validUntil }, settlement }) =>
      settlement === undefined && validUntil !== undefined && validUntil * 1000 > now,
  ).length;
}
