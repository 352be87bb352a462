import { deriveApiKey, hashCredential } from '../../../core/config/api-key.js';
import { derivePaymasterId } from '../../../core/config/ids.js';
import { generationsInForce, nextGeneration, type NamedKeyMemory } from '../../../core/config/named-keys.js';
import { DomainError, quote } from '../../../core/errors.js';
import { namedKey, type NamedKeySpec } from '../../../core/resources/named-key.js';
import type { Paymaster } from '../../../core/resources/paymaster.js';
import { parseInstant } from '../../../core/units/time.js';
import { requireObject } from '../../http/json.js';
import type { Call } from '../call.js';
import type { Tools } from '../deps.js';
import { endpoint, type Body } from '../endpoint.js';
import { textOrNull, timeOrNull } from '../ledger/schemas.js';
import { boolean } from '../parameters.js';
import { text } from '../record-schemas.js';
import { published } from '../schemas.js';
import { about, orNull, shapeOf, showsList, showsOne, wholeList } from '../shape.js';
import { nouns } from './nouns.js';
import { change, requirePresent, requireAsInManifest, tellChange } from './object-changes.js';
import { computeEtag } from './record.js';

// Keys of a paymaster with names: entries of its spec.keys, with the generations that are in force.

const { generation: _, ...members } = namedKey.properties ?? {};
const asked = { ...namedKey, properties: members };
const name = about(text, 'Its name, which decisions show.');

type Shown = NamedKeySpec & { readonly generation: number; readonly apiKey: string };

const keyShape = shapeOf<Shown>()({
  name: [name, 'web'],
  generation: [about({ type: 'integer', minimum: 1 }, 'The one in force.'), 1],
  expiresAt: [timeOrNull, '2027-01-01T00:00:00.000Z', ({ expiresAt }) => parseInstant(expiresAt ?? '')],
  cidrs: [
    {
      type: ['array', 'null'],
      items: { type: 'string' },
      description: 'Networks that may use it. Null: every network.',
    },
    ['203.0.113.0/24'],
  ],
  rateLimit: [orNull(published(namedKey.properties?.['rateLimit'] ?? namedKey)), null],
  campaign: [textOrNull, 'winter-2026'],
  fingerprint: [
    about(text, 'First 8 hex digits of its SHA-256.'),
    '1f0c3a5d',
    ({ apiKey }) => hashCredential(apiKey).slice(0, 8),
  ],
});
const secretShape = shapeOf<Shown>()({
  ...keyShape.members,
  key: [
    about(text, 'A secret: the apiKey.'),
    'pTQl6ddXB.13961889-a442-4ec0-8392-8b5adf8b1ab6',
    ({ apiKey }) => apiKey,
  ],
});

const revokedShape = shapeOf<Shown & { readonly dryRun: boolean }>()({
  ...keyShape.members,
  dryRun: [{ type: 'boolean' }, false],
});

type NewKey = Omit<NamedKeySpec, 'generation'>;

const body: Body<NewKey> = {
  schemas: [published(asked)],
  example: { name: 'web', campaign: 'winter-2026' },
  parse(_tools, body) {
    const given = requireObject(body);
    const spec = { ...nouns.paymasters.example, keys: [given] };
    requireAsInManifest('Paymaster', spec, /^spec\.keys\[0\]\.?/, given, ['generation']);
    return given as NewKey;
  },
};

async function readMemory(
  { configs }: Tools,
  { principal, params }: Call,
): Promise<NamedKeyMemory | undefined> {
  const latest = await configs.getLatest(derivePaymasterId(principal.tenant, params['name'] ?? ''));
  return latest?.config.memory?.namedKeys;
}

/** All keys of the paymaster. */
async function listKeys(tools: Tools, call: Call, { metadata, spec }: Paymaster): Promise<readonly Shown[]> {
  const { keys = [] } = spec;
  const owner = { namespace: call.principal.tenant, name: metadata.name };
  const inForce = generationsInForce(keys, await readMemory(tools, call));
  return inForce.map(({ name: keyName, generation }, at) => ({
    ...keys[at],
    name: keyName,
    generation,
    apiKey: deriveApiKey(tools.masterKeys.current, { ...owner, keyGeneration: generation, keyName }),
  }));
}

/** Throws NOT_FOUND. */
async function keyOfCall(tools: Tools, call: Call, paymaster: Paymaster): Promise<Shown> {
  const { name: owner = '', key = '' } = call.params;
  const found = (await listKeys(tools, call, paymaster)).find((each) => each.name === key);
  if (found !== undefined) return found;
  throw new DomainError('NOT_FOUND', `The paymaster ${quote(owner)} has no key ${quote(key)}`);
}

const shared = { scope: 'organisation' } as const;
const noun = nouns.paymasters;

export const namedKeyEndpoints = [
  endpoint({
    ...shared,
    operationId: 'listPaymasterKeys',
    summary: 'Keys of a paymaster that have names, without the keys themselves',
    method: 'get',
    path: '/paymasters/:name/keys',
    needs: ['read'],
    ...showsList(keyShape),
    async handle(tools, call) {
      const object = await requirePresent(tools, call, noun);
      const keys = await listKeys(tools, call, object);
      return { data: wholeList(keys.map(keyShape.render)), etag: computeEtag(object) };
    },
  }),
  endpoint({
    ...shared,
    operationId: 'showPaymasterKey',
    summary: 'A key of a paymaster that has a name',
    method: 'get',
    path: '/paymasters/:name/keys/:key',
    ...showsOne(secretShape),
    async handle(tools, call) {
      const object = await requirePresent(tools, call, noun);
      return { data: secretShape.render(await keyOfCall(tools, call, object)), etag: computeEtag(object) };
    },
  }),
  endpoint({
    ...shared,
    operationId: 'addPaymasterKey',
    summary: 'Give a paymaster one more key. A name that was revoked gets a key that it never had',
    isSecret: true,
    method: 'post',
    path: '/paymasters/:name/keys',
    status: 201,
    errors: { 409: 'The name is taken. Or another manager, such as a manifest, owns spec.keys.' },
    body,
    ...showsOne(secretShape),
    async handle(tools, call) {
      const { body: added } = call;
      const object = await change(tools, call, noun, async ({ labels, spec }) => {
        const keys = (spec['keys'] ?? []) as readonly NamedKeySpec[];
        if (keys.some((each) => each.name === added.name))
          throw new DomainError('OBJECT_EXISTS', `The paymaster has a key ${quote(added.name)}`, {
            problems: [{ field: 'name', expected: 'a name that is free', value: quote(added.name) }],
          });
        // Written down: a removal that nobody has noticed yet would leave the key as it was.
        const generation = nextGeneration(added.name, await readMemory(tools, call));
        const entry = { ...added, ...(generation === 1 ? {} : { generation }) };
        return { labels, spec: { ...spec, keys: [...keys, entry] } };
      });
      const programmed = await tools.programmed.written('Paymaster', object);
      const shown = await keyOfCall(tools, { ...call, params: { ...call.params, key: added.name } }, object);
      return { data: secretShape.render(shown), etag: computeEtag(object), programmed, object };
    },
  }),
  endpoint({
    ...shared,
    operationId: 'revokePaymasterKey',
    summary: 'Revoke a key of a paymaster that has a name: the others go on',
    method: 'delete',
    path: '/paymasters/:name/keys/:key',
    errors: { 409: 'Another manager, such as a manifest, owns spec.keys.' },
    parameters: { dryRun: boolean('True: nothing is revoked.') },
    ...showsOne(revokedShape),
    async handle(tools, call) {
      const { dryRun = false } = call.given;
      const revoked = await keyOfCall(tools, call, await requirePresent(tools, call, noun));
      const { object } = await tellChange(
        tools,
        call,
        noun,
        ({ labels, spec: { keys = [], ...rest } }) => {
          const left = (keys as readonly NamedKeySpec[]).filter((each) => each.name !== revoked.name);
          return { labels, spec: left.length === 0 ? rest : { ...rest, keys: left } };
        },
        dryRun,
      );
      const data = revokedShape.render({ ...revoked, dryRun });
      if (dryRun) return { data };
      const programmed = await tools.programmed.written('Paymaster', object);
      return { data, etag: computeEtag(object), programmed, object };
    },
  }),
];
