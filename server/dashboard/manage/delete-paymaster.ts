import { eachObject } from '../../../adapters/resources/pages.js';
import { defaultMaxExpirySeconds } from '../../../core/config/caps.js';
import { derivePaymasterId } from '../../../core/config/ids.js';
import { DomainError, quote, isDomainError } from '../../../core/errors.js';
import type { ObjectKey } from '../../../core/meta/meta.js';
import type { Resources } from '../../../core/resources/kinds.js';
import { arrayOf, record, type JsonSchema } from '../../../core/schema/json-schema.js';
import { given } from '../../../core/units/given.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { Principal } from '../auth.js';
import type { Call, Reply } from '../call.js';
import type { Tools } from '../deps.js';
import { unlessDeleted } from '../lookups.js';
import { findChain } from '../paymasters.js';
import { text } from '../record-schemas.js';
import { declaredBy } from '../writes.js';
import { nouns } from './nouns.js';
import { keyOfCall, requireMatch, notFound } from './object-changes.js';

const { paymasters } = nouns;

/**
 * Deletes a paymaster, and with `cascade` then what belongs to it. A call that was cut off in between may be repeated: it goes on with what
 * is left. Nothing is deleted with the paymaster that a manifest declares.
 */
export async function deletePaymaster(
  tools: Tools,
  call: Call,
  { dryRun = false, cascade = false }: { readonly dryRun?: boolean; readonly cascade?: boolean },
): Promise<Reply> {
  const { principal } = call;
  const key = keyOfCall(paymasters, call);
  const { name } = key;
  const paymaster = await tools.resources.get('Paymaster', key);
  const children = await listChildren(tools, principal, name);
  const isLeft = cascade && children.some((each) => !isDeclared(each));
  if (paymaster === undefined && !isLeft) throw notFound(paymasters, key);
  if (paymaster !== undefined) requireMatch(call, paymaster);
  const ends = await endsWith(tools, call, paymaster, children);
  const answer = (stays: readonly Child[]) => ({
    data: { name, dryRun, cascade, ends, stays: stays.slice(0, maxNames) },
  });
  if (dryRun) return answer(children.filter(isDeclared));

  if (!cascade && children.length > 0) throw inUse(name, children);
  if (paymaster !== undefined) await removePaymaster(tools, call, key);
  const programmed = await tools.programmed.deleted(principal.tenant, {
    kind: 'Paymaster',
    metadata: { name },
  });
  // As long as it is served, it must not be served without its policies.
  if (!programmed && isLeft) throw notFollowed(name);
  const stays = cascade ? await deleteChildren(tools, principal, name, paymaster?.metadata.uid) : [];
  return { ...answer(stays), programmed, ...given({ object: paymaster }) };
}

async function removePaymaster(tools: Tools, call: Call, key: ObjectKey): Promise<void> {
  await unlessDeleted(
    () => notFound(paymasters, key),
    () => tools.writes.remove('Paymaster', key, (current) => requireMatch(call, current)),
  );
}

function inUse(name: string, children: readonly Child[]): DomainError {
  const problems = [...Map.groupBy(children, ({ kind }) => kind)].map(([kind, ofKind]) => ({
    field: kind === 'SmartContract' ? 'contracts' : 'policies',
    expected: 'deleted first, or with it by cascade=true',
    value: ofKind
      .slice(0, maxNames)
      .map((each) => each.name)
      .join(', '),
  }));
  const have = problems.map(({ field, value }) => `${field} ${value}`).join('; ');
  return new DomainError(
    'PAYMASTER_IN_USE',
    `To the paymaster ${quote(name)} belong ${have}: cascade=true deletes them with it`,
    { problems },
  );
}

function notFollowed(name: string): DomainError {
  const message = `The paymaster ${quote(name)} is deleted, and servers do not follow yet: repeat the call, which then deletes what belongs to it`;
  return new DomainError('DELETION_UNFINISHED', message);
}

/** A contract or policy of a paymaster. Each may have 200 kB: only this is kept. */
export type Child = {
  readonly kind: 'SmartContract' | 'PaymasterPolicy';
  readonly name: string;
  /** Who declares it in a manifest, and would make it again; absent: nobody. */
  readonly manager?: string;
};
type Declared = Child & { readonly manager: string };

function isDeclared(child: Child): child is Declared {
  return child.manager !== undefined;
}

async function listChildren(
  { resources }: Pick<Tools, 'resources'>,
  { namespace }: Pick<Principal, 'namespace'>,
  paymaster: string,
): Promise<readonly Child[]> {
  const children: Child[] = [];
  const options = { namespace, fields: { 'spec.paymasterRef.name': paymaster } };
  for (const kind of ['SmartContract', 'PaymasterPolicy'] as const)
    for await (const object of eachObject<typeof kind>(resources, kind, options)) {
      const manager = declaredBy(object);
      children.push({ kind, name: object.metadata.name, ...(manager !== undefined && { manager }) });
    }
  return children;
}

/**
 * Deletes those of a deleted paymaster that no manifest declares, and answers the others. `uid`: of that paymaster, as far as it is known.
 * Throws PRECONDITION_FAILED when a paymaster of this name is there again: it must not lose its policies.
 */
async function deleteChildren(
  tools: Tools,
  { namespace }: Pick<Principal, 'namespace'>,
  paymaster: string,
  uid: string | undefined,
): Promise<readonly Declared[]> {
  const stays: Declared[] = [];
  for (const child of await listChildren(tools, { namespace }, paymaster)) {
    const present = await tools.resources.get('Paymaster', { namespace, name: paymaster });
    if (present !== undefined && present.metadata.uid !== uid) throw madeAgain(paymaster);
    const manager = child.manager ?? (await remove(tools, child.kind, { namespace, name: child.name }));
    if (manager !== undefined) stays.push({ ...child, manager });
  }
  return stays;
}

/** Answers who declares it, if somebody does by now. */
async function remove<K extends Child['kind']>(
  { writes }: Tools,
  kind: K,
  key: { readonly namespace: string; readonly name: string },
): Promise<string | undefined> {
  try {
    await writes.remove<K>(kind, key);
  } catch (error) {
    if (isDomainError(error, 'FIELD_OWNED')) return error.details.owner;
    if (!isDomainError(error, 'NOT_FOUND')) throw error;
  }
  return undefined;
}

function madeAgain(paymaster: string): DomainError {
  const again = `There is a new paymaster ${quote(paymaster)} already`;
  return new DomainError(
    'PRECONDITION_FAILED',
    `${again}: it keeps the contracts and policies that are left`,
  );
}

const countOrNull: JsonSchema = { type: ['integer', 'null'], minimum: 0 };
/** Objects that an answer names; all of them are counted. */
export const maxNames = 100;

function namesSchema(description: string): JsonSchema {
  const names = { type: 'array', items: text, maxItems: maxNames } as const;
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
        contracts: namesSchema('Those that belong to it: they end with it by cascade=true.'),
        policies: namesSchema('The same.'),
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
      `Contracts and policies that a manager such as kubectl or Argo CD declares, at most ${maxNames}. They stay, also with cascade=true: remove them from its manifests.`,
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
    return { count: names.length, names: names.slice(0, maxNames) };
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
  const maxExpiryMs = (chain?.maxExpirySeconds ?? defaultMaxExpirySeconds) * 1000;
  const { decisions } = await tools.ledger(tenant).decisions({
    organisation: tenant,
    paymasterId: derivePaymasterId(tenant, metadata.name),
    verdict: 'sponsored',
    from: (now - maxExpiryMs) as EpochMs,
    to: (now + 1) as EpochMs,
    limit: 1000,
  });
  return decisions.filter(
    ({ decision: { validUntil }, settlement }) =>
      settlement === undefined && validUntil !== undefined && validUntil * 1000 > now,
  ).length;
}
