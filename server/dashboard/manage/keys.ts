import { derivePaymasterId, derivePolicyId } from '../../../core/config/ids.js';
import { knownKeys } from '../../../core/config/memory.js';
import type { Tenant } from '../../../core/config/tenant.js';
import { DomainError } from '../../../core/errors.js';
import { findPolicyData, findPolicyKind } from '../../../core/policy/derived.js';
import type { Resources } from '../../../core/resources/kinds.js';
import { record } from '../../../core/schema/json-schema.js';
import { readField } from '../../../core/schema/json-value.js';
import { currentApiKey, keyGenerationInForce } from '../auth.js';
import type { Call, Reply } from '../call.js';
import type { Tools } from '../deps.js';
import { endpoint } from '../endpoint.js';
import { timeOrNull } from '../ledger/schemas.js';
import { integer } from '../parameters.js';
import { text } from '../record-schemas.js';
import { computeEtag } from './record.js';
import { change, requirePresent } from './object-changes.js';
import { nouns, type Noun } from './nouns.js';

type Keyed = 'Paymaster' | 'PaymasterPolicy';

/** A key, and where in the spec of its object its generation is. */
type Key = { readonly key: string; readonly generation: number; readonly at?: string };

async function apiKey(tools: Tools, { principal }: Call, paymaster: Resources['Paymaster']): Promise<Key> {
  const { tenant } = principal;
  return {
    key: await currentApiKey(tools, tenant, paymaster),
    generation: await keyGenerationInForce(tools.configs, tenant, paymaster),
  };
}

/** Throws NOT_FOUND for a policy of a kind that has no key. */
async function policyKey(
  tools: Tools,
  { principal: { tenant } }: Call,
  { metadata, spec }: Resources['PaymasterPolicy'],
): Promise<Key> {
  const kind = findPolicyKind(spec.policyType);
  const once = kind?.record.once;
  if (kind === undefined || once === undefined)
    throw new DomainError('NOT_FOUND', `A policy of type ${spec.policyType} has no key`);
  const policyId = derivePolicyId(tenant, metadata.name);
  const known = await knownGeneration(tools, tenant, spec.paymasterRef.name, policyId);
  const generation = Math.max(known, Number(readField(findPolicyData(spec, kind), 'keyGeneration') ?? 1));
  const shown = once.render({ webhookMaster: tools.masterKeys.webhook, policyId, keyGeneration: generation });
  return { key: Object.values(shown).map(String).join(), generation, at: kind.member };
}

/** A name that is made again must not bring an earlier key back. */
export async function knownGeneration(
  { configs }: Pick<Tools, 'configs'>,
  tenant: Tenant,
  paymaster: string,
  policyId: string,
): Promise<number> {
  const latest = await configs.getLatest(derivePaymasterId(tenant, paymaster));
  return knownKeys(latest?.config).get(policyId) ?? 1;
}

function isLive({ clock }: Pick<Tools, 'clock'>, until: unknown): until is string {
  return typeof until === 'string' && Date.parse(until) > clock.now();
}

const maxOverlapSeconds = 30 * 86_400;
const schema = record({
  key: { ...text, description: 'A secret: the apiKey of a paymaster, the signingKey of a webhook.' },
  generation: { type: 'integer', minimum: 1 },
  previousKeyUntil: { ...timeOrNull, description: 'Until then the key before works too.' },
});
const example = {
  key: 'pTQl6ddXB.13961889-a442-4ec0-8392-8b5adf8b1ab6',
  generation: 2,
  previousKeyUntil: null,
};

function createKeyEndpoints<K extends Keyed>(
  path: string,
  noun: Noun<K>,
  read: (tools: Tools, call: Call, object: Resources[K]) => Promise<Key>,
) {
  const reply = async (tools: Tools, call: Call, object: Resources[K]): Promise<Reply> => {
    const { key, generation, at } = await read(tools, call, object);
    const owner: unknown = at === undefined ? object.spec : readField(object.spec, at);
    const until = readField(owner, 'previousKeyUntil');
    return {
      data: { key, generation, previousKeyUntil: isLive(tools, until) ? until : null },
      etag: computeEtag(object),
    };
  };
  const shared = { scope: 'organisation', schema, example } as const;
  return [
    endpoint({
      ...shared,
      operationId: `get${noun.kind}Key`,
      summary: `The key of a ${noun.one}, and of which generation it is`,
      method: 'get',
      path: `/${path}/:name/key`,
      handle: async (tools, call) => reply(tools, call, await requirePresent(tools, call, noun)),
    }),
    endpoint({
      ...shared,
      operationId: `rotate${noun.kind}Key`,
      summary: `Give a ${noun.one} a new key; with If-Match, only once`,
      isSecret: true,
      method: 'post',
      path: `/${path}/:name/key/rotate`,
      errors: {
        409: 'With an overlap: the key before the present one still works. Or another manager, such as a manifest, owns the generation.',
      },
      parameters: {
        overlapSeconds: integer(
          'For so long the present key works too. Default 0: it is refused at once.',
          0,
          maxOverlapSeconds,
        ),
      },
      async handle(tools, call) {
        const { generation, at } = await read(tools, call, await requirePresent(tools, call, noun));
        const seconds = call.given.overlapSeconds ?? 0;
        const until = new Date(tools.clock.now() + seconds * 1000).toISOString();
        const next = {
          keyGeneration: generation + 1,
          ...(seconds > 0 && { previousKeyUntil: until }),
        };
        const object = await change(tools, call, noun, ({ labels, spec }) => {
          const { previousKeyUntil, ...rest } = Object(at === undefined ? spec : spec[at]) as object & {
            previousKeyUntil?: unknown;
          };
          // Two keys work at a time, so one more would end the key that callers may still have.
          if (seconds > 0 && isLive(tools, previousKeyUntil))
            throw new DomainError(
              'KEY_OVERLAPS',
              `The key before the present one works until ${previousKeyUntil}, and a new one would end it: wait, or leave out overlapSeconds`,
            );
          const rotated = { ...rest, ...next };
          return { labels, spec: at === undefined ? rotated : { ...spec, [at]: rotated } };
        });
        const programmed = await tools.programmed.written(noun.kind, object);
        return { ...(await reply(tools, call, object)), programmed, object };
      },
    }),
  ];
}

export const keyEndpoints = [
  ...createKeyEndpoints('paymasters', nouns.paymasters, apiKey),
  ...createKeyEndpoints('policies', nouns.policies, policyKey),
];
