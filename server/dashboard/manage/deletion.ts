import { paymasterIdOf } from '../../../core/config/ids.js';
import { record, type JsonSchema } from '../../../core/schema/json-schema.js';
import type { Resources } from '../../../core/resources/kinds.js';
import { defaultMaxExpirySeconds } from '../../../core/config/expiry.js';
import type { EpochMs } from '../../../core/units/time.js';
import { eachObject } from '../../../adapters/resources/pages.js';
import type { Call } from '../call.js';
import type { Tools } from '../deps.js';
import { findChain } from '../paymasters.js';
import { text } from '../record-schemas.js';
import type { NounKind } from './nouns.js';

const countOrNull: JsonSchema = { type: ['integer', 'null'], minimum: 0 };
/** Objects that an answer names; all of them are counted. */
const mostNames = 100;

function namesOf(description: string): JsonSchema {
  const names = { type: 'array', items: text, maxItems: mostNames } as const;
  return { ...record({ count: { type: 'integer', minimum: 0 }, names }), description };
}

/** What ends with an object. Of contracts and policies nothing does besides themselves. */
export const deletionSchema = record({
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
      contracts: namesOf('They stay, refer to nothing, and can be deleted.'),
      policies: namesOf('The same.'),
    },
  ),
});

export const deletionExample = {
  name: 'shop',
  dryRun: true,
  ends: {
    apiKey: true,
    livePromises: 2,
    fundingAddress: null,
    contracts: { count: 1, names: ['shop-counter'] },
    policies: { count: 2, names: ['shop-gas-per-user', 'shop-operations-per-day'] },
  },
};

export async function endsWith(tools: Tools, call: Call, object: Resources[NounKind]): Promise<object> {
  if (object.kind !== 'Paymaster') return {};
  const { name } = object.metadata;
  const { namespace } = call.principal;
  const referring = async (kind: 'SmartContract' | 'PaymasterPolicy') => {
    const names: string[] = [];
    let count = 0;
    const options = { namespace, fields: { 'spec.paymasterRef.name': name } };
    for await (const { metadata } of eachObject(tools.resources, kind, options))
      if ((count += 1) <= mostNames) names.push(metadata.name);
    return { count, names };
  };
  return {
    apiKey: true,
    livePromises: await livePromises(tools, call, object),
    fundingAddress: object.spec.funding?.address ?? null,
    contracts: await referring('SmartContract'),
    policies: await referring('PaymasterPolicy'),
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
